"""The orders to a hive that runs, all by its server: those of `scrapy ctl`, and `scrapy hive resize` and `adopt`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from webcrawl.base.errors import CannotStart
from webcrawl.base.readable import count
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.commands import COMMANDS, checked
from webcrawl.crawl.control.exclusions import dated
from webcrawl.crawl.hive.errors import Away, Full
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder
from webcrawl.crawl.hive.operator import Look, Operator, unsettled
from webcrawl.crawl.hive.partition import MOST_DRONES
from webcrawl.tools.supervisor.servers import MakeOperator, Target

FOR_ALL = ("stop", "pause", "resume", "checkpoint", "exclude", "include", "seeds", "set")
EXCLUDE, STOP = "exclude", "stop"
LATER = "; the change goes on when it is back"
PATIENCE = 60.0  # seconds in which a command is in force on every drone that is there
LOOKS = 0.5  # seconds between two
Asked = Callable[[Collection[int]], tuple[int, ...]]  # the drones that shall share the web, by those that shall now
SILENCE = 15.0  # seconds in which a server or drones that died are there again, if anybody starts them


class Unanswered(CannotStart):
    """The order was given, and is carried out later, perhaps: nobody has confirmed it."""


def is_order(name: str, *words: str) -> bool:
    """True if such a command goes to all drones: also what lasts of a host, which may change hands."""
    return name in FOR_ALL or (bool(words) and name in COMMANDS and COMMANDS[name].lasts(*words))


def given(target: Target, name: str, arguments: Sequence[str]) -> str:
    """Gives a command to all drones, and waits until their checkpoints have it; says so. CannotStart if they do not.

    Unanswered: they may do it yet.
    """
    try:
        checked(name, *arguments)
    except CommandError as error:
        raise CannotStart(str(error)) from error
    if name == EXCLUDE:
        arguments = dated(arguments, time.time())
    return asyncio.run(_given(target.running(), target.folder, name, arguments))


async def _given(make_operator: MakeOperator, folder: HiveFolder | None, name: str, arguments: Sequence[str]) -> str:
    operator, there = make_operator(), frozenset[int]()
    try:
        there = frozenset((await operator.look()).leases)
        if not there:
            raise CannotStart("no drone of this hive is there")
        number = await operator.command(name, *arguments)
        end = time.monotonic() + PATIENCE
        while waiting := _behind(look := await operator.look(), number):
            if time.monotonic() > end:
                drones = ", ".join(map(str, waiting))
                raise Unanswered(f"{name}: drones {drones} have not answered; they will know it")
            await asyncio.sleep(LOOKS)
    except Away as error:
        if name != STOP or not there or not await _ends(folder):  # the server of a hive ends with it
            kind = Unanswered if there and not isinstance(error, Full) else CannotStart
            raise kind(f"the hive's server is {error.state}: {error}") from error
        return f"{name}: done by {count(len(there), 'drone')}"
    finally:
        await operator.close()
    refusals = [(drone, why) for drone, report in look.reports.items() if (why := report.refusal(number))]
    if refusals:
        raise CannotStart("; ".join(f"refused by drone {drone}: {why}" for drone, why in refusals))
    if name == STOP:
        return f"{name}: done by {count(len(there), 'drone')}"
    if gone := [str(one) for one in sorted(there) if one not in look.leases and _is_missed(look, one, number)]:
        raise Unanswered(f"{name}: drones {', '.join(gone)} went away before they answered; they will know it")
    done = [one for one in there if not _is_behind(look, one, number)]
    return f"{name}: done by {count(len(done), 'drone')}"


async def _ends(folder: HiveFolder | None) -> bool:
    """Waits for the end of the process that runs the hive of this folder. False if it goes on, or is not known."""
    end = time.monotonic() + PATIENCE
    while folder is not None and folder.supervised and time.monotonic() < end:  # noqa: ASYNC110 - it has no event
        await asyncio.sleep(LOOKS)
    return folder is not None and not folder.supervised


def _behind(look: Look, number: int) -> list[int]:
    """The drones that are there and have not carried it out; who stops is no longer there."""
    return [drone for drone in look.leases if _is_behind(look, drone, number)]


def _is_behind(look: Look, drone: int, number: int) -> bool:
    return drone not in look.reports or look.reports[drone].applied < number


def _is_missed(look: Look, drone: int, number: int) -> bool:
    """True if it has not carried it out, and belongs to the hive: one that has given away all has nothing to do."""
    left = look.map is not None and drone not in {*look.map.drones, *look.map.leaving}
    return not left and _is_behind(look, drone, number)


def resize(target: Target, wanted: int, say: Callable[[str], Any]) -> int:
    """Changes the number of drones while the hive runs, and waits until all slots are where they belong."""
    if not 1 <= wanted <= MOST_DRONES:
        raise CannotStart(f"-n {wanted}: must be a whole number from 1 to {MOST_DRONES}")
    must_run(target)
    return asyncio.run(_changed(target.running(), target.folder, lambda _: tuple(range(wanted)), (), say))


def give_up(
    target: Target,
    drone: int,
    say: Callable[[str], Any],
    lost: Collection[int] = (),
    still: Callable[[], None] = lambda: None,
) -> int:
    """Gives the slots of a drone to the others; with `lost`, though its state is gone. `still` may end the waiting."""
    must_run(target)
    check_given_up(one_look(target), drone)
    asked = partial(others, drone)
    return asyncio.run(_changed(target.running(), target.folder, asked, lost, say, still))


def must_run(target: Target) -> None:
    """CannotStart if nobody runs the hive of a folder, so that no change would go on. One by its server may be."""
    if target.folder is not None and not target.folder.supervised:
        raise CannotStart(stopped(target.folder))


def stopped(folder: HiveFolder) -> str:
    """Of a hive that nobody runs: how it is, and what to do."""
    state = "has finished" if folder.finished else "is not running"
    wanted = folder.known().wanted
    if not wanted:
        return f"{folder.path}: the hive {state}: start it first"
    change = f"the change to {count(len(wanted), 'drone')} has not ended"
    return f"{folder.path}: the hive {state}, and {change}: start it again, and it goes on with that"


def check_given_up(look: Look, drone: int) -> None:
    """CannotStart if this drone is no member, nor is to be one, or if no other is."""
    members = sorted({*(look.map.drones if look.map is not None else ()), *look.wanted})
    if drone not in members:
        raise CannotStart(f"--drone {drone}: the hive has the drones {', '.join(map(str, members))}")
    others(drone, _wanted(look))


def others(drone: int, drones: Collection[int]) -> tuple[int, ...]:
    """All of these but this one; CannotStart if there are none."""
    left = tuple(one for one in sorted(drones) if one != drone)
    if not left:
        raise CannotStart(f"--drone {drone}: no drone would be left")
    return left


def _wanted(look: Look) -> Collection[int]:
    """The drones that shall share the web, as far as the server knows."""
    return look.wanted or (look.map.drones if look.map is not None else ())


def one_look(target: Target) -> Look:
    """A look at what the server knows now."""
    return asyncio.run(looked(target.running()))


async def looked(make_operator: MakeOperator) -> Look:
    operator = make_operator()
    try:
        return await operator.look()
    finally:
        await operator.close()


async def _changed(
    make_operator: MakeOperator,
    folder: HiveFolder | None,
    asked: Asked,
    lost: Collection[int],
    say: Callable[[str], Any],
    still: Callable[[], None] = lambda: None,
) -> int:
    """Until all is settled, however long it takes: Ctrl-C ends the waiting, not the change."""
    operator, later = make_operator(), ""
    try:
        _check(look := await operator.look(), lost)
        if folder is None:
            members = asked(_wanted(look))
        else:
            members = _note(folder, lambda pending: asked(pending or _wanted(look)), lost)
            later = LATER
        await operator.resize(members, lost)
        later = LATER
        await _until_settled(Waiting(operator, folder, members, lost), say, still)
    except Away as error:
        raise CannotStart(f"the hive's server is {error.state}: {error}{later}") from error
    finally:
        await operator.close()
    return 0


def _check(look: Look, lost: Collection[int]) -> None:
    """Whatever can be refused is refused before anything changes."""
    if not look.leases:
        raise CannotStart("no drone of this hive is there")
    for drone in () if lost else look.leases:  # what is lost is not given away
        if drone in look.reports and (why := look.reports[drone].stays):
            raise CannotStart(f"the hive cannot be resized: {why}")


def _note(folder: HiveFolder, asked: Asked, lost: Collection[int]) -> tuple[int, ...]:
    """What is wanted stands in hive.json first: whoever runs the hive tells the server that, if all else dies now.

    `asked` gets the drones of a change that has not ended, and may have been asked for at the same moment.
    """

    def noted(known: Founding) -> Founding:
        drones = tuple(drone for drone in known.drones if drone not in lost)
        return replace(known, drones=drones, lost=tuple(sorted({*known.lost, *lost})), wanted=asked(known.wanted))

    _, after = folder.change(noted)
    return after.wanted


async def _until_settled(waiting: Waiting, say: Callable[[str], Any], still: Callable[[], None]) -> None:
    said = ""
    while waits := await waiting.look():
        if waits != said:
            say(f"waiting for {waits}")
            said = waits
        still()
        await asyncio.sleep(LOOKS)
    say(f"the web is shared by {count(len(waiting.members), 'drone')} now")


class Waiting:
    """For the end of a change. The hive of a folder says it in hive.json; of any other the server alone is asked."""

    def __init__(
        self,
        operator: Operator,
        folder: HiveFolder | None,
        members: Collection[int],
        lost: Collection[int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._operator, self._folder, self._lost, self._clock = operator, folder, lost, clock
        self.members = members
        self._heard = clock()  # when anybody was there

    async def look(self) -> str:
        """The drones that the change waits for now; nothing once it has ended. CannotStart: it does not go on."""
        if self._folder is not None and self._has_ended(self._folder):
            return ""
        try:
            look = await self._operator.look()
        except Away as error:
            if self._is_silent() or self._folder is None:
                raise
            return f"the hive's server, which is {error.state}"
        if look.leases:
            self._heard = self._clock()
        elif self._is_silent():
            raise CannotStart("no drone of this hive is there any more: the change goes on when they are started again")
        if self._folder is None and look.wanted and look.wanted - {*self._lost} != {*self.members}:
            raise _overtaken(look.wanted)
        waits = unsettled(look, self.members, self._lost)
        return waits or ("the drones that leave" if self._folder is not None else "")

    def _has_ended(self, folder: HiveFolder) -> bool:
        supervised = folder.supervised  # before hive.json is read: the last thing that it does is to write there
        founding = folder.known()
        if {*(founding.wanted or founding.drones)} != {*self.members}:
            raise _overtaken(founding.wanted or founding.drones)
        if founding.wanted and not supervised:
            raise CannotStart(stopped(folder))
        return not founding.wanted

    def _is_silent(self) -> bool:
        """True if nobody was there for so long that it is no restart."""
        return self._clock() - self._heard > SILENCE


def _overtaken(wanted: Collection[int]) -> CannotStart:
    return CannotStart(f"others were asked for since then: drones {', '.join(map(str, sorted(wanted)))}")
