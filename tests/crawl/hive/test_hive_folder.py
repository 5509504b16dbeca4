"""The folder of a hive on one machine."""

import asyncio
import errno
import os
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event
from unittest.mock import AsyncMock, Mock

import msgpack
import pytest

from tests.support.served_hives import checkpoint
from tests.support.waiting import eventually
from webcrawl.crawl.hive import hive_folder
from webcrawl.crawl.hive.errors import Away, HiveError
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder
from webcrawl.crawl.hive.member import KEY, OBEYED, take_identity
from webcrawl.crawl.hive.operator import HiveView
from webcrawl.crawl.hive.partition import SlotMap, WantedMembers
from webcrawl.crawl.hive.registry import COMPANIONS, orders_in, saved_commands
from webcrawl.store import disk
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir import crawls
from webcrawl.tools.supervisor.hive_watch import HiveWatch

OURS, OTHER = b"k" * 16, b"o" * 16


@pytest.mark.parametrize("runs", [False, True])
def test_the_hive_that_a_server_knows(tmp_path, runs):
    """It is the folder's if a drone here has its key or, before its first checkpoint, one of its
    drones' ids.
    """
    folder = HiveFolder(tmp_path)
    assert not folder.is_of(OURS, set())
    with closing(CrawlDB(folder.drone(1) / "state")) as db:
        identity = take_identity(db, "web", 1)
        if not runs:
            db.close()
        assert not folder.is_of(OURS, {"another"})
        assert folder.is_of(OURS, {"another", identity.id})
    with closing(CrawlDB(folder.drone(0) / "state")) as db:
        db.set(KEY, OURS)
        db.checkpoint()

        assert folder.is_of(OURS, set())
        assert not folder.is_of(OTHER, set())


def test_a_state_that_cannot_be_read(tmp_path):
    """It may be of any hive: nobody is kept from stopping his drones by a damaged file."""
    folder = HiveFolder(tmp_path)
    (folder.drone(0) / "state").mkdir(parents=True)
    (folder.drone(0) / "state/crawl.db").write_text("damaged")

    assert folder.is_of(OURS, set())


def test_no_descriptors_while_the_hive_is_watched(tmp_path, monkeypatch, caplog):
    """A lack that passes is no reason to end all drones: it is said once, and everything is read
    again afterwards.
    """
    monkeypatch.setattr("webcrawl.tools.supervisor.hive_watch.WATCH_SECONDS", 0)
    folder, lacking, refused = HiveFolder(tmp_path), Event(), []
    folder.write(Founding("web", "web", "domain", 2, (0, 1)))
    lacking.set()

    def opened(path):
        if not lacking.is_set():
            return disk.regular(path)
        refused.append(path)
        raise OSError(errno.EMFILE, "Too many open files", str(path))

    monkeypatch.setattr(hive_folder, "regular", opened)
    monkeypatch.setattr(crawls, "regular", opened)

    async def run(watching):
        task = asyncio.create_task(watching.run())
        while len(refused) < 3 and not task.done():  # noqa: ASYNC110 - no event says so
            await asyncio.sleep(0)
        lacking.clear()
        folder.write(Founding("web", "web", "domain", 2, (0, 1, 2)))
        while len(watching.drones) < 3 and not task.done():  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    operator = Mock(read_hive=AsyncMock(side_effect=Away), aclose=AsyncMock())
    with monkeypatch.context() as plenty:
        plenty.setattr(hive_folder, "regular", disk.regular)
        plenty.setattr(crawls, "regular", disk.regular)
        watching = HiveWatch(folder, lambda: operator, None, set)
    asyncio.run(run(watching))

    assert (watching.failure, watching.drones) == (None, [0, 1, 2])
    assert [record.message for record in caplog.records] == [
        f"{tmp_path}/hive.json: Too many open files"
    ]


def test_the_look_at_the_checkpoints(tmp_path):
    """The latest map counts, and all orders that any drone has heard of, in their order."""
    folder, first = HiveFolder(tmp_path), SlotMap.fair(range(4))
    assert folder.read_checkpoints() == HiveView()

    shrinks, lost = (7, (0, 1), ()), (9, (0, 1), (3,))
    checkpoint(folder, 0, first, shrinks)
    checkpoint(folder, 1, first.resized(range(2)), shrinks)
    checkpoint(folder, 2, first, lost)
    (folder.drone(3) / "state").mkdir(parents=True)
    (folder.drone(3) / "state/crawl.db").write_text("damaged")

    look = folder.read_checkpoints()
    assert look.map == first.resized(range(2))
    assert [order.number for order in look.orders] == [7, 9]
    assert (look.order.members, look.order.lost) == ({0, 1}, {3})


@pytest.mark.parametrize(
    ("slots", "order", "ended", "changes"),
    [
        (SlotMap.fair(range(2)), (), (), False),
        (SlotMap.fair(range(2)), (0, 1), (), False),
        (SlotMap.fair(range(2)), (0, 1, 2), (), True),
        (SlotMap.fair(range(3)).resized(range(2)), (0, 1), (), True),
        (SlotMap.fair(range(3)).resized(range(2)), (0, 1), (2,), False),
    ],
)
def test_a_change_that_is_not_complete(tmp_path, slots, order, ended, changes):
    """It is not while the map has other members, or while one that leaves has not ended."""
    folder = HiveFolder(tmp_path)
    checkpoint(folder, 0, slots, *[(7, order, ())][: len(order)])
    for drone in ended:
        folder.drone(drone).mkdir()
        (folder.drone(drone) / "stats.json").write_text('{"reason": "finished"}')

    assert folder.is_changing(folder.read_checkpoints()) is changes


class TestOrder:
    """An order to a hive that does not run."""

    def test_in_the_checkpoints(self, tmp_path):
        """Each drone's checkpoint has it, behind all that the drone has heard; a drone that was
        given up, damaged, or never let in has not.
        """
        folder, slots, ahead = HiveFolder(tmp_path), SlotMap.fair(range(4)), 1 << 60
        for drone in range(3):
            checkpoint(folder, drone, slots, (7, (0, 1, 2, 3), ()))
        with closing(CrawlDB(folder.drone(0) / "state")) as db:
            db.set(OBEYED, msgpack.packb((ahead, None)))
            db.checkpoint()
        (folder.drone(3) / "state").mkdir(parents=True)
        (folder.drone(3) / "state/crawl.db").write_text("damaged" * 99)
        folder.drone(4).mkdir()

        folder.give_order((0, 1), (2,))

        order = WantedMembers(frozenset({0, 1}), frozenset({2}), ahead + 1)
        assert folder.read_checkpoints().order == order
        with closing(CrawlDB(folder.drone(2) / "state")) as db:
            assert len(saved_commands(db.get(COMPANIONS))) == 1
        with closing(CrawlDB(folder.drone(1) / "state")) as db:
            assert orders_in(saved_commands(db.get(COMPANIONS)))[-1] == order

    def test_a_kill_between_two_drones(self, tmp_path, monkeypatch):
        """The order is in force if one checkpoint has it."""
        folder = HiveFolder(tmp_path)
        for drone in range(3):
            checkpoint(folder, drone, SlotMap.fair(range(3)))
        kept, opened = [], CrawlDB

        def killed(path):
            if kept:
                raise KeyboardInterrupt
            kept.append(path)
            return opened(path)

        monkeypatch.setattr(hive_folder, "CrawlDB", killed)
        with pytest.raises(KeyboardInterrupt):
            folder.give_order((0, 1), (2,))

        assert folder.read_checkpoints().order.members == {0, 1}

    def test_no_drone_can_take_it(self, tmp_path):
        """Without a checkpoint that a hive has let in, the order is refused."""
        with pytest.raises(HiveError, match="no drone has taken a checkpoint yet: start the hive"):
            HiveFolder(tmp_path).give_order((0,), ())


class TestEarlierVersion:
    """An earlier version wrote orders to hive.json."""

    ABOUT = Founding("web", "web", "domain", 2, (0, 1))

    @pytest.mark.parametrize(
        ("lost", "wanted", "members", "given_up"),
        [
            ((), (0, 1, 2), {0, 1, 2}, set()),
            ((2,), (), {0, 1}, {2}),
            ((2,), (1,), {1}, {2}),
            ((1,), (), None, None),
            ((), (), None, None),
        ],
    )
    def test_its_orders_are_taken_over(self, tmp_path, lost, wanted, members, given_up):
        """The checkpoints get what they do not know, once, and hive.json has it no more."""
        folder = HiveFolder(tmp_path)
        for drone in range(2):
            checkpoint(folder, drone, SlotMap.fair(range(3)))
        folder.write(replace(self.ABOUT, lost=lost, wanted=wanted))
        before = folder.founding()

        after = [folder.take_over_orders(before, folder.read_checkpoints()) for _ in range(2)]

        assert after == [self.ABOUT] * 2
        orders = folder.read_checkpoints().orders
        assert len(orders) == (members is not None)
        assert [(one.members, one.lost) for one in orders] == [(members, given_up)][: len(orders)]

    def test_an_order_that_the_checkpoints_have(self, tmp_path):
        """It is not given once more."""
        folder = HiveFolder(tmp_path)
        checkpoint(folder, 0, SlotMap.fair(range(3)), (7, (0, 1), (2,)))

        before = replace(self.ABOUT, lost=(2,), wanted=(0, 1))
        after = folder.take_over_orders(before, folder.read_checkpoints())

        assert (after, len(folder.read_checkpoints().orders)) == (self.ABOUT, 1)

    def test_a_hive_that_no_drone_has_entered(self, tmp_path):
        """It is founded with the drones that were wanted."""
        before = replace(self.ABOUT, wanted=(0, 1, 2))
        after = HiveFolder(tmp_path).take_over_orders(before, HiveView())

        assert after == replace(self.ABOUT, founders=3, drones=(0, 1, 2))


def test_a_full_disk_while_the_members_are_noted(tmp_path, monkeypatch, caplog):
    """The launcher says once why it cannot note them, and tries again."""
    monkeypatch.setattr("webcrawl.tools.supervisor.hive_watch.WATCH_SECONDS", 0)
    folder, tries = HiveFolder(tmp_path), []
    folder.write(Founding("web", "web", "domain", 2, (0, 1)))
    look = HiveView(map=SlotMap.fair(range(3)))
    operator = Mock(read_hive=AsyncMock(return_value=look), aclose=AsyncMock())

    def full(_):
        tries.append(folder.founding().drones)
        raise OSError(errno.ENOSPC, "No space left on device")

    async def run():
        task = asyncio.create_task(HiveWatch(folder, lambda: operator, None, set).run())
        with monkeypatch.context() as disks:
            disks.setattr(os, "fsync", full)
            await eventually(lambda: len(tries) > 1)
        await eventually(lambda: folder.founding().drones == (0, 1, 2))
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(run())

    assert tries[0] == (0, 1)
    said = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert said == [f"{tmp_path}/hive.json: cannot be written: No space left on device"]


def test_who_may_read_it(tmp_path):
    """The file is as the umask lets it be, for other users of the group."""
    before = os.umask(0o002)
    try:
        HiveFolder(tmp_path).write(Founding("web", "web", "domain", 2, (0, 1)))
    finally:
        os.umask(before)

    assert (tmp_path / "hive.json").stat().st_mode & 0o777 == 0o664


def test_a_power_cut(tmp_path, monkeypatch):
    """What hive.json says is on the disk before it is at its name, and then its name is."""
    folder, synced, sync = HiveFolder(tmp_path), [], os.fsync

    def noted(descriptor):
        synced.append(
            (Path(f"/proc/self/fd/{descriptor}").resolve().name, (tmp_path / "hive.json").exists())
        )
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    folder.write(Founding("web", "web", "domain", 2, (0, 1)))

    assert synced == [("hive.json.new", False), (tmp_path.name, True)]
