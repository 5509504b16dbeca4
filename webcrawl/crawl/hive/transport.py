"""The calls that drones and operators make of the hive's server, and what they return.

redis_server/ makes them of a Redis or Valkey server. Another kind of server needs another class with
these calls, which adapter/server_settings.py chooses; tests/crawl/hive/test_transport.py tries it.
Who belongs to a hive is decided without a server (`enter_registry` in registry.py).

Every call may raise Away or Full, which pass, and HiveError, which does not. If the streams have
begun anew, it raises NewEpoch until `follow` says that the caller has begun anew, too. A place in a
stream is text that the transport makes, and by which `place_number` in batch.py compares places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.crawl.hive.registry import Command, Member, Registry

# Bytes of batches on their way that the server holds. Batches stay there until a checkpoint of
# their reader has them: 6 MiB per drone hold 60 s at full speed. Further batches wait on the
# senders' disks, and nothing is lost.
MIN_STREAM_BYTES = 64 << 20
DRONE_STREAM_BYTES = 6 << 20


def stream_memory(drones: int) -> int:
    """Return the bytes that the streams of so many drones may have together."""
    return max(MIN_STREAM_BYTES, drones * DRONE_STREAM_BYTES)


@dataclass(frozen=True, slots=True)
class Beat:
    """The news that a drone gets once a second."""

    map: bytes | None  # packed; None: the one that the drone knows
    # By drones for which this has changed: the place up to which its checkpoint has its stream
    acks: Mapping[int, str]
    members: Mapping[int, str]  # all drones and the ids of their states
    hungry: frozenset[int]  # drones that have nothing to do
    alive: frozenset[int]  # drones that hold a lease; only for the coordinator
    coordinator: int
    commands: Sequence[Command]  # that the drone does not know
    reports: Mapping[int, bytes]  # packed; only for the coordinator
    all_rest: bool  # no drone has anything left but deferred hosts


@dataclass(frozen=True, slots=True)
class ServerView:
    """What the server knows at one moment."""

    registry: Registry
    reports: Mapping[int, bytes]  # packed
    leases: Mapping[int, float]  # seconds left, of drones that are alive
    coordinator: int | None
    bytes: int  # of all streams


class Transport(Protocol):
    """The server as one drone sees it, or an operator, who makes no call that needs a member."""

    member: Member | None  # the drone with what it knows of the hive; None before it has joined

    @property
    def filling(self) -> bool:
        """Return whether the streams have more than half of what they may."""

    async def open(self) -> None:
        """Connect, and make sure that this server can carry a hive; `join` begins with that."""

    async def join(self, member: Member, *, lease: float = 30.0) -> Member:
        """Enter the registry, founding it if need be, follow its epoch, and return what is known.

        A drone whose state was alive on another machine less than `lease` seconds ago waits. Raise
        HiveError if the drone does not belong to the hive, or is still alive there after the wait.
        """

    def follow(self, epoch: str) -> None:
        """Note that the caller has begun anew, as NewEpoch said."""

    async def close(self) -> None:
        """Give up the leases, if the server is there, and the connections."""

    async def beat(
        self,
        report: bytes,
        *,
        lease: float,
        generation: int = 0,
        after: int = 0,
        hungry: bool = False,
    ) -> Beat:
        """Give a sign of life, and return the news.

        `generation`: of the map that the drone knows; `after`: the last command that it knows;
        `hungry`: whether it has nothing to do, so that others do not let it wait for their batches.
        """

    async def send(self, drone: int, batches: Sequence[bytes]) -> list[str]:
        """Put batches into a drone's stream, all or none of them, and return their places."""

    async def read(self, after: str, most: int, wait: float) -> list[tuple[str, bytes]]:
        """Return up to `most` batches behind a place, in order; wait up to `wait` s for the first.

        An entry without a batch, which another program has put there, is returned as an empty one.
        """

    async def acknowledge(self, place: str) -> None:
        """Let the server forget all batches up to `place`, which the drone's checkpoint has."""

    async def command(self, name: str, *args: Any) -> int:
        """Give a command to all drones, and return its number; `args` are what msgpack takes."""

    async def publish_map(self, slots: SlotMap) -> bool:
        """Replace the map of all by a later one; return False if the server has as late a one."""

    async def give_up(self, drone: int) -> None:
        """Keep the state of a lost drone from coming back."""

    async def forget(self, drone: int) -> None:
        """Remove a drone from the registry, to which nothing is sent any more; free its number.

        Take over the seeds that it had taken, and that no checkpoint of it had.
        """

    async def let_rest(self) -> None:
        """Tell all drones for some seconds that none has anything left but deferred hosts."""

    async def read_server(self) -> ServerView:
        """Return what the server knows, without joining or founding anything."""
