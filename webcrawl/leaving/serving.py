"""The form over HTTP: one request per connection, everything bounded. It is made to stand behind a web server."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl

from webcrawl.leaving.deciding import Outcome, Result
from webcrawl.leaving.page import POLICY, Pages, Token
from webcrawl.leaving.subject import CannotName, Subject, subject_of
from webcrawl.leaving.token import LIFE, Tokens, Wish
from webcrawl.net import listening
from webcrawl.urls.hosts import RegisteredDomains

MOST = 64  # connections at once; the oldest that is not being checked gives way
PATIENCE = 10.0  # seconds for a request
CHECKED = 180.0  # and for its check, which may have to wait for a checkpoint of each drone
HEAD, BODY = 8192, 8192  # bytes
FIELDS = 8
HTML = "text/html; charset=utf-8"
MORE = (
    f"Content-Security-Policy: {POLICY}\r\nReferrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n"
    "Cache-Control: no-store\r\n"
)
FORM = b"application/x-www-form-urlencoded"

Check = Callable[[Subject], Awaitable[Result]]


class Form(listening.Listener):
    """Makes tokens for whoever asks, and has their proofs checked."""

    def __init__(
        self,
        port: socket.socket,
        pages: Pages,
        tokens: Tokens,
        check: Check,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(port, lambda: Asked(self))
        self.pages, self.check = pages, check
        self._tokens, self._clock = tokens, clock
        self._domains = RegisteredDomains(1024)
        self.checks: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"<Form open={len(self.open)} checks={len(self.checks)}>"

    def close(self) -> None:
        """What was ordered already is carried out; who waits for the rest gets no answer."""
        super().close()
        for task in self.checks:
            task.cancel()

    def subject(self, rule: str) -> Subject:
        return subject_of(rule, self._domains)

    def token(self, rule: str, wish: str) -> Token:
        """Raises CannotName, or ValueError for a wish that is none."""
        subject, asked, now = self.subject(rule), Wish(wish), self._clock()
        return Token(subject, asked, self._tokens.issue(subject.rule, asked, now), int(now) + LIFE)


class Asked(listening.Connection):
    """One request of a stranger's."""

    def __init__(self, form: Form) -> None:
        super().__init__(form.open, MOST, PATIENCE)
        self._form = form
        self._received = 0
        self._target = b""
        self._kind = b""
        self._body = b""
        self._whole = False

    def data_received(self, data: bytes) -> None:
        if self.is_over or self._whole:
            return
        self._received += len(data)
        if self._received > HEAD + BODY:
            self.reply("413 Content Too Large")
        else:
            self.parse(data)

    # -- httptools'

    def on_url(self, part: bytes) -> None:
        self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"content-type":
            self._kind = (value or b"").partition(b";")[0].strip().lower()

    def on_body(self, part: bytes) -> None:
        self._body += part

    def on_message_complete(self) -> None:
        if self.is_over or self._whole:
            return
        self._whole = True
        path, _, query = self._target.partition(b"?")
        method = self._parser.get_method()
        if b"." in path.rpartition(b"/")[2]:  # robots.txt, favicon.ico; else the server before us knows its paths
            self.reply("404 Not Found")
        elif method == b"GET":
            self._get(_fields(query))
        elif method != b"POST":
            self.reply("405 Method Not Allowed", more="Allow: GET, POST\r\n")
        elif self._kind != FORM:
            self.reply("415 Unsupported Media Type")
        else:
            self._post(_fields(self._body))

    # -- answers

    def _get(self, said: dict[str, str]) -> None:
        pages, rule = self._form.pages, said.get("rule", "")
        if not rule:
            self._page("200 OK", pages.first())
            return
        try:
            token = self._form.token(rule, said.get("wish", Wish.LEAVE))
        except CannotName as error:
            self._page("400 Bad Request", pages.first(rule[:1000], f"{error}"))
        except ValueError:
            self.reply("400 Bad Request")
        else:
            self._page("200 OK", pages.token(token))

    def _post(self, said: dict[str, str]) -> None:
        rule = said.get("rule", "")
        try:
            subject = self._form.subject(rule)
        except CannotName as error:
            self._page("400 Bad Request", self._form.pages.first(rule[:1000], f"{error}"))
            return
        self._others.pop(self)  # whoever floods us does not end a check; there are few at once
        if self._timer is not None:
            self._timer.cancel()
            self._timer = asyncio.get_running_loop().call_later(CHECKED, self.abort)
        task = asyncio.get_running_loop().create_task(self._checked(subject))
        self._form.checks.add(task)
        task.add_done_callback(self._form.checks.discard)

    async def _checked(self, subject: Subject) -> None:
        """Who goes away meanwhile has it done all the same."""
        try:
            result = await self._form.check(subject)
        except Exception:
            self.reply("500 Internal Server Error")
            raise
        done = result.outcome is Outcome.DONE
        retry = f"Retry-After: {int(result.wait) + 1}\r\n" if result.wait else ""
        self._page(result.outcome.value, self._form.pages.result(subject, result, done=done), retry)

    def _page(self, status: str, body: bytes, more: str = "") -> None:
        self.reply(status, body, HTML, f"{MORE}{more}")


def _fields(query: bytes) -> dict[str, str]:
    try:  # as UTF-8 also what is not percent-encoded, as browsers do: curl sends names as they were typed
        return dict(parse_qsl(query.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=FIELDS))
    except ValueError:
        return {}
