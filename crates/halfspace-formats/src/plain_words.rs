//! Rewrites error messages of `serde` in the terms of JSON, because clients do not know Rust's types.

use halfspace_core::suggestions::question;

/// Rewrites a message of `serde` in the words of JSON, with the value that was found and what was expected instead.
/// Other messages stay as they are.
///
/// ```
/// use halfspace_formats::plain_words;
///
/// let message = "invalid type: string \"many\", expected u64";
/// assert_eq!(plain_words(message), "the text \"many\" is not a whole number of at least 0");
/// ```
pub fn plain_words(message: &str) -> String {
    let kinds = ["invalid type: ", "invalid value: "];
    if let Some(rest) = kinds.iter().find_map(|kind| message.strip_prefix(kind))
        && let Some((found, expected)) = rest.rsplit_once(", expected ")
    {
        return format!("{} is not {}", value(found), kind(expected));
    }
    if let Some((length, expected)) = message
        .strip_prefix("invalid length ")
        .and_then(|rest| rest.split_once(", expected "))
    {
        return format!("an array of length {length} is not {}", kind(expected));
    }
    for (start, noun, plural) in [
        ("unknown field `", "member", "members"),
        ("unknown variant `", "value", "values"),
    ] {
        if let Some((name, known)) = message
            .strip_prefix(start)
            .and_then(|rest| rest.split_once('`'))
        {
            let names: Vec<_> = known.split('`').skip(1).step_by(2).collect();
            let question = question(name, names.iter().copied());
            return match names.is_empty() {
                true => format!("the {noun} `{name}` is unknown; there are no {plural}"),
                false => format!(
                    "the {noun} `{name}` is unknown{question}; the {plural} are: {}",
                    names.join(", ")
                ),
            };
        }
    }
    for (start, end) in [
        ("missing field `", "is missing"),
        ("duplicate field `", "stands there twice"),
    ] {
        if let Some(name) = message
            .strip_prefix(start)
            .and_then(|rest| rest.strip_suffix('`'))
        {
            return format!("the member `{name}` {end}");
        }
    }
    let plain = TOKENS.iter().find(|(token, _)| *token == message);
    plain.map_or(message, |(_, plain)| plain).to_owned()
}

/// Messages about a part of a text that is no JSON, and what to say instead. Programs often write NaN, Infinity, None
/// or single quotes, and the message cannot tell which.
const TOKENS: [(&str, &str); 4] = [
    (
        "expected value",
        "there is no value; a value is null, true, false, a finite number, a text in double quotes, an array or an \
         object",
    ),
    (
        "invalid number",
        "there is no number after the sign or the mark; a value is a finite number",
    ),
    (
        "number out of range",
        "the number is not finite as a double; a value is a finite number",
    ),
    (
        "invalid unicode code point",
        "the text is not UTF-8; name its charset, as in `charset=windows-1252`, or convert it to UTF-8",
    ),
];

/// A value that `serde` found, in the words of JSON.
fn value(found: &str) -> String {
    let number = ["integer `", "floating point `", "boolean `"];
    let unquoted = |rest: &str| rest.trim_end_matches('`').to_owned();
    match found {
        "map" => "an object".to_owned(),
        "sequence" => "an array".to_owned(),
        "null" | "unit value" | "Option value" => "null".to_owned(),
        _ => match (
            number.iter().find_map(|kind| found.strip_prefix(kind)),
            found.strip_prefix("string "),
        ) {
            (Some(rest), _) => unquoted(rest),
            (None, Some(text)) => format!("the text {text}"),
            (None, None) => found.to_owned(),
        },
    }
}

/// A kind of value that `serde` expects, in the words of JSON.
fn kind(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of at least 0",
        "i8" | "i16" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "string" => "a text",
        "a boolean" => "true or false",
        "a map" | "map" => "an object",
        "a sequence" | "sequence" => "an array",
        "unit" => "null",
        _ if expected.starts_with("struct ") || expected.starts_with("internally tagged enum ") => {
            "an object"
        }
        _ => expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code)]
    struct Example {
        learner: Option<String>,
        passes: Option<u64>,
        kind: Option<Kind>,
        rows: Vec<f64>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Nominal,
        Real,
    }

    #[track_caller]
    fn said(json: &str) -> String {
        let error = serde_json::from_str::<Example>(json)
            .unwrap_err()
            .to_string();
        plain_words(error.split(" at line").next().unwrap())
    }

    #[test]
    fn messages_name_members_values_and_the_nearest_name() {
        assert_eq!(
            said("{\"lerner\": 1}"),
            "the member `lerner` is unknown (did you mean `learner`?); the members are: learner, passes, kind, rows"
        );
        assert_eq!(
            said("{\"passes\": -1}"),
            "-1 is not a whole number of at least 0"
        );
        assert_eq!(
            said("{\"passes\": \"x, expected u8\"}"),
            "the text \"x, expected u8\" is not a whole number of at least 0"
        );
        assert_eq!(
            said("{\"kind\": \"reel\"}"),
            "the value `reel` is unknown (did you mean `real`?); the values are: nominal, real"
        );
        assert_eq!(said("{\"rows\": {}}"), "an object is not an array");
        assert_eq!(said("{\"rows\": [true]}"), "true is not a number");
        assert_eq!(said("{\"learner\": []}"), "an array is not a text");
        assert_eq!(said("[]"), "an array of length 0 is not an object");
        assert_eq!(said("7"), "7 is not an object");
        assert_eq!(said("{}"), "the member `rows` is missing");
        assert_eq!(
            said("{\"rows\": [], \"rows\": []}"),
            "the member `rows` stands there twice"
        );
        assert!(said("{\"rows\": [NaN]}").contains("a finite number"));
        assert!(said("{\"rows\": [-Infinity]}").contains("a finite number"));
        assert!(said("{\"rows\": [1e999]}").contains("not finite"));
        let error = serde_json::from_slice::<Example>(b"{\"learner\": \"caf\xe9\"}").unwrap_err();
        let message = error.to_string();
        let message = message.split(" at line").next().unwrap();
        assert!(plain_words(message).contains("not UTF-8"));
        assert_eq!(plain_words("another message"), "another message");
    }
}
