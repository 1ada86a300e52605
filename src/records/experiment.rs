//! The request and the result of an experiment.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use halfspace_core::experiments::certificate_coverage::{
    self, CertificateCoverage, CertificateCoverageSpec,
};
use halfspace_core::experiments::false_stop_rate::{self, FalseStopRate, FalseStopRateSpec};
use halfspace_core::experiments::mistake_bound_sweep::{
    self, MistakeBoundSweep, MistakeBoundSweepSpec,
};
use halfspace_core::experiments::outcome::ExperimentOutcome;
use halfspace_core::experiments::separable_fraction::{
    self, SeparableFraction, SeparableFractionSpec,
};
use halfspace_core::experiments::{Experiment, ExperimentError, sample_complexity};
use halfspace_core::figures::chart::Chart;
use halfspace_formats::json::refuse;

use super::bounded_json;
use super::experiment_params::SampleComplexitySpec;
use super::job::PARTS_REQUEST_BYTES_MAX;

/// An experiment and its parameters. Missing parameters take their defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "name", content = "params", rename_all = "kebab-case")]
pub enum ExperimentSpec {
    /// Mistakes until the hypothesis equals the target.
    MistakeBoundSweep(MistakeBoundSweepSpec),
    /// The share of runs that a stopping rule ends at a wrong hypothesis.
    FalseStopRate(FalseStopRateSpec),
    /// The share of runs whose certificate is violated.
    CertificateCoverage(CertificateCoverageSpec),
    /// The share of random dichotomies that are separable.
    SeparableFraction(SeparableFractionSpec),
    /// The share of runs that find hidden binary weights exactly.
    SampleComplexity(SampleComplexitySpec),
}

impl ExperimentSpec {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The parameter that is out of range. The pointer is relative to `params`.
    pub fn check(&self) -> Result<Experiment, ExperimentError> {
        let experiment = match self {
            Self::MistakeBoundSweep(spec) => Experiment::new(MistakeBoundSweep::new(spec)?),
            Self::FalseStopRate(spec) => Experiment::new(FalseStopRate::new(spec.clone())?),
            Self::CertificateCoverage(spec) => {
                Experiment::new(CertificateCoverage::new(spec.clone())?)
            }
            Self::SeparableFraction(spec) => Experiment::new(SeparableFraction::new(spec.clone())?),
            Self::SampleComplexity(spec) => Experiment::new(spec.design()?),
        };
        // Each part stores all parameters, and the parameters of learners can be long.
        let own = serde_json::to_string(self).map_or(u64::MAX, |text| text.len() as u64);
        let bytes = own.saturating_mul(experiment.parts().into());
        if bytes > PARTS_REQUEST_BYTES_MAX {
            let detail = format!(
                "the requests of the {} parts take {bytes} bytes in total, more than \
                 parts_request_bytes_max: {PARTS_REQUEST_BYTES_MAX}",
                experiment.parts()
            );
            return Err(ExperimentError::parameter("", detail));
        }
        Ok(experiment)
    }

    /// The name in requests.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MistakeBoundSweep(_) => mistake_bound_sweep::NAME,
            Self::FalseStopRate(_) => false_stop_rate::NAME,
            Self::CertificateCoverage(_) => certificate_coverage::NAME,
            Self::SeparableFraction(_) => separable_fraction::NAME,
            Self::SampleComplexity(_) => sample_complexity::NAME,
        }
    }
}

/// An experiment as a request states it, with all of its parameters, some or none.
pub struct Requested(pub ExperimentSpec);

impl<'de> Deserialize<'de> for Requested {
    fn deserialize<D: Deserializer<'de>>(experiment: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Named {
            name: String,
            #[serde(default, deserialize_with = "bounded_json::object")]
            params: Map<String, Value>,
        }
        let Named { name, params } = Named::deserialize(experiment)?;
        let spec = json!({"name": name, "params": params});
        let spec = serde_path_to_error::deserialize(spec).map_err(|error| {
            let path = error.path().to_string().replace(['.', '['], "/");
            let below = match path.replace(']', "") {
                // The tag is read before the parameters, so an error in the tag has another path.
                path if !path.starts_with("params") => "/name".to_owned(),
                path => format!("/{path}"),
            };
            refuse(&below, &error.into_inner().to_string())
        })?;
        Ok(Self(spec))
    }
}

/// The result of an experiment. While the experiment runs, the result covers the finished runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExperimentResult {
    /// The chart of these runs.
    #[serde(flatten)]
    pub chart: Chart,
    /// Number of runs in the chart.
    pub runs: u64,
    /// Number of runs in the chart when the experiment is finished.
    pub runs_planned: u64,
}

impl From<&ExperimentOutcome> for ExperimentResult {
    fn from(outcome: &ExperimentOutcome) -> Self {
        Self {
            chart: outcome.chart.clone(),
            runs: outcome.runs,
            runs_planned: outcome.runs_planned,
        }
    }
}
