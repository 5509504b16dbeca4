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
    common: dict[str, Any] = {
        "name": target.name,
        "queen": None,
        "server_bytes": 0,
        "generation": 0,
    }
    common |= _as_meant(target.folder)
    if target.folder is not None:
        for drone in target.folder.all_drones():
            stats[drone] = target.folder.figures(drone)
            found[drone] = _from_file(drone, stats[drone], str(target.folder.drone(drone)))
    common |= revisits(stats.values())
    make_operator = target.server()
    if make_operator is None and target.folder is not None:
        common |= _by_locks(target.folder, found, common)
    elif make_operator is not None:
        try:
            before, now = asyncio.run(_two_looks(make_operator))
        except AnotherHive:
            common |= {**_by_locks(target.folder, found, common), "another": True}
            return [found[drone] for drone in sorted(found)], common
        except Away:  # a server of the hive's own, which is about to end, or to start again
            common |= {**_by_locks(target.folder, found, common), "unnamed": False, "unheard": True}
            return [found[drone] for drone in sorted(found)], common
        common |= {
            "queen": now.queen,
            "server_bytes": now.bytes,
            "generation": now.map.generation if now.map else 0,
        }
        common |= _as_found(now, common)
        common |= revisits(
            {**stats, **{drone: report.figures for drone, report in now.reports.items()}}.values()
        )
        here = target.folder.begun() if target.folder is not None else ()
        for drone in now.drones:
            # the server keeps what it said, but not when
            unknown = _from_file(drone, {}, "") | {"seen": "-"}
            row = _from_report(drone, before, now)
            if drone in here and drone not in now.leases:
                row.pop("place", None)  # the folder may have been moved since it said that
            found[drone] = found.get(drone, unknown) | row
    return [found[drone] for drone in sorted(found)], common


def _as_meant(folder: HiveFolder | None) -> dict[str, Any]:
    """Return the state by hive.json: how many drones are meant, and whether that changes."""
    if folder is None:
        return {"state": STOPPED, "running": 0, "meant": 0, "changing": False}
    founding = folder.known()
    if folder.supervised:
        state = RUNNING
    elif folder.finished:
        state = FINISHED
    else:
        state = STOPPED
    meant = founding.wanted or founding.drones
    return {"state": state, "running": 0, "meant": len(meant), "changing": bool(founding.wanted)}


def _by_locks(
    folder: HiveFolder | None, found: Mapping[int, dict[str, Any]], meant: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the state of a hive whose server does not tell it: running drones have locks."""
    if folder is None:
        return {}
    there = [drone for drone in found if folder.running(drone)]
    for drone in there:
        found[drone]["state"] = RUNNING
    return {
        "state": RUNNING if there else meant["state"],
        "running": len(there),
        "unnamed": bool(there),
    }


def _as_found(look: HiveLook, meant: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state by the server. Drones elsewhere may run without the hive's process here."""
    running = _number_at_work(look)
    changing = meant["changing"] or _wants_others(look)
    waits = waits_for(look, look.wanted) if changing and look.wanted else ""
    placed = _placed(look)
    is_finished = placed and all(_absent(look, drone) == FINISHED for drone in placed)
    at_rest = FINISHED if is_finished else meant["state"]
    return {
        "state": RUNNING if running else at_rest,
        "running": running,
        "meant": meant["meant"] or len(look.wanted or placed),
        "changing": changing,
        "waits": waits,
    }


def _number_at_work(look: HiveLook) -> int:
    """Return how many drones have a lease, and report that they crawl."""
    return sum(
        drone in look.leases and report.state in AT_WORK for drone, report in look.reports.items()
    )


def _placed(look: HiveLook) -> set[int]:
    """Return the drones that have slots, or may get some."""
    return {*look.map.drones} if look.map is not None else set()


def _wants_others(look: HiveLook) -> bool:
    """Return whether other drones are wanted than the map has."""
    return look.map is not None and bool(look.wanted) and look.wanted != _placed(look)


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
    """Return what the drone's report changes in its row."""
    report = now.reports.get(drone)
    earlier = before.reports.get(drone)
    left = now.leases.get(drone)
    host, pid = now.places.get(drone, ("", 0))
    row: dict[str, Any] = {}
    if report is None:
        return row | {"state": "starting" if left is not None else _absent(now, drone)}
    if left is not None and report.lease:  # one of an earlier version does not tell it
        row["seen"] = f"{max(report.lease - left, 0):.0f} s ago"
    where = report.host or host
    row |= {
        "state": _absent(now, drone) if left is None else _present(report),
        "pages": report.figures.get("pages", 0),
        "queued": report.figures.get("queued", 0),
        "hosts": report.figures.get("hosts", 0),
        "letters": report.unacknowledged,
        "place": f"{where}:{report.jobdir} ({pid or report.pid})" if where else report.jobdir,
    }
    if earlier is not None and earlier.run == report.run and report.beat > earlier.beat:
        row["rate"] = _rate(report, earlier)
    return row


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
    there = {DroneState(row["state"]) for row in rows if row["drone"] in look.leases}
    reports = [look.reports[drone].figures for drone in look.drones if drone in look.reports]
    sums = total([*reports, *left])
    return {
        **{name: value for name, value in sums.items() if isinstance(value, (int, float))},
        "state": str(_state_of_all(there)),
        "seconds": max((row["seconds"] for row in rows), default=0.0),
        "waits": waits_for(look, look.wanted) if look.wanted else "",
        "drones": rows,
    }


def _state_of_all(states: AbstractSet[DroneState]) -> DroneState:
    """Return PAUSED or STOPPING if all drones that are there are it, else RUNNING."""
    if states in ({DroneState.PAUSED}, {DroneState.STOPPING}):
        (state,) = states
        return state
    return DroneState.RUNNING


def _progress_of(look: HiveLook, drone: int) -> dict[str, Any]:
    report = look.reports.get(drone)
    if drone not in look.leases:
        state = _absent(look, drone)
    elif report is None:
        state = "running"
    else:
        state = str(report.state)
    figures = report.figures if report is not None else {}
    host, _ = look.places.get(drone, ("", 0))
    return {
        "drone": drone,
        "state": state,
        "seconds": round(report.seconds, 1) if report is not None else 0.0,
        **{name: figures.get(name, 0) for name in OF_EACH},
        "trouble": report.trouble if report is not None else "",
        "place": f"{host}:{report.jobdir}" if report is not None else host,
    }
