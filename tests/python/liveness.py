"""Asks a service for `/livez` over new connections while another test runs, and judges how long the answers took.

usage: liveness.py ADDRESS. It runs until SIGTERM, then prints the times and fails if they are too long.
"""

import http.client
import json
import signal
import sys
import threading
import time
import urllib.parse

SECONDS_MAX = 0.1
TIMEOUT = 5
PAUSE = 0.01


def probe(address, stop):
    """Asks until the event, and returns the seconds that each answer took, in ascending order."""
    place = urllib.parse.urlsplit(address).netloc
    taken = []
    while not stop.is_set():
        begun = time.monotonic()
        try:
            connection = http.client.HTTPConnection(place, timeout=TIMEOUT)
            connection.request("GET", "/livez")
            answer = connection.getresponse()
            is_ok = answer.status == 200 and json.loads(answer.read())["status"] == "ok"
            connection.close()
        except (OSError, http.client.HTTPException):
            is_ok = False
        taken.append(time.monotonic() - begun if is_ok else TIMEOUT)
        stop.wait(PAUSE)
    return sorted(taken)


def told(taken):
    """Prints the times. Returns whether 99 % of the answers were fast enough."""
    p99 = taken[len(taken) * 99 // 100]
    print(f"/livez: {len(taken)} answers, p99 {p99 * 1000:.1f} ms, longest {taken[-1] * 1000:.1f} ms", flush=True)
    return p99 <= SECONDS_MAX


if __name__ == "__main__":
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    sys.exit(0 if told(probe(sys.argv[1], ended)) else "/livez was too slow")
