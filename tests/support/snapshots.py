"""Checks a copy of a JOBDIR as of its last checkpoint: every URL is in exactly one place, every
file is whole.
"""

import re
import tempfile
import time
from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields
from itertools import chain
from pathlib import Path

import numpy as np
from scrapy.settings import Settings

from tests.support.crawling import SETTINGS, copy_of
from tests.support.warc_reader import read
from webcrawl.adapter.values import plain_values
from webcrawl.base.model import Status, unpack
from webcrawl.crawl.assembly import open_parts
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.ground import Surroundings
from webcrawl.crawl.hive.member import Membership, identity_of, saved_map
from webcrawl.crawl.hive.partition import partition_of
from webcrawl.frontier.check_state import check_seen
from webcrawl.frontier.health import AMBIGUOUS_ERRORS
from webcrawl.frontier.seen.sorted_keys import HIGHEST
from webcrawl.frontier.seen.sorted_keys import opened as opened_seen
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir import crawl_line
from webcrawl.urls.host_names import RegisteredDomains

LATE = ("time", "disconnect")  # what happens to answers while this process stands still
MERGED = 10.0  # seconds allowed for merging a test's few keys


@dataclass
class CrawlSnapshot:
    """The URLs of a JOBDIR, by state.

    robots.txt files, and what pages await, are separate because no link leads to them.
    """

    logged: Counter = field(default_factory=Counter)  # finished: crawl.log
    # finished robots.txt files, and inline downloads
    robots: Counter = field(default_factory=Counter)
    # finished with an answer, including robots.txt
    answered: Counter = field(default_factory=Counter)
    tried: Counter = field(default_factory=Counter)  # how often each was requested
    archived: Counter = field(default_factory=Counter)  # every answer in the archive
    excused: Counter = field(default_factory=Counter)  # those that used up no attempt, it may be
    late: Counter = field(default_factory=Counter)  # truncated while a process stood still
    # of the finished ones, those that ended with their host
    given_up: Counter = field(default_factory=Counter)
    queued: Counter = field(default_factory=Counter)  # in the frontier: waiting or in flight
    waiting: Counter = field(default_factory=Counter)  # new, but not yet in the frontier
    files: list = field(default_factory=list)  # names of archive files
    keys: Counter = field(default_factory=Counter)  # in the seen store

    @property
    def known(self):
        """Return every URL that was ever found."""
        return self.logged + self.queued + self.waiting


def snapshot_of(jobdir, *, archive=True, stopped=False, **settings):
    """Return the snapshot in a JOBDIR, which is not changed. Assert that it is consistent.

    If `archive`, it must have every answer. `stopped`: see `hive_snapshot`.
    """
    found, key = _snapshot_of(jobdir, settings, archive=archive, stopped=stopped)
    _assert_known(found, key)
    return found


def hive_snapshot(jobdirs, *, archive=True, moved=False, stopped=False, **settings):
    """Return the snapshot that these drones have together.

    Assert that each URL is in one place of one drone, and in one seen store. If `moved`, slots have
    changed hands: their former owners still know what was seen, and have answers to attempts. If
    `stopped`, a process stood still for a while: an answer that was truncated meanwhile is archived,
    and is no attempt of the URL.
    """
    parts = [
        _snapshot_of(jobdir, settings, archive=archive, moved=moved, stopped=stopped)
        for jobdir in jobdirs
    ]
    whole = CrawlSnapshot()
    for part, _ in parts:
        for each in fields(CrawlSnapshot):
            setattr(whole, each.name, getattr(whole, each.name) + getattr(part, each.name))
    assert max(whole.known.values(), default=1) == 1, whole.known.most_common(3)
    if moved:
        whole.keys = Counter(whole.keys.keys())
    _assert_archived(whole, archive=archive)
    _assert_known(whole, parts[0][1])
    return whole


@contextmanager
def opened(jobdir, settings):
    """Open the parts of a crawl in a copy of its JOBDIR for the block; yield them and the copy."""
    with tempfile.TemporaryDirectory(prefix="snapshot-") as folder:
        copy = Path(folder) / "job"
        copy_of(jobdir, copy)
        values = Settings()
        values.setmodule("webcrawl.settings")
        values.setdict({**SETTINGS, **settings, "JOBDIR": str(copy)}, "cmdline")
        values, db = plain_values(values, "web"), CrawlDB(copy / "state")
        parts = open_parts(values, db, Surroundings(member=_member(values, db)))
        with closing(Crawl(parts)):
            yield parts, copy


def _snapshot_of(jobdir, settings, *, archive, moved=False, stopped=False):
    """Return what is in a JOBDIR, and the function that makes the key of a URL."""
    with opened(jobdir, settings) as (parts, copy):
        assert parts.db.query("PRAGMA integrity_check") == [("ok",)]
        damages = [*parts.outputs.check(), *_damages_of_seen(copy / "state")]
        assert damages == [], damages
        found = _look(parts, copy, archive=archive, moved=moved, stopped=stopped)
        return found, parts.pipeline.key


def _damages_of_seen(state):
    """Return what `verify` finds wrong with what a crawl has seen."""
    snapshot, files = opened_seen(state)
    with closing(snapshot), closing(files):
        return list(check_seen(snapshot, files, Counter()))


def _member(values, db):
    """Return what a drone is in its hive; None for a crawl of its own."""
    identity = identity_of(db)
    if identity is None:
        return None
    slots = saved_map(db)
    partition = partition_of(values["HIVE_PARTITION"], RegisteredDomains()).with_slots_of(slots)
    return Membership(identity.drone, identity.name, db.get("key"), slots, partition)


def _look(parts, jobdir, *, archive, moved, stopped):
    """Return what the opened parts and the files beside them have."""
    found = CrawlSnapshot()
    _read_log(jobdir / "logs/crawl.log", found)
    noted = dict(parts.db.query("SELECT path, length FROM output"))
    for path in sorted((jobdir / "warc").glob("*.warc.gz*")) if (jobdir / "warc").exists() else []:
        name = f"warc/{path.name}"
        # the next start removes the others
        if noted.get(name, noted.get(name.removesuffix(".open"))) is not None:
            found.files.append(path.name)
            for url, is_excused, is_late in _captures(path):
                found.archived[url] += 1
                found.excused[url] += is_excused
                found.late[url] += is_late and stopped
    _read_frontier(parts, found)
    _read_seen(parts, found)
    if not moved:  # a URL takes its attempts along
        _assert_archived(found, archive=archive)
    assert max(found.known.values(), default=1) == 1, found.known.most_common(3)
    return found


def _assert_archived(found, *, archive):
    """Assert that there are no more answers than attempts, and each answer that ended a URL.

    What is queued knows all of its attempts.
    """
    excused = Counter({url: count for url, count in found.excused.items() if url in found.logged})
    assert found.archived - excused - found.late <= found.tried, _differences(found)
    assert found.answered <= found.archived or not archive, _differences(found)


def _differences(found):
    return found.answered - found.archived, found.archived - found.tried


def _read_log(path, found):
    """Add the URLs of a crawl.log. Assert that its last line is whole."""
    lines = path.read_bytes().split(b"\n")
    assert lines.pop() == b"", "the last line is truncated"
    for line in lines:
        _, status, _, url, how, *rest, notes = line.decode("ascii").split()
        assert len(rest) == 6
        is_unlinked = how.endswith("P") or crawl_line.INLINE in notes.split(",")
        (found.robots if is_unlinked else found.logged)[url] += 1
        found.answered[url] += int(status) > 0
        found.given_up[url] += "given_up" in notes.split(",")
        noted = re.search(r"\b(\d+)t\b", notes)
        tries = int(noted[1]) if noted else 1
        if int(status) <= Status.ROBOTS_UNREACHABLE:  # the last of these was no request
            tries -= 1
        found.tried[url] += tries


def _captures(path):
    """Yield the URL of each answer in an archive file, whether crawl.log need not count it as a try
    because it may be the fault of its host, and whether it was truncated as late ones are.
    """
    for record in read(path):
        if record.kind in ("response", "revisit"):
            is_excused = int(record.block[9:12]) in AMBIGUOUS_ERRORS
            is_late = record.fields.get("WARC-Truncated") in LATE and not is_excused
            yield record.fields["WARC-Target-URI"], is_excused, is_late


def _read_frontier(parts, found):
    """Add the URLs of all queues. Assert that they are sound and have as many URLs as is
    counted.
    """
    frontier = parts.frontier
    hosts = [frontier.core.hosts.get(name) for (name,) in parts.db.query("SELECT name FROM host")]
    outside = [*frontier.core.queues.front.queues, *frontier.core.queues.lines.queues.values()]
    domains = frontier.core.queues.budgets.table
    waiting = parts.db.query("SELECT name FROM domain WHERE waiting > 0")
    outside += [domains.get(name).queue for (name,) in waiting]
    of_hosts = [*chain(*(host.queues() for host in hosts))]
    queues = [*outside, frontier.core.queues.parked, *of_hosts]
    damages = [damage for queue in queues for damage in queue.check()]
    assert damages == [], damages
    origins = [origin for host in hosts for origin in (host.origins or {}).values()]
    records = [record for one in (*hosts, *origins) for _, record in one.later]
    for queue in (*outside, *of_hosts):
        while queue:
            records.append(queue.pop())
    # Queues of domains also have names of hosts
    records = [record for record in records if b" " in record]
    assert len(records) == frontier.queued, (len(records), frontier.queued)
    for link in map(unpack, records):
        found.tried[link.url] += link.attempt + link.struck
        if not link.path.endswith("P"):
            found.queued[link.url] += 1


def _read_seen(parts, found):
    """Merge all that waits, and add the keys of all that is known."""
    seen, end = parts.seen, time.monotonic() + MERGED
    while seen.pending:
        assert time.monotonic() < end, seen
        seen.merge()
        found.waiting.update(unpack(record).url for record in seen.pop_new(1000) if record)
    known = seen._f
    keys = [known._fresh, *(run.between(0, HIGHEST)[0] for run in known._runs.runs)]
    found.keys.update(np.concatenate(keys).tolist())


def _assert_known(found, key):
    """Asserts that the seen stores have exactly the keys of the URLs in the snapshot, each once."""
    had = dict(zip(map(key, found.known), found.known, strict=True))
    assert Counter(had.keys()) == found.keys, (
        found.keys.total(),
        [had.get(key, "lost") for key in had.keys() ^ found.keys.keys()][:10],
        [key for key, times in found.keys.items() if times > 1][:10],
    )
