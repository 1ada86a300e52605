//! Secrets from files. Container platforms mount secrets as files, so for each secret setting `NAME` the variable
//! `NAME_FILE` may name a file with its value.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, Id};

/// Ending of a variable that names a file.
const ENDING: &str = "_FILE";

/// The longest secret, in bytes.
const SECRET_BYTES_MAX: u64 = 64 << 10;

/// Gives each secret setting the value of its file. The `flags` of the command line `given` take precedence: the
/// files of these settings are not read.
///
/// # Errors
/// A file is unreadable, empty or too long, or the secret is set by its own variable as well. The error names the
/// variable.
pub fn with_secret_files(
    mut command: Command,
    given: &ArgMatches,
    flags: &HashSet<Id>,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Command, String> {
    let secrets: Vec<_> = command
        .get_arguments()
        .filter(|argument| argument.is_hide_env_values_set())
        .filter_map(|argument| {
            Some((
                argument.get_id().clone(),
                argument.get_env()?.to_str()?.to_owned(),
            ))
        })
        .collect();
    for (id, name) in secrets {
        let named = format!("{name}{ENDING}");
        if flags.contains(&id) {
            continue;
        }
        let Some(path) = variable(&named).map(PathBuf::from) else {
            continue;
        };
        if variable(&name).is_some() {
            return Err(format!("{name} and {named} are both set; set one of them"));
        }
        let value = secret(&path).map_err(|why| format!("{named}: {}: {why}", path.display()))?;
        // The value is a default that the help does not show, so the command line still has precedence.
        command = command.mut_arg(id, |argument| {
            argument.default_value(value).hide_default_value(true)
        });
    }
    let (chosen, given) = given.subcommand().unwrap_or(("", given));
    for subcommand in command.get_subcommands_mut() {
        if subcommand.get_name() == chosen {
            *subcommand = with_secret_files(std::mem::take(subcommand), given, flags, variable)?;
        }
    }
    Ok(command)
}

/// The variable that names the file of a secret, if the secret came from there. The sign of that is a hidden default.
pub fn file_of(argument: &Arg) -> Option<String> {
    let is_of_file = argument.is_hide_env_values_set() && argument.is_hide_default_value_set();
    let name = argument.get_env().filter(|_| is_of_file)?.to_str()?;
    Some(format!("{name}{ENDING}"))
}

/// The setting's own variable, for a variable that names a file although only secrets come from files. The caller has
/// ruled out [`names_secret_file`].
pub fn not_a_secret<'n>(variable: &'n str, known: &[&str]) -> Option<&'n str> {
    let name = variable.strip_suffix(ENDING)?;
    known.contains(&name).then_some(name)
}

/// Whether a variable names the file of a secret.
pub fn names_secret_file(command: &Command, variable: &str) -> bool {
    let Some(name) = variable.strip_suffix(ENDING) else {
        return false;
    };
    let commands = command.get_subcommands().chain([command]);
    let mut arguments = commands.flat_map(Command::get_arguments);
    arguments.any(|argument| {
        argument.is_hide_env_values_set() && argument.get_env().is_some_and(|env| env == name)
    })
}

/// The content of a file without the newline at its end.
fn secret(path: &Path) -> Result<String, String> {
    let told = |error: io::Error| error.to_string();
    let mut text = String::new();
    let mut file = File::open(path).map_err(told)?.take(SECRET_BYTES_MAX + 1);
    file.read_to_string(&mut text).map_err(told)?;
    if text.len() as u64 > SECRET_BYTES_MAX {
        return Err(format!("the file has more than {SECRET_BYTES_MAX} bytes"));
    }
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err("the file is empty".to_owned()),
        value => Ok(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;
    use crate::config::given::{command_line, given_settings};
    use crate::config::{CommandLine, Settings};

    fn read(line: &[&str], variables: &[(&str, &Path)]) -> Result<(Settings, Vec<String>), String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, path)| path.as_os_str().to_owned())
        };
        let arguments: Vec<String> = line.iter().map(|&part| part.to_owned()).collect();
        let mut command = command_line(&arguments, &variable)?;
        let matches = command
            .try_get_matches_from_mut(line)
            .map_err(|error| error.to_string())?;
        let parsed = CommandLine::from_arg_matches(&matches).map_err(|error| error.to_string())?;
        Ok((parsed.settings, given_settings(&command, &matches)))
    }

    #[test]
    fn secret_file_gives_its_text_without_the_newline() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("url");
        for ending in ["", "\n", "\r\n"] {
            std::fs::write(
                &path,
                format!("postgres://ada:s3cret@db.example/half{ending}"),
            )
            .unwrap();
            let (settings, given) =
                read(&["halfspace"], &[("HALFSPACE_DATABASE_URL_FILE", &path)]).unwrap();
            assert_eq!(
                settings.database_url.to_string(),
                "postgres://ada@db.example:5432/half"
            );
            assert_eq!(given, ["--database-url"]);
        }
        let absent = directory.path().join("absent");
        for path in [&path, &absent] {
            for line in [
                ["halfspace", "--database-url", "sqlite"].as_slice(),
                &["halfspace", "serve", "--database-url", "sqlite"],
            ] {
                let (settings, _) = read(line, &[("HALFSPACE_DATABASE_URL_FILE", path)]).unwrap();
                assert_eq!(settings.database_url.to_string(), "sqlite");
            }
        }
    }

    #[test]
    fn healthcheck_and_openapi_read_no_secret_file() {
        let absent = Path::new("/absent");
        for command in ["healthcheck", "openapi"] {
            assert!(read(&["halfspace", command], &[("PGPASSWORD_FILE", absent)]).is_ok());
        }
        assert!(read(&["halfspace", "migrate"], &[("PGPASSWORD_FILE", absent)]).is_err());
    }

    #[test]
    fn errors_name_a_missing_empty_or_too_long_secret_file() {
        let directory = tempfile::tempdir().unwrap();
        let [empty, absent, long] =
            ["empty", "absent", "long"].map(|name| directory.path().join(name));
        std::fs::write(&empty, "\n").unwrap();
        std::fs::write(&long, "s".repeat(SECRET_BYTES_MAX as usize + 1)).unwrap();
        for (variables, told) in [
            (
                vec![("AWS_SECRET_ACCESS_KEY_FILE", &*empty)],
                "AWS_SECRET_ACCESS_KEY_FILE",
            ),
            (vec![("PGPASSWORD_FILE", &*absent)], "PGPASSWORD_FILE"),
            (vec![("HALFSPACE_KEY_FILE", &*absent)], "HALFSPACE_KEY_FILE"),
            (vec![("PGPASSWORD_FILE", &*long)], "more than 65536 bytes"),
            (
                vec![("PGPASSWORD_FILE", &*empty), ("PGPASSWORD", &*empty)],
                "PGPASSWORD and PGPASSWORD_FILE",
            ),
        ] {
            let error = read(&["halfspace", "train"], &variables).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn help_shows_no_secret_of_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        std::fs::write(&path, "s3cret").unwrap();
        let variable = |name: &str| {
            name.ends_with(ENDING)
                .then(|| path.clone().into_os_string())
        };
        let line = ["halfspace", "train"].map(String::from);
        let mut command = command_line(&line, &variable).unwrap();
        assert!(!command.render_long_help().to_string().contains("s3cret"));
        let train = command.find_subcommand_mut("train").unwrap();
        assert!(!train.render_long_help().to_string().contains("s3cret"));
    }

    #[test]
    fn only_secret_variables_accept_a_file() {
        let command = command_line(&[], &|_| None).unwrap();
        for (variable, is_secret) in [
            ("HALFSPACE_DATABASE_URL_FILE", true),
            ("HALFSPACE_KEY_FILE", true),
            ("HALFSPACE_LISTEN_FILE", false),
            ("HALFSPACE_DATABASE_URL", false),
        ] {
            assert_eq!(
                names_secret_file(&command, variable),
                is_secret,
                "{variable}"
            );
        }
    }
}
