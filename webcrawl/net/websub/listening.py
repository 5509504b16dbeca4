"""The callback that hubs reach."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl

from webcrawl.net.http_answerer import Connection, Limits, Listener

MOST = 64  # connections at once; the oldest gives way
PATIENCE = 20.0  # seconds for a request and its answer
HEAD = 16 << 10  # bytes of a request line and its headers
BODY = 2 << 20  # bytes of a push
FRAMED = 2 * BODY  # the same with what is around its chunks, and with what follows the last one
FIELDS = 32  # of a query
PREFIX = "/"


class Push(NamedTuple):
    """A push as a hub has sent it."""

    token: str
    signature: str
    content_type: str
    body: bytes


Verify = Callable[[str, Mapping[str, str]], str | None]
"""Makes the answer to a hub that verifies, or None for 404."""


class Callback(Listener):
    """The server. `verify` answers questions; `push` takes what is sent to a token that `knows` knows.

    Who knows no token sends no body: nothing of a stranger's is kept.
    """

    def __init__(
        self, listening: socket.socket, verify: Verify, push: Callable[[Push], None], knows: Callable[[str], bool]
    ) -> None:
        super().__init__(listening, lambda: HubRequest(self))
        self.verify, self.push, self.knows = verify, push, knows


class HubRequest(Connection):
    """A hub that verifies, or pushes."""

    def __init__(self, callback: Callback) -> None:
        super().__init__(callback.open, Limits(MOST, PATIENCE, HEAD, BODY, FRAMED))
        self._callback = callback

    def head_received(self) -> None:
        if self.method == b"GET":
            self._verify()
        elif self.method != b"POST":
            self.reply("405 Method Not Allowed", more="Allow: GET, POST\r\n")
        elif not self._callback.knows(self._token):
            self.reply("404 Not Found")

    def received(self) -> None:
        """A push is accepted whether it is believed or not: nobody learns a secret from our answers."""
        push = Push(self._token, self._said(b"x-hub-signature"), self._said(b"content-type"), bytes(self.body))
        self.body.clear()
        self.reply("202 Accepted")
        self._callback.push(push)

    @property
    def _token(self) -> str:
        """The last part of the path: a server before us may have added others."""
        path = self.target.partition(b"?")[0].decode("latin-1")
        return path.rpartition(PREFIX)[2]

    def _said(self, name: bytes) -> str:
        return next(iter(self.values(name)), b"").decode("latin-1")

    def _verify(self) -> None:
        query = self.target.partition(b"?")[2].decode("latin-1")
        try:
            said = dict(parse_qsl(query, keep_blank_values=True, max_num_fields=FIELDS))
        except ValueError:
            self.reply("400 Bad Request")
            return
        answer = self._callback.verify(self._token, said)
        if answer is None:
            self.reply("404 Not Found")
        else:
            self.reply("200 OK", answer.encode())
