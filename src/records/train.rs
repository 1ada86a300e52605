//! The request of a training without its data, and the document of the resulting model.

use std::sync::Arc;

use halfspace_verify::Receipt;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use halfspace_core::learners::engine::committee::Multiclass;
use halfspace_core::learners::engine::random::SEED_MAX;
use halfspace_core::learners::engine::stopping::StopRule;

use halfspace_formats::{Classes, FirstIndex, TableEncoding, Vocabulary, json};

use super::class_weight::StatedClassWeights;
use super::hypothesis::HypothesisDocument;
use super::id::ModelId;
use super::lineage::Lineage;
use super::names::{FeatureNames, VocabularyKind};
use super::stated_classes::StatedClasses;
use super::written;

pub use halfspace_core::theory::Share;

pub use super::train_result::{
    BestDocument, BoundDocument, HypothesisIs, TerminationDocument, TrainResult,
};

/// Trains a learner on data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TrainRequest)]
pub struct TrainSpec {
    pub learner: LearnerSpec,
    /// Whether the job keeps its mistake curve.
    #[serde(default)]
    pub trace: bool,
    /// Share of the examples that the learner does not see, between 0 and 1. The seed selects a random
    /// subset of this share, rounded to whole examples. In the end the service counts the errors of the
    /// hypothesis on this subset. If the examples are independent, as `assume` declares and as generated
    /// examples are, the remaining examples are independent too. Confidence rules then hold as without a
    /// holdout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, exclusive_minimum = 0, exclusive_maximum = 1)]
    pub holdout: Option<Share>,
    /// Whether each class has its share of the held-out examples, up to one example. At least one example of
    /// each class remains for the learner. The labels then fix how many examples of each class a part has, so
    /// the parts are no independent draws, and the result has no certificate that needs them.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schema(required = false)]
    pub stratify: bool,
    /// Number of examples that must have a name before it counts. The examples are those that the learner is shown, in
    /// the order of the first pass. Earlier ones are read without the name, and the model does not have names of fewer
    /// examples. Needs features with names. Such a result has no bound and no receipt, and of the certificates only
    /// those of held-out examples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub minimum_count: Option<Positive>,
    /// Share of the names, between 0 and 1, that the model drops in the end: those whose weights have the smallest
    /// magnitudes. With more than two classes, the largest weight of a name over all classes counts. As with
    /// `minimum_count`, the result has no bound, no receipt, and certificates from held-out examples only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, exclusive_minimum = 0, exclusive_maximum = 1)]
    pub discard: Option<Share>,
    /// How a learner of more than two classes learns: each class against the rest (`one-vs-rest`, when
    /// absent), or jointly, which only `perceptron` and `averaged-perceptron` can. A joint committee
    /// changes only when its prediction is wrong: the true class gains the example and the predicted
    /// class loses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiclass: Option<Multiclass>,
    /// The weights of the classes: `balanced`, or a number from 0.001 to 1000 by the name of a class. Classes that are
    /// not named have the weight 1. An example of weight w is shown w times in a row, the last time in part, and a
    /// weight of its own multiplies that of its class. `balanced` gives an example of a class with c of m examples in k
    /// classes the weight m / (k c). Every learner takes whole weights. Those whose `data` in the catalogue has
    /// `fractional-weights` also take others, in multiples of 0.001. Held-out examples count once. The result has no
    /// confidence, no receipt and no `best`, and it has a bound only with whole weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_weight: Option<StatedClassWeights>,
    /// The classes in their order, of which each label names one; in a query, a list with commas. When absent, the
    /// labels of the data are the classes. With `open` each of three classes or more joins when the run reads its
    /// first example, as in a session that does not know the classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<StatedClasses>,
    /// Model whose hypothesis the training starts from. All counts still begin at 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_start: Option<ModelId>,
    #[serde(default, deserialize_with = "json::object")]
    #[schema(required = false)]
    pub stop: StopSpec,
}

impl TrainSpec {
    /// The training of the learner of this name with no choices by the client.
    pub fn of_defaults(name: &str) -> Self {
        Self {
            learner: LearnerSpec::of_defaults(name),
            trace: false,
            holdout: None,
            stratify: false,
            minimum_count: None,
            discard: None,
            multiclass: None,
            class_weight: None,
            classes: None,
            warm_start: None,
            stop: StopSpec::default(),
        }
    }
}

/// The place of a training in a grid or a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AmongSpec {
    /// Number of trainings whose certificates hold at once. Each may be false with an equal part of the allowed
    /// error.
    pub trainings: u32,
    /// The fold that is held out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<FoldSpec>,
}

/// A fold of a division into folds of equal size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoldSpec {
    /// Number of the fold, from 0.
    pub index: u32,
    /// Number of folds.
    pub folds: u32,
}

/// A learner and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LearnerSpec {
    /// Name of the learner in the catalogue.
    pub name: String,
    /// Parameters of the learner, with decimals as the client wrote them. Missing parameters take their defaults.
    #[serde(default, deserialize_with = "written::params")]
    #[schema(value_type = Object)]
    pub params: Map<String, Value>,
}

impl LearnerSpec {
    /// The learner of this name with its default parameters.
    pub fn of_defaults(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            params: Map::new(),
        }
    }
}

/// The stopping conditions of a training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StopSpec {
    /// The confidence c at which the training stops, strictly between 0 and 1. Of all runs started like this,
    /// at most a share of 1 - c claims c and is wrong. This is not the share among the runs that stopped.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0, exclusive_maximum = 1)]
    pub confidence: Option<Share>,
    /// The largest error of the hypothesis at which the training stops, strictly between 0 and 1. This field asks for
    /// the rule `pac`. The confidence is 0.95 when absent.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0, exclusive_maximum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Share>,
    /// The rule that measures the confidence; `pac` beside `error`, otherwise `anytime` when absent.
    pub rule: Option<StopRule>,
    /// The largest number of passes over the data.
    #[schema(minimum = 1)]
    pub max_passes: Option<Positive>,
    /// The largest number of mistakes of the current hypothesis.
    #[schema(minimum = 1)]
    pub max_mistakes: Option<Positive>,
    /// The largest number of examples read.
    #[schema(minimum = 1)]
    pub max_examples: Option<Positive>,
    /// Time limit in seconds of computing; 600 when absent. The time of interrupted attempts counts if the
    /// run resumed from them.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0)]
    pub max_seconds: Option<Seconds>,
}

/// An integer from 1 to 2^53 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64")]
pub struct Positive(u64);

impl Positive {
    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl TryFrom<u64> for Positive {
    type Error = String;

    fn try_from(number: u64) -> Result<Self, String> {
        if (1..1 << 53).contains(&number) {
            Ok(Self(number))
        } else {
            Err(format!("{number} is not a whole number from 1 to 2^53 - 1"))
        }
    }
}

impl PartialSchema for Positive {
    fn schema() -> RefOr<Schema> {
        whole_number(1)
    }
}

impl ToSchema for Positive {}

/// A seed from 0 to 2^53 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64")]
pub struct SeedNumber(u64);

impl SeedNumber {
    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl TryFrom<u64> for SeedNumber {
    type Error = String;

    fn try_from(number: u64) -> Result<Self, String> {
        if number <= SEED_MAX {
            Ok(Self(number))
        } else {
            Err(format!("{number} is more than the largest seed, 2^53 - 1"))
        }
    }
}

/// The schema of an integer from `minimum` to 2^53 - 1.
fn whole_number(minimum: i64) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(minimum))
        .maximum(Some(SEED_MAX))
        .into()
}

impl PartialSchema for SeedNumber {
    fn schema() -> RefOr<Schema> {
        whole_number(0)
    }
}

impl ToSchema for SeedNumber {}

/// A positive and finite number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct Seconds(f64);

impl Seconds {
    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Seconds {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        if number > 0.0 && number.is_finite() {
            Ok(Self(number))
        } else {
            Err(format!("{number} is not a positive number of seconds"))
        }
    }
}

/// The part of a stored model that describes its training and its hypothesis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelDocument {
    /// Parameters of the learner, including defaults.
    #[schema(value_type = Object)]
    pub params: Map<String, Value>,
    /// The seed of all random choices.
    pub seed: u64,
    /// The digest of the training data; null if they were generated.
    pub data_sha256: Option<String>,
    /// Examples read.
    pub examples: u64,
    /// Examples that the current hypothesis predicted wrongly.
    pub mistakes: u64,
    /// Mistakes that changed the hypothesis.
    pub updates: u64,
    /// Passes started.
    pub passes: u64,
    /// Examples that were held out of the training; absent if none were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<u64>,
    /// The data that the model and its ancestors learnt from; absent if nothing is known about them.
    #[serde(default, skip_serializing_if = "Lineage::is_unknown")]
    #[schema(required = false)]
    pub learnt_from: Lineage,
    /// The initial model of a warm start. The model may have been deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub warm_start: Option<ModelId>,
    /// The names of the features, if the training data had names of at most 1 MiB together, or an open vocabulary of
    /// any size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub features: Option<Vec<String>>,
    /// Whether the features are fixed; `fixed` when absent. With `open` they have the names in `features`, in the order
    /// of the bytes. A name that is not among them has the first weight of the learner.
    #[serde(default, skip_serializing_if = "VocabularyKind::is_fixed")]
    #[schema(required = false)]
    pub vocabulary: VocabularyKind,
    /// The first index of the training data, 0 or 1, if they came as LIBSVM. Other LIBSVM data are read from it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = u8, minimum = 0, maximum = 1)]
    pub first_index: Option<FirstIndex>,
    /// The names of the classes, if the training data had names. Of two classes, the first has the label -1 and the
    /// second the label 1. A committee has one hypothesis per class, in this order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Vec<String>, min_items = 2)]
    pub classes: Option<Vec<String>>,
    /// Whether every label but the name of +1 has the label -1.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schema(default = false)]
    pub one_against_rest: bool,
    /// The encoding of the table that the training data came as. Raw rows of such a table can be predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = TableEncoding)]
    pub table: Option<Arc<TableEncoding>>,
    /// The hypothesis, with all data needed to predict.
    pub hypothesis: HypothesisDocument,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of serde")]
pub(super) fn is_false(value: &bool) -> bool {
    !value
}

impl ModelDocument {
    /// The names of the features, as a model in memory has them.
    ///
    /// # Errors
    /// Names that are no vocabulary in the order of their bytes, with one name per feature.
    pub fn feature_names(&self) -> Result<Option<FeatureNames>, &'static str> {
        let Some(names) = &self.features else {
            return match self.vocabulary {
                VocabularyKind::Fixed => Ok(self.first_index.map(FeatureNames::Indexed)),
                VocabularyKind::Open => {
                    Err("a model with an open vocabulary lists its names in `features`")
                }
            };
        };
        if self.vocabulary.is_fixed() {
            return Ok(Some(FeatureNames::Listed(names.clone())));
        }
        let is_sorted = names.is_sorted_by(|one, other| one < other);
        let names = Vocabulary::of_names(names.iter().map(String::as_str))
            .filter(|names| is_sorted && names.len().max(1) == self.hypothesis.n());
        let why = "the names of an open vocabulary are distinct, in the order of their bytes, not empty and at most \
                   1024 bytes long, and there are n of them";
        Ok(Some(FeatureNames::Open(Some(Arc::new(names.ok_or(why)?)))))
    }

    /// The classes by which the model reads labels. A model without names has the labels 1 and -1, or 1 and 0.
    pub fn label_classes(&self) -> Option<Classes> {
        let mut names: Vec<Option<String>> = self.classes.clone()?.into_iter().map(Some).collect();
        if let Some(rest) = names.first_mut().filter(|_| self.one_against_rest) {
            *rest = None;
        }
        Classes::try_from(names).ok()
    }
}

/// The stored form of a model: the document, and the receipt of its training. A model that came from a file has no
/// receipt.
#[derive(Serialize)]
pub struct StoredModel {
    #[serde(flatten)]
    pub document: ModelDocument,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
}

/// The receipt in a stored model.
#[derive(Deserialize)]
pub struct StoredReceipt {
    #[serde(default)]
    pub receipt: Option<Receipt>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn training_numbers_out_of_range_are_refused() {
        for text in ["0", "1", "-0.5", "1e99"] {
            assert!(serde_json::from_str::<Share>(text).is_err(), "{text}");
        }
        for text in ["0", "-1", "1.5", "9007199254740992"] {
            assert!(serde_json::from_str::<Positive>(text).is_err(), "{text}");
        }
        for text in ["0", "-1"] {
            assert!(serde_json::from_str::<Seconds>(text).is_err(), "{text}");
        }
        assert!(Share::try_from(f64::NAN).is_err());
    }

    #[test]
    fn learner_parameters_beyond_their_limit_are_refused() {
        let spec = |value: &str| {
            let text = format!(r#"{{"name": "x", "params": {{"a": {value}}}}}"#);
            serde_json::from_str::<LearnerSpec>(&text)
        };
        let list = |length: usize| format!("[{}0]", "0,".repeat(length - 1));
        let read = spec(&list(1 << 20)).expect("as many first weights as there may be features");
        assert_eq!(read.params["a"].as_array().map(Vec::len), Some(1 << 20));
        for (value, named) in [
            (list((1 << 20) + 1024), "1049600 values"),
            ("[]".to_owned() + &",[]".repeat(1 << 21), "1049600 values"),
            (
                format!("{{{}\"z\": 0}}", "\"key\": 0,".repeat(1 << 21)),
                "`key` stands there twice",
            ),
            (format!("\"{}\"", "x".repeat(5 << 20)), "4194304 bytes"),
            (
                format!("{{\"{}\": 0}}", "x".repeat(5 << 20)),
                "4194304 bytes",
            ),
        ] {
            let value = if value.starts_with("[]") {
                format!("[{value}]")
            } else {
                value
            };
            let error = spec(&value).expect_err(named).to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn training_with_unknown_fields_is_refused() {
        assert!(serde_json::from_str::<StopSpec>(r#"{"max_pases": 1}"#).is_err());
        assert!(serde_json::from_str::<LearnerSpec>(r#"{"name": "x", "param": {}}"#).is_err());
    }
}
