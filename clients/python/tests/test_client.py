"""The clients against a running service."""

import asyncio
import gzip
import importlib.util
import inspect
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import halfspace
import numpy as np
import pandas
import pytest
from halfspace import data, operations, process, requests, resources

from network import CuttingProxy, free_port

T = TypeVar("T")
PACKAGE = Path(__file__).parents[1]
RANDOM = random.Random(1)
X = [[RANDOM.randint(0, 1) for _ in range(7)] for _ in range(200)]
Y = [1 if sum(row) > 3 else -1 for row in X]


def weights(job: halfspace.Job[halfspace.types.TrainResult]) -> list[float]:
    hypothesis = job.result.hypothesis
    assert isinstance(hypothesis, halfspace.types.LinearHypothesis)
    return hypothesis.weights


def generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate", PACKAGE / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_client_files_match_the_openapi_document() -> None:
    for name, text in generator().generated().items():
        assert (PACKAGE / "python/halfspace" / name).read_text() == text, f"{name}: run generate.py"


def test_both_clients_have_a_method_for_each_api_operation() -> None:
    document = json.loads(generator().DOCUMENT.read_text())
    items = [operation for item in document["paths"].values() for operation in item.values()]
    ids = {operation["operationId"] for operation in items if isinstance(operation, dict)}
    for kind in (operations.Operations, operations.AsyncOperations):
        methods = {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}
        assert methods == ids


def test_a_training_has_a_typed_result_and_a_model(client: halfspace.Client, tmp_path: Path) -> None:
    job = client.train(X, Y, learner="perceptron", holdout=0.2, seed=1, progress=False, assume="independent")
    assert job.result.training and job.result.training.errors == 0 and job.result.mistakes > 0
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


@pytest.mark.parametrize("kind", ["lists", "numpy", "sparse", "pandas", "polars", "file", "parquet"])
def test_train_gives_one_hypothesis_for_all_kinds_of_data(client: halfspace.Client, kind: str, tmp_path: Path) -> None:
    import pandas
    import polars
    import scipy.sparse

    array, labels = np.array(X), np.array(Y)
    file = tmp_path / "rows.csv"
    names = [f"x{j}" for j in range(7)]
    rows = "".join(f"{y},{','.join(map(str, x))}\n" for x, y in zip(X, Y))
    file.write_text(f"label,{','.join(names)}\n{rows}")
    frame = polars.DataFrame(array, schema=names)
    frame.with_columns(label=polars.Series(labels)).write_parquet(tmp_path / "rows.parquet")
    forms: dict[str, tuple[Any, Any]] = {
        "lists": (X, Y),
        "numpy": (array, labels),
        "sparse": (scipy.sparse.csr_matrix(array), labels),
        "pandas": (pandas.DataFrame(array, columns=names), pandas.Series(labels)),
        "polars": (frame, labels.reshape(-1, 1)),
        "file": (file, None),
        "parquet": (tmp_path / "rows.parquet", None),
    }
    job = client.train(*forms[kind], learner="perceptron", reading="unsigned", progress=False)
    expected = client.train(X, Y, learner="perceptron", reading="unsigned", progress=False)
    assert weights(job) == weights(expected)


def test_a_frame_of_texts_predicts_class_names(client: halfspace.Client) -> None:
    import pandas

    colours = ["red", "green", "blue"]
    frame = pandas.DataFrame({"colour": [colours[i % 3] for i in range(90)], "size": [i % 4 for i in range(90)]})
    classes = ["edible" if colour == "red" else "poisonous" for colour in frame["colour"]]
    model = client.train(frame, classes, learner="perceptron", positive="poisonous", numbers="thermometer", progress=False).model
    assert model.predict(frame) == classes


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1, 0], [1]], [1, -1], "row 1 of X has the length 1"),
        ([[1, 0], [1, 1]], [1], "2 examples, but y has 1"),
        ([1, 0], [1, -1], "one dimension"),
        (np.zeros(4), [1, -1, 1, 1], r"the shape \(4,\)"),
        (np.zeros((2, 2, 2)), [1, -1], r"the shape \(2, 2, 2\)"),
        (np.zeros((2, 2), dtype=complex), [1, -1], "type complex"),
        ({"a": [1, 0]}, [1, -1], "a dict"),
        (None, [1, -1], "a NoneType"),
        ([], [], "no examples"),
        ([[1], [0]], [1, None], "label of row 1 is missing"),
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


@pytest.mark.parametrize("kind", ["column", "texts", "categories", "booleans", "objects"])
def test_labels_of_every_kind_give_one_hypothesis(client: halfspace.Client, kind: str) -> None:
    import pandas

    array = np.array(Y)
    forms: dict[str, tuple[Any, dict[str, Any]]] = {
        "column": (array.reshape(-1, 1), {}),
        "texts": (np.where(array > 0, "yes", "no"), {"positive": "yes"}),
        "categories": (pandas.Series(np.where(array > 0, "yes", "no")).astype("category"), {"positive": "yes"}),
        "booleans": (array > 0, {}),
        "objects": (array.astype(object), {}),
    }
    labels, options = forms[kind]
    job = client.train(X, labels, learner="perceptron", progress=False, **options)
    expected = client.train(X, Y, learner="perceptron", progress=False)
    assert weights(job) == weights(expected)


def test_a_missing_cell_is_a_value_of_its_own_or_refused(client: halfspace.Client) -> None:
    array = np.array(X, dtype=float)
    array[3, 2] = np.nan
    model = client.train(array, Y, learner="winnow", max_passes=20, progress=False).model
    assert len(model.predict(array)) == 200
    with pytest.raises(halfspace.Problem, match="`x3` has no value in row 4"):
        client.train(array, Y, learner="winnow", missing="refuse", progress=False)
    with pytest.raises(halfspace.Problem, match="numbers=thermometer"):
        client.train(array + 0.5, Y, learner="winnow", progress=False)


@pytest.mark.parametrize("names", [range(7), [str(i) for i in range(7)], list("abcdefg")])
def test_column_names_of_a_frame_are_not_read_as_an_example(client: halfspace.Client, names: Any) -> None:
    frame = pandas.DataFrame(np.array(X), columns=list(names))
    model = client.train(frame, Y, learner="perceptron", progress=False).model
    assert model.predict(frame) == Y and model.evaluate(frame, Y).errors == 0
    assert client.dataset(frame, Y).document.examples == 200


def test_dataset_is_accepted_in_place_of_examples(client: halfspace.Client) -> None:
    stored = client.dataset(X, Y)
    job = client.train(stored, learner="perceptron", progress=False)
    assert weights(job) == weights(client.train(X, Y, learner="perceptron", progress=False))
    assert job.model.predict(stored) == Y and job.model.evaluate(stored).errors == 0
    compared = client.compare(stored, learners=["perceptron"], folds=2, progress=False)
    assert compared.result.best == 0
    with pytest.raises(halfspace.DataError, match="leave y out"):
        client.train(stored, Y, learner="perceptron", progress=False)


def test_labels_from_two_sources_are_refused(client: halfspace.Client) -> None:
    import scipy.sparse

    frame = pandas.DataFrame(np.array(X), columns=list("abcdefg"))
    with pytest.raises(halfspace.DataError, match="not from both"):
        client.train(frame, Y, labels="a", learner="perceptron", progress=False)
    with pytest.raises(halfspace.DataError, match="give y"):
        client.train(scipy.sparse.csr_matrix(np.array(X)), learner="perceptron", progress=False)


def test_data_errors_name_their_row_or_column(client: halfspace.Client) -> None:
    array = np.array(X, dtype=float)
    array[3, 1] = np.inf
    faults: list[tuple[Any, Any, str]] = [
        (array, Y, "'x2' holds an infinite number in row 3"),
        ([[1, 0], [1]], [1, 0], "row 1 of X has the length 1"),
        (X, [*Y[:5], None, *Y[6:]], "label of row 5 is missing"),
        ([["a\nb", 1], ["c", 0]], [1, 0], "line break"),
        (pandas.DataFrame({"a": [[1], [2]]}), [1, 0], "row 0 of X in the column 'a' holds a list"),
    ]
    for examples, labels, message in faults:
        with pytest.raises(halfspace.DataError, match=message):
            client.train(examples, labels, learner="perceptron", progress=False)


def test_dataset_reads_a_compressed_file(client: halfspace.Client, tmp_path: Path) -> None:
    lines = "".join(",".join(map(str, [*row, label])) + "\n" for row, label in zip(X, Y))
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(lines.encode()))
    assert client.dataset(path, labels="last").document.examples == 200


def test_predict_scores_asks_again_in_parts_for_missing_scores(client: halfspace.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    model = client.train(X, Y, learner="perceptron", progress=False).model
    whole, sizes, predict = model.predict_scores(X), [], client.predict_model

    def without_scores(id: str, body: Any) -> halfspace.types.Predictions:
        found = predict(id, body)
        sizes.append(len(found.predictions))
        return halfspace.types.Predictions(predictions=found.predictions) if sizes[-1] > 60 else found

    monkeypatch.setattr(client, "predict_model", without_scores)
    assert model.predict_scores(X) == whole and max(sizes[3:]) <= 100


def test_predict_reads_a_file_of_lines_and_raises_late_errors(client: halfspace.Client, tmp_path: Path) -> None:
    model = client.train(X, Y, learner="perceptron", progress=False).model
    path = tmp_path / "rows.ndjson"
    path.write_text("".join(json.dumps({"x": row}) + "\n" for row in X))
    assert model.predict(path) == Y
    path.write_text(json.dumps({"x": X[0]}) + "\n" + json.dumps({"x": [1]}) + "\n")
    with pytest.raises(halfspace.Problem, match="1"):
        model.predict(path)


def test_scores_of_all_classes_come_in_lines_and_in_parts(
    client: halfspace.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    classes = ["few" if sum(row) < 3 else "some" if sum(row) < 5 else "many" for row in X]
    model = client.train(X, classes, learner="perceptron", max_passes=3, progress=False).model
    whole = model.predictions(X, scores="all")
    assert whole.class_scores and whole.margins
    for scores, prediction, score, margin in zip(
        whole.class_scores, whole.predictions, whole.scores or [], whole.margins
    ):
        # The signed sums of whole weights are far below 2^53.
        numbers = [float(one or 0) for one in scores]
        assert numbers[prediction] == score == max(numbers)
        assert margin == numbers[prediction] - max(numbers[:prediction] + numbers[prediction + 1 :])
    path = tmp_path / "rows.ndjson"
    path.write_text("".join(json.dumps({"x": row}) + "\n" for row in X))
    lines = model.predictions(path, scores="all")
    predict = client.predict_model

    def without_scores(id: str, body: Any) -> halfspace.types.Predictions:
        found = predict(id, body)
        return found if len(found.predictions) <= 60 else halfspace.types.Predictions(predictions=found.predictions)

    monkeypatch.setattr(client, "predict_model", without_scores)
    for found in (lines, model.predictions(X, scores="all")):
        found.table = whole.table
        assert found == whole
    ranked = model.predictions(X, scores="top=2")
    ranking = model.predictions(path, scores="top=2").ranking
    assert ranked.ranking == ranking and ranking and len(ranking[0]) == 2
    none = model.predictions(X, scores="none")
    assert none.scores is None and none.predictions == whole.predictions


def test_large_scores_are_infinite() -> None:
    assert resources.fraction("-1" + "0" * 400) == -np.inf and resources.fraction("1" + "0" * 400) == np.inf


def test_parameters_are_written_as_query_text() -> None:
    assert requests.text_of(np.bool_(True)) == "true" and requests.text_of(np.int64(5)) == "5"
    assert requests.text_of(["a,b", "c"]) == '"a,b",c'
    assert requests.text_of({"a:b": "number", "c": "nominal"}) == '"a:b":number,c:nominal'


def test_a_key_stays_out_of_errors(client: halfspace.Client) -> None:
    with halfspace.connect(client.address.removeprefix("http://"), key="secret\n") as again:
        assert again.headers == {"authorization": "Bearer secret"}
    with pytest.raises(halfspace.HalfspaceError) as caught:
        halfspace.connect(client.address, key="secr\u00e9t")
    assert "secr" not in str(caught.value)


def test_connect_refuses_an_address_that_is_no_service(client: halfspace.Client) -> None:
    with pytest.raises(halfspace.HalfspaceError, match="is not the address of a halfspace service"):
        halfspace.connect(client.address + "/v1")


def test_a_killed_program_takes_its_service_along() -> None:
    code = "import halfspace, time\nprint(halfspace.local().service.process.pid, flush=True)\ntime.sleep(60)"
    script = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert script.stdout
    service = int(script.stdout.readline())
    script.kill()
    script.wait()
    until(lambda: not is_running(service))


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_explicit_zeros_of_a_sparse_matrix_are_zeros(client: halfspace.Client) -> None:
    import scipy.sparse

    sparse = scipy.sparse.csr_matrix(np.ones((200, 7)))
    sparse.data[:] = np.array(X).ravel()
    assert sparse.nnz == 1400 > np.count_nonzero(np.array(X))
    job = client.train(sparse, Y, learner="perceptron", progress=False)
    expected = client.train(X, Y, learner="perceptron", progress=False)
    assert weights(job) == weights(expected)


def test_compare_trains_the_best_learner(client: halfspace.Client) -> None:
    found = client.compare(X, Y, learners=["perceptron", "winnow"], folds=3, seed=1, max_passes=50, progress=False)
    assert [one.name for one in found.result.learners] == ["perceptron", "winnow"]
    assert found.figure().startswith("<")
    assert len(found.model.predict(X)) == len(X)
    assert "perceptron" in found._repr_html_()


def test_stratified_parts_have_their_sizes_and_no_certificate(client: halfspace.Client) -> None:
    X = [[int(bit) for bit in f"{row:07b}"] for row in range(100)]
    y = ["rare" if row % 10 == 3 else "common" for row in range(100)]
    job = client.train(X, y, learner="perceptron", holdout=0.5, stratify=True, seed=1, progress=False)
    assert job.result.holdout and job.result.holdout.examples == 50
    assert "stratify" in (job.result.certificates_withheld or [])[0].reason
    found = client.compare(X, y, learners=["perceptron"], folds=10, stratify=True, seed=1, progress=False)
    assert [fold.examples for fold in found.result.learners[0].folds] == [10] * 10


def test_one_class_of_a_stored_dataset_is_told_from_the_others(client: halfspace.Client) -> None:
    y = ["red", "green", "blue"] * 5
    X = [[int(name == own) for name in ("red", "green", "blue")] for own in y]
    dataset = client.dataset(X, y)
    for learner in ("perceptron", "pocket"):
        job = client.train(dataset, learner=learner, positive="green", seed=1, progress=False)
        assert job.result.training and job.result.training.errors == 0
        assert client.get_model(str(job.result.model)).classes == ["not green", "green"]
    found = client.compare(dataset, learners=["perceptron", "pocket"], positive="blue", assume="independent", seed=1, progress=False)
    assert all(learner.unfit is None for learner in found.result.learners)


def test_the_queue_and_the_processes_are_typed(client: halfspace.Client) -> None:
    queue = client.get_queue()
    assert [one.owner for one in queue.owners if one.own] in ([], ["anonymous"])
    assert queue.running == sum(one.running for one in queue.owners)
    (worker,) = client.list_workers().items
    assert worker.role == "all" and worker.workers >= 1
    assert worker.started_at <= worker.seen_at


def test_retry_never_creates_a_resource_twice(client: halfspace.Client, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_async_client_makes_a_thousand_requests_at_once(client: halfspace.Client) -> None:
    async def run() -> list[Any]:
        async with halfspace.connect_async(client.address) as service:
            return await asyncio.gather(*(service.get_learner("winnow") for _ in range(1000)))

    assert {one.name for one in asyncio.run(run())} == {"winnow"}


def test_async_client_trains(client: halfspace.Client) -> None:
    async def run() -> Any:
        async with halfspace.connect_async(client.address) as service:
            return await service.train(X, Y, learner="perceptron")

    assert asyncio.run(run()).result.training.errors == 0


def test_unreachable_error_names_the_address() -> None:
    address = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(halfspace.Unreachable, match=address):
        halfspace.connect(address)


def test_problems_are_typed_exceptions(client: halfspace.Client) -> None:
    with pytest.raises(halfspace.NotFound, match="did you mean `perceptron`"):
        client.train(X, Y, learner="perceptrom", progress=False)
    with pytest.raises(halfspace.Problem, match="did you mean `params.eta`") as refused:
        client.train(X, Y, learner="perceptron", etta=1, progress=False)
    assert refused.value.code == "invalid-parameter" and refused.value.status == 400


def test_a_wrong_key_is_refused(tmp_path: Path) -> None:
    with halfspace.local(tmp_path) as service:
        command = [process.program(), "keys", "create", "--name", "mine", "--data-dir", str(tmp_path)]
        made = subprocess.run(command, capture_output=True, text=True, check=True)
        key = made.stdout.split()[-1]
        wrong = halfspace.connect(service.address, key[:-1] + ("a" if key[-1] != "a" else "b"))
        until(lambda: is_refused(wrong))
        with pytest.raises(halfspace.Unauthorized, match="key"):
            wrong.train(X, Y, learner="perceptron")
        with halfspace.connect(service.address, key) as mine:
            assert mine.list_jobs().items == []
            session = mine.session("perceptron", 2)
            assert session.learn([1, 0], 1)
        with pytest.raises(halfspace.Unauthorized):
            halfspace.Session(halfspace.connect(service.address), session.document).learn([1, 0], 1)


def running(client: halfspace.Client, name: str) -> Any:
    return next((job for job in client.list_jobs().items if job.name == name and job.status == "running"), None)


def is_refused(client: halfspace.Client) -> bool:
    try:
        client.list_jobs()
    except halfspace.Unauthorized:
        return True
    return False


def test_ctrl_c_leaves_the_job_and_a_second_one_cancels(client: halfspace.Client) -> None:
    code = """
import halfspace, random, sys
X = [[random.randint(0, 1) for _ in range(20)] for _ in range(500)]
Y = [random.choice([1, -1]) for _ in X]
client = halfspace.connect(sys.argv[1])
ask = client.get_job
client.get_job = lambda *given, **named: (print("waits", flush=True), ask(*given, **named))[1]
client.train(X, Y, learner="perceptron", max_passes=10**9, progress=False, name=sys.argv[2])
"""
    for name, presses in (("left", 1), ("cancelled", 2)):
        command = [sys.executable, "-c", code, client.address, name]
        script = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert script.stdout and script.stderr
        # The creation of the job has been answered once the script waits.
        assert script.stdout.readline() == "waits\n"
        job = until(lambda: running(client, name))
        script.send_signal(signal.SIGINT)
        while f"The job {job.id} continues" not in script.stderr.readline():
            assert script.poll() is None
        if presses == 2:
            script.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in script.stderr.read()
        script.wait()
        if presses == 2:
            until(lambda: client.get_job(job.id).status == "cancelled")
        else:
            assert client.get_job(job.id).status == "running"
            client.cancel_job(job.id)


def until(found: Callable[[], T | None]) -> T:
    """The first value that is true."""
    for _ in range(600):
        if value := found():
            return value
        time.sleep(0.05)
    raise AssertionError("nothing happened within 30 s")


def test_full_disk_is_reported_as_a_typed_problem(tmp_path: Path) -> None:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", tmp_path], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no small disk: {mounted.stderr.strip()}")
    try:
        # The default quotas follow the disk, and would refuse before it is full.
        quotas = ("--stored-bytes-max", str(1 << 41))
        with halfspace.local(tmp_path / "data", *quotas) as service:
            rows = np.random.default_rng(1).integers(0, 2, (3000, 300))
            with pytest.raises(halfspace.Problem, match="disk of the store is full") as refused:
                for _ in range(40):
                    service.dataset(rows, rows[:, 0])
            assert refused.value.code == "storage-full"
            assert len(service.list_datasets().items) > 3
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_connect_warns_of_another_release(client: halfspace.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halfspace.requests.VERSION", "99.0.0")
    with pytest.warns(UserWarning, match="older than this client"):
        halfspace.connect(client.address)


def test_explanations_name_the_class(client: halfspace.Client) -> None:
    classes = ["few" if sum(row) < 3 else "some" if sum(row) < 5 else "many" for row in X]
    model = client.train(X, classes, learner="perceptron", max_passes=3, progress=False).model
    for name in set(classes):
        found = model.explain(top=2, class_=name)
        assert found == client.get_model_explanation(model.id, top=2, class_=name)
        assert len(found.terms) == 2 and f"The class {name} " in found.rule
    calls: list[Callable[[], Any]] = [model.explain, lambda: client.get_model_explanation(model.id)]
    for explain in calls:
        with pytest.raises(halfspace.Problem, match="^class_: .* name one; the classes are") as refused:
            explain()
        assert refused.value.errors[0]["parameter"] == "class_"
    shown = model._repr_html_()
    assert all(f">{name}</th>" in shown for name in set(classes))


def test_a_refusal_of_data_has_the_options_that_mend_it(client: halfspace.Client) -> None:
    table = b"size,price,kind\n1,\"1,5\",a\n2,\"2,5\",b\n3,\"3,5\",a\n"
    body = requests.Content(table, "text/csv")
    with pytest.raises(halfspace.Problem, match="To mend it, pass labels='kind', decimal=','") as refused:
        client.create_dataset(body)
    options: dict[str, Any] = refused.value.repairs
    assert client.create_dataset(body, **options).n == 2
    with pytest.raises(halfspace.Problem) as refused:
        client.create_dataset(requests.Content(b"a,label\n1,x\n2,y\n3\n", "text/csv"))
    assert refused.value.repairs == {} and "To mend it" not in str(refused.value)


def test_a_comparison_gives_its_figure_as_a_table(client: halfspace.Client) -> None:
    found = client.compare(X, Y, learners=["perceptron"], folds=2, seed=1, max_passes=5, progress=False)
    assert found.figure("csv").startswith("learner,") and found.figure().startswith("<svg")


@pytest.mark.parametrize("place", ["copy", "source distribution"])
def test_a_copy_of_the_folder_says_what_the_build_needs(tmp_path: Path, place: str) -> None:
    shutil.copy(PACKAGE / "build_backend.py", tmp_path)
    (tmp_path / "maturin.py").write_text("def build_wheel(): return 'built'\n")
    if place == "source distribution":
        (tmp_path / "PKG-INFO").touch()
    code = "import build_backend; print(build_backend.build_wheel())"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    if place == "copy":
        assert ran.returncode == 1 and "pip install ./clients/python" in ran.stderr and "Traceback" not in ran.stderr
    else:
        assert ran.stdout == "built\n", ran.stderr
