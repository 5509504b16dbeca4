"""The queen: what she decides from the drones' reports, and does: the end, the next map.

A `Report` comes with each heartbeat of a drone, for the queen and for those who watch.

The queen is whichever drone holds a lease in the server. `Queen` does nothing but look and decide,
without a network or a clock. What she remembers between two looks matters only for a few seconds:
another one begins anew, and nothing is lost. `Reign` has the drone that is queen publish what
follows, and `Telling` says it in her log and in a file.

**Why the crawl is over.** She looks at all reports at once, as they lie in the server: this is the
moment in question. Each drone is quiet in its report (`Report.quiet`), and says the same, with the
same count of its activity, in a report for which two more heartbeats were answered. The first of
these may have been the one that she saw. The second came later, so its answer did too, and the
report was made after that. Each drone has therefore done nothing from before the moment until after
it: at the moment itself all were quiet. No letter was under way then, as its sender knows it as
unacknowledged until the receiver's checkpoint has it. Nobody could begin anew, and a drone that is
killed then comes back to a checkpoint that has nothing to do either. No clock but the queen's is
asked, and that one only for the time to wait.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgpack
import msgspec

from webcrawl.crawl import progress
from webcrawl.crawl.hive.errors import ILLEGIBLE, ForeignMessage
from webcrawl.crawl.hive.member import Post
from webcrawl.crawl.hive.partition import Groups, SlotMap, Wanted
from webcrawl.crawl.hive.registry import OVER, RELEASE
from webcrawl.crawl.hive.transport import Beat, Transport
from webcrawl.store.disk import rewrite
from webcrawl.store.jobdir.figures import merged
from webcrawl.store.jobdir.stats_file import plain

LARGEST = 1 << 18  # bytes of a packed report; one of a long crawl has about 4,000
LONGEST = 500  # characters of a text: what is in trouble may quote anything
REFUSALS = 16  # that are told: those of a few beats, for whoever waits for one looks more often


class DroneState(StrEnum):
    """The states of a drone."""

    RUNNING = "running"
    PAUSED = "paused"  # hands out nothing, on command
    STOPPING = "stopping"  # ends its run; its state says what is left
    DRAINING = "draining"  # is no member any more, and gives away what it has
    RETIRED = "retired"  # has given away all, and others have it in their checkpoints


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a drone says of itself at the moment the report is packed.

    The queen relies on two promises. `beat` counts the heartbeats of this run that the server has
    answered, not those sent. An unanswered heartbeat may still arrive at any time. And `activity`
    differs between two reports of a run if anything was done in between.
    """

    drone: int
    identity: str  # of its state: another folder under the same number is another drone
    run: int  # how often this state was opened; `beat` and `activity` begin anew with each
    beat: int
    generation: int  # of the map that it works by
    state: DroneState = DroneState.RUNNING
    # number of the last command that it has carried out, as its last checkpoint knows too
    applied: int = 0
    # numbers of the last ones that it could not carry out, and why
    refusals: tuple[tuple[int, str], ...] = ()
    idle: bool = False  # nothing to fetch, to decide, to read or to write, and no seeds left
    rests: bool = False  # nothing to do but to try hosts set aside, and that for long enough
    over: bool = False  # its crawl has ended with that of all
    got: bool = True  # SeedFates.got; a drone of an earlier version does not tell it
    # its last checkpoint has all of its activity: killed now, it comes back as it is
    saved: bool = False
    moving: tuple[int, ...] = ()  # drones with which it has slots to exchange still
    activity: int = 0  # grows with each letter sent and handled, each page handed out and booked
    # letters, and collections that are none yet, which no checkpoint of a receiver has
    unacknowledged: int = 0
    stays: str = ""  # why none of its slots can leave, if that is so
    towards: tuple[int, ...] = ()  # drones, no members or given up, for which it has these
    # such drones for which its last checkpoint has letters: a kill would bring these back
    kept: tuple[int, ...] = ()
    seconds: float = 0.0  # of this run
    lease: float = 0.0  # seconds for which this sign of life holds
    fence: float = 0.0  # seconds after it in which the drone may fetch without another answer
    jobdir: str = ""
    host: str = ""  # name of its machine
    pid: int = 0
    trouble: str = ""  # why it fetches nothing, in a few words
    figures: Mapping[str, Any] = field(default_factory=dict)  # numbers: Crawl.stats()

    @property
    def settled(self) -> bool:
        """Return whether its slots are those that the map gives it."""
        return not self.moving

    @property
    def quiet(self) -> bool:
        """Return whether nothing is left to do for it, as its last checkpoint knows too."""
        return (
            self.idle
            and self.saved
            and self.settled
            and not self.unacknowledged
            and self.state in AT_WORK
        )

    def refusal(self, number: int) -> str:
        """Return the reason why this command was not carried out, or nothing if it was."""
        if len(self.refusals) >= REFUSALS and number < self.refusals[0][0]:
            return "it is not known whether this command was refused: too many were refused since"
        return dict(self.refusals).get(number, "")

    def stats(self) -> dict[str, Any]:
        """Return the drone's figures as `figures.merged` takes them."""
        return {
            **self.figures,
            **{
                name: getattr(self, name)
                for name in ("drone", "seconds", "jobdir", "host", "trouble")
            },
            "state": str(self.state),
        }

    def pack(self) -> bytes:
        values = asdict(self)
        values["state"] = str(self.state)
        values["trouble"], values["stays"] = self.trouble[:LONGEST], self.stays[:LONGEST]
        values["refusals"] = [(number, why[:LONGEST]) for number, why in self.refusals[-REFUSALS:]]
        return bytes(msgpack.packb(values))

    @classmethod
    def unpack(cls, data: bytes) -> Report:
        """Return what `pack` has packed, without what a later version has added.

        Raise ForeignMessage for all else.
        """
        try:
            if len(data) > LARGEST:
                raise ValueError(f"it has {len(data)} bytes, which is too many")
            report = msgspec.msgpack.decode(data, type=cls)
        except ILLEGIBLE as error:
            raise ForeignMessage(f"a drone's report cannot be read: {error!r}") from error
        figures = {
            name: value for name, value in report.figures.items() if type(value) in (int, float)
        }
        return replace(report, figures=figures)


AT_WORK = frozenset((DroneState.RUNNING, DroneState.DRAINING, DroneState.RETIRED))


logger = logging.getLogger(__name__)

NAME = "hive-stats.json"
WRITE, SAY = 10.0, 60.0  # seconds between two files, and two lines
# seconds for which nothing more is said of a drone whose reports stay unreadable, whatever is in
# them
AGAIN = 60.0
# seconds before it is said that a drone is away: when a hive starts, some come later than others
GRACE = 10.0
BEATS = 2  # after this many further ones a report was surely made after the look that saw the first


@dataclass(frozen=True, slots=True)
class Decisions:
    """The acts due to the queen now."""

    over: bool = False  # the crawl has ended: all drones may be told to stop
    gave_nothing: bool = False  # it has ended, and had seeds, but no drone has got anything
    # no drone has anything left but hosts set aside: none has to try these any more
    rest: bool = False
    map: SlotMap | None = None  # to be published, if nobody has published another one since
    waits: str = ""  # for which drone a change of the members waits, and why; nothing if none does
    # of these no slots come: they go to their new owners with nothing in them
    lost: frozenset[int] = frozenset()
    # lost, and nobody sends to them any more: others may get their numbers
    forgotten: frozenset[int] = frozenset()
    released: frozenset[int] = frozenset()  # retired, and nobody has letters for them: they may go
    # drones that are not heard of, and since when
    away: Mapping[int, float] = field(default_factory=dict)
    notices: tuple[str, ...] = ()  # for the log, once each


@dataclass(frozen=True, slots=True)
class _View:
    """The contents of the server at one moment."""

    reports: Mapping[int, Report]
    alive: Collection[int]
    map: SlotMap
    lost: frozenset[int]

    def taking_part(self) -> list[int]:
        """Return all drones that have, or may have, something to do."""
        retired = {
            drone for drone, report in self.reports.items() if report.state == DroneState.RETIRED
        }
        others = {*self.map.leaving, *self.reports} - retired
        return sorted({*self.map.drones, *others} - self.lost)

    def heard(self) -> list[Report]:
        """Return the reports of the drones that take part, without those of drones that are away."""
        return [
            self.reports[drone]
            for drone in self.taking_part()
            if drone in self.alive and drone in self.reports
        ]


class Queen:
    """Decides from reports what is to be done.

    `groups`: the drones that each group of slots prefers.
    """

    def __init__(self, groups: Groups = ((),)) -> None:
        self._groups = groups
        self._quiet: dict[int, Report] = {}  # as they were when all became quiet
        self._away: dict[int, float] = {}
        self._told: set[int] = set()  # those of them of which it was said

    def look(
        self,
        now: float,
        reports: Mapping[int, Report],
        alive: Collection[int],
        slots: SlotMap,
        wanted: Wanted | None = None,
        last_command: int = 0,
    ) -> Decisions:
        """Return what is due now.

        All arguments were read from the server in one piece; `now` is of a clock that only goes
        forward. `alive` are the drones that hold a lease. `wanted` is None if nobody has asked for
        a change. `last_command` is the number of the last command that was given.
        """
        wanted = wanted or Wanted(frozenset(slots.drones))
        view = _View(reports, alive, slots, wanted.lost)
        heard = view.heard()
        all_heard = len(heard) == len(view.taking_part())
        released = _released(view)
        is_due = _is_due(view, wanted)
        following = None
        waits = _awaited(view, wanted) if is_due else ""
        if is_due and not waits:
            following = view.map.resized(wanted.sharing, self._groups, wanted.lost)
        over = self._over(view, heard if all_heard else [], last_command)
        left = (released.difference(alive) | wanted.lost).intersection(slots.leaving)
        if left and following is None:
            following = slots.without(left)
        may_forget = all_heard and _same_map(view)
        return Decisions(
            over=over,
            gave_nothing=over and _gave_nothing(heard, slots),
            rest=all_heard and all(report.rests for report in heard),
            map=following,
            waits=waits,
            lost=wanted.lost if following else frozenset(),
            forgotten=wanted.lost.difference(slots.drones) if may_forget else frozenset(),
            released=released,
            notices=tuple(self._notices(now, view)),
            away=dict(self._away),
        )

    def _over(self, view: _View, heard: list[Report], last_command: int) -> bool:
        """Return whether the crawl is over (see above). `heard` is empty if a drone is missing."""
        all_quiet = bool(heard) and all(_is_quiet(report, view, last_command) for report in heard)
        is_slot_lost = not view.lost.isdisjoint(view.map.drones)
        if not all_quiet or is_slot_lost:
            self._quiet = {}
            return False
        quiet = {report.drone: report for report in heard}
        if not _are_idle(self._quiet, quiet):
            self._quiet = quiet
        return all(quiet[drone].beat >= self._quiet[drone].beat + BEATS for drone in quiet)

    def _notices(self, now: float, view: _View) -> Iterator[str]:
        missing = [drone for drone in view.taking_part() if drone not in view.alive]
        yield from self._missing_notices(missing, now, view)
        returned = [drone for drone in self._away if drone not in missing]
        yield from self._return_notices(returned, now, view)

    def _missing_notices(self, missing: Iterable[int], now: float, view: _View) -> Iterator[str]:
        for drone in missing:
            since = self._away.setdefault(drone, now)
            if drone not in self._told and now - since >= GRACE:
                self._told.add(drone)
                yield _missing_notice(drone, view)

    def _return_notices(self, returned: Iterable[int], now: float, view: _View) -> Iterator[str]:
        """Forget since when drones were away; name those that are back, and not gone for good."""
        for drone in returned:
            seconds = now - self._away.pop(drone)
            if drone in view.alive and drone in self._told:
                yield f"{_named(drone, view)} is back after {seconds:.0f} s"
            self._told.discard(drone)


def _gave_nothing(heard: Iterable[Report], slots: SlotMap) -> bool:
    """Return whether there were seeds, and no drone has got anything, or has a URL left to try.

    A drone that has left the hive may have got something, and is not heard any more.
    """
    if slots.generation > 1 or any(report.got for report in heard):
        return False
    if any(report.figures.get("queued") for report in heard):
        return False
    return any(report.figures.get("seeds") for report in heard)


def _is_quiet(report: Report, view: _View, last_command: int) -> bool:
    """Return whether a drone has nothing to do, by the latest map and after the last command."""
    is_up_to_date = report.generation == view.map.generation and report.applied >= last_command
    return report.quiet and is_up_to_date


def _are_idle(before: Mapping[int, Report], after: Mapping[int, Report]) -> bool:
    """Return whether these are the same drones, and none has done anything between the reports."""
    if before.keys() != after.keys():
        return False
    return all(_is_idle(before[drone], after[drone]) for drone in after)


def _is_idle(before: Report, after: Report) -> bool:
    """Return whether a drone has done nothing between two reports."""
    return (
        before.identity == after.identity
        and before.run == after.run
        and before.activity == after.activity
    )


def _missing_notice(drone: int, view: _View) -> str:
    report = view.reports.get(drone)
    is_stopped = report is not None and report.state == DroneState.STOPPING
    why = "was stopped" if is_stopped else "has sent no sign of life"
    return f"{_named(drone, view)} {why}; its hosts, and links to them, wait until it is back"


def _named(drone: int, view: _View) -> str:
    report = view.reports.get(drone)
    if report is None or not report.jobdir:
        return f"drone {drone}"
    return f"drone {drone} ({report.host}:{report.jobdir})"


def _same_map(view: _View) -> bool:
    """Return whether all drones that are heard work by the latest map."""
    return all(report.generation == view.map.generation for report in view.heard())


def _released(view: _View) -> frozenset[int]:
    """Return the retired drones that no letters can reach any more.

    No drone has letters for them, nor may get any by a new map or a kill.
    """
    retired = {
        drone for drone, report in view.reports.items() if report.state == DroneState.RETIRED
    }
    others = view.heard()
    if not retired or len(others) < len(view.taking_part()):
        return frozenset()
    if not _same_map(view):
        return frozenset()
    return frozenset(retired).difference(
        view.map.drones, *(report.towards + report.kept for report in others)
    )


def _is_due(view: _View, wanted: Wanted) -> bool:
    """Return whether a map is needed: with other members, or to end the wait for a lost drone."""
    if not wanted.sharing:
        return False
    has_other_members = wanted.sharing != {*view.map.drones}
    waits_for_lost = any(
        wanted.lost.intersection(report.moving + report.towards) for report in view.heard()
    )
    return has_other_members or waits_for_lost


def _awaited(view: _View, wanted: Wanted) -> str:
    """Return which drone the next map waits for, and why.

    One change at a time: a slot that is on its way goes to where it was sent before anything else
    is decided of it. Only slots to and from a drone that is lost are not waited for.
    """
    for drone in sorted(view.lost.intersection(view.map.drones, view.alive)):
        return f"drone {drone}, which was given up but is running"
    drones = wanted.sharing.union(view.taking_part())
    return unsettled(view.reports, view.alive, view.map, drones, view.lost)


def unsettled(
    reports: Mapping[int, Report],
    alive: Collection[int],
    slots: SlotMap,
    drones: Iterable[int],
    lost: Collection[int] = (),
) -> str:
    """Return the first of these drones that is away, or still has slots to exchange."""
    for drone in sorted(drones):
        report = reports.get(drone)
        if report is None or drone not in alive:
            return f"drone {drone}, which is not running"
        if report.generation != slots.generation or {*report.moving}.difference(lost):
            return f"drone {drone}, which is still exchanging slots"
    return ""


class Telling:
    """Writes the figures of all drones into the queen's log, and a file of her JOBDIR."""

    def __init__(self, jobdir: Path) -> None:
        self._path = jobdir / NAME
        self._written_at = float("-inf")
        self._said_at = float("-inf")

    def tell(
        self,
        now: float,
        reports: Collection[Report],
        away: Collection[int] = (),
        *,
        last: bool = False,
    ) -> None:
        """Write both if it is time for it.

        `away`: drones that are not heard of; `last`: the crawl is over.
        """
        if not last and now - self._written_at < WRITE:
            return
        found = merged(report.stats() for report in reports)
        self._written_at = now
        try:
            rewrite(self._path, plain(found).encode())
        except OSError as error:  # the figures are in the server, too
            logger.warning("%s: cannot be written: %s", self._path, error)
        if last or now - self._said_at >= SAY:
            self._said_at = now
            trouble = f"{found['trouble']}, " if found.get("trouble") else ""
            drones = len({report.drone for report in reports}.union(away))
            gone = f", {len(away)} away" if away else ""
            logger.info("the hive: %s%s, drones: %d%s", trouble, progress.line(found), drones, gone)


class Reign:
    """Publishes what the queen decides. Begins anew with each time that this drone is queen."""

    def __init__(
        self, me: int, server: Transport, post: Post, groups: Groups, telling: Telling
    ) -> None:
        self._me = me
        self._server = server
        self._post = post
        self._groups = groups
        self._telling = telling
        self._queen: Queen | None = None
        self._released: set[int] = set()
        self._waits = ""  # what was said of a change last
        self._alive = 0
        # drones: what was said of their reports, and when
        self._unreadable: dict[int, tuple[str, float]] = {}

    async def heard(self, beat: Beat) -> None:
        """Does what follows from this beat."""
        self._alive = len(beat.alive)
        if beat.queen != self._me:
            self._queen = None
            self._waits = ""
            return
        if self._queen is None:
            self._queen = Queen(self._groups)
        slots = self._post.drone.slots
        obeyed = self._post.obeyed
        now = time.monotonic()
        reports = self._reports(beat, now)
        decided = self._queen.look(now, reports, beat.alive, slots, obeyed.wanted, obeyed.number)
        self._telling.tell(now, reports.values(), decided.away, last=decided.over)
        await self._act(decided, beat)

    def figures(self) -> dict[str, float]:
        """Return the hive as this drone knows it; only the queen hears who is alive."""
        slots = self._post.drone.slots
        return {
            "hive/members": len(slots.drones),
            "hive/generation": slots.generation,
            "hive/queen": self._queen is not None,
            "hive/alive": self._alive if self._queen is not None else 0,
            "hive/change_waits": bool(self._waits),
        }

    async def _act(self, decided: Decisions, beat: Beat) -> None:
        """Do what was decided. A kill between two steps leaves the rest to the next queen.

        She decides it again, from the same reports. A drone that is cut off, and still takes itself
        for the queen, can change nothing: all that she does is done in the server, which she does
        not reach. And the server takes no map that is older than its own.
        """
        self._tell_changes(decided)
        if decided.map is not None:
            await self._publish(decided.map, decided.lost)
        await self._forget_lost(decided.forgotten.intersection(beat.members))
        if decided.rest:
            await self._server.let_rest()
        # After the map: a released drone is forgotten, and no later look would find out that it
        # has to leave the map.
        await self._release(decided.released, beat)
        if decided.over:
            await self._server.command(OVER, *([True] if decided.gave_nothing else []))

    def _tell_changes(self, decided: Decisions) -> None:
        for line in decided.notices:
            logger.warning("%s", line)
        if decided.waits and decided.waits != self._waits:
            logger.info("the change in the number of drones waits for %s", decided.waits)
        self._waits = decided.waits

    async def _publish(self, slots: SlotMap, lost: Collection[int]) -> None:
        # First the states of lost drones are kept out. By the map other drones take their hosts. A
        # lost drone that came back meanwhile would fetch from these hosts, too.
        for drone in sorted(lost):
            await self._server.give_up(drone)
        await self._server.publish_map(slots)

    async def _forget_lost(self, drones: Collection[int]) -> None:
        for drone in sorted(drones):
            logger.warning("drone %d is lost: its hosts now belong to other drones", drone)
            await self._server.forget(drone)

    async def _release(self, drones: frozenset[int], beat: Beat) -> None:
        """Ends drones that have nothing left, and forgets them when they are gone."""
        there = sorted(drones.intersection(beat.alive) - self._released)
        if there:
            self._released.update(there)
            await self._server.command(RELEASE, *there)
        for drone in sorted(drones.difference(beat.alive)):
            logger.info("drone %d has handed over all its hosts and left the hive", drone)
            self._released.discard(drone)
            await self._server.forget(drone)

    def _reports(self, beat: Beat, now: float) -> dict[int, Report]:
        """Return the readable reports; the log names an unreadable one once for each reason."""
        reports, told = {}, {}
        for drone, data in beat.reports.items():
            words, at = self._unreadable.get(drone, ("", float("-inf")))
            try:
                reports[drone] = Report.unpack(data)
                words = ""
            except ForeignMessage as error:
                if str(error) != words and now - at >= AGAIN:
                    words, at = str(error), now
                    logger.warning("drone %d: %s", drone, error)
            told[drone] = words, at
        self._unreadable = told
        return reports
