"""A service of one's own, and what a fork does to it: the program starts on a free port and stops with its process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from .errors import HalfspaceError

T = TypeVar("T")


class PerProcess(Generic[T]):
    """A thing that processes cannot share, such as connections. A forked process makes its own at the first use.

    Two processes on one connection read each other's answers.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made = (os.getpid(), make())

    def __call__(self) -> T:
        if self._made[0] != os.getpid():
            # Nothing closes the thing of the other process, because a farewell would reach its peer.
            self._made = (os.getpid(), self._make())
        return self._made[1]


class Owner:
    """The process that made something. Only this process ends it."""

    def __init__(self) -> None:
        self._process = os.getpid()

    def __bool__(self) -> bool:
        return self._process == os.getpid()


def program() -> str:
    """The program: `PYTHON_HALFSPACE_PROGRAM`, or beside this Python, or on the path."""
    named = os.environ.get("PYTHON_HALFSPACE_PROGRAM")
    beside = Path(sys.executable).with_name("halfspace")
    found = named or (str(beside) if beside.exists() else shutil.which("halfspace"))
    if not found:
        raise HalfspaceError("the program halfspace is not installed; set PYTHON_HALFSPACE_PROGRAM to its path")
    return found


class LocalService:
    """A running service. The service ends with `close`, with the object, or with Python.

    A forked process uses the service of its parent and does not stop it.
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None, *settings: str) -> None:
        self.is_temporary = directory is None
        place = ("--data-dir", str(directory)) if directory else ("--temporary",)
        listen = () if "--listen" in settings else ("--listen", "127.0.0.1:0")
        # The input of the service ends with Python, also if Python is killed.
        command = [program(), "serve", "--stop-with-input", *place, "--log", "warn", *listen, *settings]
        # The settings of another service of this user do not concern this one.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HALFSPACE_")}
        # A file takes any number of warnings. A pipe that nobody reads would block the service.
        self.log = tempfile.TemporaryFile("w+")
        # Ctrl-C reaches all processes of a terminal's group, but a job must continue.
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment,
            start_new_session=True,
        )
        self._close = weakref.finalize(self, stop, self.process, Owner())
        _services.add(self)
        assert self.process.stdout
        line = self.process.stdout.readline()
        start = line.find("http://")
        if start < 0:
            self.close()
            self.log.seek(0)
            raise HalfspaceError(f"the service did not start: {self.log.read().strip() or line.strip()}")
        self.address = line[start:].split()[0].rstrip("/")

    def close(self) -> None:
        """Stops the service, in the process that started it."""
        self._close()


_services: weakref.WeakSet[LocalService] = weakref.WeakSet()


def forked() -> None:
    """Closes the inputs of the services in a forked process. A service ends when no process holds its input."""
    for service in _services:
        if service.process.stdin:
            service.process.stdin.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forked)


def stop(process: subprocess.Popen[str], owner: Owner) -> None:
    if not owner:
        return
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream:
            stream.close()
