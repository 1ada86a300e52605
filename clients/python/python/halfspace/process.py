"""A service of one's own: starts the program on a free port and stops it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path

from .errors import HalfspaceError


def program() -> str:
    """The program: `PYTHON_HALFSPACE_PROGRAM`, or beside this Python, or on the path."""
    named = os.environ.get("PYTHON_HALFSPACE_PROGRAM")
    beside = Path(sys.executable).with_name("halfspace")
    found = named or (str(beside) if beside.exists() else shutil.which("halfspace"))
    if not found:
        raise HalfspaceError("the program halfspace is not installed; set PYTHON_HALFSPACE_PROGRAM to its path")
    return found


class LocalService:
    """A running service. The service ends with `close`, with the object, or with Python."""

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
        self._close = weakref.finalize(self, stop, self.process)
        assert self.process.stdout
        line = self.process.stdout.readline()
        start = line.find("http://")
        if start < 0:
            self.close()
            self.log.seek(0)
            raise HalfspaceError(f"the service did not start: {self.log.read().strip() or line.strip()}")
        self.address = line[start:].split()[0].rstrip("/")

    def close(self) -> None:
        """Stops the service."""
        self._close()


def stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream:
            stream.close()
