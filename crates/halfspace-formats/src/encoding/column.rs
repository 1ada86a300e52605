//! A column of an encoding: its kind, the features that it became, and what each cell of it stands for.

use serde::{Deserialize, Serialize};

use crate::cell::{Cell, Content, Family};
use crate::dates::{DateOrder, DatePart};
use crate::error::{Fault, FormatErrorKind, excerpt};
use crate::numbers::DecimalMark;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
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
}

/// The reason why a cell has no features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoFeatures {
    /// The encoding has no feature for a missing cell.
    Missing,
    /// The encoding does not know the value.
    Unknown,
    /// The column holds numbers, and the cell does not.
    NotANumber,
    /// Either the column or the cell has percentages, but not both.
    Percent,
    /// The column holds dates, and the cell does not.
    NotADate,
    /// The comma of the cell may stand before a fraction or between thousands.
    Comma,
}

impl NoFeatures {
    /// The fault of the cell with this text in row `row`, counted from 1.
    pub(crate) fn fault(self, column: &str, row: u64, text: &[u8]) -> Fault {
        let (column, shown) = (excerpt(column.as_bytes()), excerpt(text));
        let detail = match self {
            Self::Missing => format!(
                "The cell of column {column} in row {row} is missing, and the encoding has no feature for a missing \
                 cell; `missing=drop` leaves such rows out, and `unknown=zero` reads them as 0."
            ),
            Self::Unknown => format!(
                "The encoding does not know the value {shown} of column {column} in row {row}; `unknown=zero` reads \
                 such values as 0, and a training with `kinds=` can read the column as another kind."
            ),
            Self::Percent => format!(
                "The value {shown} of column {column} in row {row} and the numbers of the model's table are not both \
                 percentages; write them alike, such as 45%, or send numbers such as 0.45 as JSON."
            ),
            Self::NotADate => format!(
                "The value {shown} of column {column} in row {row} is no date such as 2024-12-31; write it so, say \
                 `dates=dmy` or `dates=mdy`, or say `unknown=zero` to read such values as 0."
            ),
            Self::Comma => format!(
                "The comma in the value {shown} of column {column} in row {row} may stand before a fraction or between \
                 thousands; say `decimal=,` or `decimal=.`."
            ),
            Self::NotANumber => format!(
                "The value {shown} of column {column} in row {row} is not a number; the column holds numbers, and \
                 `unknown=zero` reads other values as 0."
            ),
        };
        let fault = Fault::new(FormatErrorKind::TableOption, detail);
        match self {
            Self::Missing => fault
                .mended_by("missing", "drop")
                .mended_by("unknown", "zero"),
            Self::Unknown | Self::NotANumber => fault.mended_by("unknown", "zero"),
            Self::NotADate => fault
                .mended_by("dates", "dmy")
                .mended_by("dates", "mdy")
                .mended_by("unknown", "zero"),
            Self::Comma => fault.mended_by("decimal", ",").mended_by("decimal", "."),
            Self::Percent => fault,
        }
    }
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
    /// dates. Names that nobody lists are not among them.
    pub fn feature_names(&self) -> Vec<String> {
        let part = self
            .part
            .map_or(String::new(), |part| format!(".{}", part.name()));
        let column = &format!("{}{part}", self.name);
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
                value: number,
            },
        }
    }
}
