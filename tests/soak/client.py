"""A client that goes on over lost connections and refusals, as the documents tell users to, and counts everything.

An answer is good, or a refusal that states when to come again, or an error. A lost connection is an error too, unless
the process was killed.
"""

import asyncio
import collections
import json
import random
import time
import uuid

import aiohttp

RETRY_SECONDS_MAX = 90
JOB_SECONDS_MAX = 300
TIMEOUT = aiohttp.ClientTimeout(total=75)
# An event stream lasts as long as the job, and says something every 15 seconds.
STREAM_TIMEOUT = aiohttp.ClientTimeout(total=JOB_SECONDS_MAX, sock_read=40)
REFUSALS = {429, 503}


class Broken(Exception):
    """An error that has been counted. The task of the client ends."""


class Counts:
    """Times and faults of all clients by route."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = collections.defaultdict(list)
        self.refusals: collections.Counter[tuple[str, str]] = collections.Counter()
        self.lost: collections.Counter[str] = collections.Counter()
        self.errors: list[str] = []
        # Results of trainings by their request. The same request must give the same result.
        self.results: dict[str, object] = {}

    def fail(self, text: str) -> Broken:
        # The time leads to the lines of the logs.
        text = f"{time.strftime('%H:%M:%S', time.gmtime())} {text}"
        self.errors.append(text)
        return Broken(text)


class Answer:
    def __init__(self, status: int, headers, body: bytes, was_lost: bool) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        # An earlier attempt may have had its effect.
        self.was_lost = was_lost

    def json(self):
        return json.loads(self.body)


class Client:
    def __init__(self, http: aiohttp.ClientSession, fleet, secret: str, counts: Counts, chance: random.Random) -> None:
        self.http = http
        self.fleet = fleet
        self.headers = {"authorization": f"Bearer {secret}"}
        self.counts = counts
        self.chance = chance

    async def get(self, route: str, **more) -> Answer:
        return await self.call("GET", route, **more)

    async def post(self, route: str, **more) -> Answer:
        return await self.call("POST", route, **more)

    async def delete(self, route: str, **more) -> Answer:
        # The lost attempt may have deleted the thing.
        return await self.call("DELETE", route, after_loss={404}, **more)

    async def call(self, method, route, *, query=None, data=None, body=None, headers=None, after_loss=(), **path):
        """Sends a request until it is answered. `route` is a path of the OpenAPI document, `path` its parameters,
        `data` a JSON document, and `body` bytes or a function that makes a stream. `after_loss` are the statuses that
        a repeated request may have."""
        name = f"{method} {route}"
        headers = {**self.headers, **(headers or {})}
        if "prefer" in headers:
            # The client chooses the time of such an answer.
            name += " (waits)"
        if data is not None:
            body = json.dumps(data).encode()
            headers["content-type"] = "application/json"
        if method == "POST":
            headers.setdefault("idempotency-key", str(uuid.uuid4()))
        # Two answers that wait for 50 s may be lost one after the other.
        patience = JOB_SECONDS_MAX if "prefer" in headers else RETRY_SECONDS_MAX
        deadline = time.monotonic() + patience
        was_lost, last = False, None
        while time.monotonic() < deadline:
            door = self.door(last)
            changes, begun = door.changes, time.monotonic()
            sent = body() if callable(body) else body
            url = door.address + route.format(**path)
            try:
                async with self.http.request(
                    method, url, params=query, data=sent, headers=headers, timeout=TIMEOUT
                ) as answer:
                    content = await answer.read()
            except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
                if not self.fleet.lost(door, changes):
                    seconds = time.monotonic() - begun
                    raise self.counts.fail(f"{name}: {error!r} after {seconds:.1f} s at {door.name}") from error
                self.counts.lost[name] += 1
                was_lost, last = True, door
                continue
            if 200 <= answer.status < 300:
                self.counts.seconds[name].append(time.monotonic() - begun)
                return Answer(answer.status, answer.headers, content, was_lost)
            if was_lost and answer.status in after_loss:
                return Answer(answer.status, answer.headers, content, was_lost)
            code = problem(content)
            if is_refusal(answer, code):
                self.counts.refusals[name, code] += 1
                await asyncio.sleep(min(float(answer.headers["retry-after"]), 5))
                continue
            raise self.counts.fail(f"{name}: {answer.status} {content[:300]!r}")
        raise self.counts.fail(f"{name}: no answer in {patience} s")

    def door(self, last):
        """A process to ask, if possible another one than that of the lost request."""
        return self.chance.choice([api for api in self.fleet.apis if api is not last])

    async def follow(self, job: str) -> list[str]:
        """Reads the events of a job to the result. Resumes a stream that was lost. Returns the kinds of the events."""
        route, name = "/v1/jobs/{id}/events", "GET /v1/jobs/{id}/events"
        kinds: list[str] = []
        seen, last = None, None
        deadline = time.monotonic() + JOB_SECONDS_MAX
        while time.monotonic() < deadline:
            door = self.door(last)
            changes, begun = door.changes, time.monotonic()
            headers = self.headers | ({"last-event-id": seen} if seen else {})
            url = door.address + route.format(id=job)
            try:
                async with self.http.get(url, headers=headers, timeout=STREAM_TIMEOUT) as answer:
                    if answer.status != 200:
                        code = problem(await answer.read())
                        if not is_refusal(answer, code):
                            raise self.counts.fail(f"{name}: {answer.status} {code}")
                        self.counts.refusals[name, code] += 1
                        await asyncio.sleep(min(float(answer.headers["retry-after"]), 5))
                        continue
                    # The first line is what a reader waits for.
                    first = True
                    async for line in answer.content:
                        if first:
                            self.counts.seconds[name].append(time.monotonic() - begun)
                            first = False
                        field, _, value = line.decode().rstrip("\n").partition(": ")
                        if field == "id":
                            seen = value
                        elif field == "event":
                            kinds.append(value)
                    if "result" in kinds:
                        return kinds
                    if not self.fleet.lost(door, changes):
                        raise self.counts.fail(f"{name}: the stream ended without a result: {kinds}")
            except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
                if not self.fleet.lost(door, changes):
                    seconds = time.monotonic() - begun
                    document = (await self.get("/v1/jobs/{id}", id=job)).json()
                    state = {key: document[key] for key in ("id", "task", "status", "attempt", "queue", "started_at")}
                    reason = f"{error!r} after {seconds:.1f} s at {door.name}, {state}"
                    raise self.counts.fail(f"{name}: {reason}") from error
            self.counts.lost[name] += 1
            last = door
        raise self.counts.fail(f"{name}: no result in {JOB_SECONDS_MAX} s")


def problem(content: bytes) -> str:
    try:
        return str(json.loads(content).get("code"))
    except (ValueError, AttributeError):
        return content[:80].decode(errors="replace")


def is_refusal(answer, code: str) -> bool:
    """Whether the answer asks to come again: see docs/how-to/retries.md."""
    if "retry-after" not in answer.headers:
        return False
    return answer.status in REFUSALS or code == "idempotency-in-flight"
