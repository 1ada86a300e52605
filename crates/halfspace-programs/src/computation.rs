//! Describes a prediction in steps that every language can express: raw cells become features, and features become the
//! score of each member of the predictor. The sign of the only score is the label, or the first class with the largest
//! score.

use std::borrow::Cow;

use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::linear::linear_weights::LinearWeights;
use halfspace_core::learners::predictor::Predictor;
use halfspace_core::memory;
use num_bigint::{BigInt, BigUint};

use super::scores::{Scores, Sum, Support, scores};
use super::sink::{NUMBER_BYTES_MIN, SOURCE_BYTES_MAX, Stop, too_long};
use halfspace_formats::{ColumnEncoding, ColumnKind, TableEncoding, Vocabulary};
use halfspace_formats::{Content, DecimalMark, MISSING, MISSING_AMONG_NUMBERS};

/// A column takes at least this many bytes in every language.
const COLUMN_BYTES_MIN: usize = 64;

/// Bits of the largest number of names in an example.
const NAMES_BITS: u64 = 32;

/// A predictor with everything that a program says about it.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// One line of text for the head of the program.
    pub title: &'a str,
    /// The hypothesis, or one per class.
    pub predictor: &'a Predictor,
    pub rows: Rows<'a>,
    /// The names of the classes. Without names, those of two are -1 and 1, and more are counted from 0.
    pub classes: Option<&'a [String]>,
}

/// What a program reads.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// The cells of a table with this encoding.
    Table(&'a TableEncoding),
    /// One number per feature. The features may have names.
    Numbers(Option<&'a [String]>),
    /// The names of the active features of an example. The model knows these names, in the order of their bytes.
    Names(&'a Vocabulary),
}

/// A prediction as a program computes it.
pub(super) struct Computation<'a> {
    /// The first of the members, which are all of one kind.
    hypothesis: &'a Hypothesis,
    pub(super) rows: Rows<'a>,
    /// Whether columns have names. Otherwise they are known by their positions.
    pub(super) has_names: bool,
    /// Columns of a file that has all of them, including the label.
    pub(super) columns: usize,
    /// Number of features. If features have names, the last one stands for each name that the model does not know.
    pub(super) n: usize,
    /// The value of a feature that no cell sets.
    pub(super) rest: f64,
    /// The value of a feature whose cell is the number -1. A hypothesis over values from 0 to 1 reads -1 as 0.
    pub(super) minus_one: f64,
    /// The scores. If there is one, the label is the second class iff it is at least 0. Otherwise each class has one.
    pub(super) scores: Scores,
    /// The names of the classes.
    pub(super) classes: Vec<Cow<'a, str>>,
}

/// A column of raw cells.
pub(super) struct Input<'a> {
    pub(super) name: Cow<'a, str>,
    /// Position in a file that has all columns, from 0.
    pub(super) place: usize,
    /// The first feature.
    pub(super) first: usize,
    /// The meaning of a cell.
    pub(super) cells: Cells<'a>,
    /// The feature that stands for a missing cell.
    pub(super) missing: Option<usize>,
    /// Whether the cells are numbers, so that further words mean a missing cell.
    pub(super) is_of_numbers: bool,
}

/// The meaning of the cells of a column.
pub(super) enum Cells<'a> {
    /// One feature: 1 for one of the words `on`, and `off_value` for one of the words `off`.
    Flag {
        off: Vec<Word<'a>>,
        on: Vec<Word<'a>>,
        off_value: f64,
    },
    /// One feature per value.
    Values(&'a [String]),
    /// One feature, which is the number.
    Number,
    /// One feature per threshold, which is 1 iff the number is at least the threshold. The thresholds ascend.
    Thresholds(&'a [f64]),
}

/// A spelling of a truth value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word<'a> {
    /// The text itself.
    Exact(&'a str),
    /// The text in any case. The word is in lower case.
    AnyCase(String),
    /// Any text that spells the number.
    Number(f64),
}

impl Input<'_> {
    /// The features of the column, without the one for missing cells.
    pub(super) fn features(&self) -> std::ops::Range<usize> {
        let count = match &self.cells {
            Cells::Flag { .. } | Cells::Number => 1,
            Cells::Values(values) => values.len(),
            Cells::Thresholds(thresholds) => thresholds.len(),
        };
        self.first..self.first + count
    }
}

impl<'a> Computation<'a> {
    /// Describes a program.
    ///
    /// # Errors
    /// A program that would be too long, or a lack of memory.
    pub(super) fn new(program: &Program<'a>) -> Result<Self, Stop> {
        let Program {
            predictor,
            rows,
            classes,
            ..
        } = *program;
        let (members, n) = (predictor.members(), predictor.n());
        let hypothesis = &members[0];
        let inputs = rows.columns(n);
        if inputs * COLUMN_BYTES_MIN + members.len() * NUMBER_BYTES_MIN > SOURCE_BYTES_MAX
            || n > SOURCE_BYTES_MAX / NUMBER_BYTES_MIN
        {
            return Err(too_long().into());
        }
        if let Rows::Table(table) = rows
            && let Some(date) = table.columns.iter().find(|column| column.part.is_some())
        {
            return Err(format!(
                "the column {:?} holds dates, and a program reads none",
                date.name
            )
            .into());
        }
        if let Rows::Table(table) = rows
            && let Some(fitted) = table.columns.iter().find(|column| column.is_fitted())
        {
            return Err(format!(
                "the column {:?} is scaled or has a value for missing cells, which no program computes",
                fitted.name
            )
            .into());
        }
        let columns = match rows {
            Rows::Numbers(_) | Rows::Names(_) => inputs,
            Rows::Table(table) => {
                let own = table.columns.iter().map(|column| column.index);
                let ignored = table.ignored.iter().map(|column| column.index);
                let label = table.label.iter().map(|label| label.index);
                let weights = table.weights.iter().map(|weights| weights.index);
                own.chain(ignored)
                    .chain(label)
                    .chain(weights)
                    .max()
                    .unwrap_or(0) as usize
            }
        };
        Ok(Self {
            hypothesis,
            rows,
            has_names: match rows {
                Rows::Table(table) => table.header,
                Rows::Numbers(features) => features.is_some(),
                Rows::Names(_) => true,
            },
            columns,
            n,
            rest: off_value(hypothesis).unwrap_or(0.0),
            minus_one: match hypothesis {
                Hypothesis::Bounded(_) => 0.0,
                _ => -1.0,
            },
            scores: scores(members)?,
            classes: match (classes, members.len()) {
                (Some(names), _) => names.iter().map(|name| Cow::Borrowed(&**name)).collect(),
                (None, 1) => vec!["-1".into(), "1".into()],
                (None, count) => (0..count).map(|code| code.to_string().into()).collect(),
            },
        })
    }

    /// The number of columns with features.
    pub(super) fn input_count(&self) -> usize {
        self.rows.columns(self.n)
    }

    /// Whether a name has no value but 1.
    pub(super) fn is_presence(&self) -> bool {
        !self.hypothesis.takes_real()
    }

    /// The columns with features, in the order of the features. Each is described only when you ask for it, because a
    /// description takes more memory than the features.
    pub(super) fn inputs(&self) -> impl Iterator<Item = Input<'a>> + '_ {
        let keeps_signs = match self.rows {
            Rows::Table(table) => table.keeps_signs(),
            Rows::Numbers(_) | Rows::Names(_) => false,
        };
        let of_number = |at, name| Input {
            name,
            place: at,
            first: at,
            cells: numbers(self.hypothesis),
            missing: None,
            is_of_numbers: true,
        };
        (0..self.input_count()).map(move |at| match self.rows {
            Rows::Table(table) => self.of_column(&table.columns[at], keeps_signs),
            Rows::Numbers(Some(names)) => of_number(at, Cow::Borrowed(&*names[at])),
            Rows::Numbers(None) | Rows::Names(_) => {
                of_number(at, Cow::Owned(format!("x{}", at + 1)))
            }
        })
    }

    fn of_column(&self, column: &'a ColumnEncoding, keeps_signs: bool) -> Input<'a> {
        Input {
            name: Cow::Borrowed(&column.name),
            place: column.place(),
            first: column.features[0] as usize,
            cells: match &column.kind {
                ColumnKind::Boolean { values: [off, on] } => Cells::Flag {
                    off: vec![word(off)],
                    on: vec![word(on)],
                    off_value: match off_value(self.hypothesis) {
                        Some(value) => value,
                        None if keeps_signs && column.is_signed() => -1.0,
                        None => 0.0,
                    },
                },
                ColumnKind::Nominal { values } => Cells::Values(values),
                ColumnKind::Number => numbers(self.hypothesis),
                ColumnKind::Thermometer { thresholds } => Cells::Thresholds(thresholds),
                // Names are not numbered, so no hypothesis of a program has weights for them.
                ColumnKind::Names { .. } => Cells::Values(&[]),
            },
            missing: column.missing.then(|| column.features[1] as usize - 1),
            is_of_numbers: column.is_of_numbers(),
        }
    }

    /// The words that mean a missing cell in every column, beside an empty cell.
    pub(super) fn missing_words(&self) -> Vec<&'a str> {
        let declared = match self.rows {
            Rows::Table(table) => &table.missing.words[..],
            Rows::Numbers(_) | Rows::Names(_) => &[],
        };
        MISSING
            .into_iter()
            .chain(declared.iter().map(String::as_str))
            .collect()
    }

    /// The words that mean a missing cell in a column.
    pub(super) fn missing_words_of(&self, input: &Input) -> Vec<&'a str> {
        let further = MISSING_AMONG_NUMBERS
            .into_iter()
            .filter(|_| input.is_of_numbers);
        self.missing_words().into_iter().chain(further).collect()
    }

    /// The number of scores.
    pub(super) fn members(&self) -> usize {
        match self.classes.len() {
            2 => 1,
            classes => classes,
        }
    }

    /// An upper bound on the magnitude of all sums of a score in whole numbers. None for other scores.
    pub(super) fn largest_sum(&self) -> Option<BigUint> {
        match &self.scores {
            Scores::Sum(members) => {
                let sum = |own: &Sum| {
                    let all = own.weights.iter().chain([&own.constant]);
                    let once = all.map(BigInt::magnitude).sum::<BigUint>();
                    match (self.rows, own.weights.last()) {
                        // An example may have any number of unknown names.
                        (Rows::Names(_), Some(unknown)) => {
                            once + (unknown.magnitude() << NAMES_BITS)
                        }
                        _ => once,
                    }
                };
                members.iter().map(sum).max()
            }
            Scores::Kernel(kernel) => {
                let largest = |(ones, net): &Support| {
                    let count = if kernel.counts_agreements {
                        self.n
                    } else {
                        ones.len()
                    };
                    &kernel.values[count] * net.unsigned_abs()
                };
                let sum = |support: &Vec<Support>| support.iter().map(largest).sum::<BigUint>();
                kernel.supports.iter().map(sum).max()
            }
            Scores::Monomials(_) | Scores::Real(_) => None,
        }
    }

    /// Refuses scores that are not whole numbers, and sums of more than `bits` bits.
    ///
    /// # Errors
    /// The limit.
    pub(super) fn check_integral(&self, bits: u64) -> Result<(), String> {
        let Some(largest) = self.largest_sum() else {
            return Err(self.not_integral());
        };
        match largest.bits() <= bits {
            true => Ok(()),
            false => Err(format!(
                "the absolute sum of the weights has {} bits, and {bits} are exact",
                largest.bits()
            )),
        }
    }

    /// The limit to state if a language lacks the arithmetic of the score.
    pub(super) fn not_integral(&self) -> String {
        match self.scores {
            Scores::Real(_) => "the weights are real, and only whole numbers are exact".to_owned(),
            _ => {
                "the score sums powers over all monomials; only a program in Python can".to_owned()
            }
        }
    }
}

impl Rows<'_> {
    /// The names of the sections of a template with the head and with the reader of such rows.
    pub(super) fn sections(self) -> [&'static str; 2] {
        match self {
            Self::Table(_) | Self::Numbers(_) => ["table head", "table"],
            Self::Names(_) => ["names head", "names"],
        }
    }

    /// The number of columns with features. Names have none.
    fn columns(self, n: usize) -> usize {
        match self {
            Self::Table(table) => table.columns.len(),
            Self::Numbers(_) => n,
            Self::Names(_) => 0,
        }
    }
}

/// The predictor with one more feature, which stands for each name that it does not know.
///
/// # Errors
/// A hypothesis that reads no names, or a lack of memory.
pub(super) fn with_unknown(predictor: &Predictor) -> Result<Predictor, Stop> {
    let n = predictor.n();
    if n > SOURCE_BYTES_MAX / NUMBER_BYTES_MIN {
        return Err(too_long().into());
    }
    memory::need((n * predictor.members().len() * size_of::<BigInt>()) as u64)?;
    let own: Vec<u32> = (0..n as u32).collect();
    let known = predictor.renumbered(&own, n + 1);
    known.ok_or_else(|| {
        "the hypothesis has a fixed number of features"
            .to_owned()
            .into()
    })
}

/// The value of bit 0. None for real weights over real examples, which come with their values.
fn off_value(hypothesis: &Hypothesis) -> Option<f64> {
    match hypothesis {
        Hypothesis::Linear(LinearWeights::Real(weights)) => Some(weights.reading()?.value(false)),
        _ => Some(0.0),
    }
}

/// The meaning of a cell that holds the number of one feature. A hypothesis over bits reads -1 as 0.
fn numbers(hypothesis: &Hypothesis) -> Cells<'static> {
    match off_value(hypothesis) {
        Some(off_value) if !hypothesis.takes_real() => Cells::Flag {
            off: vec![Word::Number(0.0), Word::Number(-1.0)],
            on: vec![Word::Number(1.0)],
            off_value,
        },
        _ => Cells::Number,
    }
}

fn word(text: &str) -> Word<'_> {
    match Content::of(text.as_bytes(), DecimalMark::Point) {
        Content::Number(number) => Word::Number(number),
        Content::Flag(..) => Word::AnyCase(text.to_lowercase()),
        Content::Missing | Content::MissingAmongNumbers | Content::Written(_) | Content::Text => {
            Word::Exact(text)
        }
    }
}
