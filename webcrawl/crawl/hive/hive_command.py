"""A command to all drones, as it stands in the server."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgpack

from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.commands import checked

MOST_COMMANDS = 10_000  # commands that the server keeps, and each drone for a server that loses them

# Those among the drones themselves; what else a crawl can be ordered is in crawl/control/commands.py.
RESIZE = "resize"  # its arguments: the drones that shall share the web; those of them whose state is gone for good
OVER = "over"  # the crawl of all has ended
RELEASE = "release"  # these drones have given away all that they had, and may go


@dataclass(frozen=True, slots=True)
class Command:
    """Later ones have higher numbers."""

    number: int
    name: str
    args: tuple[Any, ...]

    @property
    def lasts(self) -> bool:
        """True if drones that come later have to hear it, too."""
        if self.name in (RESIZE, OVER, RELEASE):
            return self.name == RESIZE
        try:
            return checked(self.name, *self.args).lasts(*self.args)
        except CommandError:
            return False

    def pack(self) -> bytes:
        return b"%d %s" % (self.number, msgpack.packb((self.name, self.args)))

    @classmethod
    def unpack(cls, data: bytes) -> Command:
        """The inverse of `pack`."""
        number, _, rest = data.partition(b" ")
        name, args = msgpack.unpackb(rest)
        return cls(int(number), name, tuple(args))


def in_force(known: Iterable[Command], heard: Iterable[Command]) -> tuple[Command, ...]:
    """Those that last, in the order in which they were given."""
    lasting = {command.number: command for command in (*known, *heard) if command.lasts}
    return tuple(lasting[number] for number in sorted(lasting)[-MOST_COMMANDS:])


def wanted_by(commands: Iterable[Command]) -> frozenset[int]:
    """The drones that shall share the web by the last command that says so; none if there is no such command."""
    wanted: frozenset[int] = frozenset()
    for command in commands:
        if command.name == RESIZE:
            wanted = frozenset(command.args[0])
    return wanted
