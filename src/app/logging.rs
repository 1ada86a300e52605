//! The log of the process, in one format from the first line to the last.

use std::io::IsTerminal;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::app::terminal::Shown;
use crate::config::{LogFormat, Settings};
use crate::traces::{self, SpanExport};

/// Starts logging to standard error at the level and in the format of the settings, and starts the export of spans if
/// `--otlp-endpoint` is given.
///
/// # Errors
/// The directives of `--log` or the endpoint are invalid.
pub fn log_to_stderr(settings: &Settings) -> Result<Option<SpanExport>, String> {
    let filter = settings.log.parse::<Targets>();
    let filter = filter.map_err(|error| format!("--log {}: {error}", settings.log))?;
    // Spans go to the collector alone.
    let filter = filter.with_target(traces::TARGET, LevelFilter::OFF);
    let mut lines = fmt::layer().with_writer(std::io::stderr);
    if !std::io::stderr().is_terminal() {
        lines.set_ansi(false);
    }
    let export = span_export(settings)?;
    let spans = Targets::new().with_target(traces::TARGET, LevelFilter::INFO);
    let exported = export.as_ref().map(SpanExport::layer);
    let subscriber = tracing_subscriber::registry().with(exported.with_filter(spans));
    match settings.log_format {
        LogFormat::Text => subscriber.with(lines.with_filter(filter)).init(),
        LogFormat::Json => {
            subscriber.with(lines.json().with_filter(filter)).init();
            // The log of a panic is one JSON line instead of three lines of plain text.
            std::panic::set_hook(Box::new(|panic| tracing::error!(%panic, "a defect")));
        }
    }
    Ok(export)
}

fn span_export(settings: &Settings) -> Result<Option<SpanExport>, String> {
    let endpoint = settings.otlp_endpoint.as_deref();
    let endpoint = endpoint.filter(|endpoint| !endpoint.is_empty());
    let started = endpoint.map(SpanExport::start).transpose();
    started.map_err(|error| format!("--otlp-endpoint: {error}"))
}

/// Writes the error that ends the process, as JSON if the log is JSON and whatever the log level is.
pub fn tell_fatal(format: LogFormat, error: &str) {
    match format {
        LogFormat::Text => {
            // Nobody is left to tell that standard error is closed.
            let _ = writeln!(Shown(std::io::stderr()), "error: {error}");
        }
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
