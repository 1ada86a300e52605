"""The estimators under the checks of scikit-learn. No check is excused."""

import inspect
import pickle
from typing import Any

import halfspace
import numpy as np
import pandas
import pytest
from halfspace import sklearn as estimators
from sklearn.datasets import load_breast_cancer
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


def test_texts_in_a_pipeline_are_sparse() -> None:
    frame = pandas.DataFrame({"colour": ["red", "blue", "green", "blue"] * 10, "shape": ["round", "flat"] * 20})
    y = np.where(frame["colour"] == "blue", "yes", "no")
    pipeline = make_pipeline(OneHotEncoder(), estimators.Winnow())
    assert pipeline.fit(frame, y).score(frame, y) == 1
    assert pipeline.named_steps["winnow"].is_sparse_


def test_a_deleted_model_is_sent_again(client: halfspace.Client) -> None:
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
