//! Ready-made figures: named experiments from the papers with their parameters.

use serde::Serialize;
use serde_json::{Map, Value};

use halfspace_core::experiments::ExperimentError;
use halfspace_core::experiments::certificate_coverage::{
    CertificateCoverageSpec, CoveredClaim, Distribution,
};
use halfspace_core::experiments::false_stop_rate::FalseStopRateSpec;
use halfspace_core::experiments::mistake_bound_sweep::MistakeBoundSweepSpec;
use halfspace_core::experiments::separable_fraction::SeparableFractionSpec;
use halfspace_core::learners::catalogue::CATALOGUE;
use halfspace_core::learners::drift::{directed_drift, directed_drift_async, directed_drift_sync};

use super::experiment::ExperimentSpec;
use super::experiment_params::SampleComplexitySpec;

/// A ready-made figure.
#[derive(Debug)]
pub struct Figure {
    /// Name of the figure in requests.
    pub name: &'static str,
    pub title: &'static str,
    /// The experiment that makes the figure.
    spec: fn() -> ExperimentSpec,
}

/// All figures, in the order of the list.
pub static FIGURES: &[Figure] = &[
    Figure {
        name: "fang-venkatesh-figure-1",
        title: "Directed Drift in batches: mistakes against the size of a batch (Fang and Venkatesh, \
                Figure 1), for D' and D''",
        spec: || {
            let sizes = [
                0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0,
            ];
            ExperimentSpec::MistakeBoundSweep(MistakeBoundSweepSpec {
                normalised_batch_sizes: Some(sizes.to_vec()),
                ..MistakeBoundSweepSpec::default()
            })
        },
    },
    Figure {
        name: "fang-venkatesh-table-1",
        title: "Directed Drift: mistakes against n (Fang and Venkatesh, Table 1), exact for D, \
                measured for D' and D'' at their default batch sizes",
        spec: || {
            let learners = [
                &directed_drift::ENTRY,
                &directed_drift_async::ENTRY,
                &directed_drift_sync::ENTRY,
            ];
            ExperimentSpec::MistakeBoundSweep(MistakeBoundSweepSpec {
                n: vec![3, 5, 7, 9, 11, 15, 21, 31, 41, 51, 61, 81, 101],
                learners: learners.map(|entry| entry.name.to_owned()).to_vec(),
                ..MistakeBoundSweepSpec::default()
            })
        },
    },
    Figure {
        name: "cover-figure-1",
        title: "Share of separable dichotomies for 5 and 65 dimensions, and Cover's count",
        spec: || ExperimentSpec::SeparableFraction(SeparableFractionSpec::default()),
    },
    Figure {
        name: "false-stops",
        title: "Share of runs that the rules per-hypothesis and anytime stop at a wrong hypothesis",
        spec: || ExperimentSpec::FalseStopRate(FalseStopRateSpec::default()),
    },
    Figure {
        name: "coverage-test-set",
        title: "Share of test sets whose upper limit is below the true error, and the exact share",
        spec: || {
            ExperimentSpec::CertificateCoverage(CertificateCoverageSpec {
                certificates: vec![CoveredClaim::TestSet],
                distributions: vec![
                    Distribution::Uniform,
                    Distribution::Biased,
                    Distribution::Skewed,
                ],
                noise: vec![0.05, 0.2],
                ..CertificateCoverageSpec::default()
            })
        },
    },
    Figure {
        name: "coverage-sessions",
        title: "Share of sessions that violate survival, progressive or pac at some time",
        spec: || {
            ExperimentSpec::CertificateCoverage(CertificateCoverageSpec {
                certificates: vec![
                    CoveredClaim::Survival,
                    CoveredClaim::Progressive,
                    CoveredClaim::Pac,
                ],
                ..CertificateCoverageSpec::default()
            })
        },
    },
    Figure {
        name: "coverage-learners",
        title: "Share of sessions that violate survival, for each conservative learner",
        spec: || {
            let learners = CATALOGUE.iter().filter(|entry| entry.is_conservative);
            ExperimentSpec::CertificateCoverage(CertificateCoverageSpec {
                learners: learners.map(|entry| entry.name.to_owned()).collect(),
                certificates: vec![CoveredClaim::Survival],
                distributions: vec![Distribution::Skewed],
                noise: vec![0.0],
                ..CertificateCoverageSpec::default()
            })
        },
    },
    Figure {
        name: "coverage-samples",
        title: "Share of samples that violate uniqueness or compression",
        spec: || {
            ExperimentSpec::CertificateCoverage(CertificateCoverageSpec {
                certificates: vec![CoveredClaim::Unique, CoveredClaim::Compression],
                distributions: vec![Distribution::Uniform],
                ..CertificateCoverageSpec::default()
            })
        },
    },
    Figure {
        name: "sample-complexity",
        title: "Examples per dimension needed to find hidden binary weights",
        spec: || {
            ExperimentSpec::SampleComplexity(SampleComplexitySpec {
                n: vec![101, 501],
                ..SampleComplexitySpec::default()
            })
        },
    },
];

impl Figure {
    /// The figure with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        FIGURES.iter().find(|figure| figure.name == name)
    }

    /// The experiment with the figure's own parameters.
    pub fn spec(&self) -> ExperimentSpec {
        (self.spec)()
    }

    /// The experiment with some or all parameters replaced.
    ///
    /// # Errors
    /// An unknown parameter or a value of the wrong type. The pointer is relative to `params`.
    pub fn spec_with(
        &self,
        params: &Map<String, Value>,
    ) -> Result<ExperimentSpec, ExperimentError> {
        fn json(spec: &impl Serialize) -> Value {
            serde_json::to_value(spec).expect("a spec has string keys and finite numbers")
        }
        let mut merged = json(&self.spec());
        if let Some(Value::Object(own)) = merged.get_mut("params") {
            own.extend(params.clone());
        }
        serde_path_to_error::deserialize(merged).map_err(|error| {
            let path = error.path().to_string();
            let pointer = path
                .strip_prefix("params")
                .unwrap_or(&path)
                .replace(['.', '['], "/");
            let detail = error.into_inner().to_string();
            ExperimentError::parameter(pointer.replace(']', ""), detail)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(object) => object,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn every_figure_can_run_and_be_found() {
        for figure in FIGURES {
            let found = Figure::find(figure.name).expect("listed");
            assert!(std::ptr::eq(found, figure));
            let experiment = figure.spec().check().expect("in range");
            assert_eq!(experiment.name(), figure.spec().name());
            assert!(experiment.parts() > 1, "{}", figure.name);
        }
        assert!(Figure::find("figure-2").is_none());
        let first = FIGURES[0].spec().check().expect("in range");
        assert_eq!(first.parts(), 200);
    }

    #[test]
    fn a_figure_is_the_same_once_it_was_stored() {
        for figure in FIGURES {
            let stored = serde_json::to_value(figure.spec()).expect("numbers");
            assert_eq!(stored["name"], figure.spec().name());
            let read: ExperimentSpec = serde_json::from_value(stored).expect("a spec");
            assert_eq!(read, figure.spec());
        }
    }

    #[test]
    fn parameters_of_a_figure_are_replaced_one_by_one() {
        let params = object(json!({"n": [5], "runs": 7}));
        let found = FIGURES[0]
            .spec_with(&params)
            .expect("parameters of a sweep");
        let ExperimentSpec::MistakeBoundSweep(found) = found else {
            panic!("{found:?}")
        };
        assert_eq!((found.n, found.runs), (vec![5], 7));
        assert_eq!(
            found.normalised_batch_sizes.map(|sizes| sizes.len()),
            Some(15)
        );
        let sizes = object(json!({"batch_sizes": [3], "normalised_batch_sizes": null}));
        let found = FIGURES[0].spec_with(&sizes).expect("parameters of a sweep");
        assert!(found.check().is_ok());
    }

    #[test]
    fn figure_points_at_an_unknown_or_wrong_parameter() {
        let refused = |params| {
            let error = FIGURES[0].spec_with(&object(params)).expect_err("refused");
            (error.pointer().to_owned(), error.to_string())
        };
        let (pointer, detail) = refused(json!({"n": [11, "many"]}));
        assert_eq!(pointer, "/n/1");
        assert!(detail.contains("many"), "{detail}");
        assert!(refused(json!({"walks": 3})).1.contains("walks"));
        let learners = object(json!({"learners": ["directed-drift-sync", "perceptrom"]}));
        let spec = FIGURES[0].spec_with(&learners).expect("names");
        assert_eq!(spec.check().expect_err("refused").pointer(), "/learners/1");
        let params = json!({"learners": [{"name": "sbpi", "params": {"order": "backwards"}}]});
        let spec = FIGURES[8].spec_with(&object(params)).expect("a learner");
        let error = spec.check().expect_err("refused");
        assert_eq!(error.pointer(), "/learners/0/params/order");
    }
}
