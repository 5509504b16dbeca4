"""When a drone takes a checkpoint before its time."""

import asyncio
from types import SimpleNamespace

import pytest

from webcrawl.hive.running import ENOUGH, LITTLE, Running


def is_saved(taken, *, filling, idle=False, activity=0, kept=(), senders=()):
    """Whether a drone takes a checkpoint early that has taken in so many bytes of letters since the last one."""
    saved = []

    async def checkpoint():
        saved.append(True)

    async def look():
        inbox = SimpleNamespace(place="1-0", committed_place="1-0", senders={*senders})
        moving = SimpleNamespace(settled=True)
        drone = SimpleNamespace(me=0, moving=moving, slots=SimpleNamespace(drones=(0,)))
        outbox = SimpleNamespace(stats=lambda: {"letters": 0}, awaits_checkpoint=False, kept={*kept}, drones=list)
        post = SimpleNamespace(drone=drone, inbox=inbox, outbox=outbox)
        crawling = SimpleNamespace(idle=lambda: idle, activity=lambda: activity, checkpoint=checkpoint)
        server = SimpleNamespace(filling=filling)
        running = Running(post, server, crawling, None, {}, join=None, lease=30.0)
        running.carrying.taken, running._saved_activity = taken, 0
        running._save_early()
        await asyncio.sleep(0)

    asyncio.run(look())
    return bool(saved)


@pytest.mark.parametrize(
    ("taken", "filling", "early"),
    [(ENOUGH, False, False), (ENOUGH + 1, False, True), (LITTLE, True, False), (LITTLE + 1, True, True)],
)
def test_letters_taken_in(taken, filling, early):
    """The server holds letters until a checkpoint has them: one is taken after much, or after little if it fills up."""
    assert is_saved(taken, filling=filling) == early


def test_a_drone_leaves():
    """One is taken early if the last one has letters for a drone that leaves and has answered them."""
    assert is_saved(0, filling=False, kept=(1,))
    assert not is_saved(0, filling=False, kept=(0,))


def test_letters_of_a_drone_that_leaves():
    """It ends when others keep what it gave away: they do not let it wait until their next checkpoint is due."""
    assert is_saved(0, filling=False, senders=(0, 1))
    assert not is_saved(0, filling=False, senders=(0,))


def test_at_the_end():
    """A drone that has nothing to do takes one if anything has changed: the others wait for that."""
    assert is_saved(0, filling=False, idle=True, activity=1)
    assert not is_saved(0, filling=False, idle=True)
    assert not is_saved(0, filling=False, activity=1)
