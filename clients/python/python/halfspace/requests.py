"""Requests and their tries, for both clients: `Call` describes a request, and `Exchange` decides after each answer."""

from __future__ import annotations

import random
import uuid
import warnings
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from . import errors
from .version import VERSION

T = TypeVar("T")

TRIES = 6
"""Tries of one request."""

CONNECT_SECONDS = 5.0
"""Time limit of a connection."""

TIMEOUT = httpx.Timeout(300, connect=CONNECT_SECONDS)
"""Time limits of a request. No answer takes minutes, because a request for a job returns before the end of the job."""

REPEATABLE = ("/predict", "/evaluate", "/infer", "/cancel", "/delete")
"""Ends of the paths of requests with a body that change nothing, or nothing more the second time."""

LASTING = ("quota-full",)
"""Codes of refusals with status 429 that do not pass by waiting."""


@dataclass
class Content:
    """A body of another media type than JSON, such as a file."""

    data: bytes
    media_type: str
    query: dict[str, str] = field(default_factory=dict)
    """Parameters that describe the data."""
    coding: str | None = None
    """The content coding, such as gzip."""


@dataclass
class Call:
    """A request."""

    method: str
    path: str
    accept: str = "application/json"
    query: dict[str, Any] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=dict)
    body: Any = None
    creates: bool = False
    """Whether the request creates something. All tries then have one idempotency key."""


def segment(text: str) -> str:
    """A segment of a path."""
    try:
        return quote(text, safe="")
    except UnicodeEncodeError as error:
        raise errors.unsendable("the path", error) from None


def scalar(value: Any) -> Any:
    """A scalar of NumPy as a value of Python. Other values stay."""
    return value.item() if hasattr(value, "dtype") and hasattr(value, "item") and not getattr(value, "ndim", 0) else value


def text_of(value: Any) -> str:
    """A parameter as text: a flag, a list such as `ignore=["a", "b"]`, a map such as `kinds={"a": "number"}`, or
    anything with an id."""
    value = scalar(getattr(value, "id", value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(quoted(text_of(one)) for one in value)
    if isinstance(value, dict):
        return ",".join(f"{quoted(text_of(name))}:{text_of(one)}" for name, one in value.items())
    return str(value)


def quoted(name: str) -> str:
    """A name of a list. A name with a separator stands in quotes."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"' if set(name) & set(',:"') else name


def encoded(value: Any, what: str = "the request") -> bytes:
    """A value as JSON.

    Raises `DataError` for a text that no UTF-8 has.
    """
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError as error:
        raise errors.unsendable(what, error) from None


class Exchange:
    """The tries of one request."""

    def __init__(self, call: Call) -> None:
        self.call = call
        headers = {"accept": call.accept, **{name: text_of(v) for name, v in call.header.items() if v is not None}}
        query = {name: text_of(value) for name, value in call.query.items() if value is not None}
        content: bytes | None = None
        if isinstance(call.body, Content):
            content, headers["content-type"] = call.body.data, call.body.media_type
            if call.body.coding:
                headers["content-encoding"] = call.body.coding
            query = {**call.body.query, **query}
        elif call.body is not None:
            content, headers["content-type"] = encoded(call.body), "application/json"
        if call.creates:
            headers["idempotency-key"] = str(uuid.uuid4())
        for name, text in query.items():
            encoded(text, f"the parameter {name}")
        self.headers, self.query, self.content = headers, query, content
        self.tries = 0

    def request(self, client: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """The request of the next try."""
        self.tries += 1
        call = self.call
        return client.build_request(call.method, call.path, params=self.query, headers=self.headers, content=self.content)

    def delay(self, failure: httpx.Response | httpx.TransportError) -> float | None:
        """The seconds until the next try, or None without one.

        A lost request is tried again if a second one does no harm. A refusal is tried again if it may pass soon.
        """
        repeats = self.call.creates or self.call.method in ("GET", "DELETE") or self.call.path.endswith(REPEATABLE)
        backoff = min(0.1 * 2.0**self.tries, 5.0) * random.uniform(0.5, 1.0)
        if self.tries >= TRIES:
            return None
        if isinstance(failure, httpx.TransportError):
            return backoff if repeats or isinstance(failure, httpx.ConnectError) else None
        if failure.status_code in (429, 503) and any(f'"{code}"' in failure.text for code in LASTING):
            return None
        if failure.status_code in (429, 503) or failure.status_code == 409 and "idempotency-in-flight" in failure.text:
            after = failure.headers.get("retry-after", "")
            return float(after) if after.isdigit() else backoff
        return None

    def answered(self, response: httpx.Response, answer: type[T]) -> T:
        """The value of the last answer.

        Raises `Problem` if the service refused the request.
        """
        if self.tries > 1 and self.call.method == "DELETE" and response.status_code == 404:
            # An earlier try deleted the thing, but its answer was lost.
            return None  # type: ignore[return-value] # pyright: ignore[reportReturnType]
        return decoded(response, answer)


def decoded(response: httpx.Response, answer: type[T]) -> T:
    """The value of an answer.

    Raises `Problem` if the service refused the request.
    """
    if not response.is_success:
        try:
            document = response.json()
        except ValueError:
            document = {}
        raise errors.problem(response.status_code, document if isinstance(document, dict) else {})
    if answer is bytes:
        return response.content  # type: ignore[return-value] # pyright: ignore[reportReturnType]
    if answer is type(None):
        return None  # pyright: ignore[reportReturnType]
    try:
        return msgspec.json.decode(response.content, type=answer, strict=False)
    except msgspec.DecodeError as error:
        message = f"the answer of {response.url} does not fit this client ({VERSION}): {error}"
        raise errors.HalfspaceError(message) from error


def unreachable(address: str, error: httpx.TransportError) -> errors.Unreachable:
    return errors.Unreachable(f"no service answers at {address}: {error or type(error).__name__}")


def base_address(address: str) -> str:
    """An address with its scheme, which is `http` by default."""
    return (address if "://" in address else f"http://{address}").rstrip("/")


def authorization(key: str | None) -> dict[str, str]:
    """The header of a key. A key from a file may end with a newline.

    Raises `HalfspaceError` for a text that is no key. The error does not show the text.
    """
    key = (key or "").strip()
    if not all("!" <= character <= "~" for character in key):
        raise errors.HalfspaceError("the key holds characters that no key has")
    return {"authorization": f"Bearer {key}"} if key else {}


def check_version(answer: dict[str, Any], address: str) -> None:
    """Warns about a service of another release."""
    found = answer.get("version")
    if found != VERSION:
        kind = "older" if numbers(str(found)) < numbers(VERSION) else "newer"
        text = f"the service at {address} has version {found}, which is {kind} than this client ({VERSION})"
        warnings.warn(text, stacklevel=3)


def numbers(version: str) -> list[int]:
    return [int(part) for part in version.split("-")[0].split(".") if part.isdigit()]
