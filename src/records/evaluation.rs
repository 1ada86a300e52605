//! The request and the result of an evaluation: the errors of a model on labelled examples.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use utoipa::ToSchema;

use halfspace_core::certificates::{self, Certificates};
use halfspace_core::learners::decision::Score;
use halfspace_core::learners::engine::assume::Assume;
use halfspace_core::learners::engine::evaluate::{Evaluation, WrongExample};
use halfspace_core::learners::engine::random::SEED_MAX;
use halfspace_formats::TableEncoding;

use super::hypothesis::NumberOrDecimal;
use super::id::ModelId;
use super::names::{Names, label_number};
use super::train::{Seconds, Share};

/// The largest size of all scores of one result, in bytes. Later scores are omitted.
const SCORE_BYTES_MAX: usize = 256 * 1024;

/// Evaluates a model on examples with known labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EvaluateRequest)]
pub struct EvaluateSpec {
    /// The model.
    pub model: ModelId,
    /// Seconds of computing; 600 when absent.
    #[schema(value_type = Option<f64>, exclusive_minimum = 0)]
    pub max_seconds: Option<Seconds>,
    /// Whether neither the model nor its ancestors learnt from the examples. Beside `assume`, this declaration gives
    /// the result a certificate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// The confidence of the certificate; 0.95 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, exclusive_minimum = 0, exclusive_maximum = 1)]
    pub confidence: Option<Share>,
}

/// The errors of a model on examples with known labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EvaluateResult {
    /// The model.
    pub model: ModelId,
    /// Examples with a wrong prediction.
    pub errors: u64,
    /// Number of counted examples.
    pub examples: u64,
    /// The share of correct predictions; null if no example was counted.
    #[schema(minimum = 0, maximum = 1)]
    pub accuracy: Option<f64>,
    /// What is known about each class, in the order of the class codes. Of two classes, the first has the label -1 and
    /// the second the label 1.
    #[schema(min_items = 2)]
    pub classes: Vec<ClassDocument>,
    /// The number of examples by class and predicted class: row `i` has the examples of class `i` of `classes`, and
    /// column `j` those of them that were predicted as class `j`. Null for more than 256 classes.
    pub confusion: Option<Vec<Vec<u64>>>,
    /// The mean of `f1` over the classes that occur or were predicted.
    #[schema(minimum = 0, maximum = 1)]
    pub macro_f1: Option<f64>,
    /// The share of the most frequent class. Predicting it for every example has this accuracy.
    #[schema(minimum = 0, maximum = 1)]
    pub baseline: Option<f64>,
    /// The first 100 examples with a wrong prediction, in order, without their features.
    #[schema(max_items = 100)]
    pub wrong: Vec<WrongDocument>,
    /// Whether all examples were counted. False if a time limit or a cancellation ended the evaluation.
    pub complete: bool,
    /// The encoding of the table in the body of the request, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = TableEncoding)]
    pub table: Option<Arc<TableEncoding>>,
    #[serde(flatten)]
    pub certified: Certificates,
}

/// How well a class is predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClassDocument {
    /// The name of the class: `-1` or `1` if the labels have no names.
    pub name: String,
    /// Examples of the class.
    pub examples: u64,
    /// Examples predicted as this class.
    pub predicted: u64,
    /// Examples of the class predicted as this class.
    pub correct: u64,
    /// The share of correct ones among those predicted as this class; null if there are none.
    #[schema(minimum = 0, maximum = 1)]
    pub precision: Option<f64>,
    /// The share of correct ones among the examples of the class; null if there are none.
    #[schema(minimum = 0, maximum = 1)]
    pub recall: Option<f64>,
    /// The harmonic mean of precision and recall, which is 2 correct / (examples + predicted); null if both are 0.
    #[schema(minimum = 0, maximum = 1)]
    pub f1: Option<f64>,
}

impl ClassDocument {
    fn new(name: String, [examples, predicted, correct]: [u64; 3]) -> Self {
        Self {
            name,
            examples,
            predicted,
            correct,
            precision: share(correct, predicted),
            recall: share(correct, examples),
            f1: share(2 * correct, examples + predicted),
        }
    }
}

/// The share of these examples among all, if there are any.
fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

/// An example with a wrong prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WrongDocument {
    /// Index of the example in the data, from 0.
    pub index: u64,
    /// The label: 1 or -1 of two classes, or the place in `classes` from 0 of more.
    #[schema(minimum = -1)]
    pub label: i64,
    /// The prediction in the same form.
    #[schema(minimum = -1)]
    pub prediction: i64,
    /// The exact score behind the prediction, in the form of a prediction's score. Null after the scores
    /// reach 256 KiB.
    #[schema(value_type = Option<NumberOrDecimal>)]
    pub score: Value,
}

/// Writes a score as JSON.
///
/// The form is a number, a decimal string if some readers would round the number, or `"p/q"`. A real score that
/// overflows to infinity becomes null, because JSON cannot express it.
pub fn score_value(score: &Score) -> Value {
    match score {
        Score::Integer(score) if score.unsigned_abs() <= SEED_MAX => Value::from(*score),
        Score::Integer(score) => Value::String(score.to_string()),
        Score::Large(score) => Value::String(score.to_string()),
        Score::Fraction {
            numerator,
            denominator,
        } => Value::String(format!("{numerator}/{denominator}")),
        Score::Multiple { units, unit } => real(unit.times(*units)),
        Score::Real(score) => real(*score),
    }
}

fn real(score: f64) -> Value {
    Number::from_f64(score).map_or(Value::Null, Value::Number)
}

impl EvaluateResult {
    /// Makes the document of an evaluation of `model`, whose classes have these names. `origin` says where fresh
    /// examples come from, or why the examples are not known to be fresh.
    pub fn new(
        model: ModelId,
        names: &Names,
        evaluation: &Evaluation,
        origin: Result<Assume, String>,
        confidence: f64,
    ) -> Self {
        let confusion = &evaluation.confusion;
        let (errors, examples) = (confusion.errors(), confusion.examples());
        let mut bytes_left = SCORE_BYTES_MAX;
        let wrong = evaluation.wrong.iter();
        let names = names.class_names();
        let names = names.unwrap_or_else(|| ["-1", "1"].map(str::to_owned).to_vec());
        let count = names.len();
        let classes: Vec<_> = names
            .into_iter()
            .zip(confusion.each())
            .map(|(name, counts)| ClassDocument::new(name, counts))
            .collect();
        let f1: Vec<f64> = classes.iter().filter_map(|class| class.f1).collect();
        let largest = classes.iter().map(|class| class.examples).max();
        Self {
            model,
            errors,
            examples,
            accuracy: share(examples - errors, examples),
            confusion: confusion.matrix(),
            macro_f1: (!f1.is_empty()).then(|| f1.iter().sum::<f64>() / f1.len() as f64),
            baseline: largest.and_then(|largest| share(largest, examples)),
            classes,
            wrong: wrong
                .map(|wrong| wrong_document(wrong, count, &mut bytes_left))
                .collect(),
            complete: evaluation.interrupted.is_none(),
            table: None,
            certified: certificates::of_test(evaluation, origin, confidence),
        }
    }
}

fn wrong_document(wrong: &WrongExample, classes: usize, bytes_left: &mut usize) -> WrongDocument {
    let mut score = Value::Null;
    if *bytes_left > 0 {
        let value = score_value(&wrong.decision.score);
        let bytes = value.as_str().map_or(0, str::len);
        if bytes <= *bytes_left {
            score = value;
        }
        *bytes_left = bytes_left.saturating_sub(bytes);
    }
    WrongDocument {
        index: wrong.index,
        label: label_number(wrong.label, classes),
        prediction: label_number(wrong.decision.class, classes),
        score,
    }
}

#[cfg(test)]
mod tests {
    use halfspace_core::learners::decision::Decision;
    use num_bigint::BigInt;

    use super::*;

    #[test]
    fn evaluation_omits_scores_beyond_their_room() {
        let large = Score::from(BigInt::from(1) << 600_000);
        let wrong = |score: Score, index| WrongExample {
            index,
            label: (index % 2) as u32,
            decision: Decision::new(score, index % 2 == 0),
        };
        let evaluation = Evaluation {
            wrong: vec![
                wrong(Score::Integer(-7), 0),
                wrong(large.clone(), 1),
                wrong(large, 2),
                wrong(Score::Integer(-7), 3),
            ],
            ..Evaluation::default()
        };
        let id = "mdl_01890000000070008000000000000000";
        let undeclared = Err("undeclared".to_owned());
        let result = EvaluateResult::new(
            id.parse().unwrap(),
            &Names::default(),
            &evaluation,
            undeclared,
            0.95,
        );
        let kinds: Vec<_> = result.wrong.iter().map(|wrong| &wrong.score).collect();
        assert_eq!(kinds[0], &Value::from(-7));
        assert_eq!(kinds[1].as_str().map(str::len), Some(180_618));
        assert!(kinds[2].is_null() && kinds[3].is_null());
        assert_eq!((result.wrong[1].label, result.wrong[1].prediction), (1, -1));
        assert_eq!(result.accuracy, None);
    }
}
