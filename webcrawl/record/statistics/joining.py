"""The statistics of a hive from those of its drones: sums, because each host belongs to one of them."""

from __future__ import annotations

from collections.abc import Sequence

from webcrawl.record.statistics.statistics import Statistics
from webcrawl.store.jobdir.series import Series


def joined(parts: Sequence[Statistics], key: bytes) -> Statistics:
    """All of them in one, with the drones' common key; they stay as they are."""
    whole = Statistics(key)
    for part in parts:
        whole.since += part.since
        whole.lines += part.lines
        whole.outcomes.update(part.outcomes)
        whole.robots.update(part.robots)
        whole.documents += part.documents
        whole.size += part.size
        whole.duplicates += part.duplicates
        whole.duplicate_size += part.duplicate_size
        whole.times, whole.depths = _added(whole.times, part.times), _added(whole.depths, part.depths)
        whole.sizes = [_added(mine, theirs) for mine, theirs in zip(whole.sizes, part.sizes, strict=True)]
        whole.types.join(part.types)
        whole.domains.join(part.domains)
        whole.truncated.join(part.truncated)
        whole.hosts.join(part.hosts)
    whole.series = Series.joined(part.series for part in parts)
    return whole


def _added(mine: list[int], theirs: list[int]) -> list[int]:
    return [one + other for one, other in zip(mine, theirs, strict=True)]
