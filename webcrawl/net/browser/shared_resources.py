"""Scripts, styles and other answers that one page of a browser leaves to the next: a cache as RFC 9111 has it.

Each page has a browser context of its own, so that what the browser itself keeps ends with the page.
"""

from __future__ import annotations

from webcrawl.base.model import header
from webcrawl.content.html.mimetype import parse
from webcrawl.net.browser.browser_proxy import Ask, Headers, Told
from webcrawl.net.header_times import fresh_for, max_age

ROOM = 64 << 20  # bytes of answers,
EACH, FIELD = 1000, 200  # with what Python needs for each, and for each of its header fields
# RFC 9111 4.2.2 leaves to the cache how long an answer holds of which nobody says anything. These kinds are parts of a
# site's design; data is asked for again.
UNSAID = 86_400.0  # seconds
PARTS = frozenset(("text/css", "text/javascript", "application/javascript", "application/x-javascript"))
PART_TYPES = ("font/", "image/")


class SharedResources:
    """The answers that may be used again; the one that was wanted longest ago goes first.

    Their heads count as well: a page may have any number of answers without a body.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room, self._used = room, 0
        self._kept: dict[str, tuple[float, Headers, Told, int]] = {}  # the last is its size

    def find(self, url: str, ask: Ask, now: float) -> Told | None:
        """The answer to this request, if there is one that still holds."""
        until, varied, told, _ = self._kept.get(url, (0.0, [], None, 0))
        if told is None or not _may_be_shared(ask):
            return None
        if now >= until or any(ask.header(name) != value for name, value in varied):
            return None
        self._kept[url] = self._kept.pop(url)
        return told

    def keep(self, url: str, ask: Ask, told: Told, now: float) -> None:
        """Keeps a whole answer that came now, if it may be used again."""
        vary = [name.strip().lower() for name in b",".join(_all(told.headers, b"vary")).split(b",") if name.strip()]
        holds = _holds_for(told.headers, now)
        if told.status != 200 or not _may_be_shared(ask) or not holds or b"*" in vary:
            return
        varied = [(name, ask.header(name)) for name in vary]
        size = len(url) + len(told.body) + EACH + sum(len(one) + len(two) + FIELD for one, two in told.headers + varied)
        if size > self._room:
            return
        self._drop(url)
        self._kept[url] = now + holds, varied, told, size
        self._used += size
        while self._used > self._room:
            self._drop(next(iter(self._kept)))

    def _drop(self, url: str) -> None:
        if url in self._kept:
            self._used -= self._kept.pop(url)[-1]


def _may_be_shared(ask: Ask) -> bool:
    return ask.method == "GET" and not ask.header(b"range") and not ask.header(b"authorization")


def _holds_for(headers: Headers, now: float) -> float:
    """Seconds from now."""
    if max_age(headers) is not None or any(header(headers, name) is not None for name in (b"expires", b"pragma")):
        return fresh_for(headers, now)
    mime = parse((header(headers, b"content-type") or b"").decode("latin-1"))
    return UNSAID if mime is not None and (mime.essence in PARTS or mime.essence.startswith(PART_TYPES)) else 0.0


def _all(headers: Headers, name: bytes) -> list[bytes]:
    return [value for given, value in headers if given.lower() == name]
