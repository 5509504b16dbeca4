"""Gopher (RFC 1436): menus and the URLs they link to, and a client.

One selector a connection, and everything is bounded.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

from webcrawl.base.model import Exchange, Timings
from webcrawl.base.url_text import address_text
from webcrawl.net.connection_reach import Reach
from webcrawl.net.errors import BadOption, BadUrl, ConnectTimeout, EmptyAnswer, TimedOut
from webcrawl.net.http_request import LINE_BREAKING, Headers, host_port, host_port_path, queryless
from webcrawl.net.protocols import PLAIN, Access, FetchLimits, FetchProgress, Options
from webcrawl.net.reading_limits import claim_of
from webcrawl.net.shortage import until
from webcrawl.net.stream import Stream, read_body, type_of

MENU = "text/x-gopher-menu"
# Menu text (i), errors (3), mirrors (+), search forms (7), and other protocols: phone books (2),
# telnet (8, T).
NO_LINKS = frozenset("i3+728T")
_MAX_LINE = 8192  # bytes; longer lines are skipped
# Labels are delimited unambiguously: with an optional dot inside the repetition, 30 letters would
# backtrack forever.
_HOST = re.compile(
    r"[0-9A-Za-z_-]{1,63}(?:\.[0-9A-Za-z_-]{1,63}){0,126}\.?|\[?[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]{1,44}\]?"
)
_PORT = re.compile(rb" *([0-9]{1,5}) *")
# a URL cannot contain these, encoded or not: they would be resolved
_STEPS = re.compile(rb"(?:\A|/)\.\.?(?:/|\Z)")
_SAFE = "/~!$&'()*+,;=:@"  # allowed in a path; all else is percent-encoded, above all `?` and `%`


class Item(NamedTuple):
    """One line of a menu."""

    kind: str
    display: bytes
    selector: bytes
    host: bytes
    port: bytes


def items(menu: bytes) -> Iterator[Item]:
    """Yield the items up to a line with only a dot, or the end; other lines are skipped."""
    for raw in menu.split(b"\n"):
        line = raw.removesuffix(b"\r")
        if line == b".":
            return
        # After the port come Gopher+ fields.
        fields = line.split(b"\t", 4)
        if len(fields) < 4 or len(line) > _MAX_LINE:
            continue
        first, selector, host, port = fields[:4]
        if first:
            yield Item(chr(first[0]), first[1:], selector, host, port)


def item_url(item: Item) -> str:
    """Return the URL of an item; empty if a crawl cannot follow it."""
    if item.kind in NO_LINKS or not "!" <= item.kind <= "~":
        return ""
    if item.kind == "h":  # Gopher's convention for web links: a URL as selector
        url = item.selector.removeprefix(b"/")
        if url[:4].upper() == b"URL:":
            return address_text(url[4:])
    if _STEPS.search(item.kind.encode() + item.selector):
        return ""
    host = item.host.strip().decode("latin-1")
    written = _PORT.fullmatch(item.port)
    if not _HOST.fullmatch(host) or written is None:
        return ""
    port = int(written[1])
    if not 0 < port < 65536:
        return ""
    place = host_port(host.strip("[]"), port)
    return f"gopher://{place}/{quote(item.kind, safe='')}{quote(item.selector, safe=_SAFE)}"


def is_refusal(answer: bytes) -> bool:
    """Return whether an answer is only an error: Gopher has no status, only items of type 3."""
    if not answer.startswith(b"3") or len(answer) > _MAX_LINE:
        return False
    lines = [line for line in answer.split(b"\n") if line.strip(b"\r.")]
    found = list(items(answer))
    is_menu = len(found) == len(lines)
    return is_menu and all(item.kind in "3i" for item in found)


_STUFFED = re.compile(rb"(?:\A|(?<=\n))\.\.")


def ends(tail: bytes) -> bool:
    """Return whether these last bytes of an answer end it."""
    return tail == b".\r\n" or tail.endswith(b"\n.\r\n")


def plain(text: bytes) -> bytes:
    """Return the text without the final dot, leading dots undoubled.

    Unchanged without a final dot, as from many servers.
    """
    for end in (b".\r\n", b".\n", b"."):
        start = len(text) - len(end)
        if text.endswith(end) and text[max(start - 1, 0) : start] in (b"", b"\n"):
            return _STUFFED.sub(b".", text[:start])
    return text


_URL = queryless("gopher")


class GopherTarget(NamedTuple):
    """The server and what to send; `kind` is the item type, one ASCII character."""

    host: str
    port: int
    kind: str
    selector: bytes
    search: bytes | None  # including what Gopher+ appends after another tab

    @property
    def line(self) -> bytes:
        return self.selector + (b"" if self.search is None else b"\t" + self.search) + b"\r\n"


def parse_gopher(url: str) -> GopherTarget:
    """Parse an absolute gopher URL; raises BadUrl."""
    host, port, path = host_port_path(url, _URL, 70)
    wanted = unquote_to_bytes(path) or b"1"
    # A menu's author writes the line that is sent, and some servers execute what one line says.
    if LINE_BREAKING.search(wanted) or not b" " < wanted[:1] <= b"~":
        raise BadUrl(f"the selector cannot be sent by Gopher: {url[:200]!r}")
    selector, tab, search = wanted[1:].partition(b"\t")
    return GopherTarget(host, port, chr(wanted[0]), selector, search if tab else None)


_PATIENCE = 1.0  # seconds for a server to close after the line that ends its answer
_LINES = frozenset("017")  # types sent as lines, with a dot at the end
_TYPES = {
    "0": "text/plain",
    "1": MENU,
    "7": MENU,
    "h": "text/html",
    "g": "image/gif",
    "4": "application/mac-binhex40",
}


class GopherClient:
    """Fetches gopher URLs. Concurrency and politeness are up to the caller."""

    def __init__(self, access: Access, bounds: FetchLimits, *, patience: float = _PATIENCE) -> None:
        self._bounds = bounds
        self._patience = patience
        self._clock = access.clock
        self._now = access.now
        self._bandwidth = access.bandwidth
        self._room = access.room
        self._reach: Reach[Stream] = Reach(access, Stream, "gopher")

    def use(self, bounds: FetchLimits) -> None:
        """Apply these limits to the following requests."""
        self._bounds = bounds

    async def fetch(
        self,
        url: str,
        headers: Headers = (),  # noqa: ARG002 - Gopher has none
        *,
        keep: float = 0.0,  # noqa: ARG002 - one request per connection
        method: str = "GET",
        body: bytes = b"",  # noqa: ARG002
        options: Options = PLAIN,
        watch: FetchProgress | None = None,
    ) -> Exchange:
        """Fetch the URL's selector within `timeout` seconds; raises FetchError."""
        target = parse_gopher(url)
        # The link's author has filled in the form.
        is_filled_form = target.kind == "7" and bool(target.search)
        is_no_link = target.kind in NO_LINKS and not is_filled_form
        if method != "GET" or is_no_link:
            raise BadUrl(f"not a URL that can be crawled by Gopher: {url[:200]!r}")
        if options.proxy is not None:
            raise BadOption("gopher: cannot be used through a proxy")
        bounds = self._bounds.for_request(options)
        loop = asyncio.get_running_loop()
        timings = Timings()
        started = self._now()
        begun = self._clock()
        deadline = loop.time() + bounds.timeout
        try:
            async with until(deadline):
                stream = await self._reach.open(target.host, target.port, timings, options.bind)
        except TimeoutError as error:
            raise ConnectTimeout("no connection within the deadline") from error
        requested_at = loop.time()
        if watch is not None:
            watch.source = stream
        claim = claim_of(self._room, bounds.truncate)
        try:
            stream.write(target.line)
            complete = ends if target.kind in _LINES else None
            payload, truncated = await read_body(
                stream,
                bounds.truncate,
                deadline,
                complete=complete,
                patience=self._patience,
                bounds=bounds,
                bandwidth=self._bandwidth,
                claim=claim,
            )
        finally:
            stream.abort()
            if claim is not None:
                claim.loaded()
        if not payload and truncated:
            kind = TimedOut if truncated == "time" else EmptyAnswer
            raise kind("the server sent no answer")
        bounds.check(truncated)
        timings.first_byte = max(stream.first_byte - requested_at, 0.0)
        timings.total = self._clock() - begun - (claim.held if claim is not None else 0.0)
        exchange = _exchange(url, target, payload, truncated, stream.ip, started, timings)
        exchange.claim = claim
        return exchange

    async def close(self) -> None:
        """Close all connections and wait until their sockets are closed."""
        await self._reach.close()


def _exchange(
    url: str,
    target: GopherTarget,
    payload: bytes,
    truncated: str,
    ip: str,
    started: float,
    timings: Timings,
) -> Exchange:
    """Return the exchange of a selector's answer; a status of HTTP says whether it was refused."""
    kind = _TYPES.get(target.kind) or type_of(target.selector)
    body = plain(payload) if target.kind == "0" else payload
    if truncated and kind == MENU:  # half a line would be another selector
        body = payload[: payload.rfind(b"\n") + 1]
    return Exchange(
        url=url,
        request=b"",
        status=404 if is_refusal(payload) else 200,
        head=b"",
        headers=[(b"content-type", kind.encode())] if kind else [],
        wire=payload,
        payload=payload,
        body=body,
        ip=ip,
        started=started,
        timings=timings,
        truncated=truncated,
    )
