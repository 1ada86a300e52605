//! Parameters of experiments with their defaults. Requests and stored jobs have the same form.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use halfspace_core::experiments::ExperimentError;
use halfspace_core::experiments::certificate_coverage::{
    self, CertificateCoverage, CoveredClaim, Distribution,
};
use halfspace_core::experiments::false_stop_rate::{self, FalseStopRate};
use halfspace_core::experiments::mistake_bound_sweep::{self, Batches, MistakeBoundSweep};
use halfspace_core::experiments::sample_complexity::{self, ConfiguredLearner, SampleComplexity};
use halfspace_core::experiments::separable_fraction::{self, Points, SeparableFraction};
use halfspace_core::learners::catalogue;
use halfspace_core::learners::drift::{directed_drift_async, directed_drift_sync};
use halfspace_core::learners::engine::entry::LearnerEntry;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::stopping::StopRule;
use halfspace_core::learners::linear::{perceptron, sbpi};
use halfspace_core::learners::message_passing::{amp, auto};

use super::train::{LearnerSpec, Share};

/// Mistakes until the hypothesis equals the target, against the batch size. Without batch sizes the chart
/// shows mistakes against n.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MistakeBoundSweepSpec {
    /// Numbers of features.
    #[schema(min_items = 1)]
    pub n: Vec<u64>,
    /// Learners with a parameter `batch_size` or with an exact analysis.
    #[schema(min_items = 1)]
    pub learners: Vec<String>,
    /// Batch sizes, in examples.
    pub batch_sizes: Option<Vec<u64>>,
    /// Batch sizes in units of (pi/2) n ln n examples. Give either these or `batch_sizes`.
    pub normalised_batch_sizes: Option<Vec<f64>>,
    /// Number of runs per point.
    #[schema(minimum = 1, maximum = 100_000)]
    pub runs: u64,
    /// Number of mistakes at which a run stops. The value of such a point is a lower bound.
    #[schema(minimum = 1, maximum = 10_000_000)]
    pub max_mistakes: u64,
}

impl Default for MistakeBoundSweepSpec {
    fn default() -> Self {
        let learners = [&directed_drift_async::ENTRY, &directed_drift_sync::ENTRY];
        Self {
            n: vec![11, 21, 51, 101],
            learners: learners.map(|entry| entry.name.to_owned()).to_vec(),
            batch_sizes: None,
            normalised_batch_sizes: None,
            runs: 1_000,
            max_mistakes: 10_000,
        }
    }
}

impl MistakeBoundSweepSpec {
    /// Makes the experiment.
    ///
    /// # Errors
    /// The parameter that is out of range. The pointer is relative to `params`.
    pub fn design(&self) -> Result<MistakeBoundSweep, ExperimentError> {
        let batches = match (&self.batch_sizes, &self.normalised_batch_sizes) {
            (None, None) => Batches::Default,
            (Some(sizes), None) => Batches::Sizes(sizes.clone()),
            (None, Some(sizes)) => Batches::Normalised(sizes.clone()),
            (Some(_), Some(_)) => {
                return Err(ExperimentError::parameter(
                    "/normalised_batch_sizes",
                    "give either this field or batch_sizes; null removes the value of a figure",
                ));
            }
        };
        let learners = self.learners.iter().enumerate();
        let learners = learners.map(|(at, name)| learner(name, format!("/learners/{at}")));
        MistakeBoundSweep::new(&mistake_bound_sweep::MistakeBoundSweepParams {
            n: self.n.clone(),
            learners: learners.collect::<Result<_, _>>()?,
            batches,
            runs: self.runs,
            mistakes_max: self.max_mistakes,
        })
    }
}

/// The share of runs of Directed Drift that a stopping rule ends at a wrong hypothesis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FalseStopRateSpec {
    /// Numbers of features.
    #[schema(min_items = 1)]
    pub n: Vec<u64>,
    /// The stopping rules to compare.
    #[schema(min_items = 1)]
    pub rules: Vec<StopRule>,
    /// The allowed errors.
    #[schema(value_type = Vec<f64>, min_items = 1)]
    pub deltas: Vec<Share>,
    /// Number of runs per point.
    #[schema(minimum = 1, maximum = 100_000)]
    pub runs: u64,
}

impl Default for FalseStopRateSpec {
    fn default() -> Self {
        let deltas = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];
        Self {
            n: vec![5, 10, 15, 20],
            rules: vec![StopRule::PerHypothesis, StopRule::Anytime],
            deltas: shares(&deltas),
            runs: 2_000,
        }
    }
}

impl FalseStopRateSpec {
    /// Makes the experiment.
    ///
    /// # Errors
    /// The parameter that is out of range. The pointer is relative to `params`.
    pub fn design(&self) -> Result<FalseStopRate, ExperimentError> {
        FalseStopRate::new(false_stop_rate::FalseStopRateParams {
            n: self.n.clone(),
            rules: self.rules.clone(),
            deltas: self.deltas.iter().map(|delta| delta.get()).collect(),
            runs: self.runs,
        })
    }
}

/// The share of runs whose certificate is violated, against the allowed error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CertificateCoverageSpec {
    /// Number of features. The true errors are sums over all 2^n examples.
    #[schema(minimum = 3, maximum = 12)]
    pub n: u64,
    /// Learners of labelled examples.
    #[schema(min_items = 1)]
    pub learners: Vec<String>,
    /// The certificates. A certificate has no series where it is not defined.
    #[schema(min_items = 1)]
    pub certificates: Vec<CoveredClaim>,
    /// The distributions of the examples.
    #[schema(min_items = 1)]
    pub distributions: Vec<Distribution>,
    /// The probabilities of a flipped label, from 0 to 0.5.
    #[schema(min_items = 1)]
    pub noise: Vec<f64>,
    /// The allowed errors.
    #[schema(value_type = Vec<f64>, min_items = 1)]
    pub deltas: Vec<Share>,
    /// Examples per run, and per test set. `unique` takes the examples that the theory asks for.
    #[schema(minimum = 1, maximum = 100_000)]
    pub examples: u64,
    /// The error that the rule `pac` accepts.
    #[schema(value_type = f64)]
    pub error: Share,
    /// Number of runs per point.
    #[schema(minimum = 1, maximum = 100_000)]
    pub runs: u64,
}

impl Default for CertificateCoverageSpec {
    fn default() -> Self {
        let deltas = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5];
        Self {
            n: 9,
            learners: vec![perceptron::ENTRY.name.to_owned()],
            certificates: vec![
                CoveredClaim::TestSet,
                CoveredClaim::Survival,
                CoveredClaim::Progressive,
                CoveredClaim::Unique,
                CoveredClaim::Compression,
                CoveredClaim::Pac,
            ],
            distributions: vec![Distribution::Uniform, Distribution::Skewed],
            noise: vec![0.0, 0.05],
            deltas: shares(&deltas),
            examples: 300,
            error: Share::try_from(0.1).expect("a share"),
            runs: 2_000,
        }
    }
}

impl CertificateCoverageSpec {
    /// Makes the experiment.
    ///
    /// # Errors
    /// The parameter that is out of range. The pointer is relative to `params`.
    pub fn design(&self) -> Result<CertificateCoverage, ExperimentError> {
        let learners = self.learners.iter().enumerate();
        let learners = learners.map(|(at, name)| learner(name, format!("/learners/{at}")));
        CertificateCoverage::new(certificate_coverage::CertificateCoverageParams {
            n: self.n,
            learners: learners.collect::<Result<_, _>>()?,
            certificates: self.certificates.clone(),
            distributions: self.distributions.clone(),
            noise: self.noise.clone(),
            deltas: self.deltas.iter().map(|delta| delta.get()).collect(),
            examples: self.examples,
            error: self.error.get(),
            runs: self.runs,
        })
    }
}

/// The share of random dichotomies that a hyperplane through the origin separates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SeparableFractionSpec {
    /// Numbers of dimensions.
    #[schema(min_items = 1)]
    pub dimensions: Vec<u64>,
    /// Points per dimension.
    #[schema(min_items = 1)]
    pub points_per_dimension: Vec<f64>,
    /// The distribution of the points.
    pub points: Points,
    /// Number of dichotomies per point of the grid.
    #[schema(minimum = 1, maximum = 100_000)]
    pub runs: u64,
}

impl Default for SeparableFractionSpec {
    fn default() -> Self {
        let ratios = [
            0.6, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 2.4, 2.6, 2.8, 3.0, 3.4, 4.0,
        ];
        Self {
            dimensions: vec![5, 65],
            points_per_dimension: ratios.to_vec(),
            points: Points::Normal,
            runs: 200,
        }
    }
}

impl SeparableFractionSpec {
    /// Makes the experiment.
    ///
    /// # Errors
    /// The parameter that is out of range. The pointer is relative to `params`.
    pub fn design(&self) -> Result<SeparableFraction, ExperimentError> {
        SeparableFraction::new(separable_fraction::SeparableFractionParams {
            dimensions: self.dimensions.clone(),
            ratios: self.points_per_dimension.clone(),
            points: self.points,
            runs: self.runs,
        })
    }
}

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
            let entry = learner(&spec.name, format!("/learners/{at}/name"))?;
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

/// Numbers strictly between 0 and 1.
fn shares(values: &[f64]) -> Vec<Share> {
    let shares = values.iter().map(|&value| Share::try_from(value));
    shares
        .collect::<Result<_, _>>()
        .expect("numbers between 0 and 1")
}

/// Finds the learner with this name. An error points to `pointer`.
fn learner(name: &str, pointer: String) -> Result<&'static LearnerEntry, ExperimentError> {
    catalogue::find(name)
        .ok_or_else(|| ExperimentError::parameter(pointer, format!("unknown learner {name:?}")))
}
