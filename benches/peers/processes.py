"""Processes of a comparison: programs that answer requests, and servers on the loopback address.

Each process ends with the script, also when the script is killed.
"""

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", "target")).absolute()
PR_SET_PDEATHSIG = 1
START_SECONDS_MAX = 120

libc = ctypes.CDLL(None)
# The servers are on this machine, so requests must not use a proxy.
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def end_with_script():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def start(command, **options):
    return subprocess.Popen(command, preexec_fn=end_with_script, **options)


def example(name):
    """The path of an example, which `benches/peers/run` has built."""
    return TARGET / "release/examples" / name


def bench(name, *arguments):
    """Runs a benchmark of this project and returns its output."""
    # The benchmark shares its libraries with the programs that `benches/peers/run` has built.
    command = ["cargo", "bench", "--quiet", "--profile", "release", "--workspace", "--bench", name, "--", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class Worker:
    """A program that answers each line of JSON with a line of JSON."""

    def __init__(self, *command):
        self.process = start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Server(str):
    """The address of a server, with the number of its process."""

    pid = None


@contextlib.contextmanager
def serving(command, port, path, log, env=None):
    """Runs a server that answers GET of the path once it is ready. The value is its address."""
    with log.open("w") as output:
        process = start(command, env=env, stdout=output, stderr=output)
    try:
        address = f"127.0.0.1:{port}"
        deadline = time.monotonic() + START_SECONDS_MAX
        while not is_ready(f"http://{address}{path}"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]} did not start: {log.read_text()}")
            time.sleep(0.05)
        server = Server(address)
        server.pid = process.pid
        yield server
    finally:
        process.terminate()
        process.wait()


def serving_ours(folder):
    """Runs the program of this project with its data in a folder."""
    port = free_port()
    options = ["--listen", f"127.0.0.1:{port}", "--log", "error", "--data-dir", folder / "data"]
    command = [TARGET / "release/halfspace", *options]
    return serving(command, port, "/livez", folder / "halfspace.log")


def is_ready(url):
    try:
        with direct.open(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False
