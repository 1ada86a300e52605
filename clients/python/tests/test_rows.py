"""What may stand for an example: one rule in every entry point, whose errors name the row and what to write."""

import asyncio
import pickle
from collections import Counter
from collections.abc import Callable
from typing import Any

import halfspace
import numpy as np
import pandas
import polars
import pytest
from halfspace import data
from halfspace import sklearn as estimators
from scipy.sparse import csr_matrix

TEXTS = ["dog", "cat", "the cow"]
LABELS = ["p", "q", "q"]
BITS = ["011", "101", "110"]
SURROGATE = "caf\udce9"
ONLINE: dict[str, Any] = {"learner": "perceptron", "progress": False}


@pytest.fixture(autouse=True)
def service(client: halfspace.Client) -> Any:
    estimators.use(client)
    yield
    estimators.use(None)


def objects(rows: list[Any]) -> Any:
    """An array of objects, one for each row."""
    array = np.empty(len(rows), dtype=object)
    array[:] = rows
    return array


FORMS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list, "tuple": tuple, "array": objects, "series": pandas.Series, "iterator": iter,
}


def entries(client: halfspace.Client) -> dict[str, Callable[[Any], Any]]:
    """Every call that takes rows, with a model and a session where it needs one."""
    numbers = client.train([[0, 1, 1], [1, 0, 1], [1, 1, 0]], LABELS, **ONLINE).model
    names = client.train([["dog"], ["cat"], ["cow"]], LABELS, vocabulary="open", **ONLINE).model
    fitted = estimators.Perceptron().fit([["dog"], ["cat"], ["cow"]], LABELS)
    of_numbers = estimators.Perceptron().fit(np.eye(3), LABELS)
    return {
        "train": lambda X: client.train(X, LABELS, **ONLINE),
        "train names": lambda X: client.train(X, LABELS, vocabulary="open", **ONLINE),
        "compare": lambda X: client.compare(X, LABELS, folds=2, progress=False),
        "dataset": lambda X: client.dataset(X, LABELS, vocabulary="open"),
        "predict": numbers.predict,
        "predict names": names.predict,
        "predict_scores": names.predict_scores,
        "evaluate": lambda X: numbers.evaluate(X, LABELS),
        "evaluate names": lambda X: names.evaluate(X, LABELS),
        "session": client.session("perceptron", 3).predict,
        "session names": client.session("perceptron", vocabulary="open").predict,
        "fit": lambda X: estimators.Winnow().fit(X, LABELS),
        "partial_fit": lambda X: estimators.Winnow().partial_fit(X, LABELS, classes=["p", "q"]),
        "estimator": fitted.predict,
        "estimator of numbers": of_numbers.predict,
        "unseen": fitted.unseen,
        "decision_function": fitted.decision_function,
    }


@pytest.mark.parametrize("form", FORMS)
def test_a_text_as_a_row_is_refused_by_every_entry_point(client: halfspace.Client, form: str) -> None:
    for name, entry in entries(client).items():
        needed = "a list of numbers" if name == "session" else r"a list of names such as \['dog'\].* a dict of names"
        with pytest.raises(halfspace.DataError, match=f"row 0 of X is the text 'dog'; write {needed}"):
            entry(FORMS[form](TEXTS))
        with pytest.raises(halfspace.DataError, match="row 1 of X is the text"):
            entry(FORMS[form]([[0, 1, 1] if name == "session" else ["dog"], "two words", ["cow"]]))


def test_a_text_as_an_example_of_a_session_is_refused(client: halfspace.Client) -> None:
    with client.session("perceptron", 3) as session:
        with pytest.raises(halfspace.DataError, match="row 0 of the examples is the text 'dog'.*list of numbers"):
            session.learn("dog", 1)
        with pytest.raises(halfspace.DataError, match="row 1 of the examples is the text b'01'"):
            list(session.stream([("011", 1), (b"01", -1)]))
        assert session.position == 1
        with pytest.raises(halfspace.DataError, match="X is the text '011'; write a list of rows"):
            session.predict("011")
    with client.session("perceptron", vocabulary="open") as session:
        with pytest.raises(halfspace.DataError, match=r"such as \['the', 'dog'\] or a dict"):
            session.learn("the dog", 1)

    async def learnt() -> None:
        async with halfspace.AsyncClient(client.address) as own, await own.session("perceptron", 3) as session:
            await session.learn("the dog", 1)

    with pytest.raises(halfspace.DataError, match="row 0 of the examples is the text 'the dog'"):
        asyncio.run(learnt())


def test_a_text_of_zeros_and_ones_is_a_row_of_bits(client: halfspace.Client) -> None:
    rows = [[int(bit) for bit in row] for row in BITS]
    for form in FORMS.values():
        assert data.content(form(BITS), LABELS).data == data.content(rows, LABELS).data
    model = client.train(BITS, LABELS, **ONLINE).model
    assert model.document.n == 3 and model.predict(BITS) == LABELS
    assert client.train(BITS, LABELS, vocabulary="open", **ONLINE).model.document.features == ["x1", "x2", "x3"]
    with client.session("perceptron", 3) as session:
        assert session.learn("011", 1)
        assert session.predict(BITS) == session.predict(rows)


@pytest.mark.parametrize("row", ["", "012", "\u0661", b"01", np.str_("no")])
def test_other_texts_are_no_bits(row: Any) -> None:
    with pytest.raises(halfspace.DataError, match="row 1 of X is the text"):
        data.content(["01", row], [1, -1])


def test_long_texts_are_shortened_in_errors() -> None:
    with pytest.raises(halfspace.DataError) as refused:
        data.content(["word " * 10_000], [1])
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1, 0], 3], "row 1 of X has the type int; needed is a list of values"),
        ([[1, [0]], [1, 0]], "row 0 of X in the column 'x2' holds a list"),
        ([[1, b"a"], [1, b"b"]], "row 0 of X in the column 'x2' holds a bytes"),
        ([{"a": 1}, 3], "row 1 of X has the type int; needed is a list of names"),
        ([{"a": 1}, {"b": [1]}], "the value of 'b' in row 1 of X is a list"),
        ([{"a", "b"}, {1}], "row 1 of X holds 1 of the type int"),
        (polars.DataFrame({"a": [[1], [2]]}), "row 0 of X in the column 'a' holds a list"),
    ],
)
def test_what_is_no_row_or_no_value_is_refused_with_its_place(X: Any, message: str) -> None:
    with pytest.raises(halfspace.DataError, match=message):
        data.content(X, [1, -1])


def test_rows_of_a_session_are_checked(client: halfspace.Client) -> None:
    with client.session("perceptron", 2) as session:
        for row, message in (({"a": 1}, "has the type dict"), (3, "the type int"), ([0, "x"], "no list of numbers")):
            with pytest.raises(halfspace.DataError, match=f"row 1 of X.*{message}"):
                session.predict([[0, 1], row])
    with client.session("perceptron", vocabulary="open", values="real") as session:
        with pytest.raises(halfspace.DataError, match="the value of 'a' in row 0 of the examples is infinite"):
            session.learn({"a": np.inf}, 1)
        assert session.learn({"a": np.float32(0.5), "b": None}, 1)
        assert client.get_session(session.id).features == ["a"]


def test_a_session_predicts_frames_and_sparse_matrices(client: halfspace.Client) -> None:
    rows = np.array([[0, 1], [1, 0], [1, 1]])
    with client.session("perceptron", 2) as session:
        list(session.stream(zip(rows, [1, -1, 1])))
        expected = session.predict(rows.tolist())
        # The names of these columns would be bits.
        for X in (rows, csr_matrix(rows), pandas.DataFrame(rows, columns=["01", "10"]), polars.DataFrame(rows)):
            assert session.predict(X) == expected


NAMES: list[Any] = [["the", "dog"], ["the", "car"], ["a", "dog"], ["a", "train", "stops"]]
KINDS = ["animal", "thing", "animal", "thing"]


@pytest.mark.parametrize("kind", ["ragged", "dicts", "sets", "square", "square of texts", "arrays", "series", "polars"])
def test_estimators_read_arrays_of_names_as_lists(kind: str) -> None:
    square = [row[:2] for row in NAMES]
    plain: list[Any] = square if kind.startswith("square") else NAMES
    forms: dict[str, Any] = {
        "ragged": objects(NAMES),
        "dicts": objects([dict.fromkeys(row, 1) for row in NAMES]),
        "sets": objects([{*row} for row in NAMES]),
        "square": np.array(square, dtype=object),
        "square of texts": np.array(square),
        "arrays": [np.array(row) for row in NAMES],
        "series": pandas.Series(NAMES),
        "polars": polars.Series(NAMES),
    }
    X = forms[kind]
    expected = estimators.Perceptron(random_state=1).fit(plain, KINDS)
    found = estimators.Perceptron(random_state=1).fit(X, KINDS)
    assert found.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
    assert (found.coef_ == expected.coef_).all()
    assert (found.predict(X) == expected.predict(plain)).all()
    assert (found.decision_function(X) == expected.decision_function(plain)).all()
    assert found.unseen(X).tolist() == [0] * 4
    kinds = sorted(set(KINDS))
    on_line, once = (estimators.Perceptron().partial_fit(rows, KINDS, classes=kinds) for rows in (X, plain))
    assert (on_line.coef_ == once.coef_).all()
    assert (pickle.loads(pickle.dumps(on_line)).predict(X) == once.predict(plain)).all()


@pytest.mark.parametrize("form", FORMS)
def test_a_client_reads_rows_of_names_in_every_form(client: halfspace.Client, form: str) -> None:
    make = FORMS[form]
    expected = client.dataset(NAMES, KINDS, vocabulary="open").document.sha256
    assert client.dataset(make(NAMES), KINDS, vocabulary="open").document.sha256 == expected
    assert client.dataset(make([np.array(row) for row in NAMES]), KINDS, vocabulary="open").document.sha256 == expected
    # Sets and maps hold names without a word about it.
    assert client.dataset(make([{*row} for row in NAMES]), KINDS).document.sha256 == expected
    assert client.dataset(make([Counter(row) for row in NAMES]), KINDS).document.sha256 == expected
    model = client.train(make(NAMES), KINDS, vocabulary="open", **ONLINE).model
    assert model.predict(make(NAMES)) == KINDS and model.evaluate(make(NAMES), KINDS).errors == 0


def test_texts_of_numpy_are_texts(client: halfspace.Client) -> None:
    rows = [[*np.array(row)] for row in NAMES]
    expected = client.dataset(NAMES, KINDS, vocabulary="open").document.sha256
    assert client.dataset(rows, [*np.array(KINDS)], vocabulary="open").document.sha256 == expected
    maps = [dict.fromkeys(row, np.str_("in")) for row in rows]
    assert data.content(maps).data == data.content([dict.fromkeys(row, "in") for row in NAMES]).data
    names = np.array(["a", "b"])
    matrix = csr_matrix(np.eye(2))
    assert data.content(matrix, feature_names=[*names]).data == data.content(matrix, feature_names=["a", "b"]).data
    with client.session("perceptron", vocabulary="open", classes=["animal", "thing"]) as session:
        assert session.learn(rows[0], np.str_("animal"))


def test_numbers_in_arrays_of_objects_stay_numbers() -> None:
    X = np.array([["0.5", "1"], ["2", "0"], ["1", "3"]])
    expected = estimators.Perceptron().fit(X.astype(float), LABELS)
    for form in (X, X.astype(object), X.astype(float).astype(object)):
        fitted = estimators.Perceptron().fit(form, LABELS)
        assert not fitted.is_named_ and (fitted.decision_function(form) == expected.decision_function(X)).all()
    with pytest.raises(ValueError, match="the training had none"):
        expected.predict(objects([["a"], ["b"]]))


def test_lists_of_different_lengths_are_told_of_the_open_vocabulary(client: halfspace.Client) -> None:
    hint = 'row 3 of X has the length 3.*lists of names, say vocabulary="open"'
    for call in (client.train, client.dataset, client.compare):
        with pytest.raises(halfspace.DataError, match=hint):
            call(NAMES, KINDS, **(ONLINE if call == client.train else {}))
    with pytest.raises(halfspace.DataError, match="row 1 of X has the length 1, but row 0 has the length 2$"):
        data.content([[1, 0], [1]], [1, -1])


@pytest.mark.parametrize(
    ("X", "y", "options", "place"),
    [
        ([["a"], [SURROGATE]], [1, -1], {"vocabulary": "open"}, "row 1 of X"),
        ([{"a": 1}, {SURROGATE: 1}], [1, -1], {}, "row 1 of X"),
        ([{"a": 1}, {"b": SURROGATE}], [1, -1], {}, "row 1 of X"),
        ([["a", "b"], ["a", SURROGATE]], [1, -1], {}, "row 1 of X in the column 'x2'"),
        (np.array([["a"], [SURROGATE]]), [1, -1], {}, "row 1 of X in the column 'x1'"),
        (pandas.DataFrame({"a": objects(["b", SURROGATE])}), [1, -1], {}, "row 1 of X in the column 'a'"),
        (pandas.DataFrame([[0, 1]], columns=["a", SURROGATE]), [1], {}, "the name of the column 1"),
        ([[0], [1]], ["p", SURROGATE], {}, "the label of row 1"),
        (csr_matrix(np.eye(2)), ["p", SURROGATE], {}, "the label of row 1"),
        (csr_matrix(np.eye(2)), [1, -1], {"feature_names": ["a", SURROGATE]}, "feature_names"),
        ([[0], [1]], ["p", "q"], {"positive": SURROGATE}, "the parameter positive"),
    ],
)
def test_a_lone_surrogate_is_refused_with_its_place(
    client: halfspace.Client, X: Any, y: Any, options: dict[str, Any], place: str
) -> None:
    with pytest.raises(halfspace.DataError, match=f"^{place} holds the text .* lone surrogate"):
        client.train(X, y, **options, **ONLINE)


def test_a_lone_surrogate_is_refused_by_estimators_sessions_and_requests(client: halfspace.Client) -> None:
    with pytest.raises(halfspace.DataError, match="^row 1 of X holds the text"):
        estimators.Perceptron().fit([["a"], [SURROGATE]], [0, 1])
    with client.session("perceptron", vocabulary="open") as session:
        with pytest.raises(halfspace.DataError, match="^row 1 of the examples holds the text"):
            list(session.stream([(["a"], 1), (["b", SURROGATE], -1)]))
        with pytest.raises(halfspace.DataError, match="^row 0 of the examples holds the text"):
            session.learn(["a"], SURROGATE)
        with pytest.raises(halfspace.DataError, match="^row 0 of X holds the text"):
            session.predict([[SURROGATE]])
    with pytest.raises(halfspace.DataError, match="^the request holds the text"):
        client.session("perceptron", 2, classes=["a", SURROGATE])
    with pytest.raises(halfspace.DataError, match="^the path holds the text"):
        client.get_learner(SURROGATE)
    # A pair of surrogates in a text of JSON is one character, as are all others of UTF-8.
    assert client.train([["\U0001f600"], ["\u00e9"]], LABELS[:2], vocabulary="open", **ONLINE).model.reads_names
