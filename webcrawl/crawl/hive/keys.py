"""The names of all keys of a hive in the server, and of places in its streams; nothing else knows them.

In a sharded server the keys of the registry lie on one shard, and each drone's stream on any: `{…}` is what decides.
"""

from __future__ import annotations

BEGINNING = "0-0"  # before the first entry


class Keys:
    """The keys of the hive of this name."""

    def __init__(self, name: str) -> None:
        self._name = name
        registry = f"webcrawl:{{{name}}}:"
        self.epoch = registry + "epoch"  # "<run_id of the server>:<random>"
        self.hive = registry + "hive"  # what all drones share (drone_registry.Record)
        self.map = registry + "map"  # generation, slots
        self.drones = registry + "drones"  # drone: who it is (drone_registry.Member.identity)
        self.gone = registry + "gone"  # ids of states that are not to come back
        self.queen = registry + "queen"  # drone
        self.reports = registry + "reports"  # drone: what it said last
        self.commands = registry + "commands"  # by their numbers
        self.rest = registry + "rest"  # there while no drone has anything left but hosts set aside
        self.bytes = registry + "bytes"  # of all streams
        self.leases = registry + "lease:"  # and the drone: its state's id
        self._acks = registry + "acks:"
        self._streams = registry + "streams:"
        self._taken = registry + "taken:"

    def stream(self, drone: int, epoch: str) -> str:
        """The letters for a drone."""
        return f"webcrawl:{{{self._name}:{drone}}}:{epoch}"

    def acks(self, epoch: str) -> str:
        """For each drone the place up to which its checkpoint has its stream."""
        return self._acks + epoch

    def streams(self, epoch: str) -> str:
        """The streams of this epoch, by their keys: one that is missing was lost."""
        return self._streams + epoch

    def taken(self, crawl: int | str) -> str:
        """Seeds from a list of the user's that no checkpoint has yet, of a drone, or of a crawl of its own."""
        return f"{self._taken}{crawl}"


def place_in(data: bytes) -> str:
    """A place as the server keeps it; ValueError if it is none."""
    place = data.decode()
    order(place)
    return place


def order(place: str) -> int:
    """A number by which places compare."""
    milliseconds, _, sequence = place.partition("-")
    return int(milliseconds) << 64 | int(sequence)
