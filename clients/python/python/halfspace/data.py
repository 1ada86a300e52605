"""Data as bodies of requests: arrays, sparse matrices, frames, lists and files."""

from __future__ import annotations

import csv
import io
import math
import os
from pathlib import Path
from typing import Any

import msgspec

from .errors import DataError
from .requests import Content, scalar, text_of

MEDIA_TYPES = {
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "tab": "text/tab-separated-values",
    "libsvm": "text/x-libsvm",
    "svm": "text/x-libsvm",
    "train": "text/x-libsvm",
    "test": "text/x-libsvm",
    "arff": "text/x-arff",
    "ndjson": "application/x-ndjson",
    "jsonl": "application/x-ndjson",
    "json": "application/json",
    "npy": "application/x-npy",
    "bin": "application/octet-stream",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

LABEL = "label"
"""The name of the label column of a table that the client writes."""


def content(X: Any, y: Any = None, **options: Any) -> Content:
    """The body for examples `X` with labels `y`.

    `X` is a path, an array, a sparse matrix, a pandas or polars frame, or a list of rows. Without `y`, a frame or a
    file may hold the labels in a column. A `Dataset` is sent by its id. `options` are the parameters of tables, such
    as `labels="class"`.

    Raises `DataError` for data that no learner accepts.
    """
    query = {name: text_of(value) for name, value in options.items() if value is not None}
    if hasattr(X, "as_data"):
        if y is not None:
            raise DataError("a dataset holds the labels; leave y out")
        return Content(msgspec.json.encode(X.as_data()), "application/json", query)
    if y is not None and query.get("labels", LABEL) != LABEL:
        raise DataError("the labels come from y or from the column labels=, not from both")
    if isinstance(X, (str, os.PathLike)):
        if y is not None:
            raise DataError("a file holds the labels; give labels= instead of y")
        return of_file(Path(X), query)
    if is_sparse(X):
        return Content(libsvm(X, None if y is None else labels(y, X.shape[0])), "text/x-libsvm", {"n": str(X.shape[1]), **query})
    names, columns = table(X)
    for name in names:
        cell(name)
    count = len(columns[0]) if columns else 0
    if not count:
        raise DataError("the data have no examples")
    if y is not None:
        if LABEL in names:
            raise DataError(f"a feature has the name {LABEL}; rename the column, or leave y out and give labels={LABEL!r}")
        names, columns = [*names, LABEL], [*columns, labels(y, count)]
        query = {"labels": LABEL, **query}
    # Names may be numbers, which the service would read as an example.
    return Content(written(names, columns), "text/csv", {**query, "header": "true"})


def labelled(X: Any, y: Any = None, **options: Any) -> Content:
    """The body for examples that must have labels."""
    if y is None and is_sparse(X):
        raise DataError("a sparse matrix holds no labels; give y")
    return content(X, y, **options)


def rows(X: Any) -> int | None:
    """The number of examples, or None for a file or a dataset."""
    if isinstance(X, (str, os.PathLike)) or hasattr(X, "as_data"):
        return None
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def part(X: Any, begin: int, end: int) -> Any:
    """Some rows of examples."""
    return X.iloc[begin:end] if hasattr(X, "iloc") else X[begin:end]


def of_file(path: Path, query: dict[str, str]) -> Content:
    is_packed = path.suffix == ".gz"
    extension = (path.with_suffix("") if is_packed else path).suffix.removeprefix(".").lower()
    if extension not in MEDIA_TYPES:
        raise DataError(f"{path}: unknown extension; the extensions are {', '.join(MEDIA_TYPES)}")
    return Content(path.read_bytes(), MEDIA_TYPES[extension], query, "gzip" if is_packed else None)


def is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def libsvm(X: Any, y: list[str] | None) -> bytes:
    """Sparse examples as LIBSVM lines. An explicit zero is written, which changes nothing."""
    matrix, out = X.tocsr(), io.StringIO()
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    for row in range(matrix.shape[0]):
        begin, end = matrix.indptr[row], matrix.indptr[row + 1]
        pairs = zip(matrix.indices[begin:end].tolist(), matrix.data[begin:end].tolist())
        cells = " ".join(f"{index + 1}:{cell(value)}" for index, value in pairs)
        out.write(f"{y[row] if y else 0} {cells}".rstrip() + "\n")
    return out.getvalue().encode()


def table(X: Any) -> tuple[list[str], list[list[Any]]]:
    """The names and the columns of a table, as cells."""
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        return of_pandas(X)
    if hasattr(X, "get_columns"):
        return list(X.columns), [[cell(value) for value in column.to_list()] for column in X.get_columns()]
    if hasattr(X, "dtype") and hasattr(X, "ndim"):
        if X.ndim != 2 or X.dtype.kind not in "biufOUS":
            raise DataError(f"X has the shape {X.shape} and the type {X.dtype}; needed are rows of numbers or texts")
        if not len(X):
            return [], []
        names = [f"x{j + 1}" for j in range(X.shape[1])]
        return names, [cells(X[:, j], name) for j, name in enumerate(names)]
    if isinstance(X, (dict, bytes)) or not hasattr(X, "__iter__"):
        raise DataError(f"X is a {type(X).__name__}; needed is an array, a sparse matrix, a frame, a list of rows or a path")
    examples = list(X)
    if not examples:
        return [], []
    if not isinstance(examples[0], (list, tuple, str)) and not hasattr(examples[0], "__len__"):
        raise DataError("X has one dimension; the shape must be (examples, features)")
    width = len(examples[0])
    for i, row in enumerate(examples):
        if len(row) != width:
            raise DataError(f"row {i} of X has the length {len(row)}, but row 0 has the length {width}")
    columns = [[cell(row[j]) for row in examples] for j in range(width)]
    return [f"x{j + 1}" for j in range(len(columns))], columns


def of_pandas(X: Any) -> tuple[list[str], list[list[Any]]]:
    if getattr(X.columns, "nlevels", 1) > 1:
        raise DataError("the columns of the frame are a MultiIndex; flatten the names first")
    names = [str(name) for name in X.columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"the frame has several columns of the name {twice[0]!r}")
    columns = []
    for position, name in enumerate(names):
        values = X.iloc[:, position].to_numpy()
        kinds = {kind(value) for value in values} - {"missing"} if values.dtype == object else set()
        if len(kinds) > 1:
            text = f"the column {name!r} mixes {' and '.join(sorted(kinds))}; astype(str) makes all of them texts"
            raise DataError(text)
        columns.append(cells(values, name))
    return names, columns


def cells(values: Any, name: str) -> list[Any]:
    """A column of an array as cells. Numbers of one type need no look at each value."""
    dtype = values.dtype.kind
    if dtype == "b":
        return list(values.astype("int8").tolist())
    if dtype in "iu":
        return list(values.tolist())
    if dtype == "S":
        values = values.astype(str)
    if dtype == "f" and (abs(values) == math.inf).any():
        raise DataError(f"the column {name!r} holds an infinite number in row {(abs(values) == math.inf).argmax()}")
    if dtype == "f" and (values == values.round()).all() and (abs(values) < 2**53).all():
        return list(values.astype("int64").tolist())
    if dtype == "f" and (values == values).all():
        return list(values.tolist())
    return [cell(value) for value in values.tolist()]


def kind(value: Any) -> str:
    if is_missing(value):
        return "missing"
    if isinstance(value, (bool, int, float)) or hasattr(value, "dtype"):
        return "numbers"
    if isinstance(value, (list, tuple, dict, set, bytes)):
        raise DataError(f"a cell holds a {type(value).__name__}; needed are numbers and texts")
    return "texts"


def is_missing(value: Any) -> bool:
    return value is None or isinstance(value, float) and math.isnan(value) or type(value).__name__ in ("NAType", "NaTType")


def cell(value: Any) -> str:
    """A value of any type as a cell. A missing value is an empty cell."""
    value = scalar(value)
    if is_missing(value):
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    text = str(value)
    if "\n" in text or "\r" in text:
        raise DataError(f"the text {text!r} holds a line break, which a table cannot hold")
    return text


def labels(y: Any, count: int) -> list[str]:
    """The labels as cells. A column vector has one label per row."""
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    values = y.tolist() if hasattr(y, "tolist") else list(y)
    if values and isinstance(values[0], list):
        if any(len(row) != 1 for row in values):
            raise DataError("y must have one label per example")
        values = [row[0] for row in values]
    if len(values) != count:
        raise DataError(f"X has {count} examples, but y has {len(values)} labels")
    for i, value in enumerate(values):
        if is_missing(value):
            raise DataError(f"the label of row {i} is missing")
    return [cell(value) for value in values]


def written(names: list[str], columns: list[list[Any]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*columns))
    return out.getvalue().encode()
