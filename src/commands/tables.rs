//! The answers of the service as text for people.

use std::io::ErrorKind;

use serde_json::Value;

use crate::app::terminal::{Shown, on_one_line};

use super::failure::Failure;

/// Largest number of terms of an explanation on a terminal.
const TERMS_MAX: usize = 20;

/// The most classes for which an evaluation shows the predictions of each.
const MATRIX_CLASSES_MAX: usize = 12;

/// Writes a text to standard output. A closed pipe ends the output without an error, as in
/// `halfspace openapi | head`.
///
/// # Errors
/// The text is not written, for example because the disk is full.
pub fn write(text: &str) -> Result<(), Failure> {
    match write!(Shown(std::io::stdout().lock()), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::work(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Lines of a name and a value each. Names are padded to one width.
fn lines(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let shown = rows.iter().filter(|(_, value)| !value.is_empty());
    shown
        .map(|(name, value)| format!("{name:width$}  {value}\n"))
        .collect()
}

/// Columns of one width each. Numbers stand on the right.
fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| {
            let is_number = cell.starts_with(|c: char| c.is_ascii_digit() || c == '-');
            match is_number {
                true => format!("{cell:>width$}"),
                false => format!("{cell:width$}"),
            }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// A number as written, a text without quotes, and nothing for null.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => on_one_line(text),
        other => other.to_string(),
    }
}

/// The weights of classes, in one line.
fn weights(of: &Value) -> String {
    let each = of.as_object().into_iter().flatten();
    let each = each.map(|(class, weight)| format!("{}: {weight}", on_one_line(class)));
    each.collect::<Vec<_>>().join(", ")
}

/// A share as a percentage.
fn percent(share: &Value) -> String {
    share
        .as_f64()
        .map_or(String::new(), |share| format!("{:.2} %", 100.0 * share))
}

/// "errors of examples".
fn counted(counts: &Value) -> String {
    match counts["errors"].is_null() {
        true => String::new(),
        false => format!("{} of {}", counts["errors"], counts["examples"]),
    }
}

/// The members of an object whose values are short.
fn own_members(object: &Value) -> String {
    let members = object.as_object().into_iter().flatten();
    let shown = members.map(|(name, value)| format!("{name}={}", plain(value)));
    shown.collect::<Vec<_>>().join(", ")
}

fn certificates(result: &Value) -> Vec<(&'static str, String)> {
    let all = result["certificates"].as_array().into_iter().flatten();
    all.map(|certificate| ("certificate", plain(&certificate["statement"])))
        .collect()
}

pub fn training(job: &Value) -> String {
    let result = &job["result"];
    let learner = &job["learner"];
    let params = own_members(&learner["params"]);
    let bound = &result["bound"];
    let bound = match bound["mistakes_at_most"].as_f64() {
        Some(most) => format!(
            " (at most {most} by the theorem of {})",
            plain(&bound["theorem"])
        ),
        None => String::new(),
    };
    let ended = &result["termination"];
    let mut rows = vec![
        (
            "learner",
            format!(
                "{}{}",
                plain(&learner["name"]),
                if params.is_empty() {
                    params
                } else {
                    format!(" ({params})")
                }
            ),
        ),
        ("seed", plain(&job["seed"])),
        (
            "ended",
            [plain(&ended["reason"]), plain(&ended["detail"])]
                .join(" ")
                .trim_end()
                .to_owned(),
        ),
        ("passes", plain(&result["passes"])),
        ("examples", plain(&result["examples"])),
        ("mistakes", format!("{}{bound}", result["mistakes"])),
        ("training errors", counted(&result["training"])),
        ("held-out errors", counted(&result["holdout"])),
        ("class weights", weights(&result["class_weight"])),
        ("confidence", plain(&ended["confidence"])),
        ("target found", plain(&result["target"]["recovered"])),
        ("hypothesis", hypothesis(&result["hypothesis"])),
    ];
    rows.extend(certificates(result));
    rows.push((
        "seconds",
        format!("{:.3}", result["seconds"].as_f64().unwrap_or_default()),
    ));
    lines(&rows)
}

/// A large hypothesis is not part of the result.
fn hypothesis(hypothesis: &Value) -> String {
    match hypothesis {
        Value::Null => String::new(),
        given => format!("{}, {} features", plain(&given["kind"]), plain(&given["n"])),
    }
}

/// The predictions of an NDJSON answer, one per line.
pub fn predictions(ndjson: &str) -> String {
    let documents = ndjson
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    documents
        .map(|document| {
            let class = &document["predicted_class"];
            plain(if class.is_null() {
                &document["prediction"]
            } else {
                class
            }) + "\n"
        })
        .collect()
}

/// The errors of an evaluation, then each class with the predictions of its examples.
pub fn evaluation(result: &Value) -> String {
    let mut rows = vec![
        ("errors", counted(result)),
        ("accuracy", percent(&result["accuracy"])),
        ("most frequent class", percent(&result["baseline"])),
        ("macro F1", percent(&result["macro_f1"])),
    ];
    rows.extend(certificates(result));
    lines(&rows) + "\n" + &classes(result)
}

/// One row per class: its examples, precision and recall, and, if there are few classes, how many of its examples were
/// predicted as each.
fn classes(result: &Value) -> String {
    let all = || result["classes"].as_array().into_iter().flatten();
    let matrix = result["confusion"].as_array();
    let matrix = matrix.filter(|rows| rows.len() <= MATRIX_CLASSES_MAX);
    let head = ["class", "examples", "precision", "recall"].map(str::to_owned);
    let predicted = all().map(|class| format!("as {}", plain(&class["name"])));
    let mut rows = vec![head.to_vec()];
    rows[0].extend(predicted.filter(|_| matrix.is_some()));
    for (at, class) in all().enumerate() {
        let mut row = vec![
            plain(&class["name"]),
            plain(&class["examples"]),
            percent(&class["precision"]),
            percent(&class["recall"]),
        ];
        let counts = matrix.and_then(|rows| rows[at].as_array());
        row.extend(counts.into_iter().flatten().map(plain));
        rows.push(row);
    }
    columns(&rows)
}

pub fn comparison(job: &Value) -> String {
    let result = &job["result"];
    let header = ["", "learner", "errors", "rate", "mistakes", "seconds", ""]
        .map(str::to_owned)
        .to_vec();
    let mut rows = vec![header];
    let learners = result["learners"].as_array().into_iter().flatten();
    for (index, learner) in learners.enumerate() {
        let mark = if result["best"] == index { "best" } else { "" };
        let seconds = learner["seconds"]
            .as_f64()
            .map_or(String::new(), |it| format!("{it:.3}"));
        rows.push(vec![
            mark.to_owned(),
            plain(&learner["name"]),
            counted(learner),
            percent(&learner["error_rate"]),
            plain(&learner["mistakes"]),
            seconds,
            if learner["unfit"].is_null() {
                String::new()
            } else {
                "unfit".to_owned()
            },
        ]);
    }
    let unfit = result["learners"].as_array().into_iter().flatten();
    let reasons = unfit
        .filter(|learner| !learner["unfit"].is_null())
        .map(|learner| {
            format!(
                "{} is unfit: {}\n",
                plain(&learner["name"]),
                plain(&learner["unfit"])
            )
        });
    columns(&rows) + &reasons.collect::<String>()
}

/// An explanation: the rule and the terms with the largest weights.
pub fn explanation(explanation: &Value) -> String {
    let mut rows = Vec::new();
    let terms = explanation["terms"].as_array();
    for term in terms.into_iter().flatten().take(TERMS_MAX) {
        let literals = term["literals"].as_array().into_iter().flatten();
        let names = literals.map(|literal| match literal["negated"] == true {
            true => format!("not {}", plain(&literal["name"])),
            false => plain(&literal["name"]),
        });
        rows.push(vec![
            plain(&term["weight"]),
            names.collect::<Vec<_>>().join(" and "),
        ]);
    }
    let more = terms.map_or(0, Vec::len).saturating_sub(TERMS_MAX);
    let rest = if more > 0 {
        format!("and {more} more terms\n")
    } else {
        String::new()
    };
    format!(
        "{}\n\n{}{rest}",
        plain(&explanation["rule"]),
        columns(&rows)
    )
}

/// The list of learners, or one learner.
pub fn learners(document: &Value) -> String {
    let Some(items) = document["items"].as_array() else {
        return learner(document);
    };
    let rows = items
        .iter()
        .map(|item| vec![plain(&item["name"]), plain(&item["learns"])]);
    columns(&rows.collect::<Vec<_>>())
}

fn learner(entry: &Value) -> String {
    let guarantee = &entry["guarantee"];
    let mut rows = vec![
        ("name", plain(&entry["name"])),
        ("title", plain(&entry["title"])),
        ("learns", plain(&entry["learns"])),
        (
            "guarantee",
            format!(
                "{}: {}",
                plain(&guarantee["theorem"]),
                plain(&guarantee["bound"])
            ),
        ),
        ("source", plain(&entry["source"])),
    ];
    let parameters = entry["parameters"]["properties"].as_object();
    for (name, parameter) in parameters.into_iter().flatten() {
        rows.push((
            "parameter",
            format!("{name}: {}", plain(&parameter["description"])),
        ));
    }
    lines(&rows)
}

/// The members of an object, one per line.
pub fn members(document: &Value) -> String {
    let all = document.as_object().into_iter().flatten();
    let rows: Vec<_> = all
        .map(|(name, value)| (name.as_str(), plain(value)))
        .collect();
    lines(&rows)
}

/// The progress of a job in one line.
pub fn progress(job: &Value) -> String {
    let queue = &job["queue"];
    match queue["waits_for"].as_str() {
        Some("other-jobs") => return format!("waiting for {} other jobs", queue["ahead"]),
        Some(reason) => return format!("waiting ({reason})"),
        None => {}
    }
    let progress = &job["progress"];
    let mut parts = vec![plain(&job["status"])];
    for name in ["passes", "examples", "mistakes"] {
        if !progress[name].is_null() {
            parts.push(format!("{} {name}", progress[name]));
        }
    }
    if let (Some(bytes), Some(total)) =
        (progress["bytes"].as_u64(), progress["bytes_total"].as_u64())
    {
        parts.truncate(1);
        parts.push(format!("{bytes} of {total} bytes"));
    }
    if progress["fraction"].is_number() {
        parts.push(percent(&progress["fraction"]));
    }
    if let Some(seconds) = progress["seconds_left"].as_f64() {
        parts.push(format!("{seconds:.0} s left"));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn command_output_of_a_training_is_a_table_of_its_figures() {
        let job = json!({
            "learner": {"name": "perceptron", "params": {"bias": false}},
            "seed": 7,
            "result": {
                "mistakes": 3, "passes": 2, "examples": 8, "seconds": 0.5,
                "termination": {"reason": "converged", "detail": null, "confidence": null},
                "training": {"errors": 0, "examples": 4},
                "holdout": null,
                "bound": {"theorem": "Novikoff", "mistakes_at_most": 9.0},
                "hypothesis": {"kind": "linear", "n": 5},
                "certificates": [{"statement": "The error is small."}],
            },
        });
        let expected = "\
learner          perceptron (bias=false)
seed             7
ended            converged
passes           2
examples         8
mistakes         3 (at most 9 by the theorem of Novikoff)
training errors  0 of 4
hypothesis       linear, 5 features
certificate      The error is small.
seconds          0.500
";
        assert_eq!(training(&job), expected);
    }

    #[test]
    fn command_output_of_a_comparison_is_a_table_with_unfit_reasons() {
        let job = json!({"result": {"best": 0, "learners": [
            {"name": "winnow", "errors": 1, "examples": 100, "error_rate": 0.01, "mistakes": 12, "seconds": 0.25,
             "unfit": null},
            {"name": "kernel-winnow", "errors": null, "unfit": "too many features"},
        ]}});
        let expected = "      learner        errors    rate    mistakes  seconds
best  winnow         1 of 100  1.00 %        12    0.250
      kernel-winnow                                       unfit
kernel-winnow is unfit: too many features
";
        assert_eq!(comparison(&job), expected);
    }

    #[test]
    fn command_output_of_predictions_is_class_names_or_labels() {
        let lines = "{\"prediction\":1,\"predicted_class\":\"edible\"}\n{\"prediction\":-1}\n";
        assert_eq!(predictions(lines), "edible\n-1\n");
        let explanation_of = json!({"rule": "R.", "terms": [{"weight": -2, "literals": [
            {"name": "a", "negated": false}, {"name": "b", "negated": true}]}]});
        assert_eq!(explanation(&explanation_of), "R.\n\n-2  a and not b\n");
        let waiting = |reason: &str| {
            let queue = json!({"ahead": 3, "waits_for": reason});
            progress(&json!({"status": "queued", "queue": queue}))
        };
        assert_eq!(waiting("other-jobs"), "waiting for 3 other jobs");
        assert_eq!(waiting("no-worker"), "waiting (no-worker)");
    }
}
