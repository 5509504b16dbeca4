"""`webcrawl hive resize` and `adopt`: change who shares the web of a hive, by its server."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing
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
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder
from webcrawl.crawl.hive.member import Identity
from webcrawl.crawl.hive.operator import HiveLook, Operator, waits_for
from webcrawl.crawl.hive.partition import MOST_DRONES
from webcrawl.crawl.hive.process import guarded, release
from webcrawl.store.jobdir import stats_file
from webcrawl.store.lock import is_held
from webcrawl.tools.supervisor.hive_run import command, given_by_command
from webcrawl.tools.supervisor.servers import DEFAULT, HiveTarget, MakeOperator

ALIVE = "was alive within HIVE_LEASE seconds; without"
LATER = "; the change continues when it is back"
LOOKS = 0.5  # seconds between two
# seconds in which a server or drones that died are there again, if anybody starts them
SILENCE = 15.0
# the drones that shall share the web, by those that shall now
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
    asked = partial(others, drone)
    return asyncio.run(_changed(target.running(), target.folder, asked, lost, say, still))


def must_run(target: HiveTarget) -> None:
    """Raise NotRunning if nobody runs the hive of a folder, so that no change would go on.

    One by its server may be.
    """
    if target.folder is not None and not target.folder.supervised:
        raise NotRunning(stopped(target.folder))


def stopped(folder: HiveFolder) -> str:
    """Return how a hive is that does not run, and what to do."""
    state = "has finished" if folder.finished else "is not running"
    wanted = folder.known().wanted
    if not wanted:
        return f"{folder.path}: the hive {state}: start it first"
    change = f"the change to {count(len(wanted), 'drone')} is not complete"
    return f"{folder.path}: the hive {state}, and {change}: start the hive again to complete it"


def check_given_up(look: HiveLook, drone: int) -> None:
    """CannotStart if this drone is no member, nor is to be one, or if no other is."""
    placed = {*look.map.drones, *look.map.leaving} if look.map is not None else set()
    members = sorted(placed | look.wanted)
    if drone not in members:
        raise CannotStart(
            f"--drone {drone}: the hive has the drones {', '.join(map(str, members))}"
        )
    others(drone, _wanted(look))


def others(drone: int, drones: Collection[int]) -> tuple[int, ...]:
    """Return all of these but this one. Raise CannotStart if there are none."""
    left = tuple(one for one in sorted(drones) if one != drone)
    if not left:
        raise CannotStart(f"--drone {drone}: no drone would be left")
    return left


def _wanted(look: HiveLook) -> Collection[int]:
    """Return the drones that shall share the web, as far as the server knows."""
    return look.wanted or (look.map.drones if look.map is not None else ())


async def _changed(
    make_operator: MakeOperator,
    folder: HiveFolder | None,
    asked: Asked,
    lost: Collection[int],
    say: Say,
    still: Callable[[], None] = lambda: None,
) -> int:
    """Wait until all is settled, however long: Ctrl-C ends the waiting, not the change."""
    later = ""
    try:
        async with aclosing(make_operator()) as operator:
            _check(look := await operator.look(), lost)
            if folder is None:
                members = asked(_wanted(look))
            else:
                members = _note(folder, lambda pending: asked(pending or _wanted(look)), lost)
                later = LATER
            await operator.resize(members, lost)
            later = LATER
            await _until_settled(ChangeWaiter(operator, folder, members, lost), say, still)
    except Away as error:
        raise CannotStart(f"the hive's server is {error.state}: {error}{later}") from error
    return 0


def _check(look: HiveLook, lost: Collection[int]) -> None:
    """Refuse what can be refused before anything changes."""
    if not look.leases:
        raise NotRunning("no drone of this hive is there")
    for drone in () if lost else look.leases:  # what is lost is not given away
        if drone in look.reports and (why := look.reports[drone].stays):
            raise CannotStart(f"the hive cannot be resized: {why}")


def _note(folder: HiveFolder, asked: Asked, lost: Collection[int]) -> tuple[int, ...]:
    """First record the wanted drones in hive.json. The hive's process reads them there and tells
    the server.

    `asked` is called with the drones of a change still under way, which may have been requested at
    the same moment.
    """

    def noted(known: Founding) -> Founding:
        drones = tuple(drone for drone in known.drones if drone not in lost)
        return replace(
            known,
            drones=drones,
            lost=tuple(sorted({*known.lost, *lost})),
            wanted=asked(known.wanted),
        )

    _, after = folder.change(noted)
    return after.wanted


async def _until_settled(waiting: ChangeWaiter, say: Say, still: Callable[[], None]) -> None:
    said = ""
    while waits := await waiting.look():
        if waits != said:
            say(f"waiting for {waits}")
            said = waits
        still()
        await asyncio.sleep(LOOKS)
    say(f"the hive now has {count(len(waiting.members), 'drone')}")


class ChangeWaiter:
    """Waits for the end of a change.

    The hive of a folder says it in hive.json; of any other the server alone is asked.
    """

    def __init__(
        self,
        operator: Operator,
        folder: HiveFolder | None,
        members: Collection[int],
        lost: Collection[int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._operator = operator
        self._folder = folder
        self._lost = lost
        self._clock = clock
        self.members = members
        self._heard = clock()  # when anybody was there

    async def look(self) -> str:
        """Return the drones that the change waits for now, in words; empty once it has ended.

        Raise CannotStart if it does not go on.
        """
        if self._folder is not None and self._has_ended(self._folder):
            return ""
        try:
            look = await self._operator.look()
        except Away as error:
            if self._folder is None or self._is_silent():
                raise
            return f"the hive's server, which is {error.state}"
        self._check_drones(look)
        if self._folder is None:
            self._check_wanted(look.wanted)
        waits = waits_for(look, self.members, self._lost)
        if not waits and self._folder is not None:  # hive.json does not say yet that it has ended
            return "the drones that leave the hive"
        return waits

    def _check_drones(self, look: HiveLook) -> None:
        """Raise CannotStart if no drone has been there for a while."""
        if look.leases:
            self._heard = self._clock()
        elif self._is_silent():
            raise CannotStart(
                "no drone of this hive is running any more: the change continues when they are started again"
            )

    def _check_wanted(self, wanted: Collection[int]) -> None:
        """Raise CannotStart if the server has the order for another change by now."""
        if wanted and {*wanted} - {*self._lost} != {*self.members}:
            raise _overtaken(wanted)

    def _has_ended(self, folder: HiveFolder) -> bool:
        # asked before hive.json is read: the hive's process writes there last of all
        supervised = folder.supervised
        founding = folder.known()
        if {*(founding.wanted or founding.drones)} != {*self.members}:
            raise _overtaken(founding.wanted or founding.drones)
        if founding.wanted and not supervised:
            raise CannotStart(stopped(folder))
        return not founding.wanted

    def _is_silent(self) -> bool:
        """Return whether no drone was there for longer than a restart takes."""
        return self._clock() - self._heard > SILENCE


def _overtaken(wanted: Collection[int]) -> CannotStart:
    return CannotStart(
        f"another change was requested since then, to the drones {', '.join(map(str, sorted(wanted)))}"
    )


# -- a drone that shall not crawl any more, or cannot


def adopt_lost(target: HiveTarget, drone: int, say: Say, *, sure: bool, now: bool = False) -> int:
    """Say what is lost with a drone's state, and give its part to the others if that is wanted."""
    if target.folder is not None and not target.folder.supervised:
        return _adopt_later(target.folder, drone, say, sure=sure)
    for line in _losses(target.look(), drone):
        say(line)
    _say_what_follows(say)
    if not sure:
        say("nothing was changed: repeat the command with --yes to give it up")
        return 1
    if not now:
        _await_fence(target, drone, say)
    return give_up(target, drone, say, lost=(drone,))


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


def _adopt_later(folder: HiveFolder, drone: int, say: Say, *, sure: bool) -> int:
    """Adopt what is lost of a hive that does not run: its drones hear of it at their start."""
    lock = folder.lock()
    try:
        slots = folder.saved_map()
        if drone not in {*folder.known().drones, *(slots.leaving if slots else ())}:
            raise CannotStart(f"--drone {drone}: this hive has no such drone")
        _without(folder.known(), drone)
        figures = folder.figures(drone)
        queued, pages = (int(figures.get(name, 0)) for name in ("queued", "pages"))
        known = (
            f"{count(queued, 'URL')} queued, {count(pages, 'page')}"
            if figures
            else "its URLs, its pages"
        )
        say(f"lost with the state of drone {drone} are {known},")
        say("what it has seen, and links for other drones that had not arrived")
        _say_what_follows(say)
        if not sure:
            say("nothing was changed: repeat the command with --yes to give it up")
            return 1
        _, after = folder.change(lambda now: _without(now, drone))
        left = count(len(after.wanted or after.drones), "drone")
        say(f"the other drones take over its hosts when the hive is started, with {left}")
        return 0
    finally:
        lock.close()


def _without(founding: Founding, drone: int) -> Founding:
    """Return the founding without this drone; a change that has not ended goes on."""
    wanted = others(drone, founding.wanted) if founding.wanted else ()
    lost = tuple(sorted({*founding.lost, drone}))
    return replace(founding, drones=others(drone, founding.drones), lost=lost, wanted=wanted)


def _say_what_follows(say: Say) -> None:
    say("pages of these hosts are fetched again when a page links to them or a seed names them;")
    say(
        "the other drones send their unacknowledged links again, and seeds are read from the beginning"
    )


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


def _losses(look: HiveLook, drone: int) -> Iterator[str]:
    _check_silent(look, drone)
    if look.map is None or drone not in {*look.map.drones, *look.map.leaving}:
        raise CannotStart(f"--drone {drone}: this hive has no such drone")
    slots = len(look.map.owned(drone))
    yield (
        f"drone {drone} owns {slots} of {len(look.map.owners)} parts of the web; the "
        "following is lost with its state:"
    )
    report = look.reports.get(drone)
    if report is None:
        yield "  its queued URLs, what it has seen, and its archive (the server does not know how many)"
    else:
        figures = report.figures
        queued = count(int(figures.get("queued", 0)), "URL")
        yield f"  {queued} queued for {count(int(figures.get('hosts', 0)), 'host')}"
        yield f"  {count(int(figures.get('pages', 0)), 'page')} in its archive, {report.jobdir} on {report.host}"
        yield f"  {count(report.unacknowledged, 'letter')} with links for other drones"
