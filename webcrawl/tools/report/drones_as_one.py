"""Adds up what the drones of a hive left, as one crawl: sums, and tables of all their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from webcrawl.record.statistics.statistics import joined
from webcrawl.store.jobdir import stats_file
from webcrawl.tools.report.report_source import KNOWN, MOST, Source, State, longest, most_answers
from webcrawl.tools.report.revisit_source import of_hive


def one_of(jobdir: Path, drones: Sequence[Source]) -> Source:
    """The source of all of them together, once the statistics of each are complete."""
    first = drones[0]
    whole = Source(
        jobdir,
        first.key,
        joined([drone.statistics for drone in drones], first.key),
        all(drone.complete for drone in drones),
        _sum(drone.counters for drone in drones),
        _sum(drone.filtered for drone in drones),
        _sum(drone.frontier for drone in drones),
        _terms(drones),
        max(drones, key=lambda drone: drone.seeds_read).seeds,  # a seed is read by all, and belongs to one
        {},
        _state([drone.state for drone in drones]),
        queued=sum(drone.queued for drone in drones),
        aside=(sum(drone.aside[0] for drone in drones), sum(drone.aside[1] for drone in drones)),
        clean=all(drone.clean for drone in drones),
        at=min(drone.at for drone in drones),
        free=min((drone.free for drone in drones if drone.free is not None), default=None),
        stats=_stats(jobdir, drones),
        odd=[f"{drone.jobdir.name}: {one}" for drone in drones for one in drone.odd],
        drones=[*drones],
        revisits=of_hive(drone.revisits for drone in drones),
    )
    if whole.statistics.hosts.level and len({drone.key for drone in drones}) > 1:
        whole.odd.append("the drones have different hash keys, so the figures of small hosts are wrong")
    return whole


def _sum(parts: Iterable[Counter[str]]) -> Counter[str]:
    total = Counter[str]()
    for part in parts:
        total.update(part)
    return total


def _terms(drones: Sequence[Source]) -> dict[str, str]:
    """The settings; the values of one that differs, such as the drone's number, stand side by side."""
    names = dict.fromkeys(chain.from_iterable(drone.terms for drone in drones))
    return {name: ", ".join(dict.fromkeys(drone.terms.get(name, "none") for drone in drones)) for name in names}


def _stats(jobdir: Path, drones: Sequence[Source]) -> dict[str, Any]:
    """The reason for the last end, if all drones say the same, and the unexpected errors of all."""
    reasons = {drone.stats.get("reason") for drone in drones}
    reason = reasons.pop() if len(reasons) == 1 else stats_file.read(jobdir).get("reason")
    return {"reason": reason, "errors": sum(int(drone.stats.get("errors") or 0) for drone in drones)}


def _state(parts: Sequence[State]) -> State:
    over_budget = [part.over_budget for part in parts]
    return State(
        hosts=sum(part.hosts for part in parts),
        aside=longest(chain.from_iterable(part.aside for part in parts)),
        away=dict(islice(chain.from_iterable(part.away.items() for part in parts), KNOWN)),
        queues=longest(chain.from_iterable(part.queues for part in parts)),
        given_up=[*islice(chain.from_iterable(part.given_up for part in parts), MOST)],
        given_up_by=sum((part.given_up_by for part in parts), Counter[int]()),
        domains=sorted(chain.from_iterable(part.domains for part in parts), key=itemgetter(1), reverse=True)[:MOST],
        over_budget=(sum(domains for domains, _ in over_budget), sum(urls for _, urls in over_budget)),
        damaged=sum(part.damaged for part in parts),
        walls=most_answers(chain.from_iterable(part.walls for part in parts)),
        vendors=sum((part.vendors for part in parts), Counter[str]()),
    )
