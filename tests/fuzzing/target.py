"""A target: a function that drives a reader of foreign bytes and checks rules that hold for all
bytes.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from zlib import crc32

import pytest

from tests.fuzzing.kept import kept
from tests.support.cases import cases

MOST = 2000  # inputs that a campaign begins with
LONGEST = 8192  # bytes of a collected case that are mutated: the rest is more of the same


@dataclass(slots=True)
class Target:
    """`run` raises if a rule is broken.

    Its random choices derive from the input, so that a finding is reproducible.
    """

    name: str
    run: Callable[[bytes], None]
    seeds: list[bytes]  # small ones of our own: the target also runs without collected cases
    tokens: list[bytes]  # tokens of the format
    collected: Callable[[], Iterable[bytes]] = field(default=tuple)

    def corpus(self) -> list[bytes]:
        """Own seeds, then those that were kept, then collected ones if available."""
        found = [*self.seeds, *kept().get(self.name, ())]
        for case in self.collected():
            if len(found) >= MOST:
                break
            found.append(case[:LONGEST])
        return found


def folder(name: str) -> Path | None:
    """The folder of these collected cases; None if they are not available."""
    try:
        return cases(name)
    except pytest.skip.Exception:
        return None


def chance(data: bytes) -> Random:
    """A Random seeded by these bytes."""
    return Random(crc32(data))


def pieces(data: bytes, random: Random) -> list[bytes]:
    """The same bytes as a network may deliver them: in a few pieces, or in very small ones."""
    if len(data) < 300 and random.random() < 0.3:
        return [data[at : at + 1] for at in range(len(data))]
    edges = sorted(random.randrange(len(data) + 1) for _ in range(random.randrange(1, 7)))
    return [data[start:end] for start, end in pairwise([0, *edges, len(data)]) if start < end]
