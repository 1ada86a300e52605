//! The parameters of `sample-complexity` with their defaults, in the same form for requests and stored jobs.
//!
//! The other experiments define their parameters in `halfspace_core::experiments`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use halfspace_core::experiments::sample_complexity::{self, ConfiguredLearner, SampleComplexity};
use halfspace_core::experiments::{ExperimentError, find_learner};
use halfspace_core::learners::drift::directed_drift_sync;
use halfspace_core::learners::engine::entry::LearnerEntry;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::linear::{perceptron, sbpi};
use halfspace_core::learners::message_passing::{amp, auto};

use super::train::LearnerSpec;

/// The share of runs in which a learner finds the hidden binary weights exactly, against examples per
/// dimension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SampleComplexitySpec {
    /// Numbers of features.
    #[schema(min_items = 1)]
    pub n: Vec<u64>,
    /// Learners that answer with binary weights or with real weights. The signs of real weights are compared.
    #[schema(min_items = 1)]
    pub learners: Vec<LearnerSpec>,
    /// Examples per dimension.
    #[schema(min_items = 1)]
    pub examples_per_dimension: Vec<f64>,
    /// Number of runs per point.
    #[schema(minimum = 1, maximum = 100_000)]
    pub runs: u64,
    /// Passes after which a run stops. Learners that stop by confidence make one pass.
    #[schema(minimum = 1, maximum = 100_000)]
    pub max_passes: u64,
}

impl Default for SampleComplexitySpec {
    fn default() -> Self {
        let ratios = [
            1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 24.0,
        ];
        let learner = |entry: &LearnerEntry, params: Map<String, Value>| LearnerSpec {
            name: entry.name.to_owned(),
            params,
        };
        // The hidden weights have no bias.
        let unbiased = Map::from_iter([("bias".to_owned(), Value::Bool(false))]);
        Self {
            n: vec![101],
            learners: vec![
                learner(&directed_drift_sync::ENTRY, Map::new()),
                learner(&perceptron::ENTRY, unbiased),
                learner(&sbpi::ENTRY, Map::new()),
                learner(&amp::ENTRY, Map::new()),
                learner(&auto::ENTRY, Map::new()),
            ],
            examples_per_dimension: ratios.to_vec(),
            runs: 100,
            max_passes: 300,
        }
    }
}

impl SampleComplexitySpec {
    /// Makes the experiment.
    ///
    /// # Errors
    /// The parameter that is out of range. The pointer is relative to `params`.
    pub fn design(&self) -> Result<SampleComplexity, ExperimentError> {
        let of = |(at, spec): (usize, &LearnerSpec)| {
            let entry = find_learner(&spec.name, format!("/learners/{at}/name"))?;
            let parameters = Parameters::from_json(entry.parameters, &spec.params);
            match parameters {
                Ok(parameters) => Ok(ConfiguredLearner { entry, parameters }),
                Err(errors) => {
                    let first = errors.into_iter().next().expect("a refusal has a reason");
                    let name = first.name.replace('.', "/");
                    let pointer = format!("/learners/{at}/params/{name}");
                    Err(ExperimentError::parameter(pointer, first.detail))
                }
            }
        };
        let learners = self.learners.iter().enumerate().map(of);
        SampleComplexity::new(sample_complexity::SampleComplexityParams {
            n: self.n.clone(),
            learners: learners.collect::<Result<_, _>>()?,
            ratios: self.examples_per_dimension.clone(),
            runs: self.runs,
            max_passes: self.max_passes,
        })
    }
}
