"""A service of one's own: starts the program on a free port and stops it."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path

from .errors import HalfspaceError

START_SECONDS = 30.0


def program() -> str:
    """The program: `HALFSPACE_PROGRAM`, or beside this Python, or on the path."""
    named = os.environ.get("HALFSPACE_PROGRAM")
    beside = Path(sys.executable).with_name("halfspace")
    found = named or (str(beside) if beside.exists() else shutil.which("halfspace"))
    if not found:
        raise HalfspaceError("the program halfspace is not installed; set HALFSPACE_PROGRAM to its path")
    return found


class LocalService:
    """A running service. The service ends with `close`, with the object, or with Python."""

    def __init__(self, directory: str | os.PathLike[str] | None = None, *settings: str) -> None:
        temporary = None if directory else tempfile.mkdtemp(prefix="halfspace-")
        self.directory = str(directory or temporary)
        listen = () if "--listen" in settings else ("--listen", "127.0.0.1:0")
        command = [program(), "serve", "--data-dir", self.directory, "--log", "warn", *listen, *settings]
        # The program refuses variables that are no settings.
        settings_of = {name: value for name, value in os.environ.items() if name != "HALFSPACE_PROGRAM"}
        # Ctrl-C reaches all processes of a terminal's group, but a job must go on.
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings_of, start_new_session=True
        )
        self._close = weakref.finalize(self, stop, self.process, temporary)
        atexit.register(self._close)
        assert self.process.stdout
        line = self.process.stdout.readline()
        start = line.find("http://")
        if start < 0:
            self.process.wait(START_SECONDS)
            said = self.process.stderr.read() if self.process.stderr else ""
            self.close()
            raise HalfspaceError(f"the service did not start: {said.strip() or line.strip()}")
        self.address = line[start:].split()[0].rstrip("/")

    def close(self) -> None:
        """Stops the service and removes a temporary directory."""
        self._close()


def stop(process: subprocess.Popen[str], temporary: str | None) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream:
            stream.close()
    if temporary:
        shutil.rmtree(temporary, ignore_errors=True)
