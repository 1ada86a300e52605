"""The alerts: each fires on a case of its own, stays silent on a near miss, and has a section in the documentation."""

import re
from dataclasses import dataclass, field

import pytest
import yaml

from conftest import OBSERVABILITY, ROOT

FILE = OBSERVABILITY / "alerts.yaml"
ALERTS = {rule["alert"]: rule for group in yaml.safe_load(FILE.read_text())["groups"] for rule in group["rules"]}


@dataclass
class Case:
    """Series that fire an alert, and near misses that do not. The series have one sample per minute."""

    fires: dict[str, str]
    silent: list[dict[str, str]]
    summary: str
    labels: dict[str, str] = field(default_factory=dict)
    minutes: int = 30
    # Other series that fire the alert.
    also: list[dict[str, str]] = field(default_factory=list)


def requests(status: int, per_minute: int, route: str = "/v1/jobs") -> dict[str, str]:
    return {f'halfspace_http_request_seconds_count{{job="halfspace",route="{route}",status="{status}"}}':
            f"0+{per_minute}x90"}


def refusals(reason: str, values: str) -> dict[str, str]:
    return {f'halfspace_rejects_total{{job="halfspace",instance="a",reason="{reason}"}}': values}


def latencies(metric: str, labels: str, fast: int, slow: int, bound: float = 0.1) -> dict[str, str]:
    """A histogram with so many fast and slow observations per minute. A slow one takes 1 to 5 s."""
    buckets = [(f"{bound}", fast), ("1", fast), ("5", fast + slow), ("+Inf", fast + slow)]
    return {f'{metric}_bucket{{job="halfspace",{labels}le="{le}"}}': f"0+{count}x90" for le, count in buckets}


UP = 'up{job="halfspace",instance="a",component="%s"}'
JOBS = 'halfspace_jobs_ended_total{job="halfspace",status="%s",learner="perceptron"}'
CALLBACKS = 'halfspace_callbacks_total{job="halfspace",outcome="%s"}'
PREDICT = 'method="POST",route="/v1/models/{id}/predict",status="200",'
DEPTH, AGE = ('halfspace_queue_%s{job="halfspace",task="train"}' % kind for kind in ("depth", "age_seconds"))
RUNNING = 'halfspace_jobs_running{job="halfspace"}'
COMPUTING = 'halfspace_computations_running{job="halfspace"}'

CASES = {
    "HalfspaceDown": Case(
        {UP % "api": "1x20 0x20"}, [{UP % "api": "1x90"}, {UP % "api": "1x28 0 1x60"}],
        "The process a does not answer the scraper.", {"job": "halfspace", "instance": "a", "component": "api"}),
    "HalfspaceAbsent": Case(
        {'up{job="other"}': "1x90"}, [{UP % "api": "0x90"}],
        "Prometheus knows no process of halfspace.", {"job": "halfspace"}),
    "HalfspaceNoWorker": Case(
        {UP % "api": "1x90", UP % "worker": "0x90"},
        [{UP % "api": "1x90", UP % "worker": "1x90"}, {UP % "embedded": "1x90"}],
        "No process computes jobs, but the service accepts jobs."),
    "HalfspaceRestarting": Case(
        {'process_start_time_seconds{job="halfspace",instance="a"}': "1x5 2x5 3x5 4x60"},
        [{'process_start_time_seconds{job="halfspace",instance="a"}': "1x5 2x5 3x60"}],
        "The process a started 3 times in 30 minutes.", {"job": "halfspace", "instance": "a"}),
    "HalfspaceVersionsDiffer": Case(
        {'halfspace_build_info{job="halfspace",instance="a",version="0.1.0"}': "1x90",
         'halfspace_build_info{job="halfspace",instance="b",version="0.2.0"}': "1x90"},
        [{'halfspace_build_info{job="halfspace",instance="a",version="0.1.0"}': "1x90",
          'halfspace_build_info{job="halfspace",instance="b",version="0.1.0"}': "1x90"}],
        "Processes of 2 versions have run together for an hour.", minutes=70),
    "HalfspaceFileHandles": Case(
        {'process_open_fds{job="halfspace",instance="a"}': "900x90",
         'process_max_fds{job="halfspace",instance="a"}': "1000x90"},
        [{'process_open_fds{job="halfspace",instance="a"}': "790x90",
          'process_max_fds{job="halfspace",instance="a"}': "1000x90"}],
        "The process a uses 90% of its file handles.", {"job": "halfspace", "instance": "a"}),
    "HalfspaceServerErrors": Case(
        requests(200, 90) | requests(500, 10),
        [requests(200, 900) | requests(500, 8), requests(200, 1) | requests(503, 90)],
        "10% of the requests fail because of a defect."),
    "HalfspaceRefusing": Case(
        requests(200, 90) | requests(503, 10),
        [requests(200, 96) | requests(503, 4), requests(200, 1) | requests(429, 90)],
        "The service refuses 10% of the requests with 503."),
    "HalfspaceSlowPredictions": Case(
        latencies("halfspace_http_request_seconds", PREDICT, 98, 2),
        [latencies("halfspace_http_request_seconds", PREDICT, 995, 5),
         latencies("halfspace_http_request_seconds", 'method="POST",route="/v1/jobs",status="200",', 1, 99)],
        "One in a hundred predictions waits longer than 3s."),
    "HalfspaceConnectionsClosed": Case(
        refusals("connection-idle", "0+120x90"),
        [refusals("connection-idle", "0+50x90"), refusals("schema", "0+120x90")],
        "The process a closes or refuses 2 connections per second.", {"instance": "a"}),
    "HalfspaceUnauthorized": Case(
        refusals("unauthorized", "0+120x90"), [refusals("unauthorized", "0+50x90")],
        "2 requests per second have no valid key."),
    "HalfspaceQueueOld": Case(
        {AGE: "2400x90"}, [{AGE: "1700x90"}, {AGE: "0x25 2400x5"}],
        "A job of the task train has waited for 40m 0s.", {"task": "train"}),
    "HalfspaceQueueStuck": Case(
        {DEPTH: "3x90", COMPUTING: "0x90"},
        [{DEPTH: "3x90", COMPUTING: "1x90"}, {DEPTH: "0x90", RUNNING: "0x90", COMPUTING: "0x90"},
         {DEPTH: "0x90", RUNNING: "2x90", COMPUTING: "1x90"}],
        "Jobs wait or run, but no process computes.", also=[{DEPTH: "0x90", RUNNING: "2x90", COMPUTING: "0x90"}]),
    "HalfspaceJobsFailing": Case(
        {JOBS % "failed": "0+1x90", JOBS % "succeeded": "0+3x90"},
        [{JOBS % "failed": "0+1x90", JOBS % "succeeded": "0+9x90"},
         {JOBS % "failed": "0x40 1x9 2x50", JOBS % "succeeded": "0x90"}],
        "25% of the jobs fail.", minutes=60),
    # The first event of a process, which has no sample before.
    "HalfspaceJobPoisoned": Case(
        {'halfspace_jobs_poisoned_total{job="halfspace",instance="a"}': "_x25 1x60"},
        [{'halfspace_jobs_poisoned_total{job="halfspace",instance="a"}': values} for values in ("7x90", "_x25 0x60")],
        "A job has failed because processes died while they computed the job.", minutes=80),
    "HalfspaceQueueFull": Case(
        refusals("queue-full", "0+60x90"), [refusals("queue-full", "7x90")],
        "The queue is full. The service refuses 1 requests per second."),
    "HalfspaceCallbacksFailing": Case(
        {CALLBACKS % "failed": "0+3x90", CALLBACKS % "delivered": "0+1x90"},
        [{CALLBACKS % "failed": "0+1x90", CALLBACKS % "delivered": "0+1x90"}],
        "75% of the deliveries of callbacks fail.", minutes=60),
    "HalfspaceMemoryNearLimit": Case(
        {'halfspace_memory_taken_bytes{job="halfspace", instance="a"}': "95x90",
         'halfspace_memory_budget_bytes{job="halfspace", instance="a"}': "100x90"},
        [{'halfspace_memory_taken_bytes{job="halfspace", instance="a"}': "89x90",
          'halfspace_memory_budget_bytes{job="halfspace", instance="a"}': "100x90"}],
        "Requests and jobs hold 95% of the memory of a.", {"job": "halfspace", "instance": "a"}),
    "HalfspaceMemoryExhausted": Case(
        refusals("no-memory", "0+1x90"), [refusals("no-memory", "7x90")],
        "The memory of a is taken. The process refuses requests.", {"instance": "a"}),
    "HalfspaceStoreUnavailable": Case(
        refusals("unavailable", "0+1x90"), [refusals("unavailable", "7x90")],
        "The database or the bucket does not respond. The service refuses requests."),
    "HalfspaceStoreSlow": Case(
        latencies("halfspace_store_seconds", 'operation="commit",', 98, 2),
        [latencies("halfspace_store_seconds", 'operation="commit",', 995, 5)],
        "One in a hundred calls of the database takes longer than 3s."),
    "HalfspaceBlobErrors": Case(
        {'halfspace_blob_store_errors_total{job="halfspace"}': "0+1x90"},
        [{'halfspace_blob_store_errors_total{job="halfspace"}': "7x90"}], "Requests to the place of the blobs fail."),
    # The first event of a process, which has no sample before.
    "HalfspaceStorageFull": Case(
        refusals("storage-full", "_x25 1x60"), [refusals("storage-full", "7x90"), refusals("schema", "_x25 1x60")],
        "The storage is full. The service refuses new data."),
    "HalfspaceDataCorrupt": Case(
        refusals("data-corrupt", "_x25 1x60"), [refusals("data-corrupt", "7x90")],
        "Stored data are damaged.", minutes=80),
}


@pytest.fixture
def judge(promtool, tmp_path):
    """Runs promtool on series. The alert must be firing or silent at the end."""
    def run(rules: dict, alert: str, series: dict[str, str], firing: bool):
        case, rule = CASES[alert], ALERTS[alert]
        expected = {"exp_labels": rule["labels"] | case.labels,
                    "exp_annotations": rule["annotations"] | {"summary": case.summary}}
        inputs = [{"series": name, "values": values} for name, values in series.items()]
        test = {"interval": "1m", "input_series": inputs,
                "alert_rule_test": [{"eval_time": f"{case.minutes}m", "alertname": alert,
                                     "exp_alerts": [expected] if firing else []}]}
        groups = {"groups": [{"name": "rules", "rules": list(rules.values())}]}
        (tmp_path / "rules.yaml").write_text(yaml.safe_dump(groups))
        (tmp_path / "test.yaml").write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m",
                                                            "tests": [test]}))
        return promtool("test", "rules", tmp_path / "test.yaml")
    return run


def test_promtool_accepts_the_rules(promtool):
    assert promtool("check", "rules", FILE).returncode == 0
    assert set(CASES) == set(ALERTS)


@pytest.mark.parametrize("alert", CASES)
def test_an_alert_fires_and_stays_silent_on_near_misses(judge, alert):
    case = CASES[alert]
    for series in [case.fires, *case.also]:
        fired = judge(ALERTS, alert, series, True)
        assert fired.returncode == 0, fired.stdout
    for series in case.silent:
        silent = judge(ALERTS, alert, series, False)
        assert silent.returncode == 0, silent.stdout


@pytest.mark.parametrize("alert", CASES)
def test_a_broken_rule_fails_its_test(judge, alert):
    case, rule = CASES[alert], ALERTS[alert]
    never, always = (ALERTS | {alert: rule | {"expr": expression}} for expression in ("vector(1) < 0", "vector(1)"))
    assert judge(never, alert, case.fires, True).returncode != 0
    assert all(judge(always, alert, series, False).returncode != 0 for series in case.silent)


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_has_a_severity_a_section_and_metrics_that_exist(check_expression, alert):
    rule = ALERTS[alert]
    assert rule["labels"]["severity"] in {"critical", "warning"}
    # A rule without `for` looks back over a window of its own.
    assert "for" in rule or re.search(r"\[(10m|30m|1h)\]", rule["expr"])
    check_expression(rule["expr"])
    page, anchor = rule["annotations"]["runbook"].split("#")
    headings = re.findall(r"^## (\w+)$", (ROOT / page).read_text(), re.MULTILINE)
    assert anchor == alert.lower() and alert in headings


def test_reasons_of_refusals_are_error_codes():
    documents = "".join((ROOT / f"docs/reference/{name}.md").read_text() for name in ("problems", "metrics"))
    for rule in ALERTS.values():
        for reasons in re.findall(r'reason=~?"([^"]*)"', rule["expr"]):
            prefix, _, group = reasons.rstrip(")").partition("connection-(")
            names = [name for name in prefix.split("|") if name]
            names += [f"connection-{name}" for name in group.split("|") if name]
            assert names
            for name in names:
                assert f"`{name}`" in documents, name
