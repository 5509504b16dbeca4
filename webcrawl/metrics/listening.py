"""Answers GET /metrics on the crawl's event loop, and nothing else; no client can hold it up or make it grow."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from webcrawl.net import listening

MOST = 8  # connections at once: a scraper needs one
PATIENCE = 10.0  # seconds for a request and its answer
LONGEST = 8192  # bytes of a request
FRESH = 1.0  # seconds for which an answer is given again
TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Listener(listening.Listener):
    """`text` makes the answer. At most one look at the crawl per second, whoever asks how often."""

    def __init__(self, port: socket.socket, text: Callable[[], bytes]) -> None:
        super().__init__(port, lambda: Asked(self))
        self._text = text
        self._answer, self._made_at = b"", float("-inf")

    def answer(self) -> bytes:
        now = asyncio.get_running_loop().time()
        if now - self._made_at >= FRESH:
            self._answer, self._made_at = self._text(), now
        return self._answer


class Asked(listening.Connection):
    """Wants the figures."""

    def __init__(self, listener: Listener) -> None:
        super().__init__(listener.open, MOST, PATIENCE)
        self._listener = listener
        self._received = 0
        self._target = b""

    def data_received(self, data: bytes) -> None:
        if self.is_over:
            return
        self._received += len(data)
        if self._received > LONGEST:
            self.reply("431 Request Header Fields Too Large")
        else:
            self.parse(data)

    # -- httptools'

    def on_url(self, part: bytes) -> None:
        self._target += part

    def on_headers_complete(self) -> None:
        if self._parser.get_method() != b"GET":
            self.reply("405 Method Not Allowed", more="Allow: GET\r\n")
        elif self._target.partition(b"?")[0] != b"/metrics":
            self.reply("404 Not Found")
        else:
            self.reply("200 OK", self._listener.answer(), TYPE)
