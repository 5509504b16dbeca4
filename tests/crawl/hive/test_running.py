"""When a drone takes a checkpoint before its time, and how its loops end."""

import asyncio
from contextlib import suppress
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from webcrawl.crawl.hive.partition import SlotMap, Wanted
from webcrawl.crawl.hive.registry import RELEASE, RESIZE, Command
from webcrawl.crawl.hive.running import ENOUGH, LITTLE, Running, _ended


def crawling(activity=0, **scheduler):
    """The scheduler of a crawl that is at work."""
    found = MagicMock(
        has_work=lambda: True, rests=False, hive=SimpleNamespace(others_done=False), **scheduler
    )
    found.crawl.outlook.activity.return_value = activity
    found.crawl.outlook.stands_still = ""
    return found


def is_saved(
    taken=0, *, filling=False, idle=False, activity=0, kept=(), senders=(), ordered=0, released=0
):
    """Whether a drone takes a checkpoint early that has taken in so many bytes of letters since the
    last one.
    """
    saved = []

    async def checkpoint():
        saved.append(True)

    async def look():
        inbox = SimpleNamespace(place="1-0", committed_place="1-0", senders={*senders})
        moving = SimpleNamespace(settled=True)
        drone = SimpleNamespace(me=0, moving=moving, slots=SlotMap.fair((0,)))
        outbox = SimpleNamespace(
            stats=lambda: {"letters": 0}, awaits_checkpoint=False, kept={*kept}, drones=list
        )
        post = SimpleNamespace(drone=drone, inbox=inbox, outbox=outbox, obeyed=Order())
        scheduler = crawling(activity, checkpoint=checkpoint)
        scheduler.has_work = lambda: not idle
        server = SimpleNamespace(filling=filling)
        running = Running(post, server, scheduler, None, None, {}, join=None, lease=30.0)
        running.carrying.taken, running._saved_activity, post.obeyed.number = taken, 0, ordered
        if released:
            running._kept_leaving = (released,)
        running._save_early()
        await asyncio.sleep(0)

    asyncio.run(look())
    return bool(saved)


@pytest.mark.parametrize(
    ("taken", "filling", "early"),
    [
        (ENOUGH, False, False),
        (ENOUGH + 1, False, True),
        (LITTLE, True, False),
        (LITTLE + 1, True, True),
    ],
)
def test_letters_taken_in(taken, filling, early):
    """The server holds letters until a checkpoint has them: one is taken after much, or after
    little if it fills up.
    """
    assert is_saved(taken, filling=filling) == early


def test_a_drone_leaves():
    """One is taken early if the last one has letters for a drone that leaves and has answered them."""
    assert is_saved(kept=(1,))
    assert not is_saved(kept=(0,))


def test_a_drone_was_released():
    """One is taken: the map of the last one still waits for a drone that nobody starts any more."""
    assert is_saved(released=1)


def test_letters_of_a_drone_that_leaves():
    """It ends when others keep what it gave away: they do not let it wait until their next
    checkpoint is due.
    """
    assert is_saved(senders=(0, 1))
    assert not is_saved(senders=(0,))


def test_at_the_end():
    """A drone that has nothing to do takes one if anything has changed: the others wait for that."""
    assert is_saved(idle=True, activity=1)
    assert not is_saved(idle=True)
    assert not is_saved(activity=1)


def test_an_order():
    """One is taken for an order, so that whoever gave it need not wait for long: it is done when
    all drones keep it.
    """
    assert is_saved(ordered=1)
    assert not is_saved(ordered=0)


def test_an_order_is_done_when_it_is_kept():
    """A report says of a command that it was carried out when a checkpoint has that: a kill undoes
    it until then.
    """

    async def applied():
        quiet = SlotMap.fair((0,))
        drone = SimpleNamespace(
            me=0, slots=quiet, moving=SimpleNamespace(partners=(), stays=""), rerouted={}
        )
        outbox = SimpleNamespace(
            stats=lambda: {"letters": 0},
            kept=(),
            drones=dict,
            unacknowledged=0,
            committed=lambda: None,
        )
        inbox = SimpleNamespace(place="", committed_place="", committed=lambda: None)
        fence = SimpleNamespace(seconds=30.0)
        post = SimpleNamespace(drone=drone, outbox=outbox, inbox=inbox, obeyed=Order(), fence=fence)
        about = {"drone": 0, "identity": "", "run": 1}
        running = Running(post, None, crawling(), MagicMock(), None, about, join=None, lease=30.0)
        running._obey(Command(7, "pause", ()))
        before = running._report(None).applied
        running.committed()
        return before, running._report(None).applied

    assert asyncio.run(applied()) == (0, 7)


def test_a_command_with_a_mistake_in_it(caplog):
    """It is refused, and logged without a traceback: a drone that ended of it would hear it again
    at its next start.
    """
    scheduler = crawling()
    scheduler.crawl.pause.side_effect = ZeroDivisionError("a bug")
    drone = SimpleNamespace(slots=SlotMap.fair((0,)))
    running = Running(
        SimpleNamespace(obeyed=Order(), drone=drone),
        None,
        scheduler,
        scheduler,
        None,
        {},
        join=None,
        lease=30.0,
    )
    running._late = False

    running._obey(Command(1, "pause", ()))

    assert [*running._refusals] == [
        (1, "the command failed because of a bug; see the crawl's log: ZeroDivisionError('a bug')")
    ]
    (line,) = caplog.messages
    assert line.startswith("by command: pause: ZeroDivisionError('a bug') in ")


class Order:
    """What the checkpoint of a drone would have of orders."""

    def __init__(self):
        self.number, self.wanted = 0, None

    def resize(self, members, lost=()):
        self.wanted = Wanted(frozenset(members), frozenset(lost))


@pytest.mark.parametrize(
    ("commands", "over"),
    [
        pytest.param([(RESIZE, [0, 1], []), (RELEASE, 2)], True, id="it has given away all"),
        pytest.param(
            [(RESIZE, [0, 1], []), (RELEASE, 2), (RESIZE, [0, 1, 2], [])],
            False,
            id="it is wanted again",
        ),
        pytest.param([(RESIZE, [0, 1], []), (RELEASE, 1)], False, id="another one may go"),
    ],
)
def test_released(commands, over):
    """A drone that was released ends; one that has come again since, and hears of that late, does
    not.
    """

    async def nothing(_):
        pass

    async def hear():
        outbox = SimpleNamespace(drones=tuple)
        drone = SimpleNamespace(me=2, slots=SlotMap.fair((0, 1)), part_from=lambda _: None)
        post = SimpleNamespace(drone=drone, outbox=outbox, obeyed=Order(), inbox=None)
        scheduler = crawling()
        running = Running(
            post, None, scheduler, None, SimpleNamespace(heard=nothing), {}, join=None, lease=30.0
        )
        given = [
            Command(number, name, tuple(args)) for number, (name, *args) in enumerate(commands, 1)
        ]
        await running._heard(
            SimpleNamespace(acks={}, commands=given, map=None, members={}, all_rest=False)
        )
        return scheduler.hive.others_done

    assert asyncio.run(hear()) == over


def test_a_loop_that_overhears_its_end_is_told_again():
    """A loop in which a client swallows the cancellation ends all the same."""

    async def deaf():
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        await asyncio.sleep(60)

    async def run():
        tasks = [asyncio.create_task(deaf()), asyncio.create_task(asyncio.sleep(60))]
        await asyncio.sleep(0)
        await asyncio.wait_for(_ended(tasks), 120)
        return [task.cancelled() for task in tasks]

    assert asyncio.run(run()) == [True, True]
