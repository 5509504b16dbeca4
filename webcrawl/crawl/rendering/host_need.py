"""What rendering has shown of one host, and which of its pages are rendered because of that."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgpack

SURE = 4  # pages in a row that are the same without scripts; from then on not all are rendered
RARELY = 13  # so many in a row, and one in 1024 is


@dataclass(slots=True)
class Pace:
    """How often pages of one kind are rendered: all, and after some that were the same one in 2, in 4, up to 1024.

    One that is not the same begins anew.
    """

    same: int = 0  # in a row
    passed: int = 0  # pages since the last that was rendered

    @property
    def gap(self) -> int:
        """One page in so many is rendered."""
        return 1 if self.same < SURE else 2 << (self.same - SURE)

    def comes(self) -> bool:
        """Counts a page; True if it is to be rendered."""
        self.passed += 1
        return self.passed >= self.gap

    def rendered(self, *, same: bool) -> None:
        self.passed, self.same = 0, min(self.same + 1, RARELY) if same else 0


@dataclass(slots=True)
class Need:
    """One host that has sent a shell: its shells and its other pages, which may need scripts too."""

    shells: Pace = field(default_factory=Pace)
    others: Pace = field(default_factory=Pace)  # those without scripts do not count
    rendered: int = 0  # pages
    changed: int = 0  # of these, with more text or links than the server sent
    gained: int = 0  # characters of text
    milliseconds: int = 0  # of the browser's time

    def pace(self, *, is_shell: bool) -> Pace:
        return self.shells if is_shell else self.others

    @property
    def worth(self) -> float:
        """Characters that a millisecond of the browser's time has brought."""
        return self.gained / max(self.milliseconds, 1)

    def learn(self, gained: int, milliseconds: int, *, is_shell: bool, same: bool) -> None:
        """Takes what came of one page."""
        self.pace(is_shell=is_shell).rendered(same=same)
        self.rendered += 1
        self.changed += not same
        self.gained += gained
        self.milliseconds += milliseconds

    def told(self) -> str:
        """For an operator, in one line."""
        often = ", ".join(f"{_often(pace)} {name}" for name, pace in (("shells", self.shells), ("others", self.others)))
        found = f"{self.changed} of {self.rendered} had more text or links than the server sent"
        return f"{often}; {found}, in {self.milliseconds / 1000:.1f} s of the browser's time"

    def pack(self) -> bytes:
        paces = (self.shells.same, self.shells.passed, self.others.same, self.others.passed)
        return bytes(msgpack.packb((*paces, self.rendered, self.changed, self.gained, self.milliseconds)))

    @classmethod
    def unpack(cls, data: bytes) -> Need:
        """Raises ValueError if the data is no such value, or one of msgpack's errors."""
        shells, passed, others, gone, *counts = msgpack.unpackb(data)
        if not all(isinstance(one, int) and one >= 0 for one in (shells, passed, others, gone, *counts)):
            raise ValueError("not counts")
        return cls(Pace(shells, passed), Pace(others, gone), *counts)


def _often(pace: Pace) -> str:
    return "all" if pace.gap == 1 else f"one in {pace.gap} of the"
