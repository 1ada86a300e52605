//! The data that a request brings or names, found.

use std::sync::Arc;

use halfspace_core::learners::engine::run::StopFlag;
use halfspace_formats::{DataForm, Parsed, Place, StoredExamples, digest};

use crate::jobs::JobsError;
use crate::records::dataset::Repetitions;
use crate::records::task::DataSpec;
use crate::records::{Dataset, DatasetId, Names, Owner};

use super::App;
use super::problem::{Code, Problem, placed};

/// The digest of a sample, in hexadecimal; none for generated data.
pub fn sha256(form: &DataForm) -> Option<String> {
    match form {
        DataForm::Sample { parsed, .. } => Some(crate::jobs::hex(&digest(&parsed.data))),
        DataForm::Generated(_) | DataForm::Dataset { .. } => None,
    }
}

/// The data of a job, found.
#[derive(Default)]
pub struct JobData {
    /// What is stored as part of the request.
    pub spec: DataSpec,
    /// The sample.
    pub sample: Option<FoundSample>,
    /// The digest of the sample.
    pub sha256: Option<String>,
    /// The dataset that the sample is.
    pub dataset: Option<DatasetId>,
}

/// The sample of a job.
pub enum FoundSample {
    /// As it was sent along.
    Sent(Parsed),
    /// A dataset, opened.
    Stored(Arc<StoredExamples>),
}

/// Splits data into what is stored as part of the request and the sample, which is opened if it is a
/// dataset. `sha256` is the digest of a sample sent along; `pointer` says where the data stand in
/// the body.
///
/// # Errors
/// When there is no such dataset, or the store cannot read it.
pub async fn find_data(
    app: &App,
    owner: &Owner,
    form: Option<DataForm>,
    sha256: Option<String>,
    pointer: &str,
) -> Result<JobData, Problem> {
    let Some(form) = form else {
        return Ok(JobData::default());
    };
    match form {
        DataForm::Sample { parsed, assume } => Ok(JobData {
            spec: DataSpec {
                assume,
                zero_bit_value: zero_bit_value(&parsed),
                names: names(&parsed),
                ..DataSpec::default()
            },
            sample: Some(FoundSample::Sent(parsed)),
            sha256,
            dataset: None,
        }),
        DataForm::Generated(spec) => Ok(JobData {
            spec: DataSpec {
                generated: Some(spec),
                ..DataSpec::default()
            },
            sample: None,
            sha256: None,
            dataset: None,
        }),
        DataForm::Dataset { id, assume } => {
            let (dataset, examples) = stored_examples(app, owner, &id, pointer).await?;
            let names = dataset_names(&dataset);
            let summary = dataset.summary;
            Ok(JobData {
                spec: DataSpec {
                    assume: assume.or(summary.assume),
                    zero_bit_value: summary.zero_bit_value,
                    names,
                    seed: summary.seed,
                    repetitions: match summary.repetitions {
                        Repetitions::Counted {
                            duplicates,
                            contradictions,
                        } => Some((duplicates, contradictions.unwrap_or(0))),
                        Repetitions::Uncounted(_) => None,
                    },
                    ..DataSpec::default()
                },
                sample: Some(FoundSample::Stored(examples)),
                sha256: Some(summary.sha256),
                dataset: Some(summary.id),
            })
        }
    }
}

fn names(parsed: &Parsed) -> Names {
    Names::kept(parsed.feature_names.clone(), parsed.class_names.clone())
}

/// The names of a dataset, so far as a model keeps them.
pub fn dataset_names(dataset: &Dataset) -> Names {
    Names::kept(
        dataset.features.clone(),
        dataset.classes.as_deref().and_then(two),
    )
}

/// What a 0 bit of the sample was sent as.
fn zero_bit_value(parsed: &Parsed) -> i8 {
    if parsed.zero_bit_value < 0.0 { -1 } else { 0 }
}

/// The dataset of this name in a body, opened.
///
/// # Errors
/// [`Code::UNKNOWN_DATASET`], also for what is no id, with its place in the body; what the store
/// says.
pub async fn stored_examples(
    app: &App,
    owner: &Owner,
    id: &str,
    pointer: &str,
) -> Result<(Dataset, Arc<StoredExamples>), Problem> {
    let opened = match id.parse::<DatasetId>() {
        Ok(id) => {
            let stop = StopFlag::default();
            app.jobs.open_dataset(owner, id, stop).await
        }
        Err(_) => Err(JobsError::DatasetMissing),
    };
    opened.map_err(|error| no_dataset(error, pointer))
}

fn no_dataset(error: JobsError, pointer: &str) -> Problem {
    match error {
        JobsError::DatasetMissing => {
            let detail = "There is no such dataset; GET /v1/datasets lists them.";
            let place = Place::Pointer(format!("{pointer}/dataset"));
            let field = placed(Some(place), detail.to_owned());
            Problem::new(Code::UNKNOWN_DATASET, detail).with(field)
        }
        error => error.into(),
    }
}

fn two(names: &[String]) -> Option<[String; 2]> {
    names.to_vec().try_into().ok()
}
