//! The ready-made figures: experiments of the papers, by name, with their parameters.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::experiments::ExperimentError;

use super::experiment::{ExperimentSpec, MistakeBoundSweepSpec};

/// A ready-made figure.
#[derive(Debug)]
pub struct Figure {
    /// Its name in requests.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// The experiment behind it.
    spec: fn() -> ExperimentSpec,
}

/// Every figure, in the order in which they are listed.
pub static FIGURES: &[Figure] = &[Figure {
    name: "fang-venkatesh-figure-1",
    title: "Directed Drift in batches: mistakes against the batch size",
    spec: || {
        ExperimentSpec::MistakeBoundSweep(MistakeBoundSweepSpec {
            normalised_batch_sizes: Some(vec![
                0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0,
            ]),
            ..MistakeBoundSweepSpec::default()
        })
    },
}];

impl Figure {
    /// The figure of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        FIGURES.iter().find(|figure| figure.name == name)
    }

    /// The experiment as it is when nothing else is asked for.
    pub fn spec(&self) -> ExperimentSpec {
        (self.spec)()
    }

    /// The experiment with some of its parameters replaced; all of them may be.
    ///
    /// # Errors
    /// A parameter that there is not, or that is not of its kind; its pointer is below `params`.
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
