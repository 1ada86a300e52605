//! What a reader returns: the examples of a body, and facts about how the body wrote them.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use halfspace_core::learners::sample::data::Data;
use halfspace_core::learners::sample::weights::Weight;

use crate::building::parsed_rows::ParsedRows;
use crate::building::store_pass::{StorePass, Stored};
use crate::building::weight_column::of_rows;
use crate::classes::Classes;
use crate::encoding::TableEncoding;
use crate::error::Place;
use crate::options::FirstIndex;
use crate::stored::digest::digest;
use crate::stored::header::BlocksError;
use crate::stored::layout::{Layout, Units, stored_bytes};
use crate::vocabulary::Vocabulary;

/// Content of a body: the examples, in memory or in a spool, and facts about their spelling.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed<D = Data> {
    /// The examples.
    pub data: D,
    /// Place of the first value that made the data real instead of Boolean. Inside a [`DataForm`](crate::DataForm)
    /// its pointer is relative to the form (see [`Place::under`]).
    pub first_real: Option<Place>,
    /// Value that a 0 bit of Boolean data had in the body: 0 or -1. If you convert the bits to real numbers, use this
    /// value.
    pub zero_bit_value: f64,
    /// Names of the features, if the body has names.
    pub feature_names: Option<Vec<String>>,
    /// The names of sparse features, by their ids, if nobody listed them in advance.
    pub vocabulary: Option<Arc<Vocabulary>>,
    /// The first index of LIBSVM, if features have indices.
    pub first_index: Option<FirstIndex>,
    /// Names of the classes. There are none without labels, or if the labels are bits that stand for no value.
    pub classes: Option<Classes>,
    /// Whether the classes are only the values in their order, because a model may still read them. Without a model,
    /// [`classes_alone`](crate::classes_alone) decides. Only [`LabelRule::Later`](crate::LabelRule::Later) leaves
    /// labels undecided.
    pub is_undecided: bool,
    /// The encoding of a table.
    pub table: Option<Arc<TableEncoding>>,
    /// The weight of each example, unless each has the weight 1.
    pub weights: Option<Arc<[Weight]>>,
}

impl<D> Parsed<D> {
    /// Wraps data that did not come from a body. Bits mean 0 and 1, and features and classes have no names.
    pub fn of(data: D) -> Self {
        Self {
            data,
            first_real: None,
            zero_bit_value: 0.0,
            feature_names: None,
            vocabulary: None,
            first_index: None,
            classes: None,
            is_undecided: false,
            table: None,
            weights: None,
        }
    }
}

impl Parsed<ParsedRows> {
    /// The bytes of the stored form without the names of classes, or `None` above 64 bits. For sparse rows this is an
    /// upper bound.
    pub fn stored_bytes(&self) -> Option<u64> {
        let names = self.vocabulary.as_ref();
        let names = names.map_or(0, |names| names.stored_bytes());
        let header = self.data.header();
        let weights = self.weights.as_ref();
        let weights = weights.map_or(Some(0), |_| Layout::weights_bytes_of(header.examples))?;
        stored_bytes(&header)?
            .checked_add(names)?
            .checked_add(weights)
    }

    /// Writes the stored form and returns the facts about the examples. Repetitions are counted if there are at most
    /// `examples_max` examples. The pass takes the memory of [`storing_bytes`](crate::storing_bytes).
    ///
    /// # Errors
    /// When the target cannot be written, the spool cannot be read, or the examples were written already.
    pub fn store(&mut self, to: impl Write, examples_max: usize) -> Result<Stored, BlocksError> {
        let (classes, vocabulary) = (self.classes.as_ref(), self.vocabulary.as_deref());
        let units = Units {
            names: vocabulary.is_some(),
            weights: self.weights.is_some(),
        };
        let mut pass = StorePass::new(self.data.header(), units, to, examples_max)?;
        self.data.for_each_part(|part| pass.push(&part))?;
        pass.finish(classes, vocabulary, self.weights.as_deref())
    }

    /// Unwraps data that were read without a spool.
    ///
    /// # Panics
    /// Panics if rows left memory, which needs a spool.
    pub fn in_memory(self) -> Parsed {
        self.with(|data| match data {
            ParsedRows::Memory(data) => data,
            ParsedRows::Spooled(_) | ParsedRows::Stored(_) => {
                unreachable!("rows leave memory only where there is a spool")
            }
        })
    }
}

impl Parsed {
    /// These examples, of which there must be one.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> Self {
        let weights = self.weights.as_ref();
        Self {
            weights: weights.and_then(|all| of_rows(&all[rows.clone()])),
            data: self.data.rows(rows),
            first_real: self.first_real.clone(),
            zero_bit_value: self.zero_bit_value,
            feature_names: self.feature_names.clone(),
            vocabulary: self.vocabulary.clone(),
            first_index: self.first_index,
            classes: self.classes.clone(),
            is_undecided: self.is_undecided,
            table: self.table.clone(),
        }
    }

    /// The digest of the examples: see [`crate::digest()`].
    pub fn digest(&self) -> [u8; 32] {
        digest(
            &self.data,
            self.classes.as_ref(),
            self.vocabulary.as_deref(),
            self.weights.as_deref(),
        )
    }
}

impl From<Parsed> for Parsed<ParsedRows> {
    fn from(parsed: Parsed) -> Self {
        parsed.with(ParsedRows::Memory)
    }
}

impl<D> Parsed<D> {
    /// The names of the classes, unless the labels are 1 and -1, or 1 and 0.
    pub fn class_names(&self) -> Option<Vec<String>> {
        self.classes.as_ref().and_then(Classes::names)
    }

    /// Converts the examples and keeps the other fields.
    pub(crate) fn with<E>(self, keep: impl FnOnce(D) -> E) -> Parsed<E> {
        Parsed {
            data: keep(self.data),
            first_real: self.first_real,
            zero_bit_value: self.zero_bit_value,
            feature_names: self.feature_names,
            vocabulary: self.vocabulary,
            first_index: self.first_index,
            classes: self.classes,
            is_undecided: self.is_undecided,
            table: self.table,
            weights: self.weights,
        }
    }
}
