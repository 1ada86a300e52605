"""The estimators under the checks of scikit-learn. No check is excused."""

import inspect
import itertools
import math
import pickle
from fractions import Fraction
from typing import Any

import halfspace
import numpy as np
import pandas
import pytest
from halfspace import resources
from halfspace import sklearn as estimators
from halfspace.streams import number
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

ALL: list[Any] = [
    kind
    for name, kind in vars(estimators).items()
    if inspect.isclass(kind) and issubclass(kind, estimators._Classifier) and not name.startswith("_")
]


@pytest.fixture(autouse=True)
def service(client: halfspace.Client) -> Any:
    estimators.use(client)
    yield
    estimators.use(None)


@pytest.fixture(scope="module")
def another() -> Any:
    with halfspace.local() as client:
        yield client


@parametrize_with_checks([kind() for kind in ALL])  # type: ignore[untyped-decorator]
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_each_learner_of_labelled_data_has_an_estimator(client: halfspace.Client) -> None:
    learners = [entry.name for entry in client.list_learners().items if "labelled" in entry.data]
    assert sorted(kind._learner for kind in ALL) == sorted(learners)


def test_a_grid_searches_alpha_in_a_pipeline() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(make_pipeline(MinMaxScaler(), estimators.Winnow()), {"winnow__alpha": [1.5, 2, 3]}, cv=3)
    search.fit(X[:200], y[:200])
    assert search.best_score_ > 0.85
    assert search.best_params_["winnow__alpha"] in (1.5, 2, 3)


@pytest.mark.parametrize("kind", ALL)
def test_a_pickled_estimator_predicts_the_same_on_another_service(another: halfspace.Client, kind: Any) -> None:
    random = np.random.default_rng(1)
    X = random.normal(size=(60, 4))
    y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    fitted = kind(random_state=1).fit(X, y)
    expected = fitted.predict(X)
    again = pickle.loads(pickle.dumps(fitted))
    estimators.use(another)
    assert (again.predict(X) == expected).all()


def test_winnow_in_a_pipeline_of_one_hot_texts_is_sparse() -> None:
    frame = pandas.DataFrame({"colour": ["red", "blue", "green", "blue"] * 10, "shape": ["round", "flat"] * 20})
    y = np.where(frame["colour"] == "blue", "yes", "no")
    pipeline = make_pipeline(OneHotEncoder(), estimators.Winnow())
    assert pipeline.fit(frame, y).score(frame, y) == 1
    assert pipeline.named_steps["winnow"].is_sparse_


def test_estimator_sends_a_deleted_model_again(client: halfspace.Client) -> None:
    X = np.eye(6)
    fitted = estimators.Perceptron().fit(X, [0, 1] * 3)
    expected = fitted.predict(X)
    for model in client.list_models().items:
        client.delete_model(model.id)
    assert (fitted.predict(X) == expected).all()


def test_scores_are_those_of_the_service(client: halfspace.Client) -> None:
    random = np.random.default_rng(2)
    X = random.normal(size=(80, 5))
    y = np.where(X.sum(axis=1) > 0, 1, -1)
    fitted = estimators.Perceptron(random_state=3).fit(X, y)
    model = client.send_model(fitted.model_)
    assert fitted.decision_function(X).tolist() == model.predict_scores(X)
    assert fitted.score(X, y) == 1 - model.evaluate(X, y).errors / 80


FITTED = [[0, 1], [1, 5], [0, 3], [1, 2]]
CLASSES = [0, 1, 0, 1]


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("rows", [FITTED, [[0, 1], [1, 0], [0, 0], [1, 1]], [[-1, 5], [1, 5], [-1, 5], [1, 5]], [[2, 7], [3, 7], [2, 9], [3, 8]]])
def test_estimator_of_a_column_of_few_values_reads_any_number(kind: Any, rows: Any) -> None:
    fitted = kind(random_state=1).fit(rows, CLASSES)
    expected = fitted.predict(rows)
    later = np.array([[2, 4], [0.5, -7], [-3, 0.25], [1e9, 1e-9]])
    assert set(fitted.predict(later)) <= {0, 1}
    assert np.isfinite(fitted.decision_function(later)).all()
    # One row alone is read as among others.
    together = np.vstack([rows, later])
    assert (fitted.predict(together)[:4] == expected).all()
    assert (fitted.predict(later[:1]) == fitted.predict(together)[4:5]).all()


def test_winnow_predicts_numbers_beyond_the_fitted_values() -> None:
    assert estimators.Winnow().fit(FITTED, CLASSES).predict([[2, 4]]).tolist() == [1]


def test_a_real_learner_reads_zeros_and_ones_as_numbers() -> None:
    for rows in (np.array([[0.0, 1], [1, 0], [0, 0], [1, 1]]), csr_matrix([[0.0, 1], [1, 0], [0, 0], [1, 1]])):
        fitted = estimators.Perceptron().fit(rows, CLASSES)
        halves = rows * 0.5
        ends = fitted.decision_function(rows)
        # The score is linear in the numbers.
        origin = fitted.decision_function(rows[:1] * 0)
        assert np.allclose(fitted.decision_function(halves), (ends + origin) / 2)


def test_a_sparse_matrix_of_ones_reads_other_numbers_later() -> None:
    rows = csr_matrix([[0.0, 1], [1, 0], [0, 0], [1, 1]])
    fitted = estimators.Winnow().fit(rows, CLASSES)
    assert fitted.is_sparse_
    near = csr_matrix([[0.2, 0.9], [3.0, 0], [0, -4.0], [1, 2]])
    assert (fitted.predict(near) == fitted.predict(rows)).all()


@pytest.mark.parametrize("kind", [estimators.Pocket, estimators.Perceptron, estimators.KernelPerceptron])
def test_ten_passes_of_an_estimator_read_ten_times_the_examples(kind: Any) -> None:
    random = np.random.default_rng(3)
    X, y = random.normal(size=(40, 3)), random.integers(0, 2, 40)
    given: dict[str, Any] = {} if kind is estimators.Pocket else {"order": "random"}
    if kind is not estimators.KernelPerceptron:
        given["numbers"] = "real"
    fitted = kind(max_passes=10, random_state=1, **given)
    if kind is estimators.KernelPerceptron:
        # Every labelling of distinct rows has a conjunction, so repeated rows with both labels keep the run going.
        X = np.vstack([X, X[:1]])
        y = np.append(y, 1 - y[0])
    fitted.fit(X, y)
    assert fitted.n_iter_ == 10
    assert 9 * len(X) < fitted.mistakes_ <= 10 * len(X)


@pytest.mark.parametrize("kind", [kind for kind in ALL if kind.__name__ not in ("Pocket", "Auto", "AMP", "ReinforcedAMP", "FocusingBP")])
def test_every_learner_ends_after_its_passes(kind: Any) -> None:
    random = np.random.default_rng(4)
    X, y = random.integers(0, 2, size=(40, 5)), random.integers(0, 2, 40)
    assert kind(max_passes=3, random_state=1).fit(X, y).n_iter_ <= 3


def test_scores_beyond_the_range_of_floats_are_finite_and_ordered(client: halfspace.Client) -> None:
    random = np.random.default_rng(5)
    X, y = random.integers(0, 2, size=(40, 4000)), np.array([0, 1] * 20)
    fitted = estimators.KernelPerceptron(max_passes=5).fit(X, y)
    later = np.vstack([X, random.integers(0, 2, size=(40, 4000)), X[:3]])
    scores = fitted.decision_function(later)
    assert np.isfinite(scores).all()
    assert ((scores > 0) == (fitted.predict(later) == 1)).all()
    given = client.send_model(fitted.model_).predictions(later).scores or []
    exact = [resources.exact(score) for score in given]
    assert max(abs(score) for score in exact) > 2**1100
    for i in range(len(later)):
        for j in range(i):
            assert (scores[i] < scores[j]) == (exact[i] < exact[j])
            assert (scores[i] == scores[j]) == (exact[i] == exact[j])
    truth = np.array([0, 1] * 41 + [0])
    ranks = np.array([sorted(set(exact)).index(score) for score in exact])
    assert roc_auc_score(truth, scores) == roc_auc_score(truth, ranks)
    # A part of the examples has the same scores.
    assert np.allclose(fitted.decision_function(later[::7]), scores[::7], rtol=1e-12)


def test_scores_keep_sign_order_and_ties() -> None:
    wanted = [
        Fraction(0), Fraction(1, 10**400), Fraction(1, 10**401), Fraction(1, 3), Fraction(1), Fraction(2**60), Fraction(2**60 + 1),
        Fraction(2**999), Fraction(2**1000 - 1), Fraction(2**1000), Fraction(2**1000 + 1), Fraction(2**1023), Fraction(2**4000),
        Fraction(2**4000 + 1), Fraction(10**20_000), Fraction(2) ** 1_048_576,
    ]
    both = sorted({sign * one for one in wanted for sign in (1, -1)})
    found = resources.ordered(both)
    assert all(math.isfinite(one) for one in found)
    assert all(one < other for one, other in itertools.pairwise(found))
    assert all((value > 0) == (score > 0) and (value < 0) == (score < 0) for value, score in zip(found, both))
    assert found[both.index(Fraction(1, 3))] == 1 / 3
    assert resources.ordered([both[3]] * 2 + both[:2])[:2] == [resources.ordered(both[:4])[3]] * 2
    long = "9" * 5_000
    assert resources.exact(long) == 10**5_000 - 1 and resources.exact(f"-{long}/2") == Fraction(1 - 10**5_000, 2)
    assert resources.fraction(long) == math.inf and resources.fraction("0.25") == 0.25


def test_whole_numbers_of_numpy_stay_exact() -> None:
    large = 2**53 + 1
    for value in (large, np.int64(large), np.uint64(large)):
        assert number(value) == large
    assert number(np.float64(3)) == 3 and number(0.5) == 0.5
