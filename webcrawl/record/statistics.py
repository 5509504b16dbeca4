"""The statistics of a crawl, as in section 4 of the Mercator paper (docs/watch.md).

They count how URLs have ended. `count_log_line` computes the same numbers from crawl.log.
"""

from __future__ import annotations

from calendar import timegm
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from heapq import nlargest
from typing import Any, NamedTuple

from webcrawl.base.model import FAILURES, Exchange, Link, Outcome, may_be_page
from webcrawl.base.page_values import has_block_page
from webcrawl.base.url_text import host_of
from webcrawl.content.recognise import SHELL
from webcrawl.record.tally import (
    BYTES,
    DOCUMENTS,
    DOWNLOADS,
    FAILED_URLS,
    GROUPS,
    MILLISECONDS,
    HostTally,
    NameTally,
    group_of,
    media_type_of,
)
from webcrawl.store.jobdir.crawl_line import DUPLICATE, NOTHING, TRUNCATED
from webcrawl.store.jobdir.stats_file import MOST, Series

# How many names are counted by themselves
MAX_TYPES = 512
MAX_DOMAINS = 2048
MAX_REASONS = 64
MAX_SCRIPTED_HOSTS = 4096
MAX_DEPTH = 255  # depths from here on are counted together
SIZE_BITS = 48  # numbers of more than 47 bits are counted together
MAX_CACHED_TYPES = 1024  # Content-Type headers whose media type is remembered
IP_ADDRESS = "(address)"  # in place of the top-level domain of an IP address


class Statistics:
    """Counts how URLs have ended: each is given to `count_answer` or `count_unanswered`, in 3 us.

    The statistics count each line of crawl.log and are part of its checkpoint, so that both agree
    after a kill.

    A document is an answer of status 2xx, except a robots.txt, which is counted apart, and a
    block page. Probes count only as downloads, because no site has their URLs.
    """

    def __init__(self, key: bytes) -> None:
        """`key` is that of the hash of host names, which decides what hosts are in the sample."""
        self.since = 0  # bytes of crawl.log that were written before statistics were kept
        self.lines = 0
        self.outcomes: Counter[int] = Counter()
        self.robots: Counter[int] = Counter()  # outcomes of robots.txt
        self.documents = 0
        self.size = 0  # bytes of all documents
        self.duplicates = 0
        self.duplicate_size = 0  # bytes of all duplicates
        self.types = NameTally(MAX_TYPES)
        self.domains = NameTally(MAX_DOMAINS)  # documents by top-level domain
        self.truncated = NameTally(MAX_REASONS)
        # Documents by group, and by the number of bits of their size
        self.sizes = [[0] * SIZE_BITS for _ in GROUPS]
        self.times = [0] * SIZE_BITS  # downloads by the number of bits of their milliseconds
        self.depths = [0] * (MAX_DEPTH + 1)  # documents by links followed since the seed
        # Pages that show next to nothing without their scripts, by host
        self.scripted = NameTally(MAX_SCRIPTED_HOSTS)
        self.hosts = HostTally(key)
        self.series = Series()
        # media type and group, by Content-Type header
        self._media_types: dict[str, tuple[str, int]] = {}

    def record_end(
        self, link: Link, outcome: Outcome, exchange: Exchange | None, at: float | None = None
    ) -> None:
        """Count the end of a URL. It came at the time `at`, or else at that of the outcome."""
        if exchange is None:
            self.count_unanswered(outcome.status, link.url, link.path)
        else:
            milliseconds = max(0, round(outcome.seconds * 1000))
            ended_at = outcome.at if at is None else at
            size = exchange.size
            is_block_page = bool(exchange.state.notes) and has_block_page(exchange.state.notes)
            self.count_answer(
                outcome.status,
                link.url,
                link.path,
                round(ended_at * 1000),
                milliseconds,
                size,
                exchange.content_type,
                is_block_page=is_block_page,
            )
            if exchange.state.duplicate:
                self.count_duplicate(size)
            if exchange.truncated:
                self.truncated.add(exchange.truncated, size)
            if exchange.state.notes and SHELL in exchange.state.notes:
                self.scripted.add(host_if_any(link.url), size)

    def count_unanswered(self, status: int, url: str, path: str) -> None:
        """Count a URL that has ended without an answer of its own."""
        self.lines += 1
        discovery = parse_discovery_path(path)
        if discovery.is_robots:
            self.robots[status] += 1
            return
        if not discovery.is_probe:
            self.outcomes[status] += 1
        if status in FAILURES:
            self.hosts.row_of(host_if_any(url))[FAILED_URLS] += 1

    def count_answer(
        self,
        status: int,
        url: str,
        path: str,
        at: int,
        milliseconds: int,
        size: int,
        content_type: str,
        *,
        is_block_page: bool = False,
    ) -> None:
        """Count a URL that has ended with an answer, which came at the time `at`, in milliseconds."""
        self.lines += 1
        self.times[min(milliseconds.bit_length(), SIZE_BITS - 1)] += 1
        discovery = parse_discovery_path(path)
        if discovery.is_robots:
            self.robots[status] += 1
            self.series.add(at, 0, size)
            return
        if not discovery.is_probe:
            self.outcomes[status] += 1
        host = host_if_any(url)
        row = self.hosts.row_of(host)
        row[MILLISECONDS] += milliseconds
        row[DOWNLOADS] += 1
        is_document = 200 <= status < 300 and not is_block_page and discovery.may_be_page
        if not is_document:
            self.series.add(at, 0, size)
            row[FAILED_URLS] += status >= 500
            return
        self.series.add(at, 1, size)
        row[DOCUMENTS] += 1
        row[BYTES] += size
        self.documents += 1
        self.size += size
        media_type, group = self._media_types.get(content_type) or self._add_media_type(
            content_type
        )
        self.types.add(media_type, size)
        self.sizes[group][min(size.bit_length(), SIZE_BITS - 1)] += 1
        self.domains.add(top_level_domain(host), size)
        self.depths[discovery.depth] += 1

    def count_duplicate(self, size: int) -> None:
        """Count the body of the last answer as one that was seen before."""
        self.duplicates += 1
        self.duplicate_size += size

    def _add_media_type(self, content_type: str) -> tuple[str, int]:
        """Return media type and group of a Content-Type header, and remember them."""
        if len(self._media_types) >= MAX_CACHED_TYPES:
            self._media_types.clear()
        media_type = media_type_of(content_type)
        known = self._media_types[content_type] = media_type, group_of(media_type)
        return known

    def join(self, part: Statistics) -> None:
        """Add what another crawl has counted, except its series: that has slots of its own."""
        vars(self).update(
            (name, _added(getattr(self, name), getattr(part, name))) for name in SAVED_VALUES
        )
        for name in SAVED_PARTS:
            if name != "series":
                getattr(self, name).join(getattr(part, name))

    # -- kept

    def save(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in SAVED_VALUES}
        return plain | {name: getattr(self, name).save() for name in SAVED_PARTS}

    def restore(self, saved: dict[str, Any]) -> None:
        vars(self).update((name, saved[name]) for name in SAVED_VALUES)
        self.outcomes = Counter(self.outcomes)
        self.robots = Counter(self.robots)
        for name in SAVED_PARTS:
            # The state of an earlier version has no `scripted`
            if name != "scripted" or name in saved:
                getattr(self, name).restore(saved[name])


SAVED_VALUES = (
    *("since", "lines", "outcomes", "robots", "documents", "size", "duplicates", "duplicate_size"),
    *("sizes", "times", "depths"),
)
SAVED_PARTS = ("types", "domains", "truncated", "scripted", "hosts", "series")


class DiscoveryPath(NamedTuple):
    """Facts about a URL that its discovery path tells."""

    is_robots: bool
    is_probe: bool
    may_be_page: bool
    depth: int  # links followed since the seed, MAX_DEPTH at most


@lru_cache(1024)  # a crawl has few different paths
def parse_discovery_path(path: str) -> DiscoveryPath:
    """Return what a discovery path says, with Heritrix's letters or the crawl's own."""
    depth = len(path) - path.count("R") - path.count("r")
    return DiscoveryPath(
        path[-1:] in ("P", "p"), path[-1:] == "S", may_be_page(path), min(depth, MAX_DEPTH)
    )


def host_if_any(url: str) -> str:
    """Return the host of a URL, without port, or an empty string: a spider's URL may have none."""
    try:
        return host_of(url)
    except (IndexError, ValueError):
        return ""


@lru_cache(1024)
def top_level_domain(host: str) -> str:
    """Return the last label of a host's name, or IP_ADDRESS if the host is an address."""
    # Most names end in a letter, and are no addresses: they need no further test
    if host[-1:] not in "0123456789.]":
        return host.rpartition(".")[2]
    host = host.rstrip(".")
    last_label = host.rpartition(".")[2]
    if host.endswith("]") or last_label.isdecimal():
        return IP_ADDRESS
    return last_label


def count_log_line(statistics: Statistics, fields: list[str]) -> None:
    """Count a line of crawl.log, given as its fields.

    Raise ValueError or IndexError if the line is malformed. Part of it may be counted then.
    """
    when, status, size, url, path, _, content_type, _, fetched, _, _, notes = fields
    path = "" if path == NOTHING else path
    if size == NOTHING:
        statistics.count_unanswered(int(status), url, path)
        return
    milliseconds = int(fetched.partition("+")[2])
    at = _milliseconds_of(when[:19]) + int(when[20:23])
    annotations = notes.split(",")
    statistics.count_answer(
        int(status),
        url,
        path,
        at,
        milliseconds,
        int(size),
        content_type,
        is_block_page=has_block_page(annotations),
    )
    for note in annotations:
        if note == DUPLICATE:
            statistics.count_duplicate(int(size))
        elif note.startswith(TRUNCATED):
            statistics.truncated.add(note.removeprefix(TRUNCATED), int(size))
        elif note == SHELL:
            statistics.scripted.add(host_if_any(url), int(size))


@lru_cache(64)
def _milliseconds_of(text: str) -> int:
    """Return the milliseconds since 1970 of a time in whole seconds, as in 2011-06-23T17:12:08."""
    year = int(text[:4])
    month = int(text[5:7])
    day = int(text[8:10])
    hour = int(text[11:13])
    minute = int(text[14:16])
    second = int(text[17:19])
    return 1000 * timegm((year, month, day, hour, minute, second))


def join_statistics(parts: Sequence[Statistics], key: bytes) -> Statistics:
    """Return the sum of the statistics of drones. `key` is their common key of host names."""
    whole = Statistics(key)
    for part in parts:
        whole.join(part)
    whole.series = Series.joined(part.series for part in parts)
    return whole


def _added(mine: Any, theirs: Any) -> Any:
    """Return the sum of two numbers or counters, or of two lists, element by element."""
    if isinstance(mine, list):
        return [_added(one, other) for one, other in zip(mine, theirs, strict=True)]
    return mine + theirs


def figures(statistics: Statistics) -> dict[str, Any]:
    """Return the statistics for stats.json: a few kilobytes, whatever the size of the crawl."""
    return {
        "urls": statistics.lines,
        "documents": statistics.documents,
        "document_bytes": statistics.size,
        "duplicates": statistics.duplicates,
        "duplicate_bytes": statistics.duplicate_size,
        "outcomes": {str(status): number for status, number in sorted(statistics.outcomes.items())},
        "robots_txt": {str(status): number for status, number in sorted(statistics.robots.items())},
        "truncated": _top_names(statistics.truncated),
        "content_types": _top_names(statistics.types),
        "sizes": {
            group: _counts_by_size(bins)
            for group, bins in zip(GROUPS, statistics.sizes, strict=True)
            if any(bins)
        },
        "milliseconds": _counts_by_size(statistics.times),
        "depths": {str(depth): number for depth, number in enumerate(statistics.depths) if number},
        "top_level_domains": _top_names(statistics.domains),
        "hosts": _host_figures(statistics.hosts),
        "series": statistics.series.table(),
    }


def _counts_by_size(bins: list[int]) -> dict[str, int]:
    """Return the counts above zero, by the smallest number of each bin: 0, 1, 2, 4 and so on."""
    return {str(smallest_number(bits)): number for bits, number in enumerate(bins) if number}


def smallest_number(bits: int) -> int:
    return 1 << bits - 1 if bits else 0


def _top_names(tally: NameTally) -> dict[str, list[int]]:
    """Return number and bytes of the most frequent names, and of all others together."""
    return {name: [number, size] for name, number, size in tally.top(MOST)}


def _host_figures(hosts: HostTally) -> dict[str, Any]:
    """Return the number of hosts with documents, and the first hosts by each measure."""
    return {
        "with_documents": hosts.with_documents,
        "exact": not hosts.level,
        "may_lack": hosts.max_missed,
        "most_documents": _top_hosts(hosts, DOCUMENTS),
        "most_bytes": _top_hosts(hosts, BYTES),
        "most_failures": _top_hosts(hosts, FAILED_URLS),
    }


def _top_hosts(hosts: HostTally, measure: int) -> dict[str, list[int]]:
    """Return documents, bytes and failures of the first MOST hosts by this measure."""
    # The crawl waits for this at each checkpoint: with a key, `nlargest` takes five times as long
    values = nlargest(MOST, [row[measure] for row in hosts.rows.values()])
    least = max(1, values[-1]) if values else 1
    top = [(name, row) for name, row in hosts.rows.items() if row[measure] >= least]
    top.sort(key=lambda host: host[1][measure], reverse=True)
    return {name: row[: FAILED_URLS + 1] for name, row in top[:MOST]}
