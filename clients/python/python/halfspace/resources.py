"""Jobs, models, data sets, comparisons and sessions of a service, as objects."""

from __future__ import annotations

import asyncio
import contextlib
import html
import math
import os
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

import msgspec

from . import types
from .data import content, is_sparse, labelled, part, rows
from .errors import HalfspaceError, JobFailed, NotFound, Problem, Unreachable, problem
from .process import Owner
from .requests import Call
from .rows import is_texts, listed, named, numbers, read, refuse_text
from .streams import Features, Stream, answers, one_by_one, pulled, waited

if TYPE_CHECKING:
    from .client import AsyncClient, Client

R = TypeVar("R")
J = TypeVar("J", bound="Job[Any]")

GRACE_SECONDS = 3
"""Time after Ctrl-C in which a second Ctrl-C cancels the job."""


def rows_html(title: str, rows: Iterable[tuple[str, Any]]) -> str:
    """A table of names and values. Every text is escaped."""
    cells = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th><td style='text-align:left'>{html.escape(str(value))}</td></tr>"
        for name, value in rows
        if value not in (None, "")
    )
    return f"<table><caption>{html.escape(title)}</caption>{cells}</table>"


class Job(Generic[R]):
    """A job with a result of the type `R`."""

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
                raise KeyboardInterrupt(f"waiting for {self.id}") from None
        if self.document.status != "succeeded":
            error = self.document.error
            raise JobFailed(error.detail if error else f"the job {self.id} is {self.document.status}")
        return self

    def _interrupted(self) -> None:
        service = self.client.service
        is_lost = service is not None and service.is_temporary
        fate = "ends with the service of this program" if is_lost else f"continues. client.job({self.id!r}).wait() waits again"
        try:
            tell(f"The job {self.id} {fate}. Press Ctrl-C again within {GRACE_SECONDS} seconds to cancel the job.")
            time.sleep(GRACE_SECONDS)
        except KeyboardInterrupt:
            # The job may have ended meanwhile.
            with contextlib.suppress(Problem):
                self.cancel()
            tell(f"The job {self.id} is cancelled.")

    def cancel(self) -> None:
        """Cancels the job."""
        self.document = self.client.cancel_job(self.id)

    @property
    def result(self) -> R:
        """The result, of the type of the task."""
        return cast(R, self.document.result)

    @property
    def certificates(self) -> list[types.Certificate]:
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

    def __repr__(self) -> str:
        return f"<Job {self.id}: {self.document.task}, {self.document.status}>"

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
        self.bar.set_postfix(passes=f"{progress.passes:,}", mistakes=f"{progress.mistakes:,}")

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


class Vocabulary(msgspec.Struct):
    """What a model file says about names."""

    vocabulary: str | None = None


class Model:
    """A model."""

    def __init__(self, client: Client, id: str) -> None:
        self.client, self.id = client, id

    @property
    def document(self) -> types.Model:
        """The model with its hypothesis."""
        return self.client.get_model(self.id)

    @cached_property
    def reads_names(self) -> bool:
        """Whether features have names that nobody listed in advance."""
        return msgspec.json.decode(self.export(), type=Vocabulary).vocabulary == "open"

    def predictions(self, X: Any, scores: str | None = None, **options: Any) -> types.Predictions:
        """The predictions for examples, with the scores. `scores="all"` adds those of all classes in `class_scores`,
        and `scores="top=2"` the two best classes in `ranking`.

        If the model reads names, rows may be lists or maps of names, and `unseen` counts the names of each example
        that the model does not know. `options` are the parameters of tables.
        """
        X, options = listed(X), {**options, "scores": scores}
        if is_texts(X) and self.reads_names:
            options["vocabulary"] = "open"
        body = content(X, **options)
        if body.media_type == "application/x-ndjson":
            answered = self.client._send(Call("POST", f"/v1/models/{self.id}/predict", body=body), bytes)
            return of_lines(answered)
        found = self.client.predict_model(self.id, body)
        count = rows(X)
        if found.scores is None and scores != "none" and count is not None and count > 1:
            # The service leaves the scores out of a long answer.
            halves = part(X, 0, count // 2), part(X, count // 2, count)
            return joined([self.predictions(half, **options) for half in halves])
        return found

    def predict(self, X: Any, **options: Any) -> list[Any]:
        """The predicted classes as texts, or 1 and -1 if the training had labels of numbers such as 0 and 1."""
        return outcomes(self.predictions(X, **options))

    def predict_scores(self, X: Any, **options: Any) -> list[float]:
        """The scores of the predictions. A score beyond the range of floats is infinite; `predictions` has all its digits."""
        found = self.predictions(X, **options)
        if found.scores is None:
            raise HalfspaceError("the answer is too long for the scores; send fewer examples at once")
        return [float("nan") if score is None else fraction(score) for score in found.scores]

    def explain(self, top: int | None = None, class_: str | None = None) -> types.Explanation:
        """The `top` terms with the largest weights. A model of several classes has weights for each, so name one."""
        return self.client.get_model_explanation(self.id, top=top, class_=class_)

    def explain_example(self, x: Any, top: int | None = None, class_: str | None = None, **options: Any) -> types.ExampleExplanation:
        """The decision on one example, and the `top` of its terms with the largest weights.

        `x` is a row, such as `{"text": "win a prize"}` or a list of names. With several classes the terms are those of
        the predicted one, or of `class_`. `options` are the parameters of tables.
        """
        X, options = listed([x]), {**options, "top": top, "class": class_}
        if is_texts(X) and self.reads_names:
            options["vocabulary"] = "open"
        return self.client.explain_model_example(self.id, content(X, **options))

    def evaluate(self, X: Any, y: Any = None, **options: Any) -> types.EvaluateResult:
        """The errors on labelled examples.

        `options` are the parameters of tables, `fresh=True` for examples that no training had, and `confidence` of the
        bounds on the error.
        """
        X = listed(X)
        if is_texts(X) and self.reads_names:
            options["vocabulary"] = "open"
        call = Call("POST", f"/v1/models/{self.id}/evaluate", body=labelled(X, y, **options))
        return self.client._send(call, types.EvaluateResult)

    def code(self, language: str = "python") -> str:
        """The model as a program of its own."""
        call = Call("GET", f"/v1/models/{self.id}/code", "*/*", query={"language": language})
        return self.client._send(call, bytes).decode()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to a file, which `Client.load_model` reads."""
        Path(path).write_bytes(self.export())

    def export(self) -> bytes:
        """The document of the model, which `Client.send_model` takes."""
        return self.client._send(Call("GET", f"/v1/models/{self.id}"), bytes)

    def __repr__(self) -> str:
        return f"<Model {self.id}>"

    def _repr_html_(self) -> str:
        document = self.document
        cells: list[tuple[str, Any]] = [("learner", document.learner)]
        classes = document.classes or []
        if len(classes) > 2:
            cells.append(("classes", len(classes)))
            for name in classes[:CLASSES_SHOWN]:
                heaviest = [f"{term_name(term)} ({fraction(term.weight):g})" for term in self.explain(3, name).terms]
                cells.append((name, ", ".join(heaviest)))
        else:
            explanation = self.explain(top=10)
            cells.append(("rule", explanation.rule))
            cells += [(f"{fraction(term.weight):g}", term_name(term)) for term in explanation.terms]
        return rows_html(f"Model {self.id}", cells)


CLASSES_SHOWN = 10
"""Classes whose heaviest terms a notebook shows. Each is a request."""


def term_name(term: types.ExplanationTerm) -> str:
    return " and ".join(("not " if one.negated else "") + str(one.name) for one in term.literals)


def outcomes(found: types.Predictions) -> list[Any]:
    """The predicted classes as texts, or 1 and -1 where the classes have no names."""
    return list(found.predicted_classes or found.predictions)


def lines(ndjson: bytes) -> list[dict[str, Any]]:
    """The lines of an answer.

    Raises `Problem` if the last line is a late error.
    """
    answered: list[dict[str, Any]] = [msgspec.json.decode(line) for line in ndjson.splitlines()]
    if answered and "error" in answered[-1]:
        document = answered[-1]["error"]
        raise problem(document.get("status", 0), document)
    return answered


def of_lines(ndjson: bytes) -> types.Predictions:
    """The predictions of an answer in lines.

    Raises `Problem` if the last line is a late error.
    """
    answered = lines(ndjson)
    found: dict[str, Any] = {"predictions": [line["prediction"] for line in answered]}
    for names, name in ONE_OF.items():
        if any(name in line for line in answered):
            found[names] = [line.get(name) for line in answered]
    return msgspec.convert(found, types.Predictions)


ONE_OF = {
    "scores": "score", "predicted_classes": "predicted_class", "margins": "margin", "class_scores": "class_scores",
    "ranking": "ranking", "unseen": "unseen",
}
"""The lists of predictions beside the predictions, and the members of a line with one item of each."""


def joined(parts: list[types.Predictions]) -> types.Predictions:
    """The predictions of consecutive examples. A list that one of the parts lacks is absent."""
    found: dict[str, Any] = {}
    for names in ("predictions", *ONE_OF):
        each = [getattr(part, names) for part in parts]
        found[names] = None if any(one is None for one in each) else [item for one in each for item in one]
    return types.Predictions(**found, table=parts[0].table)


def exact(score: Any) -> Fraction:
    """A score without rounding. A long score is a text: a whole number, a decimal or a fraction."""
    if not isinstance(score, str):
        return Fraction(score)
    # Python reads at most 4,300 digits as a whole number, and any number of them as a decimal.
    over, _, under = score.partition("/")
    return Fraction(Decimal(over)) / Fraction(Decimal(under or 1))


def fraction(score: Any) -> float:
    """A score as the nearest float, which is infinite beyond the range of floats."""
    found = exact(score)
    try:
        return float(found)
    except OverflowError:
        return math.inf if found > 0 else -math.inf


LARGE = 1000
"""Scores of at least 2 to this power are compressed."""


def compressed(score: Fraction | float) -> float:
    """A score as a finite float of the same sign, in the same order as all other scores up to rounding.

    Numbers below 2^1000 are themselves. Beyond, 2^1000 (log2(score) - 999) continues them without a jump.
    """
    if score < 0:
        return -compressed(-score)
    if score < 2**LARGE:
        return float(score) or (math.ulp(0) if score else 0.0)
    score = Fraction(score)
    places = score.numerator.bit_length() - score.denominator.bit_length()
    leading = float(score / 2**places)
    return math.ldexp(places + math.log2(leading) - (LARGE - 1), LARGE)


def ordered(scores: Sequence[Fraction | float]) -> list[float]:
    """Finite floats with the signs, the order and the ties of exact scores.

    Each is `compressed` of its score. If two different scores have the same float, the one farther from zero moves to
    the next float.
    """
    floats: dict[Fraction | float, float] = {0: 0.0}
    for sign in (1, -1):
        last = 0.0
        for size in sorted({sign * score for score in scores if sign * score > 0}):
            last = max(compressed(size), math.nextafter(last, math.inf))
            floats[sign * size] = sign * last
    return [floats[score] for score in scores]


class Dataset:
    """Stored examples. `train`, `compare`, `predict` and `evaluate` take a dataset in the place of `X`."""

    def __init__(self, client: Client, document: types.Dataset) -> None:
        self.client, self.document = client, document

    @property
    def id(self) -> str:
        return self.document.id

    def as_data(self) -> dict[str, str]:
        """The reference in the body of a request."""
        return {"dataset": self.id}

    def __repr__(self) -> str:
        return f"<Dataset {self.id}: {self.document.examples} examples of {self.document.n} features>"

    def delete(self) -> None:
        """Deletes the examples."""
        self.client.delete_dataset(self.id)


class Comparison(Job[types.CompareResult]):
    """A comparison of learners."""

    def figure(self, format: Literal["svg", "csv"] = "svg") -> str:
        """The figure as SVG, or its numbers as CSV."""
        call = Call("GET", f"/v1/jobs/{self.id}/figure", "*/*", query={"format": format})
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
        self._is_certain = True
        self._owner = Owner()

    @property
    def id(self) -> str:
        return self.document.id

    def __repr__(self) -> str:
        return f"<Session {self.id} at position {self.position}>"

    @property
    def _features(self) -> Features:
        return features_of(self.document)

    def learn(self, x: Any, y: Any) -> types.ExampleAnswer | None:
        """Predicts one example, then learns the label.

        A session over names takes a list of names, or a mapping of names to values.
        """
        with contextlib.closing(self.stream([(x, y)])) as found:
            (answer,) = found
            return answer

    def stream(self, examples: Iterable[tuple[Any, Any]]) -> Generator[types.ExampleAnswer | None, None, None]:
        """Predicts and learns examples in order, and yields one answer for each.

        Answers arrive while examples are sent, so `examples` may be endless or wait for an answer. A thread reads
        `examples`. After a lost connection the stream continues at the position of the session. The service has learnt
        an example at most once; the answer of an example is None if the service learnt the example but the
        connection broke before the answer arrived.

        The stream sends up to `halfspace.streams.AHEAD` examples before their answers. If you leave the stream early,
        the service may therefore have learnt examples whose answers you have not read. The next call asks the
        service for the position.
        """
        stream = Stream(self.client.address, self.client.headers, self.id, self.position, self._is_certain)
        self._is_certain = False

        async def position() -> int:
            return (await asyncio.to_thread(self.client.get_session, self.id)).position

        for answer in waited(answers(stream, pulled(examples, self._features), position)):
            self.position = answer.position if answer else self.position + 1
            yield answer
        self._is_certain = True

    def predict(self, X: Any) -> list[Any]:
        """The predicted classes as texts, or 1 and -1 if they have no names. The session does not learn."""
        return outcomes(self.predictions(X))

    def predictions(self, X: Any, scores: str | None = None) -> types.Predictions:
        """The predictions, of which a long answer lacks the scores. `scores` is that of `Model.predictions`."""
        return self.client._send(predicting(self.document, X, scores), types.Predictions)

    def save_model(self, name: str | None = None) -> Model:
        """Saves the hypothesis as a model."""
        return Model(self.client, self.client.save_session_model(self.id, name=name).id)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # The session goes on in the parent of a forked process.
        if self._owner:
            with contextlib.suppress(NotFound, Unreachable):
                self.client.delete_session(self.id)


class AsyncSession:
    """An on-line session with coroutines. The session ends with the `async with` block."""

    def __init__(self, client: AsyncClient, document: types.Session) -> None:
        self.client, self.document = client, document
        self.position = document.position
        self._is_certain = True
        self._owner = Owner()

    @property
    def id(self) -> str:
        return self.document.id

    @property
    def _features(self) -> Features:
        return features_of(self.document)

    async def learn(self, x: Any, y: Any) -> types.ExampleAnswer | None:
        """Predicts one example, then learns the label."""
        async with contextlib.aclosing(self.stream([(x, y)])) as found:
            (answer,) = [one async for one in found]
            return answer

    async def stream(
        self, examples: Iterable[tuple[Any, Any]] | AsyncIterable[tuple[Any, Any]]
    ) -> AsyncGenerator[types.ExampleAnswer | None, None]:
        """Predicts and learns examples in order, and yields one answer for each. See `Session.stream`."""
        stream = Stream(self.client.address, self.client.headers, self.id, self.position, self._is_certain)
        self._is_certain = False
        own = self._features
        bursts = one_by_one(examples, own) if isinstance(examples, AsyncIterable) else pulled(examples, own)

        async def position() -> int:
            return (await self.client.get_session(self.id)).position

        async with contextlib.aclosing(answers(stream, bursts, position)) as found:
            async for burst in found:
                for answer in burst:
                    self.position = answer.position if answer else self.position + 1
                    yield answer
        self._is_certain = True

    async def predict(self, X: Any) -> list[Any]:
        """Predicts examples without learning. See `Session.predict`."""
        return outcomes(await self.predictions(X))

    async def predictions(self, X: Any, scores: str | None = None) -> types.Predictions:
        """The predictions, of which a long answer lacks the scores. See `Session.predictions`."""
        return await self.client._send(predicting(self.document, X, scores), types.Predictions)

    async def save_model(self, name: str | None = None) -> types.SavedModel:
        """Saves the hypothesis as a model."""
        return await self.client.save_session_model(self.id, name=name)

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._owner:
            with contextlib.suppress(NotFound, Unreachable):
                await self.client.delete_session(self.id)


def features_of(session: types.Session) -> Features:
    """How a session reads the features of an example."""
    return named if session.vocabulary == "open" else numbers


def predicting(session: types.Session, X: Any, scores: str | None) -> Call:
    """The request that predicts without learning."""
    if hasattr(X, "columns"):
        # A frame would give the names of its columns as rows.
        X = X.to_numpy()
    X = listed(X.toarray() if is_sparse(X) else X)
    refuse_text(X, "X", "a list of rows")
    body = {"unlabelled": {"examples": read(X, features_of(session))}}
    return Call("POST", f"/v1/sessions/{session.id}/predict", query={"scores": scores}, body=body)
