"""What a hive has lost, kept twice, or asked for from two drones at once, by its logs and the web's."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import groupby, pairwise

from tests.support.hives import captured, drone_of
from webcrawl.store.jobdir import crawl_line


@dataclass(frozen=True)
class Counts:
    """URLs and hosts by what went wrong with them."""

    lost: frozenset[str]  # in no drone's crawl.log, though a link leads there
    twice: frozenset[str]  # in crawl.log or in the archive more than once
    at_two: frozenset[str]  # hosts that two drones asked at once


NONE = Counts(frozenset(), frozenset(), frozenset())


def counts(logged, archived, must, hits, changes):
    """Count among URLs that a crawl must have.

    `logged`, `archived`: how often each URL is in the drones' logs and archives. `changes`: how
    often the hive's size has changed.
    """
    return Counts(
        lost=frozenset(must - logged.keys()),
        twice=frozenset(url for url in must if max(logged[url], archived[url]) > 1),
        at_two=frozenset(at_two(hits, changes)),
    )


def logged_in(jobdirs):
    """Return how often each URL is in the crawl.log of these drones."""
    paths = [jobdir / crawl_line.LOG for jobdir in jobdirs]
    lines = [line for path in paths for line in path.read_bytes().splitlines()]
    return Counter(crawl_line.read(line).url for line in lines)


def archived_in(jobdirs):
    """Return how many answers of each URL are in the archives of these drones."""
    return Counter(url for jobdir in jobdirs for url in captured(jobdir))


def at_two(hits, changes):
    """Yield the hosts that a drone asked while another one did, or whose drones took turns.

    Each change of the hive's size may give a host to another drone, once.
    """
    of_host = defaultdict(list)
    for hit in sorted(hits, key=lambda hit: hit.started):
        of_host[hit.host].append(hit)
    for host, requested in of_host.items():
        owners = [drone for drone, _ in groupby(map(drone_of, requested))]
        meet = any(
            second.started < first.ended
            for first, second in pairwise(requested)
            if drone_of(first) != drone_of(second)
        )
        if meet or len(owners) > 1 + changes:
            yield host
