"""What is watched of a hive and shown; and which drones run, so that none is lost that has work."""

import asyncio
import json
from array import array
from dataclasses import replace
from types import SimpleNamespace

import pytest
from scrapy.settings import Settings

from tests.support.served_hives import Scripted, checkpoint
from tests.support.waiting import eventually
from webcrawl.crawl.hive.coordinator import DroneState, Report
from webcrawl.crawl.hive.errors import Away
from webcrawl.crawl.hive.hive_folder import Founding
from webcrawl.crawl.hive.operator import HiveView
from webcrawl.crawl.hive.partition import SLOTS, SlotMap, WantedMembers
from webcrawl.store.jobdir.figures import merged
from webcrawl.tools.supervisor import hive_watch
from webcrawl.tools.supervisor.hive_watch import HiveProgress, HiveWatch, drones_to_run

FOUNDED = Founding("web", "web", "domain", 2, (0, 1))
AGAIN = {"revisit/records": 50, "revisit/taken": 20, "revisit/freshness": 0.5, "revisit/sampled": 9}
MORE = {"revisit/records": 150, "revisit/taken": 5, "revisit/freshness": 0.9, "revisit/sampled": 9}


class Folder:
    """Drones that have a state here."""

    def __init__(self, *saved):
        self.has = saved.__contains__


def look(members, alive, wanted=(), leaving=(), lost=()):
    """Those that are alive work by a map of these members; who is no member gives away what it has."""
    about = {"identity": "x", "run": 1, "beat": 3, "generation": 2}
    state = {
        drone: DroneState.RUNNING if drone in members else DroneState.DRAINING for drone in alive
    }
    order = WantedMembers(frozenset(wanted), frozenset(lost), 7)
    return HiveView(
        map=SlotMap(2, tuple(members), array("H", [0] * SLOTS), leaving),
        reports={drone: Report(drone=drone, state=state[drone], **about) for drone in alive},
        leases=dict.fromkeys(alive, 1.0),
        places=dict.fromkeys(alive, ("here", 7)),
        orders=(order,) if wanted else (),
    )


def running(seen, ended=(), here=(0, 1, 2), lost=()):
    """The drones that are to run."""
    return drones_to_run(Folder(*here), FOUNDED, seen, ended, lost)


def test_a_hive_that_begins():
    """The founders run until one of them has a map."""
    assert running(HiveView(), here=()) == [0, 1]


@pytest.mark.parametrize(
    ("seen", "ended", "drones"),
    [
        pytest.param(look((0, 1, 2), (0, 1, 2), (0, 1)), (), [0, 1, 2], id="no map knows it yet"),
        pytest.param(
            look((0, 1), (0, 1, 2), (0, 1), (2,)), (), [0, 1, 2], id="it hands over everything"
        ),
        pytest.param(look((0, 1), (0, 1), (0, 1), (2,)), (), [0, 1, 2], id="it was killed"),
        pytest.param(look((0, 1), (0, 1, 2), (0, 1), (2,)), (2,), [0, 1], id="it has ended"),
        pytest.param(
            look((0, 1), (0, 1), (0, 1), (2,)),
            (2,),
            [0, 1, 2],
            id="the server was emptied before the map was free of it",
        ),
        pytest.param(look((0, 1), (0, 1), (0, 1)), (2,), [0, 1], id="no map has it any more"),
        pytest.param(look((0, 1), (0, 1)), (), [0, 1], id="the server does not know the order"),
    ],
)
def test_a_drone_that_leaves(seen, ended, drones):
    """It runs until it has ended with nothing left, and the server knows what it said last."""
    assert running(seen, ended) == drones


def test_new_drones():
    """They run as soon as the server has the order, before any map has them; not by the checkpoints
    alone, for a new drone that came first would found a hive.
    """
    seen = look((0, 1), (0, 1), (0, 1, 2))
    assert running(HiveView(map=seen.map, orders=seen.orders), here=(0, 1)) == [0, 1]
    assert running(look((0, 1), (0, 1), (0, 1, 2)), here=(0, 1)) == [0, 1, 2]
    assert running(look((0, 1, 2), (0, 1, 2), (0, 1, 2))) == [0, 1, 2]


def test_a_drone_that_was_let_in_for_an_earlier_order():
    """It runs, though the next order does not name it, until it has ended: the coordinator waits for it."""
    seen = look((0, 1), (0, 1, 2), (0, 1))

    assert running(seen) == [0, 1, 2]
    assert running(seen, ended=(2,)) == [0, 1]
    assert running(look((0, 1), (0, 1), (0, 1))) == [0, 1]


def test_a_drone_that_has_left_and_is_wanted_again():
    """It is not to run any more; when it is wanted again, it begins anew."""
    assert running(look((0, 1), (0, 1, 2), (0, 1), (2,)), {2}) == [0, 1]
    assert running(look((0, 1), (0, 1, 2), (0, 1, 2), (2,)), {2}) == [0, 1, 2]


def test_a_drone_that_was_given_up():
    """It is not started, whatever map still has it: its state would be empty."""
    assert running(look((0, 1, 2), (0, 1), (0, 1), lost=(2,))) == [0, 1]
    assert running(look((0, 1, 2), (0, 1)), lost=(2,)) == [0, 1]


def test_a_drone_of_another_machine():
    """A drone that holds a lease and has no state here is not started here."""
    assert running(look((0, 1, 2), (0, 1, 2)), here=(0, 1)) == [0, 1]
    assert running(look((0, 1, 2), (0, 1)), here=(0, 1)) == [0, 1, 2]


class Looks(Scripted):
    """A server that is asked once more after its last look."""

    over = False

    async def read_hive(self):
        self.over = not self._looks
        return await super().read_hive()


def watched(folder, *looks):
    """The watch of a hive, after it has looked at the server so often."""
    server = Looks(*looks)
    watch = HiveWatch(folder, lambda: server, None, set)

    async def run():
        task = asyncio.create_task(watch.run())
        await eventually(lambda: server.over or watch.failure)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(run())
    return watch


def test_hive_json_notes_the_members(folder, monkeypatch):
    """It has the members of the map, for programs that do not read checkpoints, and no order."""
    monkeypatch.setattr(hive_watch, "WATCH_SECONDS", 0)
    watched(folder, look((0, 1, 2), (0, 1, 2), (0, 1)))
    assert folder.founding().drones == (0, 1, 2)

    watched(folder, look((0, 1), (0, 1, 2), (0, 1), (2,)))

    assert folder.founding() == FOUNDED
    assert "wanted" not in json.loads((folder.path / "hive.json").read_text())


def test_a_server_that_has_lost_the_order(folder, monkeypatch):
    """A drone that was given up is not started though the server does not know of it yet."""
    monkeypatch.setattr(hive_watch, "WATCH_SECONDS", 0)
    for drone in range(2):
        checkpoint(folder, drone, SlotMap.fair(range(3)), (7, (0, 1), (2,)))
    lost = look((0, 1, 2), (0, 1), (0, 1), lost=(2,))
    emptied = look((0, 1, 2), (0, 1))
    again = look((0, 1, 2), (0, 1), (0, 1, 2))

    assert watched(folder, emptied).drones == [0, 1]
    assert watched(folder, lost, emptied).drones == [0, 1]
    assert watched(folder, lost, again).drones == [0, 1, 2]


def test_the_end_of_a_change_is_said(folder, monkeypatch, caplog):
    """It is said once, when no drone leaves any more; not while the server knows of no order."""
    monkeypatch.setattr(hive_watch, "WATCH_SECONDS", 0)
    caplog.set_level("INFO")
    leaves, gone = look((0, 1), (0, 1, 2), (0, 1), (2,)), look((0, 1), (0, 1), (0, 1))

    watched(folder, leaves, replace(leaves, orders=()), leaves, gone, gone)

    assert [record.message for record in caplog.records] == ["the hive now has 2 drones"]


class Silent:
    """A server that does not answer."""

    async def read_hive(self):
        raise Away("closed")


def test_a_server_that_does_not_answer(folder):
    """The progress line says so: after HIVE_FENCE seconds the drones wait for it."""
    watch = HiveWatch(folder, Silent, None, set)
    asyncio.run(watch._watch_once(Silent()))
    progress = HiveProgress(Settings(), watch, SimpleNamespace(running=2, down=[]))

    assert progress.line(watch.figures, 0.0).startswith("the hive's server does not answer, ")


class Lost:
    """An operator's connection, which fails when it is cancelled."""

    def __init__(self):
        self.asked = asyncio.Event()

    async def read_hive(self):
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
    monkeypatch.setattr(hive_watch, "WATCH_SECONDS", 0)

    async def run():
        lost = Lost()
        task = asyncio.create_task(HiveWatch(folder, lambda: lost, None, set).run())
        await lost.asked.wait()
        lost.asked.clear()
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=120)
        return len(done), lost.asked.is_set()

    assert asyncio.run(run()) == (1, False)


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
