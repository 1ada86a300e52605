//! JSON form `generated`: the specification of data that the service draws itself.
//!
//! The module checks the ranges of the fields. Another module draws the examples.

use serde::de::Deserializer;
use serde::{Deserialize, Serialize};

use crate::error::{Fault, FormatErrorKind};
use crate::json::fields::feature_count;
use crate::json::object;
use crate::json::scope;
use crate::json::target::TargetSpec;

/// Specification of generated data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GeneratedSpec {
    /// Features per example, at least 1.
    pub n: usize,
    /// The concept that labels the examples.
    pub target: TargetSpec,
    /// Method of drawing examples.
    pub sampling: SamplingMethod,
    /// Number of examples, at least 1. Without this field the stream is endless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Probability that a label is flipped, in [0, 0.5]. With more noise the labels would follow the negated
    /// target, so request that target instead.
    pub noise: f64,
    /// Probability of a one, in (0, 1), for `uniform` sampling.
    pub density: f64,
}

/// Method of drawing generated examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SamplingMethod {
    /// Half-space examples, uniform over the positive ones.
    UniformPositive,
    /// Half-space examples, drawn uniformly and negated when negative.
    Reflected,
    /// Labelled examples, drawn uniformly or with another density of ones.
    Uniform,
}

impl From<SamplingMethod> for halfspace_core::learners::engine::stopping::Sampling {
    fn from(sampling: SamplingMethod) -> Self {
        match sampling {
            SamplingMethod::UniformPositive => Self::UniformPositive,
            SamplingMethod::Reflected => Self::Reflected,
            SamplingMethod::Uniform => Self::Uniform,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GeneratedFields {
    #[serde(deserialize_with = "feature_count")]
    n: usize,
    #[serde(deserialize_with = "object")]
    target: TargetSpec,
    sampling: SamplingMethod,
    count: Option<u64>,
    #[serde(default)]
    noise: f64,
    #[serde(default = "one_half")]
    density: f64,
}

fn one_half() -> f64 {
    0.5
}

impl<'de> Deserialize<'de> for GeneratedSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let GeneratedFields {
            n,
            target,
            sampling,
            count,
            noise,
            density,
        } = object(deserializer)?;
        let spec = Self {
            n,
            target,
            sampling,
            count,
            noise,
            density,
        };
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
        if self.sampling != SamplingMethod::Uniform && density != one_half() {
            let detail = "density is only for the sampling uniform; the other samplings draw \
                          uniformly.";
            return out_of_range("/density", detail.to_owned());
        }
        if let Some(class) = self.target.class_without_half_space()
            && self.sampling != SamplingMethod::Uniform
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
