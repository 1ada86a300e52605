//! The recorder of metrics. Prometheus gets the help texts from the table in `docs/reference/metrics.md`.

use std::sync::OnceLock;
use std::time::Duration;

use metrics::{describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use super::start_error::StartError;
use crate::records::process::REVISION;

/// Interval of the upkeep of metrics. Without upkeep their memory grows.
const UPKEEP: Duration = Duration::from_secs(5);

/// Bucket bounds of requests and store operations, in seconds.
const BUCKETS: [f64; 12] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0,
];

/// Bucket bounds of the waits and runs of jobs, in seconds.
const JOB_BUCKETS: [f64; 12] = [
    0.01, 0.05, 0.25, 1.0, 5.0, 15.0, 60.0, 300.0, 1_800.0, 7_200.0, 28_800.0, 86_400.0,
];

/// The page that describes the metrics, with one table row per metric.
const PAGE: &str = include_str!("../../docs/reference/metrics.md");

/// The recorder of the process. A process has only one.
///
/// # Errors
/// The recorder cannot be made.
pub(super) fn handle() -> Result<PrometheusHandle, StartError> {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    if let Some(handle) = HANDLE.get() {
        return Ok(handle.clone());
    }
    let recorder = builder().map_err(|error| StartError::Metrics(error.to_string()))?;
    let recorder = recorder.build_recorder();
    let handle = HANDLE.get_or_init(|| recorder.handle()).clone();
    // This fails only for a second service in the same process. Both services then share one recorder.
    if metrics::set_global_recorder(recorder).is_ok() {
        describe();
    }
    let version = env!("CARGO_PKG_VERSION");
    gauge!("halfspace_build_info", "version" => version, "revision" => REVISION.unwrap_or_default()).set(1.0);
    Ok(handle)
}

fn builder() -> Result<PrometheusBuilder, BuildError> {
    let of_jobs = |name: &str| Matcher::Full(name.to_owned());
    PrometheusBuilder::new()
        .set_buckets(&BUCKETS)?
        .set_buckets_for_metric(of_jobs("halfspace_job_wait_seconds"), &JOB_BUCKETS)?
        .set_buckets_for_metric(of_jobs("halfspace_job_run_seconds"), &JOB_BUCKETS)
}

/// Gives each metric the help text of its table row.
fn describe() {
    for row in PAGE
        .lines()
        .filter(|line| line.starts_with("| `halfspace_"))
    {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [name, kind, _, unit, meaning, _] = cells[..] else {
            continue;
        };
        let name = name.trim_matches('`').to_owned();
        let help = format!("{meaning} Unit: {unit}.");
        match kind {
            "counter" => describe_counter!(name, help),
            "gauge" => describe_gauge!(name, help),
            _ => describe_histogram!(name, help),
        }
    }
    metrics_process::Collector::default().describe();
}

/// Bounds the memory of the histograms for as long as the service runs.
pub(super) async fn keep() {
    loop {
        tokio::time::sleep(UPKEEP).await;
        if let Ok(handle) = handle() {
            handle.run_upkeep();
        }
    }
}
