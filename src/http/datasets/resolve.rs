//! The data of a request: finds out whether they are a sample in the body, generated data or a stored dataset, and
//! opens them.

use std::sync::Arc;

use halfspace_core::learners::engine::run::{Interrupt, StopFlag};
use halfspace_core::learners::sample::examples::{Examples, class_codes};
use halfspace_core::learners::sample::weights::Weight;
use halfspace_core::memory::Grant;
use halfspace_formats::{
    Assume, CellKeeper, Classes, DataForm, FormatError, JsonRows, LabelRule, Options, Parsed,
    Place, Recoding, StoredExamples, Vocabulary, classes_alone, digest, occurring,
};

use crate::jobs::{JobSample, JobsError, TableCells};
use crate::records::dataset::Repetitions;
use crate::records::task::DataSpec;
use crate::records::{Dataset, DatasetId, Names, Owner};

use crate::http::app_state::App;
use crate::http::extract::body::{self, RequestMemory};
use crate::http::extract::data_options::DataOptions;
use crate::http::extract::mending::mended_rows;
use crate::http::problem::{Code, FieldError, Problem};

/// The digest of a sample in hexadecimal. Generated data and datasets have none here.
pub fn sha256(form: &DataForm) -> Option<String> {
    match form {
        DataForm::Sample { parsed, .. } => Some(hex::encode(parsed.digest())),
        DataForm::Rows(_) | DataForm::Generated(_) | DataForm::Dataset { .. } => None,
    }
}

/// The place of the value that made a sample in the body real.
pub fn first_real(form: &DataForm) -> Option<Place> {
    match form {
        DataForm::Sample { parsed, .. } => parsed.first_real.clone(),
        DataForm::Rows(_) | DataForm::Generated(_) | DataForm::Dataset { .. } => None,
    }
}

#[derive(Default)]
pub struct JobData {
    /// The facts about the data that are stored with the request.
    pub spec: DataSpec,
    /// The sample, unless the data are generated.
    pub sample: Option<JobSample>,
    /// Digest of the sample.
    pub sha256: Option<String>,
    /// Id of the dataset, if the sample is a dataset.
    pub dataset: Option<DatasetId>,
    /// The raw cells of the table that the sample came as.
    pub cells: Option<TableCells>,
    /// Which class codes the sample has.
    occurring: Vec<bool>,
    /// See [`Parsed::is_undecided`].
    pub is_undecided: bool,
    /// The weights of a sample in memory. A stored one has its own.
    pub weights: Option<Arc<[Weight]>>,
}

impl JobData {
    /// The data of a dataset. `assume` replaces the distribution that the dataset declares.
    pub fn of_dataset(
        dataset: Dataset,
        examples: Arc<StoredExamples>,
        assume: Option<Assume>,
    ) -> Self {
        let Dataset { summary, names } = dataset;
        Self {
            spec: DataSpec {
                assume: assume.or(summary.facts.assume),
                zero_bit_value: summary.facts.zero_bit_value,
                names: names.kept(),
                seed: summary.seed,
                repetitions: match summary.facts.repetitions {
                    Repetitions::Counted {
                        duplicates,
                        contradictions,
                    } => Some((duplicates, contradictions.unwrap_or(0))),
                    Repetitions::Uncounted(_) => None,
                },
                ..DataSpec::default()
            },
            sample: Some(JobSample::Stored(examples)),
            occurring: summary.facts.occurring().to_vec(),
            sha256: Some(summary.facts.sha256),
            dataset: Some(summary.id),
            cells: None,
            is_undecided: false,
            weights: None,
        }
    }

    fn of_sample(parsed: Parsed, assume: Option<Assume>, sha256: Option<String>) -> Self {
        Self {
            spec: DataSpec {
                assume,
                zero_bit_value: zero_bit_value(&parsed),
                names: Names::of(&parsed).kept(),
                ..DataSpec::default()
            },
            occurring: occurring(&parsed.data),
            sample: Some(parsed.data.into()),
            sha256,
            dataset: None,
            cells: None,
            is_undecided: parsed.is_undecided,
            weights: parsed.weights,
        }
    }

    /// The names of the features of a sample in memory.
    fn vocabulary(&self) -> Option<&Vocabulary> {
        self.spec.names.vocabulary().map(AsRef::as_ref)
    }

    /// Lets the values of the labels decide on the classes, because no model reads them. `pointer` is the place of the
    /// data in the body.
    ///
    /// # Errors
    /// Labels that leave the classes open.
    pub fn read_alone(&mut self, pointer: &str) -> Result<(), Problem> {
        let (Some(read), Some(JobSample::Memory(data))) = (&self.spec.names.classes, &self.sample)
        else {
            return Ok(());
        };
        let at = |error: FormatError| FieldError::at_pointer(pointer, error.detail);
        let (classes, codes) = classes_alone(read, data)
            .map_err(|error| Problem::at(Code::TABLE_OPTION, at(error)))?;
        let data = codes.of(data.as_ref().clone());
        self.sha256 = Some(hex::encode(digest(
            &data,
            Some(&classes),
            self.vocabulary(),
            self.weights.as_deref(),
        )));
        self.spec.names.classes = Some(classes);
        self.sample = Some(data.into());
        Ok(())
    }

    /// Tells one class from all others. `pointer` is the place of the data in the body.
    fn against_the_rest(mut self, positive: &str, pointer: &str) -> Result<Self, Problem> {
        let plain = Classes::plain();
        let classes = self.spec.names.classes.as_ref().unwrap_or(&plain);
        let one = classes.one_of(positive).map_err(|detail| {
            let field = FieldError::at_pointer(format!("{pointer}/dataset"), detail);
            Problem::at(Code::TABLE_OPTION, field)
        })?;
        self.read_as(one).map_err(|detail| {
            Problem::at(Code::TABLE_OPTION, FieldError::at_pointer(pointer, detail))
        })?;
        Ok(self)
    }

    /// Orders the classes by their first examples, as they join in a session. Those without examples come last.
    ///
    /// # Errors
    /// An interrupt if the labels cannot be read.
    pub fn read_in_order(&mut self) -> Result<(), Interrupt> {
        let (Some(classes), Some(sample)) = (&self.spec.names.classes, &self.sample) else {
            return Ok(());
        };
        let examples: &dyn Examples = match sample {
            JobSample::Memory(data) => data.as_ref(),
            JobSample::Stored(examples) => examples.as_ref(),
        };
        let Some(order) = first_seen(examples, classes.count())? else {
            return Ok(());
        };
        let names: Vec<&str> = classes.each().flatten().collect();
        let ordered = order
            .iter()
            .filter_map(|code| names.get(*code))
            .map(|name| (*name).to_owned());
        // Of two classes one may have no name, but these are refused later anyway.
        let _ = Classes::of_names(ordered).map(|ordered| self.read_as(ordered));
        Ok(())
    }

    /// Gives the data the labels and the classes of the model that reads them.
    ///
    /// # Errors
    /// The feature, the encoding or the label that the model does not know.
    pub fn read_by(&mut self, model: &Names) -> Result<(), String> {
        let codes = model.fit(&self.spec.names, &self.occurring)?;
        self.recode(model, codes);
        Ok(())
    }

    /// Gives the data these classes, whatever their features are.
    ///
    /// # Errors
    /// The label that is none of the classes.
    pub fn read_as(&mut self, classes: Classes) -> Result<(), String> {
        let stated = Names::of_classes(Some(classes));
        let codes = stated.recoding(&self.spec.names, &self.occurring)?;
        self.recode(&stated, codes);
        Ok(())
    }

    /// Gives the data the classes of `reader`, of which `codes` are those of the present labels.
    fn recode(&mut self, reader: &Names, codes: Recoding) {
        self.spec.names = std::mem::take(&mut self.spec.names).read_by(reader);
        if codes.is_identity() {
            return;
        }
        if !codes.is_one_to_one() {
            self.spec.repetitions = None;
        }
        match self.sample.take() {
            // The job stores the rows of the request with the class codes of the model.
            Some(JobSample::Memory(data)) => {
                let data = codes.of(Arc::unwrap_or_clone(data));
                let (classes, names) = (reader.classes.as_ref(), self.vocabulary());
                let weights = self.weights.as_deref();
                self.sha256 = Some(hex::encode(digest(&data, classes, names, weights)));
                self.sample = Some(data.into());
            }
            stored => {
                self.spec.recoding = codes;
                self.sample = stored;
            }
        }
    }
}

/// The codes of the classes in the order of their first examples, those without examples last. `None` if this is their
/// order already.
fn first_seen(examples: &dyn Examples, classes: usize) -> Result<Option<Vec<usize>>, Interrupt> {
    let Some(codes) = class_codes(examples)? else {
        return Ok(None);
    };
    let (mut order, mut is_seen) = (Vec::new(), vec![false; classes]);
    for row in 0..codes.rows() {
        let code = codes.get(row) as usize;
        if order.len() == classes {
            break;
        }
        if let Some(is_seen @ false) = is_seen.get_mut(code) {
            *is_seen = true;
            order.push(code);
        }
    }
    order.extend((0..classes).filter(|code| !is_seen[*code]));
    let is_sorted = order.is_sorted();
    Ok((!is_sorted).then_some(order))
}

/// Separates the sample from the facts that are stored with the request, and opens the dataset if the data name one.
///
/// `sha256` is the digest of a sample in the body.
///
/// # Errors
/// [`Code::UNKNOWN_DATASET`] if the dataset does not exist. Errors of the store pass through.
pub async fn find_data(
    app: &App,
    owner: &Owner,
    form: Option<DataForm>,
    sha256: Option<String>,
    reading: RowReading<'_>,
) -> Result<JobData, Problem> {
    let pointer = reading.pointer;
    let Some(form) = form else {
        return Ok(JobData::default());
    };
    match form {
        DataForm::Sample { parsed, assume } => Ok(JobData::of_sample(parsed, assume, sha256)),
        DataForm::Rows(rows) => {
            let memory = reading.memory;
            let ((parsed, sha256), grant) = read_rows(app, owner, rows, reading).await?;
            memory.hold(grant);
            Ok(JobData::of_sample(parsed, None, Some(sha256)))
        }
        DataForm::Generated(spec) => Ok(JobData {
            spec: DataSpec {
                generated: Some(spec),
                ..DataSpec::default()
            },
            ..JobData::default()
        }),
        DataForm::Dataset {
            id,
            assume,
            positive,
        } => {
            let (dataset, examples) = stored_examples(app, owner, &id, pointer).await?;
            let cells = match reading.cells {
                Some(_) => app.jobs.datasets.raw_cells(&dataset.summary).await?,
                None => None,
            };
            let mut data = JobData::of_dataset(dataset, examples, assume);
            data.cells = cells.map(|cells| app.jobs.datasets.table_cells(cells));
            match positive {
                Some(positive) => data.against_the_rest(&positive, pointer),
                None => Ok(data),
            }
        }
    }
}

/// How the rows of a table in a JSON body are read.
pub struct RowReading<'r> {
    /// The place of the data in the body.
    pub pointer: &'r str,
    /// What decides the meaning of the labels.
    pub label_rule: LabelRule,
    /// Where the raw cells go, if the task needs those of its table.
    pub cells: Option<CellKeeper>,
    /// The memory of the request, to which that of the rows belongs.
    pub memory: &'r RequestMemory,
}

/// Reads the rows of a table in a JSON body. Returns the rows, their digest and their memory.
async fn read_rows(
    app: &App,
    owner: &Owner,
    rows: JsonRows,
    reading: RowReading<'_>,
) -> Result<((Parsed, String), Grant), Problem> {
    let stated = DataOptions::new(&app.limits.of_json());
    let pointer = reading.pointer.to_owned();
    let mut options = row_options(app, owner, &rows, &pointer, stated).await?;
    options.label_rule = reading.label_rule;
    options.cells = reading.cells;
    let parse = move || -> Result<(Parsed, String), Problem> {
        let parsed = rows
            .parse(&options, None)
            .map_err(|error| mended_rows(error, &rows, &options, &pointer))?;
        let sha256 = hex::encode(parsed.digest());
        Ok((parsed, sha256))
    };
    body::make_examples(app, parse).await
}

/// Adds the options beside the rows of a table, which stand at `pointer` in a JSON body, to those of the query, which
/// replace them.
///
/// # Errors
/// An invalid value, or an encoding that does not exist.
pub async fn row_options(
    app: &App,
    owner: &Owner,
    rows: &JsonRows,
    pointer: &str,
    mut data: DataOptions,
) -> Result<Options, Problem> {
    let at = |name: &str, detail| FieldError::at_pointer(format!("{pointer}/table/{name}"), detail);
    for (name, text) in &rows.options {
        data.set_within(name, text).map_err(|detail| {
            Problem::new(Code::OUT_OF_RANGE, format!("{name}: {detail}")).with(at(name, detail))
        })?;
    }
    let encoding = |detail| at("encoding", detail);
    data.resolve_at(app, owner, encoding).await
}

/// Returns the value of a 0 bit in the body.
fn zero_bit_value(parsed: &Parsed) -> i8 {
    if parsed.zero_bit_value < 0.0 { -1 } else { 0 }
}

/// Opens the dataset that a body names.
///
/// # Errors
/// [`Code::UNKNOWN_DATASET`] with its place in the body if the dataset does not exist or the name is no id.
/// Errors of the store pass through.
pub async fn stored_examples(
    app: &App,
    owner: &Owner,
    id: &str,
    pointer: &str,
) -> Result<(Dataset, Arc<StoredExamples>), Problem> {
    let opened = match id.parse::<DatasetId>() {
        Ok(id) => {
            let stop = StopFlag::default();
            app.jobs.datasets.open(owner, id, stop).await
        }
        Err(_) => Err(JobsError::DatasetMissing),
    };
    opened.map_err(|error| no_dataset(error, pointer))
}

fn no_dataset(error: JobsError, pointer: &str) -> Problem {
    match error {
        JobsError::DatasetMissing => {
            let detail = "There is no such dataset; GET /v1/datasets lists them.";
            let field = FieldError::at_pointer(format!("{pointer}/dataset"), detail);
            Problem::at(Code::UNKNOWN_DATASET, field)
        }
        error => error.into(),
    }
}
