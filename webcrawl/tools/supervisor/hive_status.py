"""How a hive is: the table of `webcrawl hive status`, and the `status` of `webcrawl ctl`."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

from webcrawl.base.readable import count
from webcrawl.crawl.hive.coordinator import DroneState, Report
from webcrawl.crawl.hive.errors import AnotherHive, Away
from webcrawl.crawl.hive.hive_folder import HiveFolder, merged_figures
from webcrawl.crawl.hive.operator import HiveView, waits_for
from webcrawl.store.jobdir.figures import revisits
from webcrawl.store.jobdir.revisit_figures import figures_of, in_words
from webcrawl.store.jobdir.stats_file import FINISHED
from webcrawl.tools.supervisor.servers import HiveTarget, MakeOperator

RUNNING, STOPPED = "running", "stopped"
AT_WORK = (DroneState.RUNNING, DroneState.PAUSED, DroneState.DRAINING)
RATE_SECONDS = 2.5  # between two looks at the server, which give the rate
BEAT_SECONDS = 1.0  # between two reports of a drone that does not say how long it runs
HEADINGS = {  # by the key of the column in a row
    "drone": "drone",
    "state": "state",
    "pages": "pages",
    "rate": "pages/s",
    "queued": "queued",
    "hosts": "hosts",
    "batches": "batches waiting",
    "seen": "last sign of life",
    "place": "place",
}
TEXT_COLUMNS = ("state", "seen", "place")
# figures that `ctl status` has of each drone
PROGRESS_FIGURES = ("pages", "answers", "queued", "hosts", "failures", "bytes")


def status_rows(target: HiveTarget) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return a row for each drone, and what concerns the whole hive.

    Without the server, all is as of the drones' last checkpoints.
    """
    rows: dict[int, dict[str, Any]] = {}
    stats: dict[int, Mapping[str, Any]] = {}
    if target.folder is not None:
        for drone in target.folder.all_drones():
            stats[drone] = target.folder.figures(drone)
            rows[drone] = _row_by_file(drone, stats[drone], str(target.folder.drone(drone)))
    common: dict[str, Any] = {
        "name": target.name,
        "coordinator": None,
        "server_bytes": 0,
        "generation": 0,
        **_state_by_checkpoints(target.folder),
        **revisits(stats.values()),
    }
    try:
        two_looks = _two_looks(target)
    except AnotherHive:
        two_looks = None
        why_not_live = "another"
    except Away:  # a server of the hive's own, which is about to end, or to start again
        two_looks = None
        why_not_live = "unheard"
    else:
        why_not_live = "unnamed"
    if two_looks is None:
        common |= _state_by_locks(target.folder, rows, common["state"])
        common[why_not_live] = why_not_live == "another" or common["running"] > 0
        return [rows[drone] for drone in sorted(rows)], common
    before, now = two_looks
    now = without_ended(now, target.folder)
    common |= _state_by_server(now, common)
    reported = {drone: report.figures for drone, report in now.reports.items()}
    common |= revisits({**stats, **reported}.values())
    begun_here = target.folder.drones_let_in() if target.folder is not None else ()
    for drone in now.drones:
        # The server keeps a drone's last report, but not when that came.
        unknown = _row_by_file(drone, {}, "") | {"seen": "-"}
        row = _row_by_report(drone, before, now)
        if drone in begun_here and drone not in now.leases:
            row.pop("place", None)  # the folder may have been moved since that report
        rows[drone] = rows.get(drone, unknown) | row
    return [rows[drone] for drone in sorted(rows)], common


def jobdir_here(hive: HiveView, drone: int, folder: HiveFolder | None) -> Path | None:
    """Return the drone's JOBDIR if it is on this machine, and in the hive's folder if one is given."""
    host, _ = hive.places.get(drone, ("", 0))
    report = hive.reports.get(drone)
    reported = Path(report.jobdir) if report is not None else None
    jobdir = folder.drone(drone) if folder is not None else reported
    if host != socket.gethostname() or jobdir is None or not jobdir.is_dir():
        return None
    is_same = reported is None or reported.resolve() == jobdir.resolve()
    return jobdir if is_same else None


def without_ended(hive: HiveView, folder: HiveFolder | None) -> HiveView:
    """Return what the server knows, without the leases of drones whose processes have ended here.

    The lease of a drone that was killed lasts until its time is over.
    """
    if folder is None:
        return hive
    ended = {
        drone
        for drone in hive.leases
        if jobdir_here(hive, drone, folder) is not None and not folder.is_running(drone)
    }
    alive = {drone: seconds for drone, seconds in hive.leases.items() if drone not in ended}
    return replace(hive, leases=alive)


def _two_looks(target: HiveTarget) -> tuple[HiveView, HiveView] | None:
    """Return two looks at the server, or None if no server is known.

    They are RATE_SECONDS apart if a drone runs. Raise AnotherHive or Away.
    """
    make_operator = target.known_operator_maker()
    return None if make_operator is None else asyncio.run(_look_twice(make_operator))


def _state_by_checkpoints(folder: HiveFolder | None) -> dict[str, Any]:
    """Return the hive's state by its folder: how many drones are meant, and whether that changes."""
    if folder is None:
        return {"state": STOPPED, "running": 0, "meant": 0, "changing": False}
    hive = folder.read_checkpoints()
    if folder.is_supervised:
        state = RUNNING
    elif folder.is_finished(hive):
        state = FINISHED
    else:
        state = STOPPED
    meant = len(hive.sharing or folder.founding().drones)
    return {"state": state, "running": 0, "meant": meant, "changing": folder.is_changing(hive)}


def _state_by_locks(
    folder: HiveFolder | None, rows: Mapping[int, dict[str, Any]], state: str
) -> dict[str, Any]:
    """Return the hive's state by the locks that running drones hold, and note it in their rows.

    `state`: that of a hive without running drones.
    """
    running = [drone for drone in rows if folder is not None and folder.is_running(drone)]
    for drone in running:
        rows[drone]["state"] = RUNNING
    return {"state": RUNNING if running else state, "running": len(running)}


def _state_by_server(hive: HiveView, common: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hive's state by its server, or that in `common` if no drone runs or has finished.

    Drones on other machines may run without the hive's process here.
    """
    running = _count_at_work(hive)
    members = {*hive.map.drones} if hive.map is not None else set()
    is_finished = bool(members) and all(
        _state_of_absent(hive, drone) == FINISHED for drone in members
    )
    if running:
        state = RUNNING
    elif is_finished:
        state = FINISHED
    else:
        state = common["state"]
    return {
        "coordinator": hive.coordinator,
        "server_bytes": hive.bytes,
        "generation": hive.map.generation if hive.map is not None else 0,
        "state": state,
        "running": running,
        "meant": len(hive.sharing) or common["meant"],
        "changing": hive.is_changing if hive.map is not None else common["changing"],
        "waits": _pending_change(hive),
    }


def _pending_change(hive: HiveView) -> str:
    """Return, in words, what a change of the members waits for; empty if none is under way."""
    if hive.order is None or not hive.is_changing:
        return ""
    return waits_for(hive, hive.order.sharing, hive.order.lost)


def _count_at_work(hive: HiveView) -> int:
    """Return how many drones have a lease, and report that they crawl."""
    return sum(
        drone in hive.leases and report.state in AT_WORK for drone, report in hive.reports.items()
    )


async def _look_twice(make_operator: MakeOperator) -> tuple[HiveView, HiveView]:
    """Return two looks at the server. If no drone is alive, the second follows at once."""
    async with aclosing(make_operator()) as operator:
        before = await operator.read_hive()
        if before.leases:
            await asyncio.sleep(RATE_SECONDS)
        return before, await operator.read_hive()


def _row_by_file(drone: int, figures: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the row of a drone as of its last checkpoint. `place`: its folder."""
    reason = figures.get("reason")
    return {
        "drone": drone,
        "state": f"stopped ({reason})" if reason else "stopped",
        "pages": figures.get("pages", 0),
        "rate": 0.0,
        "queued": figures.get("queued", 0),
        "hosts": figures.get("hosts", 0),
        "batches": None,
        "seen": figures.get("at", "never"),
        "place": place,
    }


def _row_by_report(drone: int, before: HiveView, now: HiveView) -> dict[str, Any]:
    """Return the values that the server has for a drone's row.

    Two looks at the server give the rate.
    """
    is_alive = drone in now.leases
    report = now.reports.get(drone)
    if report is None:
        return {"state": "starting" if is_alive else _state_of_absent(now, drone)}
    row: dict[str, Any] = {
        "state": _state_of_live(report) if is_alive else _state_of_absent(now, drone),
        "pages": report.figures.get("pages", 0),
        "queued": report.figures.get("queued", 0),
        "hosts": report.figures.get("hosts", 0),
        "batches": report.unacknowledged,
        "place": _place_words(drone, report, now),
    }
    if is_alive:
        row["seen"] = f"{max(report.lease - now.leases[drone], 0):.0f} s ago"
    earlier = before.reports.get(drone)
    if earlier is not None and earlier.run == report.run and report.beat > earlier.beat:
        row["rate"] = _rate(report, earlier)
    return row


def _place_words(drone: int, report: Report, hive: HiveView) -> str:
    """Return where a drone is: its machine if that is known, its folder, and its process."""
    host, pid = hive.places.get(drone, ("", 0))
    machine = report.host or host
    if not machine:
        return report.jobdir
    return f"{machine}:{report.jobdir} ({pid or report.pid})"


def _state_of_live(report: Report) -> str:
    """Return the state of a drone that has a lease."""
    state = f"{report.state}, idle" if report.idle else str(report.state)
    # A paused drone has "paused" for both.
    return state if report.trouble in ("", report.state) else f"{state}: {report.trouble}"


def _rate(report: Report, earlier: Report) -> float:
    """Return the pages per second between two reports of one run."""
    pages = report.figures.get("pages", 0) - earlier.figures.get("pages", 0)
    seconds = report.seconds - earlier.seconds
    if not seconds:
        seconds = (report.beat - earlier.beat) * BEAT_SECONDS
    rate: float = round(pages / seconds, 1)
    return rate


def _state_of_absent(hive: HiveView, drone: int) -> str:
    """Return the state of a drone that has no lease."""
    report = hive.reports.get(drone)
    is_released = hive.map is not None and drone not in {*hive.map.drones, *hive.map.leaving}
    # A drone that has given away all that it had is not expected back.
    if is_released or (report is not None and report.state == DroneState.RETIRED):
        return "gone"
    if report is None or report.state != DroneState.STOPPING:
        return "away"
    return FINISHED if report.over else STOPPED


def status_table(rows: Sequence[Mapping[str, Any]], common: Mapping[str, Any]) -> list[str]:
    """Return the lines of `hive status`: headings, a line for each drone, those of the whole hive."""
    lines = [
        *_aligned_lines(rows),
        f"{common['name']}: {_sums_line(rows, common)}{_why_not_live(common)}",
    ]
    revisit_figures = figures_of(common)
    if revisit_figures is not None:
        lines.append(in_words(revisit_figures))
    if common.get("waits"):
        lines.append(f"the change waits for {common['waits']}")
    return lines


def _aligned_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the headings and the rows in columns: texts to the left, numbers to the right."""
    cells = [list(HEADINGS.values())]
    cells += [["-" if row[name] is None else str(row[name]) for name in HEADINGS] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    alignments = [str.ljust if name in TEXT_COLUMNS else str.rjust for name in HEADINGS]
    for row in cells:
        columns = zip(alignments, row, widths, strict=True)
        yield "  ".join(align(cell, width) for align, cell, width in columns).rstrip()


def _sums_line(rows: Sequence[Mapping[str, Any]], common: Mapping[str, Any]) -> str:
    """Return how many drones run, and the sums of all drones' figures."""
    pages = sum(row["pages"] for row in rows)
    queued = sum(row["queued"] for row in rows)
    rate = sum(row["rate"] for row in rows)
    coordinator = (
        f", the coordinator is drone {common['coordinator']}"
        if common["coordinator"] is not None
        else ""
    )
    sums = f"{_drone_numbers(common)}{coordinator}; {count(pages, 'page')} ({rate:.1f}/s), {queued} queued"
    if common["server_bytes"]:
        sums += f"; {common['server_bytes'] / 1e6:.1f} MB of links in transit"
    return sums


def _why_not_live(common: Mapping[str, Any]) -> str:
    """Return, for the end of a line, why the figures are of checkpoints; empty if they are live."""
    if common.get("another"):
        why = "the server has another hive of this name"
    elif common.get("unnamed"):
        why = "give -s REDIS_URL with the hive's server for live figures"
    elif common.get("unheard") and common["running"]:
        why = "the hive's server does not answer now"
    else:
        return ""
    return f"; as of their last checkpoints: {why}"


def _drone_numbers(common: Mapping[str, Any]) -> str:
    """Return how many drones run, and how many are intended, with the hive's state if none runs."""
    state = common["state"]
    running = common["running"]
    meant = common["meant"]
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


def hive_progress(hive: HiveView, former: Sequence[Mapping[str, Any]] = ()) -> Mapping[str, Any]:
    """Return the answer to `ctl status`: the figures of the drones' last reports, and the sums.

    `former` are the figures of drones that have left the hive. The sums include them.
    """
    rows = [_progress_row(hive, drone) for drone in hive.drones]
    reports = [hive.reports[drone].figures for drone in hive.drones if drone in hive.reports]
    sums = merged_figures([*reports, *former])
    numbers = {name: value for name, value in sums.items() if isinstance(value, (int, float))}
    states = {DroneState(row["state"]) for row in rows if row["drone"] in hive.leases}
    return {
        **numbers,
        "state": str(_state_of_all(states)),
        "seconds": max((row["seconds"] for row in rows), default=0.0),
        "waits": _pending_change(hive),
        "drones": rows,
    }


def _state_of_all(states: AbstractSet[DroneState]) -> DroneState:
    """Return PAUSED or STOPPING if all live drones are in that state, else RUNNING."""
    if states in ({DroneState.PAUSED}, {DroneState.STOPPING}):
        (state,) = states
        return state
    return DroneState.RUNNING


def _progress_row(hive: HiveView, drone: int) -> dict[str, Any]:
    """Return the state and the figures of one drone. A drone without a report has zeros."""
    host, _ = hive.places.get(drone, ("", 0))
    report = hive.reports.get(drone)
    row: dict[str, Any]
    if report is None:
        row = {"seconds": 0.0, **dict.fromkeys(PROGRESS_FIGURES, 0), "trouble": "", "place": host}
        state = "running"
    else:
        figures = {name: report.figures.get(name, 0) for name in PROGRESS_FIGURES}
        place = f"{host}:{report.jobdir}"
        seconds = round(report.seconds, 1)
        row = {"seconds": seconds, **figures, "trouble": report.trouble, "place": place}
        state = str(report.state)
    if drone not in hive.leases:
        state = _state_of_absent(hive, drone)
    return {"drone": drone, "state": state, **row}
