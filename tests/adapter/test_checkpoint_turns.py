"""Work ahead of a checkpoint: in slices, and idle while the disk is at it."""

import asyncio
import time
from contextlib import closing
from itertools import groupby
from unittest.mock import MagicMock

import pytest

from webcrawl.crawl.barrier import Barrier
from webcrawl.crawl.checkpointing import Checkpointing, by_turns
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk
from webcrawl.store.outputs import Outputs


class SlowDisk(Disk):
    """Its syncs take a while."""

    def sync(self, fd):
        time.sleep(0.2)
        super().sync(fd)


def test_waiting_for_the_disk_costs_no_processor(tmp_path):
    """While a thread syncs, the loop looks at it once in a millisecond, however fast it could."""
    turns = []
    with (
        closing(CrawlDB(tmp_path / "state", SlowDisk())) as db,
        closing(Outputs(db, tmp_path)) as outputs,
    ):
        outputs.open("log").write(b"a line")
        begun = time.monotonic()
        asyncio.run(by_turns(map(turns.append, outputs.prepare())))
        seconds = time.monotonic() - begun

    assert 1 < len(turns) <= 1000 * seconds


def test_a_slice_says_how_long_its_pause_is():
    """Who waits for something slower than a disk is not asked a thousand times in a second."""
    begun = time.monotonic()
    asyncio.run(by_turns(iter((0.05, None, 0.05))))

    assert time.monotonic() - begun >= 0.1


def test_slices_of_work_go_together():
    """In one turn of the event loop as many as 4 ms have room for; others have their turns between
    these.
    """
    now = turn = 0

    def slices():
        nonlocal now
        for _ in range(12):
            now += 0.001
            found.append(turn)
            yield

    async def others():
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    async def run():
        beside = asyncio.create_task(others())
        await by_turns(slices(), clock=lambda: now)
        beside.cancel()

    found = []
    asyncio.run(run())

    assert [len(list(group)) for _, group in groupby(found)] == [4, 4, 4]


@pytest.mark.parametrize("last", [True, False])
def test_nothing_is_done_after_the_last_checkpoint(last):
    """From its COMMIT on everybody knows that what is done is lost, also while the log is still
    being truncated.
    """
    found = []

    def truncate():
        found.append(keeping.saves_no_more)
        yield

    crawl = MagicMock()
    crawl.parts.db.prepare.return_value = iter(())
    crawl.parts.db.go_on = truncate
    keeping = Checkpointing(MagicMock())
    keeping.open(crawl, Barrier(), bool)
    asyncio.run(keeping.checkpoint(last=last))

    assert found == [last]
    assert keeping.saves_no_more is last
