"""The names of the metrics, and which figure of the crawl each one shows (docs/metrics.md)."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple

from webcrawl.base.model import Status
from webcrawl.crawl.bound import PREFIX as BOUND
from webcrawl.crawl.bound import Cause

OTHERS = "other"
STATUSES = frozenset(map(int, HTTPStatus))
CAUSES = tuple(map(str, Cause))


class Row(NamedTuple):
    """One figure. A counter's name gets `_total` after it."""

    key: str
    name: str
    says: str


class Labelled(NamedTuple):
    """The figures whose keys begin with `prefix`; `value` makes a label's value of the rest, or None."""

    prefix: str
    name: str
    label: str
    value: Callable[[str], str | None]
    says: str
    always: tuple[str, ...] = ()  # values that are shown even if nothing was counted yet


def _answer(rest: str) -> str | None:
    """A server may send any number: what is no status of HTTP is counted together."""
    if rest.startswith("-") or not rest.isdecimal() or int(rest) == 0:
        return None
    return rest if int(rest) in STATUSES else OTHERS


def _failure(rest: str) -> str | None:
    if not rest.startswith("-"):
        return None
    return _outcome(rest)


def _outcome(rest: str) -> str:
    try:
        return Status(int(rest)).name.lower()
    except ValueError:
        return OTHERS


def _among(names: tuple[str, ...]) -> Callable[[str], str | None]:
    """Of figures that are named alike, those with these names."""
    return lambda rest: rest if rest in names else None


def _same(rest: str) -> str:
    return rest


REVISITED = ("unchanged_304", "unchanged_digest", "changed_digest", "changed_text", "gone")
VERDICTS = ("true", "false", "ignored")
FAILED = ("dns_failed", "connect_failed", "connection_lost", "timeout", "unexpected")

# Figures whose names begin so are those of some crawls alone: of those that have the other figure.
OF_SOME = {"hive/": "hive/slots", "revisit/": "revisit/records"}
COUNTERS = (
    Row("pages", "pages", "Answers of status 2xx that ended their URLs: not robots.txt, sitemaps, walls."),
    Row("bytes", "received_bytes", "Bytes of the heads and bodies of answers, as they came."),
    Row("links", "links", "Links found in pages."),
    Row("seeds", "seeds", "Seeds read."),
    Row("bad_seeds", "bad_seeds", "Lines of seed lists that are no seeds."),
    Row("lookups", "seen_lookups", "URLs looked up among those seen."),
    Row("cache_hits", "seen_cache_hits", "Look-ups that the cache of popular URLs answered."),
    Row("seen/new", "seen_new_urls", "Look-ups of URLs that turned out to be new."),
    Row("seen/merges", "seen_merges", "Merges of waiting URLs with the sorted files."),
    Row("seen/merge_seconds", "seen_merge_seconds", "Time that these merges took."),
    Row("frontier/added", "frontier_added_urls", "URLs put into the frontier."),
    Row("frontier/taken", "frontier_taken_urls", "URLs handed out for download."),
    Row("frontier/hosts answered", "hosts_answered", "Hosts that have given a first page, be it a redirect or a 404."),
    Row("frontier/hosts set aside", "hosts_set_aside", "Times that a host was set aside because it failed."),
    Row(
        "frontier/hosts given up",
        "hosts_given_up",
        "Hosts given up: away for HOST_PATIENCE, or without an address or protocol that the crawl can use.",
    ),
    Row("outage/count", "outages", "Outages of our own network."),
    Row("outage/seconds", "outage_seconds", "How long these have lasted."),
    Row("outage/put_back", "outage_repeated_requests", "Requests to be made again because of them."),
    Row("errors", "unexpected_errors", "Unexpected errors, as in logs/errors.log."),
    Row("hive/sent", "hive_sent_links", "Links sent to other drones."),
    Row("hive/received", "hive_received_links", "Links that came from other drones."),
    Row("hive/letters/bytes", "hive_sent_bytes", "Bytes of the letters closed."),
    Row("hive/letters/again", "hive_letters_again", "Letters sent once more."),
    Row("revisit/taken", "revisits_taken", "Fetches of known pages, whatever came of them."),
    Row("revisit/forgotten", "revisit_forgotten_pages", "Pages gone for so long that they are not asked for any more."),
    Row("revisit/moved", "revisit_moved_pages", "Pages that were redirected for good."),
)
LABELLED = (
    Labelled("status/", "answers", "status", _answer, "Answers by HTTP status.", ("200",)),
    Labelled("status/", "failures", "outcome", _failure, "Attempts at URLs that got no answer, by outcome.", FAILED),
    Labelled("frontier/dropped/", "dropped_urls", "outcome", _outcome, "URLs that ended while they were queued."),
    Labelled("refused/", "filtered_links", "filter", _same, "Links that a filter drops."),
    Labelled(BOUND, "bound_seconds", "by", _among(CAUSES), "Seconds of the crawl by what bounded it.", CAUSES),
    Labelled("revisit/", "revisits", "found", _among(REVISITED), "Pages fetched again, by what was found.", REVISITED),
    Labelled(
        "revisit/signals_",
        "revisit_signals",
        "verdict",
        _among(VERDICTS),
        "Announced changes that were there, that were not, and that were not looked at.",
        VERDICTS,
    ),
)
GAUGES = (
    Row("queued", "queued_urls", "URLs in the frontier."),
    Row("aside", "aside_urls", "URLs among these whose hosts are set aside."),
    Row("over_budget", "over_budget_urls", "URLs among these beyond the budgets of their domains, or folded."),
    Row("over_budget/domains", "over_budget_domains", "Domains beyond their budgets."),
    Row("in_flight", "downloads", "Downloads under way."),
    Row("slots", "download_slots", "Downloads that can be under way at once; 0 is no limit."),
    Row("seen/keys", "seen_urls", "Different URLs known."),
    Row("seen/waiting", "seen_waiting_urls", "URLs that wait for the next merge."),
    Row("seen/runs", "seen_files", "Sorted files of URLs known."),
    Row("links/waiting", "waiting_links", "Links of large pages that enter the crawl little by little."),
    Row("checkpoint_at", "checkpoint_timestamp_seconds", "When the last checkpoint was taken, in seconds since 1970."),
    Row("checkpoint_seconds", "checkpoint_duration_seconds", "How long the last checkpoint took, with preparations."),
    Row("bandwidth_max", "bandwidth_max_bytes", "Bytes per second to receive at most (BANDWIDTH_MAX); 0 is no limit."),
    Row("disk_free", "disk_free_bytes", "Free space on the disk of JOBDIR."),
    Row("disk_least", "disk_least_free_bytes", "Free space below which fetching pauses (MIN_FREE_DISK)."),
    Row("hive/server_up", "hive_server_up", "1 if the server of the hive answers, else 0."),
    Row("hive/slots", "hive_slots", "Slots of the web that belong to this drone."),
    Row("hive/slots/leaving", "hive_slots_leaving", "Slots on their way to other drones."),
    Row("hive/slots/coming", "hive_slots_coming", "Slots on their way to this drone."),
    Row("hive/letters/unacknowledged", "hive_letters_waiting", "Letters that nobody has acknowledged yet."),
    Row("hive/letters/memory", "hive_letters_memory_bytes", "Memory that letters take."),
    Row("revisit/records", "revisit_pages", "Pages that are fetched again."),
    Row(
        "revisit/waiting",
        "revisit_waiting_pages",
        "Pages among these that wait for their hosts, their turn having come.",
    ),
    Row("revisit/let_go", "revisit_let_go_pages", "Pages among these that change too fast for the budget, estimated."),
    Row("revisit/budget", "revisit_budget", "Pages per second that may be fetched again."),
    Row("revisit/used", "revisit_used", "Pages per second that are fetched again."),
    Row("revisit/freshness", "revisit_freshness_ratio", "Share of copies that are up to date, by weight, estimated."),
    Row("revisit/age", "revisit_age_seconds", "How long copies have been out of date, by weight, estimated."),
    Row("store/files", "store_files", "Finished files that have a verified copy in the store."),
    Row("store/bytes", "store_bytes", "Bytes of these."),
    Row(
        "store/waiting",
        "store_waiting_files",
        "Finished files that have none yet, or one that is to be verified again.",
    ),
)
HOSTS = Row("hosts", "hosts", "Hosts in rotation (asked, ready, waiting), and those set aside.")
TROUBLE = Row("trouble", "trouble", "1 if this keeps hosts from being asked, else 0; of several troubles, the first.")
TROUBLES = {  # as the crawl says
    "paused": "paused",
    "no network": "no_network",
    "no name server": "no_name_server",
    "disk nearly full": "disk",
}
ENGINE = "engine_paused"  # too little disk, or by somebody's extension
