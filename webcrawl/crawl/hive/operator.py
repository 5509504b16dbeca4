"""An operator's view of the server, without being a drone: to see all and give commands.

It joins nothing and begins nothing: where there is no hive, it says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from webcrawl.crawl.hive.coordinator import DroneState, Report, find_unsettled
from webcrawl.crawl.hive.errors import AnotherHive, ForeignMessage, translate_unpack_errors
from webcrawl.crawl.hive.partition import SlotMap, WantedMembers
from webcrawl.crawl.hive.registry import (
    RESIZE,
    DronePlace,
    first_place,
    host_and_pid,
    orders_in,
    state_id_of,
)
from webcrawl.crawl.hive.transport import ServerView, Transport


@dataclass(frozen=True, slots=True)
class HiveView:
    """A hive at one moment, as its server or the checkpoints in its folder describe it."""

    map: SlotMap | None = None
    # of each drone: its host and process
    places: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    reports: Mapping[int, Report] = field(default_factory=dict)
    # seconds left, of drones that are alive
    leases: Mapping[int, float] = field(default_factory=dict)
    key: bytes = b""  # of the hive; empty if it is not known here
    partition: str = ""  # Partition.essence; empty if it is not known here
    founders: int = 0  # how many drones the hive was founded with; 0: it is not known here
    coordinator: int | None = None
    bytes: int = 0  # of all streams
    # which drones shall be members, by each order that is in force, the last one at the end
    orders: tuple[WantedMembers, ...] = ()
    states: frozenset[str] = frozenset()  # the ids of all drones' states
    fresh: bool = False  # the hive's founder had no state

    @property
    def gives_way(self) -> bool:
        """Return whether a hive that is being founded gives way to an older one.

        It does to the first drone that comes and has the state of an older hive.
        """
        return self.fresh and len(self.states) < self.founders

    @property
    def order(self) -> WantedMembers | None:
        """Return the order that is in force, or None if the hive is as it was founded."""
        return self.orders[-1] if self.orders else None

    @property
    def sharing(self) -> frozenset[int]:
        """Return the drones that shall have the slots: by the order, or else by the map."""
        if self.order is not None:
            return self.order.sharing
        return frozenset(self.map.drones) if self.map is not None else frozenset()

    @property
    def is_changing(self) -> bool:
        """Return whether the order in force has not been carried out."""
        if self.order is None or self.map is None:
            return False
        lost = self.order.lost
        has_other_members = self.order.sharing != {*self.map.drones}
        is_left = not lost.issuperset(self.map.leaving)
        are_moving = any(
            not lost.issuperset(report.moving)
            for drone, report in self.reports.items()
            if drone not in lost
        )
        return has_other_members or is_left or are_moving

    def behind(self, command: int) -> list[int]:
        """Return the drones that are alive, and have not said that a checkpoint has this command."""
        return [
            drone
            for drone in sorted(self.leases)
            if drone not in self.reports or self.reports[drone].applied < command
        ]

    @property
    def drones(self) -> list[int]:
        members = self.map.drones if self.map else ()
        return sorted({*members, *self.places, *self.reports})


class Operator:
    """Reads what a hive's server knows, and gives orders. Every method may raise Away or HiveError."""

    def __init__(
        self,
        transport: Transport,
        name: str,
        is_meant: Callable[[HiveView], bool] = lambda _: True,
    ) -> None:
        """`is_meant` tells the hive from another one of its name.

        Without it the operator means the hive that the server knows.
        """
        self._name = name
        self._is_meant = is_meant
        self._accepted_key = b""  # of the hive that was found to be meant
        self.command = transport.command
        self.aclose = transport.close
        self._read_server = transport.read_server

    async def read_hive(self) -> HiveView:
        """Return what the server knows. Raise AnotherHive if that is of a hive that is not meant."""
        server = await self._read_server()
        with translate_unpack_errors():
            hive = _hive_view(server)
        if hive.key and hive.key != self._accepted_key:
            if not self._is_meant(hive):
                places = (
                    DronePlace(drone, report.jobdir, report.host)
                    for drone, report in hive.reports.items()
                )
                raise AnotherHive(self._name, first_place(places), gives_way=hive.gives_way)
            self._accepted_key = hive.key
        return hive

    async def resize(self, members: Collection[int], lost: Collection[int] = ()) -> int:
        """Order that these drones have all slots from now on; return the command's number.

        The coordinator does the rest. A server that is killed at once loses the order: it is safe when a
        drone that stays has said that its checkpoint has it (`Report.applied`).
        """
        return await self.command(RESIZE, sorted(members), sorted(lost))


def _hive_view(server: ServerView) -> HiveView:
    """Return what the server knows, without the reports that cannot be read."""
    registry = server.registry
    record = registry.record
    return HiveView(
        map=registry.map,
        places={drone: host_and_pid(identity) for drone, identity in registry.drones.items()},
        states=frozenset(map(state_id_of, registry.drones.values())),
        reports=_readable_reports(server.reports),
        leases=server.leases,
        key=record.key if record else b"",
        partition=record.partition if record else "",
        founders=record.drones if record else 0,
        fresh=record is not None and record.fresh,
        coordinator=server.coordinator,
        bytes=server.bytes,
        orders=orders_in(registry.commands),
    )


def _readable_reports(packed: Mapping[int, bytes]) -> dict[int, Report]:
    """Return the reports that can be read: a drone of another version is shown without its figures."""
    reports: dict[int, Report] = {}
    for drone, data in packed.items():
        try:
            reports[drone] = Report.unpack(data)
        except ForeignMessage:
            continue
    return reports


def waits_for(view: HiveView, members: Collection[int], lost: Collection[int] = ()) -> str:
    """Return what a change to these members waits for; nothing once all slots are where they belong."""
    slots = view.map
    if slots is None:
        return "the new map"
    drones = ({*members} | view.leases.keys()).difference(lost)
    unsettled = find_unsettled(view.reports, view.leases, slots, drones, lost)
    if unsettled:
        return unsettled
    if {*slots.drones} != {*members}:
        return "the new map"
    for drone in sorted(drones.difference(members)):
        if view.reports[drone].state != DroneState.RETIRED:
            return f"drone {drone}, which is handing over its hosts"
    # A kill of all drones would bring back one that the map still has.
    leaving = {*slots.leaving}.difference(lost)
    return f"drone {min(leaving)}, which is leaving the hive" if leaving else ""
