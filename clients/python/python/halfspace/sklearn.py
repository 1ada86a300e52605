"""Estimators of scikit-learn, one per learner of labelled data.

The estimators train on a service on this machine, which starts on first use. `use` selects another service.

`X` is a matrix of numbers, and `fit` fixes how each column is read, whatever values come later. Learners of Boolean
features read a number as a thermometer: `bins` features tell whether the number exceeds quantiles of the training data.
A column with two values at the fit has one bit, which tells whether a number is nearer to the larger one. A sparse
matrix of zeros and ones has such columns. The perceptron, the pocket and the perspectron read numbers as they are by
default (`numbers="real"`).

`max_passes` counts passes over the examples. The pocket, and other learners with `order="random"`, learn from one drawn
mistake at a time, so their pass is as many draws as there are examples.
"""

from __future__ import annotations

import sys
import threading
from fractions import Fraction
from functools import cache, lru_cache
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from .client import Client, local
from .errors import NotFound
from .process import PerProcess
from .resources import Model, exact, ordered
from .types import Predictions

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


def _dense(X: Any) -> Any:
    return X.toarray() if issparse(X) else X


CELLS_MAX = 2**24
"""Cells of a sparse matrix of zeros and ones that is sent as a table of numbers."""


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


class _Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A learner as an estimator."""

    _learner = ""
    _sparse: str | bool = "csr"
    _common = ("numbers", "bins", "max_passes", "random_state")
    _names = {"conjunctions": "kernel.conjunctions", "max_literals": "kernel.max_literals"}

    numbers: str | None
    bins: int
    max_passes: int | None
    random_state: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = bool(self._sparse)
        return tags

    def fit(self, X: Any, y: Any) -> _Classifier:
        """Trains the learner. `y` has two classes, of which the second in sorted order is positive."""
        X, y = validate_data(self, X, y, dtype=np.float64, accept_sparse=self._sparse)
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("Classifier can't train when only one class is present.")
        params = {name: value for name, value in self.get_params().items() if name not in self._common and value is not None}
        seed = None if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        options: dict[str, Any] = {str(self._names.get(name, name)): value for name, value in params.items()}
        draws = X.shape[0] if self._learner == "pocket" or params.get("order") == "random" else 1
        if self.max_passes is not None and not (isinstance(self.max_passes, Integral) and self.max_passes >= 1):
            raise ValueError(f"max_passes is {self.max_passes!r}; give a whole number from 1, or None")
        limit = None if self.max_passes is None else int(self.max_passes) * draws
        options.update(seed=seed, max_passes=limit, max_mistakes=limit if draws > 1 else None)
        is_real = self.numbers == "real"
        has_bits = bool(issparse(X)) and not set(np.unique(X.data)) - {0, 1}
        # Numbers need thresholds for a learner of Boolean features, and a sparse matrix has none.
        self.is_sparse_ = bool(issparse(X)) and (not has_bits if is_real else has_bits)
        if is_real and has_bits and X.shape[0] * X.shape[1] > CELLS_MAX:
            raise ValueError(
                f"a sparse matrix of zeros and ones with more than {CELLS_MAX} cells has bits, not numbers; "
                "set numbers='thermometer'"
            )
        if not self.is_sparse_:
            X = _dense(X)
            options.update(numbers=self.numbers, bins=None if is_real else self.bins)
        # Without the kind, the service would read a matrix of zeros and ones as bits.
        options.update(kinds={"*": "number"} if is_real and not self.is_sparse_ else None)
        self.bits_ = None if is_real else _Bits(X)
        X = self.bits_.read(X) if self.bits_ else X
        job = _client().train(X, 2 * codes - 1, learner=self._learner, progress=False, **options)
        self.model_ = job.model.export()
        self.mistakes_, self.n_iter_ = job.result.mistakes, max(1, -(-job.result.passes // draws))
        return self

    def _predictions(self, X: Any) -> tuple[Model, Predictions]:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False, accept_sparse=self._sparse)
        X = csr_matrix(X) if self.is_sparse_ else _dense(X)
        X = self.bits_.read(X) if self.bits_ else X
        client = _client()
        model = Model(client, _sent(client.address, self.model_))
        try:
            return model, model.predictions(X)
        except NotFound:
            # Somebody has deleted the model on the service.
            model = client.send_model(self.model_)
            return model, model.predictions(X)

    def predict(self, X: Any) -> Any:
        """The predicted classes."""
        _, found = self._predictions(X)
        return self.classes_[(np.asarray(found.predictions) == 1).astype(int)]

    def decision_function(self, X: Any) -> Any:
        """The scores minus the threshold. A positive number predicts the second class.

        The scores of the service are exact, and some are longer than a float. The signs, the order and the ties of the
        result are those of the exact scores, also in `roc_auc_score`. From 2^1000 on, the numbers grow with the
        logarithm of the score: see `halfspace.resources.compressed`.
        """
        model, found = self._predictions(X)
        is_second = np.asarray(found.predictions) == 1
        threshold = exact(getattr(model.document.hypothesis, "theta", 0))
        # A real score beyond the range of floats is null.
        lost = [Fraction(LARGEST if one else -LARGEST) for one in is_second]
        given = [exact(score) - threshold if score is not None else lost[i] for i, score in enumerate(found.scores or [])]
        scores = np.asarray(ordered(given), dtype=np.float64)
        # A score at the threshold predicts the second class, before all larger scores.
        return np.where(is_second & (scores <= 0), TINY, scores)


class Perceptron(_Classifier):
    """The perceptron."""

    _learner = "perceptron"

    def __init__(
        self, *,
        bias: bool = True, eta: float = 1, order: str = "cyclic", numbers: str = "real", bins: int = 8,
        max_passes: int | None = 100, random_state: Any = None,
    ) -> None:
        self.bias, self.eta, self.order = bias, eta, order
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


class Perspectron(_Classifier):
    """The perspectron, for noisy labels and a margin."""

    _learner = "perspectron"

    def __init__(
        self, *,
        bias: bool = True, label_noise: float = 0.1, margin: float = 0.1, excess: float = 0.1,
        numbers: str = "real", bins: int = 8, max_passes: int | None = 1, random_state: Any = None,
    ) -> None:
        self.bias, self.label_noise, self.margin, self.excess = bias, label_noise, margin, excess
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class Winnow(_Classifier):
    """Winnow: a threshold of positive weights."""

    _learner = "winnow"

    def __init__(
        self, *,
        alpha: float = 2, theta: float | str | None = None, negated_literals: bool = True,
        numbers: str = "thermometer", bins: int = 8, max_passes: int | None = 100, random_state: Any = None,
    ) -> None:
        self.alpha, self.theta, self.negated_literals = alpha, theta, negated_literals
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class KernelPerceptron(_Classifier):
    """The perceptron over all conjunctions of features."""

    _learner = "kernel-perceptron"

    def __init__(
        self, *,
        conjunctions: str = "all", max_literals: int | None = None, order: str = "cyclic",
        numbers: str = "thermometer", bins: int = 8, max_passes: int | None = 100, random_state: Any = None,
    ) -> None:
        self.conjunctions, self.max_literals, self.order = conjunctions, max_literals, order
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class KernelWinnow(_Classifier):
    """Winnow over all monotone conjunctions. An example may have few active features only. Sparse data are refused."""

    _learner = "kernel-winnow"
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


class BoundedPerceptron(_Classifier):
    """The perceptron with weights in [0, 1] against a constant inhibition."""

    _learner = "bounded-perceptron"

    def __init__(
        self, *,
        inhibition: float = 0.5, eta: float = 0.01, threshold: float = 0, numbers: str = "thermometer",
        bins: int = 8, max_passes: int | None = 100, random_state: Any = None,
    ) -> None:
        self.inhibition, self.eta, self.threshold = inhibition, eta, threshold
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class DirectedDrift(_Classifier):
    """Directed Drift: binary weights, one flipped bit per mistake."""

    _learner = "directed-drift"

    def __init__(
        self, *,
        numbers: str = "thermometer", bins: int = 8, max_passes: int | None = 100, random_state: Any = None,
    ) -> None:
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class DirectedDriftAsync(_Classifier):
    """Directed Drift with batches: one bit per batch, flipped by majority vote."""

    _learner = "directed-drift-async"

    def __init__(
        self, *,
        batch_size: int | None = 8, numbers: str = "thermometer", bins: int = 8, max_passes: int | None = 100,
        random_state: Any = None,
    ) -> None:
        self.batch_size = batch_size
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class DirectedDriftSync(_Classifier):
    """Directed Drift with batches: all bits at once, flipped by majority vote."""

    _learner = "directed-drift-sync"

    def __init__(
        self, *,
        batch_size: int | None = 8, numbers: str = "thermometer", bins: int = 8, max_passes: int | None = 100,
        random_state: Any = None,
    ) -> None:
        self.batch_size = batch_size
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class SBPI(_Classifier):
    """SBPI: binary weights, on-line."""

    _learner = "sbpi"

    def __init__(
        self, *,
        reinforcement: float = 0.3, order: str = "shuffled", numbers: str = "thermometer", bins: int = 8,
        max_passes: int | None = 100, random_state: Any = None,
    ) -> None:
        self.reinforcement, self.order = reinforcement, order
        self.numbers, self.bins, self.max_passes, self.random_state = numbers, bins, max_passes, random_state


class ClippedPerceptron(_Classifier):
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
