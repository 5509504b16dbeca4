"""What the answer to a request for /robots.txt means (RFC 9309 2.3.1), as a table."""

from __future__ import annotations

from enum import Enum

MAX_HOPS = 5  # RFC 9309 2.3.1.2: at least five redirects in a row are followed, to other hosts too
REDIRECTS = frozenset({301, 302, 303, 307, 308})


class Meaning(Enum):
    """What becomes of the host's URLs."""

    READ = "the body says what is allowed"
    OPEN = "everything is allowed"
    SHUT = "nothing is allowed, ask again later"


# By hundreds of the HTTP status. A 3xx is here when it led nowhere: too many hops, or no place to go.
MEANINGS = {2: Meaning.READ, 3: Meaning.OPEN, 4: Meaning.OPEN, 5: Meaning.SHUT}


def meaning(status: int) -> Meaning:
    """For an HTTP status or one of model.Status; what is no answer (no address, refused, too late) shuts."""
    return MEANINGS.get(status // 100, Meaning.SHUT)


def follows(status: int, hops: int) -> bool:
    """Whether the Location of this answer is asked next, after so many hops."""
    return status in REDIRECTS and hops < MAX_HOPS
