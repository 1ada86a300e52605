"""Sessions: streams, their interruptions, and coroutines."""

import asyncio
import queue
import random
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import halfspace
import pytest
from halfspace import process

from network import CuttingProxy, free_port

RANDOM = random.Random(2)
X = [[RANDOM.randint(0, 1) for _ in range(7)] for _ in range(200)]
Y = [1 if sum(row) > 3 else -1 for row in X]
Pair = tuple[list[int], int]


def pairs(count: int) -> Iterator[Pair]:
    return ((X[i % 200], Y[i % 200]) for i in range(count))


def test_a_session_learns_and_saves_a_model(client: halfspace.Client) -> None:
    with client.session("perceptron", 7) as session:
        answers = list(session.stream(pairs(4000)))
        assert [one.position for one in answers if one] == list(range(1, 4001))
        assert session.position == 4000
        assert session.predict(X[:5]) == session.save_model("last").predict(X[:5])
        answer = session.learn(X[0], Y[0])
        assert answer and answer.position == 4001 and not answer.mistake
    with pytest.raises(halfspace.NotFound):
        client.get_session(session.id)


def test_an_answer_arrives_before_the_next_example_exists(client: halfspace.Client) -> None:
    coming: queue.Queue[Pair | None] = queue.Queue()

    def examples() -> Iterator[Pair]:
        while (pair := coming.get()) is not None:
            yield pair

    with client.session("perceptron", 7) as session:
        coming.put((X[0], Y[0]))
        seen = 0
        for answer in session.stream(examples()):
            seen += 1
            assert answer and answer.position == seen
            coming.put((X[seen], Y[seen]) if seen < 50 else None)
        assert seen == 50


def test_real_features_keep_their_digits(client: halfspace.Client) -> None:
    with client.session("perceptron", 2, values="real", bias=False) as session:
        list(session.stream([([0.5, 0.25], -1), ([0.75, 0.5], 1)]))
        hypothesis = client.get_session(session.id).hypothesis
        assert isinstance(hypothesis, halfspace.types.LinearHypothesis)
        assert hypothesis.weights == [0.25, 0.25]


def test_the_stream_ends_with_the_session(client: halfspace.Client) -> None:
    with client.session("perceptron", 7, max_mistakes=3) as session:
        answers = list(session.stream(pairs(100_000)))
        assert answers[-1] and answers[-1].terminated and len(answers) == session.position < 100_000


def test_a_bad_example_is_named_after_the_answers_of_the_earlier_ones(client: halfspace.Client) -> None:
    with client.session("perceptron", 7) as session:
        seen = []
        with pytest.raises(halfspace.Problem, match="line 11.*the option n is 7") as refused:
            for answer in session.stream([*pairs(10), ([1, 0], 1), *pairs(10)]):
                seen.append(answer)
        assert len(seen) == 10 and refused.value.position == 10
        with pytest.raises(halfspace.DataError, match="label 1, 0, -1 or the name of a class"):
            list(session.stream([*pairs(10), (X[0], 0.5)]))
        assert session.position == 20 == client.get_session(session.id).position


def test_classes_of_an_open_session_join_when_they_appear(client: halfspace.Client) -> None:
    rows = [([1, 0, 0], "b"), ([0, 1, 0], "a"), ([0, 0, 1], "c"), ([1, 0, 0], "b"), ([0, 1, 0], "a")]
    with client.session("perceptron", 3, classes="open") as session:
        first = session.learn(*rows[0])
        assert first and first.prediction is None and first.mistake
        with pytest.raises(halfspace.HalfspaceError, match="seen three"):
            session.predict([[1, 0, 0]])
        answers = list(session.stream(iter(rows[1:])))
        assert [one.position for one in answers if one] == [2, 3, 4, 5]
        document = client.get_session(session.id)
        assert document.open and document.classes == ["b", "a", "c"]
        model = session.save_model()
    assert model.predict([row for row, _ in rows[:3]]) == ["b", "a", "c"]


def test_a_session_of_named_classes_learns_them_by_name(client: halfspace.Client) -> None:
    classes = ["red", "green", "blue"]
    examples = [([int(place == own) for place in range(3)], classes[own]) for own in (1, 0, 2, 2, 1, 0) * 3]
    with client.session("averaged-perceptron", 3, classes=classes, multiclass="joint") as session:
        answers = [answer for answer in session.stream(examples) if answer]
        assert [answer.predicted_class for answer in answers[-6:]] == [label for _, label in examples[-6:]]
        assert session.predict([x for x, _ in examples[:6]]) == [label for _, label in examples[:6]]
        with pytest.raises(halfspace.Problem, match="pink"):
            session.learn([1, 0, 0], "pink")


@pytest.mark.parametrize("classes", [["no", "yes"], ["a", "b", "c"], None])
def test_a_session_and_its_model_predict_the_same_names(client: halfspace.Client, classes: list[str] | None) -> None:
    labels: list[Any] = [classes[at % len(classes)] if classes else (-1) ** at for at in range(12)]
    with client.session("perceptron", 7, classes=classes) as session:
        list(session.stream(zip(X, labels)))
        found, model = session.predict(X[:40]), session.save_model()
        assert found == model.predict(X[:40]) and set(found) == set(labels)
        assert session.predictions(X[:40]).scores == model.predictions(X[:40]).scores
        scored = session.predictions(X[:40], scores="all")
        assert bool(scored.class_scores) == (classes is not None and len(classes) > 2)
        assert session.predictions(X[:40], scores="none").scores is None

    async def predicted() -> list[Any]:
        async with halfspace.AsyncClient(client.address) as own:
            async with await own.session("perceptron", 7, classes=classes) as session:
                async for _ in session.stream(zip(X, labels)):
                    pass
                return await session.predict(X[:40])

    assert asyncio.run(predicted()) == found


def test_a_session_over_names_learns_words_that_it_has_never_seen(client: halfspace.Client) -> None:
    rows: list[tuple[Any, int]] = [(["the", "dog"], 1), ({"car": True, "the": True}, -1), (["12", "dog"], 1)]
    with client.session("winnow", vocabulary="open", active=3) as session:
        answers = [answer for answer in session.stream(rows) if answer]
        assert [answer.unseen for answer in answers] == [2, 1, 1]
        document = client.get_session(session.id)
        assert (document.n, document.features) == (4, ["12", "car", "dog", "the"])
        assert len(session.predict([["wolf"], ["dog", "the"]])) == 2
        with pytest.raises(halfspace.DataError, match="list of names"):
            session.learn([1, 0], 1)

    async def learnt() -> int | None:
        async with halfspace.AsyncClient(client.address) as own:
            async with await own.session("perceptron", vocabulary="open") as session:
                answer = await session.learn(["a", "b"], 1)
                return answer.unseen if answer else None

    assert asyncio.run(learnt()) == 2


@pytest.mark.parametrize("label", [0.7, 2, None])
def test_session_learn_refuses_a_label_other_than_a_sign(client: halfspace.Client, label: Any) -> None:
    with client.session("perceptron", 7) as session, pytest.raises(halfspace.DataError, match="label"):
        session.learn(X[0], label)


@pytest.mark.parametrize("count", [4, 100_000])
def test_a_session_learns_after_a_stream_that_was_left(client: halfspace.Client, count: int) -> None:
    with client.session("perceptron", 7) as session:
        for answer in session.stream(pairs(count)):
            if answer and answer.position == 2:
                break
        after = session.learn(X[0], Y[0])
        assert after and after.position > 2
        assert client.get_session(session.id).position == after.position == session.position


def test_positions_of_another_writer_are_not_taken_for_own_ones(client: halfspace.Client) -> None:
    with client.session("perceptron", 7) as session:
        other = halfspace.Session(client, client.get_session(session.id))
        coming: queue.Queue[Pair | None] = queue.Queue()

        def examples() -> Iterator[Pair]:
            while (pair := coming.get()) is not None:
                yield pair

        coming.put((X[0], Y[0]))
        stream = session.stream(examples())
        next(stream)
        with ThreadPoolExecutor() as pool:
            learning = pool.submit(other.learn, X[1], Y[1])
            coming.put((X[2], Y[2]))
            next(stream)
            coming.put(None)
            assert list(stream) == []
            with pytest.raises(halfspace.HalfspaceError, match="position"):
                learning.result()
        assert client.get_session(session.id).position == 2


def test_an_exit_in_the_iterable_ends_the_stream(client: halfspace.Client) -> None:
    def examples() -> Iterator[Pair]:
        yield X[0], Y[0]
        raise SystemExit(3)

    with client.session("perceptron", 7) as session, pytest.raises(halfspace.HalfspaceError, match="SystemExit"):
        list(session.stream(examples()))


def test_an_error_of_the_iterable_reaches_the_caller(client: halfspace.Client) -> None:
    def examples() -> Iterator[Pair]:
        yield from pairs(10)
        raise RuntimeError("the sensor is gone")

    with client.session("perceptron", 7) as session, pytest.raises(RuntimeError, match="sensor"):
        list(session.stream(examples()))
    assert session.position == 10


def test_session_stream_raises_stale_position_for_another_writer(client: halfspace.Client) -> None:
    with client.session("perceptron", 7) as session:
        list(halfspace.Session(client, client.get_session(session.id)).stream(pairs(10)))
        with pytest.raises(halfspace.Problem) as refused:
            list(session.stream(pairs(10)))
        assert refused.value.code == "stale-position" and refused.value.position == 10


def test_a_stream_continues_after_the_service_was_killed(tmp_path: Path) -> None:
    port = free_port()
    first = process.LocalService(tmp_path, "--listen", f"127.0.0.1:{port}")
    client = halfspace.connect(first.address)
    session = client.session("perceptron", 7)
    answers, again = [], []
    for answer in session.stream(pairs(100_000)):
        answers.append(answer)
        if len(answers) == 30_500:
            first.process.kill()
            first.process.wait()
            again.append(process.LocalService(tmp_path, "--listen", f"127.0.0.1:{port}"))
    assert len(answers) == 100_000
    assert all(answer is None or answer.position == at for at, answer in enumerate(answers, 1))
    assert client.get_session(session.id).position == 100_000
    # The mistakes are those of a run without a break.
    assert client.get_session(session.id).mistakes == mistakes_without_a_break(client)
    again[0].close()


def mistakes_without_a_break(client: halfspace.Client) -> int:
    with client.session("perceptron", 7) as session:
        return sum(answer.mistake for answer in session.stream(pairs(100_000)) if answer)


def test_a_stream_continues_through_a_proxy_that_cuts_connections(
    client: halfspace.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each connection carries at most 250 answers, so few examples may be ahead of the answers.
    monkeypatch.setattr("halfspace.streams.AHEAD", 500)
    proxy = CuttingProxy(client.address, 5, budgets=(5_000, 20_000))
    session = client.session("perceptron", 7)
    through = halfspace.Client(proxy.address)
    stream = halfspace.Session(through, session.document).stream(pairs(20_000))
    assert len(list(stream)) == 20_000 == client.get_session(session.id).position
    assert proxy.cuts > 10


def test_a_service_that_stays_away_ends_the_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halfspace.streams.RECOVERY_SECONDS", 1.0)
    service = process.LocalService(tmp_path)
    session = halfspace.connect(service.address).session("perceptron", 7)
    with pytest.raises(halfspace.Unreachable, match="no service answers"):
        for number, _ in enumerate(session.stream(pairs(100_000))):
            if number == 100:
                service.close()


def test_async_session_learns_a_stream(client: halfspace.Client) -> None:
    async def examples() -> AsyncIterator[Pair]:
        for pair in pairs(500):
            yield pair
            await asyncio.sleep(0)

    async def run() -> Any:
        async with halfspace.connect_async(client.address) as service, await service.session("perceptron", 7) as session:
            seen = [answer async for answer in session.stream(examples())]
            seen += [answer async for answer in session.stream(pairs(500))]
            answer = await session.learn(X[0], Y[0])
            return seen, answer, await session.predict(X[:3])

    seen, answer, predictions = asyncio.run(run())
    assert [one.position for one in seen] == list(range(1, 1001))
    assert answer.position == 1001 and predictions == Y[:3]
