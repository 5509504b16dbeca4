"""The coordinator: what it decides from the drones' reports, and does: the end, the next map.

A `Report` comes with each heartbeat of a drone, for the coordinator and for those who watch.

The coordinator is whichever drone holds a lease in the server. `Coordinator` does nothing but
decide, without a network or a clock. What it remembers between two decisions matters only for a few
seconds: another one begins anew, and nothing is lost. `Coordination` publishes what follows, while
its drone is the coordinator, and `FiguresWriter` writes the figures of all drones into that drone's
log and a file.

**How a hive is resized.** `webcrawl hive resize` leaves an order among the commands in the server.
Each drone notes it (`ObeyedCommands.resize`). The coordinator publishes a map with the members that
the order names (`SlotMap.resized`), and each drone that learns the map hands over the hosts of its
lost slots (`SlotMoves.apply_map`).

**Why the crawl is over.** It looks at all reports at once, as they lie in the server: this is the
moment in question. Each drone is quiet in its report (`Report.quiet`), and says the same, with the
same count of its activity, in a report for which two more heartbeats were answered. The first of
these may have been the one that it saw. The second came later, so its answer did too, and the
report was made after that. Each drone has therefore done nothing from before the moment until after
it: at the moment itself all were quiet. No batch was under way then, as its sender knows it as
unacknowledged until the receiver's checkpoint has it. Nobody could begin anew, and a drone that is
killed then comes back to a checkpoint that has nothing to do either. Only the coordinator's clock is
read, and that one only for the time to wait.
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
from webcrawl.crawl.hive.errors import UNPACK_ERRORS, ForeignMessage
from webcrawl.crawl.hive.member import DroneParts
from webcrawl.crawl.hive.partition import Groups, SlotMap, WantedMembers
from webcrawl.crawl.hive.registry import OVER, RELEASE
from webcrawl.crawl.hive.transport import Beat, Transport
from webcrawl.store.disk import rewrite
from webcrawl.store.jobdir.figures import merged
from webcrawl.store.jobdir.stats_file import plain

MAX_REPORT_BYTES = 1 << 18  # packed; the report of a long crawl has about 4,000
MAX_TEXT_CHARS = 500  # of each text: what says why a drone is in trouble may quote anything
# A report has the last refusals, those of a few beats: whoever waits for one reads reports more
# often than that.
MAX_REFUSALS = 16


class DroneState(StrEnum):
    """The states of a drone."""

    RUNNING = "running"
    PAUSED = "paused"  # hands out nothing, on command
    STOPPING = "stopping"  # ends its run; its state says what is left
    DRAINING = "draining"  # is no member any more, and gives away what it has
    RETIRED = "retired"  # has given away all, and others have it in their checkpoints


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a drone reports about itself, as it is when the report is packed.

    The coordinator relies on two promises. `beat` counts the heartbeats of this run that the server has
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
    rests: bool = False  # nothing to do but to try deferred hosts, and that for long enough
    over: bool = False  # its crawl has ended with that of all
    # SeedFates.got: it has got a page; a drone of an earlier version leaves it out
    got: bool = True
    # its last checkpoint has all of its activity: killed now, it comes back as it is
    saved: bool = False
    moving: tuple[int, ...] = ()  # drones with which it has slots to exchange still
    activity: int = 0  # grows with each batch sent and handled, each page handed out and booked
    # batches, open ones included, which no checkpoint of a receiver has
    unacknowledged: int = 0
    stays: str = ""  # why none of its slots can leave, if that is so
    towards: tuple[int, ...] = ()  # drones, no members or given up, for which it has these
    # such drones for which its last checkpoint has batches: a kill would bring these back
    kept: tuple[int, ...] = ()
    seconds: float = 0.0  # of this run
    lease: float = 0.0  # seconds for which this sign of life holds
    fence: float = 0.0  # seconds after it in which the drone may fetch without another answer
    jobdir: str = ""
    host: str = ""  # name of its machine
    pid: int = 0
    trouble: str = ""  # why it fetches nothing, in a few words
    figures: Mapping[str, Any] = field(default_factory=dict)  # the numbers of Crawl.stats()

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
        if len(self.refusals) >= MAX_REFUSALS and number < self.refusals[0][0]:
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
        """Return the report as the server has it, with its texts truncated to what a report may have."""
        values = asdict(self)
        values["state"] = str(self.state)
        values["trouble"] = self.trouble[:MAX_TEXT_CHARS]
        values["stays"] = self.stays[:MAX_TEXT_CHARS]
        values["refusals"] = [
            (number, why[:MAX_TEXT_CHARS]) for number, why in self.refusals[-MAX_REFUSALS:]
        ]
        return bytes(msgpack.packb(values))

    @classmethod
    def unpack(cls, data: bytes) -> Report:
        """Return what `pack` has packed, without what a later version has added.

        Raise ForeignMessage for all else.
        """
        try:
            if len(data) > MAX_REPORT_BYTES:
                raise ValueError(f"it has {len(data)} bytes, which is too many")
            report = msgspec.msgpack.decode(data, type=cls)
        except UNPACK_ERRORS as error:
            raise ForeignMessage(f"a drone's report cannot be read: {error!r}") from error
        figures = {
            name: value for name, value in report.figures.items() if type(value) in (int, float)
        }
        return replace(report, figures=figures)


AT_WORK = frozenset((DroneState.RUNNING, DroneState.DRAINING, DroneState.RETIRED))


logger = logging.getLogger(__name__)

STATS_NAME = "hive-stats.json"
WRITE_SECONDS = 10.0  # between two versions of that file
LOG_SECONDS = 60.0  # between two lines about the hive
# Between two lines about a drone whose reports stay unreadable, whatever is in them
UNREADABLE_LOG_SECONDS = 60.0
# Before the log says that a drone is away: when a hive starts, some come later than others
GRACE_SECONDS = 10.0
# A report for which so many more beats were answered was surely made after the decision that used
# the first one: see above.
LATER_BEATS = 2


@dataclass(frozen=True, slots=True)
class Decisions:
    """What the coordinator is to do next."""

    over: bool = False  # the crawl has ended: all drones may be told to stop
    gave_nothing: bool = False  # it has ended, and had seeds, but no drone has got a page
    # No drone has anything left but deferred hosts: none has to try these any more.
    rest: bool = False
    map: SlotMap | None = None  # to be published, unless the server has a later one by then
    waits: str = ""  # for which drone a change of the members waits, and why; empty if none does
    # Given up with this map: their slots go to the new owners with nothing in them.
    lost: frozenset[int] = frozenset()
    # Lost, and no drone sends them anything any more: others may get their numbers.
    forgotten: frozenset[int] = frozenset()
    # Retired, and no drone has batches for them: they may go.
    released: frozenset[int] = frozenset()
    # drones without a lease, and since when
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

    def live_reports(self) -> list[Report]:
        """Return the reports of the drones that take part, without those of drones that are away."""
        return [
            self.reports[drone]
            for drone in self.taking_part()
            if drone in self.alive and drone in self.reports
        ]


class Coordinator:
    """Decides from the drones' reports what is to be done."""

    def __init__(self, groups: Groups = ((),)) -> None:
        """`groups`: the drones that each group of slots prefers (Partition.groups)."""
        self._groups = groups
        self._first_quiet: dict[int, Report] = {}  # the reports with which all became quiet
        self._away: dict[int, float] = {}  # drones without a lease, and since when
        self._named_away: set[int] = set()  # those of them that a notice has named

    def decide(
        self,
        now: float,
        reports: Mapping[int, Report],
        alive: Collection[int],
        slots: SlotMap,
        wanted: WantedMembers | None = None,
        last_command: int = 0,
    ) -> Decisions:
        """Return what is to be done now.

        All arguments were read from the server in one piece; `now` is of a clock that only goes
        forward. `alive` are the drones that hold a lease. `wanted` is None if no order for the
        members was given. `last_command` is the number of the last command that was given.
        """
        wanted = wanted or WantedMembers(frozenset(slots.drones))
        view = _View(reports, alive, slots, wanted.lost)
        live = view.live_reports()
        all_live = len(live) == len(view.taking_part())
        over = self._is_over(view, live if all_live else [], last_command)
        released = _releasable(view)
        needs_members = _needs_other_members(view, wanted)
        waits = _awaited(view, wanted) if needs_members else ""
        next_map = None
        if needs_members and not waits:
            next_map = slots.resized(wanted.sharing, self._groups, wanted.lost)
        left = (released.difference(alive) | wanted.lost).intersection(slots.leaving)
        if left and next_map is None:
            next_map = slots.without(left)
        may_forget = all_live and _have_same_map(view)
        return Decisions(
            over=over,
            gave_nothing=over and _gave_nothing(live, slots),
            rest=all_live and all(report.rests for report in live),
            map=next_map,
            waits=waits,
            lost=wanted.lost if next_map else frozenset(),
            forgotten=wanted.lost.difference(slots.drones) if may_forget else frozenset(),
            released=released,
            notices=tuple(self._notices(now, view)),
            away=dict(self._away),
        )

    def _is_over(self, view: _View, reports: list[Report], last_command: int) -> bool:
        """Return whether the crawl is over (see above). Without reports, a drone is missing."""
        all_quiet = bool(reports) and all(
            _is_quiet(report, view, last_command) for report in reports
        )
        has_lost_slots = not view.lost.isdisjoint(view.map.drones)
        if not all_quiet or has_lost_slots:
            self._first_quiet = {}
            return False
        quiet = {report.drone: report for report in reports}
        if not _have_done_nothing(self._first_quiet, quiet):
            self._first_quiet = quiet
        first = self._first_quiet
        return all(quiet[drone].beat >= first[drone].beat + LATER_BEATS for drone in quiet)

    def _notices(self, now: float, view: _View) -> Iterator[str]:
        missing = [drone for drone in view.taking_part() if drone not in view.alive]
        yield from self._missing_notices(missing, now, view)
        returned = [drone for drone in self._away if drone not in missing]
        yield from self._return_notices(returned, now, view)

    def _missing_notices(self, missing: Iterable[int], now: float, view: _View) -> Iterator[str]:
        """Note since when drones are away; name those that have been away for too long."""
        for drone in missing:
            since = self._away.setdefault(drone, now)
            if drone not in self._named_away and now - since >= GRACE_SECONDS:
                self._named_away.add(drone)
                yield _missing_notice(drone, view)

    def _return_notices(self, returned: Iterable[int], now: float, view: _View) -> Iterator[str]:
        """Forget since when drones were away; name those that are back, and not gone for good."""
        for drone in returned:
            seconds = now - self._away.pop(drone)
            if drone in view.alive and drone in self._named_away:
                yield f"{_drone_name(drone, view)} is back after {seconds:.0f} s"
            self._named_away.discard(drone)


def _gave_nothing(reports: Iterable[Report], slots: SlotMap) -> bool:
    """Return whether there were seeds, and no drone has got a page, or has a URL left to try.

    False for a hive whose members have changed: a drone that has left may have got one.
    """
    if slots.generation > 1 or any(report.got for report in reports):
        return False
    if any(report.figures.get("queued") for report in reports):
        return False
    return any(report.figures.get("seeds") for report in reports)


def _is_quiet(report: Report, view: _View, last_command: int) -> bool:
    """Return whether a drone has nothing to do, by the latest map and after the last command."""
    is_up_to_date = report.generation == view.map.generation and report.applied >= last_command
    return report.quiet and is_up_to_date


def _have_done_nothing(before: Mapping[int, Report], after: Mapping[int, Report]) -> bool:
    """Return whether these are the same drones, and none has done anything between the reports."""
    if before.keys() != after.keys():
        return False
    return all(_has_done_nothing(before[drone], after[drone]) for drone in after)


def _has_done_nothing(before: Report, after: Report) -> bool:
    """Return whether a drone has done nothing between two reports of the same run."""
    return (
        before.identity == after.identity
        and before.run == after.run
        and before.activity == after.activity
    )


def _missing_notice(drone: int, view: _View) -> str:
    report = view.reports.get(drone)
    is_stopped = report is not None and report.state == DroneState.STOPPING
    why = "was stopped" if is_stopped else "has sent no sign of life"
    return f"{_drone_name(drone, view)} {why}; its hosts, and links to them, wait until it is back"


def _drone_name(drone: int, view: _View) -> str:
    """Return the drone's number, and its host and folder if a report says these."""
    report = view.reports.get(drone)
    if report is None or not report.jobdir:
        return f"drone {drone}"
    return f"drone {drone} ({report.host}:{report.jobdir})"


def _have_same_map(view: _View) -> bool:
    """Return whether all drones that take part, and are alive, work by the latest map."""
    return all(report.generation == view.map.generation for report in view.live_reports())


def _releasable(view: _View) -> frozenset[int]:
    """Return the retired drones that no batches can reach any more.

    No drone has batches for them, nor may get any by a new map or a kill.
    """
    retired = {
        drone for drone, report in view.reports.items() if report.state == DroneState.RETIRED
    }
    others = view.live_reports()
    if not retired or len(others) < len(view.taking_part()):
        return frozenset()
    if not _have_same_map(view):
        return frozenset()
    receivers = (report.towards + report.kept for report in others)
    return frozenset(retired).difference(view.map.drones, *receivers)


def _needs_other_members(view: _View, wanted: WantedMembers) -> bool:
    """Return whether a map is needed: with other members, or to end the wait for a lost drone."""
    if not wanted.sharing:
        return False
    if wanted.sharing != {*view.map.drones}:
        return True
    return any(
        wanted.lost.intersection(report.moving + report.towards) for report in view.live_reports()
    )


def _awaited(view: _View, wanted: WantedMembers) -> str:
    """Return which drone the next map waits for, and why.

    One change at a time: a slot that is on its way goes to where it was sent before anything else
    is decided of it. Only slots to and from a drone that is lost are not waited for.
    """
    for drone in sorted(view.lost.intersection(view.map.drones, view.alive)):
        return f"drone {drone}, which was given up but is running"
    drones = wanted.sharing.union(view.taking_part())
    return find_unsettled(view.reports, view.alive, view.map, drones, view.lost)


def find_unsettled(
    reports: Mapping[int, Report],
    alive: Collection[int],
    slots: SlotMap,
    drones: Iterable[int],
    lost: Collection[int] = (),
) -> str:
    """Return, in words, the first of these drones that is away or still has slots to exchange.

    Return nothing if all are settled. Slots from and to `lost` drones do not count.
    """
    for drone in sorted(drones):
        report = reports.get(drone)
        if report is None or drone not in alive:
            return f"drone {drone}, which is not running"
        if report.generation != slots.generation or {*report.moving}.difference(lost):
            return f"drone {drone}, which is still exchanging slots"
    return ""


class FiguresWriter:
    """Writes the figures of all drones into the coordinator's log, and a file of its JOBDIR."""

    def __init__(self, jobdir: Path) -> None:
        self._path = jobdir / STATS_NAME
        self._written_at = float("-inf")
        self._logged_at = float("-inf")

    def write_due(
        self,
        now: float,
        reports: Collection[Report],
        away: Collection[int] = (),
        *,
        last: bool = False,
    ) -> None:
        """Write the file if it is time for it, and the line in the log if it is time for that, too.

        `away` are the drones without a lease. If `last`, the crawl is over, and both are written.
        """
        if not last and now - self._written_at < WRITE_SECONDS:
            return
        figures = merged(report.stats() for report in reports)
        self._written_at = now
        try:
            rewrite(self._path, plain(figures).encode())
        except OSError as error:  # the figures are in the server, too
            logger.warning("%s: cannot be written: %s", self._path, error)
        if last or now - self._logged_at >= LOG_SECONDS:
            self._logged_at = now
            trouble = f"{figures['trouble']}, " if figures.get("trouble") else ""
            drones = len({report.drone for report in reports}.union(away))
            gone = f", {len(away)} away" if away else ""
            line = progress.line(figures)
            logger.info("the hive: %s%s, drones: %d%s", trouble, line, drones, gone)


class Coordination:
    """Publishes what the coordinator decides, while this drone is the coordinator.

    What it remembers is forgotten when another drone becomes coordinator.
    """

    def __init__(
        self, me: int, server: Transport, parts: DroneParts, groups: Groups, figures: FiguresWriter
    ) -> None:
        """`groups`: the drones that each group of slots prefers (Partition.groups)."""
        self._me = me
        self._server = server
        self._parts = parts
        self._groups = groups
        self._figures = figures
        self._coordinator: Coordinator | None = None
        self._released: set[int] = set()  # drones that were told so, and are still alive
        self._waits = ""  # what the log said last of a change of the members
        self._alive = 0
        # By drone: what the log said of its unreadable report, and when
        self._unreadable: dict[int, tuple[str, float]] = {}

    async def act_on(self, beat: Beat) -> None:
        """Decide from the news of a beat, and do what was decided, if this drone is the coordinator."""
        self._alive = len(beat.alive)
        if beat.coordinator != self._me:
            self._coordinator = None
            self._waits = ""
            self._released.clear()
            self._unreadable.clear()
            return
        if self._coordinator is None:
            self._coordinator = Coordinator(self._groups)
        slots = self._parts.drone.slots
        obeyed = self._parts.obeyed
        now = time.monotonic()
        reports = self._readable_reports(beat, now)
        decided = self._coordinator.decide(
            now, reports, beat.alive, slots, obeyed.wanted, obeyed.number
        )
        self._figures.write_due(now, reports.values(), decided.away, last=decided.over)
        await self._carry_out(decided, beat)

    def figures(self) -> dict[str, float]:
        """Return the hive as this drone knows it; only the coordinator hears who is alive."""
        slots = self._parts.drone.slots
        return {
            "hive/members": len(slots.drones),
            "hive/generation": slots.generation,
            "hive/coordinator": self._coordinator is not None,
            "hive/alive": self._alive if self._coordinator is not None else 0,
            "hive/change_waits": bool(self._waits),
        }

    async def _carry_out(self, decided: Decisions, beat: Beat) -> None:
        """Do what was decided. A kill between two steps leaves the rest to the next coordinator.

        It decides that again, from the same reports. A drone that is cut off, and still takes itself
        for the coordinator, can change nothing: all that it does is done in the server, which it does
        not reach. And the server takes no map that is older than its own.
        """
        self._log_changes(decided)
        if decided.map is not None:
            await self._publish(decided.map, decided.lost)
        await self._forget_lost(decided.forgotten.intersection(beat.members))
        if decided.rest:
            await self._server.let_rest()
        # After the map: a released drone is forgotten, and no later decision would find out that
        # it has to leave the map.
        await self._release(decided.released, beat)
        if decided.over:
            args = [True] if decided.gave_nothing else []
            await self._server.command(OVER, *args)

    def _log_changes(self, decided: Decisions) -> None:
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
        """Tell drones that have nothing left to end, and forget them when they are gone."""
        untold = sorted(drones.intersection(beat.alive) - self._released)
        if untold:
            self._released.update(untold)
            await self._server.command(RELEASE, *untold)
        for drone in sorted(drones.difference(beat.alive)):
            logger.info("drone %d has handed over all its hosts and left the hive", drone)
            self._released.discard(drone)
            await self._server.forget(drone)

    def _readable_reports(self, beat: Beat, now: float) -> dict[int, Report]:
        """Return the readable reports. Log each unreadable one once, and again for another reason.

        The log has at most a line a minute for each drone.
        """
        reports: dict[int, Report] = {}
        unreadable: dict[int, tuple[str, float]] = {}
        for drone, data in beat.reports.items():
            reason, logged_at = self._unreadable.get(drone, ("", float("-inf")))
            try:
                reports[drone] = Report.unpack(data)
                reason = ""
            except ForeignMessage as error:
                is_news = str(error) != reason
                if is_news and now - logged_at >= UNREADABLE_LOG_SECONDS:
                    reason = str(error)
                    logged_at = now
                    logger.warning("drone %d: %s", drone, error)
            unreadable[drone] = reason, logged_at
        self._unreadable = unreadable
        return reports
