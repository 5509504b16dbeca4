"""The meaning of each outcome for its URL and its host, as a table (docs/frontier-inside.md).

health.py is asked first about 408, 429, 5xx and lost connections: a failing host is charged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webcrawl.base.model import REDIRECTS, Link, Outcome, Status


@dataclass(frozen=True, slots=True)
class Rule:
    """The meaning of an outcome."""

    again: bool  # the URL comes again
    failed: bool  # the host as a whole may have failed, and waits longer each time
    charged: bool = True  # one of the URL's attempts is used up


FINAL = Rule(again=False, failed=False)
URL = Rule(again=True, failed=False)
HOST = Rule(again=True, failed=True, charged=False)
EITHER = Rule(again=True, failed=True)  # the URL's, or the host's: HealthRules.uses_up_attempt

ACCEPTED = 202
DOWN = (521, 522, 523, 525, 526, 530)  # a CDN says that it does not reach the host behind it

RULES: dict[int, Rule] = {
    # No URL gets through to a host without an address or a connection.
    Status.DNS_FAILED: HOST,
    Status.CONNECT_FAILED: HOST,
    Status.CONNECTION_LOST: EITHER,
    Status.TIMEOUT: EITHER,
    408: URL,
    429: HOST,  # RFC 6585: too many requests by the client, whatever the URL
    **dict.fromkeys(range(500, 600), URL),
    **dict.fromkeys(DOWN, HOST),
    503: HOST,  # RFC 9110 15.6.4: the server is overloaded or in maintenance
}


STALLED = "time"  # of Outcome.short
# attempts of a URL whose body is not whole in time: a host that always drips holds a slot no
# longer than that
STALLS = 2


def is_plain(outcome: Outcome) -> bool:
    """Return whether this is an answer like most: its URL is done, and its host is well."""
    status = outcome.status
    if not 0 < status < 500 or status in RULES:
        return False
    return not (
        outcome.wait or outcome.short or outcome.by_proxy or outcome.permanent or outcome.doubtful
    )


def rule(outcome: Outcome) -> Rule:
    """Return what an outcome means for its URL and its host."""
    # A name that leads inside says the same of all its URLs; an exclusion of one URL does not.
    leads_inside = outcome.status == Status.EXCLUDED and outcome.doubtful
    if leads_inside:
        return HOST
    # A certificate that is not accepted will not be in a minute either, and is no fault of the
    # host's other URLs.
    is_refused_certificate = outcome.status == Status.CONNECT_FAILED and outcome.permanent
    if is_refused_certificate:
        return FINAL
    # The page is not there yet, and the server says when to come again.
    is_put_off = outcome.status == ACCEPTED and outcome.wait > 0
    if is_put_off or outcome.by_proxy or is_truncated(outcome):
        return URL
    return RULES.get(outcome.status, FINAL)


def attempts(outcome: Outcome, usual: int, codes: frozenset[int] | None) -> int:
    """Return the number of attempts that a URL has if it ended so; 0: it does not come again.

    `usual` is RETRY_TIMES + 1, and `codes` are RETRY_HTTP_CODES.
    """
    if codes is None or outcome.status < 0 or outcome.short:
        comes_again = rule(outcome).again
    else:
        comes_again = outcome.status in codes
    if not comes_again:
        return 0
    if outcome.retries is not None:
        return outcome.retries + 1
    if outcome.short == STALLED:
        return min(usual, STALLS)
    return usual


def is_truncated(outcome: Outcome) -> bool:
    """Return whether this is an answer of which a part is missing, neither a failure nor whole."""
    return bool(outcome.short) and outcome.status > 0


def is_kept_short(link: Link, outcome: Outcome) -> bool:
    """Return whether this is the end of a page of which a part is missing.

    A robots.txt is no page, and is requested again.
    """
    return is_truncated(outcome) and not link.is_prerequisite


def has_failed(link: Link, outcome: Outcome) -> bool:
    """Return whether this counts as a failure of the link's host.

    A robots.txt that cannot be read does, whatever the reason: all URLs of its host wait for it
    (RFC 9309 2.3.1.4).
    """
    if outcome.answered:
        return False
    cannot_be_read = outcome.status >= 500 or outcome.permanent
    return rule(outcome).failed or (link.is_prerequisite and cannot_be_read)


def have_pages(outcomes: Mapping[int, int], hops: int) -> bool:
    """Return whether one of these outcomes is an answer, and not only the way to one.

    `outcomes`: how many there are of each status. `hops`: redirects in a row that are followed. If
    none are, as offline, they are answers like others.
    """
    ways = REDIRECTS if hops else ()
    for status, many in outcomes.items():
        is_answer = status > 0 and status not in ways
        if many and is_answer:
            return True
    return False
