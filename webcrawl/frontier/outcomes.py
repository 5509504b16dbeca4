"""What each outcome means for its URL and its host, as a table."""

from __future__ import annotations

from dataclasses import dataclass

from webcrawl.model import Status


@dataclass(frozen=True, slots=True)
class Rule:
    """`again`: retry the URL. `failed`: the host as a whole failed, and waits longer each time."""

    again: bool
    failed: bool


FINAL = Rule(again=False, failed=False)
URL_LATER = Rule(again=True, failed=False)
HOST_LATER = Rule(again=True, failed=True)

RULES: dict[int, Rule] = {
    Status.DNS_FAILED: HOST_LATER,
    Status.CONNECT_FAILED: HOST_LATER,
    Status.CONNECTION_LOST: HOST_LATER,
    Status.TIMEOUT: HOST_LATER,
    408: URL_LATER,
    429: HOST_LATER,  # RFC 6585: too many requests by the client, whatever the URL
    **dict.fromkeys(range(500, 600), URL_LATER),
    503: HOST_LATER,  # RFC 9110 15.6.4: the server is overloaded or in maintenance
}


def rule(status: int) -> Rule:
    return RULES.get(status, FINAL)
