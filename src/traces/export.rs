//! Export of spans to a collector over OTLP.
//!
//! A thread of its own sends batches of spans from a bounded queue, and spans that do not fit are dropped. A
//! collector that hangs or is absent therefore delays nothing.

use std::sync::Mutex;
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{Protocol, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tokio::time::Instant;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

/// Time limit of one export.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit for the last export at the end of the process.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Least time between two warnings about exports.
const WARNING_PAUSE: Duration = Duration::from_secs(60);

/// Exports spans until the value is dropped.
pub struct SpanExport(SdkTracerProvider);

impl SpanExport {
    /// Starts the export to the collector at `endpoint`, such as `http://collector:4318`.
    ///
    /// # Errors
    /// The endpoint is not a URL, or the client cannot be made.
    pub fn start(endpoint: &str) -> Result<Self, String> {
        // The HTTP client finds the provider of TLS here. A provider that is already installed stays.
        let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
            .with_timeout(EXPORT_TIMEOUT)
            .build()
            .map_err(|error| error.to_string())?;
        let resource = Resource::builder()
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES have precedence.
        let resource = match has_service_name() {
            true => resource,
            false => resource.with_service_name("halfspace"),
        };
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(RareWarnings::of(exporter))
            .with_resource(resource.build());
        Ok(Self(provider.build()))
    }

    /// The layer that hands spans to the export.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer("halfspace"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
    }
}

impl Drop for SpanExport {
    fn drop(&mut self) {
        // The exporter has warned of a failure.
        let _ = self.0.shutdown_with_timeout(SHUTDOWN_TIMEOUT);
    }
}

/// Whether the environment names the service.
fn has_service_name() -> bool {
    // The names are those of the OpenTelemetry specification, and the library reads their values.
    std::env::vars_os().any(|(name, value)| match name.to_str() {
        Some("OTEL_SERVICE_NAME") => true,
        Some("OTEL_RESOURCE_ATTRIBUTES") => value.to_string_lossy().contains("service.name="),
        _ => false,
    })
}

/// An exporter that warns of failures at most once per [`WARNING_PAUSE`].
#[derive(Debug)]
struct RareWarnings<E> {
    exporter: E,
    warned_at: Mutex<Option<Instant>>,
}

impl<E> RareWarnings<E> {
    fn of(exporter: E) -> Self {
        Self {
            exporter,
            warned_at: Mutex::default(),
        }
    }

    fn warn(&self, error: &impl std::fmt::Display) {
        let Ok(mut warned_at) = self.warned_at.lock() else {
            return;
        };
        if warned_at.is_none_or(|at| at.elapsed() >= WARNING_PAUSE) {
            *warned_at = Some(Instant::now());
            tracing::warn!(%error, "spans cannot be exported; they are dropped");
        }
    }
}

impl<E: SpanExporter> SpanExporter for RareWarnings<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let exported = self.exporter.export(batch).await;
        if let Err(error) = &exported {
            self.warn(error);
        }
        exported
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
