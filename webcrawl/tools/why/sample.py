"""A sample of the URLs that a crawl knows and has not fetched, from its queues and from its log."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from random import Random, SystemRandom
from typing import Any

from webcrawl.base.model import is_link, url_of
from webcrawl.store.disk import regular
from webcrawl.store.jobdir import domain_row, host_row, meta_row
from webcrawl.store.jobdir.crawl_line import LOG as CRAWL_LOG
from webcrawl.store.jobdir.crawl_line import read as log_line
from webcrawl.store.jobdir.queue_row import SavedQueues
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.why.answer import Answer, Crawls
from webcrawl.tools.why.opened_crawl import Source
from webcrawl.tools.why.queued import NO_FRONT, saved_front
from webcrawl.tools.why.verdict import FETCHED, UNKNOWN

BLOCKS = 64  # blocks of queues looked at, at random places: each has some hundred URLs
HOSTS = 300  # hosts, and domains, from a random name on
PLACES = 64  # places of the log
PIECE = 1 << 14  # bytes read at each
MORE = 3  # candidates for each URL wanted: some were fetched meanwhile


def sample(crawls: Crawls, most: int, chance: Random | None = None) -> Iterator[Answer]:
    """At most so many answers."""
    chance = chance or SystemRandom()
    found = {url for source in crawls.sources for url in candidates(source, chance)}
    picked = chance.sample(sorted(found), min(len(found), MORE * most))
    given = 0
    for answer in crawls.answers(picked):
        if given < most and answer.state not in (FETCHED, UNKNOWN):
            given += 1
            yield answer


def candidates(source: Source, chance: Random) -> Iterator[str]:
    """URLs that wait, or ended without an answer."""
    snapshot = source.snapshot
    try:
        found = [*_in_blocks(snapshot, chance), *_in_rows(snapshot, chance)]
    except meta_row.UNREADABLE as error:
        raise snapshot.damaged(f"a queue cannot be read: {error!r}") from error
    for record in found:
        if is_link(record) and not record.split(b" ", 2)[1].endswith(b"P"):
            yield url_of(record)
    yield from _in_log(source, chance)


def _in_blocks(snapshot: Snapshot, chance: Random) -> Iterator[bytes]:
    """Blocks belong to all kinds of queues."""
    ((first, last),) = snapshot.rows("SELECT min(id), max(id) FROM block")
    queues = SavedQueues(snapshot)
    for _ in range(BLOCKS if last is not None else 0):
        place = chance.randint(first, last)
        for (data,) in snapshot.rows("SELECT data FROM block WHERE id >= ? ORDER BY id LIMIT 1", (place,)):
            yield from queues.cut(queues.unpack(data, "a block"), 0, "a block")


def _in_rows(snapshot: Snapshot, chance: Random) -> Iterator[bytes]:
    """The ends of queues, which are in no block: of levels and lines, and of some hosts and domains."""
    queues = SavedQueues(snapshot)
    front, lines = meta_row.value(snapshot, meta_row.FRONTIER, saved_front, NO_FRONT)
    saved: list[bytes | None] = [*front, *lines.values()]
    for row in _rows(snapshot, host_row.ALL, chance):
        host = host_row.read(row)
        yield from (record for _, record in host.later)
        saved += host.queues
    saved += [domain_row.read(row).queue for row in _rows(snapshot, domain_row.ALL, chance)]
    for one in saved:
        if one is not None:
            yield from queues.rest(one)


def _rows(snapshot: Snapshot, all_rows: str, chance: Random) -> Iterable[Any]:
    """Some rows from a random name on, and from the beginning if there are few behind it."""
    start = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=3))
    for sign, limit in ((">=", HOSTS), ("<", HOSTS)):
        yield from snapshot.rows(f"{all_rows} WHERE name {sign} ? LIMIT {limit}", (start,))


def _in_log(source: Source, chance: Random) -> Iterator[str]:
    """URLs that ended without an answer, from some places of the log."""
    path, length = source.jobdir / CRAWL_LOG, source.outputs.get(CRAWL_LOG, 0)
    try:
        file = regular(path)
    except OSError:
        return
    with file:
        size = min(length, os.fstat(file.fileno()).st_size)
        few = size <= PLACES * PIECE
        for place in range(0, size, PIECE) if few else [chance.randrange(size) for _ in range(PLACES)]:
            for piece in os.pread(file.fileno(), 2 * PIECE, place).split(b"\n"):
                line = log_line(piece)
                if line is not None and line.status < 0 and not line.is_prerequisite:
                    yield line.url
