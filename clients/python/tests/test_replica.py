"""Perceptrons of many classes beside their definitions in whole numbers.

The service must find the weights, the mistakes and the passes of the definitions, on random examples and on the digits
of scikit-learn.
"""

from fractions import Fraction
from typing import Any

import halfspace
import numpy as np
import pytest
from numpy.typing import NDArray

PASSES = 6


class Replica:
    """One perceptron per class, or one for two classes, with the bias last. The first class seen has the code 0."""

    def __init__(self, rules: int, n: int, joint: bool) -> None:
        self.w = np.zeros((rules, n), dtype=np.int64)
        self.sums = np.zeros((rules, n), dtype=np.int64)
        self.joint, self.mistakes, self.passes, self.presented = joint, 0, 0, 0
        self.of_rules = [0] * rules

    def learn(self, x: NDArray[np.int64], code: int) -> bool:
        """Whether a rule learnt from the example."""
        scores = self.w @ x
        if len(self.w) == 1:
            wanted, predicted = [code == 1], int(scores[0] >= 0)
        else:
            wanted, predicted = [rule == code for rule in range(len(self.w))], int(np.argmax(scores))
        self.mistakes += predicted != code
        if self.joint:
            learns = [predicted != code and rule in (code, predicted) for rule in range(len(self.w))]
        else:
            learns = [(score >= 0) != own for score, own in zip(scores, wanted)]
        for rule, own in enumerate(wanted):
            if learns[rule]:
                self.w[rule] += x if own else -x
                self.of_rules[rule] += 1
        self.sums += self.w
        self.presented += 1
        return any(learns)

    def train(self, X: NDArray[np.int64], codes: list[int]) -> None:
        for _ in range(PASSES):
            self.passes += 1
            if not sum([self.learn(x, code) for x, code in zip(X, codes)]):
                return


def codes_of(labels: list[str]) -> list[int]:
    """Classes count in the order of their first examples, and two in the order of their names."""
    order = list(dict.fromkeys(labels))
    order = sorted(order) if len(order) == 2 else order
    return [order.index(label) for label in labels]


def found_weights(result: Any) -> list[list[float]]:
    rules = getattr(result.hypothesis, "members", None) or [result.hypothesis]
    return [[*rule.weights, rule.bias] for rule in rules]


def check(client: halfspace.Client, X: NDArray[np.int64], labels: list[str], learner: str, joint: bool, real: bool) -> None:
    """Compares a training with the replica. Real features are read as they are, and Boolean ones as -1 and 1."""
    options: dict[str, Any] = {"order": "cyclic", **({"multiclass": "joint"} if joint else {})}
    if real:
        options["numbers"] = "real"
    result = client.train(
        X.astype(float) if real else X, labels, learner=learner, max_passes=PASSES, trace=False, progress=False, **options
    ).result
    values = X if real else 2 * X - 1
    replica = Replica(len(set(labels)) if len(set(labels)) > 2 else 1, X.shape[1] + 1, joint)
    replica.train(np.hstack([values, np.ones((len(X), 1), dtype=np.int64)]), codes_of(labels))
    assert (result.mistakes, result.passes) == (replica.mistakes, replica.passes)
    if len(replica.w) > 1:
        assert [member.mistakes for member in result.members or []] == replica.of_rules
    if learner == "perceptron":
        expected = replica.w.astype(float)
    elif real:
        expected = replica.sums / replica.presented
    else:
        # The shortest decimal of the unit, times a whole number, rounded once.
        unit = Fraction(repr(1 / replica.presented))
        expected = np.array([[float(int(total) * unit) for total in row] for row in replica.sums])
    assert np.array_equal(np.array(found_weights(result), dtype=float), expected)


def random_case(number: int, real: bool) -> tuple[NDArray[np.int64], list[str]]:
    """Examples of 2 to 50 classes. Each class has a centre, from which its examples differ in a few bits or a little."""
    random = np.random.default_rng(number)
    classes, n = 2 + number % 49, int(random.integers(6, 14))
    centres = random.integers(0, 2, (classes, n))
    own = np.concatenate([np.arange(classes), random.integers(0, classes, 40)])
    random.shuffle(own)
    X = (centres[own] ^ (random.random((len(own), n)) < 0.1)).astype(np.int64)
    return 3 * X + random.integers(-2, 3, X.shape) if real else X, [f"c{one}" for one in own]


@pytest.mark.parametrize("learner", ["perceptron", "averaged-perceptron"])
@pytest.mark.parametrize("joint", [False, True], ids=["one-vs-rest", "joint"])
def test_committees_equal_their_definition_on_random_examples(client: halfspace.Client, learner: str, joint: bool) -> None:
    for number in range(75):
        real = number % 3 == 2
        X, labels = random_case(number * 4 + 2 * joint + (learner == "perceptron"), real)
        check(client, X, labels, learner, joint and len(set(labels)) > 2, real)


@pytest.mark.parametrize("learner", ["perceptron", "averaged-perceptron"])
@pytest.mark.parametrize("joint", [False, True], ids=["one-vs-rest", "joint"])
def test_committees_equal_their_definition_on_digits(client: halfspace.Client, learner: str, joint: bool) -> None:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    labels = [f"c{one}" for one in y]
    check(client, np.asarray(X, dtype=np.int64), labels, learner, joint, real=True)
