//! The query parameters of every route that takes data: the options for reading a body, and the encoding that a table
//! must have.

use axum::http::{HeaderMap, header};
use halfspace_core::suggestions::nearest;
use halfspace_formats::{Assume, CharsetFault, OPTION_NAMES, Options, ParseLimits};
use utoipa::IntoParams;

use crate::jobs::{EncodingFault, EncodingSource, JobsError};
use crate::records::names::VocabularyKind;
use crate::records::{Names, Owner};

use crate::http::app_state::App;
use crate::http::extract::query_pairs;
use crate::http::problem::{Code, FieldError, Problem};

/// The documented query parameters.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "a shape: the query is read pair by pair")]
pub struct DataParameters {
    /// Label column of a table: the name or the number of a column (from 1, or from -1 at the end), `first`, `last` or
    /// `none`. By default the label is the one column named label, class, target or y. A table without a header needs
    /// this parameter. In ARFF and .npy the default is the last column. In octets: `none` (the default) or `appended`,
    /// one bit after the bits of each row. A prediction reads labels only on request.
    labels: Option<String>,
    /// Label value that means +1. All other values mean -1. Models, sessions and encodings with class names know the
    /// value already. A value that no label has is refused, and so is the parameter beside labels that are bits.
    positive: Option<String>,
    /// Makes two classes of labels that are numbers: those from this number on mean +1, and those below it -1. A model
    /// keeps the threshold in the names of its classes.
    label_threshold: Option<String>,
    /// Column of a table with the weights of the examples: the name or number of a column, `first`, `last` or `none`
    /// (the default). It is neither a feature nor the label. A weight is a number from 0.001 to 1000, rounded to a
    /// thousandth. Predictions, evaluations and questions of separability read the examples without their weights.
    weights: Option<String>,
    /// Columns of a table that are no features, separated by commas. `first..last` means all from one to another. A
    /// name with a comma stands in quotes.
    ignore: Option<String>,
    /// Kinds of columns, such as `age:number,zip:nominal`. A kind is `boolean`, `nominal`, `number`, `date`, `text` or
    /// `ignored`. A text needs an open vocabulary, which this kind implies. `first..last` stands for all columns from
    /// one to another and `*` for all columns; later pairs change single ones.
    kinds: Option<String>,
    /// Coding of number columns: `real` (the default), or `thermometer` for one bit per threshold.
    numbers: Option<String>,
    /// Largest number of thresholds per column for `numbers=thermometer`; the default is 8.
    #[param(minimum = 1, maximum = 255)]
    bins: Option<u32>,
    /// Scale of number columns: `none` (the default), `standard` for the mean 0 and the standard deviation 1, or
    /// `range` for numbers from 0 to 1. The encoding keeps the scale.
    scale: Option<String>,
    /// Treatment of missing cells: `value` (the default) makes a value of its own, `drop` leaves the rows out, and
    /// `refuse` refuses the table. `mean` and `median` fill missing numbers, `indicator` fills them with the mean and
    /// adds a feature that tells, and `most-frequent` fills every column. The encoding keeps the values.
    missing: Option<String>,
    /// Texts that are missing cells beside the usual ones, separated by commas. A text with a comma stands in quotes.
    missing_values: Option<String>,
    /// Treatment of values that the encoding does not know: `refuse` (the default), or `zero` for features that are 0.
    unknown: Option<String>,
    /// Character between the fields of CSV: `auto` (the default), `,`, `;`, `|`, `tab`, or `blank` for any number of
    /// blanks. By default the first line decides; one with none of the others has blanks between its words.
    delimiter: Option<String>,
    /// Punctuation mark with which a line of CSV begins that is no row, such as `#` or `%`. By default there is none.
    comment: Option<String>,
    /// Charset of a text, by a label of the WHATWG standard such as `windows-1252`, `iso-8859-1`, `utf-16le` or
    /// `shift_jis`. By default a byte order mark or the parameter `charset` of the Content-Type decides, and a text
    /// with neither is UTF-8. Statements that contradict each other are refused, and so is a byte that is no character.
    charset: Option<String>,
    /// Decimal mark of the texts of a table: `.` (the default) or `,`. The other one may stand between thousands.
    decimal: Option<String>,
    /// Order of dates whose year comes last: `dmy` for 31/12/2024, `mdy` for 12/31/2024. Dates such as 2024-12-31 need
    /// no option, and others are refused without one.
    dates: Option<String>,
    /// Sheet of a workbook, by name or by number.
    sheet: Option<String>,
    /// Whether the first row of CSV holds names: `auto` (the default), `true` or `false`.
    header: Option<String>,
    /// Model or dataset whose encoding the table must have, and whose class names read the labels. Data that are no
    /// table must have its number of features.
    encoding: Option<String>,
    /// Order of the bits in octets. `big` (the default): the most significant bit comes first. `little`: it comes last.
    bit_order: Option<String>,
    /// Features per example. Octets need this number.
    n: Option<u64>,
    /// Whether features have names, which may be new in any example: `open`, or `auto` (the default), for which the
    /// first example of NDJSON, JSON and LIBSVM decides, and tables have a fixed number of features. With `open` a word
    /// of a table is the name `column=word`, a number the value of the name of its column, and the indices of LIBSVM
    /// are names too. Beside a model or a session, `auto` means what it reads, and `open` is refused if its features
    /// are fixed.
    vocabulary: Option<String>,
    /// Index of the first feature in LIBSVM: `0`, `1`, or `auto` (the default). Beside a model or an encoding, `auto`
    /// means the first index of their data, and 1 if these were no LIBSVM. Otherwise an index 0 anywhere in the body
    /// means 0.
    first_index: Option<String>,
    /// Words of a sequence that is a name of a text: `1`, `2`, or a range such as `1-2`. `auto` (the default) means 1,
    /// unless `characters` is stated. A text is the member `text` of an x in NDJSON and JSON, a column of the kind
    /// `text`, or an ARFF attribute of the type `string`.
    words: Option<String>,
    /// Characters of a sequence that is a name of a text, such as `3-5`, or `auto` (the default) for none.
    characters: Option<String>,
    /// Places on each side of a word marked as `[[word]]`, from 1 to 50, within which words are names, alone and as
    /// patterns with their places. The marked word gives no name. `auto` (the default) means that no word is marked.
    window: Option<String>,
    /// Whether texts are read in lower case: `true` (the default) or `false`.
    lower_case: Option<String>,
    /// Value of a name that a text gives: `presence` (the default) is 1, `counts` the number of times that it occurs.
    occurrences: Option<String>,
    /// Most names in a conjunction. With 2 or 3, each example also has the conjunctions of so many of its names.
    #[param(minimum = 1, maximum = 3)]
    conjunctions: Option<u8>,
}

/// The options for reading a body, from the query.
pub struct DataOptions {
    pub options: Options,
    /// What the model or the session reads that the body is for.
    pub reader: Option<VocabularyKind>,
    encoding: Option<EncodingSource>,
}

impl DataOptions {
    pub fn new(limits: &ParseLimits) -> Self {
        let options = Options {
            limits: limits.clone(),
            ..Options::default()
        };
        Self {
            options,
            reader: None,
            encoding: None,
        }
    }

    /// Reads a query with no other parameters.
    ///
    /// # Errors
    /// An unknown parameter, or an invalid value.
    pub fn read(mut self, query: Option<&str>) -> Result<Self, Problem> {
        for (name, text) in query_pairs(query)? {
            if !self.parameter(&name, &text)? {
                return Err(unknown(&name, &[]));
            }
        }
        Ok(self)
    }

    /// Sets the query parameter `name`. Returns false if that is not an option of data.
    ///
    /// # Errors
    /// A problem that names the parameter and the allowed values.
    pub fn parameter(&mut self, name: &str, text: &str) -> Result<bool, Problem> {
        let set = self.set(name, text);
        set.map_err(|detail| Problem::parameter(Code::INVALID_PARAMETER, name, detail))
    }

    /// Sets the option `name`. Returns false if there is no such option.
    ///
    /// # Errors
    /// The allowed values.
    pub fn set(&mut self, name: &str, text: &str) -> Result<bool, String> {
        if name != "encoding" {
            return self.options.set(name, text);
        }
        self.encoding = Some(text.parse()?);
        Ok(true)
    }

    /// Sets the option `name` that a body states beside its rows, unless the query replaces it. Returns false if there
    /// is no such option.
    ///
    /// # Errors
    /// The allowed values.
    pub fn set_within(&mut self, name: &str, text: &str) -> Result<bool, String> {
        match (name, &self.encoding) {
            ("encoding", Some(_)) => Ok(true),
            ("encoding", None) => self.set(name, text),
            _ => self.options.set_within(name, text),
        }
    }

    /// Loads the encoding that the query names, and takes the charset of the body from these headers.
    ///
    /// # Errors
    /// An encoding that does not exist, names for a reader of fixed features, or a charset as for [`take_charset`].
    /// Errors of the store pass through.
    pub async fn resolve(
        mut self,
        app: &App,
        owner: &Owner,
        headers: &HeaderMap,
    ) -> Result<Options, Problem> {
        take_charset(&mut self.options, headers)?;
        if let Some(reader) = self.reader {
            check_vocabulary(&self.options, reader)?;
        }
        let at = |detail| FieldError::at_parameter("encoding", detail);
        self.resolve_at(app, owner, at).await
    }

    /// Loads the encoding that stands at a place of the request.
    ///
    /// # Errors
    /// As for [`Self::resolve`].
    pub async fn resolve_at(
        mut self,
        app: &App,
        owner: &Owner,
        at: impl Fn(String) -> FieldError,
    ) -> Result<Options, Problem> {
        if let Some(source) = self.encoding {
            let (names, n) = found(source, app, owner, &at).await?;
            let applied = EncodingSource::apply(&mut self.options, names, n);
            applied.map_err(|fault| match fault {
                EncodingFault::NoTable => no_encoding(&at),
                fault => Problem::at(Code::WRONG_DATA, at(fault.to_string())),
            })?;
        }
        Ok(self.options)
    }
}

/// Loads the encoding and the names of the classes for a session with this vocabulary, which begins without names
/// of features if it is open. `at` gives the place of the id in the request.
///
/// # Errors
/// An encoding that does not exist or has another vocabulary. Errors of the store pass through.
pub async fn session_names(
    source: EncodingSource,
    app: &App,
    owner: &Owner,
    vocabulary: VocabularyKind,
    at: impl Fn(String) -> FieldError,
) -> Result<Names, Problem> {
    let (names, _) = found(source, app, owner, &at).await?;
    let detail = match (names.vocabulary_kind(), vocabulary) {
        _ if names.table.is_none() => return Err(no_encoding(at)),
        (VocabularyKind::Fixed, VocabularyKind::Fixed) => return Ok(names),
        (VocabularyKind::Open, VocabularyKind::Open) => {
            return Ok(Names {
                features: Names::of_vocabulary().features,
                ..names
            });
        }
        (VocabularyKind::Open, VocabularyKind::Fixed) => {
            "The features are names, which may be new in any example; add `\"vocabulary\": \"open\"`."
        }
        (VocabularyKind::Fixed, VocabularyKind::Open) => {
            "The encoding has a fixed number of features; leave `vocabulary` out."
        }
    };
    Err(Problem::at(Code::WRONG_DATA, at(detail.to_owned())))
}

/// Loads the names, of which the encoding may be absent, and the number of features.
async fn found(
    source: EncodingSource,
    app: &App,
    owner: &Owner,
    at: &impl Fn(String) -> FieldError,
) -> Result<(Names, usize), Problem> {
    let found = source
        .find(&app.jobs.models, &app.jobs.datasets, owner)
        .await;
    let refuse = |code, detail: &str| Problem::at(code, at(detail.to_owned()));
    found.map_err(|error| match error {
        JobsError::ModelMissing => refuse(
            Code::UNKNOWN_MODEL,
            "There is no such model; GET /v1/models lists them.",
        ),
        JobsError::DatasetMissing => refuse(
            Code::UNKNOWN_DATASET,
            "There is no such dataset; GET /v1/datasets lists them.",
        ),
        error => error.into(),
    })
}

/// Takes the charset of a text from its Content-Type.
///
/// # Errors
/// An unknown charset, or one that contradicts the query.
pub fn take_charset(options: &mut Options, headers: &HeaderMap) -> Result<(), Problem> {
    let content_type = headers.get(header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let taken = options.take_charset(content_type.unwrap_or_default());
    taken.map_err(|fault| {
        let (code, name) = match fault {
            CharsetFault::Unknown(_) => (Code::UNSUPPORTED_MEDIA_TYPE, "Content-Type"),
            CharsetFault::Contradiction(_) => (Code::BAD_OPTION, "charset"),
        };
        Problem::parameter(code, name, fault.to_string())
    })
}

/// The distribution that a query declares for the data.
///
/// # Errors
/// The allowed values.
pub fn assumed(text: String) -> Result<Assume, Problem> {
    serde_json::from_value(text.into()).map_err(|_| {
        let known = "not one of uniform-positive, reflected, uniform";
        Problem::parameter(Code::INVALID_PARAMETER, "assume", known)
    })
}

/// Checks that the request asks for names only where the model or the session reads names.
///
/// # Errors
/// The parameter to leave out.
pub fn check_vocabulary(options: &Options, reader: VocabularyKind) -> Result<(), Problem> {
    match options.open_vocabulary && reader.is_fixed() {
        false => Ok(()),
        true => {
            let detail = "the examples are for a fixed number of features; leave the parameter out";
            Err(Problem::parameter(Code::WRONG_DATA, "vocabulary", detail))
        }
    }
}

/// The problem for a model or a dataset whose data came as no table. `at` gives the place of its id.
fn no_encoding(at: impl Fn(String) -> FieldError) -> Problem {
    let detail = "The data did not come as a table, so there is no encoding; leave `encoding` out.";
    Problem::at(Code::TABLE_OPTION, at(detail.to_owned()))
}

/// The problem for an unknown parameter of a route with options of data and with the parameters `own`.
pub fn unknown(name: &str, own: &[&str]) -> Problem {
    let known: Vec<&str> = own
        .iter()
        .chain(&OPTION_NAMES)
        .copied()
        .chain(["encoding"])
        .collect();
    // Names are compared without the names above them, because a client may have left those out.
    let last = |name: &'_ str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let lasts: Vec<String> = known.iter().map(|known| last(known)).collect();
    let meant = nearest(&last(name), lasts.iter().map(String::as_str));
    let meant = meant.and_then(|meant| known.iter().zip(&lasts).find(|(_, last)| *last == meant));
    let question = meant.map_or(String::new(), |(meant, _)| {
        format!(" (did you mean `{meant}`?)")
    });
    let detail = format!(
        "unknown parameter{question}; the parameters are: {}",
        known.join(", ")
    );
    Problem::parameter(Code::INVALID_PARAMETER, name, detail)
}
