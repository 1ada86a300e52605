//! Parameters of learners as a request writes them. Decimals are read digit by digit, because a double would
//! round them.
//!
//! Stored requests are not read here. In stored requests a number still means a double, as in releases
//! without decimals.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use halfspace_formats::json;

use super::bounded_json;
use super::train::LearnerSpec;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLearner {
    name: String,
    #[serde(default, deserialize_with = "params")]
    params: Map<String, Value>,
}

/// Reads a learner and its parameters.
///
/// # Errors
/// As for a [`LearnerSpec`].
pub fn learner<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LearnerSpec, D::Error> {
    let WrittenLearner { name, params } = json::object(deserializer)?;
    Ok(LearnerSpec { name, params })
}

/// Reads the fields of a grid and their values.
///
/// # Errors
/// The value is not an object or is too large.
pub fn over<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    bounded_json::object_of_decimals(deserializer, |field| {
        is_factor(field.strip_prefix("learner.params.")?)
    })
}

fn params<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    bounded_json::object_of_decimals(deserializer, is_factor)
}

/// Whether a decimal parameter is a factor; `None` if the parameter is not a decimal.
fn is_factor(name: &str) -> Option<bool> {
    match name {
        "alpha" => Some(true),
        "theta" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Deserialize)]
    struct Request {
        #[serde(deserialize_with = "learner")]
        learner: LearnerSpec,
        #[serde(default, deserialize_with = "over")]
        over: Map<String, Value>,
    }

    fn params(text: &str) -> Value {
        let text = format!(r#"{{"learner": {{"name": "winnow", "params": {text}}}}}"#);
        let request: Request = serde_json::from_str(&text).expect("a request");
        request.learner.params.into()
    }

    #[test]
    fn decimals_are_those_that_are_written() {
        for (written, kept) in [
            (r#"{"alpha": 1.7}"#, json!({"alpha": "1.7"})),
            (r#"{"alpha": "1.7"}"#, json!({"alpha": "1.7"})),
            (r#"{"alpha": 17e-1}"#, json!({"alpha": "1.7"})),
            (r#"{"alpha": 1.5}"#, json!({"alpha": 1.5})),
            (r#"{"alpha": 2}"#, json!({"alpha": 2})),
            (
                r#"{"alpha": 1.70000000000000001}"#,
                json!({"alpha": "1.70000000000000001"}),
            ),
            (r#"{"theta": 1.7}"#, json!({"theta": 1.7})),
            (
                r#"{"theta": 0.10000000000000001}"#,
                json!({"theta": "0.10000000000000001"}),
            ),
            // These values are not decimals. They stay unchanged here, and a later check rejects them.
            (
                r#"{"alpha": -1.7, "theta": [1]}"#,
                json!({"alpha": -1.7, "theta": [1]}),
            ),
            (
                r#"{"alpha": null, "theta": {"a": "b"}}"#,
                json!({"alpha": null, "theta": {"a": "b"}}),
            ),
            (r#"{"eta": 0.1}"#, json!({"eta": 0.1})),
        ] {
            assert_eq!(params(written), kept, "{written}");
        }
    }

    #[test]
    fn the_decimals_of_a_grid_are_written_too() {
        let text = r#"{"learner": {"name": "winnow"}, "over": {
            "learner.params.alpha": [1.7, 2, "1.4"], "learner.params.eta": [0.1], "seed": [1]}}"#;
        let request: Request = serde_json::from_str(text).expect("a request");
        let expected = json!({"learner.params.alpha": ["1.7", 2, "1.4"],
            "learner.params.eta": [0.1], "seed": [1]});
        assert_eq!(Value::from(request.over), expected);
    }

    /// `LearnerSpec` reads stored documents, and their numbers stay doubles.
    #[test]
    fn a_stored_number_stands_for_its_double() {
        let stored = json!({"name": "winnow", "params": {"alpha": 1.7}});
        let read: LearnerSpec = serde_json::from_value(stored).expect("a learner");
        assert_eq!(read.params["alpha"], json!(1.7));
    }

    #[test]
    fn what_is_wrong_is_refused_as_before() {
        let long = format!(r#"{{"alpha": [{}0]}}"#, "0,".repeat(3 << 20));
        for params in [r#"{"alpha": }"#, "[]", "3", long.as_str()] {
            let text = format!(r#"{{"learner": {{"name": "winnow", "params": {params}}}}}"#);
            assert!(serde_json::from_str::<Request>(&text).is_err());
        }
        let unknown = r#"{"learner": {"name": "winnow", "parms": {}}}"#;
        assert!(serde_json::from_str::<Request>(unknown).is_err());
    }
}
