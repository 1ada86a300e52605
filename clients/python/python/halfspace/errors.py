"""The errors of the client. Each names the problem and the remedy that the service states."""

from __future__ import annotations

import keyword
import reprlib
from typing import Any
from urllib.parse import parse_qsl


class HalfspaceError(Exception):
    """An error of the client or of the service."""


class Unreachable(HalfspaceError):
    """No service answers at the address."""


class DataError(HalfspaceError):
    """The data cannot be sent."""


class JobFailed(HalfspaceError):
    """A job ended without a result."""


class Problem(HalfspaceError):
    """The service refused a request. The members are those of the problem document."""

    def __init__(self, status: int, document: dict[str, Any]) -> None:
        self.status = status
        self.code: str = document.get("code", "")
        self.title: str = document.get("title", "")
        self.detail: str = document.get("detail", "") or f"the answer has the status {status}"
        self.errors: list[dict[str, Any]] = document.get("errors", [])
        self.position: int | None = document.get("position")
        repairs = self.repairs
        given = ", ".join(f"{name}={value!r}" for name, value in repairs.items())
        super().__init__(f"{self.detail} To mend it, pass {given}." if repairs else self.detail)

    @property
    def repairs(self) -> dict[str, str]:
        """The options of data that mend the request: the first repair of each error.

        Empty if an error has none. The options replace those of the request, but ``ignore``, ``kinds`` and
        ``missing_values`` add to them.
        """
        firsts = [error["repairs"][0] for error in self.errors if error.get("repairs")]
        options: dict[str, str] = {}
        if len(firsts) < len(self.errors):
            return options
        for name, value in (pair for repair in firsts for pair in parse_qsl(repair["query"], keep_blank_values=True)):
            is_list = name in ("ignore", "kinds", "missing_values") and name in options
            options[name] = f"{options[name]},{value}" if is_list else value
        return options


class Unauthorized(Problem):
    """The service needs a valid key."""


class NotFound(Problem):
    """The thing does not exist."""


class Busy(Problem):
    """The service is at a limit, also after all tries."""


def problem(status: int, document: dict[str, Any]) -> Problem:
    """The error for a refusal, with parameters by the names that they have in Python."""
    for error in document.get("errors", []):
        name = error.get("parameter") or ""
        if keyword.iskeyword(name):
            # The methods that `generate.py` writes have an underscore behind such a name.
            error["parameter"] = f"{name}_"
            document["detail"] = document.get("detail", "").replace(f"{name}: ", f"{name}_: ", 1)
    kinds = {401: Unauthorized, 404: NotFound, 429: Busy, 503: Busy}
    return kinds.get(status, Problem)(status, document)


def unsendable(what: str, error: UnicodeEncodeError) -> DataError:
    """The error for a text that no UTF-8 has."""
    text, surrogate = reprlib.repr(error.object), error.object[error.start]
    fault = f"{what} holds the text {text} with the lone surrogate {surrogate!r}, which UTF-8 does not have"
    return DataError(f"{fault}; text.encode(errors='replace').decode() puts ? in its place")
