"""What is watched of a hive and shown; and how hive.json follows a change, and loses no drone that
has work left.
"""

import asyncio
from array import array
from dataclasses import replace
from types import SimpleNamespace

import pytest
from scrapy.settings import Settings

from tests.support.waiting import eventually
from webcrawl.crawl.hive.errors import Away
from webcrawl.crawl.hive.hive_folder import Founding
from webcrawl.crawl.hive.operator import HiveLook
from webcrawl.crawl.hive.partition import SLOTS, SlotMap
from webcrawl.crawl.hive.queen import DroneState, Report
from webcrawl.store.jobdir.figures import merged
from webcrawl.tools.supervisor import watching
from webcrawl.tools.supervisor.watching import (
    HiveProgress,
    HiveWatch,
    followed,
    repeat_change,
    to_run,
)

SHRINKS = Founding("web", "web", "domain", 3, (0, 1, 2), wanted=(0, 1))
GROWS = Founding("web", "web", "domain", 2, (0, 1), wanted=(0, 1, 2))
AGAIN = {"revisit/records": 50, "revisit/taken": 20, "revisit/freshness": 0.5, "revisit/sampled": 9}
MORE = {"revisit/records": 150, "revisit/taken": 5, "revisit/freshness": 0.9, "revisit/sampled": 9}


class Folder:
    """Drones that took a checkpoint once."""

    def __init__(self, *saved):
        self._saved = saved

    def figures(self, drone):
        return {"pages": 1} if drone in self._saved else {}

    def leaving(self, slots, _founding):
        return {drone for drone in slots.leaving if drone in self._saved}


def look(members, alive, wanted=(0, 1), leaving=()):
    """Those that are alive work by a map of these members; who is no member gives away what it has."""
    about = {"identity": "x", "run": 1, "beat": 3, "generation": 2}
    state = {
        drone: DroneState.RUNNING if drone in members else DroneState.DRAINING for drone in alive
    }
    return HiveLook(
        map=SlotMap(2, tuple(members), array("H", [0] * SLOTS), leaving),
        reports={drone: Report(drone=drone, state=state[drone], **about) for drone in alive},
        leases=dict.fromkeys(alive, 1.0),
        wanted=frozenset(wanted),
    )


@pytest.mark.parametrize(
    ("seen", "ended", "drones", "wanted"),
    [
        pytest.param(
            look((0, 1), (0, 1, 2)), (), (0, 1, 2), (0, 1), id="it hands over everything itself"
        ),
        pytest.param(
            look((0, 1), (0, 1)), (), (0, 1, 2), (0, 1), id="it was killed, and the server emptied"
        ),
        pytest.param(look((0, 1), (0, 1)), (2,), (0, 1), (), id="it has ended"),
        pytest.param(
            look((0, 1), ()),
            (0, 1, 2),
            (0, 1, 2),
            (0, 1),
            id="all have ended, and nothing is known",
        ),
        pytest.param(
            look((0, 1), (0, 1), ()),
            (2,),
            (0, 1, 2),
            (0, 1),
            id="the server does not know the order",
        ),
    ],
)
def test_a_drone_that_leaves(seen, ended, drones, wanted):
    """It stays in hive.json until its process has ended with nothing left, whatever the server
    knows of it.
    """
    now = followed(Folder(0, 1, 2), SHRINKS, seen, ended)

    assert (now.drones, now.wanted) == (drones, wanted)


def test_a_drone_that_never_came():
    """One that took no checkpoint, and that the server does not know, has nothing to give away."""
    now = followed(Folder(0, 1), SHRINKS, look((0, 1), (0, 1)), ())

    assert (now.drones, now.wanted) == ((0, 1), ())


def test_new_drones():
    """They are to run when the server knows the order, and the change has ended when they have
    their slots.
    """
    folder = Folder(0, 1)

    assert followed(folder, GROWS, look((0, 1), (0, 1), ()), ()) == GROWS
    begun = followed(folder, GROWS, look((0, 1), (0, 1), (0, 1, 2)), ())
    assert begun == replace(GROWS, drones=(0, 1, 2))
    done = followed(folder, begun, look((0, 1, 2), (0, 1, 2), (0, 1, 2)), ())
    assert done == replace(begun, wanted=())


def test_a_crawl_that_is_over():
    """A change has ended with the crawl, too: members that have ended well are not waited for."""
    seen = replace(look((0, 1, 2), (0, 1, 2), (0, 1, 2)), leases={})

    assert followed(Folder(), GROWS, seen, (0, 1, 2)).wanted == ()
    assert followed(Folder(), GROWS, seen, ()).wanted == (0, 1, 2)


def test_a_drone_that_has_left_and_is_wanted_again():
    """It is not to run any more; when it is wanted again, it begins anew."""
    folder = Folder(0, 1, 2)
    seen = look((0, 1), (0, 1, 2), leaving=(2,))

    assert to_run(folder, SHRINKS, seen, {2}) == [0, 1]
    assert to_run(folder, replace(SHRINKS, wanted=(0, 1, 2)), seen, {2}) == [0, 1, 2]


def test_a_drone_that_the_map_waits_for():
    """It runs, though hive.json has dropped it, until it has ended and the server knows what it
    said last.
    """
    shrunk, folder = replace(SHRINKS, drones=(0, 1), wanted=()), Folder(0, 1, 2)
    gone, known = look((0, 1), (0, 1), leaving=(2,)), look((0, 1), (0, 1, 2), leaving=(2,))

    assert to_run(folder, shrunk, gone, ()) == [0, 1, 2]
    assert to_run(folder, shrunk, known, {2}) == [0, 1]
    assert to_run(folder, shrunk, gone, {2}) == [0, 1, 2], (
        "the server was emptied before the map was free of it"
    )
    assert to_run(folder, shrunk, look((0, 1), (0, 1)), {2}) == [0, 1]


class Told:
    """A server that notes orders."""

    def __init__(self):
        self.orders = []

    async def resize(self, members, lost):
        self.orders.append((members, lost))


@pytest.mark.parametrize(
    ("wanted", "orders"), [((0, 1), []), ((), [((0, 1), {4})]), ((0,), [((0, 1), {4})])]
)
def test_a_server_that_has_lost_the_order(wanted, orders):
    """It is told again who shall share the web, and whose state is gone, by what hive.json says."""
    told = Told()

    asyncio.run(
        repeat_change(told, look((0, 1, 2), (0, 1, 2), wanted), replace(SHRINKS, lost=(1, 4)))
    )

    assert told.orders == orders


class Cut:
    """An operator's connection, which fails when it is cancelled."""

    def __init__(self):
        self.asked = asyncio.Event()

    async def look(self):
        self.asked.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            raise Away from None

    async def aclose(self):
        pass


def test_the_watch_ends_though_its_cancellation_is_lost(folder, monkeypatch):
    """Where the hive's end meets a question to the server, which fails for that, nothing is asked
    again.
    """
    monkeypatch.setattr(watching, "INTERVAL", 0)

    async def run():
        cut = Cut()
        task = asyncio.create_task(HiveWatch(folder, lambda: cut, None, set).run())
        await cut.asked.wait()
        cut.asked.clear()
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=120)
        return len(done), cut.asked.is_set()

    assert asyncio.run(run()) == (1, False)


class Overtaken:
    """A server that gets an order while somebody looks at it, which stands in hive.json first, as
    of `resize`.
    """

    def __init__(self, folder):
        self.told, self.looks, self._folder = [], 0, folder

    async def look(self):
        self.looks += 1
        self._folder.write(replace(self._folder.known(), wanted=(0,)))
        return HiveLook(wanted=frozenset({0}))

    async def resize(self, members, lost):
        self.told.append((members, lost))

    async def aclose(self):
        pass


def test_an_order_is_not_overtaken_by_the_one_before(folder, monkeypatch):
    """An order that came while the server was looked at is in force: the one before is not given
    again.
    """
    folder.write(replace(folder.known(), wanted=(0, 1, 2)))
    operator = Overtaken(folder)

    monkeypatch.setattr(watching, "INTERVAL", 0)

    async def run():
        task = asyncio.create_task(HiveWatch(folder, lambda: operator, None, set).run())
        await eventually(lambda: operator.looks > 1)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(run())

    assert operator.told == []
    assert folder.known().wanted == (0,)


@pytest.mark.parametrize(
    ("down", "line", "short"), [([], "2 drones", "2"), ([0], "3 drones (0 down)", "2/3")]
)
def test_progress(down, line, short):
    """Sums of all drones, their mean freshness by the number of pages, and the drones that run."""
    supervisor = SimpleNamespace(running=2, down=down)
    progress = HiveProgress(Settings(), SimpleNamespace(), supervisor)
    figures = {"pages": 3, **merged([AGAIN, MORE])}

    assert progress.line(figures, 1.0).endswith(f", 25 revisits (80% fresh), {line}")
    assert "  fresh 80%  " in progress.short_line(figures, 1.0)
    assert progress.short_line(figures, 1.0).endswith(f"  drones {short}")
    assert "revisits" not in progress.line({"pages": 3}, 1.0)
    assert "hosts" in progress.short_line({"pages": 3}, 1.0)
