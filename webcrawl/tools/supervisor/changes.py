"""`webcrawl hive resize` and `adopt`: change who shares the web of a hive, by its server."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from scrapy.settings import BaseSettings

from webcrawl import settings as defaults
from webcrawl.base.errors import CannotStart
from webcrawl.base.program import environment
from webcrawl.base.readable import count
from webcrawl.crawl.control.command import NotRunning
from webcrawl.crawl.hive.errors import Away
from webcrawl.crawl.hive.hive_folder import HiveFolder
from webcrawl.crawl.hive.member import Identity
from webcrawl.crawl.hive.operator import HiveLook, Operator, waits_for
from webcrawl.crawl.hive.partition import MOST_DRONES, NOTHING_WANTED, Wanted
from webcrawl.crawl.hive.process import guarded, release
from webcrawl.store.jobdir import stats_file
from webcrawl.store.lock import is_held
from webcrawl.tools.supervisor.hive_run import command, given_by_command
from webcrawl.tools.supervisor.servers import DEFAULT, HiveTarget, MakeOperator

ALIVE = "was alive within HIVE_LEASE seconds; without"
LATER = "; the change continues when it is back"
REPEAT = "; perhaps no drone has heard of the change: repeat the command when it is back"
UNCHANGED = "nothing was changed: repeat the command with --yes to give it up"
LOOKS = 0.5  # seconds between two
QUIET = 5.0  # seconds in which all drones usually have an order in a checkpoint
# seconds in which a server or drones that died are there again, if anybody starts them
SILENCE = 15.0
# the drones that shall have the slots, by those that shall have them before
Asked = Callable[[Collection[int]], tuple[int, ...]]
Say = Callable[[str], Any]


def resize(target: HiveTarget, wanted: int, say: Say) -> int:
    """Change the number of drones while the hive runs; wait until all slots are in their place."""
    if not 1 <= wanted <= MOST_DRONES:
        raise CannotStart(f"-n {wanted}: must be a whole number from 1 to {MOST_DRONES}")
    must_run(target)
    return asyncio.run(
        _changed(target.running(), target.folder, lambda _: tuple(range(wanted)), (), say)
    )


def give_up(
    target: HiveTarget,
    drone: int,
    say: Say,
    lost: Collection[int] = (),
    still: Callable[[], None] = lambda: None,
) -> int:
    """Give the slots of a drone to the others; with `lost`, though its state is gone.

    `still` may end the waiting.
    """
    must_run(target)
    check_given_up(target.look(), drone)
    return asyncio.run(
        _changed(target.running(), target.folder, partial(others, drone), lost, say, still)
    )


def must_run(target: HiveTarget) -> None:
    """Raise NotRunning if no launcher runs the hive of a folder: no change would go on.

    A hive that only its server tells of may run anywhere.
    """
    if target.folder is not None and not target.folder.supervised:
        raise NotRunning(stopped(target.folder))


def stopped(folder: HiveFolder, order: Wanted | None = None) -> str:
    """Return how a hive is that does not run, and what to do. `order`: a change under way."""
    look = folder.look()
    state = "has finished" if folder.finished(look) else "is not running"
    if order is None and folder.is_changing(look):
        order = look.order
    if order is None:
        return f"{folder.path}: the hive {state}: start it first"
    change = f"the change to {count(len(order.sharing), 'drone')} is not complete"
    return f"{folder.path}: the hive {state}, and {change}: start the hive again to complete it"


def check_given_up(look: HiveLook, drone: int) -> None:
    """CannotStart if this drone is no member, nor is to be one, or if no other is."""
    placed = {*look.map.drones, *look.map.leaving} if look.map is not None else set()
    members = sorted(placed | look.sharing)
    if drone not in members:
        raise CannotStart(
            f"--drone {drone}: the hive has the drones {', '.join(map(str, members))}"
        )
    others(drone, look.sharing)


def others(drone: int, drones: Collection[int]) -> tuple[int, ...]:
    """Return all of these but this one. Raise CannotStart if there are none."""
    left = tuple(one for one in sorted(drones) if one != drone)
    if not left:
        raise CannotStart(f"--drone {drone}: no drone would be left")
    return left


async def _changed(
    make_operator: MakeOperator,
    folder: HiveFolder | None,
    asked: Asked,
    lost: Collection[int],
    say: Say,
    still: Callable[[], None] = lambda: None,
) -> int:
    """Order a change, and wait until all is settled, however long.

    Ctrl-C ends the waiting. It does not end a change that the drones' checkpoints have.
    """
    advice = ""
    try:
        async with aclosing(make_operator()) as operator:
            look = await operator.look()
            _check(look, lost)
            advice = REPEAT
            order = await _ordered(operator, look, asked, lost)
            waiting = ChangeWaiter(operator, folder, order)
            said = ""
            while waits := await waiting.look():
                advice = LATER if waiting.is_noted else REPEAT
                if waits != said and waiting.may_tell:
                    say(f"waiting for {waits}")
                    said = waits
                still()
                await asyncio.sleep(LOOKS)
    except Away as error:
        raise CannotStart(f"the hive's server is {error.state}: {error}{advice}") from error
    say(f"the hive now has {count(len(order.sharing), 'drone')}")
    return 0


def _check(look: HiveLook, lost: Collection[int]) -> None:
    """Refuse what can be refused before anything changes."""
    if not look.leases:
        raise NotRunning("no drone of this hive is there")
    if lost:  # no slot is given away
        return
    for drone in look.leases:
        report = look.reports.get(drone)
        if report is not None and report.stays:
            raise CannotStart(f"the hive cannot be resized: {report.stays}")


async def _ordered(
    operator: Operator, look: HiveLook, asked: Asked, lost: Collection[int]
) -> Wanted:
    """Give the order, and return it as the server has it.

    The order names all members. So it would undo an order that came between the look and it. Then
    it is given once more, from the members of that other order.
    """
    before = look.order
    members = asked(look.sharing)
    ours: set[int] = set()
    while True:
        number = await operator.resize(members, lost)
        ours.add(number)
        look = await operator.look()
        order = next((one for one in look.orders if one.number == number), None)
        theirs = [one for one in look.orders if one.number < number and one.number not in ours]
        latest = theirs[-1] if theirs else None
        if latest is None or latest == before or asked(latest.sharing) == members:
            # Without it, the server was emptied since: ChangeWaiter tells whether a drone has it.
            return order or NOTHING_WANTED.followed_by(members, lost, number)
        before = latest
        members = asked(latest.sharing)


class ChangeWaiter:
    """Waits until an order is in the drones' checkpoints, and then until it is carried out."""

    def __init__(
        self,
        operator: Operator,
        folder: HiveFolder | None,
        order: Wanted,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`folder`: of a hive that a launcher runs; None if only the server tells of it."""
        self._operator = operator
        self._folder = folder
        self._order = order
        self._clock = clock
        self._begun = clock()
        self._heard = self._begun  # when a drone was there last
        self.is_noted = False  # the drones have the order in their checkpoints

    @property
    def may_tell(self) -> bool:
        """Return whether to say what is waited for: not while the order is noted, as usual."""
        return self.is_noted or self._clock() - self._begun >= QUIET

    async def look(self) -> str:
        """Return the drones that the change waits for now, in words; empty once it is complete.

        Raise CannotStart if it does not go on.
        """
        if self._folder is not None and not self._folder.supervised:
            return self._look_at_the_end(self._folder)
        look = await self._looked()
        if look is None:
            return "the hive's server"
        if not self.is_noted:
            behind = self._behind(look)
            if behind:
                return f"drone {behind[0]}, which has not noted the change yet"
            self.is_noted = bool(look.leases)
        return waits_for(look, self._order.sharing, self._order.lost)

    def _behind(self, look: HiveLook) -> list[int]:
        """Return the drones whose checkpoints have not got the order.

        A server that is emptied hears of the order from drones that have it. Raise CannotStart if
        no drone has it, and the server has lost it.
        """
        behind = look.behind(self._order.number)
        is_lost = self._order.number not in {one.number for one in look.orders}
        if is_lost and behind and len(behind) == len(look.leases):
            raise CannotStart(
                "the hive's server lost the change before a drone had noted it: repeat the command"
            )
        return [drone for drone in behind if drone not in self._order.lost]

    def _look_at_the_end(self, folder: HiveFolder) -> str:
        """Return the same of a hive whose launcher has ended, by its checkpoints."""
        # Asked before they are read: the drones of a launcher that was killed end with one.
        if any(map(folder.running, folder.all_drones())):
            return "the drones, which are ending"
        look = folder.look()
        if look.order is None or look.order.number < self._order.number:
            raise CannotStart(
                f"{folder.path}: the hive ended before a drone had noted the change: start it, and "
                "repeat the command"
            )
        # The crawl may have ended, and with it the change.
        if folder.finished(look) and not folder.is_changing(look):
            return ""
        raise CannotStart(stopped(folder, self._order))

    async def _looked(self) -> HiveLook | None:
        """Return what the server knows, or None while the launcher starts its server again.

        Raise CannotStart if the change does not go on.
        """
        try:
            look = await self._operator.look()
        except Away:
            if self._folder is None or self._is_silent():
                raise
            return None
        if look.leases:
            self._heard = self._clock()
        elif self._is_silent():
            advice = "the change continues when they are started again"
            if not self.is_noted:
                advice = "start them, and repeat the command"
            raise CannotStart(f"no drone of this hive is running any more: {advice}")
        self._check_order(look)
        return look

    def _check_order(self, look: HiveLook) -> None:
        """Raise CannotStart if the server has the order for another change by now."""
        if look.order is None or look.order.number <= self._order.number:
            return
        if look.order.sharing != self._order.sharing:
            drones = ", ".join(map(str, sorted(look.order.sharing)))
            raise CannotStart(f"another change was requested since then, to the drones {drones}")
        self._order = look.order

    def _is_silent(self) -> bool:
        """Return whether no drone was there for longer than a restart takes."""
        return self._clock() - self._heard > SILENCE


# -- a drone that shall not crawl any more, or cannot


def adopt_lost(target: HiveTarget, drone: int, say: Say, *, sure: bool, now: bool = False) -> int:
    """Say what is lost with a drone's state, and give its part to the others if that is wanted."""
    if target.folder is not None and not target.folder.supervised:
        return _adopt_later(target.folder, drone, say, sure=sure)
    look = target.look()
    _check_silent(look, drone)
    report = look.reports.get(drone)
    if report is None:
        _say_losses(say, look, drone, {}, "")
    else:
        letters = count(report.unacknowledged, "letter")
        _say_losses(say, look, drone, report.figures, f"{report.jobdir} on {report.host}", letters)
    if not sure:
        say(UNCHANGED)
        return 1
    if not now:
        _await_fence(target, drone, say)
    return give_up(target, drone, say, lost=(drone,))


def _adopt_later(folder: HiveFolder, drone: int, say: Say, *, sure: bool) -> int:
    """Adopt what is lost of a hive that does not run: its drones hear of it at their start."""
    with closing(folder.lock()):
        look = folder.look()
        if look.order is not None and drone in look.order.lost:
            raise CannotStart(f"--drone {drone}: was given up already: start the hive")
        others(drone, look.sharing)
        _say_losses(say, look, drone, folder.figures(drone), str(folder.drone(drone)))
        if not sure:
            say(UNCHANGED)
            return 1
        founding = folder.take_over_orders(folder.known(), look)
        left = others(drone, folder.look().sharing)
        folder.order(left, (drone,))
        noted = tuple(one for one in founding.drones if one != drone)
        folder.write(replace(founding, drones=noted))
        drones = count(len(left), "drone")
        say(f"the other drones take over its hosts when the hive is started, with {drones}")
        return 0


def _say_losses(
    say: Say,
    look: HiveLook,
    drone: int,
    figures: Mapping[str, Any],
    place: str,
    letters: str = "the letters",
) -> None:
    """Say what is lost with a drone's state, by its last figures; none if they are not known.

    Raise CannotStart if the hive has no such drone.
    """
    if look.map is None or drone not in {*look.map.drones, *look.map.leaving}:
        raise CannotStart(f"--drone {drone}: this hive has no such drone")
    slots = len(look.map.owned(drone))
    say(
        f"drone {drone} owns {slots} of {len(look.map.owners)} parts of the web; the "
        "following is lost with its state:"
    )
    if not figures:
        say("  its queued URLs, what it has seen, and its archive (it is not known how many)")
    else:
        queued = count(int(figures.get("queued", 0)), "URL")
        say(f"  {queued} queued for {count(int(figures.get('hosts', 0)), 'host')}")
        say(f"  {count(int(figures.get('pages', 0)), 'page')} in its archive, {place}")
        say(f"  {letters} with links for other drones")
    say("pages of these hosts are fetched again when a page links to them or a seed names them;")
    say(
        "the other drones send their unacknowledged links again, and seeds are read from the beginning"
    )


def _await_fence(target: HiveTarget, drone: int, say: Say) -> None:
    """Wait until the drone fetches nothing any more, should it run and only be cut off.

    CannotStart: it is back.
    """
    seconds = _open_fence(target.look(), drone)
    if not seconds:
        return
    say(
        f"waiting for {seconds:.0f} s: until then drone {drone} may still fetch, if it is only "
        "cut off from the server."
    )
    say("--now skips this wait; two drones may then fetch from the same hosts during that time")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(LOOKS)
        _check_silent(target.look(), drone)


def _open_fence(look: HiveLook, drone: int) -> float:
    """Return for how many seconds a drone without a lease may still fetch.

    The server that has its report had its lease too, and let that run out. Without a report the
    server may be new.
    """
    report = look.reports.get(drone)
    if report is not None:
        return max(report.fence - report.lease, 0.0)
    return max((other.fence for other in look.reports.values()), default=defaults.HIVE_LEASE)


@dataclass(frozen=True, slots=True)
class FoundIdentity:
    """The identity in a JOBDIR as of its last checkpoint: a drone's or None, and its hive's key."""

    jobdir: Path
    identity: Identity | None
    key: bytes | None


def adopt(
    target: HiveTarget, drone: int, found: FoundIdentity, words: Sequence[str], say: Say
) -> int:
    """Run the drone here, until the others have all that it had.

    Nobody is told anything before the folder has proved to be this drone's, and the hive has let
    the drone in.
    """
    must_run(target)
    look = target.look()
    check_given_up(look, drone)
    _check_folder(target.name, look, drone, found)
    before = stats_file.read(found.jobdir)
    drone_words = guarded(words, signal.SIGTERM)
    with subprocess.Popen(drone_words, stdin=subprocess.PIPE, env=environment()) as process:  # noqa: S603 - this program

        def still() -> None:
            """One that was stopped ends with status 0, too; one whose store is away with 1, though
            nothing is left.
            """
            status = process.poll()
            if status is not None:
                end = stats_file.read(found.jobdir)
                if end == before or end.get("reason") != stats_file.FINISHED:
                    _refuse(drone, status)

        try:
            say(f"waiting for drone {drone}, which is started")
            while (status := process.poll()) is None and drone not in target.look().leases:
                time.sleep(LOOKS)
            if status is not None:
                _refuse(drone, status)
            give_up(target, drone, say, still=still)
        except BaseException:
            process.terminate()
            raise
        finally:
            process.wait()
            release(process)
        return process.returncode


def _refuse(drone: int, status: int) -> NoReturn:
    raise CannotStart(
        f"drone {drone} ended with exit status {status} before it had handed over everything: "
        "repeat the command"
    )


def _check_folder(name: str, look: HiveLook, drone: int, found: FoundIdentity) -> None:
    """CannotStart unless this is the JOBDIR of this drone, and nobody runs it."""
    told, report, its = f"--jobdir {found.jobdir}", look.reports.get(drone), found.identity
    if its is None:
        raise CannotStart(
            f"{told}: holds a crawl that is not part of a hive, not drone {drone} of the hive {name}"
        )
    if (its.name, its.drone) != (name, drone):
        raise CannotStart(
            f"{told}: belongs to drone {its.drone} of the hive {its.name}, not to drone {drone} of {name}"
        )
    if found.key and look.key and found.key != look.key:
        raise CannotStart(f"{told}: belongs to another hive with the name {name}")
    if report is not None and report.identity != its.id:
        where = f"{report.jobdir} on {report.host}"
        raise CannotStart(
            f"{told}: drone {drone} of this hive has its state in another folder, {where}"
        )
    if drone in look.leases:
        raise CannotStart(f"--drone {drone}: it {ALIVE} --jobdir it hands over everything itself")
    if is_held(found.jobdir / "state"):
        raise CannotStart(f"{told}: another process is using it")


def drone_command(
    settings: BaseSettings,
    target: HiveTarget,
    drone: int,
    jobdir: str,
    arguments: Mapping[str, str],
) -> list[str]:
    """Return the command of a drone on a JOBDIR; the spider is the hive's, or else `web`."""
    found = target.look()
    given = {
        **given_by_command(settings),
        "JOBDIR": jobdir,
        "HIVE_DRONES": str(max(found.founders, drone + 1)),
        "HIVE_DRONE": str(drone),
        "HIVE_NAME": target.name,
        **({"HIVE_PARTITION": target.founding.partition} if target.founding else {}),
        **({"REDIS_URL": target.url()} if target.url() else {}),
    }
    return command(target.founding.spider if target.founding else DEFAULT, arguments, given)


def _check_silent(look: HiveLook, drone: int) -> None:
    if drone in look.leases:
        raise CannotStart(f"--drone {drone}: it {ALIVE} --lost it hands over everything itself")
