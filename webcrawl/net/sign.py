"""What a failed download says of our own network."""

from __future__ import annotations

from enum import Enum


class Sign(Enum):
    """Of the error classes in errors.py, each of which has one."""

    NOTHING = "nothing: it never came to asking, or a name server knows that there is no such host"
    LIFE = "the network is well: something came back from the host"
    DOUBT = "either the host is away or our network is"
    NO_ROUTE = "this machine has no route to the host"


DOUBTFUL = frozenset((Sign.DOUBT, Sign.NO_ROUTE))
