"""The estimators under the checks of scikit-learn. No check is excused."""

import inspect
import pickle
from typing import Any

import halfspace
import numpy as np
import pytest
from halfspace import sklearn as estimators
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
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
def test_a_pickled_estimator_predicts_the_same(kind: Any) -> None:
    random = np.random.default_rng(1)
    X = random.normal(size=(60, 4))
    y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    fitted = kind(random_state=1).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict(X) == fitted.predict(X)).all()


def test_scores_are_those_of_the_service(client: halfspace.Client) -> None:
    random = np.random.default_rng(2)
    X = random.normal(size=(80, 5))
    y = np.where(X.sum(axis=1) > 0, 1, -1)
    fitted = estimators.Perceptron(random_state=3).fit(X, y)
    assert fitted.decision_function(X).tolist() == fitted._model().predict_scores(X)
    assert fitted.score(X, y) == 1 - fitted._model().evaluate(X, y).errors / 80
