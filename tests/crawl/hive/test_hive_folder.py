"""The folder of a hive on one machine."""

import asyncio
import errno
import os
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from unittest.mock import AsyncMock, Mock

import pytest

from webcrawl.crawl.hive import hive_folder
from webcrawl.crawl.hive.errors import Away, HiveError
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder
from webcrawl.crawl.hive.member import KEY, keep_map, take_up
from webcrawl.crawl.hive.operator import HiveLook
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.crawl.hive.queen import Report
from webcrawl.store import disk
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir import crawls
from webcrawl.store.lock import FileLock
from webcrawl.tools.supervisor import changes
from webcrawl.tools.supervisor.watching import HiveWatch

OURS, OTHER = b"k" * 16, b"o" * 16


def settled_hive():
    """An operator whose server knows of the change to two drones, and that it is over."""
    about = {"identity": "x", "run": 1, "beat": 3, "generation": 1}
    slots = SlotMap.fair(range(2))
    look = HiveLook(
        map=slots,
        reports={drone: Report(drone=drone, saved=True, **about) for drone in (0, 1)},
        leases={0: 9.0, 1: 9.0},
        wanted=frozenset({0, 1}),
    )
    return Mock(look=AsyncMock(return_value=look), aclose=AsyncMock())


@pytest.mark.parametrize("runs", [False, True])
def test_the_hive_that_a_server_knows(tmp_path, runs):
    """It is the folder's if a drone here has its key or, before its first checkpoint, one of its
    drones' ids.
    """
    folder = HiveFolder(tmp_path)
    assert not folder.is_of(OURS, set())
    with closing(CrawlDB(folder.drone(1) / "state")) as db:
        identity = take_up(db, "web", 1)
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


def test_two_who_change_hive_json(tmp_path):
    """Nothing that one of them writes is lost, whatever the other writes at the same moment."""
    folder, half = HiveFolder(tmp_path), 50
    folder.write(Founding("web", "web", "domain", 2, (0, 1)))

    def lost_too(number, known):
        return replace(known, lost=(*known.lost, number))

    def add(begin):
        for number in range(begin, begin + half):
            folder.change(partial(lost_too, number))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(add, (2, 2 + half)))

    assert sorted(folder.known().lost) == [*range(2, 2 + 2 * half)]
    assert [path.name for path in tmp_path.iterdir()] == ["hive.json"]


def test_an_order_while_the_hive_follows_the_one_before(tmp_path):
    """The process that runs the hive does not write over an order that comes while it decides."""
    folder = HiveFolder(tmp_path)
    folder.write(Founding("web", "web", "domain", 2, (0, 1), wanted=(0, 1)))
    orders, decides = ThreadPoolExecutor(1), Event()

    def ended():
        """Asked while it decides whether the change has ended; an order comes at this moment."""
        if decides.is_set():
            order = orders.submit(folder.change, lambda known: replace(known, wanted=(0, 1, 2)))
            wait([order], 0.5)  # it has been noted, or has to wait
        return ()

    watching = HiveWatch(folder, settled_hive, None, ended)
    decides.set()
    asyncio.run(watching.last())
    orders.shutdown()

    assert folder.known().wanted == (0, 1, 2)


def test_another_process_that_does_not_let_go_of_hive_json(tmp_path, monkeypatch):
    """Who waits for another process says so at last, and has changed nothing."""
    folder = HiveFolder(tmp_path)
    folder.write(Founding("web", "web", "domain", 2, (0, 1)))
    monkeypatch.setattr(hive_folder, "PATIENCE", 0.0)
    with (
        closing(FileLock(tmp_path / "hive.json")),
        pytest.raises(HiveError, match=r"hive.json: another process is"),
    ):
        folder.change(lambda known: replace(known, wanted=(0,)))

    assert folder.known().wanted == ()
    folder.change(lambda known: replace(known, wanted=(0,)))
    assert folder.known().wanted == (0,)


def test_no_descriptors_while_the_hive_is_watched(tmp_path, monkeypatch, caplog):
    """A lack that passes is no reason to end all drones: it is said once, and everything is read
    again afterwards.
    """
    monkeypatch.setattr("webcrawl.tools.supervisor.watching.INTERVAL", 0)
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

    operator = Mock(look=AsyncMock(side_effect=Away), aclose=AsyncMock())
    with monkeypatch.context() as plenty:
        plenty.setattr(hive_folder, "regular", disk.regular)
        plenty.setattr(crawls, "regular", disk.regular)
        watching = HiveWatch(folder, lambda: operator, None, set)
    asyncio.run(run(watching))

    assert (watching.trouble, watching.drones) == (None, [0, 1, 2])
    assert [record.message for record in caplog.records] == [
        f"{tmp_path}/hive.json: Too many open files"
    ]


def test_the_map_of_the_checkpoints(tmp_path):
    """The latest one counts: with it, drones are found that hive.json has dropped and the crawl
    still waits for.
    """
    folder, first = HiveFolder(tmp_path), SlotMap.fair(range(4))
    folder.write(Founding("web", "web", "domain", 4, (0, 1), lost=(3,)))
    assert folder.saved_map() is None

    for drone, slots in enumerate((first, first.resized(range(2)), first, first)):
        with closing(CrawlDB(folder.drone(drone) / "state")) as db:
            keep_map(db, slots)
            db.checkpoint()

    assert folder.saved_map() == first.resized(range(2))
    assert folder.leaving(folder.saved_map(), folder.known()) == {2}
    assert folder.leaving(None, folder.known()) == set()


def test_a_full_disk_while_a_change_ends(tmp_path, monkeypatch, caplog):
    """The process that runs the hive tries again, and says once why it has to."""
    folder = HiveFolder(tmp_path)
    folder.write(Founding("web", "web", "domain", 2, (0, 1), wanted=(0, 1)))
    watching = HiveWatch(folder, settled_hive, None, set)

    with monkeypatch.context() as full:
        full.setattr(
            os, "fsync", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
        )
        asyncio.run(watching.last())
        asyncio.run(watching.last())
    assert folder.known().wanted == (0, 1)
    asyncio.run(watching.last())

    assert folder.known().wanted == ()
    said = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert said == [f"{tmp_path}/hive.json: cannot be written: No space left on device"]


def test_a_full_disk_at_an_order(tmp_path, monkeypatch):
    """It is refused before anybody hears of it, and nothing is left beside hive.json."""
    folder = HiveFolder(tmp_path)
    folder.write(Founding("web", "web", "domain", 2, (0, 1)))
    operator = Mock(look=AsyncMock(return_value=HiveLook(leases={0: 9.0})), aclose=AsyncMock())

    monkeypatch.setattr(
        os, "fsync", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    )
    with (
        closing(folder.lock()),
        pytest.raises(HiveError, match=r"hive.json: cannot be written: No space left on device"),
    ):
        changes.resize(SimpleNamespace(running=lambda: lambda: operator, folder=folder), 1, str)

    assert not operator.resize.called
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hive.json", "lock"]


def test_who_may_change_it(tmp_path):
    """The file is as writable as the umask lets it be, for orders of another user of the group."""
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
