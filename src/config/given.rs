//! The settings that were given, as opposed to defaults.

use std::ffi::OsStr;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory};

use super::{CommandLine, LogFormat};

/// The settings that the command line or the environment gives, as `--flag=value`; of a secret, the flag
/// alone.
pub fn given_settings(matches: &ArgMatches) -> Vec<String> {
    let command = CommandLine::command();
    let given = command.get_arguments().filter(|argument| {
        let source = matches.value_source(argument.get_id().as_str());
        source.is_some_and(|source| source != ValueSource::DefaultValue)
    });
    let told = given.filter_map(|argument| {
        let flag = argument.get_long()?;
        let values = matches.get_raw(argument.get_id().as_str())?;
        let values: Vec<_> = values.map(OsStr::to_string_lossy).collect();
        Some(match argument.is_hide_env_values_set() {
            true => format!("--{flag}"),
            false => format!("--{flag}={}", values.join(",")),
        })
    });
    told.collect()
}

/// Whether the command line itself, and not the environment or a default, says where to listen.
pub fn names_listen(matches: &ArgMatches) -> bool {
    matches.value_source("listen") == Some(ValueSource::CommandLine)
}

/// The form of errors that come before the settings are read.
pub fn early_log_format(arguments: &[String], variable: Option<&str>) -> LogFormat {
    let flag = arguments
        .windows(2)
        .any(|two| two == ["--log-format", "json"]);
    let joined = arguments.iter().any(|one| one == "--log-format=json");
    match flag || joined || variable == Some("json") {
        true => LogFormat::Json,
        false => LogFormat::Text,
    }
}

/// The first environment variable that looks like a setting and is none, of those given.
pub fn unknown_variable(names: impl IntoIterator<Item = String>) -> Option<String> {
    let command = CommandLine::command();
    let known: Vec<_> = command
        .get_arguments()
        .filter_map(|argument| argument.get_env())
        .collect();
    let mut names = names.into_iter();
    names.find(|name| name.starts_with("HALFSPACE_") && !known.iter().any(|k| *k == name.as_str()))
}
