"""Estimators of scikit-learn, one per learner of labelled data.

The estimators train on a service on this machine, which starts on first use. `use` selects another service.

The learners that train a committee take any number of classes, see `fit`. The others take two.

`X` is a matrix of numbers, and `fit` fixes how each column is read, whatever values come later. Learners of Boolean
features read a number as a thermometer: `bins` features tell whether the number exceeds quantiles of the training data.
A column with two values at the fit has one bit, which tells whether a number is nearer to the larger one. A sparse
matrix of zeros and ones has such columns. The perceptrons, the pocket and the perspectron read numbers as they are by
default (`numbers="real"`).

Only the active entries of a sparse matrix are sent and learnt from, except that thermometers need a dense matrix.

Features may also have names: `X` is then a list of the names of each example, as in
`[["w=the", "pos=DT"], {"length": 3.5}]`, an array of objects with such rows, or a sparse matrix of whose columns `fit`
gets the `feature_names`. Later examples may have any names.

`max_passes` counts passes over the examples. The pocket, and other learners with `order="random"`, learn from one drawn
mistake at a time, so their pass is as many draws as there are examples.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache
from numbers import Integral
from typing import Any, TypeVar

import msgspec
import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import _check_partial_fit_first_call, check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data

from .client import Client, local
from .data import LABEL, content
from .errors import HalfspaceError, NotFound, Problem
from .process import PerProcess
from .requests import Call, scalar
from .resources import Model, exact, lines, ordered
from .rows import is_named, is_texts, listed, named, read, refuse_texts
from .types import Predictions, Session

LARGEST = sys.float_info.max

TINY = 5e-324
"""The smallest positive float."""

_chosen: list[Client] = []


def use(client: Client | None) -> None:
    """Lets the estimators train on this service. None means a service of their own on this machine."""
    _chosen[:] = [] if client is None else [client]


@cache
def _own() -> Client:
    return local()


_starting = PerProcess(threading.Lock)


def _client() -> Client:
    if _chosen:
        return _chosen[0]
    # Two threads must not start two services. A forked process has a lock of its own, which nobody holds.
    with _starting():
        return _own()


@lru_cache(maxsize=64)
def _sent(address: str, model: bytes) -> str:
    """The id of a model on a service."""
    return _client().send_model(model).id


def _given(X: Any) -> Any:
    """Examples with their rows in a list, if they have names or come as an array of objects.

    Raises `DataError` for a text as a row.
    """
    X = listed(X)
    if getattr(X, "ndim", 0) == 2 and hasattr(X, "tolist") and X.dtype.kind in "OUS" and not _is_numeric(X):
        # NumPy makes such an array of lists of names that have one length.
        X = X.tolist()
    refuse_texts(X)
    return X


def _is_numeric(X: Any) -> bool:
    """Whether scikit-learn reads an array of objects or texts as numbers, such as the text "2.5"."""
    try:
        X.astype(np.float64)
    except ValueError:
        return False
    except TypeError:
        # These objects are no texts either. scikit-learn says so.
        pass
    return True


def _has_names(X: Any) -> bool:
    return is_named(X) or is_texts(X)


def _is_bits(X: Any) -> bool:
    """Whether a sparse matrix has no values but 0 and 1."""
    return bool(((X.data == 0) | (X.data == 1)).all())


def _dense(X: Any) -> Any:
    if issparse(X) and X.shape[0] * X.shape[1] > CELLS_MAX:
        raise ValueError(
            f"thermometers need a dense matrix, and X of the shape {X.shape} has more than {CELLS_MAX} cells; "
            "give zeros and ones, as CountVectorizer(binary=True) does"
        )
    return X.toarray() if issparse(X) else X


CELLS_MAX = 2**27
"""Cells of a sparse matrix that is made dense, of 8 bytes each."""

SPARSE_CLASSES_MAX = 100
"""The most whole numbers that the service takes for names of classes."""

MULTICLASS = ("one-vs-rest", "joint")
"""How the hypotheses of more than two classes learn."""

STATED = ("name", "kind", "thresholds", "values", "missing")
"""The members of a column in the encoding of a session."""


class _Bits:
    """The columns of two values at the fit, which have one bit each."""

    def __init__(self, X: Any) -> None:
        self.is_sparse = bool(issparse(X))
        if not self.is_sparse:
            self.low, self.high = X.min(axis=0), X.max(axis=0)
            self.columns = np.flatnonzero(((X == self.low) | (X == self.high)).all(axis=0))

    def read(self, X: Any) -> Any:
        """The matrix with 1 where such a column is nearer to its larger value at the fit, and else 0."""
        X = X.copy()
        if self.is_sparse:
            X.data = (X.data > 0.5).astype(np.float64)
            return X
        low, high = self.low[self.columns], self.high[self.columns]
        # The sum of two large numbers may be infinite.
        X[:, self.columns] = X[:, self.columns] > low / 2 + high / 2
        return X


class _Hypothesis(msgspec.Struct):
    """The hypothesis in a model file, as far as an estimator reads it."""

    kind: str = ""
    theta: str = "0"
    members: list[_Hypothesis] = []
    weights: list[float] | str = []
    bias: float | None = None
    reading: str | None = None
    alpha: float | str = 1
    exponents: list[int] = []
    negated_literals: bool = False

    @property
    def threshold(self) -> str:
        """The number that a score must reach. All members of a committee have the same."""
        return self.members[0].theta if self.members else self.theta

    @property
    def linear(self) -> tuple[Any, float]:
        """The weights of features that are 0 or a number, and the sum of what does not depend on them.

        Raises `AttributeError` for a hypothesis that has no such weights.
        """
        if self.kind == "linear":
            weights, bias = np.array(self.weights, dtype=np.float64), self.bias or 0.0
            # A bit 0 counts as -1.
            return (2 * weights, bias - weights.sum()) if self.reading == "signed" else (weights, bias)
        if self.kind == "winnow" and not self.negated_literals:
            return np.power(float(self.alpha), np.array(self.exponents, dtype=np.float64)), -float(self.theta)
        raise AttributeError("the hypothesis is not linear in the columns")


class _File(msgspec.Struct):
    """What an estimator reads in a model file."""

    hypothesis: _Hypothesis
    classes: list[str] | None = None
    features: list[str] | None = None


A = TypeVar("A")
C = TypeVar("C", bound="_Classifier")
L = TypeVar("L", bound="_OnLine")


class _Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A learner as an estimator."""

    _learner = ""
    _has_committees = False
    _sparse: str | bool = "csr"
    _common: tuple[str, ...] = ("numbers", "bins", "max_passes", "random_state")
    _names = {"conjunctions": "kernel.conjunctions", "max_literals": "kernel.max_literals"}

    numbers: str | None
    bins: int
    max_passes: int | None
    random_state: Any

    @property
    def _takes_many(self) -> bool:
        # With the order `random`, the mistakes of each hypothesis decide which examples come next.
        return self._has_committees and getattr(self, "order", None) != "random"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._takes_many
        tags.input_tags.sparse = bool(self._sparse)
        return tags

    def fit(self: C, X: Any, y: Any, feature_names: Any = None) -> C:
        """Trains the learner on `X` of the shape (examples, features) and `y` of the shape (examples,).

        Of two classes, the second in sorted order is positive. More classes have one hypothesis each, and the
        largest score is predicted.

        `feature_names` names the columns of a sparse matrix. Without them, `X` may be a list of the names of each
        example. Features with names are read as 0 where an example lacks them, whatever `numbers` says.

        Raises `ValueError` for one class, for more than two if the learner has no committees, and for data that
        scikit-learn refuses. Raises `halfspace.DataError` for a row that is a text or that holds what is no name.
        """
        X = self._rows(X)
        self.is_named_ = feature_names is not None or _has_names(X)
        X, y = self._checked(X, y)
        if feature_names is not None:
            self.feature_names_in_ = np.array([*feature_names], dtype=object)
        self.classes_, codes = np.unique(y, return_inverse=True)
        X, reading = self._fixed(X)
        options = self._params()
        draws = len(y) if self._learner == "pocket" or options.get("order") == "random" else 1
        if self.max_passes is not None and not (isinstance(self.max_passes, Integral) and self.max_passes >= 1):
            raise ValueError(f"max_passes is {self.max_passes!r}; give a whole number from 1, or None")
        limit = None if self.max_passes is None else int(self.max_passes) * draws
        options.update(seed=self._seed(), max_passes=limit, max_mistakes=limit if draws > 1 else None)
        if self.reads_bits_:
            options["reading"] = "unsigned"
        many = len(self.classes_)
        if self.is_sparse_ and many > 2 and (many > SPARSE_CLASSES_MAX or len(y) < 2 * many):
            # The service would take the numbers, which are the only labels of a sparse matrix, for measurements.
            raise ValueError(
                f"a sparse matrix can have {SPARSE_CLASSES_MAX} classes with two examples each on average; "
                "give a dense matrix or feature_names"
            )
        job = _client().train(X, self._labels(codes), learner=self._learner, progress=False, **options, **reading)
        self._keep(job.model)
        self._keep_names(X)
        self.mistakes_, self.n_iter_ = job.result.mistakes, max(1, -(-job.result.passes // draws))
        return self

    def _rows(self, X: Any) -> Any:
        """Examples as rows or a matrix."""
        return _given(X)

    def _checked(self, X: Any, y: Any, classes: Any = None, reset: bool = True) -> tuple[Any, Any]:
        """The examples and the labels as arrays. The `classes` are those of `y` unless they are given."""
        if self.is_named_:
            X, y = self._checked_names(X, reset), column_or_1d(y, warn=True)
            check_consistent_length(X, y)
        else:
            X, y = validate_data(self, X, y, dtype=np.float64, accept_sparse=self._sparse, reset=reset)
        check_classification_targets(y)
        count = len(np.unique(y) if classes is None else classes)
        if count < 2:
            raise ValueError("Classifier can't train when only one class is present.")
        if count > 2 and not self._takes_many:
            raise ValueError("Only binary classification is supported. The type of the target is multiclass.")
        return X, y

    def _checked_names(self, X: Any, reset: bool) -> Any:
        """Examples with names, or a sparse matrix with a name for each column."""
        if not issparse(X):
            return list(X)
        X = check_array(X, dtype=np.float64, accept_sparse="csr")  # pyright: ignore[reportArgumentType]
        if reset:
            self.n_features_in_ = X.shape[1]
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} columns, but the estimator knows the names of {self.n_features_in_}")
        return X

    def _params(self) -> dict[str, Any]:
        """The parameters of the learner, by the names of the service."""
        given = {name: value for name, value in self.get_params().items() if name not in self._common}
        params = {name: value for name, value in {**given, **self._unstated()}.items() if value is not None}
        how = params.get("multiclass", MULTICLASS[0])
        if how not in MULTICLASS:
            raise ValueError(f"multiclass is {how!r}; give one of {', '.join(MULTICLASS)}")
        if len(self.classes_) == 2:
            params.pop("multiclass", None)
        return {str(self._names.get(name, name)): value for name, value in params.items()}

    def _unstated(self) -> dict[str, Any]:
        """Parameters that are None and depend on the data: with names, nothing stands for what an example lacks."""
        unstated = {"negated_literals": not self.is_named_, "conjunctions": "monotone" if self.is_named_ else "all"}
        return {name: value for name, value in unstated.items() if self.get_params().get(name, value) is None}

    def _seed(self) -> int | None:
        return None if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))

    def _fixed(self, X: Any) -> tuple[Any, dict[str, Any]]:
        """The examples to send, and how the service reads them. Fixes how these and later examples are read."""
        is_real, self.bits_ = self.numbers == "real", None
        # Numbers need thresholds for a learner of Boolean features, and a sparse matrix has none.
        self.is_sparse_ = not self.is_named_ and bool(issparse(X)) and (is_real or _is_bits(X))
        # The numbers 0 and 1 are what unsigned bits count as.
        self.reads_bits_ = self.is_sparse_ and is_real and _is_bits(X)
        if self.is_named_:
            return X, self._reading(X)
        if not self.is_sparse_:
            X = _dense(X)
        self.bits_ = None if is_real else _Bits(X)
        table: dict[str, Any] = {}
        if not self.is_sparse_:
            # Without the kind, the service would read a matrix of zeros and ones as bits.
            table = {"numbers": self.numbers, **({"kinds": {"*": "number"}} if is_real else {"bins": self.bins})}
        return self._read(X), table

    def _reading(self, X: Any) -> dict[str, Any]:
        """How the service reads examples of an estimator that was fitted before."""
        if not self.is_named_:
            return {}
        return {"feature_names": self.feature_names_in_} if issparse(X) else {"vocabulary": "open"}

    def _read(self, X: Any) -> Any:
        """Examples as they are sent."""
        if self.is_named_:
            return X
        X = csr_matrix(X) if self.is_sparse_ else _dense(X)
        return self.bits_.read(X) if self.bits_ else X

    def _labels(self, codes: Any) -> Any:
        """The labels that are sent for classes, which are given by their places in `classes_`."""
        if len(self.classes_) == 2:
            return 2 * codes - 1
        # A sparse matrix has numbers as labels. Elsewhere the service could take numbers for measurements.
        return codes if self.is_sparse_ else [f"class {code}" for code in codes]

    def _keep(self, model: Model, session: str | None = None, position: int = 0) -> None:
        """Keeps a trained model, and the session that goes on with it."""
        self.model_, self.session_, self.position_ = model.export(), session, position
        names = msgspec.json.decode(self.model_, type=_File).classes
        # The service has more than two classes in the order of their first rows.
        self.order_ = np.array([int(name.split()[-1]) for name in names or "01"])

    def _keep_names(self, X: Any) -> None:
        """Keeps the names that the model knows after it has learnt `X`. A sparse matrix has names for its columns."""
        if self.is_named_ and not issparse(X):
            self.feature_names_in_ = np.array(msgspec.json.decode(self.model_, type=_File).features, dtype=object)
            self.n_features_in_ = len(self.feature_names_in_)

    def _later(self, X: Any) -> Any:
        """A matrix to predict, as it is sent."""
        check_is_fitted(self, "model_")
        X = self._rows(X)
        if self.is_named_:
            return self._checked_names(X, reset=False)
        if _has_names(X):
            raise ValueError("X has names, but the examples of the training had none; give a matrix of numbers")
        return self._read(validate_data(self, X, dtype=np.float64, reset=False, accept_sparse=self._sparse))

    def _predictions(self, X: Any, **options: Any) -> Predictions:
        options = {**options, **self._reading(X)}
        return self._asked(lambda model: model.predictions(X, **options))

    def _asked(self, ask: Callable[[Model], A]) -> A:
        """The answer of the model on the service."""
        client = _client()
        try:
            return ask(Model(client, _sent(client.address, self.model_)))
        except NotFound:
            # Somebody has deleted the model on the service.
            return ask(client.send_model(self.model_))

    def _codes(self, found: Predictions) -> Any:
        """The places of the predicted classes in `classes_`."""
        predictions = np.asarray(found.predictions)
        return self.order_[predictions if len(self.classes_) > 2 else (predictions == 1).astype(int)]

    def predict(self, X: Any) -> Any:
        """The predicted classes, of the shape (examples,), for `X` of the shape (examples, features).

        If several classes have the largest score, the one that came first in the training wins.
        """
        X = self._later(X)
        if self.reads_bits_ and not _is_bits(X):
            scores = self._scores(X)
            return self.classes_[self._first_largest(scores) if scores.ndim > 1 else (scores >= 0).astype(int)]
        return self.classes_[self._codes(self._predictions(X, scores="none"))]

    def unseen(self, X: Any) -> Any:
        """How many names of each example the training did not have, of the shape (examples,)."""
        found = self._predictions(self._later(X), scores="none")
        if found.unseen is None:
            raise ValueError("the features of the estimator have no names")
        return np.asarray(found.unseen)

    @property
    def coef_(self) -> Any:
        """The weights of the columns, of the shape (1, features) or (classes, features), in the order of `classes_`.

        Columns with names are those of `feature_names_in_`. Raises `AttributeError` if a column is not one feature, as
        with thermometers, and for a hypothesis that is not linear in the columns.
        """
        return self._linear()[0]

    @property
    def intercept_(self) -> Any:
        """What `decision_function` adds to the sum of weights; of the shape (1,) or (classes,)."""
        return self._linear()[1]

    def _linear(self) -> tuple[Any, Any]:
        check_is_fitted(self, "model_")
        if not (self.is_named_ or self.is_sparse_ or self.numbers == "real"):
            raise AttributeError("a column has several features")
        file = msgspec.json.decode(self.model_, type=_File)
        weights, biases = zip(*(one.linear for one in file.hypothesis.members or [file.hypothesis]))
        coefficients, intercepts = np.array(weights), np.array(biases)
        if self.is_named_:
            # A column that no example of the training has keeps the first weight.
            first = 1.0 if self._learner == "winnow" else 0.0
            coefficients = np.hstack([coefficients, np.full((len(biases), 1), first)])
            places = {name: at for at, name in enumerate(file.features or [])}
            coefficients = coefficients[:, [places.get(name, -1) for name in self.feature_names_in_]]
        if len(biases) > 1:
            coefficients[self.order_], intercepts[self.order_] = coefficients.copy(), intercepts.copy()
        return coefficients, intercepts

    def _scores(self, X: Any) -> Any:
        """Scores of numbers by weights that were learnt from bits, which the service applies to bits only."""
        coefficients, intercepts = self._linear()
        scores = np.asarray(X @ coefficients.T + intercepts)
        return scores if len(intercepts) > 1 else scores[:, 0]

    def _first_largest(self, scores: Any) -> Any:
        """The places in `classes_` of the largest scores, of the first class in the training among equals."""
        return self.order_[scores[:, self.order_].argmax(axis=1)]

    def decision_function(self, X: Any) -> Any:
        """The scores minus the threshold, for `X` of the shape (examples, features).

        Two classes have the shape (examples,), and a positive number predicts the second class. More have the shape
        (examples, classes), and the first largest number of a row predicts its class in `classes_`.

        The scores of the service are exact, and some are longer than a float. The signs, the order and the ties of the
        result are those of the exact scores, also in `roc_auc_score`, except that the predicted class comes before
        those with the same score. From 2^1000 on, the numbers grow with the logarithm of the score: see
        `halfspace.resources.compressed`.
        """
        X = self._later(X)
        if self.reads_bits_ and not _is_bits(X):
            return self._scores(X)
        found = self._predictions(X, scores="all")
        codes, threshold = self._codes(found), exact(msgspec.json.decode(self.model_, type=_File).hypothesis.threshold)
        if len(self.classes_) == 2:
            given = [_above(score, threshold, code == 1) for score, code in zip(found.scores or [], codes)]
            scores = np.asarray(ordered(given), dtype=np.float64)
            # A score at the threshold predicts the second class, before all larger scores.
            return np.where((codes == 1) & (scores <= 0), TINY, scores)
        rows = zip(found.class_scores or [], found.predictions)
        given = [_above(score, threshold, at == place) for row, place in rows for at, score in enumerate(row)]
        scores = np.empty((len(codes), len(self.classes_)))
        scores[:, self.order_] = np.reshape(ordered(given), scores.shape)
        best, places = scores.max(axis=1), np.arange(len(codes))
        is_tie = (scores.argmax(axis=1) != codes) & (scores[places, codes] == best)
        scores[places[is_tie], codes[is_tie]] = np.nextafter(best[is_tie], np.inf)
        return scores


def _above(score: float | str | None, threshold: Fraction, is_predicted: bool) -> Fraction | float:
    """The score minus the threshold, exactly.

    A real score beyond the range of floats is null. It becomes the largest float if its class is predicted, and
    otherwise the smallest.
    """
    if score is None:
        return LARGEST if is_predicted else -LARGEST
    # A number loses nothing as a float, which is faster than a fraction.
    return exact(score) - threshold if threshold or isinstance(score, str) else score


def _active(X: Any) -> int:
    """The most names of an example, at least 1."""
    if issparse(X):
        return max(1, int((X != 0).sum(axis=1).max()))
    rows = read(X, named)
    return max(1, *(sum(map(bool, row.values())) if isinstance(row, dict) else len(set(row)) for row in rows))


class _OnLine(_Classifier):
    """A learner that can also learn one example after the other."""

    def partial_fit(self: L, X: Any, y: Any, classes: Any = None, feature_names: Any = None) -> L:
        """Learns each example once, in their order. `X` has the shape (examples, features), `y` the shape (examples,).

        The first call needs all `classes`, and its examples fix how the columns of all later ones are read. `order`
        and `max_passes` have no effect. A call after `fit` begins anew, because a session cannot start from a model.

        If the examples of the first call have names, as in `fit`, so have all later ones, which may bring new names. A
        sparse matrix whose columns differ from those of the call before needs `feature_names` again. Names may have
        values other than 1 if `numbers` is "real". The default `theta` follows from the most names of an example in the
        first call.

        The learner's state stays in a session on the service, and the estimator keeps the model. So a pickle or a
        copy predicts everywhere, but goes on learning only on the service with the session, and only if no other
        copy has learnt there since.

        Raises `ValueError` for classes that are not among `classes`, and where `fit` does. Raises `HalfspaceError` if
        the session has gone or has moved.
        """
        is_first = _check_partial_fit_first_call(self, classes)
        X = self._rows(X)
        has_names = feature_names is not None or _has_names(X)
        client, session = _client(), getattr(self, "session_", None)
        if session is None:
            self.is_named_ = has_names
        elif has_names and not self.is_named_:
            raise ValueError("the examples before had no names; begin again with a clone")
        X, y = self._checked(X, y, self.classes_, reset=session is None or feature_names is not None)
        if feature_names is not None:
            self.feature_names_in_ = np.array([*feature_names], dtype=object)
        if len(unique_labels(self.classes_, y)) > len(self.classes_):
            raise ValueError(f"y has classes that are not among {self.classes_.tolist()}")
        codes = np.searchsorted(self.classes_, y)
        if session is not None:
            X, position = self._read(X), self.position_
        else:
            if not is_first and hasattr(self, "model_"):
                text = "partial_fit begins anew, because a session cannot start from a fitted model"
                warnings.warn(text, stacklevel=2)
            X, table = self._fixed(X)
            # The session reads the same matrix as numbers.
            session, position, self.mistakes_, self.reads_bits_ = self._opened(client, X, codes, table), 0, 0, False
        body = content(X, self._labels(codes), **self._reading(X))
        call = Call("POST", f"/v1/sessions/{session}/examples", header={"if-match": f'"{position}"'}, body=body)
        try:
            answers = lines(client._send(call, bytes))
        except Problem as problem:
            if isinstance(problem, NotFound) or problem.code == "stale-position":
                text = (
                    f"the service has no session of this estimator after {position} examples: it is another service, "
                    "or a copy of the estimator has learnt since, or the service refused an example after others; "
                    "begin again with a clone"
                )
                raise HalfspaceError(text) from problem
            raise
        saved = client.save_session_model(session).id
        self._keep(Model(client, saved), session, position + len(answers))
        self._keep_names(X)
        client.delete_model(saved)
        self.mistakes_ += sum(answer["mistake"] for answer in answers)
        self.n_iter_ = 1
        return self

    def _opened(self, client: Client, X: Any, codes: Any, table: dict[str, Any]) -> str:
        """The id of a new session for examples like `X`, whose classes have these codes."""
        params: dict[str, Any] = {}
        given = self._params()
        multiclass = given.pop("multiclass", None)
        given.pop("order", None)
        for name, value in given.items():
            *over, last = name.split(".")
            (params.setdefault(over[0], {}) if over else params)[last] = scalar(value)
        every = np.arange(len(self.classes_))
        # The order of the first rows, as in a training.
        order = every if len(every) == 2 else dict.fromkeys([*codes.tolist(), *every.tolist()])
        classes = [str(label) for label in self._labels(np.array(list(order)))]
        body: dict[str, Any] = {"learner": {"name": self._learner, "params": params}, "seed": self._seed()}
        if multiclass:
            body["multiclass"] = multiclass
        values = "real" if self.numbers == "real" else "boolean"
        if self.is_named_:
            body.update(self._session_body(X), classes=classes)
        elif self.is_sparse_:
            body.update(n=X.shape[1], classes=classes, values=values)
        else:
            preview = client.preview_data(content(X, labels="none", **table), rows=0)
            if preview.table is None:
                raise ValueError(preview.refusal.detail if preview.refusal else "X is no table")
            read = [msgspec.to_builtins(column) for column in preview.table.columns]
            columns = [{name: column[name] for name in STATED if name in column} for column in read]
            body.update(encoding={"columns": columns, "label": {"column": LABEL, "classes": classes}})
        return client._send(Call("POST", "/v1/sessions", body=body, creates=True), Session).id

    def _session_body(self, X: Any) -> dict[str, Any]:
        """What a session over names must know."""
        values = "real" if self.numbers == "real" else "boolean"
        active = {"active": _active(X)} if "theta" in self.get_params() else {}
        return {"vocabulary": "open", "values": values, **active}


class Perceptron(_OnLine):
    """The perceptron.

    More than two classes learn "one-vs-rest", each hypothesis from its own mistakes, or "joint": when the prediction is
    wrong, the true class gains the example and the predicted class loses it.
    """

    _learner = "perceptron"
    _has_committees = True

    def __init__(
        self, *,
        bias: bool = True, eta: float = 1, order: str = "cyclic", multiclass: str = "one-vs-rest",
        numbers: str = "real", bins: int = 8, max_passes: int | None = 100, random_state: Any = None,
    ) -> None:
        self.bias, self.eta, self.order, self.multiclass = bias, eta, order, multiclass
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class AveragedPerceptron(_OnLine):
    """The mean of a perceptron's weights, for noisy data. `multiclass` is that of `Perceptron`."""

    _learner = "averaged-perceptron"
    _has_committees = True

    def __init__(
        self, *,
        bias: bool = True, eta: float = 1, order: str = "shuffled", multiclass: str = "one-vs-rest",
        numbers: str = "real", bins: int = 8, max_passes: int | None = 10, random_state: Any = None,
    ) -> None:
        self.bias, self.eta, self.order, self.multiclass = bias, eta, order, multiclass
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class Pocket(_Classifier):
    """The pocket algorithm: the best hyperplane that the perceptron has met."""

    _learner = "pocket"

    def __init__(
        self, *,
        bias: bool = True, eta: float = 1, numbers: str = "real", bins: int = 8, max_passes: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.bias, self.eta = bias, eta
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class Perspectron(_OnLine):
    """The perspectron, for noisy labels and a margin."""

    _learner = "perspectron"

    def __init__(
        self, *,
        bias: bool = True, label_noise: float = 0.1, margin: float = 0.1, excess: float = 0.1,
        numbers: str = "real", bins: int = 8, max_passes: int | None = 1, random_state: Any = None,
    ) -> None:
        self.bias, self.label_noise, self.margin, self.excess = bias, label_noise, margin, excess
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class Winnow(_OnLine):
    """Winnow: a threshold of positive weights.

    With `negated_literals` the complement of each feature is a feature too; None adds them unless features have names.
    """

    _learner = "winnow"
    _has_committees = True

    def __init__(
        self, *,
        alpha: float = 2, theta: float | str | None = None, negated_literals: bool | None = None,
        numbers: str = "thermometer", bins: int = 8, max_passes: int | None = 100, random_state: Any = None,
    ) -> None:
        self.alpha, self.theta, self.negated_literals = alpha, theta, negated_literals
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class KernelPerceptron(_OnLine):
    """The perceptron over conjunctions of features.

    `conjunctions` are "all" or, without negated features, "monotone"; None is "all" unless features have names.
    """

    _learner = "kernel-perceptron"
    _has_committees = True

    def __init__(
        self, *,
        conjunctions: str | None = None, max_literals: int | None = None, order: str = "cyclic",
        numbers: str = "thermometer", bins: int = 8, max_passes: int | None = 100, random_state: Any = None,
    ) -> None:
        self.conjunctions, self.max_literals, self.order = conjunctions, max_literals, order
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class KernelWinnow(_OnLine):
    """Winnow over all monotone conjunctions. An example may have few active features only. Sparse data are refused."""

    _learner = "kernel-winnow"
    _has_committees = True
    # The one threshold of a column that is mostly zero is zero, which leaves no feature.
    _sparse = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Monotone conjunctions have no negated features, so a class below a threshold cannot be told.
        tags.classifier_tags.poor_score = True
        return tags

    def __init__(
        self, *,
        alpha: float = 2, theta: float | str | None = None, max_active: int = 20, numbers: str = "thermometer",
        bins: int = 1, max_passes: int | None = 100, random_state: Any = None,
    ) -> None:
        self.alpha, self.theta, self.max_active = alpha, theta, max_active
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class BoundedPerceptron(_OnLine):
    """The perceptron with weights in [0, 1] against a constant inhibition."""

    _learner = "bounded-perceptron"
    _has_committees = True

    def __init__(
        self, *,
        inhibition: float = 0.5, eta: float = 0.01, threshold: float = 0, numbers: str = "thermometer",
        bins: int = 8, max_passes: int | None = 100, random_state: Any = None,
    ) -> None:
        self.inhibition, self.eta, self.threshold = inhibition, eta, threshold
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class DirectedDrift(_OnLine):
    """Directed Drift: binary weights, one flipped bit per mistake."""

    _learner = "directed-drift"

    def __init__(
        self, *,
        numbers: str = "thermometer", bins: int = 8, max_passes: int | None = 100, random_state: Any = None,
    ) -> None:
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class DirectedDriftAsync(_OnLine):
    """Directed Drift with batches: one bit per batch, flipped by majority vote."""

    _learner = "directed-drift-async"

    def __init__(
        self, *,
        batch_size: int | None = 8, numbers: str = "thermometer", bins: int = 8, max_passes: int | None = 100,
        random_state: Any = None,
    ) -> None:
        self.batch_size = batch_size
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class DirectedDriftSync(_OnLine):
    """Directed Drift with batches: all bits at once, flipped by majority vote."""

    _learner = "directed-drift-sync"

    def __init__(
        self, *,
        batch_size: int | None = 8, numbers: str = "thermometer", bins: int = 8, max_passes: int | None = 100,
        random_state: Any = None,
    ) -> None:
        self.batch_size = batch_size
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class SBPI(_OnLine):
    """SBPI: binary weights, on-line."""

    _learner = "sbpi"

    def __init__(
        self, *,
        reinforcement: float = 0.3, order: str = "shuffled", numbers: str = "thermometer", bins: int = 8,
        max_passes: int | None = 100, random_state: Any = None,
    ) -> None:
        self.reinforcement, self.order = reinforcement, order
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class ClippedPerceptron(_OnLine):
    """The clipped perceptron: binary weights, on-line."""

    _learner = "clipped-perceptron"

    def __init__(
        self, *,
        reinforcement: float = 0.3, order: str = "shuffled", numbers: str = "thermometer", bins: int = 8,
        max_passes: int | None = 100, random_state: Any = None,
    ) -> None:
        self.reinforcement, self.order = reinforcement, order
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class AMP(_Classifier):
    """Binary weights by approximate message passing, for hidden weights and uniform examples."""

    _learner = "amp"

    def __init__(
        self, *,
        max_iterations: int | None = None, restarts: int | None = None, numbers: str = "thermometer",
        bins: int = 8, max_passes: int | None = None, random_state: Any = None,
    ) -> None:
        self.max_iterations, self.restarts = max_iterations, restarts
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class ReinforcedAMP(_Classifier):
    """Binary weights by reinforced message passing, also for random labels."""

    _learner = "reinforced-amp"

    def __init__(
        self, *,
        reinforcement: float = 0.003, max_iterations: int | None = None, restarts: int | None = None,
        numbers: str = "thermometer", bins: int = 8, max_passes: int | None = None, random_state: Any = None,
    ) -> None:
        self.reinforcement, self.max_iterations, self.restarts = reinforcement, max_iterations, restarts
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class FocusingBP(_Classifier):
    """Binary weights by message passing among coupled copies, for random labels."""

    _learner = "focusing-bp"

    def __init__(
        self, *,
        step: float = 0.0005, max_iterations: int | None = None, restarts: int | None = None,
        numbers: str = "thermometer", bins: int = 8, max_passes: int | None = None, random_state: Any = None,
    ) -> None:
        self.step, self.max_iterations, self.restarts = step, max_iterations, restarts
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class Auto(_Classifier):
    """Binary weights that are consistent with every example, by the strategy that fits the sample."""

    _learner = "auto"

    def __init__(
        self, *,
        numbers: str = "thermometer", bins: int = 8, max_passes: int | None = None, random_state: Any = None,
    ) -> None:
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state
