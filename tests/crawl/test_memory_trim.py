"""Memory goes back to the system, and as seldom as it helps."""

import asyncio
import platform
from itertools import chain, repeat

import pytest

from tests.support.waiting import eventually
from webcrawl.base.system import malloc_trim, resident_bytes
from webcrawl.crawl.memory_trim import MIB, Trim, TrimPace


def trims(given, intervals):
    """At which intervals a trim is due, if the trims give back so much."""
    pace, due = TrimPace(), []
    for interval in range(intervals):
        if pace.due():
            due.append(interval)
            pace.gave(next(given))
    return due


class TestPace:
    def test_every_interval_while_it_helps(self):
        """A trim that gives something back is repeated at the next interval."""
        assert trims(repeat(10 * MIB), 5) == [0, 1, 2, 3, 4]

    def test_ever_fewer_when_it_does_not(self):
        """After each trim in vain twice as many intervals pass, sixteen at most; memory may even
        have grown.
        """
        assert trims(repeat(-MIB), 80) == [0, 2, 6, 14, 30, 46, 62, 78]

    def test_again_when_it_helps_again(self):
        """One trim that gives something back is followed by the next at once."""
        assert trims(chain([0, 0, 50 * MIB], repeat(10 * MIB)), 9) == [0, 2, 6, 7, 8]


class TestTrim:
    def test_it_runs_beside_the_crawl_and_ends_with_it(self):
        """From the spider's opening to its closing there is a trim per interval, and none
        afterwards.
        """
        calls = []

        async def go():
            trim = Trim(0.01, lambda: calls.append(1), lambda: 0 if len(calls) % 2 else 100 * MIB)
            trim.opened()
            await eventually(lambda: len(calls) > 1)
            trim.closed()
            made = len(calls)
            await asyncio.sleep(0.05)
            return made

        assert asyncio.run(go()) == len(calls)

    def test_a_spider_that_was_never_opened_can_be_closed(self):
        """closed() without opened() does nothing."""
        Trim(1.0, lambda: None, lambda: 0).closed()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_glibc_gives_back_what_lies_between_blocks_in_use():
    """Of 64 MiB in pieces, every hundredth kept, more than a half goes back to the system."""
    pieces = [bytearray(60_000) for _ in range(1100)]
    kept = pieces[::100]
    before = resident_bytes()
    del pieces
    malloc_trim()()

    assert before - resident_bytes() > 32 * MIB
    assert len(kept) == 11
