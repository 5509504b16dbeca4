"""The state of a URL, one of six; why; and what would happen to it now (docs/troubleshooting.md)."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping
from typing import Any, NamedTuple

from webcrawl.base.dates import iso, moment
from webcrawl.base.model import Status
from webcrawl.base.page_values import UNKNOWN as UNKNOWN_BLOCK_PAGE
from webcrawl.base.page_values import block_page_vendor
from webcrawl.base.program import program
from webcrawl.base.readable import count
from webcrawl.base.url_text import host_of
from webcrawl.content.html.link_kinds import KINDS, REDIRECT
from webcrawl.frontier.health import DAY
from webcrawl.net.dns_answers import known_without_asking
from webcrawl.net.failure_words import refused_address
from webcrawl.net.guard import AddressGuard
from webcrawl.net.robots_book import robots_url
from webcrawl.store.jobdir.counter_words import TOO_MANY_REDIRECTS, TRUNCATIONS
from webcrawl.store.jobdir.crawl_line import (
    DUPLICATE,
    GIVEN_UP,
    PROXY,
    REVISIT,
    TRUNCATED,
    WITHHELD,
    CrawlLine,
)
from webcrawl.store.jobdir.host_row import given_up
from webcrawl.store.jobdir.stats_file import SERVER_ERRORS
from webcrawl.tools.why import places
from webcrawl.tools.why.facts import RobotsState, UrlFacts
from webcrawl.tools.why.noted_links import IN_POOL, IN_SEGMENT, LinkingPage, LinkLeftForLater
from webcrawl.tools.why.places import QueuePlace
from webcrawl.tools.why.url_rules import INVALID_REASONS, REFUSES, first_refusal
from webcrawl.urls.filters.depth import DepthFilter
from webcrawl.urls.filters.exclusion import CommandedFilter, ExclusionFilter

FETCHED, QUEUED, SEEN, REFUSED, DROPPED, UNKNOWN = (
    "fetched",
    "queued",
    "seen",
    "refused",
    "dropped",
    "unknown",
)
STATES = (FETCHED, QUEUED, SEEN, REFUSED, DROPPED, UNKNOWN)
# ends of a URL that a rule of the crawl or of its host's owner has refused
REFUSED_BY_RULE = frozenset((Status.OUT_OF_SCOPE, Status.EXCLUDED, Status.ROBOTS_FORBIDDEN))
OPT_OUTS = (ExclusionFilter.name, CommandedFilter.name)  # which are asked about queued URLs too
EXCLUDED = "it was excluded while it waited"
FORBIDDEN = "its host's name resolves to an address that PRIVATE_NETWORKS_ALLOWED does not allow"
END_TEXTS = {
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
    Status.EXCLUDED: (
        f"{EXCLUDED}, or its address, its port or the size of its answer was refused"
    ),
    Status.DROPPED: "its host was given up by command",
    Status.HOST_BUDGET: "its host had reached HOST_MAX_PAGES, or the limit on URLs from its sitemaps",
    Status.HOST_RETIRED: "its host was given up",
    Status.NO_METHOD: "its request names a method or value that the spider no longer had",
    Status.REFUSED: "a class of FEATURES refused it",
}
REVISIT_RESULTS = {
    "changed": "it had changed",
    "unchanged": "it had not changed",
    "gone": "it was gone",
}
PROBED = "One of its URLs is tried now and then; once a page comes, all are fetched"
TOO_DEEP, IN_FLIGHT, NOT_FOUND = "too deep", "in flight", "not found"
PUT_OFF = "until its host may get a request"
QUEUE_KINDS = {
    places.RETRY: "to be tried again",
    places.HOST: "in its host's queue",
    places.BUDGET: "over its domain's budget",
    places.FAMILY: "of a family that brings nothing new",
    places.LINE: "behind others of its domain",
    places.FRONT: "in the front-end",
}


class UrlVerdict(NamedTuple):
    """The state of a URL and why. `kind` is the reason in the words that many URLs may share."""

    state: str
    kind: str
    reason: str


def verdict_on(facts: UrlFacts) -> UrlVerdict:
    """Return the state of the URL, and why, by the first of RULES that applies."""
    return next(verdict for rule in RULES if (verdict := rule(facts)) is not None)


def _by_answer(facts: UrlFacts) -> UrlVerdict | None:
    """Judge by an answer in the log, other than a block page after which the URL waits again."""
    answer = _last_answer(facts)
    if answer is None:
        return None
    waits_again = facts.place is not None and _vendor_of_block_page(answer)
    if waits_again:
        return None
    return UrlVerdict(FETCHED, f"answered {answer.status}", _answer_words(facts, answer))


def _by_download(facts: UrlFacts) -> UrlVerdict | None:
    if not facts.is_in_flight:
        return None
    return UrlVerdict(SEEN, IN_FLIGHT, f"it is being fetched right now{_download_words(facts)}")


def _by_queue(facts: UrlFacts) -> UrlVerdict | None:
    if facts.place is None:
        return None
    was_put_off = facts.place.where == places.RETRY and not facts.place.has_failed
    kind = PUT_OFF if was_put_off else QUEUE_KINDS[facts.place.where]
    return UrlVerdict(QUEUED, kind, _queue_words(facts, facts.place) + _words_on_block_pages(facts))


def _by_end(facts: UrlFacts) -> UrlVerdict | None:
    if facts.last_line is None:
        return None
    return _end_verdict(facts, facts.last_line)


def _by_archive(facts: UrlFacts) -> UrlVerdict | None:
    """Judge by an answer in the archive whose line in the log was not found.

    The answer is not that of an attempt that will be retried: a URL in a queue was judged before.
    """
    if not facts.index_entries:
        return None
    entry = facts.index_entries[-1]
    kind = f"answered {entry.status}" if entry.status else "fetched"
    when = moment(entry.date)
    reason = f"{kind}{_redirect_words(facts)} at {when}, and was archived"
    return UrlVerdict(FETCHED, kind, reason)


def _last_answer(facts: UrlFacts) -> CrawlLine | None:
    """Return the last line of the log with an HTTP status: the codes of failures are negative."""
    return next((line for line in reversed(facts.log_lines) if line.status > 0), None)


def is_final_answer(facts: UrlFacts) -> bool:
    """Return False if a crawl tries again after the answer: a block page, or an archived error."""
    answer = _last_answer(facts)
    if answer is not None:
        return not _vendor_of_block_page(answer)
    # The archive has every attempt, and crawl.log only the last one of a URL.
    return not facts.index_entries or facts.index_entries[-1].status not in SERVER_ERRORS


def _download_words(facts: UrlFacts) -> str:
    live = facts.live or {}
    return f", for {live['seconds']} s ({live['phase']})" if "seconds" in live else ""


def _under_way(facts: UrlFacts) -> UrlVerdict | None:
    """Judge a URL that the crawl has discovered, and that is in no queue yet."""
    if facts.submitted is not None and facts.submitted.is_judged:
        return UrlVerdict(SEEN, "on its way", "it was discovered, but is not queued yet")
    if facts.submitted is not None:
        return UrlVerdict(
            SEEN,
            "on its way",
            "it was discovered, and waits for the check whether it is already known",
        )
    is_known_live = facts.live is not None and facts.live.get("known")
    if is_known_live and not facts.known_in:
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
    if facts.left_for_later is not None:
        return UrlVerdict(SEEN, "left for later", _left_for_later_words(facts.left_for_later))
    return None


def _left_for_later_words(later: LinkLeftForLater) -> str:
    """Return where a link waits for a later segment."""
    if later.where == IN_SEGMENT:
        return f"it is in the segment {later.file}, which this crawl has not read that far"
    if later.where == IN_POOL:
        return f"it was discovered, and waits in the pool of {later.file} for a later segment"
    return (
        f"it was discovered, and is left for a later segment in {later.file}, which "
        f"`{program()} segments build` reads"
    )


def _without_trace(facts: UrlFacts) -> UrlVerdict:
    """Judge a URL that is in no queue and no log, as far as they were searched."""
    refusal = _refusal_verdict(facts)
    if refusal is not None:
        return refusal
    if facts.is_known and facts.host is not None and facts.host.retired:
        end = _end_words(facts, facts.host.retired)
        return UrlVerdict(
            DROPPED, f"status {facts.host.retired}: {end}", f"{end}, so its URLs ended"
        )
    if facts.is_known:
        what = "the crawl knows this URL, but it is in no queue and no log"
        # The URL may have failed long ago: a log of 100 million lines has 25 GB.
        if facts.unsearched:
            what += ", as far as they were searched (see below); --all searches everything"
        return UrlVerdict(SEEN, "no trace", what)
    if facts.linking_page is not None:
        return UrlVerdict(
            UNKNOWN,
            "not followed",
            _link_words(facts.linking_page, facts.link_sources),
        )
    if facts.has_all_links:
        return UrlVerdict(
            UNKNOWN,
            NOT_FOUND,
            "no seed that was read names it, and no logged link leads to it",
        )
    return UrlVerdict(
        UNKNOWN, NOT_FOUND, "the crawl has not found a link to it that it could follow"
    )


# A rule returns None if it does not apply. The order is that of docs/troubleshooting.md; the last rule always
# applies.
RULES: tuple[Callable[[UrlFacts], UrlVerdict | None], ...] = (
    _by_answer,
    _by_download,
    _by_queue,
    _by_end,
    _by_archive,
    _under_way,
    _without_trace,
)


def _refusal_verdict(facts: UrlFacts) -> UrlVerdict | None:
    """Return a verdict if a rule in force refuses the URL, else None.

    Filters do not refuse a URL that has passed them, and is known.
    """
    refusal = first_refusal(facts.filters)
    if facts.form.invalid:
        return UrlVerdict(
            REFUSED,
            f"no URL: {facts.form.invalid}",
            INVALID_REASONS.get(facts.form.invalid, facts.form.invalid),
        )
    if refusal is not None and not facts.known_in:
        page = f", on {facts.linking_page.page}" if facts.linking_page is not None else ""
        return _filter_verdict(refusal.name, "leaves", f"{page}: {refusal.rule}")
    if facts.skipped:
        return _skip_verdict(facts)
    forbidden = _forbidding_rule(facts)
    return UrlVerdict(REFUSED, "robots.txt", forbidden) if forbidden else None


def _skip_verdict(facts: UrlFacts) -> UrlVerdict:
    """Judge by the last line of skipped.log, which has the name of a filter, or how a URL ended."""
    when, name, page = facts.skipped[-1]
    if name == TOO_MANY_REDIRECTS:
        return UrlVerdict(UNKNOWN, "not followed", _beyond_hops_words(page))
    is_filter = any(verdict.name == name for verdict in facts.filters)
    if not is_filter:
        return UrlVerdict(
            DROPPED, f"skipped: {name}", f"it ended without an answer at {moment(when)}: {name}"
        )
    setting = f" ({facts.skip_setting})" if facts.skip_setting else ""
    return _filter_verdict(name, "left", f" at {moment(when)}{setting}")


def _filter_verdict(name: str, leaves: str, more: str) -> UrlVerdict:
    """Judge a link that this filter leaves, or has left, out. `more`: where, when and why."""
    what = f"the URL filter {name} {leaves} it out{more}"
    if name == DepthFilter.name:
        return UrlVerdict(REFUSED, TOO_DEEP, f"it is {TOO_DEEP}: {what}")
    return UrlVerdict(REFUSED, f"filter {name}", what)


def _link_words(link: LinkingPage, link_sources: Container[str]) -> str:
    """Return that this link was not followed, and why, as far as that is known.

    `link_sources`: the kinds of links that the crawl follows.
    """
    if link.kind == REDIRECT:
        return _beyond_hops_words(link.page)
    setting = ", see LINK_SOURCES" if link.kind in KINDS and link.kind not in link_sources else ""
    words = f"{link.page} links to it, but that link (of the kind {link.kind}{setting}) was not followed"
    if link.cut:
        cut = count(link.cut, "link")
        words += f"; {cut} of that page were not, because it has too many (links_cut in crawl.log)"
    return words


def _beyond_hops_words(page: str) -> str:
    return f"{page} redirects to it, but this redirect is beyond REDIRECT_MAX_HOPS and was not followed"


def _vendor_of_block_page(line: CrawlLine) -> str:
    """Return the vendor of the block page that has answered; empty if none has."""
    return next((vendor for note in line.annotations if (vendor := block_page_vendor(note))), "")


def _words_on_block_pages(facts: UrlFacts) -> str:
    """Return, for the end of a sentence, that the URL's host answers with block pages, if it does."""
    block_pages = facts.host.block_pages if facts.host is not None else None
    if block_pages is None:
        return ""
    since = moment(iso(block_pages.since + facts.clock_ahead))
    return (
        f"; its host answers with block pages ({block_pages.vendor}): "
        f"{count(block_pages.answers, 'answer')} since {since}. {PROBED}"
    )


def _answer_words(facts: UrlFacts, answer: CrawlLine) -> str:
    """Return the answer in words: what came when, what it was, and whether it comes again."""
    kind = answer.mime or "no type"
    size = f", {count(answer.size, 'byte')}" if answer.size is not None else ""
    redirect = _redirect_words(facts)
    what = f"answered {answer.status}{redirect} ({kind}{size}) at {moment(answer.time)}"
    return (
        what
        + revisit_words(facts, answer)
        + _truncation(answer)
        + _withholding(answer)
        + _replacement(answer)
    )


def revisit_words(facts: UrlFacts, answer: CrawlLine) -> str:
    """Return whether a page was fetched again, and will be: words that begin with a semicolon."""
    return _last_revisit(facts, answer) + _next_revisit(facts)


def _last_revisit(facts: UrlFacts, answer: CrawlLine) -> str:
    """Return what the last attempts to fetch the page again have given."""
    words = ""
    if REVISIT in answer.annotations:
        words = "; it was fetched again then"
        for note in answer.annotations:
            if note in REVISIT_RESULTS:
                words += f", and {REVISIT_RESULTS[note]}"
                break
    last = facts.log_lines[-1]
    if last is not answer and REVISIT in last.annotations:
        words += f"; fetching it again failed at {moment(last.time)}, with status {last.status}"
    return words


def _was_page(facts: UrlFacts) -> bool:
    """Return whether the URL was ever fetched as a page."""
    return any(line.status == 200 and not line.is_prerequisite for line in facts.log_lines)


def _next_revisit(facts: UrlFacts) -> str:
    """Return when the page is fetched again; empty if it is not."""
    # Only a URL that was a page once has a record, by which it is fetched again.
    if not _was_page(facts):
        return ""
    if facts.is_in_flight:
        return "; it is being fetched again right now"
    if facts.place is not None:
        return "; it is due to be fetched again and waits in a queue"
    if facts.has_revisits and facts.revisit is not None and facts.revisit.is_visit:
        return "; it will be fetched again when it is due"
    return ""


def _truncation(answer: CrawlLine) -> str:
    """Return why not all of the body was taken; empty if all was."""
    note = next((note for note in answer.annotations if note.startswith(TRUNCATED)), "")
    if not note:
        return ""
    return f"; its body was truncated: {TRUNCATIONS.get(note.replace(':', '/'), note)}"


def _withholding(answer: CrawlLine) -> str:
    """Return why nothing but the head of the answer was kept; empty if all was."""
    notes = [note for note in answer.annotations if note.startswith(f"{WITHHELD}:")]
    if not notes:
        return ""
    sources = notes[0].partition(":")[2].replace("+", " and ")
    return (
        "; but it was withheld, because its owner forbids it for every purpose in PURPOSE, "
        f"by {sources}"
    )


APPEARANCES = {  # what words or structure make likely: they may mislead
    UNKNOWN_BLOCK_PAGE: "a block page of an unknown vendor",
    "ratelimit": "a notice of too many requests",
    "login": "a login form",
    "consent": "a consent form",
    "soft404": "its host's page for missing URLs",
    "parked": "a parked domain's page",
    "default": "a web server's default page",
    "maintenance": "a maintenance notice",
    "shell": "a page that needs its scripts",
}


def _name_of_block_page(vendor: str) -> str:
    return {"denial": "a denial of access", "script": "a script that requests the page again"}.get(
        vendor, f"the block page of {vendor}"
    )


def _replacement(answer: CrawlLine) -> str:
    """Return what the answer is in place of a new page; empty if it is one."""
    vendor = _vendor_of_block_page(answer)
    if vendor:
        return f"; but that is not the page, it is {_name_of_block_page(vendor)}"
    for note in answer.annotations:
        if note in APPEARANCES:
            return f"; it looks like {APPEARANCES[note]}"
    if DUPLICATE in answer.annotations:
        return "; another URL had the same body before (CONTENT_SEEN decides what is done then)"
    return ""


def _redirect_words(facts: UrlFacts) -> str:
    return f", a redirect to {facts.redirect_target}" if facts.redirect_target else ""


QUEUE_SENTENCES = {  # what a URL waits for, by its queue
    places.HOST: "it waits in its host's queue, {before}",
    places.BUDGET: "{over_budget}, {before}",
    places.FAMILY: (
        "similar URLs brought nothing new, so it waits behind all others of its domain, {before}; "
        "the next run fetches it with -s TRAP_RULES=0"
    ),
    places.LINE: "it waits until others of its domain, address or origin are done, {before}",
    places.FRONT: "it waits in the front-end at level {level}, {before} there",
}
UNTRIED = "it was not tried yet, and waits in its host's queue until politeness allows a request"


def _queue_words(facts: UrlFacts, place: QueuePlace) -> str:
    """Return where the URL waits, and what keeps it from being fetched."""
    if place.where != places.RETRY:
        before = (
            f"with {count(place.place, 'URL')} before it" if place.place else "and is the next one"
        )
        words = QUEUE_SENTENCES[place.where].format(
            before=before, level=place.level, over_budget=_budget_words(facts)
        )
    elif place.has_failed:
        words = f"it failed, and waits in its host's queue for a retry{_last_try_words(facts)}"
    else:
        # Its turn had come, but its host wanted to be left alone, or its robots.txt came first.
        words = UNTRIED
    if facts.host is not None and facts.host.is_paused:
        words = f"{words}; but its host is paused by command"
    return words + _warning(facts)


def _warning(facts: UrlFacts) -> str:
    """Return, for the end of a sentence, what keeps the crawl from a URL that waits; empty if
    nothing does.
    """
    if end := _end_when_due(facts):
        return f", and will end when its turn comes: {end}"
    robots = facts.robots
    if robots is not None and robots.verdict == RobotsState.UNREACHABLE:
        tries = f", tried {count(robots.tries, 'time')}" if robots.tries else ""
        return f"; {robots_url(robots.origin)} could not be fetched{tries}, and without it nothing may be fetched"
    return ""


def _last_try_words(facts: UrlFacts) -> str:
    """Return the archived answer by which the URL failed; empty if none is, or another failure."""
    status, reason = facts.last_try
    if reason:
        words = TRUNCATIONS.get(f"truncated/{reason}", reason)
        return f"; its last answer, {status}, was truncated: {words}"
    return f"; its last answer was {status}" if status >= 400 else ""


def _budget_words(facts: UrlFacts) -> str:
    """Return which rule of frontier/budgets.py holds the URLs of its domain back, and until when."""
    domain = facts.domain
    larger = "it waits for a larger budget"
    if domain is None or _used_up_budget(facts) is not None or domain.budget is None:
        return f"its domain has used up its budget of pages: {larger}"
    if domain.debt >= domain.lead:
        return (
            f"of the pages accepted from its domain, {domain.debt} had nothing new or have no "
            "answer yet: it waits until pages with something new come"
        )
    return f"its domain has far more URLs than its budget of pages: {larger}"


def _forbidding_rule(facts: UrlFacts) -> str:
    """Return which robots.txt forbids the URL, and by which rule; empty if none does."""
    verdict = facts.robots
    if verdict is None or verdict.verdict != RobotsState.FORBIDDEN:
        return ""
    line = f"line {verdict.line}: " if verdict.line else ""
    return f"{robots_url(verdict.origin)} forbids it ({line}{verdict.rule})"


def _end_verdict(facts: UrlFacts, line: CrawlLine) -> UrlVerdict:
    """Judge a URL whose last line in the log has no answer."""
    if line.status == Status.ROBOTS_FORBIDDEN:
        when = moment(line.time)
        # The file may have changed since, or not be obeyed any more.
        still = _forbidding_rule(facts)
        words = f"{still}; it ended so at {when}" if still else f"robots.txt forbade it, at {when}"
        return UrlVerdict(REFUSED, "robots.txt", words)
    if PROXY in line.annotations:
        return UrlVerdict(
            DROPPED, "its proxy", f"its proxy could not reach the server, at {moment(line.time)}"
        )
    given_up = ""
    if GIVEN_UP in line.annotations:
        # "Or not again": four attempts may have come before the host was given up.
        given_up = " (not requested, or not again, because its host was given up)"
    state = REFUSED if line.status in REFUSED_BY_RULE else DROPPED
    end = _end_words(facts, line.status)
    reason = f"{end}{given_up}, at {moment(line.time)}"
    if line.status == Status.HOST_BUDGET and _is_spent(facts):
        reason += "; to fetch it, use a larger HOST_MAX_PAGES with another JOBDIR or --fresh"
    return UrlVerdict(state, f"status {line.status}: {end}", reason)


def _is_spent(facts: UrlFacts) -> bool:
    """Return whether the URL's host has had all pages that HOST_MAX_PAGES allows."""
    return facts.host is not None and facts.host.retired == Status.HOST_BUDGET


def _exclusion_words(facts: UrlFacts) -> str:
    """Return whether a rule or the address of its host has excluded the URL.

    The log has one status for both. The rules in force, and the host's record, tell them apart.
    """
    if first_refusal(facts.filters) is not None:
        return EXCLUDED
    # An address, or this machine's own name, is known without a name server.
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
    return END_TEXTS[Status.EXCLUDED]


def _end_words(facts: UrlFacts, status: int) -> str:
    """Return in words how a URL, or its host, ended with this status."""
    if status == Status.EXCLUDED:
        return _exclusion_words(facts)
    try:
        return END_TEXTS[Status(status)]
    except (ValueError, KeyError):
        return f"it ended with status {status}"


def what_if_found_now(facts: UrlFacts, in_force: Mapping[str, Any]) -> str:
    """Return what would happen if a page linked to the URL now. `in_force`: the crawl's commands."""
    refusal = first_refusal(facts.filters)
    if facts.form.invalid:
        return "it would be left out, because it is not a URL for this crawl"
    if refusal is not None:
        return f"it would be left out by the filter {refusal.name}: {refusal.rule}"
    pause = ""
    if in_force.get("paused"):
        pause = " (the crawl is paused: nothing is fetched until `resume`)"
    if facts.is_known or facts.left_for_later is not None:
        already = "the crawl knows it" if facts.is_known else "it is left for a later segment"
        return f"nothing: {already} already{pause}"
    if facts.skipped:
        return (
            f"it would be left out again ({facts.skipped[-1][1]}), unless it was found in another "
            f"place{pause}"
        )
    return f"{_if_it_were_new(facts)}{pause}"


def _retry_advice(host: str) -> str:
    retry = f"{program()} ctl JOBDIR host {host} retry"
    return f"with a larger HOST_MAX_PAGES its host continues after `{retry}`"


def _if_it_were_new(facts: UrlFacts) -> str:
    """Return what would become of the URL as a new link, by the first rule that applies."""
    if not facts.follows_links:
        return "it would be left for a later segment (follow=0)"
    end = _end_when_due(facts)
    if end and not _is_tried_again(facts):
        return f"it would be queued, and end when its turn comes: {end}"
    budget = _used_up_budget(facts)
    if budget is not None:
        return f"it would wait until its domain's budget is more than {count(budget, 'page')}"
    if facts.host is not None and facts.host.is_paused:
        return "it would be queued, and fetched once its host is resumed by command"
    needs_robots = facts.robots is not None and facts.robots.verdict == RobotsState.UNKNOWN
    first = ", after its host's robots.txt" if needs_robots else ""
    return f"it would be queued and fetched{first}"


def _end_when_due(facts: UrlFacts) -> str:
    """Return why the URL would end without a request when its turn comes; empty if it would not."""
    for verdict in facts.filters:
        if verdict.name in OPT_OUTS and verdict.verdict == REFUSES:
            return f"the URL filter {verdict.name} leaves it out: {verdict.rule}"
    if forbidden := _forbidding_rule(facts):
        return forbidden
    host = facts.host
    if host is None or not host.retired:
        return ""
    end = _end_words(facts, host.retired)
    if _is_spent(facts):
        return f"{end}; {_retry_advice(host.name)}"
    return end


def _is_tried_again(facts: UrlFacts) -> bool:
    """Return whether a new link brings back the URL's host, which was given up a day ago."""
    host = facts.host
    if host is None or host.failed is None or not given_up(host):
        return False
    return time.time() - facts.clock_ahead - host.failed.at >= DAY


def _used_up_budget(facts: UrlFacts) -> int | None:
    """Return how many pages the URL's domain may have, if it has had them all; else None."""
    domain = facts.domain
    if domain is None or domain.budget is None or domain.pages < domain.budget:
        return None
    return domain.budget
