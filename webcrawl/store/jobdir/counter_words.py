"""The words for statuses and counters, and for the rules by which a crawl left something out.

To count something more that is left out, give it a row in `RULES`. Its counter has to be among the
crawl's figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from http import HTTPStatus
from typing import Any, NamedTuple

from webcrawl.base.model import FAILURES, Status
from webcrawl.base.readable import count

STATUSES = {
    -1: "no address (DNS)",
    -2: "no connection (TCP, TLS)",
    -3: "connection lost, or no valid answer",
    -4: "no answer in time",
    -5: "unexpected error",
    -7: "cannot be requested",
    -61: "robots.txt unreachable",
    -5000: "out of scope",
    -5001: "excluded, or its address is forbidden",
    -5002: "dropped with its host by command",
    -5003: "host's page budget used up",
    -5004: "host given up",
    -5005: "the spider no longer has the method that the request names",
    -5006: "refused by a class of FEATURES",
    -9998: "forbidden by robots.txt",
}

TRUNCATIONS = {
    "truncated/length": "longer than DOWNLOAD_TRUNCATE",
    "truncated/time": "not complete in time",
    "truncated/disconnect": "connection ended early",
    "truncated/unspecified": "unreadable from some point on",
}

# By counter, once per attempt; docs/errors.md has all of them.
WRONG = {
    "Names (DNS)": {"outcome/dns": "the host's name has no address"},
    "Connections (TCP)": {
        "outcome/connect": "refused, or no route",
        "outcome/connect_timeout": "no connection in time",
        "outcome/lost": "lost within the answer's head",
        "outcome/empty_answer": "closed before the first byte",
        "outcome/timeout": "no answer in time",
        "outcome/cut_short": "lost within the body of an answer that is wanted whole",
        "outcome/cut_late": "the body of an answer that is wanted whole was not complete in time",
    },
    "Encryption (TLS)": {
        "outcome/tls": "handshake failed",
        "outcome/tls_timeout": "handshake stalled",
        "outcome/certificate": "certificate not accepted",
        "flaw/certificate_date": "certificate expired, or not valid yet; the answer was used anyway",
        "flaw/certificate_name": "another host's certificate; the answer was used anyway",
        "flaw/certificate_self_issued": "self-signed certificate; the answer was used anyway",
        "flaw/certificate_unreadable": "certificate that cannot be parsed; the answer was used anyway",
    },
    "Answers": {
        "outcome/bad_answer": "not an answer of its protocol",
        "outcome/not_http": "no status line",
        "outcome/bad_head": "a head that cannot be parsed",
        "outcome/head_too_long": "a head that is too long",
        "outcome/too_many_interim": "too many answers of status 1xx",
        "outcome/upgraded": "not the protocol that was requested",
        "outcome/http2_only": "the server speaks only HTTP/2, and the crawl does not",
        "outcome/not_ftp": "not an FTP reply",
        "outcome/reply_too_long": "an FTP reply that is too long",
        "outcome/too_large": "larger than allowed",
        "outcome/cancelled": "larger than allowed",
        "flaw/chunking": "broken chunks; read as far as possible",
        "flaw/framing": "broken frames of HTTP/2, or too many; read as far as possible",
        "flaw/coding": "broken or mislabelled compression; read as far as possible",
        "flaw/unknown_coding": "a compression that was not requested",
        "flaw/rendered_early": "a page in a browser that was still loading",
        "flaw/rendered_empty": "a page in a browser whose document has no text",
        "flaw/rendered_truncated": "a page in a browser whose document is longer than DOWNLOAD_TRUNCATE",
        "flaw/unrendered": "a page for which the browser gave no document",
        "flaw/acted_partly": "a page in a browser with more to scroll or click than its time allows",
        "flaw/unsent": "a page in a browser whose scripts would have sent data; refused",
        "flaw/unviewed": "a page in a browser of which a screenshot or PDF could not be made",
    },
    "Truncated bodies": TRUNCATIONS,
    "Refused by us": {
        "outcome/bad_url": "a URL that cannot be sent",
        "outcome/bad_option": "a request with an option that cannot be used",
        "outcome/address_refused": "an address that the guard forbids",
        "outcome/port_refused": "a port of another service",
        "outcome/tunnel_refused": "forbidden by the proxy",
    },
    "Failures on our side, charged to no host": {
        "outcome/untried": "not tried",
        "outcome/no_socket": "no descriptor, port or memory for a socket",
        "outcome/no_name_server": "no name server answered",
        "outcome/no_family": "only addresses of a family that does not work here",
        "outcome/no_network": "our network was down",
        "outcome/not_running": "our process did not run during the request",
        "outcome/proxy": "the proxy failed",
    },
    "Bugs": {"outcome/unexpected": "unexpected errors: see logs/errors.log"},
}
KINDS = ("outcome/", "flaw/", "truncated/")


def status(code: int) -> str:
    if code in STATUSES:
        return STATUSES[code]
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return "not a registered status"


def failure(code: int) -> str:
    """Return how the last request to a host that may be requested again has failed.

    A host's record has HOST_RETIRED for all answers that report an error: its URLs would end so.
    """
    return "answers 408, 429 or 5xx" if code == Status.HOST_RETIRED else status(code)


# -- what was left out

FILTERED = "refused/"  # before the name of a URL filter, or of a reason for which a link is no URL
DROPPED = "frontier/dropped/"  # before a Status
# after FILTERED, and in skipped.log: the target of a redirect that is one too many in a row
TOO_MANY_REDIRECTS = "redirects"


class Stage(StrEnum):
    """When something is left out, in the words of the report."""

    FILTER = "a URL filter"
    TURN = "when its turn came"
    READING = "reading the page"
    COPY = "reading a copy"
    KEEPING = "keeping the page"
    ARCHIVE = "reading the archive"


NOUNS = {  # a page's link counts on every page that has it, a queued URL once
    Stage.FILTER: "link",
    Stage.TURN: "URL",
    Stage.READING: "link",
    Stage.COPY: "page",
    Stage.KEEPING: "page",
    Stage.ARCHIVE: "answer",
}


class SkipRule(NamedTuple):
    """A rule by which links or URLs are left out."""

    words: str
    stage: Stage
    # every crawl leaves such links out, or its operator has asked for just that
    is_expected: bool = False


class LeftOut(NamedTuple):
    """A rule, and how many links or URLs it left out."""

    number: int
    rule: SkipRule


INVALID = SkipRule("not valid URLs", Stage.FILTER)
RULES = {
    f"{FILTERED}scheme": SkipRule(
        "schemes that URL_SCHEMES does not list", Stage.FILTER, is_expected=True
    ),
    f"{FILTERED}scope": SkipRule("outside the scope", Stage.FILTER, is_expected=True),
    f"{DROPPED}{Status.OUT_OF_SCOPE}": SkipRule("outside the scope", Stage.TURN, is_expected=True),
    f"{FILTERED}syntax": INVALID,
    f"{FILTERED}host": INVALID,
    f"{FILTERED}encoding": INVALID,
    f"{FILTERED}length": SkipRule("URL_MAX_LENGTH", Stage.FILTER),
    f"{FILTERED}depth": SkipRule("URL_MAX_DEPTH", Stage.FILTER),
    f"{FILTERED}{TOO_MANY_REDIRECTS}": SkipRule("REDIRECT_MAX_HOPS", Stage.READING),
    f"{FILTERED}port": SkipRule("ports that PORTS_ALLOWED does not open", Stage.FILTER),
    f"{FILTERED}extension": SkipRule("URL_EXCLUDE_EXTENSIONS", Stage.FILTER),
    f"{FILTERED}expression": SkipRule("URL_INCLUDE and URL_EXCLUDE", Stage.FILTER),
    f"{FILTERED}excluded": SkipRule("URL_EXCLUDE_FILE and opt-outs", Stage.FILTER),
    f"{FILTERED}commanded": SkipRule("excluded by command", Stage.FILTER),
    f"{FILTERED}logout": SkipRule("logout: links that may end a login of AUTH_FILE", Stage.FILTER),
    f"{FILTERED}known_path": SkipRule(
        "known_path: logins, forms, other views of the same pages", Stage.FILTER
    ),
    f"{FILTERED}trap_calendar": SkipRule(
        "trap_calendar: more than TRAP_MAX_PAGES of an endless calendar", Stage.FILTER
    ),
    f"{FILTERED}trap_family": SkipRule(
        "trap_family: more than TRAP_MAX_PAGES of an endless family", Stage.FILTER
    ),
    f"{FILTERED}trap_growth": SkipRule("trap_growth: paths that keep growing", Stage.FILTER),
    f"{FILTERED}trap_repeats": SkipRule("trap_repeats: repeated path segments", Stage.FILTER),
    f"{DROPPED}{Status.ROBOTS_FORBIDDEN}": SkipRule("forbidden by robots.txt", Stage.TURN),
    f"{DROPPED}{Status.EXCLUDED}": SkipRule(
        "excluded after they were queued, or at addresses that are not allowed", Stage.TURN
    ),
    f"{DROPPED}{Status.DROPPED}": SkipRule("dropped with their hosts by command", Stage.TURN),
    f"{DROPPED}{Status.HOST_BUDGET}": SkipRule(
        "HOST_MAX_PAGES, or more than a host's sitemaps may bring", Stage.TURN
    ),
    f"{DROPPED}{Status.REFUSED}": SkipRule("a class of FEATURES", Stage.TURN),
    "links/cut": SkipRule("too many links, or bytes of links, on a page", Stage.READING),
    "copies/elsewhere": SkipRule(
        "the links of copies of another host's pages: CONTENT_SEEN", Stage.COPY
    ),
    "copies/nested": SkipRule("the links of copies in ever more folders: CONTENT_SEEN", Stage.COPY),
    "withheld": SkipRule("their bodies: their owners forbid the crawl's PURPOSE", Stage.KEEPING),
    "sitemaps/cut": SkipRule("sitemaps with more than their hosts may bring", Stage.READING),
    "archive/repeats": SkipRule("URLs that were fetched again later", Stage.ARCHIVE),
    "archive/others": SkipRule("URLs of other kinds", Stage.ARCHIVE),
    "archive/forgotten": SkipRule("sites that asked to be forgotten", Stage.ARCHIVE),
}
# failed, or lost
UNANSWERED = frozenset(f"{DROPPED}{status:d}" for status in (*FAILURES, Status.NO_METHOD))


def left_out(figures: Mapping[str, Any]) -> list[LeftOut]:
    """Return the rules by which anything was left out over all runs, with numbers, the largest
    first.

    `figures` are those of stats.json. Counters of the same rule are added.
    """
    # Several counters may have one rule
    numbers: dict[SkipRule, int] = {}
    for counter, number in figures.items():
        rule = _rule_of(counter)
        if rule is not None and number:
            numbers[rule] = numbers.get(rule, 0) + int(number)
    rules = [LeftOut(number, rule) for rule, number in numbers.items()]
    return sorted(rules, key=lambda left_out: (-left_out.number, left_out.rule.words))


def in_words(figures: Mapping[str, Any]) -> str:
    """Return what a user may not expect to be left out, as a list in words.

    Empty if there is nothing.
    """
    unexpected = [found for found in left_out(figures) if not found.rule.is_expected]
    return ", ".join(
        f"{count(number, NOUNS[rule.stage])} ({rule.words})" for number, rule in unexpected
    )


def _rule_of(counter: str) -> SkipRule | None:
    """Return the rule by which a counter's links or URLs were left out; None for any other counter.

    What RULES does not list, such as a filter of the user's own, gets a rule with its name.
    """
    if rule := RULES.get(counter):
        return rule
    if counter.startswith(FILTERED):
        return SkipRule(f"the filter {counter.removeprefix(FILTERED)}", Stage.FILTER)
    if counter.startswith(DROPPED) and counter not in UNANSWERED:
        return SkipRule(f"status {counter.removeprefix(DROPPED)}", Stage.TURN)
    return None


# Names of counters in checkpoints of earlier versions, and what they are called now
RENAMED_COUNTERS = {
    "bound/aside": "bound/deferred",
    "hosts behind walls": "hosts blocked",
    "walls opened": "hosts unblocked",
    "hosts set aside": "hosts deferred",
}


def by_present_names(counters: Mapping[str, int]) -> Counter[str]:
    """Return the counters of a checkpoint by the names that this version has for them."""
    found = Counter[str]()
    for name, number in counters.items():
        found[RENAMED_COUNTERS.get(name, name)] += number
    return found
