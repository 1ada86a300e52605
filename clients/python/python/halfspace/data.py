"""Data as bodies of requests: arrays, sparse matrices, frames, lists, examples with names, and files."""

from __future__ import annotations

import csv
import io
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from .errors import DataError, unsendable
from .requests import Content, scalar, text_of
from .rows import check_names, check_row, is_missing, is_named, is_texts, listed, named, read

MEDIA_TYPES = {
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "tab": "text/tab-separated-values",
    "libsvm": "text/x-libsvm",
    "svm": "text/x-libsvm",
    "train": "text/x-libsvm",
    "test": "text/x-libsvm",
    "vw": "text/x-vw",
    "arff": "text/x-arff",
    "ndjson": "application/x-ndjson",
    "jsonl": "application/x-ndjson",
    "json": "application/json",
    "npy": "application/x-npy",
    "bin": "application/octet-stream",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
}

LABEL = "label"
"""The name of the label column of a table that the client writes."""

WEIGHT = "weight"
"""The name of its column of weights."""


SPARSE_PART = 1 << 16
"""Entries of a sparse matrix that are written at once. A number of Python takes ten times the bytes of a cell."""

CONTAINERS = (list, tuple, dict, set, frozenset, bytes)
"""What is no cell, although Python writes it as a text."""

SPACED = bytes.maketrans(b",", b" ")

MARKS = b'[]{}"'
"""What LIBSVM lacks of the same row in JSON."""


def content(X: Any, y: Any = None, feature_names: Sequence[str] | None = None, **options: Any) -> Content:
    """The body for examples `X` with labels `y`.

    `X` is a path, an array, a sparse matrix, a pandas or polars frame, or rows in a list, a series or an array of
    objects. Without `y`, a frame or a file may hold the labels in a column. A `Dataset` is sent by its id. `options`
    are the parameters of tables, such as `labels="class"`. `weights` names the column with the weights of the examples,
    or holds one number per example of a table.

    Features have names if `feature_names` names the columns of a sparse matrix, or if rows are sets or maps of names,
    such as `{"length": 3.5, "w=the": 1}`. With `vocabulary="open"` rows may also be lists of names. Only active
    features are sent, so any later examples may have other names.

    A text of 0 and 1 is a row of bits. Any other text as a row is refused.

    Raises `DataError` for data that no learner accepts.
    """
    X = listed(X)
    given = None if isinstance(options.get("weights"), str) else options.pop("weights", None)
    query = {name: text_of(value) for name, value in options.items() if value is not None}
    if given is not None and (hasattr(X, "as_data") or isinstance(X, (str, os.PathLike)) or is_sparse(X) or is_named(X, "vocabulary" in query)):
        raise DataError("one weight per example goes with the columns of a table; other data hold their weights")
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
    if feature_names is not None and not is_sparse(X):
        raise DataError("feature_names name the columns of a sparse matrix; a frame has names of its own")
    if is_sparse(X) and feature_names is None:
        body = libsvm(X, None if y is None else labels(y, X.shape[0]))
        return Content(body, "text/x-libsvm", {"n": str(X.shape[1]), **query})
    if is_sparse(X) or is_named(X, query.get("vocabulary") == "open"):
        examples = of_columns(X, feature_names) if feature_names is not None else iter([read(X, named)])
        body = ndjson(examples, None if y is None else labels(y, rows(X) or 0))
        return Content(body, "application/x-ndjson", {**query, "vocabulary": "open"})
    names, columns = table(X)
    count = len(columns[0]) if columns else 0
    if not count:
        raise DataError("the data have no examples")
    if y is not None:
        if LABEL in names:
            raise DataError(f"a feature has the name {LABEL}; rename the column, or leave y out and give labels={LABEL!r}")
        names, columns = [*names, LABEL], [*columns, labels(y, count)]
        query = {"labels": LABEL, **query}
    if given is not None:
        if WEIGHT in names:
            raise DataError(f"a column has the name {WEIGHT}; rename it, or give weights={WEIGHT!r}")
        names, columns = [*names, WEIGHT], [*columns, numbers(given, count)]
        query["weights"] = WEIGHT
    # Names may be numbers, which the service would read as an example.
    return Content(written(names, columns), "text/csv", {**query, "header": "true"})


def labelled(X: Any, y: Any = None, **options: Any) -> Content:
    """The body for examples that must have labels."""
    X = listed(X)
    if y is None and (is_sparse(X) or is_named(X)):
        raise DataError("the examples hold no labels; give y")
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
    for label in set(y or ()):
        if set(label) & set(" \t,:#\\[]{}\"") or not label:
            raise DataError(f"the label {label!r} of a sparse matrix has a character that no label of LIBSVM has")
    matrix, given = canonical(X), y or ["0"] * X.shape[0]
    if (matrix.data == 1).all():
        return b"".join(of_ones(matrix, given))
    # The encoder of JSON is the fastest writer of numbers. A line of LIBSVM is its line without the marks.
    parts = sparse_rows(matrix, lambda columns: (columns + 1).tolist())
    return written_lines(parts, given, lambda row, label: [label, row], lambda text: text.translate(SPACED, MARKS))


def of_ones(matrix: Any, y: list[str]) -> Iterator[bytes]:
    """The lines of a canonical matrix that has no values but 1."""
    import numpy as np

    for begin, end, entries in spans(matrix):
        # A 0 begins each row, and no index is 0.
        starts = matrix.indptr[begin:end] - entries.start
        text = b"," + msgspec.json.encode(np.insert(matrix.indices[entries] + 1, starts, 0).tolist())[1:-1]
        for label, row in zip(y[begin:end], text.split(b",0")[1:]):
            yield b"%b%b%b\n" % (label.encode(), row.replace(b",", b":1 ")[2:], b":1" if row else b"")


def ndjson(examples: Iterator[list[Any]], y: list[str] | None) -> bytes:
    """Examples with names as lines of JSON, in which names may hold any character."""
    return written_lines(examples, y, lambda row, label: {"x": row} if label is None else {"x": row, "y": label})


def written_lines(
    parts: Iterator[list[Any]],
    y: list[str] | None,
    line: Callable[[Any, str | None], Any],
    change: Callable[[bytes], bytes] = bytes,
) -> bytes:
    """The lines of all examples with their labels."""
    out, encoder, begin = io.BytesIO(), msgspec.json.Encoder(), 0
    for part in parts:
        own = y[begin : begin + len(part)] if y else [None] * len(part)
        out.write(change(encoder.encode_lines([line(row, label) for row, label in zip(part, own)])))
        begin += len(part)
    if not begin:
        raise DataError("the data have no examples")
    return out.getvalue()


def canonical(X: Any) -> Any:
    """A sparse matrix as CSR, with each column once in a row."""
    matrix = X.tocsr()
    if not matrix.shape[0]:
        raise DataError("the data have no examples")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def spans(matrix: Any) -> Iterator[tuple[int, int, slice]]:
    """Some rows after the other, from the first of them to the one after the last, and the places of their entries."""
    begin = 0
    while begin < matrix.shape[0]:
        full = int(matrix.indptr.searchsorted(matrix.indptr[begin] + SPARSE_PART, side="right")) - 1
        end = min(max(full, begin + 1), matrix.shape[0])
        yield begin, end, slice(matrix.indptr[begin], matrix.indptr[end])
        begin = end


def sparse_rows(matrix: Any, keys: Callable[[Any], list[Any]]) -> Iterator[list[dict[Any, Any]]]:
    """The rows of a canonical matrix as maps from the keys of columns to values, some rows at a time."""
    for begin, end, entries in spans(matrix):
        places = (matrix.indptr[begin : end + 1] - entries.start).tolist()
        columns, values = keys(matrix.indices[entries]), sparse_values(matrix, entries)
        yield [dict(zip(columns[i:j], values[i:j])) for i, j in pairwise(places)]


def sparse_values(matrix: Any, entries: slice) -> list[Any]:
    """Some values of a sparse matrix as numbers, whole ones without a point."""
    values = matrix.data[entries]
    if values.dtype.kind not in "biuf":
        raise DataError(f"X is a sparse matrix of the type {values.dtype}; needed are numbers")
    if values.dtype.kind == "f":
        is_finite = abs(values) < math.inf
        if not is_finite.all():
            at = entries.start + int(is_finite.argmin())
            row = int(matrix.indptr.searchsorted(at, side="right")) - 1
            raise DataError(f"the sparse matrix holds {matrix.data[at]} in row {row} and column {matrix.indices[at]}")
        if (values != values.round()).any() or (abs(values) >= 2**53).any():
            return list(values.tolist())
    return list(values.astype("int64").tolist() if values.dtype.kind in "bf" else values.tolist())


def of_columns(X: Any, feature_names: Sequence[str]) -> Iterator[list[Any]]:
    """The names of the columns that are active in each row of a sparse matrix, with their values unless all are 1."""
    names, matrix = check_names(feature_names, "feature_names"), canonical(X)
    if len(names) != X.shape[1]:
        raise DataError(f"X has {X.shape[1]} columns, but feature_names has {len(names)} names")
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise DataError(f"several columns have the name {twice!r}")
    is_presence = bool((matrix.data == 1).all())
    for part in sparse_rows(matrix, lambda columns: [names[column] for column in columns.tolist()]):
        yield [[*row] for row in part] if is_presence else part


def table(X: Any) -> tuple[list[str], list[list[Any]]]:
    """The names and the columns of a table, as cells."""
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        return of_pandas(X)
    if hasattr(X, "get_columns"):
        return list(X.columns), [column(one.to_list(), one.name) for one in X.get_columns()]
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
    if not hasattr(examples[0], "__len__"):
        raise DataError("X has one dimension; the shape must be (examples, features)")
    for i, row in enumerate(examples):
        check_row(row, f"row {i} of X")
    width = len(examples[0])
    for i, row in enumerate(examples):
        if len(row) != width:
            hint = '; if the rows are lists of names, say vocabulary="open"' if is_texts(examples) else ""
            raise DataError(f"row {i} of X has the length {len(row)}, but row 0 has the length {width}{hint}")
    names = [f"x{j + 1}" for j in range(width)]
    return names, [column([row[j] for row in examples], name) for j, name in enumerate(names)]


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
        columns.append(cells(values, name))
        kinds = {kind(value) for value in values} - {"missing"} if values.dtype == object else set()
        if len(kinds) > 1:
            text = f"the column {name!r} mixes {' and '.join(sorted(kinds))}; astype(str) makes all of them texts"
            raise DataError(text)
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
    return column(values.tolist(), name)


def column(values: list[Any], name: str) -> list[Any]:
    """A column of values of any type as cells."""
    return written_cells(values, lambda i: f"row {i} of X in the column {name!r}")


def written_cells(values: list[Any], what: Callable[[int], str]) -> list[Any]:
    """Values as cells. `what` names the place of one that cannot be written."""
    found: list[Any] = []
    for i, value in enumerate(values):
        try:
            found.append(cell(value))
        except DataError as error:
            raise DataError(f"{what(i)} {error}") from None
        except UnicodeEncodeError as error:
            raise unsendable(what(i), error) from None
    return found


def kind(value: Any) -> str:
    if is_missing(value):
        return "missing"
    if isinstance(value, (bool, int, float)) or hasattr(value, "dtype"):
        return "numbers"
    return "texts"


def cell(value: Any) -> str:
    """A value of any type as a cell. A missing value is an empty cell.

    The caller adds the place of the value to what is wrong: a `DataError`, or a `UnicodeEncodeError` for a text that
    no UTF-8 has.
    """
    text = str(value) if isinstance(value, str) else of_value(value)
    if not text.isascii():
        text.encode()
    if "\n" in text or "\r" in text:
        raise DataError(f"holds the text {text!r} with a line break, which a table cannot hold")
    return text


def of_value(value: Any) -> str:
    """A value that is no text as a cell."""
    value = scalar(value)
    if is_missing(value):
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, CONTAINERS) or getattr(value, "ndim", 0) != 0:
        raise DataError(f"holds a {type(value).__name__}; needed is a number or a text")
    return str(value)


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
    return written_cells(values, lambda i: f"the label of row {i}")


def numbers(weights: Any, count: int) -> list[str]:
    """The weights of examples as cells."""
    values = weights.tolist() if hasattr(weights, "tolist") else list(weights)
    if len(values) != count:
        raise DataError(f"X has {count} examples, but weights has {len(values)} numbers; give one weight per example")
    return written_cells(values, lambda i: f"the weight of row {i}")


def written(names: list[str], columns: list[list[Any]]) -> bytes:
    names = written_cells(names, lambda j: f"the name of the column {j}")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*columns))
    return out.getvalue().encode()
