//! Entry points of the fuzz targets to the parsers of this module. They are not part of the public API.

use std::io::Read;

use halfspace_formats::{Format, Options, ParseLimits, Parsed};

use crate::jobs::learner;
use crate::records::Names;
use crate::records::train::ModelDocument;

use super::datasets::upload::line_options;
use super::extract;
use super::inference::answer::Offered;
use super::inference::request::InferenceReader;
use super::learners::train::read_query;
use super::models::examples::{ExamplesUse, options};
use super::models::import;
use super::problem::{Occurrence, Problem, ProblemDocument};

/// The problem document of a refused input.
type Refused = Box<ProblemDocument>;

fn refused(problem: Problem) -> Refused {
    Box::new(problem.document(&Occurrence::default()))
}

/// Parses a query into pairs.
///
/// # Errors
/// A query that is refused.
pub fn query_pairs(query: &str) -> Result<Vec<(String, String)>, Refused> {
    extract::query_pairs(Some(query)).map_err(refused)
}

/// Parses the query of a training.
///
/// # Errors
/// A query that is refused.
pub fn train_query(name: &str, query: &str, limits: &ParseLimits) -> Result<Options, Refused> {
    let entry = learner(name).map_err(|_| refused(Problem::not_found("learner")))?;
    let (_, data) = read_query(Some(query), entry, limits).map_err(refused)?;
    Ok(data.options)
}

/// Parses the query of a dataset upload.
///
/// # Errors
/// A query that is refused.
pub fn dataset_query(
    query: &str,
    limits: &ParseLimits,
) -> Result<(Option<String>, Options), Refused> {
    let (name, data) = line_options(query_pairs(query)?, limits).map_err(refused)?;
    Ok((name, data.options))
}

/// Parses the query of a prediction by a model of `n` features.
///
/// # Errors
/// A query that is refused.
pub fn predict_query(
    query: &str,
    format: Format,
    n: usize,
    limits: &ParseLimits,
) -> Result<Options, Refused> {
    let data = options(format, n, &Names::default(), ExamplesUse::Predict, limits);
    Ok(data.read(Some(query)).map_err(refused)?.options)
}

/// Parses and checks a model file. Returns the name, the learner and the content.
///
/// # Errors
/// A file that is refused.
pub fn model(
    mut file: &[u8],
    limits: &ParseLimits,
) -> Result<(Option<String>, String, ModelDocument), Refused> {
    import::checked(&mut file, limits).map_err(refused)
}

/// Parses a request of the Open Inference Protocol for examples of `n` features.
///
/// # Errors
/// A request that is refused.
pub fn inference(
    mut body: &[u8],
    json_length: Option<u64>,
    n: usize,
    limits: &ParseLimits,
) -> Result<Parsed, Refused> {
    let mut reader = InferenceReader {
        reader: &mut body as &mut dyn Read,
        json_length,
        limits,
    };
    let mut asked = reader.request(n).map_err(|error| refused(error.into()))?;
    asked.wanted(&Offered::default()).map_err(refused)?;
    reader.examples(&mut asked, n).map_err(refused)
}
