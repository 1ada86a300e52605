"""The service beside MLServer, FastAPI with scikit-learn, and an empty handler, over HTTP and in real time.

One client on the same machine sends the load of all servers. Requests of one example come over 16 connections at once,
and requests of a thousand examples over one. Arguments select works by a part of their name, for example `winnow`.
"""

import json
import os
import sys
import tempfile
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import joblib
import numpy as np
from sklearn.linear_model import Perceptron

from processes import TARGET, Worker, direct, example, free_port, serving, serving_ours
from table import Table

N = 256
ROUNDS = 9
LEARNERS = (
    ("perceptron", "uniform", {"binary_weights": {}}),
    ("directed-drift", "uniform-positive", {"binary_weights": {}}),
    ("winnow", "uniform", {"disjunction": {"size": 5}}),
    ("kernel-perceptron", "uniform", {"binary_weights": {}}),
)


class Client:
    """The example `peer_services` as a process that sends loads."""

    def __init__(self):
        self.worker = Worker(example("peer_services"))

    def one(self, address, path, body, requests):
        """Seconds per request of one example. Each connection sends so many requests."""
        return self.load(address, path, body, size=1, connections=16, requests=requests)

    def batch(self, address, path, body, requests):
        return self.load(address, path, body, size=1_000, connections=1, requests=requests)

    def load(self, address, path, body, **rest):
        request = {"address": address, "path": path, "body": body, "n": N, **rest}
        return lambda: self.worker.ask(request)["seconds"]


def serving_empty(folder):
    port = free_port()
    return serving([example("peer_services"), "empty", f"127.0.0.1:{port}"], port, "/", folder / "empty.log")


def serving_fastapi(model):
    """Runs uvicorn with its fast loop and parser, and a process per core."""
    port = free_port()
    parts = ["--loop=uvloop", "--http=httptools", f"--workers={os.cpu_count()}", "--log-level=warning"]
    application = ["fastapi_service:app", f"--app-dir={Path(__file__).parent}"]
    command = [sys.executable, "-m", "uvicorn", *application, f"--port={port}", *parts, "--no-access-log"]
    env = {**os.environ, "PEER_MODEL": str(model)}
    return serving(command, port, "/ready", model.with_name("fastapi.log"), env)


def serving_mlserver(model):
    """Runs MLServer with its runtime for scikit-learn, which computes in the process of the HTTP server.

    A second process does not start with the present version of uvloop.
    """
    port = free_port()
    settings = {
        "host": "127.0.0.1", "http_port": port, "grpc_port": free_port(), "metrics_endpoint": None, "debug": False,
        "parallel_workers": 0,
    }
    served = {
        "name": "peer", "implementation": "mlserver_sklearn.SKLearnModel", "parameters": {"uri": f"./{model.name}"},
    }
    model.with_name("settings.json").write_text(json.dumps(settings))
    model.with_name("model-settings.json").write_text(json.dumps(served))
    command = [TARGET / "mlserver/bin/mlserver", "start", model.parent]
    return serving(command, port, "/v2/models/peer/ready", model.with_name("mlserver.log"))


def peers_model(folder):
    random = np.random.default_rng(1)
    x = random.integers(0, 2, (2_000, N)).astype(float)
    y = (2 * x - 1) @ random.choice([-1, 1], N) >= 0
    model = folder / "model.joblib"
    joblib.dump(Perceptron().fit(x, y.astype(int)), model)
    return model


def our_model(address, learner, sampling, target):
    """Trains a model and returns its id."""
    sample = {"n": N, "target": target, "sampling": sampling, "count": 2_000}
    request = urllib.request.Request(
        f"http://{address}/v1/learners/{learner}/train?seed=1&stop.max_passes=1",
        json.dumps({"generated": sample}).encode(), {"content-type": "application/json"},
    )
    with direct.open(request) as answer:
        return json.load(answer)["result"]["model"]


def works(table, client, ours, empty, learner, model):
    """Rows of one learner beside the empty handler. Returns our sides of the rows that have other peers too."""
    predict, infer = f"/v1/models/{model}/predict", f"/v2/models/{model}/infer"
    strings = client.batch(ours, predict, "bit_strings", 50)
    batch = client.batch(ours, infer, "tensor", 50)
    sides = {}
    for kind, path, body in (("predict", predict, "bit_strings"), ("OIP JSON", infer, "tensor")):
        side = sides[kind] = client.one(ours, path, body, 500)
        nothing = client.one(empty, "/", body, 500)
        table.compare(f"{kind}, 1 x {N}, {learner}", "empty handler", 0.85, nothing, side, "req", ROUNDS)
    for kind, path, body in (("predict", predict, "bit_strings"), ("NDJSON", predict, "lines")):
        side = client.batch(ours, path, body, 50)
        nothing = client.batch(empty, "/", body, 50)
        table.compare(f"{kind}, 1,000 x {N}, {learner}", "empty handler", None, nothing, side, "req", ROUNDS)
    work = f"OIP JSON, 1,000 x {N}, {learner}"
    nothing = client.batch(empty, "/", "tensor", 50)
    table.compare(work, "empty handler", None, nothing, batch, "req", ROUNDS)
    table.compare(work, "bit strings, ours", 0.7, strings, batch, "req", ROUNDS)
    return {**sides, "batch": batch}


def peers(table, client, sides, learner, name, address, path, goal):
    """Rows beside a peer, which gets tensors for all works. A slow peer gets fewer requests."""
    one, batch = client.one(address, path, "tensor", 40), client.batch(address, path, "tensor", 10)
    for kind in ("predict", "OIP JSON"):
        table.compare(f"{kind}, 1 x {N}, {learner}", name, None, one, sides[kind], "req", ROUNDS)
    table.compare(f"OIP JSON, 1,000 x {N}, {learner}", name, goal, batch, sides["batch"], "req", ROUNDS)


def main():
    client = Client()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=TARGET)))
        ours = stack.enter_context(serving_ours(folder))
        empty = stack.enter_context(serving_empty(folder))
        model = peers_model(folder)
        fastapi = stack.enter_context(serving_fastapi(model))
        mlserver = stack.enter_context(serving_mlserver(model))
        table = Table("services: all cores, real time, medians of alternating pairs")
        for learner, *rest in LEARNERS:
            sides = works(table, client, ours, empty, learner, our_model(ours, learner, *rest))
            if learner == "perceptron":
                peers(table, client, sides, learner, "MLServer", mlserver, "/v2/models/peer/infer", 5)
                peers(table, client, sides, learner, "FastAPI", fastapi, "/infer", None)
    return table.missed


if __name__ == "__main__":
    print(f"\n{main()} goals of this table are not met")
