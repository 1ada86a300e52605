//! The settings that an operator has set, as opposed to defaults, and a check for unknown variables.

use std::ffi::OsStr;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory};

use super::secret_files::names_secret_file;
use super::{CommandLine, LogFormat};

/// The settings from the command line, the environment and the files of secrets, as `--flag=value`. A secret setting
/// appears without its value.
pub fn given_settings(command: &Command, matches: &ArgMatches) -> Vec<String> {
    let given = command.get_arguments().filter(|argument| {
        // A file gives its secret as a hidden default.
        let is_secret_of_file =
            argument.is_hide_env_values_set() && argument.is_hide_default_value_set();
        let source = matches.value_source(argument.get_id().as_str());
        source.is_some_and(|source| source != ValueSource::DefaultValue || is_secret_of_file)
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

/// Whether the command line gives the address to listen on. The environment and the default do not count.
pub fn names_listen(matches: &ArgMatches) -> bool {
    matches.value_source("listen") == Some(ValueSource::CommandLine)
}

/// The log format for errors that occur before the settings are parsed.
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

/// The first environment variable with the prefix of a setting that is not a setting.
pub fn unknown_variable(names: impl IntoIterator<Item = String>) -> Option<String> {
    let command = CommandLine::command();
    let commands = command.get_subcommands().chain([&command]);
    let known: Vec<_> = commands
        .flat_map(|command| command.get_arguments())
        .filter_map(|argument| argument.get_env())
        .collect();
    let mut names = names.into_iter();
    names.find(|name| {
        name.starts_with("HALFSPACE_")
            && !known.iter().any(|k| *k == name.as_str())
            && !names_secret_file(&command, name)
    })
}
