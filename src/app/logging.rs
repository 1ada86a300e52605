//! The log of the process. All lines have the same format from the start to the end of the process.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, Settings};

/// Starts logging to standard error with the level and the format of the settings.
///
/// # Errors
/// The directives of `--log` are invalid.
pub fn log_to_stderr(settings: &Settings) -> Result<(), String> {
    let filter = EnvFilter::try_new(&settings.log);
    let filter = filter.map_err(|error| format!("--log {}: {error}", settings.log))?;
    let mut builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    if !std::io::stderr().is_terminal() {
        builder = builder.with_ansi(false);
    }
    match settings.log_format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => {
            builder.json().init();
            // The log of a panic is one JSON line instead of three lines of plain text.
            std::panic::set_hook(Box::new(|panic| tracing::error!(%panic, "a defect")));
        }
    }
    Ok(())
}

/// Writes the error that ends the process, as JSON if the log is JSON. The log level does not suppress this
/// error.
pub fn tell_fatal(format: LogFormat, error: &str) {
    match format {
        LogFormat::Text => eprintln!("error: {error}"),
        LogFormat::Json => {
            let subscriber = tracing_subscriber::fmt()
                .json()
                .with_writer(std::io::stderr)
                .finish();
            tracing::subscriber::with_default(subscriber, || {
                tracing::error!(error, "the process stops after a panic");
            });
        }
    }
}
