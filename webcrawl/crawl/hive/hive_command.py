"""A command to all drones, as it stands in the server."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgpack

from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.commands import checked

KEPT = 3_600_000  # milliseconds for which the server keeps what does not last, for drones that do not answer just now

# Those among the drones themselves; what else a crawl can be ordered is in crawl/control/commands.py.
RESIZE = "resize"  # its arguments: the drones that shall share the web; those of them whose state is gone for good
OVER = "over"  # the crawl of all has ended
RELEASE = "release"  # these drones have given away all that they had, and may go
AMONG_DRONES = (RESIZE, OVER, RELEASE)


@dataclass(frozen=True, slots=True)
class Command:
    """Later ones have higher numbers."""

    number: int
    name: str
    args: tuple[Any, ...]

    @property
    def lasts(self) -> bool:
        """True if drones that come later have to hear it, too."""
        if self.name in AMONG_DRONES:
            return self.name == RESIZE
        try:
            return checked(self.name, *self.args).lasts(*self.args)
        except CommandError:
            return False

    @classmethod
    def unpack(cls, data: bytes) -> Command:
        """Of what the server has: the number, and behind a blank the name and the arguments (scripts.COMMAND)."""
        number, _, rest = data.partition(b" ")
        name, args = msgpack.unpackb(rest)
        return cls(int(number), name, tuple(args))


def number_of(data: bytes) -> int:
    """The number of a packed command."""
    return int(data.partition(b" ")[0])


def in_force(known: Iterable[bytes], heard: Iterable[bytes]) -> tuple[bytes, ...]:
    """The known ones and those of the heard ones that last, packed, in the order in which they were given."""
    lasting = {*known, *(data for data in heard if Command.unpack(data).lasts)}
    return tuple(sorted(lasting, key=number_of))


def mark_of(name: str, args: tuple[Any, ...]) -> str:
    """A zero for commands that are forgotten after a while, see scripts.COMMAND: orders, such as `checkpoint`."""
    return "" if name in AMONG_DRONES or Command(0, name, args).lasts else "0"


def wanted_by(commands: Iterable[Command]) -> frozenset[int]:
    """The drones that shall share the web by the last command that says so; none if there is no such command."""
    wanted: frozenset[int] = frozenset()
    for command in commands:
        if command.name == RESIZE:
            wanted = frozenset(command.args[0])
    return wanted
