"""Rows: what may stand for one example, in every entry point that takes examples.

A row is a list of values, a list or a set of names, a map from names to values, or a text of 0 and 1. Everything else
is refused with the place of the row. Tables, sparse matrices and bodies of requests are in `data`.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any

from .errors import DataError, unsendable
from .requests import scalar

TEXTS = (str, bytes)

MAPS_AND_SETS = (Mapping, set, frozenset)
"""Rows that hold names, whatever is in them."""

ROWS = (*MAPS_AND_SETS, list, tuple)
"""Rows that may hold names."""


def listed(X: Any) -> Any:
    """Examples as a list, if they are an iterator, or a series or an array of rows. Other data stay as they are."""
    if hasattr(X, "to_list") and getattr(X, "ndim", 1) == 1:
        X = X.to_list()
    elif getattr(X, "ndim", 0) == 1 and X.dtype.kind in "OUS":
        X = X.tolist()
    elif isinstance(X, Iterator):
        X = list(X)
    if isinstance(X, (list, tuple)) and any(hasattr(row, "tolist") for row in X):
        # NumPy makes such rows of lists, and pandas reads them from files.
        return [row.tolist() if hasattr(row, "tolist") else row for row in X]
    return X


def is_named(X: Any, is_open: bool = False) -> bool:
    """Whether rows hold names: maps and sets do, and with an open vocabulary lists do."""
    return isinstance(X, (list, tuple)) and any(isinstance(row, ROWS if is_open else MAPS_AND_SETS) for row in X)


def is_texts(X: Any) -> bool:
    """Whether rows are lists of texts, which may be rows of a table or lists of names."""
    rows = [row for row in X[:100] if isinstance(row, ROWS)] if isinstance(X, (list, tuple)) else []
    return any(isinstance(value, str) for row in rows for value in row)


def refuse_text(row: Any, what: str, needed: str = "{names} or a dict of names") -> None:
    """Raises `DataError` if a row is a text, which Python would take apart into characters.

    `needed` is what to write. `{names}` in it stands for the words of the text as a list, which is shortened if long.
    """
    if isinstance(row, TEXTS):
        words = row.decode(errors="replace").split() if isinstance(row, bytes) else row.split()
        names = f"a list of names such as {reprlib.repr(words or ['a', 'b'])}"
        raise DataError(f"{what} is the text {reprlib.repr(row)}; write {needed.format(names=names)}")


def refuse_texts(X: Any) -> None:
    """Raises `DataError` for the first row that is a text, where no text is a row."""
    for i, row in enumerate(X if isinstance(X, (list, tuple)) else ()):
        refuse_text(row, f"row {i} of X")


def is_bits(row: Any) -> bool:
    """Whether a row is a text of 0 and 1."""
    return isinstance(row, str) and bool(row) and not row.strip("01")


def check_row(row: Any, what: str) -> None:
    """Raises `DataError` for what is no row of a table."""
    if not is_bits(row):
        names = '{names} with vocabulary="open", or a dict of names'
        refuse_text(row, what, f"{names}; only a text of 0 and 1 is a row of bits")
    if not hasattr(row, "__len__"):
        raise DataError(f"{what} has the type {type(row).__name__}; needed is a list of values")


def read(X: Iterable[Any], reader: Callable[[Any, str], Any]) -> list[Any]:
    """All rows as they are sent."""
    return [reader(row, f"row {i} of X") for i, row in enumerate(X)]


def named(row: Any, what: str) -> list[str] | dict[str, Any]:
    """A row of names as it is sent: a list, or names with their values. A missing value leaves the name out."""
    refuse_text(row, what)
    if not isinstance(row, Iterable):
        raise DataError(f"{what} has the type {type(row).__name__}; needed is a list of names or a dict of names")
    if not isinstance(row, Mapping):
        return check_names(row, what)
    values = [value_of(name, value, what) for name, value in row.items()]
    return dict(zip(check_names(row, what, "a dict of names"), values))


def check_names(names: Iterable[Any], what: str, needed: str = "a list of names") -> list[str]:
    """The names as texts of Python, unless one of them is none."""
    names = [*names]
    for name in names:
        if not isinstance(name, str):
            raise DataError(f"{what} holds {name!r} of the type {type(name).__name__}; needed is {needed}")
        if not name.isascii():
            check_text(name, what)
    return [*map(str, names)]


def value_of(name: Any, value: Any, what: str) -> Any:
    """The value of a name: a text, a flag, a number, or None for a missing one."""
    if type(value) is float and math.isfinite(value):
        # Most values are such numbers, and there may be millions.
        return value
    value = scalar(value)
    if is_missing(value):
        return None
    if isinstance(value, str):
        check_text(value, what)
        return str(value)
    if not isinstance(value, (bool, int)):
        try:
            value = float(value)
        except (TypeError, ValueError):
            text = f"the value of {name!r} in {what} is a {type(value).__name__}; needed is a number, a text or a flag"
            raise DataError(text) from None
        if math.isinf(value):
            raise DataError(f"the value of {name!r} in {what} is infinite")
    return value


def is_missing(value: Any) -> bool:
    if value is None or isinstance(value, float):
        return value is None or math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")


def check_text(text: str, what: str) -> None:
    """Raises `DataError` for a text that no UTF-8 has."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise unsendable(what, error) from None


def numbers(row: Any, what: str) -> list[int | float]:
    """A row of numbers as it is sent."""
    if not is_bits(row):
        refuse_text(row, what, "a list of numbers, or a text of 0 and 1")
    if isinstance(row, MAPS_AND_SETS) or not isinstance(row, Iterable):
        raise DataError(f"{what} has the type {type(row).__name__}; needed is a list of numbers")
    try:
        return [number(value) for value in row]
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} is no list of numbers: {error}") from None


def number(value: Any) -> int | float:
    """A feature as a number of JSON."""
    if isinstance(value, int) or isinstance(value, Integral):
        return int(value)
    value = float(value)
    return int(value) if value.is_integer() else value
