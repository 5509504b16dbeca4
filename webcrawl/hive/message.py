"""What drones tell each other, and the kinds of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Kind(IntEnum):
    """What the items of a message are; the numbers are on the wire and in spools."""

    LINKS = 1  # packed links (model.Link.pack): through the owner's seen store
    VOTES = 2  # [registered domain of a page, URL that it links to]
    REQUESTS = 3  # [record, variant, free]: requests of a spider; free: without the seen test
    QUEUED = 4  # packed links that are known to be new: to the owner's frontier
    ROBOTS = 5  # [record, status, body, location, chain]: the answer to a robots.txt that was asked for another drone
    SLOT = 6  # pieces of a slot that changes hands (moving.py)


EXACT = frozenset((Kind.REQUESTS, Kind.QUEUED, Kind.SLOT))
"""What must be received exactly once. Of all else a second copy does no harm: the seen store decides."""


@dataclass(frozen=True, slots=True)
class Message:
    """A batch of items for one drone."""

    kind: Kind
    sender: int
    generation: int  # of the sender's slot map
    number: int  # of an exact message: they ascend from 1 for each sender and receiver; 0 for others
    items: list[Any]
    channel: int = 0  # of an exact message: another one where the numbers begin anew, after a drone was lost
