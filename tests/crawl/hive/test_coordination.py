"""What the coordinator does of what it has decided, and what it tells of all drones."""

import asyncio
import json
import logging
from dataclasses import replace
from types import SimpleNamespace

from tests.crawl.hive.test_coordinator import MAP, reports
from webcrawl.crawl.hive.coordinator import (
    LOG_SECONDS,
    MAX_REPORT_BYTES,
    STATS_NAME,
    WRITE_SECONDS,
    Coordination,
    DroneState,
    FiguresWriter,
    Report,
)
from webcrawl.crawl.hive.partition import WantedMembers


class Server:
    """Notes what it is asked for."""

    def __init__(self):
        self.asked = []

    def __getattr__(self, name):
        async def ask(*values):
            self.asked.append((name, *values))

        return ask


def said(caplog, *reports, alive=(0, 1)):
    """The warnings of a coordinator who sees these reports of drone 1, one with each beat."""
    server, drone = Server(), SimpleNamespace(slots=MAP)
    post = SimpleNamespace(drone=drone, obeyed=SimpleNamespace(wanted=None, number=0))
    coordination = Coordination(
        0, server, post, ((),), SimpleNamespace(write_due=lambda *values, **named: None)
    )
    for data in reports:
        beat = SimpleNamespace(
            coordinator=0, reports={1: data}, alive=frozenset(alive), members={0: "", 1: ""}
        )
        asyncio.run(coordination.act_on(beat))
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


def asked(slots, members, seen, wanted, alive=None):
    """What the server is asked for after one beat of drone 0."""
    server = Server()
    drone = SimpleNamespace(slots=slots)
    post = SimpleNamespace(drone=drone, obeyed=SimpleNamespace(wanted=wanted, number=0))
    told = SimpleNamespace(write_due=lambda *values, **named: None)
    packed = {drone: report.pack() for drone, report in seen.items()}
    beat = SimpleNamespace(
        coordinator=0,
        reports=packed,
        alive=frozenset(alive or seen),
        members=dict.fromkeys(members, ""),
    )
    asyncio.run(Coordination(0, server, post, ((),), told).act_on(beat))
    return server.asked


def test_a_lost_drone():
    """Its state is refused before others get its slots; it is forgotten when all know, and only
    once.
    """
    wanted, after = WantedMembers(frozenset((0,)), frozenset((1,))), MAP.resized((0,), lost=(1,))
    knows = {0: replace(reports(0)[0], generation=after.generation)}

    assert asked(MAP, (0, 1), reports(0), wanted) == [("give_up", 1), ("publish_map", after)]
    assert asked(after, (0, 1), reports(0), wanted) == []
    assert asked(after, (0, 1), knows, wanted) == [("forget", 1)]
    assert asked(after, (0,), knows, wanted) == []


def test_a_drone_that_has_left():
    """The map says that it has left before the registry forgets it: whatever the server loses,
    nobody waits for it.
    """
    slots = MAP.resized((0,))
    seen = {
        0: replace(reports(0)[0], generation=slots.generation),
        1: reports(1, state=DroneState.RETIRED)[1],
    }

    assert asked(slots, (0, 1), seen, None, alive=(0,)) == [
        ("publish_map", slots.without((1,))),
        ("forget", 1),
    ]


def test_an_unreadable_report_is_told_once(caplog):
    """A report that cannot be read is one warning, however many beats bring it."""
    assert len(said(caplog, *[b"rubbish"] * 50)) == 1


def test_a_drone_that_is_not_heard_of(caplog, monkeypatch):
    """It is a warning: these are what `scrapy hive` passes on from the logs of its drones."""
    monkeypatch.setattr("webcrawl.crawl.hive.coordinator.GRACE_SECONDS", 0)

    (line,) = said(caplog, reports(1)[1].pack(), alive=(0,))

    assert "drone 1 has sent no sign of life" in line


def test_another_trouble_is_told_again(caplog, monkeypatch):
    """A report that is unreadable for another reason is told again."""
    monkeypatch.setattr("webcrawl.crawl.hive.coordinator.UNREADABLE_LOG_SECONDS", 0.0)

    lines = said(caplog, b"rubbish", b"\xc1", b"\xc1")

    assert len(lines) == 2
    assert lines[0] != lines[1]


def test_a_report_that_was_readable_meanwhile(caplog, monkeypatch):
    """A report that becomes unreadable once more is told again."""
    monkeypatch.setattr("webcrawl.crawl.hive.coordinator.UNREADABLE_LOG_SECONDS", 0.0)
    good = reports(1)[1].pack()

    assert len(said(caplog, b"rubbish", good, b"rubbish")) == 2


def test_troubles_that_change_all_the_time(caplog):
    """Reports that are unreadable in another way with each beat, or with every other, do not fill
    the log.
    """
    good = reports(1)[1].pack()

    assert (
        len(
            said(
                caplog,
                *[bytes(MAX_REPORT_BYTES + 1 + number) for number in range(3)],
                good,
                b"rubbish",
                good,
            )
        )
        == 1
    )


def figures(pages):
    return [
        Report(
            drone=drone,
            identity="x",
            run=1,
            beat=1,
            generation=1,
            figures={"pages": pages, "queued": drone},
        )
        for drone in range(2)
    ]


def test_the_file(tmp_path):
    """The figures of all drones are summed in a file, which is written anew after a while, and at
    the end.
    """
    telling = FiguresWriter(tmp_path)

    def told(now, pages, **more):
        telling.write_due(now, figures(pages), **more)
        return json.loads((tmp_path / STATS_NAME).read_text())["pages"]

    assert told(0, 5) == 10
    assert told(WRITE_SECONDS - 1, 6) == 10
    assert told(WRITE_SECONDS, 7) == 14
    assert told(WRITE_SECONDS + 1, 8, last=True) == 16


def test_the_line(tmp_path, caplog):
    """A line is logged now and then, and at the end."""
    caplog.set_level(logging.INFO)
    telling = FiguresWriter(tmp_path)
    for now in (0, WRITE_SECONDS, LOG_SECONDS, LOG_SECONDS + 1):
        telling.write_due(now, figures(1), last=now == LOG_SECONDS + 1)

    assert [record.message for record in caplog.records] == [
        "the hive: 2 pages, 1 queued, 0 hosts, 0 failures, drones: 2"
    ] * 3


def test_a_drone_in_trouble(tmp_path, caplog):
    """The line says first why a drone fetches nothing, and how many such drones there are."""
    caplog.set_level(logging.INFO)
    ill = replace(figures(1)[0], trouble="no name server")
    FiguresWriter(tmp_path).write_due(0, [ill, *figures(1)[1:]])

    assert caplog.messages == [
        "the hive: no name server (1 of 2 drones), 2 pages, 1 queued, 0 hosts, 0 failures, drones: 2"
    ]


def test_drones_that_are_away(tmp_path, caplog):
    """They are among the drones, whether they have ever reported or not, and are said to be away."""
    caplog.set_level(logging.INFO)
    FiguresWriter(tmp_path).write_due(0, figures(1), {1: 0.0, 2: 0.0})

    assert caplog.messages == [
        "the hive: 2 pages, 1 queued, 0 hosts, 0 failures, drones: 3, 2 away"
    ]


def test_a_folder_that_is_gone(tmp_path, caplog):
    """A file that cannot be written ends nothing."""
    FiguresWriter(tmp_path / "gone").write_due(0, figures(1))

    assert "cannot be written" in caplog.text


def test_what_the_metrics_have():
    """The coordinator tells how many drones are alive, and whether a change waits; others cannot know."""
    post = SimpleNamespace(
        drone=SimpleNamespace(slots=MAP),
        obeyed=SimpleNamespace(wanted=WantedMembers(frozenset((0, 1, 2))), number=0),
    )
    coordination = Coordination(
        0, Server(), post, ((),), SimpleNamespace(write_due=lambda *values, **named: None)
    )

    def told(coordinator):
        beat = SimpleNamespace(
            coordinator=coordinator, reports={}, alive=frozenset((0, 1)), members={0: "", 1: ""}
        )
        asyncio.run(coordination.act_on(beat))
        return coordination.figures()

    about = {"hive/members": len(MAP.drones), "hive/generation": MAP.generation}
    alone = {"hive/coordinator": 1, "hive/alive": 2, "hive/change_waits": 1}
    assert told(0) == {**about, **alone}
    assert told(1) == {**about, **dict.fromkeys(alone, 0)}
