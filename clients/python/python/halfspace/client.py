"""The clients. `Client` waits for answers, and `AsyncClient` has coroutines."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, TypeVar

import httpx

from . import types
from .data import content
from .errors import JobFailed
from .process import LocalService
from .operations import AsyncOperations, Operations
from .requests import CONNECT_SECONDS, Call, Content, Exchange, check_version, decoded, segment, unreachable
from .things import Comparison, Dataset, Job, Model, Session

T = TypeVar("T")
C = TypeVar("C", bound="Client")

TIMEOUT = httpx.Timeout(None, connect=CONNECT_SECONDS)

DATA_OPTIONS = frozenset(
    "labels positive ignore kinds numbers bins missing unknown delimiter decimal sheet header encoding bit_order n".split()
)
"""The parameters that describe data. The others belong to the learner or to the training."""

LIMITS = frozenset("max_passes max_mistakes max_examples max_seconds confidence error rule".split())


class Client(Operations):
    """A client of one service.

    Every operation of the API is a method. `train`, `compare`, `dataset` and `session` take arrays, frames and files,
    and return objects that know the client.
    """

    def __init__(self, address: str, key: str | None = None, service: LocalService | None = None) -> None:
        self.address = address.rstrip("/")
        self.service = service
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(base_url=self.address, headers=headers, timeout=TIMEOUT)
        check_version(self.get_version_document(), self.address)

    def get_version_document(self) -> dict[str, Any]:
        return self._send(Call("GET", "/version"), dict[str, Any])

    def _send(self, call: Call, answer: type[T]) -> T:
        exchange = Exchange(call)
        while True:
            try:
                response = self._http.send(exchange.request(self._http))
            except httpx.TransportError as error:
                delay = exchange.delay(error)
                if delay is None:
                    raise unreachable(self.address, error) from error
            else:
                delay = exchange.delay(response)
                if delay is None or not response.is_error:
                    return decoded(response, answer)
            time.sleep(delay)

    def close(self) -> None:
        """Closes the connections, and stops a service that `local` started."""
        self._http.close()
        if self.service:
            self.service.close()

    def __enter__(self: C) -> C:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def train(
        self,
        X: Any,
        y: Any = None,
        *,
        learner: str,
        holdout: float | None = None,
        seed: int | None = None,
        trace: bool = True,
        name: str | None = None,
        progress: bool = True,
        **params: Any,
    ) -> Job:
        """Trains a learner and waits for the end.

        `X` and `y` are arrays, frames, lists or a file: see `halfspace.data`. `params` are the parameters of the
        learner, of the table and of the stopping conditions.
        """
        options = {name: params.pop(name) for name in list(params) if name in DATA_OPTIONS}
        query = {**params, "holdout": holdout, "seed": seed, "trace": trace, "name": name}
        path = f"/v1/learners/{segment(learner)}/train"
        call = Call("POST", path, query=query, body=content(X, y, **options), makes=True)
        return Job(self, self._send(call, types.Job)).wait(progress)

    def compare(
        self,
        X: Any,
        y: Any = None,
        *,
        learners: Sequence[str | dict[str, Any]] | None = None,
        folds: int | None = None,
        holdout: float | None = None,
        seed: int | None = None,
        progress: bool = True,
        **params: Any,
    ) -> Comparison:
        """Trains several learners on the same splits, and the best of them on all examples."""
        stop = {name: params.pop(name) for name in list(params) if name in LIMITS}
        assume = params.pop("assume", None)
        data: dict[str, Any] = {"dataset": self.dataset(X, y, **params).id, **({"assume": assume} if assume else {})}
        request: dict[str, Any] = {"data": data, "stop": stop}
        if learners is not None:
            request["learners"] = [{"name": one} if isinstance(one, str) else one for one in learners]
        request.update({k: v for k, v in {"folds": folds, "holdout": holdout, "seed": seed}.items() if v is not None})
        call = Call("POST", "/v1/jobs", body={"compare": request}, makes=True)
        return Comparison(self, self._send(call, types.Job)).wait(progress)

    def dataset(self, X: Any, y: Any = None, *, name: str | None = None, **options: Any) -> Dataset:
        """Stores examples for later use."""
        call = Call("POST", "/v1/datasets", query={"name": name}, body=content(X, y, **options), makes=True)
        return Dataset(self, self._send(call, types.Dataset))

    def job(self, id: str) -> Job:
        """A job of the service."""
        return Job(self, self.get_job(id))

    def model(self, id: str) -> Model:
        """A model of the service."""
        return Model(self, id)

    def load_model(self, path: str | os.PathLike[str]) -> Model:
        """Sends a model file that `Model.save` wrote."""
        with open(path, "rb") as file:
            text = file.read()
        found = self._send(Call("POST", "/v1/models", body=Content(text, "application/json"), makes=True), dict[str, Any])
        return Model(self, found["id"])

    def session(self, learner: str, n: int, **params: Any) -> Session:
        """Begins an on-line session of a learner for examples of `n` features."""
        body = {"learner": {"name": learner, "params": params}, "n": n}
        found = self._send(Call("POST", "/v1/sessions", body=body, makes=True), types.Session)
        return Session(self, found)


class AsyncClient(AsyncOperations):
    """A client with one coroutine per operation of the API, and `train`."""

    def __init__(self, address: str, key: str | None = None) -> None:
        self.address = address.rstrip("/")
        headers = {"authorization": f"Bearer {key}"} if key else {}
        limits = httpx.Limits(max_connections=100)
        self._http = httpx.AsyncClient(base_url=self.address, headers=headers, timeout=httpx.Timeout(None, connect=60), limits=limits)

    async def _send(self, call: Call, answer: type[T]) -> T:
        exchange = Exchange(call)
        while True:
            try:
                response = await self._http.send(exchange.request(self._http))
            except httpx.TransportError as error:
                delay = exchange.delay(error)
                if delay is None:
                    raise unreachable(self.address, error) from error
            else:
                delay = exchange.delay(response)
                if delay is None or not response.is_error:
                    return decoded(response, answer)
            await asyncio.sleep(delay)

    async def train(self, X: Any, y: Any = None, *, learner: str, **params: Any) -> types.Job:
        """Trains a learner and waits for the end. See `Client.train`."""
        options = {name: params.pop(name) for name in list(params) if name in DATA_OPTIONS}
        path = f"/v1/learners/{segment(learner)}/train"
        call = Call("POST", path, query=params, body=content(X, y, **options), makes=True)
        job = await self._send(call, types.Job)
        while job.finished_at is None:
            job = await self.get_job(job.id, prefer="wait=20")
        if job.status != "succeeded":
            raise JobFailed(job.error.detail if job.error else f"the job {job.id} was {job.status}")
        return job

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        await self.close()


def connect(address: str, key: str | None = None) -> Client:
    """A client of a running service."""
    return Client(address, key)


def connect_async(address: str, key: str | None = None) -> AsyncClient:
    """An asynchronous client of a running service."""
    return AsyncClient(address, key)


def local(directory: str | os.PathLike[str] | None = None, *settings: str) -> Client:
    """Starts a service on this machine, with its data in `directory` or for this process only."""
    service = LocalService(directory, *settings)
    return Client(service.address, service=service)
