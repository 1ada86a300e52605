"""Builds the image, runs both profiles of docker-compose.yml, and prints a table of the checks.

Usage: check.py [--program PATH] [--stand-ins]. `--program` puts a built program into the image instead of compiling
it. `--stand-ins` states that local images replace those of the registry. scripts/image-test makes the engine.
"""

import argparse
import contextlib
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from client import Client, Probe, Stream

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
PROJECT = "halfspace-image-test"
IMAGE_BYTES_MAX = 110_000_000
# The grace period of the service in docker-compose.yml.
GRACE_SECONDS = 15
# The examples of the tutorial.
TOY = (
    b"+1 2:1 3:1 5:1\n-1 1:1\n+1 3:1 4:1 5:1\n-1 2:1 4:1\n+1 1:1 2:1 3:1\n"
    b"-1 5:1\n+1 1:1 4:1 5:1\n-1 3:1\n+1 1:1 2:1 4:1 5:1\n-1 1:1 3:1\n"
)
# No hyperplane separates these examples, so a training takes all the time that it may take.
XOR = b"-1 1:0 2:0\n+1 1:1\n+1 2:1\n-1 1:1 2:1\n"

# A secret for callbacks.
SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

ROWS = []


def docker(*arguments, check=True, body=None):
    """Runs a command of the engine. Returns its output."""
    found = subprocess.run(["docker", *map(str, arguments)], input=body, capture_output=True, cwd=ROOT)
    if check and found.returncode != 0:
        raise AssertionError(f"docker {arguments}: {(found.stderr or found.stdout).decode()[-1500:]}")
    if body is not None:
        return found.stdout
    return (found.stdout if check else found.stdout + found.stderr).decode().strip()


def compose(*arguments, **more):
    return docker("compose", "--project-name", PROJECT, *arguments, **more)


def row(name, function, *arguments):
    """Runs a check and adds its row to the table."""
    begun = time.monotonic()
    try:
        note, verdict = function(*arguments) or "", "passed"
    except (AssertionError, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
        note, verdict = f"{type(error).__name__}: {error}", "FAILED"
    ROWS.append((name, verdict, time.monotonic() - begun, note))
    print(f"{verdict:7} {ROWS[-1][2]:6.1f} s  {name}  {note}", flush=True)
    return verdict == "passed"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


# The image.


def build(program):
    revision = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, cwd=ROOT, check=True)
    arguments = ["build", "--tag", "halfspace", "--build-arg", f"SOURCE_REVISION={revision.stdout.decode().strip()}"]
    if program is None:
        docker(*arguments, ".")
        return "compiled in the image"
    # The folder stands in for the stage that compiles.
    with tempfile.TemporaryDirectory(dir=TARGET) as folder:
        built = Path(folder, "build")
        Path(built, "target/release").mkdir(parents=True)
        Path(folder, "etc/ssl/certs").mkdir(parents=True)
        shutil.copy(program, built / "target/release/halfspace")
        shutil.copy("/etc/ssl/certs/ca-certificates.crt", Path(folder, "etc/ssl/certs"))
        for name in ["LICENSE-MIT", "LICENSE-APACHE"]:
            shutil.copy(ROOT / name, built)
        (built / "halfspace.cdx.json").write_text("{}")
        docker(*arguments, "--build-context", f"program={folder}", ".")
    return f"NOT compiled in the image: {program}"


def size():
    found = int(docker("image", "inspect", "--format", "{{.Size}}", "halfspace"))
    assert found <= IMAGE_BYTES_MAX, f"{found / 1e6:.1f} MB"
    return f"{found / 1e6:.1f} MB"


def labels():
    config = json.loads(docker("image", "inspect", "--format", "{{json .Config}}", "halfspace"))
    found = {name.rpartition(".")[2]: value for name, value in config["Labels"].items()}
    for name in ["title", "description", "licenses", "version", "revision"]:
        assert found.get(name), f"the label {name} is missing"
    assert config["User"] == "65532:65532", config["User"]
    version = docker("run", "--rm", "halfspace", "--version").split()[-1]
    assert found["version"] == version, f"{found['version']} {version}"
    return f"version {version}, user {config['User']}"


def components():
    path = "/usr/share/doc/halfspace/halfspace.cdx.json"
    document = json.loads(docker("run", "--rm", "--entrypoint", "cat", "halfspace", path))
    assert document.get("bomFormat") == "CycloneDX", list(document)
    names = {component["name"] for component in document["components"]}
    assert {"axum", "sqlx", "opentelemetry"} <= names, sorted(names)
    return f"{len(names)} components"


@contextlib.contextmanager
def running(name, *arguments):
    """Serves in a container with these options of `docker run`. Yields its name and a client."""
    name, port = f"{PROJECT}-{name}", free_port()
    docker("run", "--detach", "--name", name, "--publish", f"127.0.0.1:{port}:8080", *arguments, "halfspace")
    try:
        wait_healthy(name)
        yield name, Client(port)
    finally:
        docker("rm", "--force", "--volumes", name, check=False)


def arbitrary_user():
    """Serves under a user that the image does not know, on a read-only root without a /tmp for files."""
    copies = f"{PROJECT}-copies"
    options = ["--read-only", "--cap-drop", "ALL", "--user", "1000660000:0", "--security-opt", "no-new-privileges"]
    options += ["--volume", f"{copies}:/backups"]
    try:
        with running("user", *options) as (name, service):
            train(service)
            # The numbers take 20 MB, so they spill to disk.
            rows = (b",".join(b"0.5" if i >> k & 1 else b"0" for k in range(64)) for i in range(40_000))
            big = b"".join(b"%d,%s\n" % (i % 2, row) for i, row in enumerate(rows))
            service.expect(201, "POST", "/v1/datasets?labels=first", big, "text/csv")
            docker("exec", name, "halfspace", "backup", "/backups/copy")
            assert docker("exec", name, "sh", "-c", "touch /tmp/x 2>/dev/null || echo refused") == "refused"
    finally:
        docker("volume", "rm", copies, check=False)
    return "uid 1000660000, no writable folder but /data and /backups"


def secret_files():
    """Starts the service with a file of a secret that is missing, unreadable, empty, one line, and changed."""
    with tempfile.TemporaryDirectory(dir=TARGET) as folder:
        os.chmod(folder, 0o755)
        file = Path(folder, "secret")
        options = ["--volume", f"{folder}:/run/secrets:ro"]
        options += ["--env", "HALFSPACE_CALLBACK_SECRET_FILE=/run/secrets/secret"]
        refused("/run/secrets/secret: No such file", *options, "halfspace", "migrate")
        for text in ["", "\n", "\r\n"]:
            file.write_text(text)
            refused("/run/secrets/secret: the file is empty", *options, "halfspace", "migrate")
        file.chmod(0)
        refused("/run/secrets/secret: Permission denied", *options, "halfspace", "migrate")
        file.chmod(0o644)
        file.write_text(f"{SECRET}\n")
        with running("secret", *options) as (name, service):
            # The process reads the file at its start only.
            file.write_text("")
            model = train(service)
            docker("restart", name)
            assert wait_ended(name) != 0
            assert "secret: the file is empty" in docker("logs", name, check=False)
            file.write_text(f"{SECRET}\r\n")
            docker("start", name)
            wait_healthy(name)
            predicts(service, model)
    return "refused: missing, empty, unreadable; a change counts from the next start"


def refused(reason, *arguments):
    """Runs a container that must fail for this reason."""
    try:
        docker("run", "--rm", *arguments)
    except AssertionError as error:
        assert reason in str(error), error
        return
    raise AssertionError(f"not refused: {arguments}")


def changed_limits():
    """Lowers the limits of a container while the service runs."""
    with running("limits", "--memory", "1g") as (name, service):
        before = service.expect(200, "GET", "/v1/limits")["memory_bytes_max"]
        docker("update", "--memory", "512m", "--cpus", "0.5", "--pids-limit", "128", name)
        model = train(service)
        assert service.expect(200, "GET", "/v1/limits")["memory_bytes_max"] == before
        docker("restart", name)
        wait_healthy(name)
        predicts(service, model)
        after = service.expect(200, "GET", "/v1/limits")["memory_bytes_max"]
    # 70 % of each limit without 64 MiB for the program.
    expected = (0.7 * 512 - 64) / (0.7 * 1024 - 64)
    assert abs(after / before - expected) < 0.01, f"{before} {after}"
    return f"memory for one request: {before / 2**20:.0f} MiB, after the restart {after / 2**20:.0f} MiB"


def frozen():
    """Freezes the process. The health check must fail until the process continues."""
    with running("frozen") as (name, service):
        check = ("exec", name, "halfspace", "healthcheck")
        docker(*check)
        docker("kill", "--signal", "STOP", name)
        try:
            failed = not is_healthy(check)
        finally:
            docker("kill", "--signal", "CONT", name)
        assert failed, "the health check of a frozen process passed"
        docker(*check)
        train(service)


def is_healthy(check):
    return subprocess.run(["docker", *check], capture_output=True, timeout=60).returncode == 0


def wait_healthy(container, seconds=60):
    deadline = time.monotonic() + seconds
    state = "{{.State.Status}} {{.State.Health.Status}}"
    while (found := docker("inspect", "--format", state, container)) != "running healthy":
        assert "running" in found and time.monotonic() < deadline, docker("logs", container, check=False)
        time.sleep(0.5)


def wait_ended(container, seconds=60):
    """Returns the exit code."""
    deadline = time.monotonic() + seconds
    state = "{{.State.Status}} {{.State.ExitCode}}"
    while not (found := docker("inspect", "--format", state, container)).startswith("exited"):
        assert time.monotonic() < deadline, docker("logs", container, check=False)
        time.sleep(0.2)
    return int(found.split()[1])


# A running service.


def train(service):
    """Trains, predicts, and returns the id of the model."""
    path = "/v1/learners/perceptron/train"
    job = service.expect(200, "POST", path, TOY, "text/x-libsvm", {"prefer": "wait=30"})
    assert job["status"] == "succeeded", job
    model = job["result"]["model"] if "model" in job["result"] else job["model"]
    predicts(service, model)
    return model


def predicts(service, model):
    body = {"unlabelled": {"examples": ["01001", "10110", "00001"]}}
    found = service.expect(200, "POST", f"/v1/models/{model}/predict", body)
    assert found["predictions"] == [1, -1, -1], found
    return model


def console(service):
    status, page = service.call("GET", "/", headers={"accept": "text/html"})
    if status in (301, 302, 303, 307, 308):
        status, page = service.call("GET", "/console", headers={"accept": "text/html"})
    assert status == 200 and b"<html" in page.lower(), f"{status} {page[:100]}"
    return f"{len(page)} bytes"


def stop_amid_work(service, services, start):
    """Stops processes during a session stream, an upload and a job, starts them, and compares the acknowledgements."""
    session = service.expect(201, "POST", "/v1/sessions", {"learner": {"name": "perceptron"}, "n": 3, "seed": 7})["id"]
    datasets = len(service.expect(200, "GET", "/v1/datasets")["items"])
    job = service.expect(
        202, "POST", "/v1/learners/perceptron/train?stop.max_seconds=20&stop.max_passes=1000000000", XOR, "text/x-libsvm",
        {"prefer": "wait=0"},
    )["id"]
    lines = itertools.cycle([b'{"x": "111", "y": 1}\n', b'{"x": "000", "y": -1}\n'])
    stream = Stream(service.port, f"/v1/sessions/{session}/examples", "application/x-ndjson", lines, True)
    upload = Stream(service.port, "/v1/datasets", "text/csv", itertools.repeat(b"1,0,1,1\n0,1,0,1\n" * 64), False)
    probe = Probe(service.port)
    containers = compose("ps", "--quiet", *services).split()
    begun = time.monotonic()
    compose("stop", *services)
    seconds = time.monotonic() - begun
    changes = probe.end()
    codes = [docker("inspect", "--format", "{{.State.ExitCode}}", container) for container in containers]
    stream.end()
    upload.end()
    assert set(codes) == {"0"}, f"exit codes {codes} after {seconds:.1f} s"
    assert seconds < GRACE_SECONDS, f"{seconds:.1f} s"
    # The proxy of several processes may find one that is ready still.
    assert len(services) > 1 or changes in ([200, 0], [200, 503, 0]), f"/readyz: {changes}"
    start()
    position = service.expect(200, "GET", f"/v1/sessions/{session}")["position"]
    assert stream.answered <= position <= stream.sent, f"{stream.answered} {position} {stream.sent}"
    kept = len(service.expect(200, "GET", "/v1/datasets")["items"])
    acknowledged = " 201 " in upload.status
    assert kept == datasets + acknowledged, f"{kept} datasets, {upload.status}"
    deadline = time.monotonic() + 90
    while (ended := service.expect(200, "GET", f"/v1/jobs/{job}"))["status"] in ("queued", "running"):
        assert time.monotonic() < deadline, ended
        time.sleep(0.5)
    assert ended["status"] == "succeeded", ended
    kept = f"{stream.answered} lines acknowledged, {position} kept"
    ready = " ".join(str(status or "closed") for status in changes)
    return f"exit 0 in {seconds:.1f} s; {kept}; upload: {upload.status or 'cut'}; /readyz: {ready}; the job succeeded"


def profile(name, service, model, start, services):
    row(f"{name}: the console is served", console, service)
    row(f"{name}: SIGTERM during a stream, an upload and a job", stop_amid_work, service, services, start)
    row(f"{name}: a restart keeps the model", predicts, service, model)


# The profiles.


def up(name, *services):
    compose("--profile", name, "up", "--detach", "--wait", "--wait-timeout", "240", *services)
    return "every service healthy"


def down():
    """Removes the containers and volumes of this run."""
    compose("--profile", "*", "down", "--volumes", "--timeout", "20", check=False)


def embedded(port):
    if not row("embedded: up --wait", up, "embedded"):
        return
    service, made = Client(port), []
    row("embedded: train and predict", lambda: made.append(train(service)))
    if made:
        profile("embedded", service, made[0], lambda: up("embedded"), ["halfspace"])
        row("embedded: backup and restore", restored_embedded, service, made[0])


def restored_embedded(service, model):
    compose("run", "--rm", "backup", "/backups/monday")
    later = train(service)
    compose("--profile", "embedded", "down")
    docker("volume", "rm", f"{PROJECT}_data")
    compose("run", "--rm", "restore", "monday")
    up("embedded")
    predicts(service, model)
    service.expect(404, "GET", f"/v1/models/{later}")
    return "the model of the copy predicts, a later model is absent"


def late_bucket():
    """Starts the processes 15 s before the bucket. The processes must wait instead of dying."""
    early = ["postgres", "api-1", "api-2", "worker-1", "worker-2", "proxy"]
    compose("--profile", "cluster", "up", "--detach", "--no-deps", *early)
    time.sleep(15)
    up("cluster")
    containers = compose("--profile", "cluster", "ps", "--quiet").split()
    restarts = docker("inspect", "--format", "{{.RestartCount}}", *containers).split()
    assert set(restarts) == {"0"}, restarts
    return f"{len(containers)} containers healthy, no restart"


def cluster(port):
    if not row("cluster: up --wait with S3 15 s late", late_bucket):
        return
    service, made = Client(port), []
    row("cluster: train and predict", lambda: made.append(train(service)))
    if made:
        processes = ["api-1", "api-2", "worker-1", "worker-2"]
        profile("cluster", service, made[0], lambda: up("cluster"), processes)
        row("cluster: backup and restore", restored_cluster, service, made[0], processes)
        row("cluster: a changed password", changed_password, service, made[0], processes)


def restored_cluster(service, model, processes):
    data = service.expect(201, "POST", "/v1/datasets?name=kept", TOY, "text/x-libsvm")["id"]
    pg_dump = ("exec", "-T", "postgres", "pg_dump", "--username=halfspace", "--format=custom", "halfspace")
    copy = compose(*pg_dump, body=b"")
    compose("run", "--rm", "bucket", "copy", "s3:halfspace", "/backups/monday-blobs")
    later = train(service)
    compose("stop", *processes)
    compose("exec", "-T", "postgres", "dropdb", "--username=halfspace", "--force", "halfspace")
    compose("exec", "-T", "postgres", "createdb", "--username=halfspace", "halfspace")
    pg_restore = ("exec", "-T", "postgres", "pg_restore", "--username=halfspace", "--exit-on-error")
    compose(*pg_restore, "--dbname=halfspace", body=copy)
    compose("run", "--rm", "bucket", "delete", "s3:halfspace")
    compose("run", "--rm", "bucket", "copy", "/backups/monday-blobs", "s3:halfspace")
    up("cluster")
    predicts(service, model)
    service.expect(404, "GET", f"/v1/models/{later}")
    status, text = service.call("GET", f"/v1/datasets/{data}/examples")
    assert status == 200 and len(text) > 0, f"{status} {text[:200]}"
    return "model and examples of the copy are served, a later model is absent"


def changed_password(service, model, processes):
    """Changes the password of the database and its file. The processes restart one by one."""
    psql = ("exec", "-T", "postgres", "psql", "--username=halfspace", "--command")
    compose(*psql, "ALTER ROLE halfspace PASSWORD 'changed'")
    # Sessions of the old password end.
    compose(*psql, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    status, _ = service.call("POST", "/v1/learners/perceptron/train", TOY, "text/x-libsvm", {"prefer": "wait=30"})
    assert status >= 500, f"{status} under the old password"
    Path(os.environ["SECRETS"], "database-password").write_text("changed")
    for process in processes:
        compose("restart", process)
    up("cluster")
    predicts(service, model)
    train(service)
    return "the file without a newline counts after a restart"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program")
    parser.add_argument("--stand-ins", action="store_true")
    settings = parser.parse_args()
    port = free_port()
    os.environ.pop("BACKUPS", None)
    secrets = tempfile.TemporaryDirectory(dir=TARGET)
    shutil.copytree(ROOT / "deploy/secrets", secrets.name, dirs_exist_ok=True)
    # The user of the service must be able to read the files.
    os.chmod(secrets.name, 0o755)
    os.environ.update(PORT=str(port), MEMORY_LIMIT="1g", SECRETS=secrets.name)
    try:
        if row("image: build", build, settings.program):
            row("image: at most 110 MB", size)
            row("image: labels and user", labels)
            # A built program comes without its list.
            if settings.program is None:
                row("image: list of components", components)
            row("image: arbitrary user, read-only root, no /tmp", arbitrary_user)
            row("image: secrets from files", secret_files)
            row("image: limits change while the service runs", changed_limits)
            row("image: the health check of a frozen process", frozen)
            embedded(port)
            down()
            cluster(port)
    finally:
        down()
        secrets.cleanup()
    print(f"\n{'check':52} {'verdict':8} {'seconds':>7}  note")
    for name, verdict, seconds, note in ROWS:
        print(f"{name:52} {verdict:8} {seconds:7.1f}  {note}")
    if settings.stand_ins:
        print("Stand-ins: the base images are Debian's and this machine's toolchain; PostgreSQL, HAProxy and rclone are"
              " Debian's; moto replaces SeaweedFS.")
    sys.exit(any(verdict == "FAILED" for _, verdict, _, _ in ROWS))


if __name__ == "__main__":
    main()
