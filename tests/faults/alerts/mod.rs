//! Each alert of `deploy/observability/alerts.yaml` under the fault that it reports. The program runs under the fault
//! and answers scrapes, and Prometheus's own `promtool` judges these by the rules.
//!
//! The samples are real, except that consecutive scrapes count as a minute apart. Each test asserts exactly which
//! alerts fire during its scrapes.

mod jobs;
mod processes;
mod requests;
mod stores;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::scale::report;
use crate::service::{Client, Program, long_job, short_job, until};

/// The rules that the chart installs.
const RULES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/deploy/observability/alerts.yaml"
);

/// Path of promtool, if not in `PATH`.
const PROMTOOL: &str = "HALFSPACE_TEST_PROMTOOL";

/// A target of the scraper. A target without a client does not answer.
struct Target {
    instance: &'static str,
    component: &'static str,
    client: Option<Client>,
}

impl Target {
    /// The only process of a service.
    fn only(program: &Program) -> Self {
        Self::at("a", "embedded", program)
    }

    fn at(instance: &'static str, component: &'static str, program: &Program) -> Self {
        Self {
            instance,
            component,
            client: Some(program.client()),
        }
    }
}

/// The scrapes of one test, one per minute of the rules.
struct Scrapes {
    promtool: String,
    minutes: usize,
    /// The samples of each series from the first minute on, in the notation of promtool.
    series: BTreeMap<String, Vec<String>>,
}

impl Scrapes {
    #[expect(clippy::disallowed_methods, reason = "no setting of the service")]
    fn new() -> Self {
        Self {
            promtool: std::env::var(PROMTOOL).unwrap_or_else(|_| "promtool".to_owned()),
            minutes: 0,
            series: BTreeMap::new(),
        }
    }

    /// Scrapes all targets. A series that has ended gets the mark with which Prometheus ends a series.
    async fn minute(&mut self, targets: &[Target]) {
        for target in targets {
            let labels = format!(
                "job=\"halfspace\",namespace=\"test\",instance=\"{}\",component=\"{}\"",
                target.instance, target.component
            );
            let is_up = if target.client.is_some() { "1" } else { "0" };
            self.add(format!("up{{{labels}}}"), is_up.to_owned());
            let Some(client) = target.client else {
                continue;
            };
            let text = client.get("/metrics").await.expect(200).text().to_owned();
            for line in text
                .lines()
                .filter(|line| !line.is_empty() && !line.starts_with('#'))
            {
                let (series, value) = line.rsplit_once(' ').unwrap();
                let series = match series.strip_suffix('}') {
                    Some(series) => format!("{series},{labels}}}"),
                    None => format!("{series}{{{labels}}}"),
                };
                let value: f64 = value.parse().unwrap();
                self.add(series, value.to_string());
            }
        }
        self.minutes += 1;
        for samples in self
            .series
            .values_mut()
            .filter(|samples| samples.len() < self.minutes)
        {
            let is_first = !matches!(samples.last().map(String::as_str), Some("_" | "stale"));
            samples.push(if is_first { "stale" } else { "_" }.to_owned());
        }
    }

    fn add(&mut self, series: String, value: String) {
        let before = self.minutes;
        let samples = self.series.entry(series);
        samples
            .or_insert_with(|| vec!["_".to_owned(); before])
            .push(value);
    }

    /// Scrapes targets that do not change, once per minute.
    async fn minutes(&mut self, minutes: usize, targets: &[Target]) {
        for _ in 0..minutes {
            self.minute(targets).await;
        }
    }

    /// Asserts that these alerts fire in some minute, and no others.
    fn fire(self, alerts: &[&str]) {
        let directory = tempfile::tempdir().unwrap();
        let fired: Vec<_> = alerts
            .iter()
            .map(|alert| json!({"labels": format!("{{alertname=\"{alert}\"}}"), "value": 1}))
            .collect();
        let inputs: Vec<_> = self
            .series
            .iter()
            .map(|(name, values)| json!({"series": name, "values": values.join(" ")}))
            .collect();
        let asked = json!({
            "expr": "group by (alertname) (last_over_time(ALERTS{alertstate=\"firing\"}[1d]))",
            "eval_time": format!("{}m", self.minutes - 1),
            "exp_samples": fired,
        });
        let test = json!({
            "rule_files": [RULES],
            "evaluation_interval": "1m",
            "tests": [{"interval": "1m", "input_series": inputs, "promql_expr_test": [asked]}],
        });
        // JSON is YAML too.
        let file = directory.path().join("test.yaml");
        std::fs::write(&file, test.to_string()).unwrap();
        let judged = Command::new(&self.promtool)
            .args(["test", "rules"])
            .arg(&file)
            .output()
            .unwrap();
        let said = [judged.stdout, judged.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(judged.status.success(), "{alerts:?} should fire: {said}");
        let counts = format!("{} scrapes of {} series", self.minutes, self.series.len());
        report(&format!("alerts {}", alerts.join(" ")), &counts);
    }
}

/// A service with this data directory that computes one job at a time.
fn service(data_dir: &Path, settings: &[&str]) -> Program {
    Program::start(data_dir, &[&["--workers", "1"], settings].concat())
}

/// Waits until the sum of the series that begin with this text fits.
async fn until_metric(client: Client, start: &str, fits: impl Fn(f64) -> bool) {
    until(start, async || {
        fits(metric(client, start).await).then_some(())
    })
    .await;
}

/// The sum of the series that begin with this text.
async fn metric(client: Client, start: &str) -> f64 {
    let metrics = client.get("/metrics").await.expect(200);
    sum(metrics.text(), |series| series.starts_with(start))
}

/// The sum of some series of a scrape.
fn sum(text: &str, is_counted: impl Fn(&str) -> bool) -> f64 {
    let lines = text.lines().filter(|line| is_counted(line));
    lines
        .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
        .sum()
}

/// Occupies the only worker with a long job that precedes all others. Returns the path of the job.
async fn busy(client: Client) -> String {
    let mut job = long_job(1);
    job["priority"] = json!(10);
    let path = client.submit(&job).await;
    client.until_status(&path, "running").await;
    path
}

/// Requests that succeed.
async fn healthy(client: Client, requests: usize) {
    for _ in 0..requests {
        client.get("/v1/queue").await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs promtool: scripts/observability-test runs it"]
async fn no_alert_fires_on_a_healthy_service() {
    let mut scrapes = Scrapes::new();
    let directory = tempfile::tempdir().unwrap();
    let program = service(directory.path(), &[]);
    let client = program.client();
    for _ in 0..70 {
        let path = client.submit(&short_job()).await;
        let job = client.until_status(&path, "succeeded").await;
        let model = job["result"]["model"].as_str().unwrap();
        let asked = json!({"unlabelled": {"examples": ["110"]}});
        let path = format!("/v1/models/{model}/predict");
        client.post(&path, &asked, None).await.unwrap().expect(200);
        client.get("/v1/jobs/unknown").await.problem(404);
        scrapes.minute(&[Target::only(&program)]).await;
    }
    scrapes.fire(&[]);
}

#[test]
fn every_alert_has_a_fault() {
    let rules = std::fs::read_to_string(RULES).unwrap();
    let alerts: BTreeSet<&str> = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
        .collect();
    let sources = concat!(
        include_str!("jobs.rs"),
        include_str!("processes.rs"),
        include_str!("requests.rs"),
        include_str!("stores.rs")
    );
    let fired = sources
        .lines()
        .filter_map(|line| line.trim().strip_prefix("scrapes.fire(&["));
    let fired: BTreeSet<&str> = fired
        .flat_map(|line| line.split('"'))
        .filter(|word| word.starts_with("Halfspace"))
        .collect();
    assert!(alerts.len() > 20);
    assert_eq!(alerts, fired);
}
