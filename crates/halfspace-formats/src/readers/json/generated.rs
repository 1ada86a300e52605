//! JSON form `generated`: the specification of data that the service draws itself.
//!
//! This module checks the ranges of the fields. Another module draws the examples.

use halfspace_core::learners::engine::stopping::Sampling;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Fault, FormatErrorKind};
use crate::readers::json::fields::feature_count;
use crate::readers::json::object;
use crate::readers::json::scope;
use crate::readers::json::target::TargetSpec;

/// Specification of generated data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct GeneratedSpec {
    /// Features per example, at least 1.
    #[serde(deserialize_with = "feature_count")]
    pub n: usize,
    /// The concept that labels the examples.
    #[serde(deserialize_with = "object")]
    pub target: TargetSpec,
    /// Method of drawing examples.
    pub sampling: Sampling,
    /// Number of examples, at least 1. Without this field the stream is endless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Probability that a label is flipped, in [0, 0.5]. With more noise the labels would follow the negated
    /// target, so request that target instead.
    #[serde(default)]
    pub noise: f64,
    /// Probability of a one, in (0, 1), for `uniform` sampling.
    #[serde(default = "one_half")]
    pub density: f64,
}

fn one_half() -> f64 {
    0.5
}

impl Serialize for GeneratedSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for GeneratedSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(transparent)]
        struct Unchecked(#[serde(deserialize_with = "GeneratedSpec::deserialize")] GeneratedSpec);
        let Unchecked(spec) = object(deserializer)?;
        match spec.check() {
            Ok(()) => Ok(spec),
            Err((below, fault)) => Err(scope::raise_below(fault, below)),
        }
    }
}

impl GeneratedSpec {
    /// Checks the ranges. A fault carries the JSON pointer of its field.
    fn check(&self) -> Result<(), (&'static str, Fault)> {
        let out_of_range = |below, detail: String| {
            let fault = Fault::new(FormatErrorKind::OutOfRange, detail);
            Err((below, fault))
        };
        if self.count == Some(0) {
            return out_of_range("/count", "count is 0; it must be at least 1.".to_owned());
        }
        let noise = self.noise;
        if !(0.0..=0.5).contains(&noise) {
            let detail = format!("noise is {noise}; it must be from 0 to 0.5.");
            return out_of_range("/noise", detail);
        }
        let density = self.density;
        if !(density > 0.0 && density < 1.0) {
            let detail =
                format!("density is {density}; it must be greater than 0 and less than 1.");
            return out_of_range("/density", detail);
        }
        if self.sampling != Sampling::Uniform && density != one_half() {
            let detail = "density is only for the sampling uniform; the other samplings draw \
                          uniformly.";
            return out_of_range("/density", detail.to_owned());
        }
        if let Some(class) = self.target.class_without_half_space()
            && self.sampling != Sampling::Uniform
        {
            let detail = format!(
                "A {class} has no half-space to draw from; use the sampling uniform, which draws \
                 labelled examples."
            );
            return out_of_range("/sampling", detail);
        }
        self.target.check(self.n)
    }
}
