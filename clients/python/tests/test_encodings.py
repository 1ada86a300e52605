"""Scales and fills of tables beside scikit-learn, and a dataset that is encoded again."""

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import halfspace
import numpy as np
import pytest
from halfspace import types
from halfspace.requests import Content

TABLES = 60


def csv_of(columns: dict[str, list[Any]]) -> bytes:
    lines = [",".join(columns), *(",".join("" if cell is None else str(cell) for cell in row) for row in zip(*columns.values(), strict=True))]
    return "\n".join(lines).encode()


def fitted(client: halfspace.Client, X: np.ndarray, y: list[str], **options: Any) -> tuple[types.Dataset, dict[str, types.ColumnEncoding]]:
    """The dataset of a matrix, in which NaN is a missing cell, and its columns by name."""
    columns: dict[str, list[Any]] = {f"c{at}": [None if np.isnan(x) else repr(float(x)) for x in X[:, at]] for at in range(X.shape[1])}
    dataset = client.create_dataset(Content(csv_of({**columns, "y": y}), "text/csv"), **options)
    assert dataset.table is not None
    return dataset, {column.name: column for column in dataset.table.columns}


def units(number: float, other: float) -> float:
    """The distance of two numbers in units in the last place."""
    return 0.0 if number == other else abs(number - other) / float(np.spacing(max(abs(number), abs(other))))


def matrices() -> list[np.ndarray]:
    """Matrices whose sums are exact, so that only the last roundings of the two programs can differ."""
    made = []
    for seed in range(TABLES):
        random = np.random.default_rng(seed)
        rows, columns = int(random.integers(6, 60)), int(random.integers(1, 6))
        size = 10 ** random.uniform(-2, 5, columns)
        shift = random.uniform(-5, 5, columns) * size
        X = np.round((random.normal(size=(rows, columns)) * size + shift) * 64) / 64
        # More than 256 values would be needed to leave the codes of a column, which another test does.
        X[0], X[1], X[2] = 1.5, 2.5, -3.5
        made.append(X)
    return made


def exact_moments(column: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation, rounded once."""
    numbers = [Fraction(float(x)) for x in column]
    mean = sum(numbers, Fraction()) / len(numbers)
    variance = sum(((x - mean) ** 2 for x in numbers), Fraction()) / len(numbers)
    with localcontext() as context:
        context.prec = 60
        return float(mean), float((Decimal(variance.numerator) / Decimal(variance.denominator)).sqrt())


def scale_of(column: types.ColumnEncoding) -> types.Scale:
    assert column.scale is not None
    return column.scale


def test_standard_scale_is_that_of_scikit_learn(client: halfspace.Client) -> None:
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    compared = others = 0
    for X in matrices():
        y = ["pq"[row % 2] for row in range(len(X))]
        dataset, columns = fitted(client, X, y, scale="standard")
        scaler = preprocessing.StandardScaler().fit(X)
        for at in range(X.shape[1]):
            scale = scale_of(columns[f"c{at}"])
            for own, other, exact in zip(
                (scale.offset, scale.divisor), (scaler.mean_[at], scaler.scale_[at]), exact_moments(X[:, at]), strict=True
            ):
                assert units(own, exact) <= 1
                # scikit-learn rounds each square and each sum, which may cost it a second unit.
                assert units(own, other) <= 1 or units(other, exact) > 1
                others += units(own, other) > 1
                compared += 1
        shown = client.list_dataset_examples(dataset.id, limit=1)
        expected = scaler.transform(X[:1])[0]
        assert shown.items[0].x == pytest.approx(expected, rel=1e-14, abs=1e-14)
    assert others <= compared // 10
    constant = np.full((5, 1), 3.25)
    _, columns = fitted(client, np.hstack([constant, np.arange(5.0).reshape(-1, 1)]), list("pqpqp"), scale="standard", kinds="c0:number")
    assert columns["c0"].scale == types.Scale(offset=3.25, divisor=1.0)


@pytest.mark.parametrize(("missing", "strategy"), [("mean", "mean"), ("median", "median"), ("most-frequent", "most_frequent")])
def test_fills_are_those_of_scikit_learn(client: halfspace.Client, missing: str, strategy: str) -> None:
    impute = pytest.importorskip("sklearn.impute")
    for seed, X in enumerate(matrices()):
        random = np.random.default_rng(seed)
        # Repeated numbers, so that some are more frequent than others.
        X = np.where(random.random(X.shape) < 0.3, np.round(X[0]), X)
        gaps = random.random(X.shape) < 0.2
        gaps[:3] = False
        X = np.where(gaps, np.nan, X)
        y = ["pq"[row % 2] for row in range(len(X))]
        _, columns = fitted(client, X, y, missing=missing, kinds="*:number")
        imputer = impute.SimpleImputer(strategy=strategy).fit(X)
        for at, expected in enumerate(imputer.statistics_):
            assert units(float(columns[f"c{at}"].fill or "nan"), expected) <= 1


def test_scales_after_fills_are_those_of_a_pipeline(client: halfspace.Client) -> None:
    pipeline = pytest.importorskip("sklearn.pipeline")
    impute, preprocessing = pytest.importorskip("sklearn.impute"), pytest.importorskip("sklearn.preprocessing")
    random = np.random.default_rng(1)
    # Too many numbers for the codes of a column, so that they are kept as numbers.
    X = np.round(random.normal(size=(2_000, 2)) * [3, 4000] * 64) / 64
    X[random.random(X.shape) < 0.1] = np.nan
    y = ["pq"[row % 2] for row in range(len(X))]
    _, columns = fitted(client, X, y, missing="median", scale="range")
    fitted_pipeline = pipeline.make_pipeline(impute.SimpleImputer(strategy="median"), preprocessing.MinMaxScaler()).fit(X)
    scaler = fitted_pipeline[-1]
    for at in range(2):
        scale = columns[f"c{at}"].scale
        assert scale == types.Scale(offset=scaler.data_min_[at], divisor=scaler.data_range_[at])
    _, columns = fitted(client, X, y, missing="mean", scale="standard")
    scaler = pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler()).fit(X)[-1]
    for at in range(2):
        scale = scale_of(columns[f"c{at}"])
        assert scale.divisor == pytest.approx(scaler.scale_[at], rel=1e-13)
        assert scale.offset == pytest.approx(scaler.mean_[at], rel=1e-12, abs=1e-12)


def test_dataset_is_encoded_again(client: halfspace.Client) -> None:
    X = np.array([[1.5, np.nan], [2.5, 4.5], [3.5, 8.5], [9.25, 2.5]])
    dataset, _ = fitted(client, X, list("pqpq"), missing="mean")
    again = client.encode_dataset(dataset.id, missing="median", scale="range", name="again")
    anew, _ = fitted(client, X, list("pqpq"), missing="median", scale="range")
    assert (again.sha256, again.table) == (anew.sha256, anew.table)
    assert again.name == "again"
    assert again.cells_bytes > 0
