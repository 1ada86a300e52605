"""The program under the arguments, variables, secrets and probes of the rendered containers, over PostgreSQL and S3.

scripts/with-postgres and scripts/with-s3 start the stores. The path of a mount is replaced by a folder of the test, and
the address to listen on by the loopback address.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SECONDS_MAX = 60
DATABASE = "chart"
# with-postgres lets this user in with this password only.
USER, PASSWORD = "locked", "right"
PERCEPTRON = {"labelled": {"examples": [{"x": "11", "y": 1}, {"x": "00", "y": -1}]}}


def psql(database: str, *commands: str) -> str:
    address = urllib.parse.urlsplit(os.environ["HALFSPACE_TEST_POSTGRES"])
    address = address._replace(path=f"/{database}").geturl().replace("postgres:/", "postgres:///", 1)
    command = ["psql", address, "--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]
    command += [f"--command={each}" for each in commands]
    return subprocess.run(command, text=True, capture_output=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def secrets() -> Iterator[dict[str, str]]:
    """A database of the tests, and the content of the files of the secrets."""
    psql("postgres", f"CREATE DATABASE {DATABASE} OWNER {USER}")
    folder = urllib.parse.parse_qs(urllib.parse.urlsplit(os.environ["HALFSPACE_TEST_POSTGRES"]).query)["host"][0]
    yield {"HALFSPACE_DATABASE_URL": f"postgres:///{DATABASE}?host={folder}&user={USER}", "PGPASSWORD": f"{PASSWORD}\n",
           "AWS_ACCESS_KEY_ID": "key\n", "AWS_SECRET_ACCESS_KEY": "secret\n",
           "HALFSPACE_CALLBACK_SECRET": "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}
    psql("postgres", f"DROP DATABASE {DATABASE} WITH (FORCE)")


@pytest.fixture(scope="module")
def rendering(render):
    """The value file of a cluster with the bucket of the tests."""
    return render("cluster", {"worker": {"keda": {"enabled": True, "existingSecret": "keda"}},
                              "blobs": {"url": "s3://halfspace/chart", "endpointUrl": os.environ["HALFSPACE_TEST_S3"]}})


@pytest.fixture(scope="module")
def start(rendering, secrets, pytestconfig, tmp_path_factory) -> Callable[..., subprocess.Popen]:
    """Starts the container of a component with these ports."""
    def run(component: str, http: int = 0, ops: int = 0) -> subprocess.Popen:
        pod = dict(rendering.pods())[component]["spec"]
        container = pod["containers"][0]
        root = tmp_path_factory.mktemp(component)
        for volume in pod["volumes"]:
            mount = next(each for each in container["volumeMounts"] if each["name"] == volume["name"])
            folder = root / mount["mountPath"].lstrip("/")
            folder.mkdir(parents=True, exist_ok=True)
            for source in volume.get("projected", {}).get("sources", []):
                for item in source["secret"]["items"]:
                    (folder / item["path"]).write_text(secrets[item["key"]])
        places = {"/etc/halfspace/secrets": str(root / "etc/halfspace/secrets"), "/data": str(root / "data"),
                  "0.0.0.0:8080": f"127.0.0.1:{http}", "0.0.0.0:9090": f"127.0.0.1:{ops}"}
        environment = {"PATH": os.environ["PATH"], "NO_PROXY": "127.0.0.1"}
        for variable in container["env"]:
            value = variable["value"]
            for place, here in places.items():
                value = here + value.removeprefix(place) if value.startswith(place) else value
            environment[variable["name"]] = value
        return subprocess.Popen([pytestconfig.getoption("--program"), *container["args"]], env=environment, cwd=root,
                                stdout=subprocess.DEVNULL)
    return run


@pytest.fixture
def running(start, rendering) -> Iterator[Callable[[str], tuple[subprocess.Popen, str]]]:
    """Starts a component and waits until its startup probe passes. Returns the process and its address."""
    with contextlib.ExitStack() as stack:
        def run(component: str) -> tuple[subprocess.Popen, str]:
            http, ops = free_ports(2)
            process = start(component, http, ops)
            stack.callback(process.wait, SECONDS_MAX)
            stack.callback(process.kill)
            container = dict(rendering.pods())[component]["spec"]["containers"][0]
            deadline = time.monotonic() + SECONDS_MAX
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                path = container[probe]["httpGet"]["path"]
                while status(f"http://127.0.0.1:{ops}{path}") != 200:
                    assert process.poll() is None and time.monotonic() < deadline, f"{component}: {probe}"
                    time.sleep(0.1)
            return process, f"http://127.0.0.1:{http}"
        yield run


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]


def status(url: str) -> int:
    """The status of an answer; 0 without an answer."""
    try:
        with urllib.request.urlopen(url, timeout=SECONDS_MAX) as answer:
            return answer.status
    except urllib.error.HTTPError as refusal:
        return refusal.code
    except OSError:
        return 0


def submit(address: str, seconds: int) -> str:
    """Submits a job that computes for so long, or a short one. Returns the id."""
    drift = {"learner": {"name": "directed-drift"}, "stop": {"max_seconds": seconds}, "data": {"generated": {
        "n": 401, "target": {"binary_weights": {}}, "sampling": "uniform-positive"}}}
    train = drift if seconds else {"learner": {"name": "perceptron"}, "data": PERCEPTRON}
    request = urllib.request.Request(f"{address}/v1/jobs", json.dumps({"train": train}).encode(),
                                     {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=SECONDS_MAX) as answer:
        return json.loads(answer.read())["id"]


def test_program_migrates_runs_and_answers_the_query_of_keda(start, running, rendering):
    metadata = rendering.one("ScaledObject", "demo-halfspace-worker")["spec"]["triggers"][0]["metadata"]

    def load() -> int:
        return int(psql(DATABASE, "SET ROLE keda", metadata["query"]))

    assert start("migrate").wait(SECONDS_MAX) == 0
    # The role of docs/how-to/kubernetes.md.
    psql(DATABASE, "CREATE ROLE keda", "GRANT SELECT ON jobs TO keda")
    assert load() == 0
    with pytest.raises(subprocess.CalledProcessError, match="psql"):
        psql(DATABASE, "SET ROLE keda", metadata["query"].replace("waits", "waiting"))
    api, address = running("api")
    assert load() == 0
    long = [submit(address, 300) for _ in range(2)]
    short = [submit(address, 0) for _ in range(3)]
    assert load() == 5

    worker, worker_address = running("worker")
    assert status(f"{worker_address}/v1/jobs") == 404
    until(lambda: all(state(address, job) == "succeeded" for job in short))
    # The running jobs keep their workers.
    until(lambda: load() == 2 and {state(address, job) for job in long} == {"running"})

    # Kubernetes sends SIGTERM after the preStop hook. The jobs go back to the queue.
    pod = dict(rendering.pods())["worker"]["spec"]
    left = pod["terminationGracePeriodSeconds"] - pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(left) == 0
    assert {state(address, job) for job in long} == {"queued"} and load() == 2
    api.send_signal(signal.SIGTERM)
    assert api.wait(left) == 0


def state(address: str, job: str) -> str:
    with urllib.request.urlopen(f"{address}/v1/jobs/{job}", timeout=SECONDS_MAX) as answer:
        return json.loads(answer.read())["status"]


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not holds():
        assert time.monotonic() < deadline
        # A poll of other processes.
        time.sleep(0.2)


def test_a_wrong_secret_ends_the_process_and_names_the_setting(start, secrets, monkeypatch, capfd):
    monkeypatch.setitem(secrets, "HALFSPACE_DATABASE_URL", "\n")
    assert start("migrate").wait(SECONDS_MAX) != 0
    assert "HALFSPACE_DATABASE_URL_FILE" in capfd.readouterr().err
