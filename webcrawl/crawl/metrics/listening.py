"""Answers GET /metrics on the crawl's event loop, and nothing else; no client can hold it up or make it grow."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from webcrawl.net import http_answerer

MOST = 8  # connections at once: a scraper needs one
PATIENCE = 10.0  # seconds for a request and its answer
LONGEST = 8192  # bytes of a request
FRESH = 1.0  # seconds for which an answer is given again
TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Listener(http_answerer.Listener):
    """`text` makes the answer. At most one look at the crawl per second, whoever asks how often."""

    def __init__(self, port: socket.socket, text: Callable[[], bytes]) -> None:
        super().__init__(port, lambda: Asked(self))
        self._text, self._bound = text, str(port.getsockname()[0])
        self._answer, self._made_at = b"", float("-inf")

    def is_named(self, host: str) -> bool:
        """True if this Host header names us."""
        return http_answerer.is_named(host, self._bound)

    def answer(self) -> bytes:
        now = asyncio.get_running_loop().time()
        if now - self._made_at >= FRESH:
            self._answer, self._made_at = self._text(), now
        return self._answer


class Asked(http_answerer.Connection):
    """A request for the figures."""

    def __init__(self, listener: Listener) -> None:
        super().__init__(listener.open, http_answerer.Limits(MOST, PATIENCE, LONGEST))
        self._listener = listener

    def head_received(self) -> None:
        hosts = self.values(b"host")  # no browser leaves the header out
        if self.method != b"GET":
            self.reply("405 Method Not Allowed", more="Allow: GET\r\n")
        elif self.target.partition(b"?")[0] != b"/metrics":
            self.reply("404 Not Found")
        elif not all(self._listener.is_named(host.decode("latin-1")) for host in hosts):
            self.reply("421 Misdirected Request")
        else:
            self.reply("200 OK", self._listener.answer(), TYPE)
