"""WebSub: the subscriptions of pages at hubs, and the callback that hubs reach.

The table decides only; the caller of `due` sends the requests. Callback and secret of a
subscription are derived from the crawl's key. So nothing secret is in the table, and what a crash
has made us forget gets the same callback again (docs/revisits.md).
"""

from __future__ import annotations

import hashlib
import hmac
import socket
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode
from zlib import crc32

from webcrawl.content.formats import document_reader
from webcrawl.content.formats.listings import ListingEntry
from webcrawl.net.http_answerer import ClientLimits, Listener, ServerConnection
from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile
from webcrawl.urls.canonical import InvalidUrl, canonical

HUBS = 3  # of one page that are tried, in order
LONGEST_ADDRESS = 2000  # characters of an address


class Offer(NamedTuple):
    """The hub and the name that a page gives."""

    topic: str  # the page by the name that hubs know
    hubs: list[str]


def offer(
    url: str,
    headers: Iterable[tuple[bytes, bytes]],
    entries: Iterable[ListingEntry],
    site_of: Callable[[str], str],
) -> Offer | None:
    """Return the offer of a page that came from `url`; None if it names no usable hub.

    The headers go before the content. A page may call itself only by a name of its own site: else
    a stranger's hub could speak for it.
    """
    hubs, names = _of_headers(headers)
    if not hubs:
        in_content = [*entries]
        hubs = _with_role(in_content, "hub")
        names = names or _with_role(in_content, "self")
    usable = [hub for written in hubs[: 4 * HUBS] if (hub := address(written, url))]
    if not usable:
        return None
    different = list(dict.fromkeys(usable))
    return Offer(_own_name(names, url, site_of), different[:HUBS])


def _with_role(entries: Iterable[ListingEntry], role: str) -> list[str]:
    return [entry.url for entry in entries if entry.role == role]


def _own_name(names: Sequence[str], url: str, site_of: Callable[[str], str]) -> str:
    """Return the first of these names that is of the page's site, or the URL itself."""
    home = site_of(url)
    for written in names[:HUBS]:
        name = address(written, url)
        if name and site_of(name) == home:
            return name
    return url


def _of_headers(headers: Iterable[tuple[bytes, bytes]]) -> tuple[list[str], list[str]]:
    links = document_reader.links(headers)
    hubs = [address for kind, address, _, _ in links if kind == "hub"]
    return hubs, [address for _, address, _, rel in links if "self" in rel.lower().split()]


def address(written: str, base: str) -> str:
    """Return the canonical form of an address of the web; empty if this is none."""
    try:
        found = canonical(written, base, LONGEST_ADDRESS)
    except InvalidUrl:
        return ""
    return found if found.startswith(("http:", "https:")) else ""


METHODS = frozenset(("sha1", "sha256", "sha384", "sha512"))  # all that the specification knows


def is_signed(header: str, body: bytes, secret: str) -> bool:
    """Return whether this is the body's signature by the secret, `method=hexadecimal`.

    They are compared in constant time.
    """
    method, _, given = header.strip().partition("=")
    method = method.strip().lower()
    if method not in METHODS:
        return False
    expected = hmac.new(secret.encode(), body, getattr(hashlib, method)).hexdigest()
    return hmac.compare_digest(expected.encode(), given.strip().lower().encode("utf-8", "replace"))


FIELDS = "token, topic, hub, page, site, state, due, until, tries"
LOAD = f"SELECT {FIELDS}, crc FROM subscription WHERE token = ?"
DUE = f"SELECT {FIELDS}, crc FROM subscription WHERE due <= ? ORDER BY due LIMIT ?"
STORE = f"INSERT OR REPLACE INTO subscription ({FIELDS}, crc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
REMOVE = "DELETE FROM subscription WHERE token = ?"
MOST_SUBSCRIPTIONS = 10_000  # subscriptions of a crawl
PER_SITE = 100  # of one registered domain
PERSON = b"webcrawl websub"  # blake2b: no other use of the same key has this hash
HOUR, DAY = 3600.0, 86_400.0
LEASE = 10 * DAY  # asked for
LEASES = (60.0, 90 * DAY)  # what a hub may set
RENEWED = 0.9  # of a lease, after which it is renewed
PATIENCE = HOUR  # for the hub's verification, after it has accepted a request
RETRY = 5 * 60.0  # after a failure, doubled each time
TRIES = 6  # failed requests to a hub in a row, before it counts as gone
GONE = 30 * DAY  # until a hub that denied, or failed so often, may be asked again
CHALLENGE = 4096  # characters
REDIRECTS = (307, 308)  # RFC 9110 15.4: those that keep the method
HOPS = 3  # of these


class SubscriptionState(IntEnum):
    """The state of a subscription."""

    WANTED = 0  # to be asked for
    REQUESTED = 1  # the hub may verify that we did
    ACTIVE = 2
    RENEWING = 3  # active, and asked for again
    GONE = 4  # denied, or given up


LIVE = (SubscriptionState.ACTIVE, SubscriptionState.RENEWING)
UNDER_WAY = (SubscriptionState.REQUESTED, SubscriptionState.RENEWING)


@dataclass(frozen=True, slots=True)
class Subscription:
    """One row."""

    token: str
    topic: str
    hub: str
    page: bytes  # the packed link of the page that named the hub
    site: str  # its registered domain, of which the hub may speak
    state: int = SubscriptionState.WANTED
    due: float = 0.0  # when something is to be done
    until: float = 0.0  # end of the lease
    tries: int = 0

    @property
    def values(self) -> tuple[str, str, str, bytes, str, int, float, float, int]:
        about = self.token, self.topic, self.hub, self.page, self.site
        return (*about, int(self.state), self.due, self.until, self.tries)


class Subscriptions:
    """Subscriptions of a crawl. Time is seconds since 1970."""

    def __init__(self, db: CrawlDB, key: bytes, address: str) -> None:
        """`address`: where hubs reach us; a token follows it."""
        self._db = db
        self._key = key
        self._address = address.rstrip("/")
        self.counters: Counter[str] = Counter()
        db.need("subscription")
        db.need("subscription_due")

    def get(self, token: str) -> Subscription | None:
        rows = self._db.query(LOAD, (token,))
        return self._read(rows[0]) if rows else None

    def active(self, now: float) -> int:
        """Return the number of leases that have not run out."""
        sql = "SELECT count(*) FROM subscription WHERE state IN (2, 3) AND until > ?"
        return int(self._db.query(sql, (now,))[0][0])

    # -- asking hubs

    def offered(self, topic: str, hubs: list[str], page: bytes, site: str, now: float) -> None:
        """Take note of the hubs that a page names.

        The first one that is not gone is asked, if it was not.
        """
        for hub in hubs:
            token = self._token(topic, hub)
            known = self.get(token)
            if known is None:
                if self._makes_room(site):
                    self._store(Subscription(token, topic, hub, page, site, due=now))
                return
            if known.state != SubscriptionState.GONE:
                return

    def due(self, now: float, most: int, under_way: Container[str] = ()) -> list[Subscription]:
        """Return the subscriptions to request now. The caller reports the end of each by `sent`.

        What was denied or given up long ago is removed: if the page still names the hub, it is a
        new beginning. `under_way`: tokens of those whose end is still to come. They wait for their
        hubs' turns, and have not failed.
        """
        found = []
        for row in self._db.query(DUE, (now, most)):
            one = self._read(row)
            if one.state == SubscriptionState.GONE:
                self._db.execute(REMOVE, (one.token,))
                continue
            if one.token in under_way:
                self._store(replace(one, due=now + PATIENCE))
                continue
            is_live = one.state in LIVE and one.until > now
            state = SubscriptionState.RENEWING if is_live else SubscriptionState.REQUESTED
            requested = replace(one, state=state, due=now + PATIENCE)
            was_not_verified = one.state in UNDER_WAY
            if was_not_verified:
                self._store(self._failed(requested, now))
            else:
                self._store(requested)
                found.append(requested)
        return found

    def form(self, one: Subscription) -> bytes:
        """Return the body of the request to the hub."""
        fields = {
            "hub.callback": f"{self._address}/{one.token}",
            "hub.mode": "subscribe",
            "hub.topic": one.topic,
            "hub.lease_seconds": int(LEASE),
            "hub.secret": self._secret(one.token),
            "hub.verify": "async",  # hubs of PubSubHubbub 0.3 insist on it
        }
        return urlencode(fields).encode()

    def sent(self, token: str, status: int | None, now: float) -> None:
        """Take note of the status with which the hub has answered; one below 100: it did not.

        None: the crawl has given the request up, which is no failure of the hub's.
        """
        one = self.get(token)
        if one is None:
            return
        is_accepted = status is not None and 200 <= status < 300
        self.counters["websub/asked"] += is_accepted
        # The hub may have verified before its answer came.
        if one.state not in UNDER_WAY:
            return
        if status is None:
            is_renewal = one.state == SubscriptionState.RENEWING
            state = SubscriptionState.ACTIVE if is_renewal else SubscriptionState.WANTED
            self._store(replace(one, state=state, due=now + RETRY))
        elif is_accepted:
            self._store(replace(one, due=now + PATIENCE))
        # 408, 425 and 429 ask for another try (RFC 9110 15.5.9, RFC 8470 5.2, RFC 6585 4).
        elif 400 <= status < 500 and status not in (408, 425, 429):
            self._end(one, now)
        else:
            self._store(self._failed(one, now))

    # -- being asked by hubs

    def verify(self, token: str, said: Mapping[str, str], now: float) -> str | None:
        """Return the answer to a hub that asks whether we meant it; None: we did not."""
        one = self.get(token)
        mode = said.get("hub.mode", "")
        same = one is not None and hmac.compare_digest(
            one.topic.encode(), said.get("hub.topic", "").encode("utf-8", "replace")
        )
        if one is None or not same:
            self.counters["websub/unasked"] += 1
            return None
        if mode == "denied":
            if one.state != SubscriptionState.GONE:
                self._end(one, now)
            return ""
        challenge = said.get("hub.challenge", "")
        was_requested = mode == "subscribe" and one.state in UNDER_WAY
        is_sound = 0 < len(challenge) <= CHALLENGE
        if not was_requested or not is_sound:
            self.counters["websub/unasked"] += 1
            return None
        lease = _lease(said.get("hub.lease_seconds", ""))
        renewed_at = now + RENEWED * lease
        active = SubscriptionState.ACTIVE
        self._store(replace(one, state=active, due=renewed_at, until=now + lease, tries=0))
        self.counters["websub/verified"] += 1
        return challenge

    def knows(self, token: str) -> bool:
        """Return whether this is a callback of ours."""
        known = self.get(token) is not None
        self.counters["websub/unasked"] += not known
        return known

    def pushed(self, token: str, signature: str, body: bytes, now: float) -> Subscription | None:
        """Return the subscription of a push that may be believed.

        None for all others, which are counted.
        """
        one = self.get(token)
        if one is None or one.state not in LIVE or one.until <= now:
            self.counters["websub/unasked"] += 1
            return None
        if not is_signed(signature, body, self._secret(token)):
            self.counters["websub/forged" if signature else "websub/unsigned"] += 1
            return None
        self.counters["websub/pushes"] += 1
        return one

    # -- rows

    def _token(self, topic: str, hub: str) -> str:
        return self._derived(f"token {hub} {topic}")

    def _secret(self, token: str) -> str:
        return self._derived(f"secret {token}")

    def _derived(self, text: str) -> str:
        return blake2b(text.encode(), key=self._key, digest_size=24, person=PERSON).hexdigest()

    def _makes_room(self, site: str) -> bool:
        """Return whether there is room for one more; one that is gone gives way."""
        return self._makes_room_in("site = ?", (site,), PER_SITE) and self._makes_room_in(
            "1", (), MOST_SUBSCRIPTIONS
        )

    def _makes_room_in(self, which: str, values: tuple[str, ...], most: int) -> bool:
        if self._db.query(f"SELECT count(*) FROM subscription WHERE {which}", values)[0][0] < most:
            return True
        gone = f"SELECT token FROM subscription WHERE {which} AND state = ? ORDER BY due LIMIT 1"
        oldest = self._db.query(gone, (*values, int(SubscriptionState.GONE)))
        for row in oldest:
            self._db.execute(REMOVE, row)
        return bool(oldest)

    def _failed(self, one: Subscription, now: float) -> Subscription:
        """Book a failure: the subscription is tried again, later each time.

        A lease that runs is kept to its end, and tried for as long.
        """
        self.counters["websub/failed"] += 1
        due = now + RETRY * 2**one.tries
        tries = one.tries + 1
        if one.state == SubscriptionState.RENEWING and one.until > now:
            due = min(due, one.until)
            return replace(one, state=SubscriptionState.ACTIVE, due=due, tries=tries)
        if tries < TRIES:
            return replace(one, state=SubscriptionState.WANTED, due=due, tries=tries)
        return replace(one, state=SubscriptionState.GONE, due=now + GONE, tries=0)

    def _end(self, one: Subscription, now: float) -> None:
        self.counters["websub/denied"] += 1
        self._store(replace(one, state=SubscriptionState.GONE, due=now + GONE, tries=0))

    def _store(self, one: Subscription) -> None:
        self._db.execute(STORE, (*one.values, checksum(*one.values)))

    def _read(
        self, row: tuple[str, str, str, bytes, str, int, float, float, int, int]
    ) -> Subscription:
        if not rowcrc.agrees(checksum, row):
            raise DamagedFile(self._db.path, 0, f"table subscription, {row[0]}: wrong checksum")
        return Subscription(*row[:-1])


def checksum(
    token: str,
    topic: str,
    hub: str,
    page: bytes,
    site: str,
    state: int,
    due: float,
    until: float,
    tries: int,
) -> int:
    """Return the crc32 of a subscription's row."""
    numbers = f"{token} {topic} {hub} {site} {state} {due!r} {until!r} {tries}"
    return crc32(page, crc32(numbers.encode()))


def _lease(written: str) -> float:
    """Return the seconds that the hub has set; those that were asked for if it does not say."""
    digits = written.strip()
    is_number = digits.isascii() and digits.isdecimal()
    if not is_number or len(digits) > 11:
        return LEASE
    return min(max(float(digits), LEASES[0]), LEASES[1])


# -- the callback

MAX_CONNECTIONS = 64  # connections at once; the oldest gives way
REQUEST_PATIENCE = 20.0  # seconds for a request and its answer
HEAD = 16 << 10  # bytes of a request line and its headers
BODY = 2 << 20  # bytes of a push
FRAMED = 2 * BODY  # the same with what is around its chunks, and with what follows the last one
QUERY_FIELDS = 32  # of a query
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
    """The server. `verify` answers questions.

    `push` takes what is sent to a token that `knows` knows.

    Who knows no token sends no body: nothing of a stranger's is kept.
    """

    def __init__(
        self,
        listening: socket.socket,
        verify: Verify,
        push: Callable[[Push], None],
        knows: Callable[[str], bool],
    ) -> None:
        """`verify` answers hubs, `push` takes what they send, `knows` tells our tokens."""
        super().__init__(listening, lambda: HubRequest(self))
        self.verify = verify
        self.push = push
        self.knows = knows


class HubRequest(ServerConnection):
    """A hub that verifies, or pushes."""

    def __init__(self, callback: Callback) -> None:
        super().__init__(
            callback.open, ClientLimits(MAX_CONNECTIONS, REQUEST_PATIENCE, HEAD, BODY, FRAMED)
        )
        self._callback = callback

    def head_received(self) -> None:
        if self.method == b"GET":
            self._verify()
        elif self.method != b"POST":
            self.reply("405 Method Not Allowed", more="Allow: GET, POST\r\n")
        elif not self._callback.knows(self._token):
            self.reply("404 Not Found")

    def received(self) -> None:
        """Accept every push, believed or not: our answers must not reveal a secret."""
        push = Push(
            self._token,
            self._said(b"x-hub-signature"),
            self._said(b"content-type"),
            bytes(self.body),
        )
        self.body.clear()
        self.reply("202 Accepted")
        self._callback.push(push)

    @property
    def _token(self) -> str:
        """Return the last part of the path: a server before us may have added others."""
        path = self.target.partition(b"?")[0].decode("latin-1")
        return path.rpartition(PREFIX)[2]

    def _said(self, name: bytes) -> str:
        return next(iter(self.values(name)), b"").decode("latin-1")

    def _verify(self) -> None:
        """Answer a hub that asks whether a subscription is wanted: by its challenge, or 404."""
        query = self.target.partition(b"?")[2].decode("latin-1")
        try:
            query_fields = dict(
                parse_qsl(query, keep_blank_values=True, max_num_fields=QUERY_FIELDS)
            )
        except ValueError:
            self.reply("400 Bad Request")
            return
        answer = self._callback.verify(self._token, query_fields)
        if answer is None:
            self.reply("404 Not Found")
        else:
            self.reply("200 OK", answer.encode())
