"""What the status of a robots.txt request means (RFC 9309 2.3.1), as a table."""

from __future__ import annotations

from enum import Enum

from webcrawl.model import REDIRECTS

MAX_HOPS = 5  # RFC 9309 2.3.1.2: follow at least five redirects in a row, also to other hosts


class Meaning(Enum):
    """What it means for the host's URLs."""

    READ = "the body says what is allowed"
    OPEN = "everything is allowed"
    SAME = "the rules known before are right"  # 304 to a request with a condition
    SHUT = "unreachable: rules known before stay in force, without any nothing is allowed"


TOO_MANY = 429  # RFC 6585: says nothing about the file, only that we ask too often
# By hundreds of the HTTP status. A 3xx counts only as a last hop: too many hops, or no valid Location.
MEANINGS = {2: Meaning.READ, 3: Meaning.OPEN, 4: Meaning.OPEN, 5: Meaning.SHUT}


def meaning(status: int) -> Meaning:
    """For an HTTP status or a model.Status; a failure (no address, refused, timeout) shuts."""
    return MEANINGS.get(status // 100, Meaning.SHUT) if status != TOO_MANY else Meaning.SHUT


def follows(status: int, hops: int) -> bool:
    """Whether to follow this response's Location after so many hops."""
    return status in REDIRECTS and hops < MAX_HOPS
