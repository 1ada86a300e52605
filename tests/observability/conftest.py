"""The metrics of a service that has done work of every kind, and promtool.

The service stores its blobs in an S3 server (scripts/with-s3), computes one job at a time, and sends callbacks to a
receiver of the tests.
"""

import json
import os
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parents[2]
OBSERVABILITY = ROOT / "deploy/observability"
SECONDS_MAX = 60

# Labels that the scraper sets.
SCRAPED = {"job", "instance", "namespace", "component"}
# The work below does not cause the events of these documented metrics.
NOT_CAUSED = {"halfspace_blob_store_errors_total"}


def pytest_addoption(parser):
    parser.addoption("--program", required=True, help="the program under test")
    parser.addoption("--promtool", required=True, help="promtool of Prometheus")
    parser.addoption("--dashboard-schema", required=True, help="Grafana's JSON Schema of a dashboard")


@pytest.fixture(scope="session")
def promtool(pytestconfig) -> Callable[..., subprocess.CompletedProcess]:
    """Runs promtool and returns its status and its output."""
    program = pytestconfig.getoption("--promtool")

    def run(*arguments: str | Path, input: str | None = None) -> subprocess.CompletedProcess:
        return subprocess.run([program, *map(str, arguments)], input=input, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=SECONDS_MAX)
    return run


@pytest.fixture(scope="session")
def metrics_text(pytestconfig, tmp_path_factory) -> str:
    """The text of /metrics after the work."""
    program, data_dir = pytestconfig.getoption("--program"), tmp_path_factory.mktemp("data")
    with receiver() as received, service(program, data_dir) as address:
        work(address, received)
        return text(address, "/metrics")


@pytest.fixture(scope="session")
def exported(metrics_text) -> dict[str, str]:
    """The kind of each metric in /metrics."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", metrics_text, re.MULTILINE))


@pytest.fixture(scope="session")
def documented() -> dict[str, str]:
    """The kind of each metric in the documentation. A test of the program compares this table with the source."""
    table = (ROOT / "docs/reference/metrics.md").read_text()
    return dict(re.findall(r"^\| `(\S+)` \| (\w+) \|", table, re.MULTILINE))


@pytest.fixture(scope="session")
def labels() -> dict[str, set[str]]:
    """The labels of each metric that an expression may use."""
    table = (ROOT / "docs/reference/metrics.md").read_text()
    rows = re.findall(r"^\| `(\S+)` \| \w+ \| ([^|]*)\|", table, re.MULTILINE)
    return {"up": set()} | {name: set(re.findall(r"`(\w+)`", cell)) for name, cell in rows}


@pytest.fixture(scope="session")
def check_expression(labels) -> Callable[[str], set[str]]:
    """Checks that an expression uses only metrics and labels that exist. Returns the names of the metrics."""
    def check(expression: str) -> set[str]:
        names = set(re.findall(r"\b(?:up|(?:halfspace|process)_\w+)", re.sub(r'"[^"]*"', '""', expression)))
        metrics = {name if name in labels else re.sub(r"_(bucket|count|sum)$", "", name) for name in names}
        assert metrics and metrics <= set(labels), f"unknown metrics in {expression}: {metrics - set(labels)}"
        lists = re.findall(r"(?:by|on|without) *\(([^)]*)\)", expression) + re.findall(r"\{([^}]*)\}", expression)
        used = set(re.findall(r"\b([a-z_]+)(?=\s*(?:[,=!)]|$))", re.sub(r'"[^"]*"', '""', ", ".join(lists))))
        known = SCRAPED | {"le"}.union(*(labels[metric] for metric in metrics))
        assert used <= known, f"unknown labels in {expression}: {used - known}"
        return metrics
    return check


class receiver:
    """An HTTP server that accepts every callback."""

    def __enter__(self) -> SimpleNamespace:
        arrived = threading.Event()

        class Accept(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(204)
                self.end_headers()
                arrived.set()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Accept)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return SimpleNamespace(address=f"http://127.0.0.1:{self.server.server_port}/", arrived=arrived)

    def __exit__(self, *_) -> None:
        self.server.shutdown()
        self.server.server_close()


class service:
    """A service on a free port. It ends with its input, also if the tests are killed."""

    def __init__(self, program: str, data_dir: Path):
        keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
        secret = {"HALFSPACE_CALLBACK_SECRET": "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}
        self.process = subprocess.Popen(
            [program, "serve", "--data-dir", data_dir, "--stop-with-input", "--log", "warn", "--listen", "127.0.0.1:0",
             "--workers", "1", "--checkpoint-seconds", "1", "--callback-allow", "127.0.0.0/8",
             "--blob-url", "s3://halfspace/metrics", "--aws-endpoint-url", os.environ["HALFSPACE_TEST_S3"]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={key: value for key, value in os.environ.items() if not key.startswith("HALFSPACE_")} | keys | secret)

    def __enter__(self) -> str:
        first = self.process.stdout.readline()
        assert "http:" in first, f"the service did not start: {first!r}"
        return "http:" + first.split("http:", 1)[1].strip()

    def __exit__(self, *_) -> None:
        self.process.stdin.close()
        self.process.wait(SECONDS_MAX)
        self.process.stdout.close()


def work(address: str, received: SimpleNamespace) -> None:
    """One event of each kind that a metric counts."""
    def send(path: str, body: bytes | dict, media_type: str = "application/json", method: str = "POST") -> dict:
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        request = urllib.request.Request(address + path, data, {"content-type": media_type}, method=method)
        try:
            answer = urllib.request.urlopen(request, timeout=SECONDS_MAX)
        except urllib.error.HTTPError as refusal:
            pytest.fail(f"{path}: {refusal.read().decode()}")
        with answer:
            return json.loads(answer.read().splitlines()[-1])

    def drift(seconds: int) -> dict:
        """A job of directed drift that computes until its time ends."""
        data = {"generated": {"n": 401, "target": {"binary_weights": {}}, "sampling": "uniform-positive"}}
        stop = {"max_seconds": seconds}
        return send("/v1/jobs", {"train": {"learner": {"name": "directed-drift"}, "seed": 1, "stop": stop,
                                            "data": data}})

    rows = b"".join(b"%d,%d,%d\n" % (row % 2, row // 2 % 2, row % 2 * 2 - 1) for row in range(200_000))
    dataset = send("/v1/datasets?labels=last", rows, "text/csv")["id"]
    model = send("/v1/learners/perceptron/train", {"dataset": dataset})["result"]["model"]
    for _ in range(2):
        text(address, f"/v1/datasets/{dataset}/examples?limit=1&offset=5")
    send(f"/v1/models/{model}/predict", b'{"x": "11"}\n', "application/x-ndjson")
    session = send("/v1/sessions", {"learner": {"name": "perceptron"}, "n": 2})["id"]
    send(f"/v1/sessions/{session}/examples", b'{"x": "11", "y": 1}\n', "application/x-ndjson")
    send("/v1/jobs", {"train": {"learner": {"name": "perceptron"}, "data": {"dataset": dataset}},
                      "callback": received.address})
    assert received.arrived.wait(SECONDS_MAX), "no callback"

    long = drift(600)
    with urllib.request.urlopen(f"{address}/v1/jobs/{long['id']}/events", timeout=SECONDS_MAX):
        # The short job goes first, so the long job parks and then returns to the queue.
        drift(4)
        until(address, r"^halfspace_preemptions_total [1-9]")
        waiting = drift(600)
        until(address, r"^halfspace_queue_depth\{.*\} 1$")
    until(address, r"^halfspace_checkpoints_total [1-9]")
    with pytest.raises(urllib.error.HTTPError):
        text(address, "/v1/jobs/unknown")
    with socket.create_connection(urlsplit(address).netloc.split(":")) as client:
        head = f"GET /v1/jobs/{waiting['id']} HTTP/1.1\r\nhost: localhost\r\nprefer: wait=60\r\n\r\n"
        client.sendall(head.encode())
        until(address, r"^halfspace_http_requests_in_flight 2$")
    until(address, r'^halfspace_http_request_seconds_count\{.*status="499"')
    for job in long, waiting:
        send(f"/v1/jobs/{job['id']}/cancel", b"")
    until(address, r'^halfspace_jobs_ended_total\{status="cancelled"')


def text(address: str, path: str) -> str:
    with urllib.request.urlopen(address + path, timeout=SECONDS_MAX) as answer:
        return answer.read().decode()


def until(address: str, pattern: str) -> None:
    """Waits until /metrics has a line that begins with the pattern."""
    deadline = time.monotonic() + SECONDS_MAX
    while not re.search(pattern, text(address, "/metrics"), re.MULTILINE):
        assert time.monotonic() < deadline, f"no line {pattern} in /metrics"
        # A poll of another process.
        time.sleep(0.2)
