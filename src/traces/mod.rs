//! Spans of requests, jobs and callbacks, and the trace context that connects them.
//!
//! A request continues the trace of its `traceparent` header. A job stores the context of its request. The spans of a
//! worker in another process and of the callback therefore join the same trace. Without the feature `otlp` no spans
//! exist, and the context of the client is passed on unchanged.

#[cfg(feature = "otlp")]
mod otlp;

#[cfg(feature = "otlp")]
pub use otlp::SpanExport;

use tracing::Span;

use crate::records::TraceParent;

/// Target of all spans. The log leaves this target out.
pub const TARGET: &str = "halfspace::spans";

/// The export of spans, which needs the feature `otlp`.
#[cfg(not(feature = "otlp"))]
pub enum SpanExport {}

#[cfg(not(feature = "otlp"))]
impl SpanExport {
    /// Refuses the export.
    ///
    /// # Errors
    /// Always.
    pub fn start(_: &str) -> Result<Self, String> {
        let told = "this program was built without the feature otlp; build it with --features otlp, or unset \
                    OTEL_EXPORTER_OTLP_ENDPOINT";
        Err(told.to_owned())
    }

    /// The layer that hands the spans to the export.
    pub fn layer(&self) -> tracing_subscriber::layer::Identity {
        match *self {}
    }
}

tokio::task_local! {
    /// The context of the request or callback that the current task works for.
    static CONTEXT: Option<TraceParent>;
}

/// Makes a span continue the trace of `parent`. Returns the context for the work inside the span.
pub fn follow(span: &Span, parent: Option<TraceParent>) -> Option<TraceParent> {
    #[cfg(feature = "otlp")]
    return otlp::follow(span, parent);
    #[cfg(not(feature = "otlp"))]
    {
        let _ = span;
        parent
    }
}

/// Renames a span that has begun, such as the span of a request whose route is found late.
pub fn rename(span: &Span, name: impl FnOnce() -> String) {
    #[cfg(feature = "otlp")]
    if !span.is_disabled() {
        otlp::rename(span, name());
    }
    #[cfg(not(feature = "otlp"))]
    let _ = (span, name);
}

/// Runs work in a context, which [`current`] returns inside.
pub async fn within<F: Future>(context: Option<TraceParent>, work: F) -> F::Output {
    CONTEXT.scope(context, work).await
}

/// The context of the current task.
pub fn current() -> Option<TraceParent> {
    CONTEXT.try_with(|context| *context).ok().flatten()
}
