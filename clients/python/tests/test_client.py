"""The clients against a running service."""

import asyncio
import importlib.util
import inspect
import json
import random
import socket
import threading
from pathlib import Path
from typing import Any

import halfspace
import numpy as np
import pytest
from halfspace import data, operations, process

PACKAGE = Path(__file__).parents[1]
RANDOM = random.Random(1)
X = [[RANDOM.randint(0, 1) for _ in range(7)] for _ in range(200)]
Y = [1 if sum(row) > 3 else -1 for row in X]


def generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate", PACKAGE / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_generated_files_are_those_of_the_document() -> None:
    for name, text in generator().generated().items():
        assert (PACKAGE / "python/halfspace" / name).read_text() == text, f"{name}: run generate.py"


def test_both_clients_have_a_method_for_each_operation() -> None:
    document = json.loads(generator().DOCUMENT.read_text())
    items = [operation for item in document["paths"].values() for operation in item.values()]
    ids = {operation["operationId"] for operation in items if isinstance(operation, dict)}
    for kind in (operations.Operations, operations.AsyncOperations):
        methods = {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}
        assert methods == ids


def test_a_training_has_a_typed_result_and_a_model(client: halfspace.Client, tmp_path: Path) -> None:
    job = client.train(X, Y, learner="perceptron", holdout=0.2, seed=1, progress=False, assume="independent")
    assert job.result.training.errors == 0 and job.result.mistakes > 0
    assert any("error of the hypothesis is at most" in one.statement for one in job.certificates)
    model = job.model
    assert model.predict(X) == Y
    assert all((score >= 0) == (label == 1) for score, label in zip(model.predict_scores(X), Y))
    assert model.evaluate(X, Y).errors == 0
    assert len(model.explain(top=3).terms) == 3
    assert "def predict" in model.code("python")
    model.save(tmp_path / "model.json")
    assert client.load_model(tmp_path / "model.json").predict(X) == Y
    assert job.trace.mistakes[-1] == job.result.mistakes
    assert job.trace.plot().get_ylabel() == "mistakes"
    for thing in (job, model):
        assert "<table>" in thing._repr_html_()


@pytest.mark.parametrize("kind", ["lists", "numpy", "sparse", "pandas", "polars", "file"])
def test_all_kinds_of_data_give_one_hypothesis(client: halfspace.Client, kind: str, tmp_path: Path) -> None:
    import pandas
    import polars
    import scipy.sparse

    array, labels = np.array(X), np.array(Y)
    file = tmp_path / "rows.csv"
    file.write_text("".join(f"{y},{','.join(map(str, x))}\n" for x, y in zip(X, Y)))
    names = [f"x{j}" for j in range(7)]
    forms: dict[str, tuple[Any, Any]] = {
        "lists": (X, Y),
        "numpy": (array, labels),
        "sparse": (scipy.sparse.csr_matrix(array), labels),
        "pandas": (pandas.DataFrame(array, columns=names), pandas.Series(labels)),
        "polars": (polars.DataFrame(array, schema=names), labels.reshape(-1, 1)),
        "file": (file, None),
    }
    job = client.train(*forms[kind], learner="perceptron", reading="unsigned", progress=False)
    expected = client.train(X, Y, learner="perceptron", reading="unsigned", progress=False)
    assert job.result.hypothesis.weights == expected.result.hypothesis.weights


def test_a_frame_of_texts_predicts_class_names(client: halfspace.Client) -> None:
    import pandas

    colours = ["red", "green", "blue"]
    frame = pandas.DataFrame({"colour": [colours[i % 3] for i in range(90)], "size": [i % 4 for i in range(90)]})
    classes = ["edible" if row.colour == "red" else "poisonous" for row in frame.itertuples()]
    model = client.train(frame, classes, learner="perceptron", positive="poisonous", numbers="thermometer", progress=False).model
    assert model.predict(frame) == classes


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1, 0], [1]], [1, -1], "different lengths"),
        ([[1, 0], [1, 1]], [1], "2 examples, but y has 1"),
        ([1, 0], [1, -1], "one dimension"),
        ([], [], "no examples"),
        ([[1], [0]], [1, None], "label is missing"),
    ],
)
def test_bad_data_are_refused_before_they_are_sent(X: Any, y: Any, message: str) -> None:
    with pytest.raises(halfspace.DataError, match=message):
        data.content(X, y)


def test_bad_frames_are_refused_before_they_are_sent() -> None:
    import pandas

    twice = pandas.DataFrame([[1, 0]], columns=["a", "a"])
    with pytest.raises(halfspace.DataError, match="several columns of the name 'a'"):
        data.content(twice, [1])
    index = pandas.DataFrame([[1, 0]], columns=pandas.MultiIndex.from_tuples([("a", "b"), ("a", "c")]))
    with pytest.raises(halfspace.DataError, match="MultiIndex"):
        data.content(index, [1])
    mixed = pandas.DataFrame({"a": [1, "x"]})
    with pytest.raises(halfspace.DataError, match="mixes numbers and texts"):
        data.content(mixed, [1, -1])


def test_a_comparison_trains_the_best(client: halfspace.Client) -> None:
    found = client.compare(X, Y, learners=["perceptron", "winnow"], folds=3, seed=1, max_passes=50, progress=False)
    assert [one.name for one in found.result.learners] == ["perceptron", "winnow"]
    assert found.figure().startswith("<")
    assert len(found.model.predict(X)) == len(X)
    assert "perceptron" in found._repr_html_()


def test_a_session_learns_in_portions_and_saves_a_model(client: halfspace.Client) -> None:
    with client.session("perceptron", 7) as session:
        answers = list(session.stream(zip(X * 20, Y * 20)))
        assert len(answers) == 4000 and answers[-1].position == 4000
        assert session.predict(X[:5]) == session.save_model("last").predict(X[:5])


def test_a_session_goes_on_after_the_service_was_killed(tmp_path: Path) -> None:
    port = free_port()
    first = process.LocalService(tmp_path, "--listen", f"127.0.0.1:{port}")
    client = halfspace.connect(first.address)
    session = client.session("perceptron", 7)
    pairs = [(X[i % 200], Y[i % 200]) for i in range(100_000)]
    seen, again = 0, []
    for answer in session.stream(pairs):
        seen += 1
        if seen == 30_500:
            first.process.kill()
            first.process.wait()
            again.append(process.LocalService(tmp_path, "--listen", f"127.0.0.1:{port}"))
    assert seen == 100_000
    assert client.get_session(session.id).position == 100_000
    again[0].close()


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


class CuttingProxy:
    """A proxy that cuts connections at random places."""

    def __init__(self, address: str, seed: int) -> None:
        host, port = address.removeprefix("http://").split(":")
        self.target = (host, int(port))
        self.random = random.Random(seed)
        self.cuts = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(self.target)
            budget = self.random.choice([300, 1500, 4000])
            for source, sink, limit in ((near, far, 10**9), (far, near, budget)):
                threading.Thread(target=self.pump, args=(source, sink, limit), daemon=True).start()

    def pump(self, source: socket.socket, sink: socket.socket, limit: int) -> None:
        try:
            while chunk := source.recv(4096):
                if len(chunk) > limit:
                    self.cuts += 1
                    break
                limit -= len(chunk)
                sink.sendall(chunk)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def test_a_retry_never_makes_a_thing_twice(client: halfspace.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halfspace.requests.TRIES", 50)
    proxy = CuttingProxy(client.address, 3)
    through = halfspace.connect(proxy.address)
    made = {through.dataset(X, Y, name=f"proxy-{number}").id for number in range(40)}
    assert proxy.cuts > 10
    stored = {one.id for one in names(client) if (one.name or "").startswith("proxy-")}
    assert stored == made and len(made) == 40


def names(client: halfspace.Client) -> list[Any]:
    found, cursor = [], None
    while True:
        page = client.list_datasets(limit=100, cursor=cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


def test_a_thousand_requests_at_once(client: halfspace.Client) -> None:
    async def run() -> list[Any]:
        async with halfspace.connect_async(client.address) as service:
            return await asyncio.gather(*(service.get_learner("winnow") for _ in range(1000)))

    assert {one.name for one in asyncio.run(run())} == {"winnow"}


def test_a_coroutine_trains(client: halfspace.Client) -> None:
    async def run() -> Any:
        async with halfspace.connect_async(client.address) as service:
            return await service.train(X, Y, learner="perceptron")

    assert asyncio.run(run()).result.training.errors == 0


def test_no_server_is_named_by_the_address() -> None:
    address = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(halfspace.Unreachable, match=address):
        halfspace.connect(address)


def test_refusals_are_typed(client: halfspace.Client) -> None:
    with pytest.raises(halfspace.NotFound, match="did you mean `perceptron`"):
        client.train(X, Y, learner="perceptrom", progress=False)
    with pytest.raises(halfspace.Problem, match="did you mean `eta`") as refused:
        client.train(X, Y, learner="perceptron", etta=1, progress=False)
    assert refused.value.code == "invalid-parameter" and refused.value.status == 400


def test_another_release_is_announced(client: halfspace.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halfspace.requests.VERSION", "99.0.0")
    with pytest.warns(UserWarning, match="older than this client"):
        halfspace.connect(client.address)
