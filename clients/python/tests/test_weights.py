"""Weights of classes and examples: beside repeated rows, and beside the weights of scikit-learn."""

import random
from typing import Any

import halfspace
import numpy as np
import pandas
import pytest
from sklearn.utils.class_weight import compute_class_weight

LEARNERS = ["perceptron", "averaged-perceptron", "pocket", "perspectron"]


def table(seed: int) -> pandas.DataFrame:
    """Rows of two classes, one of which is rare, with whole weights."""
    draw = random.Random(seed)
    rows = [(draw.randint(-8, 8) / 4, draw.randint(-8, 8) / 4, draw.choice("uvw")) for _ in range(80)]
    label = ["rare" if a + b > draw.randint(2, 4) else "common" for a, b, _ in rows]
    frame = pandas.DataFrame(rows, columns=["a", "b", "c"])
    return frame.assign(y=label, w=[draw.randint(1, 5) for _ in rows])


def learnt(job: halfspace.Job[halfspace.types.TrainResult]) -> tuple[object, ...]:
    result = job.result
    return result.hypothesis, result.mistakes, result.updates, result.examples, result.passes


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("seed", range(4))
def test_whole_weights_are_repeated_rows(client: halfspace.Client, learner: str, seed: int) -> None:
    frame = table(seed)
    options: dict[str, Any] = {"learner": learner, "labels": "y", "numbers": "real", "seed": seed, "max_passes": 4, "progress": False}
    copies = [weight * (3 if label == "rare" else 1) for weight, label in zip(frame["w"], frame["y"])]
    repeated = frame.loc[frame.index.repeat(copies)].drop(columns="w")
    weighted = client.train(frame, weights="w", class_weight={"rare": 3}, **options)
    assert learnt(weighted) == learnt(client.train(repeated, **options))
    del options["labels"]
    given = client.train(frame.drop(columns=["y", "w"]), frame["y"], weights=frame["w"], class_weight={"rare": 3}, **options)
    assert learnt(given) == learnt(weighted)


def test_balanced_weights_are_those_of_scikit_learn(client: halfspace.Client) -> None:
    for seed in range(6):
        frame = table(seed).drop(columns="w")
        found = client.train(frame, learner="perceptron", labels="y", class_weight="balanced", progress=False).result.class_weight
        classes = np.unique(frame["y"])
        expected = dict(zip(classes.tolist(), compute_class_weight("balanced", classes=classes, y=frame["y"])))
        assert found and found.keys() == expected.keys()
        assert all(abs(found[name] - weight) <= 0.0005 for name, weight in expected.items())


def test_numbers_and_flags_name_classes(client: halfspace.Client) -> None:
    X = [[0, 1], [1, 1], [1, 0], [0, 0]]
    cases: list[tuple[Any, dict[Any, float], dict[str, float]]] = [
        ([3, 4, 4, 3], {np.int64(4): 2}, {"3": 1.0, "4": 2.0}),
        ([True, False, False, True], {True: 2.5}, {"-1": 1.0, "1": 2.5}),
    ]
    for y, weights, expected in cases:
        job = client.train(X, y, learner="perceptron", class_weight=weights, progress=False)
        assert job.result.class_weight == expected
    comparison = client.compare(X * 5, [3, 4, 4, 3] * 5, learners=["perceptron"], folds=2, class_weight={4: 2}, progress=False)
    assert comparison.result.learners[0].folds


def test_wrong_weights_are_refused(client: halfspace.Client) -> None:
    frame = table(1)
    wrong_weights: list[Any] = [{"rare": 0}, {"rare": -1}, {"rare": 1e9}, {"none": 2}, "even"]
    for weights in wrong_weights:
        with pytest.raises(halfspace.Problem, match="weight of class|no class `none`|balanced"):
            client.train(frame, learner="perceptron", labels="y", class_weight=weights, progress=False)
    for value in ["0", "-1", "1e9", "heavy", ""]:
        wrong = frame.assign(w=[value, *frame["w"][1:].astype(str)])
        with pytest.raises(halfspace.Problem, match="from 0.001 to 1000"):
            client.train(wrong, learner="perceptron", labels="y", weights="w", progress=False)
    with pytest.raises(halfspace.DataError, match="one weight per example"):
        client.train(frame[["a"]], frame["y"], weights=[1, 2], learner="perceptron", progress=False)
