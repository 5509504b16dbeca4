"""What the queen does of what she has decided."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

from tests.hive.test_queen import MAP, reports
from webcrawl.hive.queen import Wanted
from webcrawl.hive.reign import Reign


class Server:
    """Notes what it is asked for."""

    def __init__(self):
        self.asked = []

    def __getattr__(self, name):
        async def ask(*values):
            self.asked.append((name, *values))

        return ask


def asked(slots, members, seen, wanted):
    """What the server is asked for after one beat of drone 0."""
    server = Server()
    drone = SimpleNamespace(slots=slots)
    post = SimpleNamespace(drone=drone, obeyed=SimpleNamespace(wanted=wanted, number=0))
    told = SimpleNamespace(tell=lambda *values, **named: None)
    packed = {drone: report.pack() for drone, report in seen.items()}
    beat = SimpleNamespace(queen=0, reports=packed, alive=frozenset(seen), members=dict.fromkeys(members, ""))
    asyncio.run(Reign(0, server, post, ((),), told).heard(beat))
    return server.asked


def test_a_lost_drone():
    """Its state is refused before others get its slots; it is forgotten when all know, and only once."""
    wanted, after = Wanted(frozenset((0,)), frozenset((1,))), MAP.resized((0,))
    knows = {0: replace(reports(0)[0], generation=after.generation)}

    assert asked(MAP, (0, 1), reports(0), wanted) == [("give_up", 1), ("publish_map", after)]
    assert asked(after, (0, 1), reports(0), wanted) == []
    assert asked(after, (0, 1), knows, wanted) == [("forget", 1)]
    assert asked(after, (0,), knows, wanted) == []
