"""The report of a drone with each heartbeat, for the queen and for those who watch (queen.py, hive_folder.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

import msgpack
import msgspec

from webcrawl.crawl.hive.errors import ILLEGIBLE, ForeignMessage

LARGEST = 1 << 18  # bytes of a packed report; one of a long crawl has about 4,000
LONGEST = 500  # characters of a text: what is in trouble may quote anything
REFUSALS = 16  # that are told: those of a few beats, for whoever waits for one looks more often


class State(StrEnum):
    """The states of a drone."""

    RUNNING = "running"
    PAUSED = "paused"  # hands out nothing, on command
    STOPPING = "stopping"  # ends its run; its state says what is left
    DRAINING = "draining"  # is no member any more, and gives away what it has
    RETIRED = "retired"  # has given away all, and others have it in their checkpoints


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A drone as it sees itself at the moment when this is packed.

    The queen relies on two promises. `beat` counts the heartbeats of this run that the server has answered, not those
    that were made: one that got no answer may arrive at any time. And `activity` differs between two reports of a run
    if anything was done in between.
    """

    drone: int
    identity: str  # of its state: another folder under the same number is another drone
    run: int  # how often this state was opened; `beat` and `activity` begin anew with each
    beat: int
    generation: int  # of the map that it works by
    state: State = State.RUNNING
    applied: int = 0  # number of the last command that it has carried out, as its last checkpoint knows too
    refusals: tuple[tuple[int, str], ...] = ()  # numbers of the last ones that it could not carry out, and why
    idle: bool = False  # nothing to fetch, to decide, to read or to write, and no seeds left
    rests: bool = False  # nothing to do but to try hosts set aside, and that for long enough
    saved: bool = False  # its last checkpoint has all of its activity: killed now, it comes back as it is
    moving: tuple[int, ...] = ()  # drones with which it has slots to exchange still
    activity: int = 0  # grows with each letter sent and handled, each page handed out and booked
    unacknowledged: int = 0  # letters, and collections that are none yet, which no checkpoint of a receiver has
    stays: str = ""  # why none of its slots can leave, if that is so
    towards: tuple[int, ...] = ()  # drones for which it has these
    kept: tuple[int, ...] = ()  # drones for which its last checkpoint has letters: a kill would bring these back
    seconds: float = 0.0  # of this run
    lease: float = 0.0  # seconds for which this sign of life holds
    jobdir: str = ""
    host: str = ""  # name of its machine
    pid: int = 0
    trouble: str = ""  # why it fetches nothing, in a few words
    figures: Mapping[str, Any] = field(default_factory=dict)  # numbers: Crawl.stats()

    @property
    def settled(self) -> bool:
        """True if its slots are those that the map gives it."""
        return not self.moving

    @property
    def quiet(self) -> bool:
        """True if nothing is left to do for it, as its last checkpoint knows too."""
        return self.idle and self.saved and self.settled and not self.unacknowledged and self.state in AT_WORK

    def refusal(self, number: int) -> str:
        """The reason why this command was not carried out; nothing if it was."""
        if len(self.refusals) >= REFUSALS and number < self.refusals[0][0]:
            return "more were refused since than it tells of: whether this one was is not known"
        return dict(self.refusals).get(number, "")

    def stats(self) -> dict[str, Any]:
        """Its figures as `figures.merged` takes them."""
        return {
            **self.figures,
            **{name: getattr(self, name) for name in ("drone", "seconds", "jobdir", "host", "trouble")},
            "state": str(self.state),
        }

    def pack(self) -> bytes:
        values = asdict(self)
        values["state"] = str(self.state)
        values["trouble"], values["stays"] = self.trouble[:LONGEST], self.stays[:LONGEST]
        values["refusals"] = [(number, why[:LONGEST]) for number, why in self.refusals[-REFUSALS:]]
        return bytes(msgpack.packb(values))

    @classmethod
    def unpack(cls, data: bytes) -> Report:
        """The inverse of `pack`; what a later version has added is left out."""
        try:
            if len(data) > LARGEST:
                raise ValueError(f"{len(data)} bytes")
            report = msgspec.msgpack.decode(data, type=cls)
        except ILLEGIBLE as error:
            raise ForeignMessage(f"a drone's report cannot be read: {error!r}") from error
        figures = {name: value for name, value in report.figures.items() if type(value) in (int, float)}
        return replace(report, figures=figures)


AT_WORK = frozenset((State.RUNNING, State.DRAINING, State.RETIRED))
