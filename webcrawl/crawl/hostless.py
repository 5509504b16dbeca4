"""Requests of the spider that need no host (`data:`): they never wait, and are saved."""

from __future__ import annotations

from collections import deque
from hashlib import sha256

import msgpack

from webcrawl.base.model import Link, Packed
from webcrawl.frontier.seen.content import SIZE, ContentSeen
from webcrawl.store.crawldb import CrawlDB, Part

META = "hostless"
SCHEMES = ("data",)


def needs_no_host(url: str) -> bool:
    """Return whether a request for this URL is answered from the URL itself."""
    return url.partition(":")[0].lower() in SCHEMES


class Hostless(Part):
    """Keeps the requests that need no host, and hands out each once, in order.

    A request that is under way at a checkpoint is handed out again by the next run.

    A `data:` URL is its own content, so the store of bodies says which of them were asked for
    before: it answers at once, and the store of URLs, whose answers go to the frontier, does not.
    """

    def __init__(self, db: CrawlDB, content: ContentSeen) -> None:
        self._db = db
        self._content = content
        self.waiting: deque[Packed] = deque(msgpack.unpackb(db.get(META) or msgpack.packb([])))
        self._under_way: dict[int, Packed] = {}  # by number, the first one first
        self._last_number = 0  # of a request that was handed out
        self._saved_count = len(self.waiting)  # requests in the last checkpoint
        db.join(self)

    @property
    def pending(self) -> int:
        """Return the number of requests that are not finished."""
        return len(self.waiting) + len(self._under_way)

    def is_known(self, link: Link, variant: str) -> bool:
        """Return whether this request was made before; from now on it was."""
        return self._content.seen(sha256(f"request {variant} {link.url}".encode()).digest()[:SIZE])

    def add(self, link: Link) -> None:
        """Queue a request."""
        self.waiting.append(link.pack())

    def next_request(self) -> tuple[int, Packed]:
        """Hand out the next request, with the number by which its end is told."""
        self._last_number += 1
        record = self._under_way[self._last_number] = self.waiting.popleft()
        return self._last_number, record

    def done(self, number: int) -> None:
        """Note that the request of this number was answered, or has failed."""
        del self._under_way[number]

    def put_back(self, number: int) -> None:
        """Make a request that could not be tried, because this machine lacked something, the next."""
        self.waiting.appendleft(self._under_way.pop(number))

    # -- the checkpoint

    def save(self) -> None:
        if self.pending or self._saved_count:
            # Those under way first: they were before the others.
            left = [*self._under_way.values(), *self.waiting]
            self._db.set(META, msgpack.packb(left))
            self._saved_count = len(left)
