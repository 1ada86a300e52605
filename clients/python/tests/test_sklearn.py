"""The estimators under the checks of scikit-learn. No check is excused."""

import inspect
import itertools
import math
import pickle
import warnings
from fractions import Fraction
from typing import Any

import halfspace
import numpy as np
import pandas
import pytest
from halfspace import resources
from halfspace import sklearn as estimators
from halfspace.rows import number
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
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


MANY: list[Any] = [kind for kind in ALL if kind._has_committees]
MULTICLASS = ["one-vs-rest", "joint"]

ONLINE: list[Any] = [kind for kind in ALL if hasattr(kind, "partial_fit")]


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


TINIEST = math.ulp(0)


def mixed(load: Any, rows: int | None = None) -> tuple[Any, Any]:
    """A data set in another order. The first example has the last class."""
    X, y = load(return_X_y=True)
    places = np.random.default_rng(6).permutation(len(X))
    places = np.append(places[y[places] == y.max()][:1], places)[:rows]
    return X[places], y[places]


# An example of digits has too many active features for this learner.
SETS = [(kind, load) for kind in MANY for load in (load_iris, load_wine, load_digits)]
SETS.remove((estimators.KernelWinnow, load_digits))


@pytest.mark.parametrize(("kind", "load"), SETS)
def test_three_and_ten_classes_have_a_score_each(kind: Any, load: Any) -> None:
    X, y = mixed(load)
    given: dict[str, Any] = {"numbers": "thermometer"} if kind().numbers == "real" else {}
    given["random_state"] = 1
    fitted = kind(max_passes=5, **given).fit(X, y)
    scores = fitted.decision_function(X)
    assert fitted.classes_.tolist() == sorted(set(y))
    assert scores.shape == (len(X), len(fitted.classes_)) and np.isfinite(scores).all()
    assert (fitted.classes_[scores.argmax(axis=1)] == fitted.predict(X)).all()
    assert fitted.score(X, y) > (0.6 if kind is estimators.KernelWinnow else 0.8)
    named = kind(max_passes=5, **given).fit(X, np.array([f"the {one}" for one in y]))
    assert (named.predict(X) == [f"the {one}" for one in fitted.predict(X)]).all()


@pytest.mark.parametrize(
    "kind", [estimators.Perceptron, estimators.AveragedPerceptron, estimators.Winnow, estimators.KernelPerceptron]
)
def test_digits_equal_ten_trainings_of_one_digit_against_the_rest(client: halfspace.Client, kind: Any) -> None:
    X, y = mixed(load_digits, 600)
    fitted = kind(max_passes=2, random_state=1).fit(X, y)
    alone = [kind(max_passes=2, random_state=1).fit(X, y == digit) for digit in range(10)]
    rows = fitted._later(X)
    answers = [client.send_model(one.model_).predictions(rows).scores or [] for one in alone]
    scores = [[resources.exact(score) for score in answer] for answer in answers]
    # The largest exact score wins, and the first class of the training among equals.
    order = list(dict.fromkeys(y))
    predicted = [max(order, key=lambda digit: scores[digit][i]) for i in range(len(X))]
    assert (fitted.predict(X) == predicted).all()
    found = fitted.decision_function(X)
    theta = resources.exact(getattr(client.send_model(alone[0].model_).document.hypothesis, "theta", 0))
    wanted = np.array([[float(score - theta) for score in answer] for answer in scores]).T
    assert np.allclose(found, wanted, rtol=1e-12, atol=TINIEST)
    for i, (one, other) in itertools.product(range(0, len(X), 6), itertools.permutations(range(10), 2)):
        is_less = (scores[one][i], one == predicted[i]) < (scores[other][i], other == predicted[i])
        assert (found[i, one] < found[i, other]) == is_less


def test_among_equal_scores_the_first_class_of_the_training_wins() -> None:
    X, y = np.eye(3), np.array(["c", "a", "b"])
    fitted = estimators.Perceptron(bias=False, max_passes=1).fit(X, y)
    assert fitted.predict([[0, 0, 0]]).tolist() == ["c"]
    assert fitted.decision_function([[0, 0, 0]]).tolist() == [[0, 0, TINIEST]]
    on_line = estimators.Perceptron(bias=False).partial_fit(X, y, classes=["d", "b", "c", "a"])
    assert on_line.decision_function([[0, 0, 0]]).tolist() == [[0, 0, TINIEST, 0]]


def test_scores_and_partial_fits_leave_no_models_on_the_service(client: halfspace.Client) -> None:
    X, y = mixed(load_iris)
    fitted = estimators.Perceptron().fit(X, y)
    expected, newest = fitted.decision_function(X), client.list_models(limit=1).items
    assert (fitted.decision_function(X) == expected).all()
    estimators.Perceptron().partial_fit(X, y, classes=range(3))
    assert client.list_models(limit=1).items == newest


def test_joint_perceptrons_equal_their_definition() -> None:
    X, y = mixed(load_digits, 300)
    fitted = estimators.Perceptron(multiclass="joint", max_passes=2).fit(X, y)
    order = list(dict.fromkeys(y))
    weights, mistakes, ones = {digit: np.zeros(65) for digit in order}, 0, np.hstack([X, np.ones((300, 1))])
    for x, digit in [*zip(ones, y)] * 2:
        predicted = max(order, key=lambda one: weights[one] @ x)
        if predicted != digit:
            mistakes += 1
            weights[digit] += x
            weights[predicted] -= x
    assert fitted.mistakes_ == mistakes
    assert (fitted.decision_function(X) == np.array([ones @ weights[digit] for digit in range(10)]).T).all()
    with pytest.raises(ValueError, match="give one of one-vs-rest, joint"):
        estimators.Perceptron(multiclass="jointly").fit(X, y)
    # Two classes have one hypothesis.
    two = estimators.Perceptron(multiclass="joint").fit(X, y > 4)
    assert (two.predict(X) == estimators.Perceptron().fit(X, y > 4).predict(X)).all()


def test_scores_of_many_classes_beyond_the_range_of_floats_are_finite_and_ordered() -> None:
    random = np.random.default_rng(8)
    X, y = random.integers(0, 2, size=(30, 4000)), np.array([2, 1, 0] * 10)
    fitted = estimators.KernelPerceptron(max_passes=3).fit(X, y)
    later = np.vstack([X, random.integers(0, 2, size=(30, 4000))])
    scores = fitted.decision_function(later)
    assert np.isfinite(scores).all() and np.abs(scores).max() > 2.0**1000
    assert (scores.argmax(axis=1) == fitted.predict(later)).all()


@pytest.mark.parametrize("kind", [kind for kind in ALL if kind not in MANY])
def test_learners_without_committees_take_two_classes(kind: Any) -> None:
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        kind().fit(np.eye(3), [0, 1, 2])
    assert not kind().__sklearn_tags__().classifier_tags.multi_class


def test_an_order_that_follows_mistakes_takes_two_classes() -> None:
    for kind in (estimators.Perceptron, estimators.KernelPerceptron):
        assert not kind(order="random").__sklearn_tags__().classifier_tags.multi_class
        with pytest.raises(ValueError, match="Only binary classification is supported"):
            kind(order="random").fit(np.eye(3), [0, 1, 2])


@pytest.mark.parametrize("kind", [estimators.Perceptron, estimators.Winnow])
def test_a_sparse_matrix_has_many_classes(kind: Any) -> None:
    X, y = mixed(load_digits, 200)
    bits = csr_matrix((X > 8).astype(float))
    fitted = kind(max_passes=10, numbers="thermometer").fit(bits, y)
    assert fitted.is_sparse_ and fitted.score(bits, y) > 0.7
    assert (fitted.classes_[fitted.decision_function(bits).argmax(axis=1)] == fitted.predict(bits)).all()
    on_line = kind(numbers="thermometer").partial_fit(bits[:90], y[:90], classes=range(10))
    on_line.partial_fit(bits[90:], y[90:])
    once = kind(numbers="thermometer", max_passes=1).fit(bits, y)
    assert np.allclose(on_line.decision_function(bits), once.decision_function(bits))
    with pytest.raises(ValueError, match="two examples each"):
        kind(numbers="thermometer").fit(bits[:12], range(12))


def test_many_classes_give_no_warnings() -> None:
    X, y = np.eye(26).repeat(2, axis=0), np.array(list("zyxwvutsrqponmlkjihgfedcba")).repeat(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert estimators.Perceptron().fit(X, y).score(X, y) == 1
        assert (estimators.Perceptron().partial_fit(X, y, classes=np.unique(y)).classes_ == sorted(set(y))).all()


def test_each_learner_on_line_has_partial_fit(client: halfspace.Client) -> None:
    modes = {entry.name: entry.mode for entry in client.list_learners().items}
    assert [kind for kind in ALL if modes[kind._learner] == "on-line"] == ONLINE


@pytest.mark.parametrize(("kind", "classes"), [*itertools.product(ONLINE, [2]), *itertools.product(MANY, [3])])
def test_partial_fits_equal_one_pass(kind: Any, classes: int) -> None:
    X, y = mixed(load_iris)
    X, y = X[y < classes], np.array(["one", "three", "two"])[y[y < classes]]
    # The first rows fix the thresholds.
    X = np.vstack([X, X])
    y = np.append(y, y)
    given = {"order": "cyclic"} if "order" in kind().get_params() else {}
    for how in MULTICLASS if "multiclass" in kind().get_params() else [None]:
        own = {"multiclass": how} if how else {}
        on_line = kind(random_state=1, **own).partial_fit(X[: len(X) // 2], y[: len(X) // 2], classes=np.unique(y))
        on_line.partial_fit(X[len(X) // 2 : -20], y[len(X) // 2 : -20]).partial_fit(X[-20:], y[-20:])
        once = kind(random_state=1, max_passes=1, **given, **own).fit(X, y)
        assert on_line.mistakes_ == once.mistakes_
        assert np.allclose(on_line.decision_function(X), once.decision_function(X))
        assert (on_line.predict(X) == once.predict(X)).all()


def test_a_pickled_on_line_estimator_goes_on_where_its_session_is(another: halfspace.Client) -> None:
    X, y = mixed(load_iris)
    fitted = estimators.AveragedPerceptron().partial_fit(X[:90], y[:90], classes=range(3))
    copy = pickle.loads(pickle.dumps(fitted))
    whole = estimators.AveragedPerceptron().partial_fit(X, y, classes=range(3))
    assert (copy.partial_fit(X[90:], y[90:]).decision_function(X) == whole.decision_function(X)).all()
    with pytest.raises(halfspace.HalfspaceError, match="a copy of the estimator has learnt since"):
        fitted.partial_fit(X[90:], y[90:])
    expected = copy.predict(X)
    estimators.use(another)
    assert (copy.predict(X) == expected).all()
    with pytest.raises(halfspace.HalfspaceError, match="another service"):
        copy.partial_fit(X, y)


def test_partial_fit_refuses_what_it_cannot_learn() -> None:
    X, y = mixed(load_iris)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        estimators.Winnow().partial_fit(X, y)
    with pytest.raises(ValueError, match="only one class"):
        estimators.Winnow().partial_fit(X, y, classes=[1])
    with pytest.raises(ValueError, match=r"not among \[0, 1\]"):
        estimators.Winnow().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        estimators.SBPI().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.warns(UserWarning, match="begins anew"):
        fitted: Any = estimators.Perceptron().fit(X, y)
        anew = fitted.partial_fit(X[:50], y[:50])
    assert (anew.predict(X) == estimators.Perceptron().partial_fit(X[:50], y[:50], classes=range(3)).predict(X)).all()
