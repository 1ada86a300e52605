"""Sparse matrices and names of features on their way from Python to the service."""

import io
import json
import pickle
import re
import tracemalloc
from pathlib import Path
from typing import Any

import halfspace
import numpy as np
import pytest
from halfspace import data
from halfspace import sklearn as estimators
from halfspace.requests import Exchange
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csc_matrix, csr_array, csr_matrix
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

WORDS = ["the", "dog barks", "caf\u00e9", 'a "quoted" one', "back\\slash", "length:2", "#1", "7", "w=[x],{y}"]


@pytest.fixture(autouse=True)
def service(client: halfspace.Client) -> Any:
    estimators.use(client)
    yield
    estimators.use(None)


def sparse(rows: int, columns: int, active: int, seed: int = 1) -> Any:
    """A sparse matrix of ones."""
    random = np.random.default_rng(seed)
    places = np.sort(random.integers(0, columns, (rows, active)), axis=1)
    begins = np.arange(0, rows * active + 1, active)
    X = csr_matrix((np.ones(rows * active), places.ravel(), begins), shape=(rows, columns))
    X.sum_duplicates()
    X.data[:] = 1
    return X


def named(rows: int, seed: int, active: int = 4, values: bool = False) -> tuple[list[dict[str, float]], list[str]]:
    """Examples of three classes with a few of many names, some of which no table or line could hold."""
    random = np.random.default_rng(seed)
    vocabulary = [*WORDS, *(f"w={number}" for number in range(40))]
    X, y = [], []
    for row in range(rows):
        kind = row % 3
        names = {str(one) for one in random.choice(vocabulary, active, replace=False)} | {f"of {kind}: {row % 2}"}
        X.append({name: float(random.integers(1, 9)) / 2 if values else 1.0 for name in sorted(names)})
        y.append(["noun", "verb", "other"][kind])
    return X, y


@pytest.mark.parametrize("kind", [csr_matrix, csc_matrix, coo_matrix, csr_array])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8", "bool"])
@pytest.mark.parametrize("part", [1, 7, data.SPARSE_PART])
def test_lines_of_a_sparse_matrix_are_read_back_as_the_matrix(
    kind: Any, dtype: str, part: int, monkeypatch: Any
) -> None:
    monkeypatch.setattr(data, "SPARSE_PART", part)
    random = np.random.default_rng(2)
    dense = random.integers(0, 3, (40, 12)) * (random.random((40, 12)) < 0.3)
    dense[[0, 17, 39]] = 0
    y = [str(one) for one in random.integers(-1, 2, 40)]
    for factor in (1, 0.1, 1e-7, 1e20) if dtype.startswith("float") else (1,):
        numbers = dense * factor
        X = numbers.astype(dtype)
        text = data.libsvm(kind(X), y)
        again, labels = load_svmlight_file(io.BytesIO(text), n_features=12)
        assert (again.toarray() == X.astype(float)).all() and labels.tolist() == [float(one) for one in y]
        assert text.count(b"\n") == 40 and b"  " not in text


def test_duplicates_of_a_sparse_matrix_are_added_and_the_matrix_stays() -> None:
    X = csr_matrix((np.array([1.0, 1, 1]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    assert data.libsvm(X, ["1"]) == b"1 1:1 3:2\n"
    assert X.indices.tolist() == [2, 0, 2]


@pytest.mark.parametrize(
    ("X", "y", "names", "message"),
    [
        (csr_matrix([[1, np.nan]]), [1], None, "holds nan in row 0 and column 1"),
        (csr_matrix([[1, 0], [0, 2], [np.inf, 0]]), [1] * 3, ["a", "b"], "holds inf in row 2 and column 0"),
        (csr_matrix([[1j, 0]]), [1], None, "type complex128"),
        (csr_matrix((0, 3)), [], None, "no examples"),
        (csr_matrix(np.eye(2)), ["a b", "c"], None, "label 'a b' of a sparse matrix"),
        (csr_matrix(np.eye(2)), [1, -1], ["a"], "2 columns, but feature_names has 1"),
        (csr_matrix(np.eye(2)), [1, -1], ["a", "a"], "several columns have the name 'a'"),
        (csr_matrix(np.eye(2)), [1, -1], ["a", 2], "feature_names holds 2 of the type int"),
        (np.eye(2), [1, -1], ["a", "b"], "feature_names name the columns of a sparse matrix"),
        ([{"a": 1}, "b"], [1, -1], None, "row 1 of X is the text 'b'"),
        ([{"a": 1}, {3: 1}], [1, -1], None, "row 1 of X holds 3"),
        ([{"a": 1}, {"b": np.inf}], [1, -1], None, "the value of 'b' in row 1 of X is infinite"),
        ([{"a": 1}, {"b": 2}], [1], None, "2 examples, but y has 1"),
        ([{"a": 1}], None, None, "hold no labels"),
    ],
)
def test_sparse_data_and_names_are_checked_before_they_are_sent(X: Any, y: Any, names: Any, message: str) -> None:
    with pytest.raises(halfspace.DataError, match=message):
        data.labelled(X, y, feature_names=names)


def test_a_fit_of_a_million_columns_needs_little_memory() -> None:
    X = sparse(20_000, 1_000_000, 60)
    y = np.where(X[:, :500_000].sum(axis=1).A1 > 30, 1, -1)
    own = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    fitted = estimators.Perceptron(max_passes=2)
    tracemalloc.start()
    try:
        fitted.fit(X, y)
        sent = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        predicted = fitted.predict(X[:2_000])
        assert tracemalloc.get_traced_memory()[1] < 4 * own
    finally:
        tracemalloc.stop()
    # The model file has a weight per column.
    assert sent < 4 * own, sent / own
    assert (predicted == y[:2_000]).mean() > 0.9
    assert fitted.n_features_in_ == 1_000_000 and fitted.coef_.shape == (1, 1_000_000)


def test_a_request_keeps_no_second_copy_of_its_body() -> None:
    X, y = sparse(5_000, 100_000, 40), np.arange(5_000) % 2
    tracemalloc.start()
    try:
        from halfspace.client import training

        exchange = Exchange(training(X, y, "perceptron", {}))
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    body = exchange.content or b""
    assert len(body) > 1_000_000
    assert now < 1.5 * len(body) and peak < 6 * len(body)


@pytest.mark.parametrize("kind", [estimators.Perceptron, estimators.AveragedPerceptron, estimators.Pocket])
def test_sparse_ones_are_the_numbers_that_they_are_in_a_dense_matrix(kind: Any) -> None:
    X = sparse(80, 30, 5)
    y = np.where(X[:, :15].sum(axis=1).A1 > 2, "yes", "no")
    own, dense = (kind(max_passes=4, random_state=1).fit(one, y) for one in (X, X.toarray()))
    assert own.is_sparse_ and own.mistakes_ == dense.mistakes_
    for later in (X, X * 0.5, X - 2 * sparse(80, 30, 3, seed=2)):
        assert np.allclose(own.decision_function(later), dense.decision_function(later.toarray()))
        assert (own.predict(later) == dense.predict(later.toarray())).all()
        assert np.allclose((later @ own.coef_.T + own.intercept_)[:, 0], own.decision_function(later))


def test_many_classes_of_sparse_ones_score_other_numbers_too() -> None:
    X, y = sparse(90, 30, 5), np.arange(90) % 4
    own, dense = (estimators.Perceptron(max_passes=4).fit(one, y) for one in (X, X.toarray()))
    for later in (X, X * 0.25, X * 0):
        assert (own.predict(later) == dense.predict(later.toarray())).all()
        assert np.allclose(own.decision_function(later), dense.decision_function(later.toarray()))
    assert own.coef_.shape == dense.coef_.shape == (4, 30)
    assert (own.coef_ == dense.coef_).all() and (own.intercept_ == dense.intercept_).all()


def test_coefficients_exist_where_a_column_is_a_feature() -> None:
    X, y = sparse(60, 20, 4), np.arange(60) % 2
    fitted = estimators.Perceptron(numbers="thermometer", max_passes=5).fit(X, y)
    assert np.allclose(fitted.decision_function(X), (X @ fitted.coef_.T + fitted.intercept_)[:, 0])
    winnow = estimators.Winnow(negated_literals=False, max_passes=5).fit(X, y)
    assert np.allclose(winnow.decision_function(X), (X @ winnow.coef_.T + winnow.intercept_)[:, 0])
    for other in (estimators.Winnow(), estimators.KernelPerceptron(), estimators.SBPI()):
        assert not hasattr(other, "coef_") and not hasattr(other.fit(X, y), "coef_")
    assert not hasattr(estimators.Winnow(negated_literals=False).fit(X.toarray(), y), "coef_")


def test_thermometers_of_a_huge_sparse_matrix_are_refused() -> None:
    X = sparse(20, 10_000_000, 5) * 2
    with pytest.raises(ValueError, match="more than 134217728 cells"):
        estimators.Winnow().fit(X, np.arange(20) % 2)


@pytest.mark.parametrize("has_values", [False, True])
def test_names_have_one_digest_and_one_model_in_every_form(
    client: halfspace.Client, has_values: bool, tmp_path: Path
) -> None:
    X, y = named(60, 1, values=has_values)
    vectorizer = DictVectorizer().fit(X)
    lists = [[*row][::-1] for row in X]
    lines = tmp_path / "names.ndjson"
    examples = [{"x": row if has_values else [*row], "y": label} for row, label in zip(X, y)]
    lines.write_text("".join(json.dumps(one) + "\n" for one in examples))
    forms: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "ndjson": (lines, None, {}),
        "dicts": (X, y, {}),
        "sparse": (vectorizer.transform(X), y, {"feature_names": vectorizer.get_feature_names_out()}),
    }
    if not has_values:
        forms["lists"] = lists, y, {"vocabulary": "open"}
        forms["mixed"] = [row if at % 2 else set(row) for at, row in enumerate(X)], np.array(y), {"vocabulary": "open"}
    digests, models = set(), set()
    for form, (given, labels, options) in forms.items():
        dataset = client.dataset(given, labels, **options)
        digests.add(dataset.document.sha256)
        assert dataset.document.vocabulary == "open", form
        job = client.train(given, labels, learner="perceptron", seed=1, max_passes=5, progress=False, **options)
        document = json.loads(job.model.export())
        assert document["data_sha256"] == dataset.document.sha256
        models.add(document["sha256"])
        stored = client.train(dataset, learner="perceptron", seed=1, max_passes=5, progress=False)
        models.add(json.loads(stored.model.export())["sha256"])
    assert len(digests) == len(models) == 1
    other = client.dataset(X[:-1], y[:-1])
    assert other.document.sha256 not in digests


def test_names_without_blanks_have_one_model_in_libsvm_too(client: halfspace.Client, tmp_path: Path) -> None:
    X = [{"w=the": 1.0, "length": 3.5}, {"w=a": 1.0}, {"length": 0.25, "w=a": 1.0}, {"w=the": 1.0}]
    y = ["noun", "verb", "verb", "noun"]
    lines = tmp_path / "names.libsvm"
    lines.write_text("noun w=the length:3.5\nverb w=a\nverb length:0.25 w=a:1\nnoun w=the\n")
    vectorizer = DictVectorizer().fit(X)
    datasets = [
        client.dataset(lines),
        client.dataset(X, y),
        client.dataset(vectorizer.transform(X), y, feature_names=vectorizer.get_feature_names_out()),
    ]
    assert len({one.document.sha256 for one in datasets}) == 1
    models = [client.train(one, learner="perceptron", seed=1, progress=False).model.export() for one in datasets]
    assert len({json.loads(one)["sha256"] for one in models}) == 1


def test_a_model_of_names_counts_the_names_that_it_does_not_know(client: halfspace.Client) -> None:
    X = [["the", "dog"], ["the", "car"], ["a", "dog"], ["a", "train"]]
    y = ["animal", "thing", "animal", "thing"]
    model = client.train(X, y, learner="winnow", vocabulary="open", progress=False).model
    assert model.reads_names
    later: list[Any] = [["the", "dog"], ["wolf", "the", "fox"], [], {"dog": 1, "wolf": True}]
    found = model.predictions(later)
    assert found.unseen == [0, 2, 0, 1]
    assert model.predict(X) == y
    assert model.evaluate(X, y).errors == 0
    matrix = csr_matrix([[1, 1, 0], [0, 0, 1]])
    assert model.predictions(matrix, feature_names=["dog", "wolf", "fox"]).unseen == [1, 1]
    compared = client.compare(X, y, vocabulary="open", learners=["perceptron", "winnow"], folds=2, progress=False)
    assert [one.errors is not None for one in compared.result.learners] == [True, True]


ESTIMATORS = [
    estimators.Perceptron,
    estimators.AveragedPerceptron,
    estimators.Winnow,
    estimators.KernelPerceptron,
    estimators.KernelWinnow,
]


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_estimators_learn_names_as_lists_dicts_and_columns(client: halfspace.Client, kind: Any) -> None:
    X, y = named(60, 3)
    vectorizer = DictVectorizer().fit(X)
    matrix, columns = vectorizer.transform(X), vectorizer.get_feature_names_out()
    own = kind(max_passes=5, random_state=1).fit(X, y)
    others = [
        kind(max_passes=5, random_state=1).fit([[*row] for row in X], y),
        kind(max_passes=5, random_state=1).fit(matrix, y, feature_names=columns),
    ]
    later, _ = named(20, 4)
    assert own.score(X, y) > 0.9 and own.n_features_in_ == len(columns)
    assert own.feature_names_in_.tolist() == sorted(columns, key=lambda name: str(name).encode())
    for other in others:
        assert (other.decision_function(X) == own.decision_function(X)).all()
        assert (other.predict(later) == own.predict(later)).all()
    assert (others[1].predict(matrix) == own.predict(X)).all()
    again = pickle.loads(pickle.dumps(own))
    assert (again.predict(later) == own.predict(later)).all()
    assert own.unseen([["of 0: 1", "never seen", "nor this"], []]).tolist() == [2, 0]
    with pytest.raises(ValueError, match="X has 3 columns"):
        others[1].predict(csr_matrix(np.eye(3)))


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("classes", [2, 3])
def test_partial_fits_over_names_equal_one_pass(client: halfspace.Client, kind: Any, classes: int) -> None:
    X, y = named(60, 7)
    kept = [at for at, label in enumerate(y) if classes > 2 or label != "other"]
    X, y = [X[at] for at in kept], [y[at] for at in kept]
    given = {"order": "cyclic"} if "order" in kind().get_params() else {}
    once = kind(max_passes=1, random_state=1, **given).fit(X, y)
    later, _ = named(20, 8)
    spans = [slice(0, 10), slice(10, 11), slice(11, len(X))]
    forms: dict[str, list[tuple[Any, dict[str, Any]]]] = {"dicts": [], "lists": [], "columns": []}
    for span in spans:
        vectorizer = DictVectorizer().fit(X[span])
        columns = {"feature_names": vectorizer.get_feature_names_out()}
        forms["dicts"].append((X[span], {}))
        forms["lists"].append(([[*row] for row in X[span]], {}))
        forms["columns"].append((vectorizer.transform(X[span]), columns))
    for form, parts in forms.items():
        on_line = kind(random_state=1)
        for span, (part, names) in zip(spans, parts):
            on_line.partial_fit(part, y[span], classes=sorted(set(y)), **names)
        assert on_line.mistakes_ == once.mistakes_, form
        scores = on_line.decision_function(later)
        assert np.allclose(scores, once.decision_function(later)), form
        assert (on_line.unseen(later) == once.unseen(later)).all(), form
        # The session adds means of numbers, whose last digits may decide a tie otherwise.
        is_clear = np.ones(len(later), bool) if classes > 2 else abs(scores) > 1e-9
        assert (on_line.predict(later) == once.predict(later))[is_clear].all(), form
        if form != "columns":
            assert (on_line.feature_names_in_ == once.feature_names_in_).all(), form
        else:
            assert on_line.predict(parts[-1][0]).tolist() == on_line.predict(X[spans[-1]]).tolist()
            with pytest.raises(ValueError, match="X has 2 columns"):
                on_line.partial_fit(csr_matrix(np.eye(2)), y[:2])


def test_partial_fits_over_names_take_values_of_perceptrons_only(client: halfspace.Client) -> None:
    X, y = named(60, 9, values=True)
    classes = sorted(set(y))
    once = estimators.Perceptron(max_passes=1, random_state=1).fit(X, y)
    on_line = estimators.Perceptron(random_state=1)
    for span in (slice(0, 20), slice(20, 60)):
        on_line.partial_fit(X[span], y[span], classes=classes)
    assert (on_line.decision_function(X) == once.decision_function(X)).all()
    winnow: Any = estimators.Winnow()
    with pytest.raises(halfspace.Problem, match="[Bb]oolean"):
        winnow.partial_fit(X, y, classes=classes)
    numbers = estimators.Perceptron().partial_fit(np.eye(3), [0, 1, 0], classes=[0, 1])
    with pytest.raises(ValueError, match="had no names"):
        numbers.partial_fit([["a"]], [0])


@pytest.mark.parametrize("kind", [estimators.Perceptron, estimators.AveragedPerceptron, estimators.Winnow])
@pytest.mark.parametrize("classes", [2, 3])
def test_coefficients_belong_to_names(kind: Any, classes: int) -> None:
    X, y = named(60, 5)
    kept = [at for at, label in enumerate(y) if classes > 2 or label != "other"]
    X, y = [X[at] for at in kept], [y[at] for at in kept]
    own = kind(max_passes=5, random_state=1).fit(X, y)
    weights: NDArray[np.float64] = np.array([[row.get(name, 0) for name in own.feature_names_in_] for row in X])
    scores = weights @ own.coef_.T + own.intercept_
    assert np.allclose(scores if classes > 2 else scores[:, 0], own.decision_function(X))
    # A column of which the training has no entry has the first weight.
    matrix = csr_matrix(np.hstack([weights, np.zeros((len(X), 1))]))
    wider = kind(max_passes=5, random_state=1).fit(matrix, y, feature_names=[*own.feature_names_in_, "absent"])
    assert (wider.coef_[:, :-1] == own.coef_).all()
    assert (wider.coef_[:, -1] == (1 if kind is estimators.Winnow else 0)).all()


def test_words_of_texts_have_their_names_and_a_pipeline_needs_none(client: halfspace.Client) -> None:
    texts = ["the dog barks", "the cat sleeps", "the car stops", "a train stops", "a dog sleeps", "a house burns"] * 5
    y = ["animal", "animal", "thing", "thing", "animal", "thing"] * 5
    pipeline = make_pipeline(CountVectorizer(binary=True), estimators.Perceptron()).fit(texts, y)
    assert pipeline.score(texts, y) == 1 and pipeline.named_steps["perceptron"].is_sparse_
    vectorizer = CountVectorizer(ngram_range=(1, 2)).fit(texts)
    counts, columns = vectorizer.transform(texts), vectorizer.get_feature_names_out()
    model = client.train(counts, y, learner="perceptron", feature_names=columns, progress=False).model
    assert "dog barks" in (model.document.features or [])
    assert {literal.name for term in model.explain(top=3).terms for literal in term.literals} <= set(columns)
    assert model.predict([["the", "dog", "dog barks"]]) == ["animal"]


def test_what_names_exclude_is_refused() -> None:
    X, y = named(20, 6)
    binary = [label == "noun" for label in y]
    for estimator, message in (
        (estimators.Winnow(negated_literals=True), "negated_literals"),
        (estimators.KernelPerceptron(conjunctions="all"), "monotone"),
        (estimators.SBPI(), "names"),
    ):
        with pytest.raises(halfspace.Problem, match=message):
            estimator.fit(X, binary)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        estimators.Perceptron().fit(X, y[:-1])
    with pytest.raises(ValueError, match="only one class"):
        estimators.Perceptron().fit(X, ["noun"] * 20)


@pytest.mark.parametrize(
    ("part", "last"), [("feature_names", "['animal', 'animal'] [0, 1]"), ("Winnow().partial_fit", "[0 1]")]
)
def test_the_examples_of_the_readme_run(capsys: Any, part: str, last: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[1] / "README.md").read_text(), re.DOTALL)
    (example,) = [block for block in blocks if part in block]
    exec(example, {"halfspace": halfspace})
    assert capsys.readouterr().out.splitlines()[-1] == last
