//! The parameters of learners as a request writes them. Decimals such as `alpha` and `theta` are read digit by digit,
//! because a double would round them.
//!
//! If a number would change its value by being stored as one, it becomes a text, so that a stored request reads as it
//! was sent.

use std::collections::BTreeMap;

use serde::Deserializer;
use serde_json::{Map, Value};

use super::bounded_json;

/// Reads the fields of a grid and their lists of values.
///
/// # Errors
/// The value is not an object of lists, or is too large.
pub fn over<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Vec<Value>>, D::Error> {
    let lists = bounded_json::object_of_decimals(deserializer, true, |field| {
        is_factor(field.strip_prefix("learner.params.")?)
    })?;
    let list = |(field, values)| match values {
        Value::Array(values) => (field, values),
        value => (field, vec![value]),
    };
    Ok(lists.into_iter().map(list).collect())
}

/// Reads the parameters of a learner.
///
/// # Errors
/// The value is not an object, or is too large.
pub fn params<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    bounded_json::object_of_decimals(deserializer, false, is_factor)
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
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::records::train::LearnerSpec;

    #[derive(Deserialize)]
    struct Request {
        learner: LearnerSpec,
        #[serde(default, deserialize_with = "over")]
        over: BTreeMap<String, Vec<Value>>,
    }

    fn params(text: &str) -> Value {
        let text = format!(r#"{{"learner": {{"name": "winnow", "params": {text}}}}}"#);
        let request: Request = serde_json::from_str(&text).expect("a request");
        request.learner.params.into()
    }

    #[test]
    fn parameters_keep_decimals_as_written() {
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
    fn grid_keeps_decimals_as_written() {
        let text = r#"{"learner": {"name": "winnow"}, "over": {
            "learner.params.alpha": [1.7, 2, "1.4"], "learner.params.eta": [0.1], "seed": [1]}}"#;
        let request: Request = serde_json::from_str(text).expect("a request");
        let expected = json!({"learner.params.alpha": ["1.7", 2, "1.4"],
            "learner.params.eta": [0.1], "seed": [1]});
        assert_eq!(json!(request.over), expected);
    }

    #[test]
    fn stored_parameters_are_read_as_they_were_sent() {
        for written in [
            r#"{"alpha": 1.7, "theta": 1.7}"#,
            r#"{"alpha": 1.5, "theta": 0.10000000000000001}"#,
            r#"{"alpha": 1.70000000000000001, "theta": 12345678901234567890123}"#,
        ] {
            let kept = params(written);
            assert_eq!(params(&kept.to_string()), kept, "{written}");
        }
    }

    #[test]
    fn malformed_parameters_are_refused() {
        let long = format!(r#"{{"alpha": [{}0]}}"#, "0,".repeat(3 << 20));
        for params in [r#"{"alpha": }"#, "[]", "3", long.as_str()] {
            let text = format!(r#"{{"learner": {{"name": "winnow", "params": {params}}}}}"#);
            assert!(serde_json::from_str::<Request>(&text).is_err());
        }
        let unknown = r#"{"learner": {"name": "winnow", "parms": {}}}"#;
        assert!(serde_json::from_str::<Request>(unknown).is_err());
    }
}
