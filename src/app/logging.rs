//! The log of the process. All lines have the same format from the start to the end of the process.

use std::io::IsTerminal;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{LogFormat, Settings};

/// Starts logging to standard error with the level and the format of the settings.
///
/// # Errors
/// The directives of `--log` are invalid.
pub fn log_to_stderr(settings: &Settings) -> Result<(), String> {
    let filter = settings.log.parse::<Targets>();
    let filter = filter.map_err(|error| format!("--log {}: {error}", settings.log))?;
    let mut lines = fmt::layer().with_writer(std::io::stderr);
    if !std::io::stderr().is_terminal() {
        lines.set_ansi(false);
    }
    let filtered = tracing_subscriber::registry().with(filter);
    match settings.log_format {
        LogFormat::Text => filtered.with(lines).init(),
        LogFormat::Json => {
            filtered.with(lines.json()).init();
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
