"""The figures of a crawl: what each is called for Prometheus, and what those of a hive's drones are
together.

`Crawl.stats`, stats.json and `ctl status` give figures by the same keys. A key that has no row here
is a number of which a hive has the sum, and no metric. To show a figure to Prometheus, give it a
row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, Self

from webcrawl.store.jobdir.revisit_figures import PREFIX as REVISIT
from webcrawl.store.jobdir.revisit_figures import figures_of, together
from webcrawl.store.jobdir.stats_file import added, added_names, added_tables

# -- what the figures of drones are together: None in the place of those of drones that have none

Rule = Callable[[Sequence[Any]], Any]


def total(values: Sequence[Any]) -> float | None:
    """Return the sum; of words, such as what a drone waits for, there is none."""
    numbers = [value for value in values if isinstance(value, (int, float))]
    return sum(numbers) if numbers else None


def largest(values: Sequence[Any]) -> Any:
    return max((value for value in values if value is not None), default=None)


def earliest(values: Sequence[Any]) -> Any:
    return min((value for value in values if value is not None), default=None)


def soonest(values: Sequence[float | None]) -> float:
    """Return the earliest time; 0 is none."""
    return min(filter(None, values), default=0.0)


def by_name(values: Sequence[Any]) -> dict[str, int]:
    return added_names(value for value in values if isinstance(value, Mapping))


def by_place(values: Sequence[Any]) -> list[int]:
    return added([value for value in values if isinstance(value, Sequence)])


def all_lines(values: Sequence[Sequence[str] | None]) -> list[str]:
    """Return each line once."""
    return [*dict.fromkeys(chain.from_iterable(filter(None, values)))]


def first_reason(values: Sequence[str | None]) -> str | None:
    """Return None while a drone runs; then what all say.

    If they differ, it is the first that may have ended the others: neither the plain end nor the
    signal by which a hive ends its other drones.
    """
    if None in values:
        return None
    causes = [reason for reason in values if reason not in ("shutdown", "finished")]
    if causes:
        return causes[0]
    return "shutdown" if "shutdown" in values else "finished"


def first_trouble(values: Sequence[str | None]) -> str:
    """Return the first trouble and, if several drones report, how many of them have one.

    A drone that has left does not report.
    """
    told = [value for value in values if value is not None]
    troubles = [*filter(None, told)]
    if not troubles:
        return ""
    if len(told) == 1:
        return troubles[0]
    return f"{troubles[0]} ({len(troubles)} of {len(told)} drones)"


def tables(values: Sequence[Mapping[str, Any] | None]) -> dict[str, Any]:
    return added_tables(value for value in values if value is not None)


def any_but_false(values: Sequence[bool | None]) -> bool:
    """Return whether it may be true of one: a drone that was killed does not say."""
    return any(value is not False for value in values)


def nothing(values: Sequence[Any]) -> None:
    """Return None: it says something of one crawl alone."""
    del values


class Figure(NamedTuple):
    """A figure by its key.

    Its metric is called `webcrawl_…`; a counter's, which only grows, has `_total` after it.
    """

    key: str
    metric: str = ""
    says: str = ""
    of_hive: Rule = total


# Every drone reads all seeds, at the same time, and hears which hosts are paused, whose they may
# become.
COUNTERS = (
    Figure(
        "pages",
        "pages",
        "Answers of status 2xx that ended their URLs, without robots.txt, sitemaps and block pages.",
    ),
    Figure("bytes", "received_bytes", "Bytes of the heads and bodies of answers, as received."),
    Figure("links", "links", "Links found in pages."),
    Figure("seeds", "seeds", "Seeds read.", largest),
    Figure("bad_seeds", "bad_seeds", "Lines of seed lists that are not seeds.", largest),
    Figure("lookups", "seen_lookups", "URLs looked up among those seen."),
    Figure("cache_hits", "seen_cache_hits", "Look-ups that the cache of popular URLs answered."),
    Figure("seen/new", "seen_new_urls", "Look-ups of URLs that turned out to be new."),
    Figure("seen/merges", "seen_merges", "Merges of waiting URLs with the sorted files."),
    Figure("seen/merge_seconds", "seen_merge_seconds", "Time spent on merges."),
    Figure("frontier/added", "frontier_added_urls", "URLs put into the frontier."),
    Figure("frontier/taken", "frontier_taken_urls", "URLs handed out for download."),
    Figure(
        "frontier/hosts answered",
        "hosts_answered",
        "Hosts that have given a first answer, including redirects and errors such as 404.",
    ),
    Figure(
        "frontier/hosts deferred",
        "hosts_deferred",
        "Times that a host was deferred because it failed.",
    ),
    Figure(
        "frontier/hosts given up",
        "hosts_given_up",
        "Hosts given up: unreachable for HOST_PATIENCE, or without an address or protocol that "
        "the crawl can use.",
    ),
    Figure("outage/count", "outages", "Outages of the local network."),
    Figure("outage/seconds", "outage_seconds", "Total duration of outages.", largest),
    Figure("outage/put_back", "outage_repeated_requests", "Requests repeated because of outages."),
    Figure("errors", "unexpected_errors", "Unexpected errors, as in logs/errors.log."),
    Figure("hive/sent", "hive_sent_links", "Links sent to other drones."),
    Figure("hive/received", "hive_received_links", "Links that came from other drones."),
    Figure("hive/batches/bytes", "hive_sent_bytes", "Bytes of the batches for other drones."),
    Figure(
        "hive/batches/again", "hive_batches_again", "Batches for other drones that were sent again."
    ),
    Figure("revisit/taken", "revisits_taken", "Fetches of known pages, with any outcome."),
    Figure(
        "revisit/forgotten",
        "revisit_forgotten_pages",
        "Pages gone for so long that they are no longer requested.",
    ),
    Figure("revisit/moved", "revisit_moved_pages", "Pages that were redirected permanently."),
)
GAUGES = (
    Figure("queued", "queued_urls", "URLs in the frontier."),
    Figure("deferred", "deferred_urls", "Queued URLs whose hosts are deferred."),
    Figure(
        "over_budget",
        "over_budget_urls",
        "Queued URLs beyond the budgets of their domains, or folded.",
    ),
    Figure("over_budget/domains", "over_budget_domains", "Domains beyond their budgets."),
    Figure("in_flight", "downloads", "Downloads in progress."),
    Figure("slots", "download_slots", "Maximum number of concurrent downloads; 0 is no limit."),
    Figure("seen/keys", "seen_urls", "Different URLs known."),
    Figure("seen/waiting", "seen_waiting_urls", "URLs that wait for the next merge."),
    Figure("seen/runs", "seen_files", "Sorted files of URLs known."),
    Figure(
        "links/waiting",
        "waiting_links",
        "Links of large pages that have not been added to the crawl yet.",
    ),
    Figure(
        "checkpoint_at",
        "checkpoint_timestamp_seconds",
        "When the last checkpoint was taken, in seconds since 1970.",
    ),
    Figure(
        "checkpoint_seconds",
        "checkpoint_duration_seconds",
        "How long the last checkpoint took, with preparations.",
    ),
    Figure(
        "bandwidth_max",
        "bandwidth_max_bytes",
        "Bytes per second to receive at most (BANDWIDTH_MAX); 0 is no limit.",
    ),
    Figure("disk_free", "disk_free_bytes", "Free space on the disk of JOBDIR."),
    Figure(
        "disk_least",
        "disk_least_free_bytes",
        "Free space below which fetching pauses (MIN_FREE_DISK).",
    ),
    Figure("hive/server_up", "hive_server_up", "1 if the server of the hive answers, else 0."),
    Figure("hive/members", "hive_members", "Drones among which the web is divided."),
    Figure(
        "hive/generation", "hive_map_generation", "Number of the map of slots that is in force."
    ),
    Figure("hive/coordinator", "hive_coordinator", "1 if this drone is the coordinator, else 0."),
    Figure(
        "hive/alive",
        "hive_alive",
        "In the coordinator, the number of drones that are alive; 0 in all other drones.",
    ),
    Figure(
        "hive/change_waits",
        "hive_change_waits",
        "In the coordinator, 1 if a change in the number of drones waits for a drone; otherwise 0.",
    ),
    Figure("hive/slots", "hive_slots", "Slots of the web that belong to this drone."),
    Figure("hive/slots/leaving", "hive_slots_leaving", "Slots being moved to other drones."),
    Figure("hive/slots/coming", "hive_slots_coming", "Slots being moved to this drone."),
    Figure(
        "hive/batches/unacknowledged",
        "hive_batches_waiting",
        "Batches for other drones that have not been acknowledged yet.",
    ),
    Figure(
        "hive/batches/memory",
        "hive_batches_memory_bytes",
        "Memory used by batches for other drones.",
    ),
    Figure("revisit/records", "revisit_pages", "Pages that are fetched again."),
    Figure(
        "revisit/waiting",
        "revisit_waiting_pages",
        "Pages that are due to be fetched again and wait for their hosts.",
    ),
    Figure(
        "revisit/let_go",
        "revisit_let_go_pages",
        "Pages that change too fast for the budget, estimated.",
    ),
    Figure("revisit/budget", "revisit_budget", "Pages per second that may be fetched again."),
    Figure("revisit/used", "revisit_used", "Pages per second that are fetched again."),
    Figure(
        "revisit/freshness",
        "revisit_freshness_ratio",
        "Share of copies that are up to date, by weight, estimated.",
    ),
    Figure(
        "revisit/age",
        "revisit_age_seconds",
        "How long copies have been out of date, by weight, estimated.",
    ),
    Figure("store/files", "store_files", "Finished files that have a verified copy in the store."),
    Figure(
        "store/bytes",
        "store_bytes",
        "Bytes of finished files that have a verified copy in the store.",
    ),
    Figure(
        "store/waiting",
        "store_waiting_files",
        "Finished files without a verified copy yet.",
    ),
)
WITHOUT_METRIC = (
    Figure("reason", of_hive=first_reason),
    Figure("work_left", of_hive=any_but_false),
    Figure("started", of_hive=earliest),
    Figure("at", of_hive=largest),
    Figure("seconds", of_hive=largest),
    Figure("seed_lists_away", of_hive=largest),
    Figure("hosts_paused", of_hive=largest),
    Figure("deferred_due", of_hive=soonest),
    Figure("trouble", of_hive=first_trouble),
    Figure("bound", of_hive=nothing),
    Figure("in_force", of_hive=all_lines),
    Figure("mix", of_hive=by_name),
    Figure("milliseconds", of_hive=by_place),
    Figure("levels", of_hive=by_place),
    Figure("statistics", of_hive=tables),
    Figure("drone", of_hive=nothing),
    Figure("drones", of_hive=nothing),
)
RULES: dict[str, Rule] = {
    figure.key: figure.of_hive for figure in (*COUNTERS, *GAUGES, *WITHOUT_METRIC)
}
HIT_RATE = "seen/cache_hit_rate"
# The figures of each drone in the list of drones
_MAIN = """
    drone state reason pages answers failures bytes queued in_flight hosts seconds
    host jobdir trouble
"""
MAIN = tuple(_MAIN.split())


def merged(stats: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of all drones, by the names that a single crawl has in stats.json.

    Each of `stats` is what a drone's stats.json has, or `Report.stats()`. `drones` has the main
    figures of each.
    """
    drone_figures = [*stats]
    found: dict[str, Any] = {}
    for key in dict.fromkeys(chain.from_iterable(drone_figures)):
        rule: Rule = RULES.get(key, total)
        value = rule(_of_one_kind([drone.get(key) for drone in drone_figures]))
        # The reason of a hive that runs is None
        if value is not None or key == "reason":
            found[key] = value
    if HIT_RATE in found:
        found[HIT_RATE] = _hit_rate(found)
    drones = [{name: drone[name] for name in MAIN if name in drone} for drone in drone_figures]
    return {**found, **revisits(drone_figures), "drones": drones}


def _of_one_kind(values: Sequence[Any]) -> Sequence[Any]:
    """Return the values with None for each that is of another kind than the first one.

    A stats.json may be of another version, or have been changed by hand.
    """
    first = next((_kind(value) for value in values if value is not None), None)
    return [value if _kind(value) is first else None for value in values]


def _kind(value: Any) -> type:
    """Return the type of a value of JSON; all numbers are of one."""
    return float if isinstance(value, int) else type(value)


def _hit_rate(figures: Mapping[str, Any]) -> float:
    """Return the share of lookups that the URL caches answered, over all drones."""
    known = figures.get("links/known", 0)
    lookups = figures.get("seen/submitted", 0) + known
    hits = figures.get("seen/cache_hits", 0) + known
    return hits / lookups if lookups else 0.0


def revisits(each: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of pages that are fetched again; none if no drone has any."""
    found = [*filter(None, map(figures_of, each))]
    if not found:
        return {}
    return {REVISIT + name: number for name, number in together(found).numbers().items()}


# -- what several figures say together


class HostTurns(NamedTuple):
    """Hosts in rotation: those with a request under way, those that are ready for one, and those
    that wait their turn.
    """

    active: int
    ready: int
    waiting: int

    @classmethod
    def of(cls, figures: Mapping[str, Any]) -> Self:
        """Count a host with several requests at once (HOST_CONNECTIONS) once."""
        active = int(figures.get("in_flight", 0)) - int(figures.get("in_flight/more", 0))
        ready = int(figures.get("ready", 0))
        # Downloads that a callback or a pipeline awaits have no host in rotation.
        return cls(active, ready, max(int(figures.get("hosts", 0)) - active - ready, 0))

    def __str__(self) -> str:
        return f"hosts: {self.active} active {self.ready} ready {self.waiting} waiting"
