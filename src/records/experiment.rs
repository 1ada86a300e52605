//! An experiment: what was asked, and what came of it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::experiments::outcome::{Chart, Outcome};
use crate::experiments::{
    Experiment, ExperimentError, false_stop_rate, mistake_bound_sweep, sample_complexity,
    separable_fraction,
};

use super::experiment_params::{
    FalseStopRateSpec, MistakeBoundSweepSpec, SampleComplexitySpec, SeparableFractionSpec,
};
use super::job::PARTS_REQUEST_BYTES_MAX;

/// An experiment and its parameters; those left out take their defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "name", content = "params", rename_all = "kebab-case")]
pub enum ExperimentSpec {
    /// Mistakes until the hypothesis is the target.
    MistakeBoundSweep(MistakeBoundSweepSpec),
    /// How often a stopping rule stops at a wrong hypothesis.
    FalseStopRate(FalseStopRateSpec),
    /// Which share of random dichotomies is separable.
    SeparableFraction(SeparableFractionSpec),
    /// How often hidden binary weights are found exactly.
    SampleComplexity(SampleComplexitySpec),
}

impl ExperimentSpec {
    /// Checks it; by the estimate it may take `seconds_max` of one core.
    ///
    /// # Errors
    /// What is out of range, with its pointer below `params`.
    pub fn check(&self, seconds_max: f64) -> Result<Experiment, ExperimentError> {
        let experiment = match self {
            Self::MistakeBoundSweep(spec) => Experiment::new(spec.design()?, seconds_max),
            Self::FalseStopRate(spec) => Experiment::new(spec.design()?, seconds_max),
            Self::SeparableFraction(spec) => Experiment::new(spec.design()?, seconds_max),
            Self::SampleComplexity(spec) => Experiment::new(spec.design()?, seconds_max),
        }?;
        // Each part has all of the parameters, and learners' can be long.
        let own = serde_json::to_string(self).map_or(u64::MAX, |text| text.len() as u64);
        let bytes = own.saturating_mul(experiment.parts().into());
        if bytes > PARTS_REQUEST_BYTES_MAX {
            let detail = format!(
                "the requests of its {} parts take {bytes} bytes together, more than \
                 parts_request_bytes_max: {PARTS_REQUEST_BYTES_MAX}",
                experiment.parts()
            );
            return Err(ExperimentError::parameter("", detail));
        }
        Ok(experiment)
    }

    /// Its name in requests.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MistakeBoundSweep(_) => mistake_bound_sweep::NAME,
            Self::FalseStopRate(_) => false_stop_rate::NAME,
            Self::SeparableFraction(_) => separable_fraction::NAME,
            Self::SampleComplexity(_) => sample_complexity::NAME,
        }
    }
}

/// What came of an experiment, or of those of its runs that are done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExperimentResult {
    /// What they show.
    #[serde(flatten)]
    pub chart: Chart,
    /// Runs that it rests on.
    pub runs: u64,
    /// Runs that it rests on once all are done.
    pub runs_planned: u64,
}

impl From<&Outcome> for ExperimentResult {
    fn from(outcome: &Outcome) -> Self {
        Self {
            chart: outcome.chart.clone(),
            runs: outcome.runs,
            runs_planned: outcome.runs_planned,
        }
    }
}
