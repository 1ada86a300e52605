//! The settings of earlier versions. An operator who still sets one learns what became of it, instead of running with
//! another value than the one in the Compose file or chart.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The flag of each, and what holds now as the end of a sentence.
const REMOVED: [(&str, &str); 17] = [
    (
        "--kernels",
        "the processor determines the kernels, and all kernels give the same results",
    ),
    (
        "--aws-allow-http",
        "http:// in AWS_ENDPOINT_URL permits an unencrypted connection",
    ),
    ("--n-max", "n is at most 1,048,576"),
    (
        "--json-body-bytes-max",
        "a JSON body has at most 256 MiB after decompression",
    ),
    (
        "--decompression-ratio-max",
        "a body of more than 16 MiB expands to at most 1,000 times its size",
    ),
    (
        "--decompressed-bytes-free",
        "a body may expand to 16 MiB at any ratio",
    ),
    (
        "--stored-ratio-max",
        "a dataset of more than 64 MiB has at most 1,000 stored bytes per byte of its body",
    ),
    (
        "--stored-bytes-free",
        "a dataset may have 64 MiB at any ratio to its body",
    ),
    ("--json-depth-max", "JSON nests at most 32 levels deep"),
    ("--line-bytes-max", "a line has at most 32 MiB"),
    (
        "--dataset-bytes-max",
        "--body-bytes-max limits the stored examples of a body too",
    ),
    (
        "--upload-memory-bytes-max",
        "an upload holds 16 MiB of examples in memory, and the others go to disk",
    ),
    (
        "--event-streams-max",
        "event streams get a quarter of --connections-max",
    ),
    (
        "--event-streams-per-key-max",
        "a key holds at most half of the event streams, which are a quarter of --connections-max",
    ),
    (
        "--session-idle-seconds",
        "a stream into a session ends after 30 seconds without data",
    ),
    (
        "--read-seconds-max",
        "reading a body takes at most a second of computing per 32 MiB of --body-bytes-max",
    ),
    (
        "--experiment-seconds-max",
        "--parts-seconds-max limits experiments, grids and comparisons",
    ),
];

/// The environment variable of a flag.
fn variable_of(flag: &str) -> String {
    let name = flag
        .trim_start_matches("--")
        .replace('-', "_")
        .to_uppercase();
    match name.starts_with("AWS_") {
        true => name,
        false => format!("HALFSPACE_{name}"),
    }
}

/// What became of the first variable that was a setting once.
pub fn removed_variable(names: &[String]) -> Option<String> {
    REMOVED.iter().find_map(|(flag, now)| {
        let variable = variable_of(flag);
        let is_set = names.contains(&variable);
        is_set.then(|| format!("{variable} was removed: {now}"))
    })
}

/// What became of the flag that the command line does not know.
pub fn removed_flag(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let (flag, now) = REMOVED.iter().find(|(flag, _)| given == flag)?;
    Some(format!("{flag} was removed: {now}"))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::config::CommandLine;

    #[test]
    fn a_removed_flag_says_what_holds_now() {
        for (flag, now) in REMOVED {
            let joined = format!("{flag}=1");
            for line in [
                ["halfspace", flag, "1"],
                ["halfspace", "serve", &joined],
                ["halfspace", &joined, "migrate"],
            ] {
                let error = CommandLine::try_parse_from(line).expect_err(flag);
                let told = removed_flag(&error).unwrap_or_default();
                assert_eq!(told, format!("{flag} was removed: {now}"));
            }
        }
        for line in [["halfspace", "--n-mox=1"], ["halfspace", "--workers=0"]] {
            let error = CommandLine::try_parse_from(line).expect_err("unknown");
            assert_eq!(removed_flag(&error), None);
        }
    }

    #[test]
    fn a_removed_variable_says_what_holds_now() {
        for (flag, now) in REMOVED {
            let variable = variable_of(flag);
            let names = ["PATH".to_owned(), variable.clone()];
            let told = removed_variable(&names).unwrap_or_default();
            assert_eq!(told, format!("{variable} was removed: {now}"));
        }
        assert_eq!(variable_of("--n-max"), "HALFSPACE_N_MAX");
        assert_eq!(variable_of("--aws-allow-http"), "AWS_ALLOW_HTTP");
        assert_eq!(removed_variable(&["HALFSPACE_LISTEN".to_owned()]), None);
    }

    #[test]
    fn no_removed_setting_exists() {
        let command = CommandLine::command();
        for argument in command.get_arguments() {
            let flag = argument.get_long().map(|long| format!("--{long}"));
            let variable = argument.get_env().and_then(|variable| variable.to_str());
            let is_known = |(removed, _): &(&str, &str)| {
                flag.as_deref() == Some(*removed)
                    || variable.is_some_and(|variable| variable == variable_of(removed))
            };
            assert!(!REMOVED.iter().any(is_known), "{flag:?}");
        }
    }
}
