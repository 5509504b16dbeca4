"""The faults of a hive, each in one line for its operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgpack

from webcrawl.base.program import program

MAX_NAMED_DRONES = 20  # in a line; of more only the first and the last are named
# Follows what is wrong with a drone that may have come to the wrong hive
ANOTHER_HIVE = "; if that is another hive, set HIVE_NAME"
# What is raised when bytes that no drone has packed are unpacked and read
UNPACK_ERRORS = (ValueError, TypeError, LookupError, AttributeError, msgpack.UnpackException)


class HiveError(Exception):
    """The drone cannot work in this hive, or not with these settings."""


class CannotRead(HiveError):  # noqa: N818 - reads as what it is
    """The system refuses a file or folder: for want of descriptors, perhaps, which may pass."""


@contextmanager
def translate_os_errors(file: Path) -> Iterator[None]:
    """Raise CannotRead for an OSError; it names the error's file, or this one if that has none."""
    try:
        yield
    except OSError as error:
        raise CannotRead(f"{error.filename or file}: {error.strerror or error}") from error


@contextmanager
def translate_unpack_errors() -> Iterator[None]:
    """Raise HiveError for data of the server that cannot be read: others may write to it, too."""
    try:
        yield
    except UNPACK_ERRORS as error:
        raise HiveError(
            f"the hive's data in the server cannot be read; another program may be writing to it: {error!r}"
        ) from error


class AnotherHive(HiveError):  # noqa: N818 - reads as what it is
    """The server knows another hive by this name, which an operator must not see or command."""

    def __init__(self, name: str, where: str, *, gives_way: bool = False) -> None:
        """`where` names one of its drones, in brackets, or is empty.

        `gives_way` is True if that hive is being founded, and gives way to the first drone of an
        older hive.
        """
        super().__init__(
            f"the server already has another hive named {name}{where}: set a different HIVE_NAME; a hive that has "
            "begun keeps its name, and needs another server or database in REDIS_URL"
        )
        self.gives_way = gives_way


class UnknownDrone(HiveError):  # noqa: N818 - reads as what it is
    """No slot map and no order names a drone of this number: it has to wait for one that does."""

    def __init__(self, drone: int, drones: Iterable[int]) -> None:
        """`drones`: the numbers that the hive has."""
        numbers = sorted(drones)
        named = ", ".join(map(str, numbers))
        if len(numbers) > MAX_NAMED_DRONES:
            named = f"{numbers[0]} to {numbers[-1]}"
        super().__init__(
            f"HIVE_DRONE = {drone}: the hive has the drones {named}; this one waits until "
            f"`{program()} hive resize URL -n {drone + 1}` lets it in{ANOTHER_HIVE}"
        )


class ForeignMessage(HiveError):  # noqa: N818 - reads as what it is
    """A message that came by a stream and is not of this hive, or is damaged."""


class LaterMapNeeded(Exception):  # noqa: N818
    """A batch was sent by a later slot map than this drone's, which has to learn that map first.

    Nothing was done with the batch.
    """


class Away(Exception):  # noqa: N818 - reads as what it is
    """The server does not answer now: the drone goes on with its hosts and tries again later."""

    state = "unreachable"


class Full(Away):
    """The server takes no more for now.

    Nothing of the batches was sent: they wait on the sender's disk.
    """

    state = "full"


class PartAway(Full):
    """The part of the server with one drone's stream does not answer; others may."""

    state = "partly unreachable"


class NewEpoch(Exception):  # noqa: N818
    """The streams begin anew: unacknowledged batches are sent again, and old places are void."""

    def __init__(self, epoch: str) -> None:
        super().__init__(f"the server's streams were started over (epoch {epoch})")
        self.epoch = epoch
