"""When a drone takes a checkpoint before its time, and how its loops end."""

import asyncio
import logging
from contextlib import asynccontextmanager, suppress
from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock

import pytest

from tests.support.waiting import eventually
from webcrawl.crawl.bound import FENCED
from webcrawl.crawl.hive import batch_transfer
from webcrawl.crawl.hive import drone_runner as module
from webcrawl.crawl.hive.batch import BEGINNING
from webcrawl.crawl.hive.coordinator import Report
from webcrawl.crawl.hive.drone_runner import (
    EARLY_SAVE_BYTES,
    EARLY_SAVE_BYTES_WHEN_FILLING,
    DroneRunner,
    _cancel,
)
from webcrawl.crawl.hive.errors import Away
from webcrawl.crawl.hive.partition import SlotMap, WantedMembers
from webcrawl.crawl.hive.registry import OVER, RELEASE, RESIZE, Command
from webcrawl.crawl.hive.transport import Beat


class Order:
    """What the checkpoint of a drone would have of orders."""

    def __init__(self):
        self.number, self.wanted, self.gave_nothing = 0, None, False

    def resize(self, members, lost=()):
        self.wanted = WantedMembers(frozenset(members), frozenset(lost))


class Server:
    """Answers each sign of life with the next of these commands; there are no batches."""

    filling = False

    def __init__(self, *commands):
        self._commands = [*commands]
        self.reports = []

    def follow(self, epoch):
        pass

    async def beat(self, report, **_):
        self.reports.append(Report.unpack(report))
        commands = self._commands.pop(0) if self._commands else ()
        return Beat(None, {}, {}, frozenset(), frozenset(), 0, commands, {}, all_rest=False)

    async def read(self, *_):
        return await asyncio.sleep(60, [])

    async def close(self):
        pass


class Drone:
    """A drone whose crawl is at work, among others; its batches and slots stand still."""

    def __init__(self, server, *, me=0, slots=(0,), joins=True):
        self.saved = []
        self.crawling = MagicMock(
            has_work=lambda: True,
            rests=False,
            got=True,
            hive=SimpleNamespace(others_done=False),
            checkpoint=self._checkpoint,
        )
        crawl = self.crawling.crawl
        crawl.outlook.activity.return_value = 0
        crawl.outlook.stands_still = ""
        crawl.stats.return_value = {}
        self.inbox = SimpleNamespace(
            place="1-0",
            committed_place="1-0",
            epoch="",
            unsaved_senders=set(),
            committed=lambda: None,
            new_epoch=lambda _: None,
        )
        self.outbox = SimpleNamespace(
            stats=lambda: {"closed": 0},
            awaits_checkpoint=False,
            saved_receivers=set(),
            drones=dict,
            unacknowledged=0,
            age=-1.0,
            close_old=lambda _: None,
            close_all=lambda: None,
            committed=lambda: None,
            new_epoch=lambda _: None,
        )
        self.drone = SimpleNamespace(
            me=me,
            slot_moves=SimpleNamespace(is_settled=True, partners=(), why_slots_stay=""),
            slots=SlotMap.fair(slots),
            rerouted={},
            reroute=lambda: False,
            part_from=lambda _: None,
        )
        self.obeyed = Order()
        self._server, self._joins = server, joins

    async def _checkpoint(self):
        self.saved.append(True)

    async def _join(self):
        if not self._joins:
            raise Away("closed")
        self.inbox.place = self.inbox.committed_place = BEGINNING
        return "epoch"

    @asynccontextmanager
    async def running(self):
        """Its loops run; a checkpoint has all that was before."""
        fence = SimpleNamespace(seconds=30.0, now=lambda: 0.0, note_answer=lambda _: False)
        post = SimpleNamespace(
            drone=self.drone,
            inbox=self.inbox,
            outbox=self.outbox,
            obeyed=self.obeyed,
            fence=fence,
        )
        running = DroneRunner(
            post,
            self._server,
            self.crawling,
            commanded=self.crawling,
            coordination=AsyncMock(),
            about={"drone": self.drone.me, "identity": "x", "run": 1},
            join=self._join,
            lease=30.0,
            batch_age=15.0,
        )
        running.committed()
        yield running
        await running.stop()


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(module, "BEAT_SECONDS", 0.001)
    monkeypatch.setattr(module, "EARLY_SAVE_SECONDS", -1.0)


def is_saved(
    taken=0, *, filling=False, idle=False, activity=0, kept=(), senders=(), ordered=0, released=0
):
    """Whether a drone takes a checkpoint early that has taken in so many bytes of batches since the
    last one.
    """

    async def look():
        server = Server()
        server.filling = filling
        one = Drone(server, slots=(0, released) if released else (0,), joins=False)
        one.crawling.has_work = lambda: not idle
        if released:
            one.drone.slots = one.drone.slots.resized((0,))  # the last one is still waited for
        async with one.running() as running:
            one.drone.slots = SlotMap.fair((0,))
            one.inbox.unsaved_senders, one.outbox.saved_receivers = {*senders}, {*kept}
            one.crawling.crawl.outlook.activity.return_value = activity
            one.obeyed.number = ordered
            running.transfer.unsaved_bytes = taken
            running.start()
            for _ in range(10):  # the server is away at once, and then it looks
                await asyncio.sleep(0)
        return bool(one.saved)

    return asyncio.run(look())


@pytest.mark.parametrize(
    ("taken", "filling", "early"),
    [
        (EARLY_SAVE_BYTES, False, False),
        (EARLY_SAVE_BYTES + 1, False, True),
        (EARLY_SAVE_BYTES_WHEN_FILLING, True, False),
        (EARLY_SAVE_BYTES_WHEN_FILLING + 1, True, True),
    ],
)
def test_batches_taken_in(taken, filling, early):
    """The server holds batches until a checkpoint has them: one is taken after much, or after
    little if it fills up.
    """
    assert is_saved(taken, filling=filling) == early


def test_a_drone_leaves():
    """One is taken early if the last one has batches for a drone that leaves and has answered them."""
    assert is_saved(kept=(1,))
    assert not is_saved(kept=(0,))


def test_a_drone_was_released():
    """One is taken: the map of the last one still waits for a drone that nobody starts any more."""
    assert is_saved(released=1)


def test_batches_of_a_drone_that_leaves():
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
        server = Server((Command(7, "pause", ()),))
        async with Drone(server).running() as running:
            running.start()
            await eventually(lambda: len(server.reports) > 2)
            before = server.reports[-1].applied
            running.committed()
            heard = len(server.reports)
            await eventually(lambda: len(server.reports) > heard + 1)
        return before, server.reports[-1].applied

    assert asyncio.run(applied()) == (0, 7)


def test_a_command_with_a_mistake_in_it(caplog):
    """It is refused, and logged without a traceback: a drone that ended of it would hear it again
    at its next start.
    """
    server = Server((), (Command(1, "pause", ()),))

    async def refused():
        one = Drone(server)
        one.crawling.crawl.pause.side_effect = ZeroDivisionError("a bug")
        async with one.running() as running:
            running.start()
            await eventually(lambda: server.reports and server.reports[-1].refusals)
        return server.reports[-1].refusals

    assert asyncio.run(refused()) == (
        (1, "the command failed because of a bug; see the crawl's log: ZeroDivisionError('a bug')"),
    )
    (line,) = caplog.messages
    assert line.startswith("by command: pause: ZeroDivisionError('a bug') in ")


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
def test_released(caplog, commands, over):
    """A drone that was released ends, and says why; one that has come again since, and hears of
    that late, does not.
    """
    caplog.set_level("INFO")

    async def hear():
        server = Server(
            [Command(number, name, tuple(args)) for number, (name, *args) in enumerate(commands, 1)]
        )
        one = Drone(server, me=2, slots=(0, 1))
        async with one.running() as running:
            running.start()
            await eventually(lambda: len(server.reports) > 1)
        return one.crawling.hive.others_done

    assert asyncio.run(hear()) == over
    assert ("this drone is no member of the hive any more" in caplog.text) == over


@pytest.mark.parametrize("args", [(), (True,)])
def test_the_end_of_all(args):
    """The coordinator says with the end whether no drone has got anything."""

    async def hear():
        one = Drone(server := Server((Command(1, OVER, args),)))
        one.crawling.has_work = lambda: False
        async with one.running() as running:
            running.start()
            await eventually(lambda: len(server.reports) > 1)
        return one.crawling.hive.others_done, one.obeyed.gave_nothing, server.reports[-1].over

    assert asyncio.run(hear()) == (True, bool(args), True)


def test_a_report_that_arrives_says_nothing_of_the_server():
    """Its answer opens the fence: by the time it is read, the drone is not cut off any more."""

    async def told():
        one = Drone(server := Server())
        outlook = one.crawling.crawl.outlook
        outlook.stopped_by = outlook.stands_still = FENCED
        async with one.running() as running:
            running.start()
            await eventually(lambda: server.reports)
        return server.reports[0].trouble

    assert asyncio.run(told()) == ""


def test_a_server_that_keeps_a_drone_waiting(monkeypatch):
    """A drone whose fence closes while it waits for an answer is cut off since the last one."""
    clock = SimpleNamespace(monotonic=lambda: 1.0, time=lambda: 50.0)
    monkeypatch.setattr(batch_transfer, "time", clock)

    async def absences():
        one, closed = Drone(server := Server()), []
        async with one.running() as running:
            running._parts.fence.is_closed = lambda: bool(closed)
            closed.append(True)
            before = running.absence()
            running.start()
            await eventually(lambda: server.reports and running.reaches_server)
            fenced = running.absence()
            closed.clear()
            return before, fenced.since, running.absence()

    assert asyncio.run(absences()) == (None, 50.0, None)


def test_a_call_that_fails_late(monkeypatch, caplog):
    """A server that hangs is away since its last answer, and not since the call that timed out."""
    now = [100.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], time=lambda: 1000.0 + now[0])
    monkeypatch.setattr(batch_transfer, "time", clock)
    caplog.set_level(logging.INFO)

    class Hangs(Server):
        async def beat(self, report, **more):
            if len(self.reports) == 1:
                now[0] += 30.0
                one._joins = False
                self.reports.append(None)
                raise Away("timed out")
            return await super().beat(report, **more)

    async def absence():
        async with one.running() as running:
            running._parts.fence.is_closed = lambda: False
            running.start()
            await eventually(lambda: running.absence() is not None)
            since = running.absence().since
            now[0], one._joins = 140.0, True
            await eventually(lambda: running.absence() is None)
        return since

    one = Drone(Hangs())
    assert asyncio.run(absence()) == 1100.0
    assert "the hive's server is back after 40 s" in caplog.messages


def test_a_loop_that_overhears_its_end_is_told_again():
    """A loop in which a client swallows the cancellation ends all the same."""

    async def deaf():
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        await asyncio.sleep(60)

    async def run():
        tasks = [asyncio.create_task(deaf()), asyncio.create_task(asyncio.sleep(60))]
        await asyncio.sleep(0)
        await asyncio.wait_for(_cancel(tasks), 120)
        return [task.cancelled() for task in tasks]

    assert asyncio.run(run()) == [True, True]
