//! The encoding of a table: which features each column became, and which value each feature stands for.
//!
//! The answer to an upload of a table shows the encoding. Datasets and models keep it, so that later rows become the
//! same features.

pub(crate) mod column;
pub(crate) mod no_features;
pub(crate) mod options;
mod scale;

use std::collections::{HashMap, HashSet};

use halfspace_core::memory::{self, NoMemory};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::classes::Classes;
use crate::dates::DatePart;
use crate::error::excerpt;
use crate::numbers::parse_number;

use crate::texts::{Extraction, Occurrences};

use column::NUMBER_BYTES;
pub(crate) use column::{CellFeatures, number_of};
pub use column::{ColumnEncoding, ColumnKind, KindName, NamedCells, StatedColumn, Written};
pub(crate) use no_features::NoFeatures;
pub use scale::Scale;

/// The member of an example that holds a text, where no encoding names another.
pub(crate) const TEXT: &str = "text";

/// The kind of a column with texts.
const TEXT_COLUMN: ColumnKind = ColumnKind::Names {
    cells: NamedCells::Text,
};

/// The largest size of the names and values of an encoding, in bytes. It is limited because an encoding is part of
/// the rows of the store.
pub(crate) const DESCRIPTION_BYTES_MAX: usize = 4 << 20;

/// How the columns of a table became features and labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TableEncoding {
    /// The label column; null if the table has none.
    pub label: Option<LabelEncoding>,
    /// The column with the weights of the examples, if the table has one. Tables that the encoding reads later need not
    /// have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub weights: Option<WeightsColumn>,
    /// The columns with features, in the order of the file.
    pub columns: Vec<ColumnEncoding>,
    /// The columns without features.
    pub ignored: Vec<IgnoredColumn>,
    /// The treatment and number of missing cells.
    pub missing: MissingCells,
    /// Whether the table had a row of names. Without names, columns are found by their number.
    pub header: bool,
    /// The names that texts give, if there are texts or conjunctions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub extraction: Option<Extraction>,
}

/// The label column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct LabelEncoding {
    /// The name of the column.
    pub column: String,
    /// The number of the column in the file, from 1.
    pub index: u32,
    /// The values, one per class, in the order of the codes. Of two classes, the first has the label -1 and the second
    /// the label 1. The first is null if it means every value that is not another class.
    #[schema(value_type = Vec<Option<String>>, min_items = 2)]
    pub classes: Classes,
}

/// The column of a table that holds the weights of the examples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct WeightsColumn {
    /// The name of the column.
    pub column: String,
    /// The number of the column in the file, from 1.
    pub index: u32,
}

/// A label column, as a request states the column.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedLabel {
    /// The name of the column.
    pub column: String,
    /// The values, one per class. Of two classes, the first has the label -1 and the second the label 1. If the first
    /// is null, it means every value that is not another class.
    #[schema(value_type = Vec<Option<String>>, min_items = 2)]
    pub classes: Classes,
}

/// A column without features.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct IgnoredColumn {
    /// The name of the column.
    pub column: String,
    /// The number of the column in the file, from 1.
    pub index: u32,
    /// The reason.
    pub why: String,
}

/// The missing cells of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct MissingCells {
    /// The treatment of missing cells.
    pub treatment: Missing,
    /// The number of missing cells.
    pub cells: u64,
    /// The number of rows that were left out.
    pub rows_dropped: u64,
    /// The texts that `missing_values` declares missing cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
}

/// The treatment of missing cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// A missing cell is a value of its own.
    #[default]
    Value,
    /// A row with a missing cell is left out.
    Drop,
    /// A missing cell is refused.
    Refuse,
    /// A missing number is the mean of its column. A missing value of another kind is a value of its own.
    Mean,
    /// A missing number is the median of its column. A missing value of another kind is a value of its own.
    Median,
    /// A missing cell has the most frequent value of its column, and of equally frequent ones the smallest.
    MostFrequent,
    /// A missing number is the mean of its column, and a feature tells that it is missing. A missing value of another
    /// kind is a value of its own.
    Indicator,
    /// A missing cell gives no name. Only tables of names treat it so.
    Absent,
}

impl Missing {
    /// Whether a missing number becomes a number that the rest of its column tells.
    pub(crate) fn fills(self) -> bool {
        match self {
            Self::Mean | Self::Median | Self::MostFrequent | Self::Indicator => true,
            Self::Value | Self::Drop | Self::Refuse | Self::Absent => false,
        }
    }
}

impl TableEncoding {
    /// Makes the encoding of the stated columns. The label column comes last.
    ///
    /// # Errors
    /// The first column at fault.
    pub fn stated(columns: Vec<StatedColumn>, label: Option<StatedLabel>) -> Result<Self, String> {
        let count = columns.len() as u32;
        let mut next = 0;
        let columns = columns.into_iter().zip(1..).map(|(column, index)| {
            let StatedColumn {
                name,
                kind,
                missing,
                scale,
                fill,
            } = column;
            let from = next;
            next += kind.features() as u32 + u32::from(missing);
            ColumnEncoding {
                name,
                index,
                features: [from, next],
                part: None,
                kind,
                missing,
                written: None,
                scale,
                fill,
            }
        });
        let encoding = Self {
            columns: columns.collect(),
            label: label.map(|label| LabelEncoding {
                column: label.column,
                index: count + 1,
                classes: label.classes,
            }),
            weights: None,
            ignored: Vec::new(),
            missing: MissingCells::default(),
            header: true,
            extraction: None,
        };
        encoding.check(Some(encoding.n()))?;
        let names = encoding.columns.iter().map(|column| &column.name);
        let names = names.chain(encoding.label.iter().map(|label| &label.column));
        match names.collect::<HashSet<_>>().len()
            == count as usize + usize::from(encoding.label.is_some())
        {
            true if encoding.n() > 0 => Ok(encoding),
            true => Err("The columns have no features.".to_owned()),
            false => Err("Two columns have the same name.".to_owned()),
        }
    }

    /// The encoding of examples that are no table, but have texts in these columns.
    pub(crate) fn of_texts<'c>(
        columns: impl IntoIterator<Item = &'c str>,
        extraction: &Extraction,
    ) -> Self {
        let columns = columns.into_iter().zip(1..);
        let columns = columns.map(|(name, index)| ColumnEncoding {
            name: name.to_owned(),
            index,
            features: [0, 0],
            part: None,
            kind: TEXT_COLUMN,
            missing: false,
            written: None,
            scale: None,
            fill: None,
        });
        Self {
            label: None,
            weights: None,
            columns: columns.collect(),
            ignored: Vec::new(),
            missing: MissingCells {
                treatment: Missing::Absent,
                ..MissingCells::default()
            },
            header: true,
            extraction: Some(extraction.clone()),
        }
    }

    /// The encoding of examples whose member `text` is a text.
    pub fn of_text(extraction: &Extraction) -> Self {
        Self::of_texts([TEXT], extraction)
    }

    /// The columns of two encodings of names. What both have is as in this one, and so is the label.
    #[must_use]
    pub fn united(&self, given: &Self) -> Self {
        let new = given
            .columns
            .iter()
            .filter(|column| !self.has_column(&column.name));
        let columns = self.columns.iter().chain(new).cloned().zip(1..);
        let columns: Vec<ColumnEncoding> = columns
            .map(|(column, index)| ColumnEncoding { index, ..column })
            .collect();
        let last = columns.len() as u32 + 1;
        let label = self.label.as_ref().or(given.label.as_ref());
        let weights = self.weights.as_ref().or(given.weights.as_ref());
        let is_read = |own: &&WeightsColumn| columns.iter().all(|column| column.name != own.column);
        let weights = weights.filter(is_read).map(|weights| WeightsColumn {
            index: last + u32::from(label.is_some()),
            ..weights.clone()
        });
        Self {
            weights,
            label: label.map(|label| LabelEncoding {
                index: last,
                ..label.clone()
            }),
            columns,
            ignored: Vec::new(),
            missing: self.missing.clone(),
            header: self.header && given.header,
            extraction: self
                .extraction
                .as_ref()
                .or(given.extraction.as_ref())
                .cloned(),
        }
    }

    /// Keeps the column of weights of a given encoding, which this table left out or does not have.
    pub(crate) fn leave_out(&mut self, weights: &WeightsColumn) {
        self.ignored
            .retain(|ignored| ignored.column != weights.column);
        let taken: HashSet<u32> = self.indices().collect();
        let free = (1..).find(|index| !taken.contains(index));
        self.weights = Some(WeightsColumn {
            index: free.unwrap_or_default(),
            ..weights.clone()
        });
    }

    /// The numbers of all columns but that of the weights. Dates have several entries.
    fn indices(&self) -> impl Iterator<Item = u32> {
        let ignored = self.ignored.iter().map(|column| column.index);
        let label = self.label.iter().map(|label| label.index);
        let columns = self.columns.iter().map(|column| column.index);
        columns.chain(ignored).chain(label)
    }

    /// Whether there is a column with this name.
    pub(crate) fn has_column(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name == name)
    }

    /// The names of the columns with texts.
    pub(crate) fn text_columns(&self) -> impl Iterator<Item = &str> {
        let texts = self
            .columns
            .iter()
            .filter(|column| column.kind == TEXT_COLUMN);
        texts.map(|column| column.name.as_str())
    }

    /// Whether the examples are real-valued.
    pub fn is_real(&self) -> bool {
        let number = ColumnKind::Names {
            cells: NamedCells::Number,
        };
        let is_real = |kind: &ColumnKind| *kind == ColumnKind::Number || *kind == number;
        let extraction = self.extraction.as_ref();
        self.columns.iter().any(|column| is_real(&column.kind))
            || extraction.is_some_and(|own| own.occurrences == Occurrences::Counts)
    }

    /// Whether the features are names, which nobody listed in advance.
    pub fn is_open(&self) -> bool {
        let is_named = |column: &ColumnEncoding| column.kind.is_named();
        let has_names = self.extraction.is_some() || !self.columns.is_empty();
        has_names && self.columns.iter().all(is_named)
    }

    /// Whether the features depend on the rows of the table: on the values in them, or on their numbers.
    pub fn depends_on_rows(&self) -> bool {
        let depends = |column: &ColumnEncoding| match column.kind {
            ColumnKind::Nominal { .. } | ColumnKind::Thermometer { .. } => true,
            ColumnKind::Boolean { .. } | ColumnKind::Number => column.missing || column.is_fitted(),
            ColumnKind::Names { .. } => false,
        };
        self.columns.iter().any(depends)
    }

    /// The number of columns of the table that have features. Dates have several entries, of which the year is one.
    pub fn column_count(&self) -> usize {
        let is_first =
            |column: &&ColumnEncoding| column.part.is_none_or(|part| part == DatePart::Year);
        self.columns.iter().filter(is_first).count()
    }

    /// The number of features. Names are not counted here.
    pub fn n(&self) -> usize {
        self.columns
            .last()
            .map_or(0, |column| column.features[1] as usize)
    }

    /// The number that the bit 0 stands for in each column that is one feature. None for a column of numbers.
    pub(crate) fn low_values(&self) -> Vec<Option<f64>> {
        let low = |column: &ColumnEncoding| match &column.kind {
            ColumnKind::Boolean { values } => parse_number(values[0].as_bytes()).ok(),
            _ => None,
        };
        self.columns.iter().map(low).collect()
    }

    /// Whether each column is one feature that stands for its numbers. Rows of numbers have only one number for the
    /// bit 0, so -1 may be this number only if it is so in every column.
    pub fn is_plain(&self) -> bool {
        let is_bit = |column: &ColumnEncoding, low: &str| match &column.kind {
            ColumnKind::Boolean { values } => {
                *values == [low, "1"] && !column.missing && column.fill.is_none()
            }
            _ => false,
        };
        let is_number = |column: &ColumnEncoding| {
            column.kind == ColumnKind::Number && column.part.is_none() && !column.is_fitted()
        };
        let is_unsigned = |column: &ColumnEncoding| is_number(column) || is_bit(column, "0");
        let mut columns = self.columns.iter();
        columns.clone().all(is_unsigned) || columns.all(|column| is_bit(column, "-1"))
    }

    /// Whether the bit 0 of a column of the values -1 and 1 is the number -1.
    pub fn keeps_signs(&self) -> bool {
        let mut columns = self.columns.iter();
        self.is_plain() || columns.all(|column| column.is_signed() && !column.missing)
    }

    /// Returns the digest of the columns with features. Tables with the same digest are encoded alike.
    pub fn sha256(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for ColumnEncoding {
            name,
            part,
            kind,
            missing,
            scale,
            fill,
            ..
        } in &self.columns
        {
            let column = match part {
                None => serde_json::to_vec(&(name, kind, missing)),
                Some(part) => serde_json::to_vec(&(name, part, kind, missing)),
            };
            hash.update(column.expect("strings and finite numbers"));
            if scale.is_some() || fill.is_some() {
                let fitted = serde_json::to_vec(&(scale, fill));
                hash.update(fitted.expect("strings and finite numbers"));
            }
        }
        if let Some(extraction) = &self.extraction {
            hash.update(serde_json::to_vec(extraction).expect("strings and numbers"));
        }
        hash.finalize().into()
    }

    /// Whether examples of the other encoding have the same features. If all columns hold only numbers, their names
    /// are compared elsewhere. Columns that give names need not be the same, but those of one name must be read alike.
    pub fn fits(&self, other: &Self) -> bool {
        if self.is_open() && other.is_open() {
            let has_other_names = match (&self.extraction, &other.extraction) {
                (Some(own), Some(other)) => own != other,
                (own, other) => own
                    .iter()
                    .chain(other)
                    .any(|either| either.conjunctions > 1),
            };
            if has_other_names {
                return false;
            }
            let kinds = self
                .columns
                .iter()
                .map(|column| (&column.name, &column.kind));
            let kinds: HashMap<_, _> = kinds.collect();
            let is_alike = |column: &ColumnEncoding| {
                kinds
                    .get(&column.name)
                    .is_none_or(|kind| **kind == column.kind)
            };
            return other.columns.iter().all(is_alike);
        }
        let alike = |(own, other): (&ColumnEncoding, &ColumnEncoding)| {
            own.name == other.name
                && own.part == other.part
                && own.kind == other.kind
                && own.missing == other.missing
                && own.scale == other.scale
                && own.fill == other.fill
        };
        let is_coded_alike = |(own, other): (&ColumnEncoding, &ColumnEncoding)| {
            own.kind == other.kind || [&own.kind, &other.kind].contains(&&ColumnKind::Number)
        };
        self.is_plain()
            && other.is_plain()
            && self.columns.iter().zip(&other.columns).all(is_coded_alike)
            || self.columns.len() == other.columns.len()
                && self.columns.iter().zip(&other.columns).all(alike)
    }

    /// Checks an encoding that comes from a file. It must have `n` features, with consecutive ranges for the columns
    /// and distinct values in order. Without n, each column must give names.
    ///
    /// # Errors
    /// The first column at fault.
    pub fn check(&self, n: Option<usize>) -> Result<(), String> {
        let mut next = 0;
        for column in &self.columns {
            let name = excerpt(column.name.as_bytes());
            let features = column.kind.features() + usize::from(column.missing);
            let [from, to] = column.features.map(|at| at as usize);
            if from != next || to != next + features {
                return Err(format!(
                    "The column {name} has the features {from} to {to}, but its values need {next} to {}.",
                    next + features
                ));
            }
            next = to;
            if column.kind.is_named() != n.is_none() {
                return Err(match n {
                    Some(_) => {
                        format!("The column {name} gives names, but the features are numbered.")
                    }
                    None => {
                        format!("The column {name} has numbered features, but features have names.")
                    }
                });
            }
            column.check()?;
        }
        self.check_extraction(n)?;
        if self
            .label
            .as_ref()
            .is_some_and(|label| label.classes.overlap())
        {
            return Err("Two classes of the label read the same labels.".to_owned());
        }
        let weights = self.weights.iter().map(|weights| weights.index);
        let all: HashSet<u32> = self.indices().chain(weights).collect();
        let beside = usize::from(self.label.is_some()) + usize::from(self.weights.is_some());
        let count = self.column_count() + self.ignored.len() + beside;
        let parts: HashSet<_> = self
            .columns
            .iter()
            .map(|column| (column.index, column.part))
            .collect();
        if all.len() != count
            || parts.len() != self.columns.len()
            || all
                .iter()
                .any(|&index| index == 0 || index as usize > count)
        {
            return Err("The indices of the columns are not the numbers from 1.".to_owned());
        }
        match n.filter(|&n| n != next) {
            None => Ok(()),
            Some(n) => Err(format!(
                "The columns have {next} features, but the hypothesis has {n}."
            )),
        }
    }

    /// Checks that texts and conjunctions have a meaning. `n` is as for [`Self::check`].
    fn check_extraction(&self, n: Option<usize>) -> Result<(), String> {
        let has_texts = self.columns.iter().any(|column| column.kind == TEXT_COLUMN);
        match &self.extraction {
            Some(_) if n.is_some() => {
                Err("Texts give names, but the features are numbered.".to_owned())
            }
            Some(extraction) if extraction.clone().settled()? != *extraction => {
                Err("The extraction finds neither words nor characters.".to_owned())
            }
            None if has_texts => {
                Err("A column has texts, but no extraction says what they become.".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// The size of the names and values, with some bytes for each column and number.
    pub(crate) fn description_bytes(&self) -> usize {
        let column = |column: &ColumnEncoding| {
            let values = match &column.kind {
                ColumnKind::Boolean { .. } | ColumnKind::Number | ColumnKind::Names { .. } => 0,
                ColumnKind::Nominal { values } => values.iter().map(|value| value.len() + 4).sum(),
                ColumnKind::Thermometer { thresholds } => 24 * thresholds.len(),
            };
            column.name.len() + 64 + values
        };
        let ignored = |column: &IgnoredColumn| column.column.len() + 64;
        self.columns.iter().map(column).sum::<usize>()
            + self.ignored.iter().map(ignored).sum::<usize>()
    }

    /// The names of a fixed number of features in order.
    pub fn feature_names(&self) -> Vec<String> {
        let names = self.columns.iter().flat_map(ColumnEncoding::feature_names);
        names.collect()
    }

    /// Asks for the memory of [`Self::feature_names`], where each name repeats the name of its column.
    pub(crate) fn need_feature_names(&self) -> Result<(), NoMemory> {
        let column = |column: &ColumnEncoding| {
            let features = column.kind.features() + usize::from(column.missing);
            let values: usize = match &column.kind {
                ColumnKind::Nominal { values } => values.iter().map(String::len).sum(),
                _ => NUMBER_BYTES * features,
            };
            features * (column.name.len() + size_of::<String>()) + values
        };
        memory::need(self.columns.iter().map(|each| column(each) as u64).sum())
    }
}
