//! A column of an encoding: its kind, the features that it became, and what each cell of it stands for.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::no_features::NoFeatures;
use super::scale::Scale;
use crate::cell::{Cell, Content, Family};
use crate::dates::{self, DateOrder, DatePart};
use crate::error::excerpt;
use crate::numbers::{DecimalMark, parse_number};
use crate::written_number::{Notation, Thousands, WrittenNumber};

/// The spelling of a missing cell in the names of features.
pub(crate) const MISSING_NAME: &str = "?";

/// The bytes of a threshold in the name of a feature, besides those of the column. Few thresholds are longer.
pub(super) const NUMBER_BYTES: usize = 32;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of serde")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A column with features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ColumnEncoding {
    /// The name of the column.
    pub name: String,
    /// The number of the column in the file, from 1.
    pub index: u32,
    /// The first feature of the column and the feature after the last, from 0. Both are 0 for a column that gives
    /// names.
    pub features: [u32; 2],
    /// The number that the dates of the column give here. A column of dates stands once for each of their parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub part: Option<DatePart>,
    /// The kind of the column and the values of its features.
    #[serde(flatten)]
    #[schema(value_type = ColumnKindShape)]
    pub kind: ColumnKind,
    /// Whether the last feature of the column stands for a missing cell.
    #[serde(default, skip_serializing_if = "is_false")]
    pub missing: bool,
    /// How the table writes the numbers of the column, if this must be known to read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub written: Option<Written>,
    /// How the numbers of the column become its feature, unless they are the feature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub scale: Option<Scale>,
    /// The text for which a missing cell stands, if it stands for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub fill: Option<String>,
}

/// How a table writes the numbers of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Written {
    /// `45%` is 0.45. A text without the sign is refused, but a number in JSON or in a workbook is taken as it is.
    Percent,
    /// `1,234` is 1234.
    Thousands,
    /// `31/12/2024` is a date.
    Dmy,
    /// `12/31/2024` is a date.
    Mdy,
}

impl Written {
    pub(crate) fn of_dates(order: DateOrder) -> Self {
        match order {
            DateOrder::Dmy => Self::Dmy,
            DateOrder::Mdy => Self::Mdy,
        }
    }

    fn date_order(self) -> Option<DateOrder> {
        match self {
            Self::Dmy => Some(DateOrder::Dmy),
            Self::Mdy => Some(DateOrder::Mdy),
            Self::Percent | Self::Thousands => None,
        }
    }
}

/// A column with features, as a request states the column.
#[derive(Clone, Debug, PartialEq, Deserialize, utoipa::ToSchema)]
pub struct StatedColumn {
    /// The name of the column.
    pub name: String,
    /// The kind of the column and the values of its features.
    #[serde(flatten)]
    #[schema(value_type = ColumnKindShape)]
    pub kind: ColumnKind,
    /// Whether a missing cell has a feature of its own.
    #[serde(default)]
    pub missing: bool,
    /// How the numbers of the column become its feature, unless they are the feature.
    #[serde(default)]
    #[schema(nullable = false)]
    pub scale: Option<Scale>,
    /// The text for which a missing cell stands, if it stands for one.
    #[serde(default)]
    #[schema(nullable = false)]
    pub fill: Option<String>,
}

/// The kind of a column and the values of its features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ColumnKind {
    /// One bit.
    Boolean {
        /// The values of the bits 0 and 1.
        values: [String; 2],
    },
    /// One bit per value.
    Nominal {
        /// The values in the order of the features.
        values: Vec<String>,
    },
    /// The number itself.
    Number,
    /// One bit per threshold: whether the number is at least the threshold.
    Thermometer {
        /// The thresholds in ascending order.
        thresholds: Vec<f64>,
    },
    /// A name per cell, which nobody lists in advance.
    Names {
        /// What the cells are.
        cells: NamedCells,
    },
}

/// What the cells of a column are, if they give names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NamedCells {
    /// Words: each is a name with the column, `column=word`.
    Nominal,
    /// Numbers: each is the value of the name of the column.
    Number,
    /// Truth values: the name of the column means true, and its absence false.
    Boolean,
    /// Texts: the extraction of the encoding says which names each gives.
    Text,
}

/// The shape of a [`ColumnKind`]. Clients of an object with two optional lists are simpler than those of a union.
#[derive(utoipa::ToSchema)]
#[schema(as = ColumnKind)]
#[expect(dead_code, reason = "a shape: see `ColumnKind`")]
struct ColumnKindShape {
    /// The kind of the column.
    kind: ColumnKindName,
    /// The values of a nominal column in the order of the features, or of the bits 0 and 1 of a boolean column.
    #[schema(nullable = false)]
    values: Option<Vec<String>>,
    /// The thresholds of a thermometer column in ascending order. A bit tells whether the number is at least the
    /// threshold.
    #[schema(nullable = false)]
    thresholds: Option<Vec<f64>>,
    /// What the cells of a column of names are. A `nominal` cell gives the name `column=word`, a `number` is the value
    /// of the name of the column, a true `boolean` gives that name, and a `text` gives the names that the extraction
    /// finds in it.
    #[schema(nullable = false)]
    cells: Option<NamedCells>,
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "a shape: see `ColumnKind`")]
enum ColumnKindName {
    Boolean,
    Nominal,
    Number,
    Thermometer,
    Names,
}

/// A kind that a request states for a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KindName {
    /// Two values in one spelling family.
    Boolean,
    /// Words with few values.
    Nominal,
    /// Numbers.
    Number,
    /// Dates, whose parts are numbers.
    Date,
    /// Texts, whose words are names of an open vocabulary.
    Text,
    /// Not a feature.
    Ignored,
}

/// The features of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CellFeatures {
    /// These features are 1, and the other features of the column are 0.
    Ones { from: u32, count: u32 },
    /// The one feature has this value.
    Number { at: u32, value: f64 },
    /// The cell is missing: the feature `at` has the value that fills it, and the feature `indicator` is 1.
    Filled { at: u32, value: f64, indicator: u32 },
}

impl ColumnKind {
    /// The kind, in the spelling that requests use. They call a thermometer a number.
    pub(crate) fn name(&self) -> KindName {
        match self {
            Self::Boolean { .. } => KindName::Boolean,
            Self::Nominal { .. } => KindName::Nominal,
            Self::Number | Self::Thermometer { .. } => KindName::Number,
            Self::Names { cells } => cells.name(),
        }
    }

    /// Whether the column holds numbers that are numbered features.
    pub(crate) fn is_numeric(&self) -> bool {
        matches!(self, Self::Number | Self::Thermometer { .. })
    }

    /// Whether the cells give names, which nobody lists in advance.
    pub(crate) fn is_named(&self) -> bool {
        matches!(self, Self::Names { .. })
    }

    /// The number of features, without the one for missing cells.
    pub(crate) fn features(&self) -> usize {
        match self {
            Self::Boolean { .. } | Self::Number => 1,
            Self::Nominal { values } => values.len(),
            Self::Thermometer { thresholds } => thresholds.len(),
            Self::Names { .. } => 0,
        }
    }
}

impl NamedCells {
    /// The cells of a kind that a request states, unless it ignores the column.
    pub(crate) fn of(kind: KindName) -> Option<Self> {
        match kind {
            KindName::Boolean => Some(Self::Boolean),
            KindName::Nominal => Some(Self::Nominal),
            KindName::Number => Some(Self::Number),
            KindName::Text => Some(Self::Text),
            KindName::Date | KindName::Ignored => None,
        }
    }

    /// The kind, in the spelling that requests use.
    pub(crate) fn name(self) -> KindName {
        match self {
            Self::Boolean => KindName::Boolean,
            Self::Nominal => KindName::Nominal,
            Self::Number => KindName::Number,
            Self::Text => KindName::Text,
        }
    }

    /// What stands behind the name of the column in the names that the cells give. Other cells give the name itself.
    pub(crate) fn marks(self) -> &'static [char] {
        match self {
            Self::Number | Self::Boolean => &[],
            Self::Nominal => &['='],
            Self::Text => &crate::texts::MARKS,
        }
    }

    /// What a value is by itself. Pairs of words such as yes and no are words, as in the objects of NDJSON.
    pub(crate) fn found(content: Content) -> Option<Self> {
        match content {
            Content::Missing => None,
            Content::Number(_) => Some(Self::Number),
            Content::Flag(Family::TrueFalse, _) => Some(Self::Boolean),
            Content::Flag(..)
            | Content::Written(_)
            | Content::MissingAmongNumbers
            | Content::Text => Some(Self::Nominal),
        }
    }

    /// Whether a column can hold the cell.
    pub(crate) fn holds(self, content: Content) -> bool {
        match content {
            Content::Missing => true,
            Content::MissingAmongNumbers if self == Self::Number => true,
            content => self.value(content).is_some(),
        }
    }

    /// The value of the name that a cell gives, unless the column cannot hold the cell.
    pub(crate) fn value(self, content: Content) -> Option<f64> {
        match (self, content) {
            (Self::Nominal | Self::Text, _) | (Self::Boolean, Content::Number(1.0)) => Some(1.0),
            (Self::Number, Content::Number(value)) => Some(value),
            (Self::Boolean, Content::Flag(_, flag)) => Some(f64::from(u8::from(flag))),
            (Self::Boolean, Content::Number(0.0 | -1.0)) => Some(0.0),
            (Self::Number | Self::Boolean, _) => None,
        }
    }
}

impl ColumnEncoding {
    /// The number of features, without the one for missing cells.
    fn values(&self) -> u32 {
        self.features[1] - self.features[0] - u32::from(self.missing)
    }

    /// The kind, in the spelling that requests use.
    pub(crate) fn kind_name(&self) -> KindName {
        match self.part {
            Some(_) => KindName::Date,
            None => self.kind.name(),
        }
    }

    /// The names of the features: `c`, `c=value`, `c>=threshold` and `c=?`, where c is `column.year` for the years of
    /// dates and ends in `.scaled` for numbers on a scale. Names that nobody lists are not among them.
    pub fn feature_names(&self) -> Vec<String> {
        let part = self
            .part
            .map_or(String::new(), |part| format!(".{}", part.name()));
        let scale = if self.scale.is_some() { ".scaled" } else { "" };
        let column = &format!("{}{part}{scale}", self.name);
        let mut names: Vec<String> = match &self.kind {
            ColumnKind::Boolean { .. } | ColumnKind::Number => vec![column.clone()],
            ColumnKind::Nominal { values } => values
                .iter()
                .map(|value| format!("{column}={value}"))
                .collect(),
            ColumnKind::Thermometer { thresholds } => thresholds
                .iter()
                .map(|at| format!("{column}>={at}"))
                .collect(),
            ColumnKind::Names { .. } => Vec::new(),
        };
        if self.missing {
            names.push(format!("{}={MISSING_NAME}", self.name));
        }
        names
    }

    /// Whether numbers of the column depend on other rows.
    pub fn is_fitted(&self) -> bool {
        self.scale.is_some() || self.fill.is_some()
    }

    /// Returns the column of the file, from 0.
    pub fn place(&self) -> usize {
        self.index as usize - 1
    }

    /// Whether the values of the column are -1 and another.
    pub fn is_signed(&self) -> bool {
        matches!(&self.kind, ColumnKind::Boolean { values } if values[0] == "-1")
    }

    /// Whether the cells are numbers, so that further words mean a missing cell.
    pub fn is_of_numbers(&self) -> bool {
        match &self.kind {
            ColumnKind::Number | ColumnKind::Thermometer { .. } => true,
            ColumnKind::Boolean { values } => matches!(
                Content::of(values[0].as_bytes(), DecimalMark::Point),
                Content::Number(_)
            ),
            ColumnKind::Names { cells } => *cells == NamedCells::Number,
            ColumnKind::Nominal { .. } => false,
        }
    }

    /// What a cell of a later table means in this column. `decimal` and `order` are what the request states.
    ///
    /// # Errors
    /// When the cell is written otherwise than those of the encoding's own table.
    pub(crate) fn content(
        &self,
        cell: &Cell<&[u8]>,
        decimal: Option<DecimalMark>,
        order: Option<DateOrder>,
    ) -> Result<Content, NoFeatures> {
        let content = cell.content(decimal.unwrap_or_default());
        if self.part.is_some() {
            return self.date(content, cell, order);
        }
        let has_percents = self.written == Some(Written::Percent);
        match content {
            _ if !self.is_of_numbers() => Ok(content),
            Content::Number(_) if has_percents && matches!(cell, Cell::Text(_)) => {
                Err(NoFeatures::Percent)
            }
            Content::Written(written) => {
                let is_doubtful = written.thousands == Thousands::Doubtful && decimal.is_none();
                if (written.notation == Notation::Percent) != has_percents {
                    return Err(NoFeatures::Percent);
                }
                match is_doubtful && self.written != Some(Written::Thousands) {
                    true => Err(NoFeatures::Comma),
                    false => Ok(Content::Number(written.value)),
                }
            }
            content => Ok(content),
        }
    }

    fn date(
        &self,
        content: Content,
        cell: &Cell<&[u8]>,
        order: Option<DateOrder>,
    ) -> Result<Content, NoFeatures> {
        let order = order.or(self.written.and_then(Written::date_order));
        let ordered = || WrittenNumber::of_ordered_date(&cell.spelling(), order?);
        let date = match content {
            Content::Missing => return Ok(content),
            Content::Written(date) if date.notation == Notation::Date => Some(date),
            Content::Text => ordered(),
            _ => None,
        };
        date.map(|date| Content::Number(date.value))
            .ok_or(NoFeatures::NotADate)
    }

    /// Returns the features of a cell with this content. A date is the number of its seconds.
    ///
    /// # Errors
    /// The reason why the cell has none.
    pub(crate) fn encode(
        &self,
        content: Content,
        cell: &Cell<&[u8]>,
    ) -> Result<CellFeatures, NoFeatures> {
        let from = self.features[0];
        if content == Content::Missing {
            let at = from + self.values();
            if let Some(fill) = &self.fill {
                return self.filled(fill, at);
            }
            // Only the year says that a date is missing.
            let is_further = self.part.is_some_and(|part| part != DatePart::Year);
            return match self.missing {
                true => Ok(CellFeatures::Ones { from: at, count: 1 }),
                false if is_further => Ok(CellFeatures::Ones { from, count: 0 }),
                false => Err(NoFeatures::Missing),
            };
        }
        match &self.kind {
            ColumnKind::Boolean { values } => {
                let same = |value: &String| match Content::of(value.as_bytes(), DecimalMark::Point)
                {
                    Content::Text | Content::Missing => value.as_bytes() == &*cell.spelling(),
                    spelled => spelled == content,
                };
                match values {
                    [_, one] if same(one) => Ok(CellFeatures::Ones { from, count: 1 }),
                    [zero, _] if same(zero) => Ok(CellFeatures::Ones { from, count: 0 }),
                    _ => Err(NoFeatures::Unknown),
                }
            }
            ColumnKind::Nominal { values } => {
                let text = cell.spelling();
                let at = values.iter().position(|value| value.as_bytes() == &*text);
                let at = at.ok_or(NoFeatures::Unknown)? as u32;
                Ok(CellFeatures::Ones {
                    from: from + at,
                    count: 1,
                })
            }
            ColumnKind::Number | ColumnKind::Thermometer { .. } => match content {
                Content::Number(number) => Ok(self.encode_number(number)),
                _ => Err(NoFeatures::NotANumber),
            },
            // A table of names is not encoded, but read by `tables/named_table.rs`.
            ColumnKind::Names { .. } => Err(NoFeatures::Unknown),
        }
    }

    /// The features of a missing cell that stands for the text `fill`. `indicator` would be the feature that says so.
    fn filled(&self, fill: &str, indicator: u32) -> Result<CellFeatures, NoFeatures> {
        let from = self.features[0];
        match &self.kind {
            ColumnKind::Boolean { values } => Ok(CellFeatures::Ones {
                from,
                count: u32::from(fill == values[1]),
            }),
            ColumnKind::Nominal { values } => {
                let at = values.iter().position(|value| value == fill);
                let at = at.ok_or(NoFeatures::Unknown)? as u32;
                Ok(CellFeatures::Ones {
                    from: from + at,
                    count: 1,
                })
            }
            ColumnKind::Number | ColumnKind::Thermometer { .. } => {
                let number = number_of(fill, self.part).ok_or(NoFeatures::NotANumber)?;
                Ok(match self.encode_number(number) {
                    CellFeatures::Number { at, value } if self.missing => CellFeatures::Filled {
                        at,
                        value,
                        indicator,
                    },
                    features => features,
                })
            }
            ColumnKind::Names { .. } => Err(NoFeatures::Unknown),
        }
    }

    /// Checks the values, the scale and the fill of an encoding that comes from a file.
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn check(&self) -> Result<(), String> {
        let name = excerpt(self.name.as_bytes());
        let ascend = |thresholds: &[f64]| {
            thresholds.iter().all(|threshold| threshold.is_finite())
                && thresholds.is_sorted_by(|low, high| low < high)
        };
        let is_ordered = match &self.kind {
            ColumnKind::Boolean { values } => values[0] != values[1],
            ColumnKind::Nominal { values } => {
                values.iter().collect::<HashSet<_>>().len() == values.len()
            }
            ColumnKind::Thermometer { thresholds } => ascend(thresholds),
            ColumnKind::Number => true,
            ColumnKind::Names { .. } => !self.missing,
        };
        if !is_ordered || self.index == 0 {
            return Err(format!(
                "The column {name} has repeated values, thresholds out of order or the index 0."
            ));
        }
        let is_scaled = self.scale.is_none_or(|Scale { offset, divisor }| {
            let is_sound = offset.is_finite() && divisor.is_finite() && divisor > 0.0;
            self.kind == ColumnKind::Number && is_sound
        });
        let is_filled = match (&self.fill, &self.kind) {
            (None, _) => true,
            (Some(fill), ColumnKind::Boolean { values }) => values.contains(fill),
            (Some(fill), ColumnKind::Nominal { values }) => values.contains(fill),
            (Some(_), ColumnKind::Names { .. }) => false,
            (Some(fill), _) => number_of(fill, self.part).is_some(),
        };
        match is_scaled && is_filled {
            true => Ok(()),
            false => Err(format!(
                "The scale or the fill of the column {name} is not for its kind, or not finite."
            )),
        }
    }

    /// The features of a number in a column that is a number or a thermometer.
    pub(crate) fn encode_number(&self, number: f64) -> CellFeatures {
        let from = self.features[0];
        let number = self.part.map_or(number, |part| part.of(number));
        match &self.kind {
            ColumnKind::Thermometer { thresholds } => {
                let count = thresholds.partition_point(|&threshold| threshold <= number);
                CellFeatures::Ones {
                    from,
                    count: count as u32,
                }
            }
            _ => CellFeatures::Number {
                at: from,
                value: self.scale.map_or(number, |scale| scale.of(number)),
            },
        }
    }
}

/// The number that a fill stands for, or the seconds of its date. `part` tells that the column holds dates.
pub(crate) fn number_of(fill: &str, part: Option<DatePart>) -> Option<f64> {
    match part {
        Some(_) => dates::iso(fill),
        None => parse_number(fill.as_bytes()).ok(),
    }
}
