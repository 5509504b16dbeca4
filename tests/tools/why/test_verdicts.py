"""Every sentence of `why` is said of the facts that make it true, and not of others."""

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.support.claims import pattern
from webcrawl.base.model import Link, Status
from webcrawl.frontier.health import DAY
from webcrawl.frontier.host_facts import DomainFacts
from webcrawl.store.jobdir import crawl_line
from webcrawl.tools.why import places, verdict
from webcrawl.tools.why.facts import RobotsState, RobotsVerdict, UrlFacts, scores_of
from webcrawl.tools.why.noted_links import (
    FOUND_LOG,
    IN_POOL,
    IN_SEGMENT,
    LinkingPage,
    LinkLeftForLater,
)
from webcrawl.tools.why.places import QueuePlace, SubmittedLink
from webcrawl.tools.why.url_rules import REFUSES, CanonicalForm, FilterVerdict

URL = "http://a.test/x"
LINK = Link(URL).pack()
FAILED = Link(URL, attempt=1).pack()


def line(status, notes="-", size="-"):
    """A line of crawl.log."""
    text = f"2026-11-23T10:00:00.000Z {status} {size} {URL} L http://a.test/ text/html #001 - - - {notes}\n"
    return crawl_line.read(text.encode())


def host(**of):
    """A host's record, as far as sentences need it."""
    plain = {
        "name": "a.test",
        "retired": 0,
        "failed": None,
        "block_pages": None,
        "is_paused": False,
    }
    return SimpleNamespace(**{**plain, **of})


def place(where, *, number=0, record=LINK):
    return {"place": QueuePlace(where, record, number, 9, 2)}


def said(state):
    """All that is said of the URL."""
    given = dict(state)
    form = CanonicalForm(URL, given.pop("invalid", ""))
    paused = given.pop("crawl_paused", False)
    facts = UrlFacts(URL, form, **given)
    found = verdict.verdict_on(facts)
    return "\n".join(
        (found.kind, found.reason, verdict.what_if_found_now(facts, {"paused": paused}))
    )


NEW = {}
GOOD = {"log_lines": [line(200, size="5")]}
ROBOTS = {"robots": RobotsVerdict(RobotsState.FORBIDDEN, "http://a.test", "/x", allows=False)}
BLOCK_PAGE = host(block_pages=SimpleNamespace(vendor="anubis", answers=9, since=1.0))
SPENT = DomainFacts("a.test", 9, 9, 0, seed=False, over_budget=3, debt=0, lead=9)
DEEP = {"filters": [FilterVerdict("depth", REFUSES, "deeper")]}
SCOPE = {"filters": [FilterVerdict("scope", REFUSES, "outside")]}

ROWS = [
    *(
        (
            words,
            {"log_lines": [line(int(code))]},
            {"log_lines": [line(-4 if code == Status.DNS_FAILED else -1)]},
        )
        for code, words in verdict.END_TEXTS.items()
    ),
    (verdict.EXCLUDED, {**SCOPE, "log_lines": [line(-5001)]}, {"log_lines": [line(-1)]}),
    (
        verdict.FORBIDDEN,
        {"log_lines": [line(-5001)], "host": host(failed=SimpleNamespace(status=Status.EXCLUDED))},
        {"log_lines": [line(-1)]},
    ),
    (
        "; to fetch it, use a larger HOST_MAX_PAGES with another JOBDIR or --fresh",
        {"log_lines": [line(Status.HOST_BUDGET)], "host": host(retired=Status.HOST_BUDGET)},
        {"log_lines": [line(Status.HOST_BUDGET)]},  # its host's sitemaps had had theirs
    ),
    (
        "; with a larger HOST_MAX_PAGES its host continues after `{} ctl JOBDIR host {} retry",
        {"host": host(retired=Status.HOST_BUDGET)},
        {"host": host(retired=Status.DROPPED)},
    ),
    (
        "robots.txt forbade it, at {}",
        {"log_lines": [line(-9998)]},
        {"log_lines": [line(-9998)], **ROBOTS},
    ),
    ("{}; it ended so at {}", {"log_lines": [line(-9998)], **ROBOTS}, {"log_lines": [line(-9998)]}),
    ("it ended with status {}", {"log_lines": [line(-777)]}, {"log_lines": [line(-1)]}),
    (
        " (not requested, or not again, because its host was given up)",
        {"log_lines": [line(-2, "given_up")]},
        {"log_lines": [line(-2)]},
    ),
    (
        "its proxy could not reach the server, at {}",
        {"log_lines": [line(-2, crawl_line.PROXY)]},
        {"log_lines": [line(-2)]},
    ),
    ("its proxy", {"log_lines": [line(-2, crawl_line.PROXY)]}, {"log_lines": [line(-2)]}),
    ("answered {}{} ({}{}) at {}", GOOD, NEW),
    (
        ", a redirect to {}",
        {"log_lines": [line(301)], "redirect_target": "http://b.test/"},
        {"log_lines": [line(301)]},
    ),
    ("; it was fetched again then{}", {"log_lines": [line(200, "revisit")]}, GOOD),
    *(
        (
            words,
            {"log_lines": [line(200, f"revisit,{note}")]},
            {"log_lines": [line(200, "revisit")]},
        )
        for note, words in verdict.REVISIT_RESULTS.items()
    ),
    (
        "; fetching it again failed at {}, with status {}",
        {"log_lines": [line(200), line(-1, "revisit")]},
        GOOD,
    ),
    ("{}; it is being fetched again right now", {**GOOD, "live": {"in_flight": True}}, GOOD),
    (
        "{}; it is due to be fetched again and waits in a queue",
        {**GOOD, **place(places.HOST)},
        GOOD,
    ),
    (
        "{}; it will be fetched again when it is due",
        {**GOOD, "has_revisits": True, "revisit": SimpleNamespace(is_visit=True)},
        {**GOOD, "has_revisits": True},
    ),
    ("; its body was truncated: {}", {"log_lines": [line(200, "truncated:length")]}, GOOD),
    (
        "; but it was withheld, because its owner forbids it for every purpose in PURPOSE, by {}",
        {"log_lines": [line(200, f"{verdict.WITHHELD}:header")]},
        GOOD,
    ),
    (
        "; but that is not the page, it is {}",
        {"log_lines": [line(403, "wall:anubis")]},
        {"log_lines": [line(403)]},
    ),
    (
        "the block page of {}",
        {"log_lines": [line(403, "wall:anubis")]},
        {"log_lines": [line(403, "wall:script")]},
    ),
    ("a denial of access", {"log_lines": [line(403, "wall:denial")]}, {"log_lines": [line(403)]}),
    (
        "a script that requests the page again",
        {"log_lines": [line(200, "wall:script")]},
        {"log_lines": [line(403, "wall:denial")]},
    ),
    ("; it looks like {}", {"log_lines": [line(200, "soft404")]}, GOOD),
    *(
        (words, {"log_lines": [line(200, note)]}, GOOD)
        for note, words in verdict.APPEARANCES.items()
    ),
    (
        "; another URL had the same body before (CONTENT_SEEN decides what is done then)",
        {"log_lines": [line(200, crawl_line.DUPLICATE)]},
        GOOD,
    ),
    ("it is being fetched right now{}", {"live": {"in_flight": True}}, {"live": {"known": True}}),
    ("in flight", {"live": {"in_flight": True}}, {"live": {"known": True}}),
    (
        "it failed, and waits in its host's queue for a retry{}",
        place(places.RETRY, record=FAILED),
        place(places.RETRY),
    ),
    (
        "; its last answer, {}, was truncated: {}",
        {**place(places.RETRY, record=FAILED), "last_try": (200, "disconnect")},
        {**place(places.RETRY, record=FAILED), "last_try": (503, "")},
    ),
    (
        "; its last answer was {}",
        {**place(places.RETRY, record=FAILED), "last_try": (503, "")},
        {**place(places.RETRY, record=FAILED), "last_try": (200, "")},
    ),
    (
        "it was not tried yet, and waits in its host's queue until politeness allows a request",
        place(places.RETRY),
        place(places.RETRY, record=FAILED),
    ),
    (verdict.PUT_OFF, place(places.RETRY), place(places.RETRY, record=FAILED)),
    *((words, place(where, record=FAILED), NEW) for where, words in verdict.QUEUE_KINDS.items()),
    ("is the next one", place(places.HOST), place(places.HOST, number=1)),
    ("{} before it", place(places.HOST, number=1), place(places.HOST)),
    ("it waits in its host's queue, {}", place(places.HOST), place(places.FRONT)),
    ("{}, and is the next one", place(places.BUDGET), place(places.BUDGET, number=1)),
    (
        (
            "similar URLs brought nothing new, so it waits behind all others of its domain, {}; "
            "the next run fetches it with -s TRAP_RULES=0"
        ),
        place(places.FAMILY),
        place(places.BUDGET),
    ),
    (
        "it waits until others of its domain, address or origin are done, {}",
        place(places.LINE),
        place(places.HOST),
    ),
    ("it waits in the front-end at level {}, {} there", place(places.FRONT), place(places.LINE)),
    (
        "its domain has used up its budget of pages: it waits for a larger budget",
        {**place(places.BUDGET), "domain": SPENT},
        place(places.HOST),
    ),
    (
        "its domain has far more URLs than its budget of pages: it waits for a larger budget",
        {**place(places.BUDGET), "domain": replace(SPENT, pages=5)},
        {**place(places.BUDGET), "domain": SPENT},
    ),
    (
        (
            "of the pages accepted from its domain, {} had nothing new or have no answer yet: it "
            "waits until pages with something new come"
        ),
        {**place(places.BUDGET), "domain": replace(SPENT, pages=5, debt=4, lead=4)},
        {**place(places.BUDGET), "domain": replace(SPENT, pages=5, debt=3, lead=4)},
    ),
    (
        "{}; but its host is paused by command",
        {**place(places.HOST), "host": host(is_paused=True)},
        place(places.HOST),
    ),
    (
        ", and will end when its turn comes: {}",
        {**place(places.HOST), **ROBOTS},
        place(places.HOST),
    ),
    (
        "is the next one, and will end when its turn comes: the URL filter {} leaves it out: {}",
        {**place(places.HOST), "filters": [FilterVerdict("commanded", REFUSES, "exclude a.test")]},
        {**place(places.HOST), **SCOPE},  # which is for new links only
    ),
    (
        "is the next one, and will end when its turn comes: its host was given up by command",
        {**place(places.HOST), "host": host(retired=Status.DROPPED)},
        place(places.HOST),
    ),
    ("{} forbids it ({}{})", {**place(places.HOST), **ROBOTS}, place(places.HOST)),
    (
        "; {} could not be fetched{}, and without it nothing may be fetched",
        {**place(places.HOST), "robots": RobotsVerdict(RobotsState.UNREACHABLE, "http://a.test")},
        {**place(places.HOST), "robots": RobotsVerdict(RobotsState.ALLOWED, "http://a.test")},
    ),
    (
        "; its host answers with block pages ({}): {} since {}. {}",
        {**place(places.HOST), "host": BLOCK_PAGE},
        place(places.HOST),
    ),
    (verdict.PROBED, {**place(places.HOST), "host": BLOCK_PAGE}, place(places.HOST)),
    (
        "{}{} at {}, and was archived",
        {"index_entries": [SimpleNamespace(status=200, date="2026-11-23T10:00:00Z")]},
        GOOD,
    ),
    (
        "it was discovered, but is not queued yet",
        {"submitted": SubmittedLink(LINK, is_judged=True)},
        NEW,
    ),
    (
        "it was discovered, and waits for the check whether it is already known",
        {"submitted": SubmittedLink(LINK, is_judged=False)},
        {"submitted": SubmittedLink(LINK, is_judged=True)},
    ),
    (
        "it was discovered since the last checkpoint, and waits for its turn",
        {"live": {"known": True}},
        {"live": {"known": True}, "submitted": SubmittedLink(LINK, is_judged=False)},
    ),
    ("on its way", {"submitted": SubmittedLink(LINK, is_judged=True)}, NEW),
    ("it is a link of a large page, {}", {"large_page": "http://a.test/"}, NEW),
    ("{}, whose links are added a thousand at a time", {"large_page": "http://a.test/"}, NEW),
    (
        "it is in the segment {}, which this crawl has not read that far",
        {"left_for_later": LinkLeftForLater(IN_SEGMENT, "s")},
        {"left_for_later": LinkLeftForLater(IN_POOL, "s")},
    ),
    (
        "it was discovered, and waits in the pool of {} for a later segment",
        {"left_for_later": LinkLeftForLater(IN_POOL, "s")},
        {"left_for_later": LinkLeftForLater(IN_SEGMENT, "s")},
    ),
    (
        "it was discovered, and is left for a later segment in {}, which `{} segments build` reads",
        {"left_for_later": LinkLeftForLater(FOUND_LOG, "s")},
        {"left_for_later": LinkLeftForLater(IN_POOL, "s")},
    ),
    ("left for later", {"left_for_later": LinkLeftForLater(FOUND_LOG, "s")}, NEW),
    ("it is left for a later segment", {"left_for_later": LinkLeftForLater(IN_POOL, "s")}, GOOD),
    ("the crawl knows it", GOOD, {"left_for_later": LinkLeftForLater(IN_POOL, "s")}),
    ("nothing: {} already{}", GOOD, NEW),
    ("{}, so its URLs ended", {"known_in": "F", "host": host(retired=-2)}, {"known_in": "F"}),
    ("the crawl knows this URL, but it is in no queue and no log{}", {"known_in": "F"}, NEW),
    ("no trace", {"known_in": "F"}, NEW),
    (
        ", as far as they were searched (see below); --all searches everything",
        {"known_in": "F", "unsearched": ["x"]},
        {"known_in": "F"},
    ),
    ("not followed", {"linking_page": LinkingPage("http://a.test/", "a")}, NEW),
    (
        "{} links to it, but that link (of the kind {}{}) was not followed",
        {"linking_page": LinkingPage("http://a.test/", "a")},
        NEW,
    ),
    (
        ", see LINK_SOURCES",
        {"linking_page": LinkingPage("http://a.test/", "a"), "link_sources": ("link",)},
        {"linking_page": LinkingPage("http://a.test/", "link"), "link_sources": ("link",)},
    ),
    (
        "; {} of that page were not, because it has too many (links_cut in crawl.log)",
        {"linking_page": LinkingPage("http://a.test/", "a", "", 300)},
        {"linking_page": LinkingPage("http://a.test/", "a", "")},
    ),
    (
        "{} redirects to it, but this redirect is beyond REDIRECT_MAX_HOPS and was not followed",
        {"linking_page": LinkingPage("http://a.test/", verdict.REDIRECT)},
        {"linking_page": LinkingPage("http://a.test/", "a")},
    ),
    (
        "no seed that was read names it, and no logged link leads to it",
        {"has_all_links": True},
        NEW,
    ),
    ("the crawl has not found a link to it that it could follow", NEW, {"has_all_links": True}),
    ("not found", NEW, GOOD),
    ("the URL filter {} {} it out{}", SCOPE, NEW),
    ("it is {}: {}", DEEP, SCOPE),
    (verdict.TOO_DEEP, DEEP, SCOPE),
    ("it would be left out by the filter {}: {}", SCOPE, NEW),
    ("it would be left out, because it is not a URL for this crawl", {"invalid": "scheme"}, NEW),
    (
        "it ended without an answer at {}: {}",
        {"skipped": [("2026-11-23T10:00:00Z", "robots", "")]},
        {**SCOPE, "skipped": [("2026-11-23T10:00:00Z", "scope", "")]},
    ),
    (
        "{} redirects to it, but this redirect is beyond REDIRECT_MAX_HOPS and was not followed",
        {"skipped": [("2026-11-23T10:00:00Z", "redirects", "http://a.test/")]},
        {"skipped": [("2026-11-23T10:00:00Z", "robots", "")]},
    ),
    (
        "it would be left out again ({}), unless it was found in another place",
        {"skipped": [("2026-11-23T10:00:00Z", "robots", "")]},
        NEW,
    ),
    (" (the crawl is paused: nothing is fetched until `resume`)", {"crawl_paused": True}, NEW),
    ("it would be left for a later segment (follow=0)", {"follows_links": False}, NEW),
    ("it would be queued, and end when its turn comes: {} forbids it ({})", ROBOTS, NEW),
    (
        "it would be queued, and end when its turn comes: {}",
        {"host": host(retired=-2, failed=SimpleNamespace(at=time.time(), status=-2))},
        # A link that is found a day later brings the host back.
        {"host": host(retired=-2, failed=SimpleNamespace(at=time.time() - DAY, status=-2))},
    ),
    (
        "it would be queued, and end when its turn comes: its host's name resolves to an address",
        {"host": host(retired=-5001, failed=SimpleNamespace(at=time.time(), status=-5001))},
        {"host": host(retired=-2, failed=SimpleNamespace(at=time.time(), status=-2))},
    ),
    ("it would wait until its domain's budget is more than {}", {"domain": SPENT}, NEW),
    (
        "it would be queued, and fetched once its host is resumed by command",
        {"host": host(is_paused=True)},
        NEW,
    ),
    ("it would be queued and fetched{}", NEW, GOOD),
    (", after its host's robots.txt", {"robots": RobotsVerdict(RobotsState.UNKNOWN)}, NEW),
    (
        "no type",
        {"log_lines": [crawl_line.read(line(200).text.replace("text/html", "no-type").encode())]},
        GOOD,
    ),
]


@pytest.mark.parametrize(
    ("sentence", "true", "false"), [pytest.param(*row, id=row[0][:60]) for row in ROWS]
)
def test_a_sentence_is_said_where_it_is_true_and_nowhere_else(sentence, true, false):
    """Each sentence is said of the facts that make it true, and not of those that make it false."""
    assert pattern(sentence).search(said(true))
    assert not pattern(sentence).search(said(false))


@pytest.mark.parametrize(
    ("notes", "score"), [("-", None), ("score:0.250", 0.25), ("score:0.2x0", None)]
)
def test_the_score_of_a_page(notes, score):
    """It is the one of its line; a damaged one is none."""
    found = scores_of(URL, [line(200, notes)], None, waits=False)

    assert (found and found.score) == score
