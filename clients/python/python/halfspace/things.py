"""Jobs, models, data sets, comparisons and sessions of a service, as objects."""

from __future__ import annotations

import asyncio
import contextlib
import html
import math
import os
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from . import types
from .data import content
from .errors import JobFailed, NotFound, Unreachable
from .requests import Call
from .streams import Stream, answers, number, one_by_one, pulled, waited

if TYPE_CHECKING:
    from .client import AsyncClient, Client

J = TypeVar("J", bound="Job")

GRACE_SECONDS = 3
"""Time after Ctrl-C in which a second Ctrl-C cancels the job."""

EVALUATION = frozenset(("assume", "fresh", "confidence"))
"""The parameters of an evaluation. The others describe the data."""


def rows_html(title: str, rows: Iterable[tuple[str, Any]]) -> str:
    """A table of names and values. Every text is escaped."""
    cells = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th><td style='text-align:left'>{html.escape(str(value))}</td></tr>"
        for name, value in rows
        if value not in (None, "")
    )
    return f"<table><caption>{html.escape(title)}</caption>{cells}</table>"


class Job:
    """A job."""

    def __init__(self, client: Client, document: types.Job) -> None:
        self.client, self.document = client, document

    @property
    def id(self) -> str:
        return self.document.id

    def wait(self: J, progress: bool = True) -> J:
        """Waits for the end and shows the progress.

        Ctrl-C leaves the job running and tells the id. A second Ctrl-C cancels the job.
        """
        with Bar(progress) as bar:
            try:
                while self.document.finished_at is None:
                    self.document = self.client.get_job(self.id, prefer="wait=1")
                    bar.show(self.document)
            except KeyboardInterrupt:
                self._interrupted()
        if self.document.status != "succeeded":
            error = self.document.error
            raise JobFailed(error.detail if error else f"the job {self.id} is {self.document.status}")
        return self

    def _interrupted(self) -> None:
        try:
            tell(f"The job {self.id} goes on. Press Ctrl-C again within {GRACE_SECONDS} seconds to cancel the job.")
            time.sleep(GRACE_SECONDS)
        except KeyboardInterrupt:
            self.cancel()
            tell(f"The job {self.id} is cancelled.")
        raise KeyboardInterrupt

    def cancel(self) -> None:
        """Cancels the job."""
        self.document = self.client.cancel_job(self.id)

    @property
    def result(self) -> Any:
        """The result, of the type of the task."""
        return self.document.result

    @property
    def certificates(self) -> list[Any]:
        """The proved statements about the result."""
        return list(getattr(self.result, "certificates", []))

    @property
    def model(self) -> Model:
        """The model that the job made."""
        id = getattr(self.result, "model", None)
        if id is None:
            raise JobFailed(f"the job {self.id} made no model")
        return Model(self.client, id)

    @property
    def trace(self) -> Trace:
        """The mistake curve of a training."""
        return Trace(self.client.get_job_trace(self.id))

    def _repr_html_(self) -> str:
        result = self.result
        rows: list[tuple[str, Any]] = [("status", self.document.status), ("task", self.document.task)]
        for name in ("mistakes", "passes", "examples"):
            rows.append((name, getattr(result, name, None)))
        for name in ("training", "holdout"):
            counted = getattr(result, name, None)
            rows.append((f"{name} errors", counted and f"{counted.errors} of {counted.examples}"))
        rows += [("certificate", certificate.statement) for certificate in self.certificates]
        return rows_html(f"Job {self.id}", rows)


def tell(text: str) -> None:
    """Writes a line to the user, below a progress bar."""
    print(f"\n{text}", file=sys.stderr, flush=True)


class Bar:
    """A progress bar, or nothing."""

    def __init__(self, is_shown: bool) -> None:
        self.bar: Any = None
        self.is_shown = is_shown

    def show(self, job: types.Job) -> None:
        if not self.is_shown or job.finished_at is not None and self.bar is None:
            return
        if self.bar is None:
            from tqdm.auto import tqdm

            self.bar = tqdm(total=100, unit="%", leave=False)
        progress = job.progress
        self.bar.n = round(100 * (progress.fraction or 0))
        self.bar.set_postfix(passes=progress.passes, mistakes=progress.mistakes)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.bar is not None:
            self.bar.close()


class Trace:
    """A mistake curve."""

    def __init__(self, document: types.Trace) -> None:
        self.document = document
        self.examples = [point.examples for point in document.points]
        self.mistakes = [point.mistakes for point in document.points]

    def plot(self, axes: Any = None) -> Any:
        """Draws the curve with matplotlib. Returns the axes."""
        if axes is None:
            import matplotlib.pyplot as plt

            axes = plt.gca()
        axes.step([0, *self.examples], [0, *self.mistakes], where="post")
        axes.set_xlabel("examples read")
        axes.set_ylabel("mistakes")
        return axes


class Model:
    """A model."""

    def __init__(self, client: Client, id: str) -> None:
        self.client, self.id = client, id

    @property
    def document(self) -> types.Model:
        """The model with its hypothesis."""
        return self.client.get_model(self.id)

    def predictions(self, X: Any, **options: Any) -> types.Predictions:
        """The predictions for examples, with the scores."""
        return self.client.predict_model(self.id, content(X, **options))

    def predict(self, X: Any, **options: Any) -> list[Any]:
        """The predicted classes, or 1 and -1 if the classes have no names."""
        found = self.predictions(X, **options)
        return list(found.predicted_classes or found.predictions)

    def predict_scores(self, X: Any, **options: Any) -> list[float]:
        """The scores of the predictions."""
        found = self.predictions(X, **options)
        return [float("nan") if score is None else fraction(score) for score in found.scores or []]

    def explain(self, top: int | None = None) -> types.Explanation:
        """The terms with the largest weights."""
        return self.client.get_model_explanation(self.id, top=top)

    def evaluate(self, X: Any, y: Any = None, **options: Any) -> Any:
        """The errors on labelled examples."""
        query: dict[str, Any] = {name: options.pop(name) for name in list(options) if name in EVALUATION}
        call = Call("POST", f"/v1/models/{self.id}/evaluate", query=query, body=content(X, y, **options))
        return self.client._send(call, types.EvaluateResult)

    def code(self, language: str = "python") -> str:
        """The model as a program of its own."""
        call = Call("GET", f"/v1/models/{self.id}/code", "*/*", query={"language": language})
        return self.client._send(call, bytes).decode()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to a file, which `Client.load_model` reads."""
        Path(path).write_bytes(self.client._send(Call("GET", f"/v1/models/{self.id}"), bytes))

    def _repr_html_(self) -> str:
        document = self.document
        explanation = self.explain(top=10)
        rows: list[tuple[str, Any]] = [("learner", document.learner), ("rule", explanation.rule)]
        for term in explanation.terms:
            names = " and ".join(("not " if one.negated else "") + str(one.name) for one in term.literals)
            rows.append((f"{term.weight:g}", names))
        return rows_html(f"Model {self.id}", rows)


def fraction(score: Any) -> float:
    """A score as a number. A long score is a text: a whole number, a decimal or a fraction."""
    try:
        return float(Fraction(score))
    except OverflowError:
        return math.copysign(math.inf, Fraction(score))


class Dataset:
    """Stored examples."""

    def __init__(self, client: Client, document: types.Dataset) -> None:
        self.client, self.document = client, document

    @property
    def id(self) -> str:
        return self.document.id

    def delete(self) -> None:
        """Deletes the examples."""
        self.client.delete_dataset(self.id)


class Comparison(Job):
    """A comparison of learners."""

    def figure(self) -> str:
        """The figure, as SVG."""
        call = Call("GET", f"/v1/jobs/{self.id}/figure", "image/svg+xml")
        return self.client._send(call, bytes).decode()

    def _repr_html_(self) -> str:
        rows = [
            (one.name, one.unfit or f"{one.errors} of {one.examples} ({100 * (one.error_rate or 0):.2f} %)")
            for one in self.result.learners
        ]
        return rows_html(f"Comparison {self.id}", rows)


class Session:
    """An on-line session. The session ends with the `with` block."""

    def __init__(self, client: Client, document: types.Session) -> None:
        self.client, self.document = client, document
        self.position = document.position

    @property
    def id(self) -> str:
        return self.document.id

    def learn(self, x: Any, y: Any) -> types.ExampleAnswer | None:
        """Predicts one example, then learns the label."""
        with contextlib.closing(self.stream([(x, y)])) as found:
            return next(found)

    def stream(self, examples: Iterable[tuple[Any, Any]]) -> Generator[types.ExampleAnswer | None, None, None]:
        """Predicts and learns examples in order, and yields one answer for each.

        Answers arrive while examples are sent, so `examples` may be endless or wait for an answer. A thread reads
        `examples`. After a lost connection the stream goes on at the position of the session. The service has learnt
        an example at most once; the answer of an example is None if the service learnt the example but the
        connection broke before the answer arrived.
        """
        stream = Stream(self.client.address, self.client.key, self.id, self.position)

        async def position() -> int:
            return (await asyncio.to_thread(self.client.get_session, self.id)).position

        for answer in waited(answers(stream, pulled(examples), position)):
            self.position = answer.position if answer else self.position + 1
            yield answer

    def predict(self, X: Any) -> list[int]:
        """Predicts examples without learning."""
        return list(self.client._send(predicting(self.id, X), types.Predictions).predictions)

    def save_model(self, name: str | None = None) -> Model:
        """Saves the hypothesis as a model."""
        return Model(self.client, self.client.save_session_model(self.id, name=name).id)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with contextlib.suppress(NotFound, Unreachable):
            self.client.delete_session(self.id)


class AsyncSession:
    """An on-line session with coroutines. The session ends with the `async with` block."""

    def __init__(self, client: AsyncClient, document: types.Session) -> None:
        self.client, self.document = client, document
        self.position = document.position

    @property
    def id(self) -> str:
        return self.document.id

    async def learn(self, x: Any, y: Any) -> types.ExampleAnswer | None:
        """Predicts one example, then learns the label."""
        async with contextlib.aclosing(self.stream([(x, y)])) as found:
            return await anext(found)

    async def stream(
        self, examples: Iterable[tuple[Any, Any]] | AsyncIterable[tuple[Any, Any]]
    ) -> AsyncGenerator[types.ExampleAnswer | None, None]:
        """Predicts and learns examples in order, and yields one answer for each. See `Session.stream`."""
        stream = Stream(self.client.address, self.client.key, self.id, self.position)
        bursts = one_by_one(examples) if isinstance(examples, AsyncIterable) else pulled(examples)

        async def position() -> int:
            return (await self.client.get_session(self.id)).position

        async with contextlib.aclosing(answers(stream, bursts, position)) as found:
            async for burst in found:
                for answer in burst:
                    self.position = answer.position if answer else self.position + 1
                    yield answer

    async def predict(self, X: Any) -> list[int]:
        """Predicts examples without learning."""
        return list((await self.client._send(predicting(self.id, X), types.Predictions)).predictions)

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with contextlib.suppress(NotFound, Unreachable):
            await self.client.delete_session(self.id)


def predicting(session: str, X: Any) -> Call:
    """The request that predicts without learning."""
    body = {"unlabelled": {"examples": [[number(value) for value in x] for x in X]}}
    return Call("POST", f"/v1/sessions/{session}/predict", body=body)
