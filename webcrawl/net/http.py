"""An HTTP client for crawling: exact bytes, everything bounded, connections kept only while useful."""

from __future__ import annotations

import asyncio
import re
import ssl
from dataclasses import dataclass
from typing import NamedTuple

from webcrawl.base.model import Exchange, Timings
from webcrawl.net.connection import HttpConnection, MeteredAnswer
from webcrawl.net.connection_open import H2, SAFE, Http2Offers, Opener, VerifyingContext
from webcrawl.net.connection_pool import ConnectionPool, Deadlines, Key
from webcrawl.net.errors import (
    ConnectTimeout,
    EmptyAnswer,
    FetchError,
    Http2Only,
    TimedOut,
    TlsFailed,
    TlsTimeout,
)
from webcrawl.net.http_answer import AnswerParser, Message
from webcrawl.net.http_framing import Head
from webcrawl.net.http_request import (
    Headers,
    RequestTarget,
    RequestWriter,
    parse_target,
    with_fields,
)
from webcrawl.net.identity.request_signing import RequestSigner
from webcrawl.net.logins import Logins
from webcrawl.net.protocols import PLAIN, Access, FetchLimits, FetchProgress, Options
from webcrawl.net.proxy import ProxiedOpener, whole_url, with_credentials
from webcrawl.net.reading_limits import BYTES_WITHOUT_CLAIM, LONGEST_SITEMAP, Claim
from webcrawl.net.shortage import until
from webcrawl.net.tls import tls_context, verifying_context


@dataclass(slots=True)
class Counters:
    """Connection counts, for the stats."""

    opened: int = 0
    reused: int = 0
    stale: int = 0  # kept connections that the server had closed before the next request


@dataclass(slots=True)
class Visit:
    """One request on its way, by whatever connection."""

    key: Key
    target: RequestTarget
    head: bytes  # as it is sent, with logins
    body: bytes
    method: str
    bounds: FetchLimits
    options: Options
    claim: Claim | None
    timings: Timings
    deadline: float  # in the loop's time
    watch: FetchProgress | None


class Answered(NamedTuple):
    """The answer to a request: by which connection and parser it came, and when the request was sent."""

    connection: HttpConnection
    parser: AnswerParser
    requested_at: float  # by the client's clock
    message: Message


class HttpClient:
    """Fetches http and https URLs. Concurrency and politeness are up to the caller."""

    def __init__(
        self,
        access: Access,
        bounds: FetchLimits,
        *,
        user_agent: str,
        keep_at_most: int = 256,
        tls: ssl.SSLContext | None = None,
        http2: Http2Offers | None = None,
        contact: str = "",
        signing: RequestSigner | None = None,
        logins: Logins | None = None,
        verifying: VerifyingContext = verifying_context,
    ) -> None:
        """Open no connection yet.

        `access`: to the network: DNS, sockets, room in memory, bandwidth.
        `bounds`: of time and size, for each download.
        `user_agent`: the header, as it is sent.
        `keep_at_most`: connections that stay open for their hosts' next requests.
        `tls`: the context for all hosts without a login; None: the crawl's own.
        `http2`: with which servers HTTP/2 is spoken.
        `contact`: the header From; empty: none is sent.
        `signing`: signs every request.
        `logins`: go to their hosts only.
        `verifying`: makes the TLS contexts for the hosts that have logins.
        """
        self._writer = RequestWriter(user_agent, contact, signed=signing is not None)
        self._signing = signing
        self._bounds = bounds
        self._room = access.room
        self._clock = access.clock
        self._now = access.now
        self._bandwidth = access.bandwidth
        self.http2 = http2 or Http2Offers()
        self._families = access.families
        self.logins = logins or Logins({})
        self._opener = Opener(
            access,
            tls or tls_context(),
            self.http2,
            lambda target: self.logins.of(target) is not None,
            verifying,
        )
        self._proxied = ProxiedOpener(access, self._opener, user_agent)
        self._pool = ConnectionPool(keep_at_most)
        access.shortage.on_pause = self._pool.give_up
        self._deadlines = Deadlines(bounds, access.clock)
        self.counters = Counters()

    def use(self, bounds: FetchLimits) -> None:
        """Apply these limits to the following requests."""
        self._bounds = bounds
        self._deadlines.use(bounds)

    def set_idle_limit(self, connections: int) -> None:
        """Set how many stay open for their hosts' next requests."""
        self._pool.limit = connections

    async def fetch(
        self,
        url: str,
        headers: Headers = (),
        *,
        keep: float = 0.0,
        method: str = "GET",
        body: bytes = b"",
        options: Options = PLAIN,
        watch: FetchProgress | None = None,
    ) -> Exchange:
        """Request a URL and return the exchange, within `timeout` seconds in all.

        Raise FetchError. The steps: the head to send, a connection (kept or new), the answer. Then
        the connection is kept or closed, and proxy and login hear of the status.

        `keep`: seconds to keep the connection for the host's next request. A kept connection that
        ends without a response is an error; the caller retries, since it keeps the delay between
        requests.
        """
        target = parse_target(url)
        limits = self._bounds
        proxy = options.proxy
        key: Key = (target.secure, target.host, target.port)
        if options is not PLAIN:
            limits = limits.for_request(options)
            key = _key_with_options(key, options)
        # The first 2 MiB of a body need no room in the memory that large bodies share
        unclaimed_bytes = min(limits.truncate, BYTES_WITHOUT_CLAIM)
        needs_claim = options.long or unclaimed_bytes < limits.truncate
        claim = self._claim_on_memory(limits, options) if needs_claim else None
        # Without a tunnel the proxy reads the request. In one the server would, and get the
        # proxy's password.
        is_unread = proxy is None or proxy.is_tunnel(secure=target.secure)
        line = target if is_unread else whole_url(target)
        head = self._writer.head(line, headers, method=method, keep=keep > 0, length=len(body))
        signing = self._signing
        archived_head = (
            head if signing is None else with_fields(head, signing.fields(target.authority))
        )
        login = self.logins.of(target)
        # Only the bytes that are sent have the login: the exchange, and with it the archive, has not
        sent_head = (
            archived_head if login is None else login.added_to(archived_head, target, self._now())
        )
        if proxy is not None and not is_unread:
            sent_head = with_credentials(sent_head, proxy)
        started = self._now()
        begun_at = self._clock()
        timings = Timings()
        # One deadline for the whole fetch, the look-up of the name included
        deadline = asyncio.get_running_loop().time() + limits.timeout
        visit = Visit(
            key, target, sent_head, body, method, limits, options, claim, timings, deadline, watch
        )
        connection = self._pool.pop_connection(key)
        if reused := connection is not None:
            self.counters.reused += 1
        else:
            if watch is not None:
                watch.timings = timings
            connection = await self._new_connection(visit)
        if watch is not None:
            watch.source = connection
        # Most answers never wait, and a parser without a meter costs them less.
        may_wait = claim is not None and claim.may_wait
        parser = (
            self._metered_parser(connection, unclaimed_bytes, method, claim)
            if self._bandwidth.rate or may_wait
            else AnswerParser(unclaimed_bytes, bodiless=method == "HEAD", claim=claim)
        )
        try:
            connection, parser, requested_at, message = await self._ask(
                visit, connection, parser, reused=reused
            )
        finally:
            # However it ended, other downloads may wait for room.
            if claim is not None:
                claim.loaded()
        timings.first_byte = max(connection.first_byte - requested_at, 0.0)
        timings.total = self._clock() - begun_at - parser.held
        self._keep_or_close(key, connection, keep, watch)
        if proxy is not None:
            self._proxied.check_answer(proxy, target, message.head.status)
        if login is not None:
            self.logins.warn_if_refused(target, message.head.status)
        # It raises TooLarge, and by now the connection is kept or closed.
        limits.check(message.truncated)
        return _exchange_of(url, archived_head + body, started, timings, connection, message)

    async def close(self) -> None:
        """Close all connections and wait until their sockets are closed."""
        self._pool.close()
        self._deadlines.close()
        await self._opener.close()

    def _keep_or_close(
        self, key: Key, connection: HttpConnection, keep: float, watch: FetchProgress | None
    ) -> None:
        """Keep a connection for its host's next request, or close it."""
        # A host's first page uses the connection of its robots.txt: by https, 1,500 hosts with one
        # page each took 3.80 s, and 4.90 with two connections.
        if connection.open and keep > 0:
            is_spare = watch is not None and watch.spare
            self._pool.keep(key, connection, keep, spare=is_spare)
        elif connection.open:
            connection.abort()
        elif connection.unrequested:
            # What comes without a request could be taken for the next answer: none is kept for an
            # hour
            self._pool.distrust(key)

    def _note_unanswered(
        self, key: Key, connection: HttpConnection, error: FetchError, *, reused: bool
    ) -> None:
        """Close a connection that gave no answer, and note what this says of the server."""
        connection.abort()
        self._deadlines.remove(connection)
        has_ended = isinstance(error, EmptyAnswer)
        was_silent = isinstance(error, TimedOut) and not connection.first_byte
        # The request is not repeated at once, as browsers do: the server may have read it.
        self.counters.stale += reused and has_ended
        gave_nothing = has_ended or was_silent
        if gave_nothing and reused:
            # Perhaps it answers one request per connection, and says nothing of it: of such a
            # site 7 of 31 pages were lost. None is kept for an hour
            self._pool.distrust(key)
        elif gave_nothing:
            # It accepts connections and does not answer: another address of the host goes first
            self._families.avoid(str(key[1]), connection.ip)
        if connection.http2 is not None and connection.http2.refused:
            self.http2.turned_down(key)

    async def _ask(
        self, visit: Visit, connection: HttpConnection, parser: AnswerParser, *, reused: bool
    ) -> Answered:
        """Return the answer by this connection, or by a second one if the server wants HTTP/2.

        `reused`: the connection has carried requests before. Raise FetchError.
        """
        requested_at = self._deadlines.add(connection, visit.deadline)
        http2 = connection.http2
        request = (
            visit.head + visit.body if http2 is None else http2.request(visit.head, visit.body)
        )
        try:
            message = await connection.ask(request, parser)
        except FetchError as error:
            self._note_unanswered(visit.key, connection, error, reused=reused)
            return await self._ask_after_error(visit, connection, error, reused=reused)
        finally:
            self._deadlines.remove(connection)
        # At once, before the status is held against the URL: only the second answer is archived
        if message.head.status in OTHER_VERSION_STATUSES and http2 is None:
            answered = await self._ask_after_answer(visit, message.head)
            if answered is not None:
                connection.abort()
                return answered
        return Answered(connection, parser, requested_at, message)

    async def _ask_after_error(
        self, visit: Visit, connection: HttpConnection, error: FetchError, *, reused: bool
    ) -> Answered:
        """Ask a server again that speaks only HTTP/2; raise the error for all others."""
        target = visit.target
        proxy = visit.options.proxy
        # The server may have read the request, so one that may change something is not sent twice
        can_help = (
            not reused
            and visit.method in SAFE
            and self.http2.may_help(visit.key, error, connection)
        )
        if can_help and not self.http2.waits(visit.key, target.host):
            second = await self._offer_http2(visit, by_page=True)
            answered = await self._ask_by(visit, second)
            if answered is not None:
                return answered
        if isinstance(error, Http2Only):
            self.http2.tell(target, error)
        if proxy is not None:
            raise self._proxied.unanswered(proxy, target, error) from error
        raise error

    async def _ask_after_answer(self, visit: Visit, head: Head) -> Answered | None:
        """Ask by HTTP/2 again after an answer (`head`) that does not want HTTP/1.1.

        Return None if that answer is all that there is.
        """
        if visit.method not in SAFE or not self.http2.may_be_spoken(visit.key):
            return None
        if not _may_want_http2(head):
            return None
        second = await self._offer_http2(visit, by_page=True)
        try:
            answered = await self._ask_by(visit, second)
        except FetchError:
            # The answer by HTTP/1.1 is at hand.
            return None
        if answered is not None and answered.message.head.status not in OTHER_VERSION_STATUSES:
            # The next request begins with HTTP/2.
            self.http2.suspect(visit.key)
        return answered

    async def _ask_by(self, visit: Visit, second: HttpConnection | None) -> Answered | None:
        """Return the answer by a second connection; None if that does not speak HTTP/2 either.

        Raise FetchError.
        """
        if second is None:
            return None
        if second.http2 is None:
            second.abort()
            return None
        if visit.watch is not None:
            # None between two connections tells the watcher that this is another request.
            visit.watch.source = None
            visit.watch.source = second
        unclaimed_bytes = min(visit.bounds.truncate, BYTES_WITHOUT_CLAIM)
        parser = self._metered_parser(second, unclaimed_bytes, visit.method, visit.claim)
        requested_at = self._deadlines.add(second, visit.deadline)
        try:
            message = await second.ask(second.http2.request(visit.head, visit.body), parser)
        except FetchError:
            second.abort()
            raise
        finally:
            self._deadlines.remove(second)
        return Answered(second, parser, requested_at, message)

    def _claim_on_memory(self, limits: FetchLimits, options: Options) -> Claim | None:
        """Return the claim of a body that may be longer than others: in most crawls, a sitemap."""
        longest = LONGEST_SITEMAP if options.long and not limits.strict else 0
        claimed_bytes = max(limits.truncate, longest) - min(limits.truncate, BYTES_WITHOUT_CLAIM)
        if claimed_bytes <= 0:
            return None
        # A sitemap that finds no room is truncated. If it waited, slow ones would hold up fetchers.
        return Claim(self._room, claimed_bytes, may_wait=longest <= limits.truncate)

    def _metered_parser(
        self, connection: HttpConnection, unclaimed_bytes: int, method: str, claim: Claim | None
    ) -> AnswerParser:
        """Return a parser that stops reading where bandwidth or memory is short.

        `unclaimed_bytes` of a body need no memory of the `claim`.
        """
        # The kernel goes on receiving while we do not read: up to 6 MB per connection
        if self._bandwidth.rate and (window := self._bandwidth.window):
            connection.narrow(window)
        bodiless = method == "HEAD"
        return MeteredAnswer(
            self._bandwidth,
            connection,
            self._clock,
            unclaimed_bytes,
            bodiless=bodiless,
            claim=claim,
        )

    async def _new_connection(self, visit: Visit) -> HttpConnection:
        """Return a new connection; if TLS fails for want of HTTP/2, a second that offers it.

        What the server speaks is noted. Raise FetchError.
        """
        http2 = self.http2.offered(visit.key, visit.target.host)
        try:
            connection = await self._open(visit, http2=http2)
        except (Http2Only, TlsFailed) as error:
            if not http2 and self.http2.may_help(visit.key, error):
                second = await self._offer_http2(visit)
                if second is not None:
                    return second
            if isinstance(error, Http2Only):
                self.http2.tell(visit.target, error)
            # The next request goes to another address of the host first.
            if error.address:
                self._families.avoid(visit.target.host, error.address)
            raise
        if connection.http2 is not None:
            self.http2.chosen(visit.key, visit.target.host)
        elif connection.spoken:
            self.http2.declined(visit.key)
        return connection

    async def _offer_http2(self, visit: Visit, *, by_page: bool = False) -> HttpConnection | None:
        """Open a connection that offers HTTP/2, and note what the server speaks.

        Return None if this does not help either. `by_page`: what came for one URL led to it, and no
        handshake; so a failure is no reason to offer HTTP/2 the next time.
        """
        try:
            connection = await self._open(visit, http2=True)
        except FetchError as error:
            # A slow first handshake may have left too little time for this one.
            is_late = asyncio.get_running_loop().time() >= visit.deadline
            ran_out_of_time = is_late and isinstance(error, TlsTimeout)
            if isinstance(error, (Http2Only, TlsFailed)) and not ran_out_of_time:
                # For an hour no second handshake is tried.
                self.http2.record_support(visit.key, visit.target.host, speaks=False)
            elif not by_page:
                # It was not found out whether the server speaks HTTP/2, so the next request offers it.
                self.http2.suspect(visit.key)
            return None
        self.http2.record_support(
            visit.key,
            visit.target.host,
            speaks=connection.http2 is not None,
            by_page=by_page,
        )
        return connection

    async def _open(self, visit: Visit, *, http2: bool) -> HttpConnection:
        """Open a connection, through a proxy if the options have one. Raise FetchError."""
        options = visit.options
        if options.proxy is not None:
            connection = await self._proxied.open(
                options.proxy, visit.target, options, visit.timings, visit.deadline, http2=http2
            )
        else:
            before = visit.timings.connect  # of an earlier connection
            try:
                async with until(visit.deadline):
                    connection = await self._opener.open(
                        visit.target, visit.timings, options.bind, http2=http2
                    )
            except TimeoutError as error:
                if visit.timings.connect != before:
                    raise TlsTimeout("no handshake within the deadline") from error
                raise ConnectTimeout("no connection within the deadline") from error
        self.counters.opened += 1
        return connection


UPGRADE_REQUIRED, VERSION_NOT_SUPPORTED = OTHER_VERSION_STATUSES = 426, 505
_NAMES_HTTP2 = re.compile(rb"\b(h2|HTTP/2(\.0)?)\b", re.IGNORECASE)


def _may_want_http2(head: Head) -> bool:
    """Return whether HTTP/2 may get another answer.

    A 426 names in Upgrade what it wants, often a web socket.
    """
    if head.status == VERSION_NOT_SUPPORTED:
        return True
    wanted = [value for name, value in head.headers if name.lower() == b"upgrade"]
    return not wanted or any(map(_NAMES_HTTP2.search, wanted))


CONNECTION_CLOSE_LINE = b"\r\nConnection: close\r\n"  # a line that HTTP/2 does not have


PARTIAL, NOT_MODIFIED = PARTIAL_STATUSES = 206, 304
_RANGE = re.compile(rb"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")


def _is_part_of_page(head: Head, request: bytes) -> bool:
    """Return whether the head announces a part of the page, though the request was for all."""
    # Some servers send a 304 though the request had no condition.
    if head.status == NOT_MODIFIED:
        return b"\r\nif-" not in request.lower()
    if b"\r\nrange:" in request.lower():
        return False
    field = next((value for name, value in head.headers if name.lower() == b"content-range"), b"")
    match = _RANGE.fullmatch(field.strip())
    if match is None:
        return False
    first, last, size = map(int, match.groups())
    return last + 1 - first < size


def _key_with_options(key: Key, options: Options) -> Key:
    """Return the key of a connection to a server that was made with these options.

    Only a proxy and a local address matter to it.
    """
    if options.proxy is None and options.bind is None:
        return key
    return (*key, options.proxy, options.bind)


def _exchange_of(
    url: str,
    request: bytes,
    started: float,
    timings: Timings,
    connection: HttpConnection,
    message: Message,
) -> Exchange:
    """Return the exchange of an answer; it is marked as truncated if it is a part of the page."""
    head = message.head
    protocol = ""
    if connection.http2 is not None:
        request = request.replace(CONNECTION_CLOSE_LINE, b"\r\n", 1)
        protocol = H2
    wire, payload, body = message.forms()
    if head.status in PARTIAL_STATUSES and _is_part_of_page(head, request):
        message.stop("disconnect")
    return Exchange(
        url=url,
        request=request,
        status=head.status,
        head=head.raw,
        headers=head.headers,
        wire=wire,
        payload=payload,
        body=body,
        ip=connection.ip,
        started=started,
        timings=timings,
        truncated=message.truncated,
        flaws=(*connection.flaws, *message.flaws),
        tls=connection.tls,
        certificate=connection.certificate,
        protocol=protocol,
        claim=message.claim,
    )
