"""The state of a URL, one of six; why; and what would happen to it now (docs/troubleshooting.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from webcrawl.base.dates import iso, moment
from webcrawl.base.model import Status
from webcrawl.base.page_values import UNKNOWN as UNKNOWN_WALL
from webcrawl.base.page_values import wall_of
from webcrawl.base.program import program
from webcrawl.base.readable import count
from webcrawl.base.url_text import host_of
from webcrawl.content.html.link_kinds import FOLLOWED, KINDS, REDIRECT
from webcrawl.net.dns_answers import known_without_asking
from webcrawl.net.failure_words import refused_address
from webcrawl.net.guard import AddressGuard
from webcrawl.net.robots_book import robots_url
from webcrawl.store.jobdir.counter_words import CUTS
from webcrawl.store.jobdir.crawl_line import (
    DUPLICATE,
    GIVEN_UP,
    PROXY,
    REVISIT,
    TRUNCATED,
    WITHHELD,
    CrawlLine,
)
from webcrawl.store.jobdir.stats_file import SERVER_ERRORS
from webcrawl.tools.why import places
from webcrawl.tools.why.facts import RobotsState, UrlFacts
from webcrawl.tools.why.noted_links import IN_POOL, IN_SEGMENT, LinkLeftForLater
from webcrawl.tools.why.places import QueuePlace
from webcrawl.tools.why.url_rules import WHY, first_refusal
from webcrawl.urls.filters.depth import DepthFilter

FETCHED, QUEUED, SEEN, REFUSED, DROPPED, UNKNOWN = (
    "fetched",
    "queued",
    "seen",
    "refused",
    "dropped",
    "unknown",
)
STATES = (FETCHED, QUEUED, SEEN, REFUSED, DROPPED, UNKNOWN)
BY_RULE = frozenset((Status.OUT_OF_SCOPE, Status.EXCLUDED, Status.ROBOTS_FORBIDDEN))
EXCLUDED = "it was excluded while it waited"
FORBIDDEN = "its host's name resolves to an address that PRIVATE_NETWORKS_ALLOWED does not allow"
ENDS = {
    Status.DNS_FAILED: "its host's name has no address",
    Status.CONNECT_FAILED: "no connection to its host could be made",
    Status.CONNECTION_LOST: "the connection was lost, or the answer was not valid",
    Status.TIMEOUT: "there was no answer in time",
    Status.UNEXPECTED: "an unexpected error happened: see logs/errors.log",
    Status.UNSUPPORTED: "it is a URL that cannot be requested",
    Status.ROBOTS_UNREACHABLE: (
        "its host's robots.txt could not be fetched, and without it nothing may be fetched"
    ),
    Status.OUT_OF_SCOPE: "it was out of scope when its turn came",
    Status.EXCLUDED: f"{EXCLUDED}, or {FORBIDDEN}",
    Status.DROPPED: "its host was given up by command",
    Status.HOST_BUDGET: "its host had reached HOST_MAX_PAGES, or the limit on URLs from its sitemaps",
    Status.HOST_RETIRED: "its host was given up",
    Status.NO_METHOD: "its request names a method or value that the spider no longer had",
    Status.REFUSED: "a class of FEATURES refused it",
    Status.ROBOTS_FORBIDDEN: "robots.txt forbids it",
}
FOUND = {"changed": "it had changed", "unchanged": "it had not changed", "gone": "it was gone"}
TRIED = "One of its URLs is tried now and then; once a page comes, all are fetched"
TOO_DEEP, IN_FLIGHT = "too deep", "in flight"
PUT_OFF = "until its host may be asked"
QUEUES = {
    places.RETRY: "to be tried again",
    places.HOST: "in its host's queue",
    places.BUDGET: "over its domain's budget",
    places.FAMILY: "of a family that brings nothing new",
    places.LINE: "behind others of its domain",
    places.FRONT: "in the front-end",
}


class UrlVerdict(NamedTuple):
    """The state of a URL and why; `kind` is the reason without what is this URL's alone."""

    state: str
    kind: str
    reason: str


def verdict_on(facts: UrlFacts) -> UrlVerdict:
    """Return the state of the URL, and why, by the first rule below that applies."""
    return next(verdict for rule in RULES if (verdict := rule(facts)) is not None)


def _by_answer(facts: UrlFacts) -> UrlVerdict | None:
    """Judge by an answer in the log, other than a block page after which the URL waits again."""
    answered = _last_answer(facts)
    if answered is None:
        return None
    waits_again = facts.place is not None and _wall(answered)
    if waits_again:
        return None
    return UrlVerdict(FETCHED, f"answered {answered.status}", _answered(facts, answered))


def _by_download(facts: UrlFacts) -> UrlVerdict | None:
    if not facts.in_flight:
        return None
    return UrlVerdict(SEEN, IN_FLIGHT, f"it is being fetched right now{_for_how_long(facts)}")


def _by_queue(facts: UrlFacts) -> UrlVerdict | None:
    if facts.place is None:
        return None
    was_put_off = facts.place.where == places.RETRY and not facts.place.has_failed
    where = PUT_OFF if was_put_off else QUEUES[facts.place.where]
    return UrlVerdict(QUEUED, where, _queued(facts, facts.place) + _behind_wall(facts))


def _by_end(facts: UrlFacts) -> UrlVerdict | None:
    return _ended(facts, facts.line) if facts.line is not None else None


def _by_archive(facts: UrlFacts) -> UrlVerdict | None:
    """Judge by an answer in the archive whose line in the log is too far back.

    If a retry waits, its queue is found first.
    """
    if not facts.entries:
        return None
    entry = facts.entries[-1]
    what = f"answered {entry.status}" if entry.status else "fetched"
    return UrlVerdict(
        FETCHED, what, f"{what}{_leads(facts)} at {moment(entry.date)}, and is in the archive"
    )


def _last_answer(facts: UrlFacts) -> CrawlLine | None:
    return next((one for one in reversed(facts.lines) if one.status > 0), None)


def is_end(facts: UrlFacts) -> bool:
    """Return False if a crawl asks again after the answer: a wall's, or an archived error."""
    if (answered := _last_answer(facts)) is not None:
        return not _wall(answered)
    return not facts.entries or facts.entries[-1].status not in SERVER_ERRORS


def _for_how_long(facts: UrlFacts) -> str:
    live = facts.live or {}
    return f", for {live['seconds']} s ({live['phase']})" if "seconds" in live else ""


def _under_way(facts: UrlFacts) -> UrlVerdict | None:
    """Judge a URL that was found, and is in no queue yet."""
    if facts.waiting is not None and facts.waiting.judged:
        return UrlVerdict(SEEN, "on its way", "it was discovered, but is not queued yet")
    if facts.waiting is not None:
        return UrlVerdict(
            SEEN,
            "on its way",
            "it was discovered, and waits for the check whether it is already known",
        )
    if facts.live is not None and facts.live.get("known") and not facts.known:
        return UrlVerdict(
            SEEN,
            "on its way",
            "it was discovered since the last checkpoint, and waits for its turn",
        )
    if facts.large_page:
        large = f"it is a link of a large page, {facts.large_page}"
        return UrlVerdict(
            SEEN, "on its way", f"{large}, whose links are added a thousand at a time"
        )
    if facts.later is not None:
        return UrlVerdict(SEEN, "left for later", _left(facts.later))
    return None


def _left(later: LinkLeftForLater) -> str:
    if later.where == IN_SEGMENT:
        return f"it is in the segment {later.file}, which this crawl has not read that far"
    if later.where == IN_POOL:
        return f"it was discovered, and waits in the pool of {later.file} for a later segment"
    return (
        f"it was discovered, and is left for a later segment in {later.file}, which "
        f"`{program()} segments build` reads"
    )


def _without_end(facts: UrlFacts) -> UrlVerdict:
    """Neither a queue nor a log has the URL, as far as they were searched."""
    refused = _refused(facts)
    if refused is not None:
        return refused
    if facts.is_known and facts.host is not None and facts.host.retired:
        end = _end(facts.host.retired)
        return UrlVerdict(
            DROPPED, f"status {facts.host.retired}: {end}", f"{end}, so its URLs ended"
        )
    if facts.is_known:
        what = "the crawl knows this URL, but it is in no queue and no log"
        # A URL that failed long ago: a log of 100 million lines has 25 GB.
        if facts.looked:
            what += ", as far as they were searched (see below); --all searches everything"
        return UrlVerdict(SEEN, "no trace", what)
    if facts.linked is not None:
        return UrlVerdict(
            UNKNOWN,
            "not followed",
            f"{_linked(facts.linked.page, facts.linked.kind)} was not followed",
        )
    if facts.all_links:
        return UrlVerdict(
            UNKNOWN,
            "not found",
            "no seed that was read names it, and no fetched page links to it",
        )
    return UrlVerdict(
        UNKNOWN, "not found", "the crawl has not found a link to it that it could follow"
    )


# Each returns None if it does not apply. The order is that of docs/troubleshooting.md; the last one always
# applies.
RULES: tuple[Callable[[UrlFacts], UrlVerdict | None], ...] = (
    _by_answer,
    _by_download,
    _by_queue,
    _by_end,
    _by_archive,
    _under_way,
    _without_end,
)


def _refused(facts: UrlFacts) -> UrlVerdict | None:
    """Return a verdict if a rule in force refuses the URL.

    A URL that passed earlier is not refused now.
    """
    refusal = first_refusal(facts.filters)
    if facts.form.invalid:
        return UrlVerdict(
            REFUSED,
            f"no URL: {facts.form.invalid}",
            WHY.get(facts.form.invalid, facts.form.invalid),
        )
    if refusal is not None and not facts.known:
        on = f", on {facts.linked.page}" if facts.linked is not None else ""
        return _left_out(refusal.name, "leaves", f"{on}: {refusal.rule}")
    if facts.skipped:
        return _by_skipped(facts)
    if facts.robots is not None and facts.robots.verdict == RobotsState.FORBIDDEN:
        return UrlVerdict(REFUSED, "robots.txt", _forbidden(facts))
    return None


def _by_skipped(facts: UrlFacts) -> UrlVerdict:
    """Judge by the last line of skipped.log, which has the name of a filter, or how a URL ended."""
    when, name, _ = facts.skipped[-1]
    is_filter = any(one.name == name for one in facts.filters)
    if not is_filter:
        return UrlVerdict(
            DROPPED, f"skipped: {name}", f"it ended without an answer at {moment(when)}: {name}"
        )
    setting = f" ({facts.setting})" if facts.setting else ""
    return _left_out(name, "left", f" at {moment(when)}{setting}")


def _left_out(name: str, leaves: str, more: str) -> UrlVerdict:
    """Judge a link that this filter drops."""
    what = f"the URL filter {name} {leaves} it out{more}"
    if name == DepthFilter.name:
        return UrlVerdict(REFUSED, TOO_DEEP, f"it is {TOO_DEEP}: {what}")
    return UrlVerdict(REFUSED, f"filter {name}", what)


def _linked(page: str, kind: str) -> str:
    if kind == REDIRECT:
        return f"{page} redirects to it, but this redirect is beyond REDIRECT_MAX_HOPS and"
    setting = ", see LINK_SOURCES" if kind in KINDS and kind not in FOLLOWED else ""
    return f"{page} links to it, but that link (of the kind {kind}{setting})"


def _wall(line: CrawlLine) -> str:
    """Return the vendor of the wall that has answered in place of the page."""
    return next((vendor for note in line.annotations if (vendor := wall_of(note))), "")


def _behind_wall(facts: UrlFacts) -> str:
    """Return words that follow the place of a URL whose host is behind a wall."""
    row = facts.host.wall if facts.host is not None else None
    if row is None:
        return ""
    since = moment(iso(row.since + facts.ahead))
    return (
        f"; its host answers with block pages ({row.vendor}): {count(row.answers, 'answer')} "
        f"since {since}. {TRIED}"
    )


def _answered(facts: UrlFacts, answered: CrawlLine) -> str:
    size = f", {count(answered.size, 'byte')}" if answered.size is not None else ""
    what = f"answered {answered.status}{_leads(facts)} ({answered.mime or 'no type'}{size}) at {moment(answered.time)}"
    parts = (of_again(facts, answered), _cut(answered), _withheld(answered), _instead(answered))
    return what + "".join(parts)


def of_again(facts: UrlFacts, answered: CrawlLine) -> str:
    """Return what follows the answer of a page that is or was fetched again.

    It begins with a semicolon.
    """
    return _last_revisit(facts, answered) + _next_revisit(facts)


def _last_revisit(facts: UrlFacts, answered: CrawlLine) -> str:
    said = ""
    if REVISIT in answered.annotations:
        said = "; it was fetched again then"
        for note in answered.annotations:
            if note in FOUND:
                said += f", and {FOUND[note]}"
                break
    last = facts.lines[-1]
    if last is not answered and REVISIT in last.annotations:
        said += f"; fetching it again failed at {moment(last.time)}, with status {last.status}"
    return said


def _next_revisit(facts: UrlFacts) -> str:
    pages = [line for line in facts.lines if not line.is_prerequisite]
    # Only what was a page once has a record, by which it is fetched again.
    was_page = any(line.status == 200 for line in pages)
    if not was_page:
        return ""
    if facts.in_flight:
        return "; it is being fetched again right now"
    if facts.place is not None:
        return "; it is due to be fetched again and waits in a queue"
    if facts.again:
        return "; it will be fetched again when it is due"
    return ""


def _cut(answered: CrawlLine) -> str:
    """Return why not all of its body was taken; begins with a semicolon."""
    why = next((note for note in answered.annotations if note.startswith(TRUNCATED)), "")
    return f"; its body was truncated: {CUTS.get(why.replace(':', '/'), why)}" if why else ""


def _withheld(answered: CrawlLine) -> str:
    """Return why there is nothing but the head of what was fetched."""
    notes = [note for note in answered.annotations if note.startswith(f"{WITHHELD}:")]
    if not notes:
        return ""
    sources = notes[0].partition(":")[2].replace("+", " and ")
    return (
        "; but it was withheld, because its owner forbids it for every purpose in PURPOSE, "
        f"by {sources}"
    )


LOOKS = {  # by what words or structure show, which may err
    UNKNOWN_WALL: "a block page of an unknown vendor",
    "ratelimit": "a notice of too many requests",
    "login": "a login form",
    "consent": "a consent form",
    "soft404": "its host's page for missing URLs",
    "parked": "a parked domain's page",
    "default": "a web server's default page",
    "maintenance": "a maintenance notice",
    "shell": "a page that needs its scripts",
}


def _kind_of_wall(vendor: str) -> str:
    return {"denial": "a denial of access", "script": "a script that requests the page again"}.get(
        vendor, f"the block page of {vendor}"
    )


def _instead(answered: CrawlLine) -> str:
    """Return what the answer is instead of a new page; begins with a semicolon."""
    vendor = _wall(answered)
    if vendor:
        return f"; but that is not the page, it is {_kind_of_wall(vendor)}"
    looks = next((LOOKS[note] for note in answered.annotations if note in LOOKS), "")
    if looks:
        return f"; it looks like {looks}"
    if DUPLICATE in answered.annotations:
        return "; another URL had the same body before (CONTENT_SEEN decides what is done then)"
    return ""


def _leads(facts: UrlFacts) -> str:
    return f", a redirect to {facts.redirect}" if facts.redirect else ""


WAITS = {  # by where it waits; what it waits for, or behind
    places.HOST: "it waits in its host's queue, {before}",
    places.BUDGET: "{over_budget}: it waits for a larger budget, {before}",
    places.FAMILY: (
        "similar URLs brought nothing new, so it waits behind all others of its domain, {before}; "
        "TRAP_RULES=0 fetches it"
    ),
    places.LINE: "it waits until others of its domain, address or origin are done, {before}",
    places.FRONT: "it waits in the front-end at level {level}, {before} there",
}
UNTRIED = "it was not tried yet, and waits in its host's queue until politeness allows a request"


def _queued(facts: UrlFacts, place: QueuePlace) -> str:
    if place.where != places.RETRY:
        before = (
            f"with {count(place.place, 'URL')} before it" if place.place else "and is the next one"
        )
        over_budget = _over_budget(facts)
        said = WAITS[place.where].format(before=before, level=place.level, over_budget=over_budget)
    elif place.has_failed:
        said = f"it failed, and waits in its host's queue for a retry{_last_try(facts)}"
    else:  # its turn had come, and its host wants to be left alone, or was to be asked first
        said = UNTRIED
    if facts.host is not None and facts.host.is_paused:
        said = f"{said}; but its host is paused by command"
    return said + _robots_ahead(facts)


def _robots_ahead(facts: UrlFacts) -> str:
    """Return words behind the place of a URL that robots.txt keeps the crawl from."""
    found = facts.robots
    if found is None:
        return ""
    if found.verdict == RobotsState.FORBIDDEN:
        return f", and will end when its turn comes: {_forbidden(facts)}"
    if found.verdict == RobotsState.UNREACHABLE:
        tries = f", tried {count(found.tries, 'time')}" if found.tries else ""
        return f"; {robots_url(found.origin)} could not be fetched{tries}, and without it nothing may be fetched"
    return ""


def _last_try(facts: UrlFacts) -> str:
    """Return the archived answer, if that is why it failed; begins with a semicolon."""
    status, cut = facts.last_try
    if cut:
        return f"; its last answer, {status}, was truncated: {CUTS.get(f'truncated/{cut}', cut)}"
    return f"; its last answer was {status}" if status >= 400 else ""


def _over_budget(facts: UrlFacts) -> str:
    """Return the rule in `frontier/budgets.py` that holds its domain's URLs back."""
    domain = facts.domain
    if domain is None or _used_up_budget(facts) is not None or domain.budget is None:
        return "its domain has used up its budget of pages"
    if domain.debt >= domain.lead:
        return f"of the pages accepted from its domain, {domain.debt} had nothing new or have no answer yet"
    return "its domain has far more URLs than its budget of pages"


def _forbidden(facts: UrlFacts) -> str:
    verdict = facts.robots
    if verdict is None or verdict.verdict != RobotsState.FORBIDDEN:
        return "robots.txt forbids it"
    line = f"line {verdict.line}: " if verdict.line else ""
    return f"{robots_url(verdict.origin)} forbids it ({line}{verdict.rule})"


def _ended(facts: UrlFacts, line: CrawlLine) -> UrlVerdict:
    """Judge a URL that the log has without an answer."""
    if line.status == Status.ROBOTS_FORBIDDEN:
        return UrlVerdict(
            REFUSED, "robots.txt", f"{_forbidden(facts)}; it ended so at {moment(line.time)}"
        )
    if PROXY in line.annotations:
        return UrlVerdict(
            DROPPED, "its proxy", f"its proxy could not reach the server, at {moment(line.time)}"
        )
    given_up = ""
    if GIVEN_UP in line.annotations:
        given_up = " (not requested, or not again, because its host was given up)"
    state = REFUSED if line.status in BY_RULE else DROPPED
    end = _excluded(facts) if line.status == Status.EXCLUDED else _end(line.status)
    said = f"{end}{given_up}, at {moment(line.time)}"
    if line.status == Status.HOST_BUDGET and _is_spent(facts):
        said += "; to fetch it, use a larger HOST_MAX_PAGES with another JOBDIR or --fresh"
    return UrlVerdict(state, f"status {line.status}: {end}", said)


def _is_spent(facts: UrlFacts) -> bool:
    return facts.host is not None and facts.host.retired == Status.HOST_BUDGET


def _excluded(facts: UrlFacts) -> str:
    """Return which end it was: the log has one status for two, rules and record tell them."""
    if first_refusal(facts.filters) is not None:
        return EXCLUDED
    # Of an address, and of this machine's own name, no name server has to be asked.
    known = known_without_asking(host_of(facts.form.url))
    addresses = known.addresses if known is not None else ()
    guard = AddressGuard(facts.networks)
    for address in addresses:
        reason = guard.reason(address)
        if reason:
            return refused_address(address, reason, address, facts.networks)
    failed = facts.host.failed if facts.host is not None else None
    if failed is not None and failed.status == Status.EXCLUDED:
        return FORBIDDEN
    return _end(Status.EXCLUDED)


def _end(status: int) -> str:
    try:
        return ENDS[Status(status)]
    except (ValueError, KeyError):
        return f"it ended with status {status}"


def what_now(facts: UrlFacts, in_force: Mapping[str, Any]) -> str:
    """Say what would happen if a page linked to it now."""
    refusal = first_refusal(facts.filters)
    if facts.form.invalid:
        return "it would be left out, because it is not a URL for this crawl"
    if refusal is not None:
        return f"it would be left out by the filter {refusal.name}: {refusal.rule}"
    pause = ""
    if in_force.get("paused"):
        pause = " (the crawl is paused: nothing is fetched until `resume`)"
    if facts.is_known or facts.later is not None:
        already = "the crawl knows it" if facts.is_known else "it is left for a later segment"
        return f"nothing: {already} already{pause}"
    if facts.skipped:
        return (
            f"it would be left out again ({facts.skipped[-1][1]}), unless it was found in another "
            f"place{pause}"
        )
    return f"{_when_queued(facts)}{pause}"


def _retry_of(host: str) -> str:
    retry = f"{program()} ctl JOBDIR host {host} retry"
    return f"with a larger HOST_MAX_PAGES its host continues after `{retry}`"


def _when_queued(facts: UrlFacts) -> str:
    """Say what would become of the URL as a new link, by the first rule that applies."""
    if not facts.follows:
        return "it would be left for a later segment (follow=0)"
    if end := _end_in_its_turn(facts):
        return f"it would be queued, and end when its turn comes: {end}"
    budget = _used_up_budget(facts)
    if budget is not None:
        return f"it would wait until its domain's budget is more than {count(budget, 'page')}"
    if facts.host is not None and facts.host.is_paused:
        return "it would be queued, and fetched once its host is resumed by command"
    needs_robots = facts.robots is not None and facts.robots.verdict == RobotsState.UNKNOWN
    first = ", after its host's robots.txt" if needs_robots else ""
    return f"it would be queued and fetched{first}"


def _end_in_its_turn(facts: UrlFacts) -> str:
    """Return why the URL would end unasked once its turn has come; empty if it would not."""
    if facts.robots is not None and facts.robots.verdict == RobotsState.FORBIDDEN:
        return "robots.txt forbids it"
    host = facts.host
    if host is None or not host.retired:
        return ""
    end = _end(host.retired)
    if _is_spent(facts):
        return f"{end}; {_retry_of(host.name)}"
    return end


def _used_up_budget(facts: UrlFacts) -> int | None:
    """Return the pages that the URL's domain may have, if it has had them all; else None."""
    domain = facts.domain
    if domain is None or domain.budget is None or domain.pages < domain.budget:
        return None
    return domain.budget
