"""The commands to a hive that runs: `scrapy hive stop`, `pause`, `exclude`, `resize` and so on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from webcrawl.commands.cannot_start import CannotStart
from webcrawl.commands.saying import say_all
from webcrawl.control.commands import COMMANDS, checked
from webcrawl.control.errors import CommandError
from webcrawl.control.leaving import dated
from webcrawl.hive.errors import Away
from webcrawl.hive.operator import Look, Operator, unsettled
from webcrawl.hive.slots import MOST_DRONES
from webcrawl.supervisor.servers import MakeOperator
from webcrawl.supervisor.target import Target
from webcrawl.text.quantities import count

FOR_ALL = ("stop", "pause", "resume", "checkpoint", "exclude", "include", "seeds", "set")
EXCLUDE = "exclude"
PATIENCE = 60.0  # seconds in which a command is in force on every drone that is there
LOOKS = 0.5  # seconds between two


def is_order(name: str, *words: str) -> bool:
    """Whether such a command goes to all drones: also what lasts of a host, which may change hands."""
    return name in FOR_ALL or (bool(words) and name in COMMANDS and COMMANDS[name].lasts(*words))


def give(target: Target, name: str, arguments: Sequence[str]) -> int:
    """The same for `scrapy hive`; returns the exit status."""
    say_all(f"{given(target, name, arguments)}\n")
    return 0


def given(target: Target, name: str, arguments: Sequence[str]) -> str:
    """Gives a command to all drones, and waits until they have carried it out; says so. CannotStart if they do not."""
    try:
        checked(name, *arguments)
    except CommandError as error:
        raise CannotStart(str(error)) from error
    if name == EXCLUDE:
        arguments = dated(arguments, time.time())
    return asyncio.run(_given(target.running(), name, arguments))


async def _given(make_operator: MakeOperator, name: str, arguments: Sequence[str]) -> str:
    operator = make_operator()
    try:
        there = len((await operator.look()).leases)
        if not there:
            raise CannotStart("no drone of this hive is there")
        number = await operator.command(name, *arguments)
        end = time.monotonic() + PATIENCE
        while waiting := _behind(look := await operator.look(), number):
            if time.monotonic() > end:
                drones = ", ".join(map(str, waiting))
                raise CannotStart(f"{name}: drones {drones} have not answered; they will know it")
            await asyncio.sleep(LOOKS)
        refusals = [(drone, why) for drone, report in look.reports.items() if (why := report.refusal(number))]
    except Away as error:
        refusals = []
        if name != "stop":  # the server of a hive ends with it
            raise CannotStart(f"the hive's server is {error.state}: {error}") from error
    finally:
        await operator.close()
    if refusals:
        raise CannotStart("; ".join(f"refused by drone {drone}: {why}" for drone, why in refusals))
    return f"{name}: done by {count(there, 'drone')}"


def _behind(look: Look, number: int) -> list[int]:
    """The drones that are there and have not carried it out; who stops is no longer there."""
    return [drone for drone in look.leases if drone not in look.reports or look.reports[drone].applied < number]


def resize(target: Target, wanted: int, say: Callable[[str], Any]) -> int:
    """Changes the number of drones while the hive runs, and waits until all slots are where they belong."""
    if not 1 <= wanted <= MOST_DRONES:
        raise CannotStart(f"-n {wanted}: must be a whole number from 1 to {MOST_DRONES}")
    members = tuple(range(wanted))
    status = asyncio.run(_changed(target.running(), members, (), say, lambda look: _start_more(target, members, look)))
    if status == 0 and target.folder is not None and target.founding is not None:
        target.folder.write(replace(target.founding, drones=members, wanted=()))
    return status


def give_up(
    target: Target,
    drone: int,
    say: Callable[[str], Any],
    lost: Collection[int] = (),
    still: Callable[[], None] = lambda: None,
) -> int:
    """Gives the slots of a drone to the others; with `lost`, though its state is gone. `still` may end the waiting."""
    make_operator = target.running()
    members = asyncio.run(_others(make_operator, drone))
    status = asyncio.run(_changed(make_operator, members, lost, say, still=still))
    if status == 0 and target.folder is not None and target.founding is not None:
        left = tuple(one for one in target.founding.drones if one != drone)
        target.folder.write(replace(target.founding, drones=left, wanted=()))
    return status


def _start_more(target: Target, members: Collection[int], look: Look) -> None:
    """Whoever runs the hive on this machine looks at hive.json once a second, and starts what is new there.

    Those that are to leave stay there until they have; but not one that never came, and now shall not. What is wanted
    stands there as well: the server may be killed before any drone's checkpoint has the order.
    """
    if target.folder is not None and target.founding is not None:
        drones = tuple(sorted({*target.folder.known().drones}.intersection(look.drones).union(members)))
        target.folder.write(replace(target.founding, drones=drones, wanted=tuple(members)))


async def _others(make_operator: MakeOperator, drone: int) -> tuple[int, ...]:
    operator = make_operator()
    try:
        slots = (await operator.look()).map
    except Away as error:
        raise CannotStart(f"the hive's server is {error.state}: {error}") from error
    finally:
        await operator.close()
    if slots is None or drone not in slots.drones:
        raise CannotStart(
            f"--drone {drone}: the hive has the drones {', '.join(map(str, slots.drones if slots else ()))}"
        )
    if len(slots.drones) == 1:
        raise CannotStart(f"--drone {drone}: no drone would be left")
    return tuple(one for one in slots.drones if one != drone)


async def _changed(
    make_operator: MakeOperator,
    members: Collection[int],
    lost: Collection[int],
    say: Callable[[str], Any],
    start: Callable[[Look], None] = lambda _: None,
    still: Callable[[], None] = lambda: None,
) -> int:
    """Until all is settled, however long it takes: Ctrl-C ends the waiting, not the change."""
    operator = make_operator()
    try:
        before = await operator.look()
        for drone in () if lost else before.leases:  # what is lost is not given away
            if drone in before.reports and (why := before.reports[drone].stays):
                raise CannotStart(f"the hive cannot be resized: {why}")
        await operator.resize(members, lost)
        start(await operator.look())  # not before: the hive lets in only those that shall be in it
        await _until_settled(operator, members, lost, say, still)
    except Away as error:
        raise CannotStart(f"the hive's server is {error.state}: {error}; the change goes on") from error
    finally:
        await operator.close()
    return 0


async def _until_settled(
    operator: Operator,
    members: Collection[int],
    lost: Collection[int],
    say: Callable[[str], Any],
    still: Callable[[], None],
) -> None:
    said = ""
    while waits := unsettled(look := await operator.look(), members, lost):
        if look.wanted - {*lost} != {*members}:
            raise CannotStart(f"others were asked for since then: drones {', '.join(map(str, sorted(look.wanted)))}")
        if waits != said:
            say(f"waiting for {waits}")
            said = waits
        still()
        await asyncio.sleep(LOOKS)
    say(f"the web is shared by {count(len(members), 'drone')} now")
