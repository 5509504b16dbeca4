"""`webcrawl hive resize` and `adopt`: change which drones share the web of a hive."""

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
from webcrawl.crawl.hive.operator import HiveView, Operator, waits_for
from webcrawl.crawl.hive.partition import MAX_DRONES, NO_ORDER, WantedMembers
from webcrawl.crawl.hive.process import guard_command, release_guard
from webcrawl.store.jobdir import stats_file
from webcrawl.store.lock import is_held
from webcrawl.tools.supervisor.hive_run import command_line_options, crawl_command
from webcrawl.tools.supervisor.servers import DEFAULT_NAME, HiveTarget, MakeOperator

WAS_ALIVE = "was alive within HIVE_LEASE seconds; without"
# endings of the message that the server is away: a drone has noted the change, or perhaps none has
CONTINUES = "; the change continues when it is back"
MAY_BE_UNHEARD = "; perhaps no drone has heard of the change: repeat the command when it is back"
UNCHANGED = "nothing was changed: repeat the command with --yes to give it up"
LOOK_SECONDS = 0.5  # between two looks at the server
NOTING_SECONDS = 5.0  # in which all drones usually have an order in a checkpoint
# in which a server or drones that died are there again, if something starts them
RESTART_SECONDS = 15.0
# returns the drones that shall have the slots, by those that shall have them before
ChooseMembers = Callable[[Collection[int]], tuple[int, ...]]
Say = Callable[[str], Any]  # prints a line for the user


def resize(target: HiveTarget, wanted: int, say: Say) -> int:
    """Change the number of drones while the hive runs; wait until all slots are in their place.

    Return the exit status. Raise CannotStart or NotRunning if the change cannot be made.
    """
    if not 1 <= wanted <= MAX_DRONES:
        raise CannotStart(f"-n {wanted}: must be a whole number from 1 to {MAX_DRONES}")
    check_is_launched(target)
    return asyncio.run(
        _change_members(
            target.operator_maker(), target.folder, lambda _: tuple(range(wanted)), (), say
        )
    )


def give_up(
    target: HiveTarget,
    drone: int,
    say: Say,
    lost: Collection[int] = (),
    check_going: Callable[[], None] = lambda: None,
) -> int:
    """Give the slots of a drone to the others; with `lost`, though its state is gone.

    `check_going` is called while the change is waited for, and may end the waiting by an error.
    Return the exit status. Raise CannotStart or NotRunning if the change cannot be made.
    """
    check_is_launched(target)
    check_can_leave(target.ask_server(), drone)
    return asyncio.run(
        _change_members(
            target.operator_maker(),
            target.folder,
            partial(all_but, drone),
            lost,
            say,
            check_going,
        )
    )


def check_is_launched(target: HiveTarget) -> None:
    """Raise NotRunning if no launcher runs the hive of a folder: no change would go on.

    A hive of which only the server is known may run anywhere.
    """
    if target.folder is not None and not target.folder.is_supervised:
        raise NotRunning(why_not_running(target.folder))


def why_not_running(folder: HiveFolder, order: WantedMembers | None = None) -> str:
    """Return in words how a hive is that does not run, and what to do.

    `order`: a change under way; by default the one that the checkpoints have, if any.
    """
    hive = folder.read_checkpoints()
    state = "has finished" if folder.is_finished(hive) else "is not running"
    if order is None and folder.is_changing(hive):
        order = hive.order
    if order is None:
        return f"{folder.path}: the hive {state}: start it first"
    change = f"the change to {count(len(order.sharing), 'drone')} is not complete"
    return f"{folder.path}: the hive {state}, and {change}: start the hive again to complete it"


def check_can_leave(hive: HiveView, drone: int) -> None:
    """Raise CannotStart if this drone is no member, nor is to be one, or if no other is."""
    placed = {*hive.map.drones, *hive.map.leaving} if hive.map is not None else set()
    members = sorted(placed | hive.sharing)
    if drone not in members:
        raise CannotStart(
            f"--drone {drone}: the hive has the drones {', '.join(map(str, members))}"
        )
    all_but(drone, hive.sharing)


def all_but(drone: int, drones: Collection[int]) -> tuple[int, ...]:
    """Return these drones without this one. Raise CannotStart if none is left."""
    others = tuple(other for other in sorted(drones) if other != drone)
    if not others:
        raise CannotStart(f"--drone {drone}: no drone would be left")
    return others


async def _change_members(
    make_operator: MakeOperator,
    folder: HiveFolder | None,
    choose_members: ChooseMembers,
    lost: Collection[int],
    say: Say,
    check_going: Callable[[], None] = lambda: None,
) -> int:
    """Order a change of the members, and wait until it is complete, however long that takes.

    Ctrl-C ends the waiting. It does not end a change that the drones' checkpoints have. Return the
    exit status. Raise CannotStart if the change cannot be made, or does not go on.
    """
    advice = ""
    try:
        async with aclosing(make_operator()) as operator:
            hive = await operator.read_hive()
            _check_can_change(hive, lost)
            advice = MAY_BE_UNHEARD
            order = await _give_order(operator, hive, choose_members, lost)
            waiter = ChangeWaiter(operator, folder, order)
            announced = ""
            while pending := await waiter.pending():
                advice = CONTINUES if waiter.is_noted else MAY_BE_UNHEARD
                if pending != announced and waiter.may_announce:
                    say(f"waiting for {pending}")
                    announced = pending
                check_going()
                await asyncio.sleep(LOOK_SECONDS)
    except Away as error:
        raise CannotStart(f"the hive's server is {error.state}: {error}{advice}") from error
    except asyncio.CancelledError:
        if advice:
            say("the change was ordered, and continues without this command")
        raise
    say(f"the hive now has {count(len(order.sharing), 'drone')}")
    return 0


def _check_can_change(hive: HiveView, lost: Collection[int]) -> None:
    """Raise NotRunning if no drone is there, or CannotStart if one cannot give slots away."""
    if not hive.leases:
        raise NotRunning("no drone of this hive is there")
    if lost:  # its slots are taken over: no drone has to give any away
        return
    for drone in hive.leases:
        report = hive.reports.get(drone)
        # The seen store may be a Bloom filter, which has no list of fingerprints to hand over.
        if report is not None and report.stays:
            raise CannotStart(f"the hive cannot be resized: {report.stays}")


async def _give_order(
    operator: Operator, hive: HiveView, choose_members: ChooseMembers, lost: Collection[int]
) -> WantedMembers:
    """Order the members that `choose_members` chooses, and return the order as the server has it.

    An order names all members. So it would undo another command's order that came between the look
    and it. Then it is given once more, chosen from the members of that other order.
    """
    heeded = hive.order  # the last order of another command, by which the members are chosen
    members = choose_members(hive.sharing)
    our_numbers: set[int] = set()
    while True:
        number = await operator.resize(members, lost)
        our_numbers.add(number)
        hive = await operator.read_hive()
        before_ours = [
            order
            for order in hive.orders
            if order.number < number and order.number not in our_numbers
        ]
        if not before_ours or before_ours[-1] == heeded:
            break
        heeded = before_ours[-1]
        wanted = choose_members(heeded.sharing)
        if wanted == members:
            break
        members = wanted
    for order in hive.orders:
        if order.number == number:
            return order
    # The server was emptied since. ChangeWaiter finds out whether a drone has the order.
    return NO_ORDER.followed_by(members, lost, number)


class ChangeWaiter:
    """Waits until an order is in the drones' checkpoints, and then until it is carried out."""

    def __init__(
        self,
        operator: Operator,
        folder: HiveFolder | None,
        order: WantedMembers,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`folder`: of a hive that a launcher runs; None if only the hive's server is known."""
        self._operator = operator
        self._folder = folder
        self._order = order
        self._clock = clock
        self._begun = clock()
        self._last_alive = self._begun  # when a drone was there last
        self.is_noted = False  # the drones have the order in their checkpoints

    @property
    def may_announce(self) -> bool:
        """Return whether to tell the user what is waited for.

        The drones' checkpoints usually have the order soon: that is told only if it takes longer.
        """
        return self.is_noted or self._clock() - self._begun >= NOTING_SECONDS

    async def pending(self) -> str:
        """Return, in words, what the change waits for now; empty once it is complete.

        Raise CannotStart if the change does not go on.
        """
        if self._folder is not None and not self._folder.is_supervised:
            return self._pending_without_launcher(self._folder)
        hive = await self._ask_server()
        if hive is None:
            return "the hive's server"
        if not self.is_noted:
            behind = self._drones_behind(hive)
            if behind:
                return f"drone {behind[0]}, which has not noted the change yet"
            self.is_noted = bool(hive.leases)
        return waits_for(hive, self._order.sharing, self._order.lost)

    def _drones_behind(self, hive: HiveView) -> list[int]:
        """Return the drones that are there, and whose checkpoints do not have the order.

        An emptied server learns the order again from drones that have it. Raise CannotStart if no
        drone has it, and the server has lost it.
        """
        behind = hive.behind(self._order.number)
        is_lost = self._order.number not in {order.number for order in hive.orders}
        if is_lost and behind and len(behind) == len(hive.leases):
            raise CannotStart(
                "the hive's server lost the change before a drone had noted it: repeat the command"
            )
        return [drone for drone in behind if drone not in self._order.lost]

    def _pending_without_launcher(self, folder: HiveFolder) -> str:
        """Return what `pending` does, for a hive whose launcher has ended: by the checkpoints."""
        # This comes before the checkpoints are read: the drones of a launcher that was killed take
        # one more as they end.
        if any(map(folder.is_running, folder.all_drones())):
            return "the drones, which are ending"
        hive = folder.read_checkpoints()
        if hive.order is None or hive.order.number < self._order.number:
            raise CannotStart(
                f"{folder.path}: the hive ended before a drone had noted the change: start it, and "
                "repeat the command"
            )
        # The crawl may have ended, and with it the change.
        if folder.is_finished(hive) and not folder.is_changing(hive):
            return ""
        raise CannotStart(why_not_running(folder, self._order))

    async def _ask_server(self) -> HiveView | None:
        """Return what the server knows, or None while the launcher starts its server again.

        Raise Away or CannotStart if the change does not go on.
        """
        try:
            hive = await self._operator.read_hive()
        except Away:
            if self._folder is None or self._is_silent():
                raise
            return None
        if hive.leases:
            self._last_alive = self._clock()
        elif self._is_silent():
            advice = "the change continues when they are started again"
            if not self.is_noted:
                advice = "start them, and repeat the command"
            raise CannotStart(f"no drone of this hive is running any more: {advice}")
        self._check_order(hive)
        return hive

    def _check_order(self, hive: HiveView) -> None:
        """Raise CannotStart if another change was ordered after this one.

        An order for the same drones only takes the place of this one.
        """
        if hive.order is None or hive.order.number <= self._order.number:
            return
        if hive.order.sharing != self._order.sharing:
            drones = ", ".join(map(str, sorted(hive.order.sharing)))
            raise CannotStart(f"another change was requested since then, to the drones {drones}")
        self._order = hive.order

    def _is_silent(self) -> bool:
        """Return whether no drone was there for longer than a restart takes."""
        return self._clock() - self._last_alive > RESTART_SECONDS


# -- a drone that shall not crawl any more, or cannot


def adopt_lost(target: HiveTarget, drone: int, say: Say, *, sure: bool, now: bool = False) -> int:
    """Say what is lost with a drone's state; if the user is `sure`, give its slots to the others.

    `now` does not wait until the drone, which may only be cut off, has stopped fetching. Return the
    exit status. Raise CannotStart or NotRunning if the drone cannot be given up.
    """
    if target.folder is not None and not target.folder.is_supervised:
        return _adopt_lost_of_stopped(target.folder, drone, say, sure=sure)
    hive = target.ask_server()
    _check_is_away(hive, drone)
    report = hive.reports.get(drone)
    if report is None:
        _say_losses(say, hive, drone, {}, "")
    else:
        batches = count(report.unacknowledged, "batch")
        place = f"{report.jobdir} on {report.host}"
        _say_losses(say, hive, drone, report.figures, place, batches)
    if not sure:
        say(UNCHANGED)
        return 1
    # A drone that is only cut off from the server fetches until its fence closes: meanwhile another
    # one would fetch from the same hosts.
    if not now:
        _wait_for_fence(target, drone, say)
    return give_up(target, drone, say, lost=(drone,))


def _adopt_lost_of_stopped(folder: HiveFolder, drone: int, say: Say, *, sure: bool) -> int:
    """Do what `adopt_lost` does, for a hive that does not run: its drones hear of it as they start."""
    with closing(folder.lock()):
        hive = folder.read_checkpoints()
        if hive.order is not None and drone in hive.order.lost:
            raise CannotStart(f"--drone {drone}: was given up already: start the hive")
        all_but(drone, hive.sharing)
        _say_losses(say, hive, drone, folder.figures(drone), str(folder.drone(drone)))
        if not sure:
            say(UNCHANGED)
            return 1
        founding = folder.take_over_orders(folder.founding(), hive)
        members = all_but(drone, folder.read_checkpoints().sharing)
        folder.give_order(members, (drone,))
        noted = tuple(member for member in founding.drones if member != drone)
        folder.write(replace(founding, drones=noted))
        drones = count(len(members), "drone")
        say(f"the other drones take over its hosts when the hive is started, with {drones}")
        return 0


def _say_losses(
    say: Say,
    hive: HiveView,
    drone: int,
    figures: Mapping[str, Any],
    place: str,
    batches: str = "the batches",
) -> None:
    """Say what is lost with a drone's state, by its last `figures`; these are empty if unknown.

    `place`: of its archive. `batches`: how many are unacknowledged. Raise CannotStart if the hive
    has no such drone.
    """
    if hive.map is None or drone not in {*hive.map.drones, *hive.map.leaving}:
        raise CannotStart(f"--drone {drone}: this hive has no such drone")
    slots = len(hive.map.owned(drone))
    say(
        f"drone {drone} owns {slots} of {len(hive.map.owners)} parts of the web; the "
        "following is lost with its state:"
    )
    if not figures:
        say("  its queued URLs, what it has seen, and its archive (it is not known how many)")
    else:
        queued = count(int(figures.get("queued", 0)), "URL")
        say(f"  {queued} queued for {count(int(figures.get('hosts', 0)), 'host')}")
        say(f"  {count(int(figures.get('pages', 0)), 'page')} in its archive, {place}")
        say(f"  {batches} of links for other drones")
    say("pages of these hosts are fetched again when a page links to them or a seed names them;")
    say(
        "the other drones send their unacknowledged links again, and seeds are read from the beginning"
    )


def _wait_for_fence(target: HiveTarget, drone: int, say: Say) -> None:
    """Wait until the drone's fence has closed: should it only be cut off, it then fetches no more.

    Raise CannotStart if the drone comes back.
    """
    seconds = _seconds_to_fence(target.ask_server(), drone)
    if not seconds:
        return
    say(
        f"waiting for {seconds:.0f} s: until then drone {drone} may still fetch, if it is only "
        "cut off from the server."
    )
    say("--now skips this wait; two drones may then fetch from the same hosts during that time")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(LOOK_SECONDS)
        _check_is_away(target.ask_server(), drone)


def _seconds_to_fence(hive: HiveView, drone: int) -> float:
    """Return for how many seconds a drone without a lease may still fetch.

    A server that has the drone's report had its lease too, and has let that run out. Without a
    report the server may be new.
    """
    report = hive.reports.get(drone)
    if report is not None:
        return max(report.fence - report.lease, 0.0)
    return max((other.fence for other in hive.reports.values()), default=defaults.HIVE_LEASE)


@dataclass(frozen=True, slots=True)
class SavedIdentity:
    """The identity in a JOBDIR as of its last checkpoint: a drone's or None, and its hive's key."""

    jobdir: Path
    identity: Identity | None
    key: bytes | None


def adopt(
    target: HiveTarget, drone: int, saved: SavedIdentity, command: Sequence[str], say: Say
) -> int:
    """Run the drone here by `command`, until the other drones have all that it had.

    The others are told only after the folder has proved to be this drone's, and after the hive has
    let the drone in. Return the exit status of the drone. Raise CannotStart or NotRunning if the
    drone cannot hand over everything.
    """
    check_is_launched(target)
    hive = target.ask_server()
    check_can_leave(hive, drone)
    _check_folder(target.name, hive, drone, saved)
    stats_before = stats_file.read(saved.jobdir)
    drone_command = guard_command(command, signal.SIGTERM)
    with subprocess.Popen(drone_command, stdin=subprocess.PIPE, env=environment()) as process:  # noqa: S603 - this program

        def check_going() -> None:
            """Raise CannotStart if the drone has ended before its crawl was finished.

            The exit status does not tell: a drone that was stopped ends with 0, too, and one whose
            store is away with 1, though nothing is left.
            """
            status = process.poll()
            if status is not None:
                stats = stats_file.read(saved.jobdir)
                if stats == stats_before or stats.get("reason") != stats_file.FINISHED:
                    _refuse_early_end(drone, status)

        try:
            say(f"waiting for drone {drone}, which is started")
            status = process.poll()
            while status is None and drone not in target.ask_server().leases:
                time.sleep(LOOK_SECONDS)
                status = process.poll()
            if status is not None:
                _refuse_early_end(drone, status)
            give_up(target, drone, say, check_going=check_going)
        except BaseException:
            process.terminate()
            raise
        finally:
            process.wait()
            release_guard(process)
        return process.returncode


def _refuse_early_end(drone: int, status: int) -> NoReturn:
    raise CannotStart(
        f"drone {drone} ended with exit status {status} before it had handed over everything: "
        "repeat the command"
    )


def _check_folder(name: str, hive: HiveView, drone: int, saved: SavedIdentity) -> None:
    """Raise CannotStart unless this is the JOBDIR of this drone, and no process runs the drone."""
    option = f"--jobdir {saved.jobdir}"
    identity = saved.identity
    if identity is None:
        raise CannotStart(
            f"{option}: holds a crawl that is not part of a hive, not drone {drone} of the hive {name}"
        )
    if (identity.name, identity.drone) != (name, drone):
        raise CannotStart(
            f"{option}: belongs to drone {identity.drone} of the hive {identity.name}, "
            f"not to drone {drone} of {name}"
        )
    if saved.key and hive.key and saved.key != hive.key:
        raise CannotStart(f"{option}: belongs to another hive with the name {name}")
    report = hive.reports.get(drone)
    if report is not None and report.identity != identity.id:
        where = f"{report.jobdir} on {report.host}"
        raise CannotStart(
            f"{option}: drone {drone} of this hive has its state in another folder, {where}"
        )
    if drone in hive.leases:
        raise CannotStart(
            f"--drone {drone}: it {WAS_ALIVE} --jobdir it hands over everything itself"
        )
    if is_held(saved.jobdir / "state"):
        raise CannotStart(f"{option}: another process is using it")


def adopted_drone_command(
    settings: BaseSettings,
    target: HiveTarget,
    drone: int,
    jobdir: str,
    arguments: Mapping[str, str],
) -> list[str]:
    """Return the command that runs a drone on this JOBDIR.

    The spider is the hive's, or else `web`. Raise NotRunning if no server of the hive is known.
    """
    hive = target.ask_server()
    founding = target.founding
    drone_settings = {
        **command_line_options(settings),
        "JOBDIR": jobdir,
        "HIVE_DRONES": str(max(hive.founders, drone + 1)),
        "HIVE_DRONE": str(drone),
        "HIVE_NAME": target.name,
    }
    if founding is not None:
        drone_settings["HIVE_PARTITION"] = founding.partition
    server_url = target.url()
    if server_url:
        drone_settings["REDIS_URL"] = server_url
    spider = founding.spider if founding is not None else DEFAULT_NAME
    return crawl_command(spider, arguments, drone_settings)


def _check_is_away(hive: HiveView, drone: int) -> None:
    """Raise CannotStart if the drone is alive: it needs no other process to give its slots away."""
    if drone in hive.leases:
        raise CannotStart(f"--drone {drone}: it {WAS_ALIVE} --lost it hands over everything itself")
