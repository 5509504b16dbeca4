"""How far a host's announcements of changes are right, learned from what is found."""

from __future__ import annotations

import struct
from dataclasses import dataclass

LAYOUT = struct.Struct("<4f")
FADE = 0.98  # what is known loses so much of its weight with each thing that is learned
PRIOR = 1.0  # signals, true and false, that a host is given before anything is known


@dataclass(slots=True)
class Trust:
    """Counts that fade, so that a host that changes its ways is known by the new ones."""

    true: float = 0.0  # signals after which the page was changed
    false: float = 0.0
    announced: float = 0.0  # changes that a signal told of
    unannounced: float = 0.0

    @property
    def tried(self) -> float:
        return self.true + self.false

    @property
    def precision(self) -> float:
        """The share of its signals that are true."""
        return (self.true + PRIOR) / (self.tried + 2 * PRIOR)

    @property
    def recall(self) -> float:
        """The share of its changes that it announces; none until there is a reason to believe it."""
        return self.announced / (self.announced + self.unannounced + 2 * PRIOR)

    @property
    def missed(self) -> float:
        """The share of changes that no signal announces."""
        return 1.0 - self.recall

    def signalled(self, *, changed: bool) -> None:
        """A page was fetched because of a signal."""
        self.true, self.false = FADE * self.true + changed, FADE * self.false + (not changed)
        if changed:
            self.announced, self.unannounced = FADE * self.announced + 1.0, FADE * self.unannounced

    def found(self) -> None:
        """A page that listings name was changed, and no signal had told of it."""
        self.announced, self.unannounced = FADE * self.announced, FADE * self.unannounced + 1.0

    def pack(self) -> bytes:
        return LAYOUT.pack(self.true, self.false, self.announced, self.unannounced)

    @classmethod
    def unpack(cls, data: bytes) -> Trust:
        return cls(*LAYOUT.unpack(data))
