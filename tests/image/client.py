"""An HTTP client that can stop in the middle of a body. It knows nothing about containers."""

import http.client
import json
import socket
import threading


class Client:
    def __init__(self, port):
        self.port = port

    def call(self, method, path, body=None, media_type="application/json", headers=None):
        """Sends a request. Returns the status and the text of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        connection.request(method, path, body, {"content-type": media_type, **(headers or {})})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, text

    def expect(self, status, method, path, *rest, **more):
        """Sends a request whose answer must have this status. Returns the document."""
        found, text = self.call(method, path, *rest, **more)
        assert found == status, f"{method} {path}: {found} {text[:300]}"
        return json.loads(text) if text else None


class Stream:
    """A request with a body of lines that another thread sends until the connection ends.

    `answered` counts the acknowledged lines of a session, or is 0. `status` is the line with the status.
    """

    def __init__(self, port, path, media_type, lines, in_step):
        self.sent = 0
        self.answered = 0
        self.status = ""
        self.begun = threading.Event()
        self.connection = socket.create_connection(("127.0.0.1", port), timeout=60)
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media_type}\r\n"
        self.connection.sendall(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
        self.answers = self.connection.makefile("rb")
        self.thread = threading.Thread(target=self._run, args=(lines, in_step), daemon=True)
        self.thread.start()
        assert self.begun.wait(60), f"{path}: no progress"

    def _run(self, lines, in_step):
        try:
            for line in lines:
                self.connection.sendall(b"%x\r\n%s\r\n" % (len(line), line))
                self.sent += 1
                if in_step and not self._acknowledged():
                    break
                if self.sent == 20:
                    self.begun.set()
            if not in_step:
                self._status()
        except OSError:
            # The service has closed the connection. A refusal may stand in front of the end.
            try:
                self._status()
            except OSError:
                pass
        self.begun.set()
        self.connection.close()

    def _acknowledged(self):
        """Reads up to the answer to the last line. Returns False at the end of the answers."""
        for text in self.answers:
            if text.startswith(b"HTTP/"):
                self.status = text.decode().strip()
            elif text.startswith(b'{"position"'):
                self.answered += 1
                return True
        return False

    def _status(self):
        self.status = self.status or self.answers.readline().decode().strip()

    def end(self):
        self.thread.join(60)
        assert not self.thread.is_alive(), "the connection outlives the process"


class Probe:
    """Asks /readyz over new connections until `end`, and keeps each status that differs from the one before.

    The status 0 stands for no answer.
    """

    def __init__(self, port):
        self.client = Client(port)
        self.changes = []
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.stopping.is_set():
            self._ask()
            self.stopping.wait(0.02)
        self._ask()

    def _ask(self):
        try:
            status, _ = self.client.call("GET", "/readyz")
        except (OSError, http.client.HTTPException):
            status = 0
        if self.changes[-1:] != [status]:
            self.changes.append(status)

    def end(self):
        """Asks once more. Returns the changes."""
        self.stopping.set()
        self.thread.join(60)
        return self.changes
