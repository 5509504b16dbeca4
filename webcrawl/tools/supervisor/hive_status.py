"""How a hive is: the table of `webcrawl hive status`, and the `status` of `webcrawl ctl`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import aclosing
from typing import Any

from webcrawl.base.readable import count
from webcrawl.crawl.hive.errors import AnotherHive, Away
from webcrawl.crawl.hive.hive_folder import HiveFolder, total
from webcrawl.crawl.hive.operator import HiveLook, waits_for
from webcrawl.crawl.hive.queen import DroneState, Report
from webcrawl.store.jobdir.figures import revisits
from webcrawl.store.jobdir.revisit_figures import figures_of, in_words
from webcrawl.store.jobdir.stats_file import FINISHED
from webcrawl.tools.supervisor.servers import HiveTarget, MakeOperator

RUNNING, STOPPED = "running", "stopped"
AT_WORK = (DroneState.RUNNING, DroneState.PAUSED, DroneState.DRAINING)
PAUSE = 2.5  # seconds between two looks, which give the rate
BEAT = 1.0  # seconds between two reports of a drone that does not say how long it runs
COLUMNS = {  # name of a figure: heading
    "drone": "drone",
    "state": "state",
    "pages": "pages",
    "rate": "pages/s",
    "queued": "queued",
    "hosts": "hosts",
    "letters": "letters waiting",
    "seen": "last sign of life",
    "place": "place",
}
TEXTS = ("state", "seen", "place")
OF_EACH = ("pages", "answers", "queued", "hosts", "failures", "bytes")


def rows(target: HiveTarget) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return a row for each drone, and what concerns all."""
    found: dict[int, dict[str, Any]] = {}
    stats: dict[int, Mapping[str, Any]] = {}
    if target.folder is not None:
        for drone in target.folder.all_drones():
            stats[drone] = target.folder.figures(drone)
            found[drone] = _from_file(drone, stats[drone], str(target.folder.drone(drone)))
    common: dict[str, Any] = {
        "name": target.name,
        "queen": None,
        "server_bytes": 0,
        "generation": 0,
        **_by_checkpoints(target.folder),
        **revisits(stats.values()),
    }
    try:
        looks = _looks(target)
    except AnotherHive:
        looks = None
        why_old = "another"
    except Away:  # a server of the hive's own, which is about to end, or to start again
        looks = None
        why_old = "unheard"
    else:
        why_old = "unnamed"
    if looks is None:
        common |= _by_locks(target.folder, found, common["state"])
        common[why_old] = why_old == "another" or common["running"] > 0
        return [found[drone] for drone in sorted(found)], common
    before, now = looks
    common |= _by_server(now, common)
    reported = {drone: report.figures for drone, report in now.reports.items()}
    common |= revisits({**stats, **reported}.values())
    here = target.folder.begun() if target.folder is not None else ()
    for drone in now.drones:
        # the server keeps what it said, but not when
        unknown = _from_file(drone, {}, "") | {"seen": "-"}
        row = _from_report(drone, before, now)
        if drone in here and drone not in now.leases:
            row.pop("place", None)  # the folder may have been moved since it said that
        found[drone] = found.get(drone, unknown) | row
    return [found[drone] for drone in sorted(found)], common


def _looks(target: HiveTarget) -> tuple[HiveLook, HiveLook] | None:
    """Return two looks at the server, or None if it is not named. May raise AnotherHive or Away."""
    make_operator = target.server()
    return None if make_operator is None else asyncio.run(_two_looks(make_operator))


def _by_checkpoints(folder: HiveFolder | None) -> dict[str, Any]:
    """Return the state by the folder: how many drones are meant, and whether that changes."""
    if folder is None:
        return {"state": STOPPED, "running": 0, "meant": 0, "changing": False}
    look = folder.look()
    if folder.supervised:
        state = RUNNING
    elif folder.finished(look):
        state = FINISHED
    else:
        state = STOPPED
    meant = len(look.sharing or folder.known().drones)
    return {"state": state, "running": 0, "meant": meant, "changing": folder.is_changing(look)}


def _by_locks(
    folder: HiveFolder | None, found: Mapping[int, dict[str, Any]], state: str
) -> dict[str, Any]:
    """Return the state of a hive whose server does not tell it: running drones have locks.

    `state`: that of a hive without running drones.
    """
    there = [drone for drone in found if folder is not None and folder.running(drone)]
    for drone in there:
        found[drone]["state"] = RUNNING
    return {"state": RUNNING if there else state, "running": len(there)}


def _by_server(look: HiveLook, common: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state by the server. Drones elsewhere may run without the hive's process here."""
    running = _number_at_work(look)
    members = {*look.map.drones} if look.map is not None else set()
    is_finished = bool(members) and all(_absent(look, drone) == FINISHED for drone in members)
    if running:
        state = RUNNING
    elif is_finished:
        state = FINISHED
    else:
        state = common["state"]
    return {
        "queen": look.queen,
        "server_bytes": look.bytes,
        "generation": look.map.generation if look.map is not None else 0,
        "state": state,
        "running": running,
        "meant": len(look.sharing) or common["meant"],
        "changing": look.is_changing if look.map is not None else common["changing"],
        "waits": _waits(look),
    }


def _waits(look: HiveLook) -> str:
    """Return what a change of the members waits for, in words; empty if there is no change."""
    if look.order is None or not look.is_changing:
        return ""
    return waits_for(look, look.order.sharing, look.order.lost)


def _number_at_work(look: HiveLook) -> int:
    """Return how many drones have a lease, and report that they crawl."""
    return sum(
        drone in look.leases and report.state in AT_WORK for drone, report in look.reports.items()
    )


async def _two_looks(make_operator: MakeOperator) -> tuple[HiveLook, HiveLook]:
    async with aclosing(make_operator()) as operator:
        before = await operator.look()
        if before.leases:
            await asyncio.sleep(PAUSE)
        return before, await operator.look()


def _from_file(drone: int, figures: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the row of a drone as of its last checkpoint."""
    reason = figures.get("reason")
    return {
        "drone": drone,
        "state": f"stopped ({reason})" if reason else "stopped",
        "pages": figures.get("pages", 0),
        "rate": 0.0,
        "queued": figures.get("queued", 0),
        "hosts": figures.get("hosts", 0),
        "letters": None,
        "seen": figures.get("at", "never"),
        "place": place,
    }


def _from_report(drone: int, before: HiveLook, now: HiveLook) -> dict[str, Any]:
    """Return what the server knows of the drone for its row, by two looks."""
    is_alive = drone in now.leases
    report = now.reports.get(drone)
    if report is None:
        return {"state": "starting" if is_alive else _absent(now, drone)}
    row: dict[str, Any] = {
        "state": _present(report) if is_alive else _absent(now, drone),
        "pages": report.figures.get("pages", 0),
        "queued": report.figures.get("queued", 0),
        "hosts": report.figures.get("hosts", 0),
        "letters": report.unacknowledged,
        "place": _place(drone, report, now),
    }
    if is_alive and report.lease:  # one of an earlier version does not tell it
        row["seen"] = f"{max(report.lease - now.leases[drone], 0):.0f} s ago"
    earlier = before.reports.get(drone)
    if earlier is not None and earlier.run == report.run and report.beat > earlier.beat:
        row["rate"] = _rate(report, earlier)
    return row


def _place(drone: int, report: Report, look: HiveLook) -> str:
    """Return where a drone is: its machine if that is known, its folder, and its process."""
    host, pid = look.places.get(drone, ("", 0))
    machine = report.host or host
    if not machine:
        return report.jobdir
    return f"{machine}:{report.jobdir} ({pid or report.pid})"


def _present(report: Report) -> str:
    """Return what a drone that has a lease does."""
    state = f"{report.state}, idle" if report.idle else str(report.state)
    return f"{state}: {report.trouble}" if report.trouble else state


def _rate(report: Report, earlier: Report) -> float:
    """Return the pages per second between two reports of one run."""
    pages = report.figures.get("pages", 0) - earlier.figures.get("pages", 0)
    seconds = report.seconds - earlier.seconds
    if not seconds:
        seconds = (report.beat - earlier.beat) * BEAT
    rate: float = round(pages / seconds, 1)
    return rate


def _absent(look: HiveLook, drone: int) -> str:
    """Return the state of a drone that is not heard of."""
    report = look.reports.get(drone)
    is_released = look.map is not None and drone not in {*look.map.drones, *look.map.leaving}
    if is_released or (report is not None and report.state == DroneState.RETIRED):
        return "gone"  # it has given away all that it had
    if report is None or report.state != DroneState.STOPPING:
        return "away"
    return FINISHED if report.over else STOPPED


def table(found: Sequence[Mapping[str, Any]], common: Mapping[str, Any]) -> list[str]:
    """Return a line for each drone below their heads, and those that concern the whole hive."""
    lines = [*_aligned(found), f"{common['name']}: {_sums(found, common)}{_why_old(common)}"]
    again = figures_of(common)
    if again is not None:
        lines.append(in_words(again))
    if common.get("waits"):
        lines.append(f"the change waits for {common['waits']}")
    return lines


def _aligned(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the heads and the rows, in columns: texts to the left, numbers to the right."""
    cells = [list(COLUMNS.values())]
    cells += [["-" if row[name] is None else str(row[name]) for name in COLUMNS] for row in found]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    alignments = [str.ljust if name in TEXTS else str.rjust for name in COLUMNS]
    for row in cells:
        columns = zip(alignments, row, widths, strict=True)
        yield "  ".join(align(cell, width) for align, cell, width in columns).rstrip()


def _sums(found: Sequence[Mapping[str, Any]], common: Mapping[str, Any]) -> str:
    """Return how many drones run, and the sums of their figures."""
    pages = sum(row["pages"] for row in found)
    queued = sum(row["queued"] for row in found)
    rate = sum(row["rate"] for row in found)
    queen = f", the queen is drone {common['queen']}" if common["queen"] is not None else ""
    sums = f"{_drones(common)}{queen}; {count(pages, 'page')} ({rate:.1f}/s), {queued} queued"
    if common["server_bytes"]:
        sums += f"; {common['server_bytes'] / 1e6:.1f} MB of links in transit"
    return sums


def _why_old(common: Mapping[str, Any]) -> str:
    """Return, for the end of a line, why the figures are of checkpoints; empty if they are not."""
    if common.get("another"):
        why = "the server has another hive of this name"
    elif common.get("unnamed"):
        why = "give -s REDIS_URL with the hive's server for live figures"
    elif common.get("unheard") and common["running"]:
        why = "the hive's server does not answer now"
    else:
        return ""
    return f"; as of their last checkpoints: {why}"


def _drones(common: Mapping[str, Any]) -> str:
    """Return the numbers of drones that run, and that are meant."""
    state, running, meant = common["state"], common["running"], common["meant"]
    if state != RUNNING:
        drones = count(meant, "drone")
        if common["changing"]:
            return (
                f"{state}: the change to {drones} is not complete, and continues at the next start"
            )
        return f"{state}, {drones}"
    others = f", {meant} intended" if running != meant else ""
    change = ": the change continues" if common["changing"] else ""
    return f"{count(running, 'drone')} running{others}{change}"


def progress(look: HiveLook, left: Sequence[Mapping[str, Any]] = ()) -> Mapping[str, Any]:
    """Return the answer to `status`: the drones' figures as of their last heartbeats, and the sums.

    The sums include the drones that have `left`.
    """
    rows = [_progress_of(look, drone) for drone in look.drones]
    reports = [look.reports[drone].figures for drone in look.drones if drone in look.reports]
    sums = total([*reports, *left])
    numbers = {name: value for name, value in sums.items() if isinstance(value, (int, float))}
    states = {DroneState(row["state"]) for row in rows if row["drone"] in look.leases}
    return {
        **numbers,
        "state": str(_state_of_all(states)),
        "seconds": max((row["seconds"] for row in rows), default=0.0),
        "waits": _waits(look),
        "drones": rows,
    }


def _state_of_all(states: AbstractSet[DroneState]) -> DroneState:
    """Return PAUSED or STOPPING if all drones that are there are it, else RUNNING."""
    if states in ({DroneState.PAUSED}, {DroneState.STOPPING}):
        (state,) = states
        return state
    return DroneState.RUNNING


def _progress_of(look: HiveLook, drone: int) -> dict[str, Any]:
    host, _ = look.places.get(drone, ("", 0))
    report = look.reports.get(drone)
    row: dict[str, Any]
    if report is None:
        row = {"seconds": 0.0, **dict.fromkeys(OF_EACH, 0), "trouble": "", "place": host}
        state = "running"
    else:
        figures = {name: report.figures.get(name, 0) for name in OF_EACH}
        place = f"{host}:{report.jobdir}"
        seconds = round(report.seconds, 1)
        row = {"seconds": seconds, **figures, "trouble": report.trouble, "place": place}
        state = str(report.state)
    if drone not in look.leases:
        state = _absent(look, drone)
    return {"drone": drone, "state": state, **row}
