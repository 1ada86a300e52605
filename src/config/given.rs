//! The command line as an operator gives it: flags before variables and files of secrets, the origin of each value,
//! and a check for unknown variables.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};

use clap::builder::Resettable;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, Id};

use super::secret_files::{file_of, names_secret_file, not_a_secret, with_secret_files};
use super::{CommandLine, LogFormat};

/// The command line for these arguments, with secrets read from their files. `variable` reads the environment. A
/// setting that the arguments give consults neither its variable nor its file, so an unusable value there does no
/// harm. Only `serve` lists the settings in its help; the other commands list their own options.
///
/// # Errors
/// The fault of a file with a secret, and the variable that names the file.
pub fn command_line(
    arguments: &[String],
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Command, String> {
    let mut command = CommandLine::command();
    let first = without_variables(command.clone(), &|_| true).ignore_errors(true);
    if let Ok(given) = first.try_get_matches_from(arguments) {
        let flags = self::flags(&given);
        command = without_variables(command, &|id| flags.contains(id));
        if !matches!(given.subcommand_name(), Some("healthcheck" | "openapi")) {
            command = with_secret_files(command, &given, &flags, variable)?;
        }
    }
    // The settings become arguments of the commands.
    command.build();
    Ok(command.mut_subcommands(|command| match command.get_name() {
        "serve" => command,
        _ => with_own_options(command),
    }))
}

fn with_own_options(command: Command) -> Command {
    command
        .mut_args(|argument| match argument.is_global_set() {
            true => argument.hide(true),
            false => argument,
        })
        .mut_subcommands(with_own_options)
        .after_help("The settings of the service apply too: see halfspace --help.")
}

/// The settings from the command line, the environment and the files of secrets, as `--flag=value`. For a secret only
/// the flag appears.
pub fn given_settings(command: &Command, matches: &ArgMatches) -> Vec<String> {
    let given = command.get_arguments().filter(|argument| {
        let is_secret_of_file = file_of(argument).is_some();
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

/// The settings and options that the command line gives as flags, at any place of the line.
fn flags(matches: &ArgMatches) -> HashSet<Id> {
    let is_flag = |id: &&Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
    let mut flags: HashSet<_> = matches.ids().filter(is_flag).cloned().collect();
    if let Some((_, matches)) = matches.subcommand() {
        flags.extend(self::flags(matches));
    }
    flags
}

/// The command line without the variables of some settings. clap would parse the variable of a setting although a flag
/// stands on the other side of the command.
fn without_variables(command: Command, is_without: &dyn Fn(&Id) -> bool) -> Command {
    let command = command.mut_args(|argument| match is_without(argument.get_id()) {
        true => argument.env(Resettable::Reset),
        false => argument,
    });
    command.mut_subcommands(|command| without_variables(command, is_without))
}

/// An error with the origin of each setting that it names: its flag, and the variable or file that gave the value.
/// Flags that the error names itself are not repeated, and defaults have no origin to tell.
pub fn with_sources(error: &str, command: &Command, matches: &ArgMatches) -> String {
    let mut told = error.to_owned();
    // A setting that has a flag has lost its variable in `command`.
    let pristine = CommandLine::command();
    let named = pristine.get_subcommands().chain([&pristine]);
    let variables: HashMap<_, _> = named
        .flat_map(Command::get_arguments)
        .filter_map(|argument| Some((argument.get_id(), variable_of(argument)?)))
        .collect();
    let is_named = |name: &str| {
        error.match_indices(name).any(|(at, _)| {
            let next = error[at + name.len()..].chars().next();
            next.is_none_or(|next| !next.is_ascii_alphanumeric() && next != '-' && next != '_')
        })
    };
    let (chosen, inner) = matches.subcommand().unwrap_or(("", matches));
    let own = command.find_subcommand(chosen);
    let own = own.into_iter().flat_map(Command::get_arguments);
    let own = own.filter(|argument| !argument.is_global_set());
    let all = command.get_arguments().map(|argument| (argument, matches));
    for (argument, matches) in all.chain(own.map(|argument| (argument, inner))) {
        let variable = variables.get(argument.get_id()).copied();
        let (Some(flag), Some(variable)) = (argument.get_long(), variable) else {
            continue;
        };
        let is_flag_named = is_named(&format!("--{flag}"));
        if !is_flag_named && !is_named(variable) {
            continue;
        }
        let id = argument.get_id().as_str();
        let source = matches.try_get_raw(id).ok().and(matches.value_source(id));
        let place = match (source, file_of(argument)) {
            (Some(ValueSource::CommandLine), _) if !is_flag_named => "the command line".to_owned(),
            (Some(ValueSource::EnvVariable), _) => variable.to_owned(),
            (Some(ValueSource::DefaultValue), Some(file)) => format!("the file that {file} names"),
            _ => continue,
        };
        told.push_str(&format!(" (--{flag} comes from {place})"));
    }
    told
}

fn variable_of(argument: &Arg) -> Option<&str> {
    argument.get_env()?.to_str()
}

/// Whether the address to listen on comes from the command line, and not from the environment or the default.
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

/// The fault of the first environment variable that has the prefix of the settings but belongs to none.
pub fn unknown_variable(names: impl IntoIterator<Item = String>) -> Option<String> {
    let command = CommandLine::command();
    let commands = command.get_subcommands().chain([&command]);
    let known: Vec<_> = commands
        .flat_map(Command::get_arguments)
        .filter_map(variable_of)
        .collect();
    let mut names = names.into_iter();
    names.find_map(|name| {
        if known.contains(&&*name) || names_secret_file(&command, &name) {
            return None;
        }
        if let Some(setting) = not_a_secret(&name, &known) {
            return Some(format!(
                "{name} names a file, but only secrets come from files; set {setting} itself"
            ));
        }
        let is_setting = name.starts_with("HALFSPACE_");
        is_setting.then(|| format!("unknown setting {name}; see halfspace --help"))
    })
}
