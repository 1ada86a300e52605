//! The log of the process, in one form from the first line to the last.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, Settings};

/// Writes the log to the standard error, as the settings say.
///
/// # Errors
/// Directives that `--log` does not understand.
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
            // A panic is a line of the log, and not three of plain text.
            std::panic::set_hook(Box::new(|panic| tracing::error!(%panic, "a defect")));
        }
    }
    Ok(())
}

/// Writes the error that ends the process, as JSON where the log is JSON. The level of the log does not
/// hold for it.
pub fn tell_fatal(format: LogFormat, error: &str) {
    match format {
        LogFormat::Text => eprintln!("error: {error}"),
        LogFormat::Json => {
            let subscriber = tracing_subscriber::fmt()
                .json()
                .with_writer(std::io::stderr)
                .finish();
            tracing::subscriber::with_default(subscriber, || {
                tracing::error!(error, "the process ends");
            });
        }
    }
}
