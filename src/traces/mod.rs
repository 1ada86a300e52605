//! Spans of requests, jobs and callbacks, and the trace context that connects them.
//!
//! A request continues the trace of its `traceparent` header. A job stores the context of its request. The spans of a
//! worker in another process and of the callback therefore join the same trace. Without a collector no spans exist, and
//! the context of the client is passed on unchanged.

mod export;

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::records::TraceParent;

pub use export::SpanExport;

/// Target of all spans. The log leaves this target out.
pub const TARGET: &str = "halfspace::spans";

tokio::task_local! {
    /// The context of the request or callback that the current task works for.
    static CONTEXT: Option<TraceParent>;
}

/// Makes a span continue the trace of `parent`. Returns the context of the span, or `parent` for a disabled span.
pub fn follow(span: &Span, parent: Option<TraceParent>) -> Option<TraceParent> {
    if let Some(parent) = parent {
        let remote = SpanContext::new(
            TraceId::from(parent.trace.get()),
            SpanId::from(parent.span.get()),
            TraceFlags::new(parent.flags),
            true,
            TraceState::default(),
        );
        // This fails only for a span that is disabled or has begun.
        let _ = span.set_parent(Context::new().with_remote_span_context(remote));
    }
    let context = span.context();
    let own = context.span().span_context().clone();
    let number = |bytes: [u8; 16]| u128::from_be_bytes(bytes).try_into().ok();
    match (
        number(own.trace_id().to_bytes()),
        u64::from_be_bytes(own.span_id().to_bytes()).try_into(),
    ) {
        (Some(trace), Ok(span)) => Some(TraceParent {
            trace,
            span,
            flags: own.trace_flags().to_u8(),
        }),
        _ => parent,
    }
}

/// Renames a span that has begun, such as the span of a request whose route is found late. The recorded field
/// `otel.name` would rename only a span that has not begun.
pub fn rename(span: &Span, name: impl FnOnce() -> String) {
    if !span.is_disabled() {
        span.context().span().update_name(name());
    }
}

/// Runs work in a context, which [`current`] returns inside.
pub async fn within<F: Future>(context: Option<TraceParent>, work: F) -> F::Output {
    CONTEXT.scope(context, work).await
}

/// The context of the current task.
pub fn current() -> Option<TraceParent> {
    CONTEXT.try_with(|context| *context).ok().flatten()
}
