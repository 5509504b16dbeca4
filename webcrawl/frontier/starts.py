"""Where random walks begin and begin again: the seeds, and the hosts visited so far with some pages of each."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from heapq import heapify, heappush, heappushpop
from random import Random

import msgpack

from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.hosts import host_of

SEED, NUMBER, HOST = "walk/seed/", "walk/number/", "walk/host/"
KEPT = 64  # pages per host


class Starts:
    """All of it lies in the database, one small row per seed and two per host, so memory does not depend on the number.

    Of a host with more visited pages than KEPT those with the smallest hashes are kept: a random sample of the distinct
    ones, however often each was visited.
    """

    def __init__(
        self, db: CrawlDB, random: Random, key: bytes, *, hosts: bool, counts: tuple[int, int] = (0, 0)
    ) -> None:
        """`hosts`: jumps lead to visited hosts, once there is one. `counts`: as of the last checkpoint."""
        self._db, self._random, self._key, self._by_host = db, random, key, hosts
        self._seeds, self._hosts = counts

    def __repr__(self) -> str:
        return f"<Starts seeds={self._seeds} hosts={self._hosts}>"

    def __bool__(self) -> bool:
        """Whether there is any."""
        return self._seeds > 0

    @property
    def counts(self) -> tuple[int, int]:
        """What a checkpoint keeps: how many seeds and hosts there are."""
        return self._seeds, self._hosts

    def add(self, urls: Iterable[str]) -> None:
        """These are seeds."""
        rows = [(f"{SEED}{number}", url.encode()) for number, url in enumerate(urls, self._seeds)]
        self._db.set_all(rows)
        self._seeds += len(rows)

    def visited(self, url: str) -> None:
        """A page was fetched."""
        if not self._by_host:
            return
        name = host_of(url)
        number = self._db.get(NUMBER + name)
        if number is None:
            number = str(self._hosts).encode()
            self._db.set(NUMBER + name, number)
            self._hosts += 1
        row = self._db.get(HOST + number.decode())
        pages = [] if row is None else [(-value, page) for value, page in msgpack.unpackb(row)]
        if self._keep(pages, url):
            self._db.set(HOST + number.decode(), msgpack.packb([(-value, page) for value, page in pages]))

    def _keep(self, pages: list[tuple[int, str]], url: str) -> bool:
        """Adds a page to those of its host, unless it is there or its hash is too large."""
        value = int.from_bytes(blake2b(url.encode(), key=self._key, digest_size=8).digest(), "big")
        if (-value, url) in pages:
            return False
        heapify(pages)  # the largest hash is first
        if len(pages) < KEPT:
            heappush(pages, (-value, url))
            return True
        return heappushpop(pages, (-value, url)) != (-value, url)

    def draw(self) -> str:
        """A random visited page of a random visited host, or a random seed."""
        if self._by_host and self._hosts:
            row = self._db.get(f"{HOST}{self._random.randrange(self._hosts)}")
            return str(self._random.choice(msgpack.unpackb(row))[1])
        seed = self._db.get(f"{SEED}{self._random.randrange(self._seeds)}")
        return seed.decode() if seed is not None else ""
