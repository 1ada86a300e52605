//! The tables of the reference, compared with the program.

use std::collections::{BTreeMap, BTreeSet};

use clap::{CommandFactory, Parser};
use halfspace::config::CommandLine;
use halfspace::http::codes::Code;
use halfspace::http::limits::Limits;
use halfspace_core::learners::catalogue::CATALOGUE;
use halfspace_core::learners::engine::entry::{DataKinds, DefaultStop, LearnerEntry};
use halfspace_core::learners::engine::parameters::{Parameter, ParameterKind};

use crate::service::contract::DOCUMENT;

use super::{files, page};

#[test]
fn the_table_of_learners_is_the_catalogue() {
    let rows = CATALOGUE.iter().map(|entry| learner_row(entry));
    expect_table(
        "docs/reference/learners.md",
        "| learner | learns | data | parameters (default) | guarantee |",
        rows,
    );
    let readme = page("README.md");
    assert!(readme.contains(&format!("**{} learners**", CATALOGUE.len())));
    for entry in CATALOGUE {
        let name = format!("`{}`", entry.name);
        let is_variant = matches!(
            entry.name,
            "directed-drift-async" | "amp" | "reinforced-amp"
        );
        assert!(is_variant || readme.contains(&name), "README.md: {name}");
    }
}

#[test]
fn the_table_of_default_limits_is_the_catalogue() {
    let rows = CATALOGUE.iter().map(|entry| {
        let confidence = "confidence 0.99 under `anytime`";
        let limits = match entry.default_stop {
            DefaultStop::Confidence => format!("{confidence} on fresh examples, and one pass"),
            DefaultStop::Passes(1) => "one pass".to_owned(),
            DefaultStop::Passes(passes) => format!("{passes} passes"),
            DefaultStop::PassesOrConfidence(passes) => {
                format!("{passes} passes, or {confidence} on an unlimited stream of fresh examples")
            }
            DefaultStop::Mistakes(mistakes) => format!("{mistakes} mistakes"),
            DefaultStop::Own => "limits of the learner itself".to_owned(),
        };
        let rules: Vec<_> = entry
            .confidence_rules
            .iter()
            .map(|rule| format!("`{}`", rule.name()))
            .collect();
        let rules = if rules.is_empty() {
            "none".to_owned()
        } else {
            rules.join(", ")
        };
        format!("| `{}` | {limits} | {rules} |", entry.name)
    });
    expect_table(
        "docs/reference/learners.md",
        "| learner | default limits | confidence rules |",
        rows,
    );
}

#[test]
fn the_table_of_settings_is_the_command_line() {
    let command = CommandLine::command();
    let arguments = command
        .get_arguments()
        .filter(|argument| argument.get_env().is_some());
    let rows: Vec<_> = arguments.map(setting_row).collect();
    assert!(rows.len() > 10);
    expect_table(
        "docs/reference/settings.md",
        "| flag | environment variable | default and values | meaning | set it when ... |",
        rows.into_iter(),
    );
    let page = page("docs/reference/settings.md");
    for command in command.get_subcommands() {
        let name = command.get_name();
        assert!(
            page.contains(&format!("| `{name}` |")),
            "settings.md: {name}"
        );
    }
}

#[test]
fn the_table_of_limits_is_the_answer() {
    let schema = &DOCUMENT["components"]["schemas"]["Limits"]["properties"];
    let defaults = serde_json::to_value(Limits::default().in_force()).unwrap();
    let command = CommandLine::command();
    let flags: BTreeSet<_> = command
        .get_arguments()
        .filter_map(clap::Arg::get_long)
        .collect();
    let defaults: BTreeMap<_, _> = defaults.as_object().unwrap().iter().collect();
    let rows = defaults.into_iter().map(|(name, default)| {
        let flag = name.replace('_', "-");
        let setting = match flags.contains(&*flag) {
            true => format!("`--{flag}`"),
            false if ["event_streams_max", "read_seconds_max"].contains(&name.as_str()) => {
                "derived".to_owned()
            }
            false => "fixed".to_owned(),
        };
        let default = match name.as_str() {
            "memory_bytes_max" => "from the machine".to_owned(),
            _ => default.to_string(),
        };
        let told = schema[name]["description"].as_str().expect("a meaning");
        let (meaning, reason) = told
            .split_once("\n\n")
            .unwrap_or_else(|| panic!("{name}: the doc comment gives no reason"));
        let [meaning, reason] = [meaning, reason].map(|text| text.replace('\n', " "));
        format!("| `{name}` | {default} | {setting} | {meaning} | {reason} |")
    });
    expect_table(
        "docs/reference/limits.md",
        "| limit | default | setting | meaning | reason |",
        rows,
    );
}

#[test]
fn the_table_of_problems_is_the_table_of_codes() {
    let mut codes = Code::ALL.to_vec();
    codes.sort_by_key(|code| (code.status(), code.name()));
    let rows = codes.iter().map(|code| {
        let (name, status) = (code.name(), code.status().as_u16());
        let (title, help) = (code.title(), code.help());
        format!("| `{name}` | {status} | {title}. | {help} |")
    });
    expect_table(
        "docs/reference/problems.md",
        "| code | status | meaning | remedy |",
        rows,
    );
}

/// The metrics of the program: the kind of each name.
fn metrics() -> BTreeMap<String, &'static str> {
    let mut found = BTreeMap::new();
    for source in files("src", "rs") {
        let text = page(&source);
        for kind in ["counter", "gauge", "histogram"] {
            for (at, call) in text.match_indices(&format!("{kind}!(")) {
                // `src/app/metrics.rs` describes the metrics with the rows of this page.
                if text[..at].ends_with("describe_") {
                    continue;
                }
                let argument = text[at + call.len()..].trim_start();
                let name = argument
                    .strip_prefix('"')
                    .and_then(|rest| rest.split('"').next());
                let name =
                    name.unwrap_or_else(|| panic!("{source}: a metric without a literal name"));
                let before = found.insert(name.to_owned(), kind);
                assert!(before.is_none_or(|before| before == kind), "{name}");
            }
        }
    }
    found
}

#[test]
fn the_page_of_metrics_lists_every_metric() {
    let page = page("docs/reference/metrics.md");
    let rows = page
        .lines()
        .filter(|line| line.starts_with("| `halfspace_"));
    let mut listed = BTreeMap::new();
    for row in rows {
        let cells: Vec<_> = row.split(" | ").collect();
        let name = cells[0].trim_start_matches("| ").trim_matches('`');
        let columns = row.trim_matches('|').split('|').count();
        assert_eq!(columns, 6, "{name}: who looks at it, and when?");
        let before = listed.insert(name.to_owned(), cells[1]);
        assert!(before.is_none(), "{name} stands there twice");
    }
    let metrics = metrics();
    assert!(metrics.len() > 20, "{metrics:?}");
    assert_eq!(listed, metrics);
}

#[test]
fn the_guide_explains_every_reason_of_a_wait() {
    let schemas = &DOCUMENT["components"]["schemas"];
    let described = &schemas["QueuePlace"]["properties"]["waits_for"]["description"];
    let reasons = schemas["WaitsFor"]["enum"]
        .as_array()
        .expect("an enumeration");
    let page = page("docs/how-to/jobs.md");
    for reason in reasons {
        let name = format!("`{}`", reason.as_str().expect("a word"));
        assert!(
            described.as_str().expect("a text").contains(&name),
            "{name}"
        );
        assert!(page.contains(&format!("| {name} |")), "{name}");
    }
}

/// Asserts that a page holds exactly this table.
fn expect_table(path: &str, head: &str, rows: impl Iterator<Item = String>) {
    let columns = head.matches('|').count() - 1;
    let rule = format!("|{}", "---|".repeat(columns));
    let mut table = format!("{head}\n{rule}\n");
    for row in rows {
        table.push_str(&row);
        table.push('\n');
    }
    let table = format!("\n\n{table}\n");
    assert!(
        page(path).contains(&table),
        "{path} should have this table:{table}"
    );
}

fn learner_row(entry: &LearnerEntry) -> String {
    let parameters: Vec<_> = entry.parameters.iter().map(parameter).collect();
    let cells = [
        format!("`{}`", entry.name),
        entry.learns.to_owned(),
        data(entry.data),
        parameters.join(", "),
        format!("{}: {}", entry.guarantee.theorem, entry.guarantee.bound),
    ];
    let cells = cells.map(|cell| cell.replace('|', "\\|"));
    format!("| {} |", cells.join(" | "))
}

fn data(kinds: DataKinds) -> String {
    let labels = match (kinds.half_space, kinds.labelled) {
        (true, true) => "half-space or labelled",
        (true, false) => "half-space",
        _ => "labelled",
    };
    let features = if kinds.real {
        "Boolean or real"
    } else {
        "Boolean"
    };
    let names = if kinds.names.is_some() { "; names" } else { "" };
    format!("{labels}; {features}{names}")
}

fn parameter(parameter: &Parameter) -> String {
    let default = match &parameter.kind {
        ParameterKind::Flag { default } => default.to_string(),
        ParameterKind::Choice { options, default } => {
            let others = options.iter().filter(|option| *option != default);
            let others: Vec<_> = others.map(|option| format!("or {option}")).collect();
            format!("{default}, {}", others.join(" "))
        }
        ParameterKind::Number { default, .. }
        | ParameterKind::Weights { default, .. }
        | ParameterKind::Factor { default } => default.to_string(),
        ParameterKind::Count { default, .. } | ParameterKind::Decimal { default } => {
            (*default).to_owned()
        }
        ParameterKind::Bits => "random".to_owned(),
    };
    format!("`{}` ({default})", parameter.name)
}

fn setting_row(argument: &clap::Arg) -> String {
    let flag = argument.get_long().expect("every setting is a flag");
    let variable = argument.get_env().expect("and a variable");
    let defaults = argument.get_default_values().iter();
    let defaults: Vec<_> = defaults.map(|value| value.to_string_lossy()).collect();
    let default = defaults.join(",");
    let default = match default.as_str() {
        "" => "none".to_owned(),
        _ => format!("`{default}`"),
    };
    let values = values(argument).map_or_else(String::new, |values| format!("; {values}"));
    let meaning = argument.get_help().expect("and explained").to_string();
    let whole = argument.get_long_help().unwrap_or_default().to_string();
    let advice = whole.split("\n\n").find(|told| told.starts_with("Set it"));
    let advice = advice.unwrap_or_else(|| {
        panic!("--{flag}: the doc comment has no paragraph \"Set it when ...\", so nobody needs it")
    });
    let variable = variable.to_string_lossy();
    format!("| `--{flag}` | `{variable}` | {default}{values} | {meaning} | {advice} |")
}

/// The values that a setting takes, if they are words or numbers of a range.
fn values(argument: &clap::Arg) -> Option<String> {
    let words = argument.get_possible_values();
    if !words.is_empty() {
        let words: Vec<_> = words
            .iter()
            .map(|word| format!("`{}`", word.get_name()))
            .collect();
        return Some(words.join(", "));
    }
    let flag = argument.get_long().unwrap_or_default();
    let accepts = |number: u64| {
        let setting = format!("--{flag}={number}");
        CommandLine::try_parse_from(["halfspace", &setting]).is_ok()
    };
    // Texts and addresses take no number, or any.
    let some = [2, 1 << 27].into_iter().find(|&number| accepts(number))?;
    if accepts(u64::MAX) {
        return None;
    }
    let (mut above, mut below) = (some, u64::MAX);
    while below - above > 1 {
        let middle = above + (below - above) / 2;
        *(if accepts(middle) {
            &mut above
        } else {
            &mut below
        }) = middle;
    }
    let least = (0..=2).find(|&number| accepts(number)).unwrap_or(some);
    let fraction = format!("--{flag}=0.5");
    let least = match CommandLine::try_parse_from(["halfspace", &fraction]) {
        Ok(_) => "above 0".to_owned(),
        Err(_) => least.to_string(),
    };
    let most = match above.is_power_of_two() && above > 1 << 32 {
        true => format!("2^{}", above.ilog2()),
        false => above.to_string(),
    };
    Some(format!("{least} to {most}"))
}
