"""hive.json follows a change of the number of drones to its end, and loses no drone that has something left."""

import asyncio
from array import array
from dataclasses import replace

import pytest

from webcrawl.crawl.hive.drone_report import Report, State
from webcrawl.crawl.hive.hive_folder import Founding
from webcrawl.crawl.hive.operator import Look
from webcrawl.crawl.hive.partition import SLOTS, SlotMap
from webcrawl.tools.supervisor.watching import Change, repeat_change

SHRINKS = Founding("web", "web", "domain", 3, (0, 1, 2), wanted=(0, 1))
GROWS = Founding("web", "web", "domain", 2, (0, 1), wanted=(0, 1, 2))


class Folder:
    """Drones that took a checkpoint once."""

    def __init__(self, *saved):
        self._saved = saved

    def figures(self, drone):
        return {"pages": 1} if drone in self._saved else {}


def look(members, alive, wanted=(0, 1)):
    """Those that are alive work by a map of these members; who is no member gives away what it has."""
    about = {"identity": "x", "run": 1, "beat": 3, "generation": 2}
    state = {drone: State.RUNNING if drone in members else State.DRAINING for drone in alive}
    return Look(
        map=SlotMap(2, tuple(members), array("H", [0] * SLOTS)),
        reports={drone: Report(drone=drone, state=state[drone], **about) for drone in alive},
        leases=dict.fromkeys(alive, 1.0),
        wanted=frozenset(wanted),
    )


@pytest.mark.parametrize(
    ("seen", "ended", "drones", "wanted"),
    [
        pytest.param(look((0, 1), (0, 1, 2)), (), (0, 1, 2), (0, 1), id="it gives away what it has"),
        pytest.param(look((0, 1), (0, 1)), (), (0, 1, 2), (0, 1), id="it was killed, and the server emptied"),
        pytest.param(look((0, 1), (0, 1)), (2,), (0, 1), (), id="it has ended"),
        pytest.param(look((0, 1), ()), (0, 1, 2), (0, 1, 2), (0, 1), id="all have ended, and nothing is known"),
        pytest.param(look((0, 1), (0, 1), ()), (2,), (0, 1, 2), (0, 1), id="the server does not know the order"),
    ],
)
def test_a_drone_that_leaves(seen, ended, drones, wanted):
    """It stays in hive.json until its process has ended with nothing left, whatever the server knows of it."""
    change = Change(Folder(0, 1, 2), lambda: ended)
    change.to_run(SHRINKS)

    now = change.followed(SHRINKS, seen)

    assert (now.drones, now.wanted) == (drones, wanted)


def test_a_drone_that_never_came():
    """One that took no checkpoint, and that the server does not know, has nothing to give away."""
    now = Change(Folder(0, 1), lambda: ()).followed(SHRINKS, look((0, 1), (0, 1)))

    assert (now.drones, now.wanted) == ((0, 1), ())


def test_new_drones():
    """They are to run when the server knows the order, and the change has ended when they have their slots."""
    change = Change(Folder(0, 1), lambda: ())

    assert change.followed(GROWS, look((0, 1), (0, 1), ())) == GROWS
    begun = change.followed(GROWS, look((0, 1), (0, 1), (0, 1, 2)))
    assert begun == replace(GROWS, drones=(0, 1, 2))
    done = change.followed(begun, look((0, 1, 2), (0, 1, 2), (0, 1, 2)))
    assert done == replace(begun, wanted=())


def test_a_crawl_that_is_over():
    """A change has ended with the crawl, too: members that have ended well are not waited for."""
    seen = replace(look((0, 1, 2), (0, 1, 2), (0, 1, 2)), leases={})

    assert Change(Folder(), lambda: (0, 1, 2)).followed(GROWS, seen).wanted == ()
    assert Change(Folder(), lambda: ()).followed(GROWS, seen).wanted == (0, 1, 2)


def test_a_drone_that_has_left_and_is_wanted_again():
    """It is not to run any more; when it is wanted again, it begins anew."""
    ended = {2}
    change = Change(Folder(0, 1, 2), lambda: ended)

    assert change.to_run(SHRINKS) == [0, 1]
    ended.clear()  # nobody keeps alive what is not to run
    assert change.to_run(SHRINKS) == [0, 1]
    assert change.to_run(replace(SHRINKS, wanted=(0, 1, 2))) == [0, 1, 2]


class Told:
    """A server that notes orders."""

    def __init__(self):
        self.orders = []

    async def resize(self, members, lost):
        self.orders.append((members, lost))


@pytest.mark.parametrize(("wanted", "orders"), [((0, 1), []), ((), [((0, 1), {4})]), ((0,), [((0, 1), {4})])])
def test_a_server_that_has_lost_the_order(wanted, orders):
    """It is told again who shall share the web, and whose state is gone, by what hive.json says."""
    told = Told()

    asyncio.run(repeat_change(told, look((0, 1, 2), (0, 1, 2), wanted), replace(SHRINKS, lost=(1, 4))))

    assert told.orders == orders
