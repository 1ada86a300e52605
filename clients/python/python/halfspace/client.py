"""The clients. `Client` waits for answers, and `AsyncClient` has coroutines."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import httpx
import msgspec

from . import types
from .data import cell, labelled
from .errors import HalfspaceError, JobFailed, Problem
from .operations import AsyncOperations, Operations
from .process import LocalService, PerProcess
from .requests import (
    TIMEOUT, Call, Content, Exchange, authorization, base_address, check_version, segment, text_of, unreachable
)
from .resources import AsyncSession, Comparison, Dataset, Job, Model, Session

T = TypeVar("T")
C = TypeVar("C", bound="Client")

STOP = frozenset(field.name for field in msgspec.structs.fields(types.StopSpec))
"""The names of the stopping conditions."""


BESIDE = frozenset(inspect.signature(Operations.train_learner).parameters) | {"feature_names"}
"""The names in the query of a training that stand neither below `params` nor below `stop`, and others."""


def dotted(name: str) -> str:
    """The name of a parameter in the query of a training: of the learner, unless it is known as another one."""
    if name in STOP:
        return f"stop.{name}"
    return name if name in BESIDE else f"params.{name}"


def training(X: Any, y: Any, learner: str, params: dict[str, Any], **query: Any) -> Call:
    """The request that trains a learner. `params` are those of the learner, the table and the stopping conditions."""
    options = {dotted(name): value for name, value in params.items()}
    path, body = f"/v1/learners/{segment(learner)}/train", labelled(X, y, **options)
    # The answer comes at once, so that the id of the job is known from the start.
    return Call("POST", path, query=query, header={"prefer": "wait=0"}, body=body, creates=True)


def storing(X: Any, y: Any, name: str | None, options: dict[str, Any]) -> Call:
    """The request that stores examples."""
    return Call("POST", "/v1/datasets", query={"name": name}, body=labelled(X, y, **options), creates=True)


def comparing(dataset: str, learners: Sequence[str | dict[str, Any]] | None, params: dict[str, Any], **members: Any) -> Call:
    """The request that compares learners on stored examples."""
    request = {name: value for name, value in members.items() if value is not None}
    request["data"] = {"dataset": {"id": dataset, **{name: params[name] for name in ("assume", "positive") if params.get(name)}}}
    request["stop"] = {name: value for name, value in params.items() if name in STOP}
    if learners is not None:
        request["learners"] = [{"name": one} if isinstance(one, str) else one for one in learners]
    return Call("POST", "/v1/jobs", body={"compare": request}, creates=True)


def weighed(weights: str | dict[Any, float] | None) -> str | None:
    """The weights of classes as text. Their names are written as labels are."""
    return text_of({cell(name): weight for name, weight in weights.items()}) if isinstance(weights, dict) else weights


def table_options(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a comparison that describe the data. An unknown name is one of these, and the service refuses
    it."""
    return {name: value for name, value in params.items() if name not in STOP and name != "assume"}


def opening(learner: str, params: dict[str, Any], classes: Sequence[str] | str | None, **members: Any) -> Call:
    """The request that begins a session."""
    stop = {name: value for name, value in params.items() if name in STOP}
    own = {name: value for name, value in params.items() if name not in STOP}
    members.update(classes=list(classes) if classes and not isinstance(classes, str) else classes, stop=stop or None)
    given = {name: value for name, value in members.items() if value is not None}
    body = {"learner": {"name": learner, "params": own}, **given}
    return Call("POST", "/v1/sessions", body=body, creates=True)


class Client(Operations):
    """A client of one service.

    Every operation of the API is a method. `train`, `compare`, `dataset` and `session` take arrays, frames and files,
    and return objects that know the client.
    """

    def __init__(self, address: str, key: str | None = None, service: LocalService | None = None) -> None:
        self.address, self.service, self.headers = base_address(address), service, authorization(key)
        self._connections = PerProcess(self._connected)
        try:
            version = self.get_version_document()
        except (Problem, msgspec.DecodeError) as error:
            raise HalfspaceError(f"{self.address} is not the address of a halfspace service: {error}") from None
        check_version(version, self.address)

    def _connected(self) -> httpx.Client:
        return httpx.Client(base_url=self.address, headers=self.headers, timeout=TIMEOUT)

    def get_version_document(self) -> dict[str, Any]:
        return self._send(Call("GET", "/version"), dict[str, Any])

    def _send(self, call: Call, answer: type[T]) -> T:
        exchange, http = Exchange(call), self._connections()
        while True:
            try:
                response = http.send(exchange.request(http))
            except httpx.TransportError as error:
                delay = exchange.delay(error)
                if delay is None:
                    raise unreachable(self.address, error) from None
            else:
                delay = exchange.delay(response)
                if delay is None:
                    return exchange.answered(response, answer)
            time.sleep(delay)

    def close(self) -> None:
        """Closes the connections, and stops a service that `local` started in this process."""
        self._connections().close()
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
        stratify: bool | None = None,
        class_weight: str | dict[Any, float] | None = None,
        seed: int | None = None,
        trace: bool = True,
        name: str | None = None,
        progress: bool = True,
        **params: Any,
    ) -> Job[types.TrainResult]:
        """Trains a learner and waits for the end.

        `X` and `y` are arrays, frames, lists, a file or a `Dataset`: see `halfspace.data`. `class_weight` is `"balanced"` or
        maps classes to weights, such as `{"spam": 2.5}`. `params` are the parameters of the learner, of the table and of
        the stopping conditions, and `feature_names` of a sparse matrix.
        """
        members = {"holdout": holdout, "stratify": stratify, "class_weight": weighed(class_weight), "seed": seed, "trace": trace}
        call = training(X, y, learner, params, name=name, **members)
        job: Job[types.TrainResult] = Job(self, self._send(call, types.Job))
        return job.wait(progress)

    def compare(
        self,
        X: Any,
        y: Any = None,
        *,
        learners: Sequence[str | dict[str, Any]] | None = None,
        folds: int | None = None,
        holdout: float | None = None,
        stratify: bool | None = None,
        seed: int | None = None,
        multiclass: str | None = None,
        class_weight: str | dict[Any, float] | None = None,
        progress: bool = True,
        **params: Any,
    ) -> Comparison:
        """Trains several learners on the same splits, and the best of them on all examples. `class_weight` is as for
        `train`."""
        dataset = X if isinstance(X, Dataset) else self.dataset(X, y, **table_options(params))
        members = {"folds": folds, "holdout": holdout, "stratify": stratify, "seed": seed, "multiclass": multiclass}
        call = comparing(dataset.id, learners, params, class_weight=weighed(class_weight), **members)
        return Comparison(self, self._send(call, types.Job)).wait(progress)

    def dataset(self, X: Any, y: Any = None, *, name: str | None = None, **options: Any) -> Dataset:
        """Stores examples for later use."""
        return Dataset(self, self._send(storing(X, y, name, options), types.Dataset))

    def job(self, id: str) -> Job[Any]:
        """A job of the service."""
        return Job(self, self.get_job(id))

    def model(self, id: str) -> Model:
        """A model of the service."""
        return Model(self, id)

    def load_model(self, path: str | os.PathLike[str]) -> Model:
        """Sends a model file that `Model.save` wrote."""
        return self.send_model(Path(path).read_bytes())

    def send_model(self, document: bytes) -> Model:
        """Sends a model document that `Model.export` returned."""
        call = Call("POST", "/v1/models", body=Content(document, "application/json"), creates=True)
        return Model(self, self._send(call, types.Model).id)

    def session(
        self,
        learner: str,
        n: int | None = None,
        *,
        vocabulary: str | None = None,
        active: int | None = None,
        extraction: Mapping[str, Any] | None = None,
        assume: str | None = None,
        seed: int | None = None,
        values: str | None = None,
        classes: Sequence[str] | str | None = None,
        multiclass: str | None = None,
        **params: Any,
    ) -> Session:
        """Begins an on-line session of a learner for examples of `n` features.

        With `vocabulary="open"` in place of `n`, examples are lists of names, or mappings of names to values, which
        may be new in any example. `active` is then the largest number of names of an example, from which the threshold
        of `winnow` and `kernel-winnow` follows. With `extraction`, such as `{}` or `{"words": [1, 2]}`, the member `text`
        of an example is a text, as in `{"text": "See you at lunch"}`, and its words are names.

        `values="real"` declares real features. `classes` names the classes, two or more; with `classes="open"` each
        label is a class, which joins at its first example. `multiclass="joint"` learns the classes together. `params`
        are the parameters of the learner and of the stopping conditions.
        """
        members = {"n": None if n is None else int(n), "vocabulary": vocabulary, "active": active, "assume": assume}
        members |= {"seed": seed, "values": values, "multiclass": multiclass}
        call = opening(learner, params, classes, extraction=extraction, **members)
        return Session(self, self._send(call, types.Session))


class AsyncClient(AsyncOperations):
    """A client with one coroutine per operation of the API, and `train`, `compare`, `dataset` and `session`."""

    def __init__(self, address: str, key: str | None = None) -> None:
        self.address, self.headers = base_address(address), authorization(key)
        self._connections = PerProcess(self._connected)

    def _connected(self) -> httpx.AsyncClient:
        limits = httpx.Limits(max_connections=100)
        # A request may wait for one of these connections.
        timeout = httpx.Timeout(300, connect=60, pool=None)
        return httpx.AsyncClient(base_url=self.address, headers=self.headers, timeout=timeout, limits=limits)

    async def _send(self, call: Call, answer: type[T]) -> T:
        exchange, http = Exchange(call), self._connections()
        while True:
            try:
                response = await http.send(exchange.request(http))
            except httpx.TransportError as error:
                delay = exchange.delay(error)
                if delay is None:
                    raise unreachable(self.address, error) from None
            else:
                delay = exchange.delay(response)
                if delay is None:
                    return exchange.answered(response, answer)
            await asyncio.sleep(delay)

    async def train(
        self,
        X: Any,
        y: Any = None,
        *,
        learner: str,
        holdout: float | None = None,
        stratify: bool | None = None,
        class_weight: str | dict[Any, float] | None = None,
        seed: int | None = None,
        trace: bool = True,
        name: str | None = None,
        **params: Any,
    ) -> types.Job:
        """Trains a learner and waits for the end. See `Client.train`."""
        members = {"holdout": holdout, "stratify": stratify, "class_weight": weighed(class_weight), "seed": seed, "trace": trace}
        return await self._ended(training(X, y, learner, params, name=name, **members))

    async def compare(
        self,
        X: Any,
        y: Any = None,
        *,
        learners: Sequence[str | dict[str, Any]] | None = None,
        folds: int | None = None,
        holdout: float | None = None,
        stratify: bool | None = None,
        seed: int | None = None,
        multiclass: str | None = None,
        class_weight: str | dict[Any, float] | None = None,
        **params: Any,
    ) -> types.Job:
        """Compares learners and waits for the end. See `Client.compare`."""
        dataset = await self.dataset(X, y, **table_options(params))
        members = {"folds": folds, "holdout": holdout, "stratify": stratify, "seed": seed, "multiclass": multiclass}
        call = comparing(dataset.id, learners, params, class_weight=weighed(class_weight), **members)
        return await self._ended(call)

    async def dataset(self, X: Any, y: Any = None, *, name: str | None = None, **options: Any) -> types.Dataset:
        """Stores examples for later use."""
        return await self._send(storing(X, y, name, options), types.Dataset)

    async def session(
        self,
        learner: str,
        n: int | None = None,
        *,
        vocabulary: str | None = None,
        active: int | None = None,
        extraction: Mapping[str, Any] | None = None,
        assume: str | None = None,
        seed: int | None = None,
        values: str | None = None,
        classes: Sequence[str] | str | None = None,
        multiclass: str | None = None,
        **params: Any,
    ) -> AsyncSession:
        """Begins an on-line session. See `Client.session`."""
        members = {"n": None if n is None else int(n), "vocabulary": vocabulary, "active": active, "assume": assume}
        members |= {"seed": seed, "values": values, "multiclass": multiclass}
        call = opening(learner, params, classes, extraction=extraction, **members)
        return AsyncSession(self, await self._send(call, types.Session))

    async def _ended(self, call: Call) -> types.Job:
        job = await self._send(call, types.Job)
        while job.finished_at is None:
            job = await self.get_job(job.id, prefer="wait=20")
        if job.status != "succeeded":
            raise JobFailed(job.error.detail if job.error else f"the job {job.id} was {job.status}")
        return job

    async def close(self) -> None:
        """Closes the connections."""
        await self._connections().aclose()

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
