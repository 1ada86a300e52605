//! Reads the body of an upload: data in any format, with a name and options. Stored data and previews are read in the
//! same way.

use std::fmt;

use halfspace_core::learners::sample::examples::LabelKind;
use halfspace_core::memory::Grant;
use halfspace_formats::{
    self, Assume, CellKeeper, DataForm, Format, FormatError, FormatErrorKind, NotReserved, Options,
    Parsed, ParsedRows, Preview, RawCells, Spool, gather_shown, json,
};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use utoipa::ToSchema;

use crate::jobs::{BegunDataset, Reservation, StoredRatio, assume_refusal};
use crate::records::Owner;
use crate::records::train::SeedNumber;

use crate::http::app_state::App;
use crate::http::datasets::resolve::row_options;
use crate::http::document::data_schema;
use crate::http::extract::body;
use crate::http::extract::data_body::DataBody;
use crate::http::extract::data_options::{self, DataOptions};
use crate::http::extract::mending::mended_rows;
use crate::http::jobs::submission::check_name;
use crate::http::permits::OwnerPermit;
use crate::http::problem::{Code, FieldError, Problem};

/// Names and values of query parameters.
type Pairs = Vec<(String, String)>;

/// Data to store as a dataset.
#[derive(serde::Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DatasetRequest {
    /// Free text that names the dataset.
    #[schema(max_length = 256)]
    name: Option<String>,
    #[schema(schema_with = data_schema::reference)]
    data: DataForm,
    /// Seed of generated data. A missing seed is drawn. Other data take no seed.
    seed: Option<SeedNumber>,
    /// The seed from which the examples were drawn.
    #[serde(skip)]
    drawn_from: Option<u64>,
}

/// The JSON body of an upload: a request, or the rows alone.
struct DatasetBody {
    request: DatasetRequest,
    /// The place of the data in the body.
    data_at: &'static str,
}

impl<'de> Deserialize<'de> for DatasetBody {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_any(DatasetBodyVisitor)
    }
}

struct DatasetBodyVisitor;

impl<'de> Visitor<'de> for DatasetBodyVisitor {
    type Value = DatasetBody;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `data`, or an array of rows")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DatasetBody, A::Error> {
        let request = DatasetRequest::deserialize(MapAccessDeserializer::new(map))?;
        Ok(DatasetBody {
            request,
            data_at: "/data",
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, rows: A) -> Result<DatasetBody, A::Error> {
        let request = DatasetRequest {
            name: None,
            data: DataForm::deserialize(SeqAccessDeserializer::new(rows))?,
            seed: None,
            drawn_from: None,
        };
        Ok(DatasetBody {
            request,
            data_at: "",
        })
    }
}

pub struct Upload {
    /// Free text of the client.
    pub name: Option<String>,
    /// The examples, or in a preview the problem that it explains.
    pub parsed: Result<Parsed<ParsedRows>, Problem>,
    /// The raw cells of a table that is to be stored.
    pub cells: Option<RawCells>,
    /// Distribution of the examples, which the client declares or which drawn examples are known to have.
    pub assume: Option<Assume>,
    /// The seed from which the examples were drawn.
    pub seed: Option<u64>,
    /// The permit under which the body was read. Hold it as long as the examples.
    pub permit: Option<OwnerPermit>,
    /// The memory of examples that come from a part of a document. All others count towards the memory of the
    /// request.
    pub memory: Option<Grant>,
}

#[derive(Clone, Copy)]
pub enum Purpose<'a> {
    /// The examples become the begun dataset. If they are large, they may be written to its blob while they arrive.
    Store(&'a BegunDataset),
    /// A preview shows the examples or explains an error.
    Preview(&'a Preview),
}

impl Purpose<'_> {
    /// Where the raw cells of a table go, if it is to be stored.
    fn keeper(self) -> Option<CellKeeper> {
        match self {
            Self::Store(_) => Some(CellKeeper::default()),
            Self::Preview(_) => None,
        }
    }

    fn preview(self) -> Option<Preview> {
        match self {
            Self::Store(_) => None,
            Self::Preview(preview) => Some(preview.clone()),
        }
    }
}

/// Reads the body of an upload. The stored form of spooled rows counts against the reservation.
///
/// # Errors
/// An unknown parameter, an error of the body, or a declared distribution that does not fit the data. Errors that a
/// preview explains are part of its upload instead.
pub async fn read(
    app: &App,
    owner: &Owner,
    body: DataBody,
    query: Pairs,
    reserved: &Reservation,
    purpose: Purpose<'_>,
) -> Result<Upload, Problem> {
    let upload = match body.format {
        Format::Json => read_json(app, owner, body, &query, purpose).await?,
        _ => read_lines(app, owner, body, query, reserved.clone(), purpose).await?,
    };
    if let Ok(parsed) = &upload.parsed {
        check_assume(parsed.data.header().labels, upload.assume)?;
    }
    Ok(upload)
}

/// Reads a body that is the data. The query contains the name and the options.
async fn read_lines(
    app: &App,
    owner: &Owner,
    mut body: DataBody,
    query: Pairs,
    reserved: Reservation,
    purpose: Purpose<'_>,
) -> Result<Upload, Problem> {
    body.limits = app.limits.of_datasets();
    let (name, data) = line_options(query, &body.limits)?;
    check_name(app, name.as_deref(), |detail| {
        FieldError::at_parameter("name", detail)
    })?;
    // Checked before spooling, so that one upload does not take the rest of a full disk from others.
    app.jobs.store.ensure_space().await?;
    let mut options = data.resolve(app, owner, &body.parts.headers).await?;
    let keeper = purpose.keeper();
    options.cells.clone_from(&keeper);
    let preview = purpose.preview();
    let (format, effort, assume) = (body.format, body.effort(&options), options.assume);
    let sent = body.sent_bytes();
    let ratio = StoredRatio::new(app.limits.stored_ratio_max, move || sent.get());
    let spool = spool(app, &reserved, &ratio);
    let spool = match purpose {
        Purpose::Store(begun) => spool.storing(begun.compared_max, begun.target()),
        Purpose::Preview(_) => spool,
    };
    let shown = preview.clone();
    let read = body.under(&options).read_held(app, effort, move |reader| {
        let gathered = match &preview {
            None => halfspace_formats::gather(format, reader, &options, spool),
            Some(preview) => gather_shown(format, reader, &options, Some(spool), preview),
        };
        gathered.map_err(|error| {
            let no_room = refused_room(&error, &reserved, &ratio);
            no_room.unwrap_or_else(|| first_fault(error, preview.as_ref()).into())
        })
    });
    let (parsed, permit) = explained(read.await, shown.as_ref())?;
    let permit = permit.flatten();
    Ok(Upload {
        name,
        parsed,
        cells: keeper.as_ref().and_then(CellKeeper::take),
        assume,
        seed: None,
        permit,
        memory: None,
    })
}

/// The spool of a dataset whose stored form counts against the reservation and the ratio.
pub fn spool(app: &App, reserved: &Reservation, ratio: &StoredRatio) -> Spool {
    let scratch = app.scratch.clone();
    let (held, within) = (reserved.clone(), ratio.clone());
    let spool = Spool::new(app.limits.upload_memory_bytes_max, move || scratch.file());
    spool.reserving(move |bytes| match within.admits(bytes) {
        true => held.grow_to(bytes).map_err(|_| NotReserved),
        false => Err(NotReserved),
    })
}

/// Why the spool refused room for the stored form, if the error says that it did.
pub fn refused_room(
    error: &FormatError,
    reserved: &Reservation,
    ratio: &StoredRatio,
) -> Option<Problem> {
    let ratio = || Problem::new(Code::TOO_LARGE, ratio.refusal());
    let is_refused = error.kind == FormatErrorKind::NotReserved;
    is_refused.then(|| reserved.refusal().map_or_else(ratio, Problem::from))
}

/// The error to report: the first one that a preview saw, if it can explain it.
fn first_fault(error: FormatError, preview: Option<&Preview>) -> FormatError {
    match preview.map(|preview| preview.explained(error.clone())) {
        Some(Ok(first)) => first,
        Some(Err(other)) => other,
        None => error,
    }
}

/// Separates an error that a preview explains from other errors.
fn explained<T, P>(
    read: Result<(T, P), Problem>,
    preview: Option<&Preview>,
) -> Result<(Result<T, Problem>, Option<P>), Problem> {
    match read {
        Ok((parsed, permit)) => Ok((Ok(parsed), Some(permit))),
        Err(problem) if problem.is_of_content() && preview.is_some_and(Preview::is_explained) => {
            Ok((Err(problem), None))
        }
        Err(problem) => Err(problem),
    }
}

/// The query of a JSON body.
struct JsonQuery {
    /// All options, for the rows of a table.
    of_rows: DataOptions,
    /// Those of listed examples, which have texts and nothing else that an option could be about.
    of_listed: Options,
    /// The first parameter of tables alone, and the first of examples in the body alone.
    only_rows: Option<String>,
    only_sent: Option<String>,
}

impl JsonQuery {
    /// Reads the query, and the charset of the headers.
    ///
    /// # Errors
    /// A parameter that is a field of such a body, or an invalid value.
    fn read(query: &Pairs, body: &DataBody) -> Result<Self, Problem> {
        let mut of_rows = DataOptions::new(&body.limits);
        let mut of_listed = DataOptions::new(&body.limits).options;
        let (mut only_rows, mut only_sent) = (None, None);
        for (name, text) in query {
            if !of_rows.parameter(name, text)? {
                let detail =
                    "the parameter is not for JSON bodies; set a field of the JSON body instead";
                return Err(Problem::parameter(Code::INVALID_PARAMETER, name, detail));
            }
            if name == "charset" {
                continue;
            }
            only_sent.get_or_insert_with(|| name.clone());
            if !matches!(of_listed.set_of_texts(name, text), Ok(true)) {
                only_rows.get_or_insert_with(|| name.clone());
            }
        }
        data_options::take_charset(&mut of_rows.options, &body.parts.headers)?;
        of_listed.charset = of_rows.options.charset;
        Ok(Self {
            of_rows,
            of_listed,
            only_rows,
            only_sent,
        })
    }
}

/// Reads the JSON form.
async fn read_json(
    app: &App,
    owner: &Owner,
    body: DataBody,
    query: &Pairs,
    purpose: Purpose<'_>,
) -> Result<Upload, Problem> {
    let JsonQuery {
        of_rows,
        of_listed: options,
        only_rows,
        only_sent,
    } = JsonQuery::read(query, &body)?;
    let effort = body.effort(&options);
    let read = body.read_held(app, effort, move |reader| {
        let DatasetBody { request, data_at } = json::from_reader_of_any(reader, &options)?;
        let (misplaced, reason) = match request.data {
            DataForm::Rows(_) => (None, ""),
            DataForm::Sample { .. } => (only_rows, "the parameter is for tables"),
            _ => (only_sent, "the parameter is for examples in the body"),
        };
        if let Some(name) = misplaced {
            return Err(Problem::parameter(Code::INVALID_PARAMETER, &name, reason));
        }
        if request.seed.is_some() && !matches!(request.data, DataForm::Generated(_)) {
            let detail = "The field seed is only for generated data. These data are not generated.";
            let field = FieldError::at_pointer("/seed", detail);
            return Err(Problem::at(Code::WRONG_DATA, field));
        }
        Ok((request, data_at))
    });
    let ((request, data_at), permit) = read.await?;
    let (request, permit, mut memory) = drawn(app, owner, request, permit).await?;
    let DatasetRequest {
        name,
        data,
        drawn_from: seed,
        ..
    } = request;
    check_name(app, name.as_deref(), |detail| {
        FieldError::at_pointer("/name", detail)
    })?;
    let keeper = purpose.keeper();
    let (parsed, assume) = match data {
        DataForm::Rows(rows) => {
            let mut options = row_options(app, owner, &rows, data_at, of_rows).await?;
            options.cells.clone_from(&keeper);
            let preview = purpose.preview();
            let shown = preview.clone();
            let parse = move || {
                let read = rows.parse(&options, preview.as_ref());
                read.map_err(|error| {
                    let error = first_fault(error, preview.as_ref());
                    mended_rows(error, &rows, &options, data_at)
                })
            };
            let read = body::make_examples(app, parse).await;
            let (parsed, grant) = explained(read, shown.as_ref())?;
            memory = grant;
            (parsed, None)
        }
        DataForm::Sample { parsed, assume } => (Ok(parsed), assume),
        DataForm::Generated(_) => unreachable!("the data were drawn above"),
        DataForm::Dataset { .. } => {
            let detail =
                "The data are already a stored dataset. To store another dataset, send examples.";
            let field = FieldError::at_pointer("/data/dataset", detail);
            return Err(Problem::at(Code::WRONG_DATA, field));
        }
    };
    Ok(Upload {
        name,
        parsed: parsed.map(Parsed::from),
        cells: keeper.as_ref().and_then(CellKeeper::take),
        assume,
        seed,
        permit,
        memory,
    })
}

/// Draws generated examples under a permit and a grant, because a few bytes may describe many examples.
async fn drawn(
    app: &App,
    owner: &Owner,
    mut request: DatasetRequest,
    permit: Option<OwnerPermit>,
) -> Result<(DatasetRequest, Option<OwnerPermit>, Option<Grant>), Problem> {
    let DataForm::Generated(spec) = request.data else {
        return Ok((request, permit, None));
    };
    let permit = match permit {
        Some(permit) => permit,
        None => app.permits.uploads.take(owner).await?,
    };
    let fresh = app.jobs.ids.seed();
    let seed = request.seed.map_or(fresh, SeedNumber::get);
    let state_bytes_max = app.limits.state_bytes_max;
    let draw = move || {
        let data = crate::jobs::draw(&spec, seed, state_bytes_max).map_err(|detail| {
            let field = FieldError::at_pointer("/data/generated/count", detail);
            Problem::at(Code::WRONG_DATA, field)
        })?;
        Ok((data, permit))
    };
    let (((data, assume), permit), memory) = body::make_examples(app, draw).await?;
    request.data = DataForm::Sample {
        parsed: Parsed::of(data),
        assume,
    };
    request.drawn_from = Some(seed);
    Ok((request, Some(permit), Some(memory)))
}

/// The name and the options of a body in a line format, from the query.
///
/// # Errors
/// An unknown parameter, or an invalid value.
pub fn line_options(
    query: Pairs,
    limits: &halfspace_formats::ParseLimits,
) -> Result<(Option<String>, DataOptions), Problem> {
    let mut name = None;
    let mut data = DataOptions::new(limits);
    for (parameter, text) in query {
        match parameter.as_str() {
            "name" => name = Some(text),
            "assume" => data.options.assume = Some(data_options::assumed(text)?),
            parameter if data.parameter(parameter, &text)? => {}
            parameter => return Err(data_options::unknown(parameter, &["name", "assume"])),
        }
    }
    Ok((name, data))
}

/// Refuses an `assume` that does not fit the data. Otherwise every job on the data would refuse to run.
pub fn check_assume(kind: LabelKind, assume: Option<Assume>) -> Result<(), Problem> {
    match assume_refusal(kind, assume) {
        None => Ok(()),
        Some(detail) => Err(Problem::parameter(Code::BAD_OPTION, "assume", detail)),
    }
}
