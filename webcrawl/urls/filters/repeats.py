"""The trap of relative links that lead deeper into the same page: `/css/css/css/`, `/a/b/a/b/a/b/`."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Self

from webcrawl.urls.filters.lines import leave_out

if TYPE_CHECKING:
    from webcrawl.urls.filters.protocol import Origin, Setup


class RepeatsFilter:
    """Drops paths in which a segment, or a pair of segments, comes round again and again."""

    name = "trap_repeats"

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        return cls() if setup.settings["TRAP_RULES"] else None

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        # Count slashes first: 0.1 us per URL, and only a fifth of real links need more. A path of just three equal
        # segments without a trailing slash is caught one step later.
        trapped = {url for url in urls if url.count("/") > 5 and repeats(url)}
        return leave_out(urls, trapped)


def repeats(url: str) -> bool:
    """Whether segments of the path repeat without end.

    A segment may not occur four times, nor three times with two of them adjacent; a pair may not occur three times.
    Numbers are exempt: `/11/11/11/` is a date and `/0/0/0/` an empty form.
    """
    parts = url.split("/")
    if len(parts) - len(set(parts)) < 2:  # true of nearly all URLs, and cheaper than what follows
        return False
    segments = [part for part in url.partition("?")[0].split("/")[3:] if part and not part.isdigit()]
    if len(segments) - len(set(segments)) < 2:
        return False
    counts = Counter(segments)
    if max(counts.values()) >= 4:
        return True
    pairs = Counter(pairwise(segments))
    return any(times >= 3 or (one == other and counts[one] >= 3) for (one, other), times in pairs.items())
