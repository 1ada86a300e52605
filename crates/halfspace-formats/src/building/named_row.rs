//! The names of sparse features so far, and the row that is being read.

use std::collections::HashMap;

use halfspace_core::memory;

use crate::building::text_rules::TextRules;
use crate::encoding::TableEncoding;
use crate::error::{Fault, FormatErrorKind, excerpt};
use crate::texts::Occurrences;
use crate::texts::conjunctions;
use crate::texts::extractor::Extractor;
use crate::texts::sequences::Names;
use crate::vocabulary::{self, Vocabulary};

/// Names between two checks of the limits.
const NAMES_PER_CHECK: usize = 1024;

/// The names so far, in the order in which they came, and the active features of the unfinished row.
pub(crate) struct NamedRow {
    pub(crate) vocabulary: Vocabulary,
    row: Vec<(u32, f64)>,
    /// The names that the row gives the value 0. They are not active, so they get no ids.
    zeros: Vec<String>,
    /// A name of each place in the texts of the row.
    occurrences: Vec<u32>,
    texts: TextRules,
    extractor: Extractor,
    /// The conjunction of a name or a conjunction with a later name.
    conjunctions: HashMap<(u32, u32), u32>,
    names_max: usize,
    /// Whether the request says that features have names, so that no example needs one.
    are_stated: bool,
    /// Whether the names keep the order in which they came.
    pub(crate) are_as_they_come: bool,
}

impl NamedRow {
    pub(crate) fn new(names_max: usize, are_stated: bool, texts: TextRules) -> Self {
        Self {
            vocabulary: Vocabulary::default(),
            row: Vec::new(),
            zeros: Vec::new(),
            occurrences: Vec::new(),
            extractor: Extractor::new(texts.extraction.clone()),
            texts,
            conjunctions: HashMap::new(),
            names_max,
            are_stated,
            are_as_they_come: false,
        }
    }

    /// The encoding of texts and conjunctions, if there were any.
    pub(crate) fn extracted(&self) -> Option<TableEncoding> {
        let extraction = &self.texts.extraction;
        let is_used = !self.extractor.is_unused() || extraction.conjunctions > 1;
        is_used.then(|| TableEncoding::of_texts(self.extractor.columns(), extraction))
    }

    /// Whether examples without any name are meant as such.
    pub(crate) fn may_be_empty(&self) -> bool {
        self.are_stated || !self.extractor.is_unused()
    }

    /// Checks that the options about texts and conjunctions had an effect.
    ///
    /// # Errors
    /// As for [`TextRules::check_used`].
    pub(crate) fn check_used(&self) -> Result<(), Fault> {
        self.texts.check_used(true, !self.extractor.is_unused())
    }

    /// Bytes in memory besides the row.
    fn bytes(&self) -> u64 {
        // A hash table has at most two places for each entry.
        let joined = 2 * self.conjunctions.capacity() * size_of::<((u32, u32), u32)>();
        self.vocabulary.bytes() + self.extractor.bytes() + joined as u64
    }

    /// Adds the value of a name.
    ///
    /// # Errors
    /// When the name is none, when there are too many, or when memory fails.
    pub(crate) fn push(&mut self, name: &str, value: f64) -> Result<(), Fault> {
        vocabulary::check(name)?;
        let entries = self.row.len() + self.zeros.len();
        if entries.is_power_of_two() {
            // The lists, their copies while they grow, and a name with each entry.
            let entry_bytes = size_of::<(u32, f64)>().max(size_of::<String>() + name.len());
            memory::need(3 * (entries * entry_bytes) as u64 + self.bytes())?;
        }
        let name = match self.texts.extraction.conjunctions {
            1 => name.into(),
            _ => conjunctions::escaped(name)?,
        };
        if value == 0.0 {
            self.zeros.push(name.into_owned());
            return Ok(());
        }
        self.row.push((self.vocabulary.add(&name), value));
        self.check_count()
    }

    /// Adds the names of a text in a column.
    ///
    /// # Errors
    /// As for [`Extractor::add`], when there are too many names, or when memory fails.
    pub(crate) fn text(&mut self, column: &str, text: &str) -> Result<(), Fault> {
        memory::need(4 * text.len() as u64)?;
        let names = &mut TextNames {
            vocabulary: &mut self.vocabulary,
            occurrences: &mut self.occurrences,
            is_joined: self.texts.extraction.conjunctions > 1,
            names_max: self.names_max,
        };
        self.extractor.add(column, text, names)
    }

    fn check_count(&self) -> Result<(), Fault> {
        check_count(&self.vocabulary, self.names_max)
    }

    /// Adds the conjunctions of the names of the row, and returns its active features in ascending order, which the
    /// caller takes out.
    ///
    /// # Errors
    /// When a name occurs twice with different values, or a limit is exceeded.
    pub(crate) fn end(&mut self) -> Result<&mut Vec<(u32, f64)>, Fault> {
        self.count_occurrences()?;
        self.sort()?;
        let most = self.texts.extraction.conjunctions;
        if most > 1 {
            self.join(most)?;
        }
        Ok(&mut self.row)
    }

    /// Moves the names of texts to the row.
    fn count_occurrences(&mut self) -> Result<(), Fault> {
        memory::need_of::<(u32, f64)>(self.occurrences.len())?;
        self.occurrences.sort_unstable();
        let counts = self.texts.extraction.occurrences == Occurrences::Counts;
        let each = self.occurrences.chunk_by(|first, second| first == second);
        self.row
            .extend(each.map(|same| (same[0], if counts { same.len() as f64 } else { 1.0 })));
        self.occurrences.clear();
        Ok(())
    }

    /// Lets the active features of the row ascend, and each occur once.
    ///
    /// # Errors
    /// When a name occurs twice with different values.
    fn sort(&mut self) -> Result<(), Fault> {
        self.row.sort_unstable_by_key(|(id, _)| *id);
        let differ = |pair: &&[(u32, f64)]| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1;
        if let Some(&[(id, value), (_, again)]) = self.row.windows(2).find(differ) {
            return Err(self.two_values(id, value, again));
        }
        self.row.dedup_by_key(|(id, _)| *id);
        for name in std::mem::take(&mut self.zeros) {
            if let Some(id) = self.vocabulary.id(&name)
                && let Ok(at) = self.row.binary_search_by_key(&id, |(id, _)| *id)
            {
                return Err(self.two_values(id, 0.0, self.row[at].1));
            }
        }
        Ok(())
    }

    fn two_values(&self, id: u32, value: f64, again: f64) -> Fault {
        let name = self.vocabulary.name(id).unwrap_or_default();
        let detail = format!(
            "The name {} occurs twice in the example, with the values {value} and {again}; give it once.",
            excerpt(name.as_bytes())
        );
        Fault::new(FormatErrorKind::BadName, detail)
    }

    /// Adds the conjunctions of at most `most` names of the row, which ascends.
    ///
    /// # Errors
    /// When there are too many, when a name has a value, or when memory fails.
    fn join(&mut self, most: u8) -> Result<(), Fault> {
        let count = conjunctions::count(self.row.len(), most)?;
        if let Some(&(id, value)) = self.row.iter().find(|(_, value)| *value != 1.0) {
            let name = self.vocabulary.name(id).unwrap_or_default();
            let detail = format!(
                "The name {} has the value {value}, but a conjunction says that names are present; send names without \
                 values, or omit `conjunctions`.",
                excerpt(name.as_bytes())
            );
            return Err(Fault::new(FormatErrorKind::BadName, detail));
        }
        memory::need_of::<[(u32, f64); 2]>(count)?;
        let mut names: Vec<u32> = self.row.iter().map(|(id, _)| *id).collect();
        names.sort_unstable_by_key(|&id| self.vocabulary.name(id));
        self.join_behind(None, &names, most)?;
        self.row.sort_unstable_by_key(|(id, _)| *id);
        self.check_count()
    }

    /// Adds the conjunctions of some earlier names with the names of a list, which are in the order of their bytes.
    fn join_behind(&mut self, earlier: Option<u32>, names: &[u32], most: u8) -> Result<(), Fault> {
        for (at, &name) in names.iter().enumerate() {
            let joined = match earlier {
                None => name,
                Some(earlier) => {
                    let joined = self.joined(earlier, name)?;
                    self.row.push((joined, 1.0));
                    joined
                }
            };
            if most > 1 {
                self.join_behind(Some(joined), &names[at + 1..], most - 1)?;
            }
        }
        Ok(())
    }

    /// The id of a conjunction.
    fn joined(&mut self, earlier: u32, name: u32) -> Result<u32, Fault> {
        if let Some(&id) = self.conjunctions.get(&(earlier, name)) {
            return Ok(id);
        }
        if self.conjunctions.len().is_multiple_of(NAMES_PER_CHECK) {
            memory::need(2 * self.bytes())?;
            self.check_count()?;
        }
        let of = |id| self.vocabulary.name(id).unwrap_or_default();
        let text = conjunctions::of(of(earlier), of(name))?;
        let id = self.vocabulary.add(&text);
        self.conjunctions.insert((earlier, name), id);
        Ok(id)
    }
}

/// The names of the texts of a row.
struct TextNames<'r> {
    vocabulary: &'r mut Vocabulary,
    occurrences: &'r mut Vec<u32>,
    /// Whether names are written as they stand in a conjunction.
    is_joined: bool,
    names_max: usize,
}

impl Names for TextNames<'_> {
    fn id(&mut self, name: &str) -> Result<u32, Fault> {
        if self.vocabulary.len().is_multiple_of(NAMES_PER_CHECK) {
            // A full table is copied to one of twice the size.
            memory::need(2 * self.vocabulary.bytes())?;
        }
        let id = match self.is_joined {
            false => self.vocabulary.add(name),
            true => self.vocabulary.add(&conjunctions::escaped(name)?),
        };
        check_count(self.vocabulary, self.names_max)?;
        Ok(id)
    }

    #[inline]
    fn push(&mut self, id: u32) -> Result<(), Fault> {
        if self.occurrences.len() == self.occurrences.capacity() {
            // A full list is copied to one of twice the size.
            memory::need_of::<u32>(3 * self.occurrences.len())?;
        }
        self.occurrences.push(id);
        Ok(())
    }
}

fn check_count(vocabulary: &Vocabulary, names_max: usize) -> Result<(), Fault> {
    match vocabulary.len() > names_max {
        false => Ok(()),
        true => {
            let what = "The examples have too many names";
            Err(Fault::too_large(what, "names_max", names_max as u64))
        }
    }
}
