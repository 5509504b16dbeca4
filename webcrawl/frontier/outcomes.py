"""What each outcome means for its URL and its host, as a table (docs/frontier.md)."""

from __future__ import annotations

from dataclasses import dataclass

from webcrawl.model import Link, Outcome, Status


@dataclass(frozen=True, slots=True)
class Rule:
    """`again`: the URL comes again. `failed`: the host as a whole may have failed, and waits longer each time.

    `charged`: one of the URL's attempts is used up.
    """

    again: bool
    failed: bool
    charged: bool = True


FINAL = Rule(again=False, failed=False)
URL = Rule(again=True, failed=False)
HOST = Rule(again=True, failed=True, charged=False)
EITHER = Rule(again=True, failed=True)  # the URL's, or the host's: HealthRules.is_charged

RULES: dict[int, Rule] = {
    Status.DNS_FAILED: HOST,
    Status.CONNECT_FAILED: HOST,
    Status.CONNECTION_LOST: EITHER,
    Status.TIMEOUT: EITHER,
    408: URL,
    429: HOST,  # RFC 6585: too many requests by the client, whatever the URL
    **dict.fromkeys(range(500, 600), URL),
    503: HOST,  # RFC 9110 15.6.4: the server is overloaded or in maintenance
}


def rule(outcome: Outcome) -> Rule:
    """A certificate that is not accepted will not be in a minute either, and is no fault of the host's other URLs."""
    if outcome.permanent and outcome.status == Status.CONNECT_FAILED:
        return FINAL
    return RULES.get(outcome.status, FINAL)


def has_failed(link: Link, outcome: Outcome) -> bool:
    """Whether this counts as a failure of the link's host.

    A robots.txt that cannot be read does, whatever the reason: all URLs of its host wait for it (RFC 9309 2.3.1.4).
    """
    if outcome.answered:
        return False
    return rule(outcome).failed or (link.path.endswith("P") and (outcome.status >= 500 or outcome.permanent))
