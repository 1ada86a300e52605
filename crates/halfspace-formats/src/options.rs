//! The options for reading a body, which a request states besides the media type, and the limits of a read.

use halfspace_core::learners::engine::assume::Assume;
use serde::{Deserialize, Serialize};

use crate::charset::Charset;
use crate::classes::LabelRule;
use crate::encoding::options::{Numbers, Scaling, TableOptions, Unknown};
use crate::error::{Fault, FormatErrorKind, excerpt};
use crate::stored::header::RowsKind;
use crate::stored::raw_cells::CellKeeper;
use crate::texts::{Extraction, Occurrences};

/// Position of the label of an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelsColumn {
    /// The first column.
    First,
    /// The last column.
    Last,
    /// No labels.
    None,
    /// One bit after the bits of each row.
    Appended,
    /// The column of this name.
    Named(String),
}

/// Whether the first row of a table is a header of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// The first row is a header if no field is a number, or if one field names the column of the labels or of the
    /// weights.
    #[default]
    Auto,
    /// The first row is a header.
    True,
    /// The first row is an example.
    False,
}

/// Order of the bits in a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BitOrder {
    /// Most significant bit first, as in `numpy.packbits`.
    #[default]
    Big,
    /// Least significant bit first.
    Little,
}

/// The index of the first feature in LIBSVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum FirstIndex {
    /// Indices count from 0.
    Zero,
    /// Indices count from 1.
    One,
}

impl From<FirstIndex> for u8 {
    fn from(first: FirstIndex) -> Self {
        match first {
            FirstIndex::Zero => 0,
            FirstIndex::One => 1,
        }
    }
}

impl TryFrom<u8> for FirstIndex {
    type Error = &'static str;

    fn try_from(first: u8) -> Result<Self, Self::Error> {
        match first {
            0 => Ok(Self::Zero),
            1 => Ok(Self::One),
            _ => Err("the first index is 0 or 1"),
        }
    }
}

/// Meaning of examples without labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnlabelledMeans {
    /// Half-space examples: each is positive.
    #[default]
    HalfSpace,
    /// Unlabelled data: the class of each example is unknown.
    Nothing,
}

/// Limits on one body. An error names the exceeded limit by its field, except for the limits of the examples and of
/// the body, which have configured names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseLimits {
    /// Features per example in a dense form. In a sparse form there may be as many as 32 bits can number, or
    /// [`Self::names_max`] with names.
    pub n_max: usize,
    /// Distinct names of features.
    pub names_max: usize,
    /// Bytes per line.
    pub line_bytes_max: usize,
    /// Bytes that the examples may take, packed or as doubles. These are stored bytes if there is a spool, otherwise
    /// bytes in memory.
    pub state_bytes_max: u64,
    /// Name of the setting behind `state_bytes_max`, for errors.
    pub state_limit_name: &'static str,
    /// Bytes of a body after decompression, counted by [`decoder`](crate::decoder).
    pub body_bytes_max: u64,
    /// Name of the setting behind `body_bytes_max`, for errors.
    pub body_limit_name: &'static str,
    /// Decompressed bytes per compressed byte, on average.
    pub decompression_ratio_max: u64,
    /// Decompressed bytes up to which the ratio is not checked.
    pub decompressed_bytes_free: u64,
    /// Depth of nested arrays and objects in JSON.
    pub json_depth_max: usize,
}

impl ParseLimits {
    /// Checks a number of features per example.
    pub(crate) fn check_n(&self, n: usize) -> Result<(), Fault> {
        if n <= self.n_max {
            return Ok(());
        }
        let what = "An example has too many features";
        Err(Fault::too_large(what, "n_max", self.n_max as u64))
    }

    /// The default limits.
    pub const DEFAULT: Self = Self {
        n_max: 1 << 20,
        names_max: 1 << 24,
        line_bytes_max: 32 << 20,
        state_bytes_max: 1 << 30,
        state_limit_name: "state_bytes_max",
        body_bytes_max: 4 << 30,
        body_limit_name: "body_bytes_max",
        decompression_ratio_max: 1000,
        decompressed_bytes_free: 16 << 20,
        json_depth_max: 32,
    };
}

impl Default for ParseLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Properties of a body that the request states beyond the media type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Position of the labels. `None` is the default of the format: the column with the name of a label in tables,
    /// first in LIBSVM, last in ARFF and `.npy`, no labels in octets. A table without names has no default.
    pub labels: Option<LabelsColumn>,
    /// Whether a CSV table begins with a row of names.
    pub header: Header,
    /// Features per example, if known. Dense examples must have exactly this number.
    pub n: Option<usize>,
    /// The first index of LIBSVM. `None` lets the data decide that a model or an encoding comes from, and then the
    /// body.
    pub first_index: Option<FirstIndex>,
    /// The first index of the data that a model or an encoding comes from, if they came as LIBSVM.
    pub known_first_index: Option<FirstIndex>,
    /// Whether features have names that nobody lists in advance. If false, the first example decides.
    pub open_vocabulary: bool,
    /// Whether the names of NDJSON may keep the order in which they came, because the reader of the examples looks each
    /// name up in a vocabulary of its own.
    pub names_as_they_come: bool,
    /// Required kind of the features. `None` lets the values decide. Octets and JSON ignore this option.
    pub values: Option<RowsKind>,
    /// First bit of an octet. `None` means the most significant bit.
    pub bit_order: Option<BitOrder>,
    /// Meaning of examples without labels. JSON ignores this option, since its forms state the meaning.
    pub unlabelled: UnlabelledMeans,
    /// Whether indices above `n` are features that a model has never seen. Otherwise they are refused.
    pub unseen_indices: bool,
    /// What decides the meaning of the labels.
    pub label_rule: LabelRule,
    /// Columns, kinds and codings of a table.
    pub table: TableOptions,
    /// What the request says about texts and conjunctions.
    pub extraction: Extraction,
    /// The charset of a text. `None` means UTF-8, or the charset of the byte order mark.
    pub charset: Option<Charset>,
    /// Distribution that the sender declares for the examples.
    pub assume: Option<Assume>,
    /// Where the cells of a table go, if the table is to be encoded again.
    pub cells: Option<CellKeeper>,
    /// Limits of the read.
    pub limits: ParseLimits,
}

impl Options {
    /// Refuses the options that a format lacks. `format` is its name in errors.
    ///
    /// # Errors
    /// The first of these options that the request states.
    pub(crate) fn refuse(&self, format: &str, lacked: &[FormatOption]) -> Result<(), Fault> {
        let stated = lacked.iter().find(|option| (option.is_stated)(self));
        stated.map_or(Ok(()), |FormatOption { name, of, lack, .. }| {
            let is_own = matches!(self.label_rule, LabelRule::New | LabelRule::Later);
            let detail = match *name == FormatOption::VOCABULARY.name && !is_own {
                true => format!("Features have names here, but {format} {lack}; send {of}."),
                false => {
                    format!(
                        "The option `{name}` is for {of} only; {format} {lack}. Omit the option."
                    )
                }
            };
            Err(Fault::new(FormatErrorKind::BadOption, detail))
        })
    }

    /// Refuses the options of a table for examples in a form that is no table. `form` is its name in errors.
    ///
    /// # Errors
    /// As for [`Self::refuse`].
    pub(crate) fn refuse_columns(&self, form: &str) -> Result<(), Fault> {
        self.refuse(form, &[FormatOption::LABELS])?;
        self.refuse(form, &FormatOption::COLUMNS)
    }

    /// Refuses examples in a form that is no table, if a given encoding scales columns: nothing would tell whether the
    /// numbers are scaled already. `form` is its name in errors.
    ///
    /// # Errors
    /// The first column with a scale.
    pub(crate) fn check_scales(&self, form: &str) -> Result<(), Fault> {
        let given = self.table.encoding.iter().flat_map(|given| &given.columns);
        match given.into_iter().find(|column| column.scale.is_some()) {
            None => Ok(()),
            Some(column) => {
                let detail = format!(
                    "The encoding scales the column {}, and {form} does not tell whether its numbers are scaled. Send \
                     a table with the names of the columns, as in CSV or in `rows` of JSON.",
                    excerpt(column.name.as_bytes())
                );
                Err(Fault::new(FormatErrorKind::TableOption, detail))
            }
        }
    }

    fn ignores_labels(&self) -> bool {
        matches!(self.label_rule, LabelRule::Ignored(_))
    }

    /// Sets an option about texts and conjunctions. Returns false if there is no such option.
    ///
    /// # Errors
    /// As for [`Self::set`].
    pub fn set_of_texts(&mut self, name: &str, text: &str) -> Result<bool, String> {
        match FormatOption::is_of_texts(name) {
            true => self.set(name, text),
            false => Ok(false),
        }
    }

    /// The most names that begin at a character of a text, by the encoding that the body must have or by the request.
    pub fn names_per_character(&self) -> usize {
        let given = self.table.encoding.as_deref();
        let given = given.and_then(|given| given.extraction.as_ref());
        given.unwrap_or(&self.extraction).names_per_character()
    }

    /// Whether each example needs a label, because a model with class names must read it.
    pub(crate) fn needs_labels(&self) -> bool {
        self.unlabelled == UnlabelledMeans::Nothing
            && matches!(self.label_rule, LabelRule::Of(_) | LabelRule::Open)
    }

    /// Checks the options of labels against each other. `has_labels` says whether a body has labels if the option
    /// `labels` is absent.
    ///
    /// # Errors
    /// When a model needs labels that the examples lack, or when the request states the meaning of labels that the
    /// examples lack.
    pub(crate) fn check_labels(&self, has_labels: bool) -> Result<(), Fault> {
        let has_labels = match &self.labels {
            Some(labels) => *labels != LabelsColumn::None,
            None => has_labels,
        };
        if has_labels {
            return Ok(());
        }
        if self.needs_labels() {
            let detail = "The examples have no labels, but only labels tell the classes of the model. Say where they \
                          are, as in `labels=last`, or `labels=appended` for octets.";
            return Err(Fault::new(FormatErrorKind::BadOption, detail));
        }
        self.refuse("a body without labels", &[FormatOption::POSITIVE])
    }

    /// Checks the number of features per example against the requested n.
    pub(crate) fn check_n(&self, features: usize) -> Result<(), Fault> {
        match self.n.filter(|&n| n != features) {
            None => Ok(()),
            Some(n) => {
                let detail =
                    format!("The examples have {features} features, but the option n is {n}.");
                Err(Fault::new(FormatErrorKind::UnequalLength, detail))
            }
        }
    }
}

/// An option that some formats lack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormatOption {
    pub(crate) name: &'static str,
    /// The formats that have the option.
    of: &'static str,
    /// What to say of a format without the option, after its name.
    lack: &'static str,
    is_stated: fn(&Options) -> bool,
}

impl FormatOption {
    pub(crate) const HEADER: Self = Self {
        name: "header",
        of: "CSV",
        lack: "has no such header",
        is_stated: |options| options.header != Header::Auto,
    };
    pub(crate) const DELIMITER: Self = Self {
        name: "delimiter",
        of: "CSV",
        lack: "has no delimiter",
        is_stated: |options| options.table.delimiter.is_some(),
    };
    pub(crate) const COMMENT: Self = Self {
        name: "comment",
        of: "CSV",
        lack: "has no such comments",
        is_stated: |options| options.table.comment.is_some(),
    };
    pub(crate) const CHARSET: Self = Self {
        name: "charset",
        of: "bodies of text that are read as a whole",
        lack: "has none to choose",
        is_stated: |options| options.charset.is_some(),
    };
    pub(crate) const SHEET: Self = Self {
        name: "sheet",
        of: "XLSX",
        lack: "has no sheets",
        is_stated: |options| options.table.sheet.is_some(),
    };
    /// A prediction ignores labels anyway, so it may say that there are none.
    pub(crate) const LABELS: Self = Self {
        name: "labels",
        of: "tables",
        lack: "marks its labels",
        is_stated: |options| match options.labels {
            Some(LabelsColumn::None) => !options.ignores_labels(),
            _ => options.labels.is_some(),
        },
    };
    pub(crate) const POSITIVE: Self = Self {
        name: "positive",
        of: "labels that are values (in tables, LIBSVM and .npy, and the `y` of JSON and NDJSON)",
        lack: "has none",
        is_stated: |options| options.table.positive.is_some() && !options.ignores_labels(),
    };
    /// In another spelling, it says which labels are positive.
    pub(crate) const THRESHOLD: Self = Self {
        name: "label_threshold",
        ..Self::POSITIVE
    };
    pub(crate) const BIT_ORDER: Self = Self {
        name: "bit_order",
        of: "octets",
        lack: "has no packed bits",
        is_stated: |options| options.bit_order.is_some(),
    };
    pub(crate) const FIRST_INDEX: Self = Self {
        name: "first_index",
        of: "LIBSVM",
        lack: "has no indices",
        is_stated: |options| options.first_index.is_some(),
    };
    pub(crate) const VOCABULARY: Self = Self {
        name: "vocabulary",
        of: "tables, or examples in NDJSON, JSON or LIBSVM",
        lack: "numbers its features",
        is_stated: |options| options.open_vocabulary,
    };
    /// The options about texts and conjunctions.
    pub(crate) const EXTRACTION: [Self; 6] = [
        Self::of_texts("words", |options| options.extraction.words.is_some()),
        Self::of_texts("characters", |options| {
            options.extraction.characters.is_some()
        }),
        Self::of_texts("window", |options| options.extraction.window.is_some()),
        Self::of_texts("lower_case", |options| !options.extraction.lower_case),
        Self::of_texts("occurrences", |options| {
            options.extraction.occurrences != Occurrences::Presence
        }),
        Self::CONJUNCTIONS,
    ];
    const CONJUNCTIONS: Self = Self {
        name: "conjunctions",
        of: "examples with names",
        lack: "numbers its features",
        is_stated: |options| options.extraction.conjunctions > 1,
    };
    /// The options about texts alone.
    pub(crate) const TEXTS: [Self; 5] = {
        let [first, second, third, fourth, fifth, _] = Self::EXTRACTION;
        [first, second, third, fourth, fifth]
    };
    const N: Self = Self {
        name: "n",
        of: "data that you send",
        lack: "has its own n",
        is_stated: |options| options.n.is_some(),
    };
    /// The options about columns.
    pub(crate) const COLUMNS: [Self; 11] = [
        Self::of_columns("ignore", |options| !options.table.ignore.is_empty()),
        Self::of_columns("weights", |options| options.table.weights.is_some()),
        Self::of_columns("kinds", |options| !options.table.kinds.is_empty()),
        Self::of_columns("numbers", |options| options.table.numbers != Numbers::Real),
        Self::of_columns("bins", |options| options.table.bins.is_some()),
        Self::of_columns("scale", |options| options.table.scale != Scaling::None),
        Self::of_columns("missing", |options| options.table.missing.is_some()),
        Self::of_columns("missing_values", |options| {
            !options.table.missing_values.is_empty()
        }),
        Self::of_columns("unknown", |options| {
            options.table.unknown != Unknown::Refuse
        }),
        Self::of_columns("decimal", |options| options.table.decimal.is_some()),
        Self::of_columns("dates", |options| options.table.dates.is_some()),
    ];
    /// The options that rows of objects refuse.
    pub(crate) const NOT_OF_OBJECTS: [Self; 6] = [
        Self::HEADER,
        Self::BIT_ORDER,
        Self::DELIMITER,
        Self::COMMENT,
        Self::SHEET,
        Self::FIRST_INDEX,
    ];

    const fn of_columns(name: &'static str, is_stated: fn(&Options) -> bool) -> Self {
        Self {
            name,
            of: "tables (CSV, ARFF, XLSX, Parquet, and rows in JSON or NDJSON)",
            lack: "has no columns to describe",
            is_stated,
        }
    }

    const fn of_texts(name: &'static str, is_stated: fn(&Options) -> bool) -> Self {
        Self {
            name,
            of: "texts (in tables with the kind text, and in the member text of NDJSON and JSON)",
            lack: "has none",
            is_stated,
        }
    }

    /// Whether this is the name of an option about texts and conjunctions.
    fn is_of_texts(name: &str) -> bool {
        Self::EXTRACTION.iter().any(|option| option.name == name)
    }

    /// Whether a request states the option.
    pub(crate) fn is_stated(&self, options: &Options) -> bool {
        (self.is_stated)(options)
    }

    /// Every option, in no order.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Self::NOT_OF_OBJECTS
            .into_iter()
            .chain([
                Self::LABELS,
                Self::POSITIVE,
                Self::THRESHOLD,
                Self::N,
                Self::VOCABULARY,
                Self::CHARSET,
            ])
            .chain(Self::COLUMNS)
            .chain(Self::EXTRACTION)
    }
}
