"""An estimator for texts: SNoW, the sparse network of Winnows or perceptrons over the words of a text.

The service makes names of the words, so no vectorizer stands before the estimator, and new words may come at any time.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from sklearn.utils.validation import check_is_fitted

from .errors import DataError
from .sklearn import _File, _OnLine

LEARNERS = ("averaged-perceptron", "perceptron", "winnow")

OPTIONS = ("words", "characters", "window", "lower_case", "occurrences", "conjunctions")
"""What the names of texts depend on."""


class TextNetwork(_OnLine):
    """Linear hypotheses over the words of texts: one per class, or one for two classes. `X` is a list of texts.

    `learner` is "averaged-perceptron", "perceptron" or "winnow". `words` and `characters` are lengths of the sequences
    that are names, such as "1-2"; `window` is the number of places around a word marked as `[[word]]`. With
    `occurrences="counts"` the value of a name is how often it occurs, which Winnow does not take. `conjunctions=2` adds
    the conjunctions of two names. Within the `thickness`, correct examples are learnt from too; that of Winnow is a
    share of its threshold.

    `fit` leaves names out of the model as SNoW does: those that fewer than `minimum_count` texts have, and in the end
    the share `discard` of the names, those with the smallest weights.

    `partial_fit` with Winnow needs `active`, the most names of a text.
    """

    _has_committees = True
    _common = ("learner", "active", "max_passes", "random_state", *OPTIONS)
    numbers = "real"

    def __init__(
        self, *,
        learner: str = "averaged-perceptron", words: str | None = None, characters: str | None = None,
        window: int | None = None, lower_case: bool = True, occurrences: str = "presence", conjunctions: int = 1,
        thickness: float = 0, minimum_count: int | None = None, discard: float | None = None, active: int | None = None,
        max_passes: int | None = 10, random_state: Any = None,
    ) -> None:
        self.learner, self.words, self.characters, self.window = learner, words, characters, window
        self.lower_case, self.occurrences, self.conjunctions = lower_case, occurrences, conjunctions
        self.thickness, self.minimum_count, self.discard = thickness, minimum_count, discard
        self.active, self.max_passes, self.random_state = active, max_passes, random_state

    @property
    def _learner(self) -> str:  # type: ignore[override]
        if self.learner not in LEARNERS:
            raise ValueError(f"learner is {self.learner!r}; give one of {', '.join(LEARNERS)}")
        return self.learner

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array, tags.input_tags.sparse = True, False, False
        return tags

    def _rows(self, X: Any) -> Any:
        if isinstance(X, str):
            raise DataError("X is a text; give a list of texts")
        texts = X.tolist() if hasattr(X, "tolist") else [*X]
        for at, text in enumerate(texts):
            if not isinstance(text, str):
                raise DataError(f"row {at} of X has the type {type(text).__name__}; needed is a text")
        return [{"text": text} for text in texts]

    def _options(self) -> dict[str, Any]:
        """What differs from the defaults of the service."""
        given = {name: getattr(self, name) for name in OPTIONS}
        usual = {"lower_case": True, "occurrences": "presence", "conjunctions": 1}
        return {name: value for name, value in given.items() if value is not None and value != usual.get(name)}

    def _fixed(self, X: Any) -> tuple[Any, dict[str, Any]]:
        X, reading = super()._fixed(X)
        return X, {**reading, **self._options()}

    def _session_body(self, X: Any) -> dict[str, Any]:
        if self.minimum_count is not None or self.discard is not None:
            raise ValueError("partial_fit keeps every name; leave minimum_count and discard out, or call fit")
        options = self._options().items()
        extraction = {name: lengths(value) if name in ("words", "characters") else value for name, value in options}
        values = "real" if self.occurrences == "counts" else "boolean"
        body: dict[str, Any] = {"vocabulary": "open", "values": values, "extraction": extraction}
        if self.learner == "winnow":
            if self.active is None:
                raise ValueError("partial_fit with winnow needs active, the most names of a text")
            body["active"] = self.active
        return body

    def explain(self, text: str, count: int = 10, label: Any = None) -> list[tuple[str, float | str]]:
        """The names of a text that decide about the class `label`, or about the predicted one, with their weights.

        Those that add most come first: by the magnitude of the weight, times the count if `occurrences="counts"`. A
        weight of Winnow is a power, such as "2^5". Two classes have one hypothesis, in which a negative weight speaks
        for the first one, whatever `label` is.
        """
        check_is_fitted(self, "model_")
        names = msgspec.json.decode(self.model_, type=_File).classes or []
        classes = self.classes_.tolist()
        if label is not None and label not in classes:
            raise ValueError(f"label is {label!r}; the classes are {', '.join(map(str, classes))}")
        asked = None if label is None or len(classes) == 2 else names[self.order_.tolist().index(classes.index(label))]
        found = self._asked(lambda model: model.explain_example({"text": text}, top=count, class_=asked))
        return [(" and ".join(literal.name for literal in term.literals), term.weight) for term in found.terms]

    def heaviest(self, count: int = 10) -> dict[Any, list[tuple[str, float]]]:
        """The names with the largest weights of each class, largest first.

        Of two classes, a negative weight speaks for the first one, whose names have the smallest weights.
        """
        names, weights = self.feature_names_in_, self.coef_
        rows = np.vstack([-weights, weights]) if len(self.classes_) == 2 else weights
        found = {}
        for label, row in zip(self.classes_.tolist(), rows):
            order = np.argsort(-row, kind="stable")[:count]
            found[label] = [(str(names[at]), float(row[at])) for at in order]
        return found


def lengths(text: str) -> list[int]:
    """The least and the most parts of a sequence, such as [1, 2] for "1-2"."""
    least, _, most = str(text).partition("-")
    return [int(least), int(most or least)]
