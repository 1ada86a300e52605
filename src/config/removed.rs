//! The settings of earlier versions. An operator who still sets one learns what became of it, instead of running with
//! another value than the one in the Compose file or chart.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// A setting that no longer exists.
struct Removed {
    flag: &'static str,
    variable: &'static str,
    /// What holds now, as the end of a sentence.
    now: &'static str,
}

const fn removed(flag: &'static str, variable: &'static str, now: &'static str) -> Removed {
    Removed {
        flag,
        variable,
        now,
    }
}

const REMOVED: [Removed; 16] = [
    removed(
        "--kernels",
        "HALFSPACE_KERNELS",
        "the processor determines the kernels, and all kernels give the same results",
    ),
    removed(
        "--aws-allow-http",
        "AWS_ALLOW_HTTP",
        "http:// in AWS_ENDPOINT_URL permits an unencrypted connection",
    ),
    removed("--n-max", "HALFSPACE_N_MAX", "n is at most 1,048,576"),
    removed(
        "--json-body-bytes-max",
        "HALFSPACE_JSON_BODY_BYTES_MAX",
        "a JSON body has at most 256 MiB after decompression",
    ),
    removed(
        "--decompression-ratio-max",
        "HALFSPACE_DECOMPRESSION_RATIO_MAX",
        "a body of more than 16 MiB expands to at most 1,000 times its size",
    ),
    removed(
        "--decompressed-bytes-free",
        "HALFSPACE_DECOMPRESSED_BYTES_FREE",
        "a body may expand to 16 MiB at any ratio",
    ),
    removed(
        "--stored-ratio-max",
        "HALFSPACE_STORED_RATIO_MAX",
        "a dataset of more than 64 MiB has at most 1,000 stored bytes per byte of its body",
    ),
    removed(
        "--stored-bytes-free",
        "HALFSPACE_STORED_BYTES_FREE",
        "a dataset may have 64 MiB at any ratio to its body",
    ),
    removed(
        "--json-depth-max",
        "HALFSPACE_JSON_DEPTH_MAX",
        "JSON nests at most 32 levels deep",
    ),
    removed(
        "--line-bytes-max",
        "HALFSPACE_LINE_BYTES_MAX",
        "a line has at most 32 MiB",
    ),
    removed(
        "--dataset-bytes-max",
        "HALFSPACE_DATASET_BYTES_MAX",
        "--body-bytes-max limits the stored examples of a body too",
    ),
    removed(
        "--upload-memory-bytes-max",
        "HALFSPACE_UPLOAD_MEMORY_BYTES_MAX",
        "an upload holds 16 MiB of examples in memory, and the others go to disk",
    ),
    removed(
        "--event-streams-max",
        "HALFSPACE_EVENT_STREAMS_MAX",
        "event streams get a quarter of --connections-max",
    ),
    removed(
        "--event-streams-per-key-max",
        "HALFSPACE_EVENT_STREAMS_PER_KEY_MAX",
        "a key holds at most half of the event streams, which are a quarter of --connections-max",
    ),
    removed(
        "--session-idle-seconds",
        "HALFSPACE_SESSION_IDLE_SECONDS",
        "a stream into a session ends after 30 seconds without data",
    ),
    removed(
        "--read-seconds-max",
        "HALFSPACE_READ_SECONDS_MAX",
        "reading a body takes at most a second of computing per 32 MiB of --body-bytes-max",
    ),
];

/// What became of the first variable that was a setting once.
pub fn removed_variable(names: &[String]) -> Option<String> {
    let mut of_settings = REMOVED.iter();
    let removed = of_settings.find(|removed| names.iter().any(|name| name == removed.variable))?;
    Some(format!("{} was removed: {}", removed.variable, removed.now))
}

/// What became of the flag that the command line does not know.
pub fn removed_flag(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let removed = REMOVED.iter().find(|removed| given == removed.flag)?;
    Some(format!("{} was removed: {}", removed.flag, removed.now))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::config::CommandLine;

    #[test]
    fn a_removed_flag_says_what_holds_now() {
        for Removed { flag, now, .. } in REMOVED {
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
        for Removed { variable, now, .. } in REMOVED {
            let names = ["PATH", variable].map(str::to_owned);
            let told = removed_variable(&names).unwrap_or_default();
            assert_eq!(told, format!("{variable} was removed: {now}"));
        }
        assert_eq!(removed_variable(&["HALFSPACE_LISTEN".to_owned()]), None);
    }

    #[test]
    fn no_removed_setting_exists() {
        let command = CommandLine::command();
        for argument in command.get_arguments() {
            let flag = argument.get_long().map(|long| format!("--{long}"));
            let variable = argument.get_env().and_then(|variable| variable.to_str());
            let is_removed = |removed: &Removed| {
                flag.as_deref() == Some(removed.flag) || variable == Some(removed.variable)
            };
            assert!(!REMOVED.iter().any(is_removed), "{flag:?}");
        }
    }
}
