"""An HTTP server of the test's on 127.0.0.1, that answers each connection as the test says, however badly."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Condition, Event, Thread
from typing import TypeAlias

Answer: TypeAlias = Callable[[socket.socket], None]


class MetricsServer:
    """Hands every connection, once its request has been read, to `answer`, each in a thread.

    Attributes:
        answer: May be replaced at any time.
        port: Where it listens.
        requests: The requests so far.
        over: Set when the test ends: what an answer waits for that never comes.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[bytes] = []
        self._asked = Condition()
        self.over = Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._threads: list[Thread] = []
        self._start(self._accept)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/metrics"

    def hang(self, _: socket.socket) -> None:
        """Say nothing."""
        self.over.wait()

    def drip(self, connection: socket.socket) -> None:
        """Send a text that never ends, a byte at a time."""
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while not self.over.wait(0.005):
            connection.sendall(b"#")

    def wait_for_requests(self, count: int) -> None:
        """Wait until so many requests have come since the start."""
        with self._asked:
            assert self._asked.wait_for(lambda: len(self.requests) >= count, 30)

    def close(self) -> None:
        self.over.set()
        # Wakes the thread that accepts.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(30)

    def _start(self, action: Callable[[], None]) -> None:
        thread = Thread(target=action, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._start(lambda connection=connection: self._serve(connection))  # type: ignore[misc]

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            request = b""
            while not request.endswith(b"\r\n\r\n"):
                request += connection.recv(65_536) or b"\r\n\r\n"
            with self._asked:
                self.requests.append(request)
                self._asked.notify_all()
            self.answer(connection)


@contextmanager
def serving(answer: Answer | None = None) -> Iterator[MetricsServer]:
    """Serve while the block runs; without an answer every connection hangs."""
    server = MetricsServer(answer or (lambda _: None))
    if answer is None:
        server.answer = server.hang
    try:
        yield server
    finally:
        server.close()


def sends(data: bytes) -> Answer:
    """Return what sends these bytes and closes."""
    return lambda connection: connection.sendall(data)


def metrics(body: bytes, content_type: str = "text/plain; version=0.0.4; charset=utf-8", more: str = "") -> bytes:
    """Return an answer as it should be."""
    return (
        f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body
    )


@contextmanager
def in_thread(action: Callable[[], None]) -> Iterator[None]:
    """Do something in a thread while the block runs, and wait for its end."""
    thread = Thread(target=action, daemon=True)
    thread.start()
    yield
    thread.join(30)
