"""Processes that begin with a copy of a client: by a fork, by a new interpreter, by joblib, and threads."""

import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import halfspace
import joblib
import numpy as np
import pytest
from halfspace import sklearn as estimators
from sklearn.model_selection import cross_val_score

ROWS = [[0, 0], [0, 1], [1, 0], [1, 1]]
LABELS = [-1, -1, 1, 1]

only_with_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def in_child(work: Callable[[], object], leave: Callable[[int], object] = os._exit) -> int:
    """The exit status of a forked process that works and leaves."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        work()
        status = 0
    except BaseException as error:  # noqa: BLE001
        print(repr(error), file=sys.stderr)
        status = 1
    leave(status)
    raise AssertionError("unreachable")


def data(seed: int) -> tuple[Any, Any]:
    X = np.random.default_rng(seed).normal(size=(60, 4))
    return X, np.where(X[:, 0] + X[:, 1] > 0, 1, -1)


def fold(seed: int) -> float:
    """Trains and scores with the service of this process or of its parent."""
    X, y = data(seed)
    return float(estimators.Winnow(random_state=1, max_passes=5).fit(X, y).score(X, y))


@only_with_fork
def test_a_forked_process_has_connections_of_its_own(client: halfspace.Client) -> None:
    model = client.train(ROWS, LABELS, learner="perceptron", progress=False).model

    def ask() -> None:
        for _ in range(50):
            assert model.predict(ROWS) == LABELS

    children = []
    for _ in range(4):
        child = os.fork()
        if not child:
            try:
                ask()
            except BaseException:  # noqa: BLE001
                os._exit(1)
            os._exit(0)
        children.append(child)
    ask()
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4


@only_with_fork
def test_a_forked_process_does_not_stop_the_service_of_its_parent() -> None:
    with halfspace.local() as own:
        assert in_child(own.close) == 0
        assert own.get_version_document()

        def leave(status: int) -> None:
            # The end of Python runs the finalizers, as after sys.exit.
            del status
            assert own.service
            own.service._close()
            os._exit(0)

        assert in_child(lambda: own.get_version_document(), leave) == 0
        assert own.get_version_document()
    script = (
        "import halfspace, os, sys\n"
        "client = halfspace.local()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    client.get_version_document()\n"
        "    sys.exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "client.get_version_document()\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@only_with_fork
def test_a_service_ends_with_its_process_although_a_forked_one_lives() -> None:
    script = (
        "import halfspace, os, sys, time\n"
        "client = halfspace.local()\n"
        "print(client.service.process.pid, flush=True)\n"
        "if not os.fork():\n"
        "    sys.stdin.read()\n"
        "    os._exit(0)\n"
        "os._exit(0)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout and parent.stdin
        service = int(parent.stdout.readline())
        # The output ends when the service and the forked process have closed it, so only the service is awaited.
        ended = threading.Event()

        def wait() -> None:
            while os.path.exists(f"/proc/{service}") and b") Z " not in stat(service):
                ended.wait(0.05)
            ended.set()

        threading.Thread(target=wait, daemon=True).start()
        assert ended.wait(30)
        parent.stdin.close()


def stat(process: int) -> bytes:
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read()
    except OSError:
        return b") Z "


@only_with_fork
def test_a_session_and_its_stream_stay_with_their_process(client: halfspace.Client) -> None:
    with client.session("perceptron", 2) as session:
        stream = session.stream(iter([([1, 0], 1), ([0, 1], -1), ([1, 1], 1)]))
        assert next(stream) is not None

        def leave_both() -> None:
            with pytest.raises(halfspace.HalfspaceError, match="another process"):
                for _ in stream:
                    pass
            session.__exit__(None, None, None)

        assert in_child(leave_both) == 0
        assert len(list(stream)) == 2
        assert client.get_session(session.id).position == 3

        def learn() -> None:
            again = halfspace.Session(client, client.get_session(session.id))
            assert again.learn([0, 0], -1) is not None

        assert in_child(learn) == 0
        assert client.get_session(session.id).position == 4


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_estimators_train_in_processes_of_every_start_method(method: str, client: halfspace.Client) -> None:
    estimators.use(client)
    try:
        expected = [fold(seed) for seed in range(4)]
        if method != "fork":
            # A new interpreter knows nothing of the chosen service and starts its own.
            expected = expected[:2]
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(fold, range(len(expected))) == expected
        assert client.get_version_document()
    finally:
        estimators.use(None)


@pytest.mark.parametrize("backend", ["multiprocessing", "loky", "threading"])
def test_joblib_scores_folds_after_a_fit_in_the_parent(backend: str, client: halfspace.Client) -> None:
    if backend != "loky":
        estimators.use(client)
    try:
        X, y = data(5)
        estimators.Winnow(max_passes=3).fit(X, y)
        folds = 20 if backend != "loky" else 4
        with joblib.parallel_backend(backend, n_jobs=2):
            scores = [cross_val_score(estimators.Winnow(max_passes=3), X, y, cv=folds) for _ in range(2)]
        assert (scores[0] == scores[1]).all() and np.isfinite(scores).all()
    finally:
        estimators.use(None)


def test_estimators_in_threads_share_one_service(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def start() -> halfspace.Client:
        started.append(halfspace.local())
        return started[-1]

    monkeypatch.setattr(estimators, "local", start)
    estimators._own.cache_clear()
    try:
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            scores = list(threads.map(fold, [3] * 8))
        assert len(set(scores)) == 1 and len(started) == 1
    finally:
        estimators._own.cache_clear()
        for client in started:
            client.close()
