"""A free port, and a proxy that cuts connections."""

import random
import socket
import threading


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


class CuttingProxy:
    """A proxy that cuts connections at random places."""

    def __init__(self, address: str, seed: int, budgets: tuple[int, ...] = (300, 1500, 4000)) -> None:
        host, port = address.removeprefix("http://").split(":")
        self.target = (host, int(port))
        self.random, self.budgets = random.Random(seed), budgets
        self.cuts = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(self.target)
            budget = self.random.choice(self.budgets)
            for source, sink, limit in ((near, far, 10**9), (far, near, budget)):
                threading.Thread(target=self.pump, args=(source, sink, limit), daemon=True).start()

    def pump(self, source: socket.socket, sink: socket.socket, limit: int) -> None:
        try:
            while chunk := source.recv(4096):
                if len(chunk) > limit:
                    self.cuts += 1
                    break
                limit -= len(chunk)
                sink.sendall(chunk)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
