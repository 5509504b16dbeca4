"""Checks that each drone of a hive asked only for what belongs to it, as long as no host has changed hands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from webcrawl.hive.partition import WAYS, partition_of
from webcrawl.store.errors import DamagedFile
from webcrawl.urls.hosts import RegisteredDomains, host_of
from webcrawl.verify.standing import Standing

KNOWN = 1 << 16  # authorities whose owners are remembered
Owner = Callable[[bytes], int]
UNKNOWN = -1  # the owner of what has no host


def owner_of(drones: Iterable[Standing]) -> Owner | None:
    """Whose a URL has been from the beginning on; None if the owners have changed, or depend on a file."""
    first = next(iter(drones), None)
    ways = {one.partition for one in drones}
    if first is None or first.slots is None or len(ways) > 1 or not ways <= set(WAYS):
        return None
    if any(one.slots is None or one.slots.generation > 1 for one in drones):
        return None
    slot, owners = partition_of(first.partition, RegisteredDomains()).slot, first.slots.owners

    @lru_cache(KNOWN)
    def of_authority(start: bytes) -> int:
        try:
            return owners[slot(host_of(f"{start.decode()}/"))]
        except IndexError:
            return UNKNOWN

    return lambda url: of_authority(b"/".join(url.split(b"/", 3)[:3]))


def check_owners(drone: int, urls: Iterable[tuple[bytes, Path, int]], owner: Owner) -> Iterator[DamagedFile]:
    """Yields each URL of this drone's log that is another's."""
    for url, path, at in urls:
        theirs = owner(url)
        if theirs not in (drone, UNKNOWN):
            yield DamagedFile(path, at, f"{url.decode(errors='replace')} belongs to drone {theirs}")
