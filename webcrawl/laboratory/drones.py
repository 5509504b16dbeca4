"""Which drone of a hive would have a host."""

from __future__ import annotations

from collections.abc import Callable

from webcrawl.hive.partition import BY_DOMAIN, Partition
from webcrawl.hive.slots import SlotMap
from webcrawl.urls.hosts import RegisteredDomains


def owner_among(drones: int) -> Callable[[str], int]:
    """The owner of each host in a new hive of so many drones."""
    partition = Partition(BY_DOMAIN, RegisteredDomains())
    owners = SlotMap.fair(range(drones), partition.groups).owners
    return lambda host: owners[partition.slot(host)]
