"""Drones as an operator sees them: they join a hive in a real server, say how they are, and carry
out commands.
"""

import asyncio
from contextlib import suppress
from threading import Event, Thread

from tests.support.redis_server import LEASE, member, transport
from webcrawl.crawl.hive.coordinator import DroneState, Report
from webcrawl.crawl.hive.registry import RESIZE

PAUSE = 0.02  # seconds between two signs of life


class Members:
    """Drones that live in a thread while the context lasts.

    `deaf` ones carry out nothing. `coordinator` says what becomes of an order: "quick" publishes its map
    at once, "leaving" too, but drones that leave stay in it, and "" publishes nothing.
    """

    def __init__(
        self,
        url,
        number,
        name="web",
        deaf=(),
        moving=(),
        refuses="",
        founders=0,
        coordinator="quick",
        **figures,
    ):
        """Prepare so many members of a hive; `figures` are those of their reports."""
        self._url = url
        self._number = number
        self._name = name
        self._deaf = deaf
        self._figures = figures
        self._moving = moving
        self._refuses = refuses
        self._founders = founders or number
        self._coordinator = coordinator
        self.commands = []  # those that drone 0 has heard
        self._ready, self._over = Event(), Event()

    def __enter__(self):
        self._thread = Thread(target=lambda: asyncio.run(self._live()))
        self._thread.start()
        assert self._ready.wait(120)
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    async def _live(self):
        """Join the hive, and send heartbeats until the context ends."""
        servers = [transport(self._url, self._name) for _ in range(self._number)]
        try:
            hives = []
            for drone, server in enumerate(servers):
                hives.append(await server.join(member(drone, self._founders)))
            slots, applied, beat = hives[-1].map, [0] * self._number, 0
            while not self._over.is_set():
                beat += 1
                for drone, server in enumerate(servers):
                    report = self._report(drone, beat, applied[drone], slots)
                    told = await server.beat(
                        report.pack(),
                        lease=LEASE,
                        generation=slots.generation,
                        after=applied[drone],
                    )
                    if drone == 0:
                        for command in told.commands:
                            self.commands.append((command.name, *command.args))
                            if command.name == RESIZE and self._coordinator:
                                members, lost = command.args
                                slots = slots.resized(set(members) - set(lost))
                                if self._coordinator != "leaving":
                                    slots = slots.without(slots.leaving)
                                await server.publish_map(slots)
                    if told.commands and drone not in self._deaf:
                        applied[drone] = told.commands[-1].number
                self._ready.set()
                await asyncio.sleep(PAUSE)
        finally:
            for server in servers:
                with suppress(Exception):
                    await server.close()

    def _report(self, drone, beat, applied, slots):
        """Return the report of a drone in a heartbeat."""
        figures = {"pages": 100 * beat, "queued": 5, "hosts": 2, "failures": 0, **self._figures}
        return Report(
            drone=drone,
            identity=f"{drone:032x}",
            run=1,
            beat=beat,
            generation=slots.generation,
            moving=self._moving,
            state=DroneState.RUNNING if drone in slots.drones else DroneState.RETIRED,
            applied=applied,
            refusals=((applied, self._refuses), (applied + 1, "another one"))
            if self._refuses
            else (),
            unacknowledged=drone,
            seconds=beat * PAUSE,
            lease=LEASE,
            jobdir=f"/crawl/drone-{drone}",
            host="kiwi",
            pid=100 + drone,
            figures=figures,
        )
