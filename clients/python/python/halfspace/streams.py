"""Streams of examples into a session: one request whose answers arrive while its body is being sent.

httpx sends a whole body before it reads the answer, so a stream uses h11 on a connection of its own. `Stream` decides
what to send and what the received bytes mean. `answers` moves the bytes and begins again after a lost connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections import deque
from collections.abc import (
    AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator
)
from typing import Any, TypeVar
from urllib.parse import urlsplit

import h11
import msgspec

from . import types
from .errors import Busy, DataError, HalfspaceError, Problem, Unreachable, problem
from .process import Owner
from .requests import CONNECT_SECONDS, encoded, segment
from .rows import number

T = TypeVar("T")

AHEAD = 1_000
"""Examples without an answer, after which a stream reads no further examples."""

LINES_MAX = 500_000
"""Examples of one request. The service accepts twice as many."""

RECOVERY_SECONDS = 60.0
"""Time that a stream waits for a service that does not answer."""

PASSING = frozenset(("session-busy", "unreadable", "stale-position"))
"""Codes of problems after which a stream begins a new request, as after the statuses 408, 429 and 503."""

_answer = msgspec.json.Decoder(types.ExampleAnswer, strict=False)
_problem = msgspec.json.Decoder(dict[str, Any])


Features = Callable[[Any, str], Any]
"""How a session reads the features of an example, whose place an error names."""


def line(example: Any, features: Features, at: int) -> bytes:
    """The example at a place of a stream as a line. The label is the name of a class, or a number: 0 means -1."""
    what = f"row {at} of the examples"
    try:
        x, y = example
        label = str(y) if isinstance(y, str) else number(y)
        if label not in (-1, 0, 1) and not isinstance(y, str):
            raise ValueError(f"the label is {y!r}")
    except (TypeError, ValueError) as error:
        pair = "a pair of features and the label 1, 0, -1 or the name of a class"
        raise DataError(f"{what} is not {pair}: {error}") from error
    return encoded({"x": features(x, what), "y": label}, what) + b"\n"


class Stream:
    """The examples of one stream, and the request that sends them now."""

    def __init__(self, address: str, headers: dict[str, str], session: str, position: int, is_certain: bool) -> None:
        parts = urlsplit(address)
        self.host, self.port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        self.is_secure = parts.scheme == "https"
        self.target = f"{parts.path.rstrip('/')}/v1/sessions/{segment(session)}/examples"
        self.headers = [("host", parts.netloc), ("content-type", "application/x-ndjson"), ("transfer-encoding", "chunked")]
        self.headers += list(headers.items())
        self.position = position
        """Position of the last answer."""
        self.is_certain = is_certain
        """Whether the session should stand at the position. After an early end of another stream it may be further."""
        self.has_learnt = False
        """Whether the service may have learnt examples of this stream."""
        self.waiting: deque[bytes] = deque()
        """Examples without an answer."""
        self.is_last = False
        """Whether all examples were added."""
        self.is_terminated = False
        """Whether the session ended."""
        self.requests = 0
        self.refusal: Problem | None = None
        """The problem that ended the request."""
        self.is_open = False

    @property
    def is_complete(self) -> bool:
        return self.is_terminated or self.is_last and not self.waiting

    def begin(self, position: int) -> tuple[bytes, int]:
        """Begins a request while the session stands at `position`.

        Returns the first bytes, and the number of examples that were learnt but whose answers are lost.

        Raises `HalfspaceError` if another client moved the session.
        """
        if not self.is_certain and not self.has_learnt:
            self.position = position
        lost = position - self.position
        if not 0 <= lost <= (len(self.waiting) if self.has_learnt else 0):
            raise HalfspaceError(f"another client moved the session from position {self.position} to {position}")
        for _ in range(lost):
            self.waiting.popleft()
        self.position, self.requests, self.sent = position, self.requests + 1, 0
        self.http, self.status, self.rest, self.refusal, self.is_open = h11.Connection(h11.CLIENT), 0, b"", None, True
        headers = [*self.headers, ("if-match", f'"{position}"')]
        head = self.http.send(h11.Request(method="POST", target=self.target, headers=headers)) or b""
        return head + self.body(list(self.waiting)), lost

    def add(self, lines: list[bytes]) -> bytes:
        """Adds examples. Returns the bytes to send now."""
        self.waiting.extend(lines)
        return self.body(lines)

    def finish(self) -> bytes:
        """Marks the end of the examples. Returns the bytes to send now."""
        self.is_last = True
        return self.body([])

    def body(self, lines: list[bytes]) -> bytes:
        if not self.is_open or self.http.our_state is not h11.SEND_BODY:
            return b""
        self.sent += len(lines)
        data = self.http.send(h11.Data(data=b"".join(lines))) or b"" if lines else b""
        if self.is_last or self.sent >= LINES_MAX:
            data += self.http.send(h11.EndOfMessage()) or b""
        return data

    def receive(self, data: bytes) -> list[types.ExampleAnswer]:
        """The answers in received bytes. Empty bytes mean the end of the connection."""
        answers: list[types.ExampleAnswer] = []
        try:
            self.http.receive_data(data)
            while self.is_open:
                event = self.http.next_event()
                if isinstance(event, h11.Response):
                    self.status = event.status_code
                elif isinstance(event, h11.Data):
                    answers += self.answered(bytes(event.data))
                elif event is h11.NEED_DATA:
                    break
                elif not isinstance(event, h11.InformationalResponse):
                    self.is_open = False
        except h11.RemoteProtocolError:
            self.is_open = False
        if not self.is_open and self.status < 400:
            # Without a refusal the service may have learnt any part of the request.
            self.has_learnt = True
        if self.status >= 400 and not self.is_open:
            with contextlib.suppress(msgspec.DecodeError):
                self.refusal = problem(self.status, _problem.decode(self.rest))
        return answers

    def answered(self, data: bytes) -> Iterator[types.ExampleAnswer]:
        """The answers in a part of the body. Ends the request at the line of an error and at the end of the session."""
        self.rest += data
        if self.status >= 400:
            return
        *whole, self.rest = self.rest.split(b"\n")
        for text in whole:
            if text.startswith(b'{"error"'):
                document = _problem.decode(text)["error"]
                self.refusal, self.is_open = problem(int(document.get("status", 0)), document), False
                return
            answer = _answer.decode(text)
            self.waiting.popleft()
            self.has_learnt = True
            self.position, self.is_terminated = answer.position, answer.terminated
            yield answer
            if answer.terminated:
                self.is_open = False
                return


async def answers(
    stream: Stream, bursts: AsyncIterator[list[bytes]], position: Callable[[], Awaitable[int]]
) -> AsyncGenerator[list[types.ExampleAnswer | None], None]:
    """Sends lines and yields the answers in order, some at a time.

    A lost answer is None. An error of `bursts` is raised after the answers of the earlier examples. `position` asks
    the service for the position of the session.
    """
    moved = asyncio.Event()
    deadline = None
    writer: asyncio.StreamWriter | None = None
    errors: list[Exception] = []

    async def write(data: bytes) -> None:
        if data and writer:
            with contextlib.suppress(OSError):
                writer.write(data)
                await writer.drain()

    async def send() -> None:
        try:
            async for lines in bursts:
                data = stream.add(lines)
                moved.set()
                await write(data)
                while len(stream.waiting) > AHEAD:
                    moved.clear()
                    await moved.wait()
        except Exception as error:
            errors.append(error)
        data = stream.finish()
        moved.set()
        await write(data)

    sender = asyncio.create_task(send())
    try:
        while True:
            while not stream.waiting and not stream.is_last:
                moved.clear()
                await moved.wait()
            if stream.is_complete:
                break
            try:
                stands = stream.position if stream.is_certain and not stream.requests else await position()
                tls = True if stream.is_secure else None
                opening = asyncio.open_connection(stream.host, stream.port, ssl=tls)
                reader, connected = await asyncio.wait_for(opening, CONNECT_SECONDS)
                keep_alive(connected)
                head, lost = stream.begin(stands)
                connected.write(head)
                writer = connected
                if lost:
                    moved.set()
                    yield [None] * lost
                while stream.is_open:
                    received = stream.receive(await reader.read(1 << 16))
                    if received:
                        deadline = None
                        moved.set()
                        yield list(received)
            except (OSError, asyncio.TimeoutError, Unreachable, Busy) as error:
                stream.has_learnt |= stream.is_open
                stream.is_open, failure = False, f"no service answers at {stream.host}:{stream.port}: {error}"
            else:
                failure = f"the service ends the stream: {stream.refusal or 'the connection breaks'}"
            finally:
                if writer:
                    writer.close()
                    writer = None
            if stream.refusal and not is_passing(stream, stream.refusal):
                raise stream.refusal
            if stream.waiting and not stream.is_complete:
                deadline = deadline or time.monotonic() + RECOVERY_SECONDS
                if time.monotonic() > deadline:
                    raise Unreachable(failure)
                await asyncio.sleep(0.2)
        if errors:
            raise errors[0]
    finally:
        sender.cancel()


def is_passing(stream: Stream, refusal: Problem) -> bool:
    """Whether a new request may succeed.

    A session at another position is no reason to try again if another client moved the session. It is one if the
    service was still learning examples of an earlier request.
    """
    if refusal.code == "stale-position" and stream.is_certain and stream.requests == 1:
        return False
    return refusal.code in PASSING or refusal.status in (408, 429, 503)


def keep_alive(writer: asyncio.StreamWriter) -> None:
    """Lets the system notice within minutes that the other side is gone. Examples may be hours apart."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, seconds in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 20)):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), seconds)


async def one_by_one(examples: AsyncIterable[tuple[Any, Any]], features: Features) -> AsyncIterator[list[bytes]]:
    """The lines of examples that come as coroutines."""
    at = 0
    async for example in examples:
        yield [line(example, features, at)]
        at += 1


async def pulled(examples: Iterable[tuple[Any, Any]], features: Features) -> AsyncIterator[list[bytes]]:
    """The lines of examples. A thread reads the examples, because the next example may take long."""
    loop, some = asyncio.get_running_loop(), asyncio.Event()
    lines: deque[bytes] = deque()
    vacancies = threading.Semaphore(AHEAD)
    state = {"done": False, "closed": False}
    errors: list[Exception] = []

    def tell() -> None:
        # The loop is closed if nobody reads the answers any more.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(some.set)

    def pull() -> None:
        try:
            for at, example in enumerate(examples):
                vacancies.acquire()
                if state["closed"]:
                    return
                lines.append(line(example, features, at))
                if len(lines) == 1:
                    tell()
        except Exception as error:
            errors.append(error)
        except BaseException as error:
            # A loop of coroutines ends with such an error, so the caller would wait for ever.
            errors.append(HalfspaceError(f"the iterable of the examples ended with {error!r}"))
        finally:
            state["done"] = True
            tell()

    threading.Thread(target=pull, daemon=True).start()
    try:
        while True:
            await some.wait()
            some.clear()
            is_done, burst = state["done"], []
            while lines:
                burst.append(lines.popleft())
            if burst:
                vacancies.release(len(burst))
                yield burst
            if is_done:
                break
    finally:
        state["closed"] = True
        vacancies.release()
    if errors:
        raise errors[0]


def waited(bursts: AsyncGenerator[list[T], None]) -> Generator[T, None, None]:
    """The values of bursts, for callers without coroutines. A thread of its own runs the coroutines."""
    loop, owner = asyncio.new_event_loop(), Owner()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def following() -> list[T] | None:
        return await anext(bursts, None)

    async def close() -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await bursts.aclose()
        await loop.shutdown_asyncgens()
        # The transport closes in the next round of the loop.
        await asyncio.sleep(0)

    try:
        while (burst := asyncio.run_coroutine_threadsafe(following(), loop).result()) is not None:
            for one in burst:
                yield one
                if not owner:
                    raise HalfspaceError("the stream belongs to another process; begin a stream of the session in this one")
    finally:
        # The thread did not come along into a forked process, and the connection is that of the parent.
        if owner:
            asyncio.run_coroutine_threadsafe(close(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
