"""How a hive is, running or not: `scrapy hive status`, and `scrapy ctl status`."""

import asyncio
import json
from contextlib import aclosing, closing
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.support.commands import command
from tests.support.fake_hives import COMMAND
from tests.support.hive_members import Members
from tests.support.served_hives import (
    FIGURES,
    checkpoint,
    finished,
    hive,
    look_at,
    of_another_hive,
    refused,
    serve,
    served,
)
from webcrawl.crawl.hive.coordinator import DroneState, Report
from webcrawl.crawl.hive.errors import Away
from webcrawl.crawl.hive.hive_folder import Founding
from webcrawl.crawl.hive.operator import HiveView
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.store.lock import Lock
from webcrawl.tools import answer_text
from webcrawl.tools.answer_text import status_lines as lines_of
from webcrawl.tools.supervisor.hive_status import (
    _row_by_report,
    hive_progress,
    status_rows,
    status_table,
)
from webcrawl.tools.supervisor.servers import operator_maker_at

AGAIN = {"revisit/records": 50, "revisit/taken": 20, "revisit/freshness": 0.5, "revisit/sampled": 9}
MORE = {"revisit/records": 150, "revisit/taken": 5, "revisit/freshness": 0.9, "revisit/sampled": 9}
TOGETHER = (
    "25 revisits of 200 pages (0 unchanged, 0 changed, 0 gone), about 80% of all copies fresh"
)


def saying(*figures):
    about = {"identity": "x", "run": 1, "beat": 3, "generation": 1}
    reports = {
        drone: Report(drone=drone, figures=one, **about) for drone, one in enumerate(figures)
    }
    return HiveView(map=None, places={}, reports=reports, leases={})


class Target:
    """A hive that does not run."""

    def __init__(self, folder, *figures):
        self.name, self.folder, self._figures, self._path = "web", self, figures, folder
        self.is_supervised = False

    def is_finished(self, _look):
        return False

    is_changing = is_finished

    def read_checkpoints(self):
        return HiveView()

    def founding(self):
        return Founding("web", "web", "domain", 2, tuple(self.all_drones()))

    def known_operator_maker(self):
        return None

    def is_running(self, _drone):
        return False

    def drones_let_in(self):
        return (0,)

    def all_drones(self):
        return range(len(self._figures))

    def figures(self, drone):
        return self._figures[drone]

    def drone(self, number):
        return self._path / f"drone-{number}"


class Looking:
    """An operator of a server that has these reports, and no sign of life."""

    def __init__(self, seen):
        self._seen = seen

    async def read_hive(self):
        return self._seen

    async def aclose(self):
        pass


async def order(url, members):
    """Has the server know of an order."""
    async with aclosing(operator_maker_at(url, "web")()) as operator:
        await operator.resize(members)


class TestStatus:
    def test_of_a_hive_that_is_stopped(self, folder):
        """A row for each drone says what its last checkpoint has, and where the drone lies."""
        done = hive("status", folder.path)

        heading, first, _, last = done.stdout.splitlines()
        assert done.returncode == 3
        assert heading.split()[:4] == ["drone", "state", "pages", "pages/s"]
        assert first.split() == [
            *("0", "stopped", "(shutdown)", "7", "0.0", "3", "1", "-"),
            *("2026-11-21T12:00:00Z", str(folder.drone(0))),
        ]
        assert last == "web: stopped, 2 drones; 14 pages (0.0/s), 6 queued"

    def test_of_one_whose_server_is_not_named(self, folder):
        """Who runs on this machine is seen all the same, and the line says where more can be had."""
        (folder.drone(0) / "state").mkdir(parents=True, exist_ok=True)
        with closing(Lock(folder.drone(0) / "state")):
            _, first, second, last = hive("status", folder.path).stdout.splitlines()

        assert [line.split()[1] for line in (first, second)] == ["running", "stopped"]
        assert last == (
            "web: 1 drone running, 2 intended; 14 pages (0.0/s), 6 queued; as of their last checkpoints: "
            "give -s REDIS_URL with the hive's server for live figures"
        )

    def test_of_one_that_has_finished(self, folder):
        """A hive whose drones have all crawled to the end says so."""
        finished(folder)

        assert (
            hive("status", folder.path)
            .stdout.splitlines()[-1]
            .startswith("web: finished, 2 drones; ")
        )
        said = json.loads(hive("status", folder.path, "--json").stdout)
        assert [said[name] for name in ("state", "running", "meant", "changing")] == [
            "finished",
            0,
            2,
            False,
        ]

    def test_of_a_change_that_has_not_ended(self, folder, url):
        """How many drones run is told apart from how many are meant, and the change that has not
        ended is named.
        """
        for drone in range(2):
            checkpoint(folder, drone, SlotMap.fair(range(2)), (7, (0, 1, 2), ()))
        stopped = hive("status", folder.path).stdout.splitlines()[-1]
        with served(folder, url), Members(url, 2, coordinator=""):
            asyncio.run(order(url, (0, 1, 2)))
            *_, runs, waits = hive("status", folder.path).stdout.splitlines()

        goes_on = "the change to 3 drones is not complete, and continues at the next start"
        assert stopped.startswith(f"web: stopped: {goes_on}; ")
        assert runs.startswith(
            "web: 2 drones running, 3 intended: the change continues, the coordinator is drone 0; "
        )
        assert waits == "the change waits for drone 2, which is not running"

    def test_of_one_that_runs(self, folder, url):
        """A row for each drone says what its last sign of life said, with the rate of the last
        seconds.
        """
        serve(folder, url)
        with Members(url, 2):
            done = hive("status", folder.path)

        _, first, second, last = done.stdout.splitlines()
        assert first.split()[:2] == ["0", "running"]
        assert first.split()[3] == "5000.0"
        assert second.split()[4:] == [
            "5",
            "2",
            "1",
            "0",
            "s",
            "ago",
            "kiwi:/crawl/drone-1",
            "(101)",
        ]
        assert last.startswith("web: 2 drones running, the coordinator is drone 0; ")

    def test_how_long_ago_a_drone_was_heard(self, url):
        """A sign of life is as old as the drone's own HIVE_LEASE says, whatever that of the command
        is.
        """
        with Members(url, 1):
            done = hive("status", url, "--json", "-s", "HIVE_LEASE=300")

        assert [row["seen"] for row in json.loads(done.stdout)["drones"]] == ["0 s ago"]

    def test_another_hive_of_the_name(self, folder, url):
        """Of the folder's hive its own files tell, and a line says that the server knows another
        one by this name.
        """
        of_another_hive(folder)
        with Members(url, 2):
            done = hive("status", folder.path, "-s", f"REDIS_URL={url}")

        _, first, second, last = done.stdout.splitlines()
        assert [line.split()[1:4] for line in (first, second)] == [
            ["stopped", "(shutdown)", "7"]
        ] * 2
        assert last == (
            "web: stopped, 2 drones; 14 pages (0.0/s), 6 queued; as of their last checkpoints: "
            "the server has another hive of this name"
        )

    def test_by_its_server(self, url):
        """A hive of many machines is known by its server and its name."""
        with Members(url, 3, name="big"):
            done = hive("status", url, "-s", "HIVE_NAME=big", "--json")
            asked = command(COMMAND, "ctl", url, "status", "-s", "HIVE_NAME=big", "--json")

        assert [row["drone"] for row in json.loads(asked.stdout)["drones"]] == [0, 1, 2]
        said = json.loads(done.stdout)
        assert [row["drone"] for row in said["drones"]] == [0, 1, 2]
        assert (said["name"], said["coordinator"], said["generation"]) == ("big", 0, 1)

    def test_drones_that_are_away(self, url):
        """A drone without a sign of life is away; its last figures are shown."""
        with Members(url, 2):
            pass

        rows = json.loads(hive("status", url, "--json").stdout)["drones"]
        assert [(row["state"], row["seen"]) for row in rows] == [("away", "-")] * 2
        assert all(row["pages"] for row in rows)

    def test_drones_here_that_are_away(self, folder, url):
        """Of a drone whose folder is here the last sign of life is its last checkpoint."""
        serve(folder, url)
        with Members(url, 2):
            pass

        rows = json.loads(hive("status", folder.path, "--json").stdout)["drones"]
        assert [(row["state"], row["seen"]) for row in rows] == [
            ("away", "2026-11-21T12:00:00Z")
        ] * 2

    def test_nothing_there(self, url, tmp_path):
        """A folder without a hive, a server without one, and a server that is not there, are one
        line each.
        """
        assert refused("status", tmp_path) == f"{tmp_path}: is not a hive: hive.json is missing"
        assert refused("status", url) == f"{url}: no drone of a hive named web is known there"
        assert refused("status", "redis://127.0.0.1:1").startswith(
            "REDIS_URL = redis://127.0.0.1:1: "
        )


def test_ctl_status():
    """The same, in a line of its own, and with --json by name."""
    found = hive_progress(saying(AGAIN, MORE, {}))

    assert TOGETHER in list(lines_of(found))
    assert json.loads(json.dumps(found))["revisit/records"] == 200
    assert not any("revisits" in line for line in lines_of(hive_progress(saying({}, {}))))


def test_ctl_status_of_a_hive_that_shrank():
    """What a drone that has left had fetched is among the sums, and has no row."""
    found = hive_progress(saying(AGAIN, MORE), [{"pages": 7, "queued": 0}])

    assert found["pages"] == hive_progress(saying(AGAIN, MORE))["pages"] + 7
    assert [row["drone"] for row in found["drones"]] == [0, 1]


@pytest.mark.parametrize(
    ("state", "over", "members", "shown"),
    [
        (DroneState.RUNNING, False, (0, 1), "away"),
        (DroneState.STOPPING, False, (0, 1), "stopped"),
        (DroneState.STOPPING, True, (0, 1), "finished"),
        (DroneState.DRAINING, False, (0,), "away"),
        (DroneState.RETIRED, True, (0,), "gone"),
        (None, False, (0,), "away"),
    ],
)
def test_a_drone_that_is_not_heard_of(state, over, members, shown):
    """One that has given away all is not said to be away: nobody has to start it. What kept one
    from fetching is of no interest once it has ended.
    """
    slots = SlotMap.fair((0, 1)).resized(members)
    seen = replace(saying({}, {}), map=slots, places={1: ("here", 7)}, leases={0: 9.0})
    if state is None:
        del seen.reports[1]
    else:
        seen.reports[1] = replace(seen.reports[1], state=state, over=over, trouble="waits for x")

    assert _row_by_report(1, seen, seen)["state"] == shown
    assert hive_progress(seen)["drones"][1]["state"] == shown
    released = replace(seen, map=slots.without((1,)))
    assert _row_by_report(1, released, released)["state"] == ("gone" if members == (0,) else shown)


@pytest.mark.parametrize(
    ("trouble", "shown"), [("paused", "paused"), ("disk nearly full", "paused: disk nearly full")]
)
def test_a_drone_that_is_paused(trouble, shown):
    """Its state says so once, and names any other trouble."""
    seen = replace(saying({}), map=SlotMap.fair((0,)), leases={0: 9.0})
    seen.reports[0] = replace(seen.reports[0], state=DroneState.PAUSED, trouble=trouble)

    assert _row_by_report(0, seen, seen)["state"] == shown


@pytest.mark.parametrize(
    ("over", "state"), [((True, True), "finished"), ((True, False), "stopped")]
)
def test_a_hive_whose_drones_have_ended(monkeypatch, over, state):
    """Without a folder, the server tells a hive that has finished from one that was stopped."""
    seen = replace(saying({}, {}), map=SlotMap.fair((0, 1)))
    for drone, report in seen.reports.items():
        seen.reports[drone] = replace(report, state=DroneState.STOPPING, over=over[drone])
    target = SimpleNamespace(
        name="web", folder=None, known_operator_maker=lambda: lambda: Looking(seen)
    )

    assert status_rows(target)[1]["state"] == state


def test_hive_status_of_a_folder_that_was_moved(tmp_path):
    """A drone that has ended lies where its folder is, wherever that was when it last spoke; others
    where they say.
    """
    target, seen = Target(tmp_path, {}, {}), saying({}, {})
    for drone, report in seen.reports.items():
        seen.reports[drone] = replace(report, jobdir=f"/before/drone-{drone}", host="here")
    target.known_operator_maker = lambda: lambda: Looking(seen)

    assert [row["place"] for row in status_rows(target)[0]] == [
        str(tmp_path / "drone-0"),
        "here:/before/drone-1 (0)",
    ]


def test_hive_status_while_the_server_is_away(tmp_path):
    """Drones that run all the same are not said to be stopped; where none runs, the hive does not."""

    async def away():
        raise Away("no server")

    target = Target(tmp_path, {"pages": 3}, {})
    target.known_operator_maker = lambda: (
        lambda: SimpleNamespace(read_hive=away, aclose=Looking({}).aclose)
    )
    target.is_running = lambda drone: drone == 0
    found, common = status_rows(target)

    assert [row["state"] for row in found] == ["running", "stopped"]
    assert "web: 1 drone running, 2 intended; 3 pages" in status_table(found, common)[-1]
    assert "the hive's server does not answer now" in status_table(found, common)[-1]
    target.is_running = lambda drone: False
    assert (
        status_table(*status_rows(target))[-1]
        == "web: stopped, 2 drones; 3 pages (0.0/s), 0 queued"
    )


@pytest.mark.parametrize(("figures", "last"), [((AGAIN, MORE), TOGETHER), (({}, {}), None)])
def test_hive_status(tmp_path, figures, last):
    """So has the last line of the table, of a hive that does not run, too."""
    lines = status_table(*status_rows(Target(tmp_path, *figures)))

    assert (lines[-1] == TOGETHER) is (last is not None)


def test_what_bounds_a_hive(tmp_path, monkeypatch):
    """The status of a hive says what bounds it: the seconds of all drones together."""
    monkeypatch.setitem(FIGURES, "bound/politeness", 30)
    monkeypatch.setitem(FIGURES, "bound/slots", 10)
    found = hive_progress(look_at(tmp_path))

    assert (found["bound/politeness"], found["bound/slots"]) == (60, 20)
    assert "bound by politeness 75 %, CONCURRENT_REQUESTS 25 %" in [
        *answer_text.status_lines(found)
    ]


@pytest.mark.parametrize(
    ("states", "alive", "together"),
    [
        ((DroneState.RUNNING, DroneState.RUNNING), (0, 1), "running"),
        ((DroneState.PAUSED, DroneState.RUNNING), (0, 1), "running"),
        ((DroneState.PAUSED, DroneState.PAUSED), (0, 1), "paused"),
        ((DroneState.PAUSED, DroneState.RUNNING), (0,), "paused"),
        ((DroneState.STOPPING, DroneState.STOPPING), (0, 1), "stopping"),
        ((DroneState.DRAINING, DroneState.DRAINING), (0, 1), "running"),
    ],
)
def test_together(tmp_path, states, alive, together):
    """A hive is what all of its drones that are there are, and has what all of them have."""
    found = hive_progress(look_at(tmp_path, states=states, alive=alive))

    assert (found["state"], found["pages"], found["queued"], found["failures"]) == (
        together,
        20,
        10,
        2,
    )
    assert found["seconds"] == 1.0
    assert [row["state"] == "away" for row in found["drones"]] == [
        drone not in alive for drone in (0, 1)
    ]


def test_without_a_report():
    """A drone that has said nothing yet is there all the same."""
    found = hive_progress(HiveView(places={0: ("a", 1)}, leases={0: 1.0}))

    assert (found["state"], found["pages"], found["drones"][0]["state"]) == (
        "running",
        0,
        "running",
    )


HIVE = {
    "name": "web",
    "state": "running",
    "running": 2,
    "meant": 2,
    "changing": False,
    "coordinator": None,
}


def last_line(**more):
    return list(status_table([], {**HIVE, "server_bytes": 0, **more}))[-1]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"server_bytes": 2_500_000}, "2.5 MB"),
        ({"coordinator": 1}, "drone 1"),
        ({"meant": 3}, "3 intended"),
        ({"changing": True}, "change"),
        ({"another": True}, "another hive"),
        ({"unnamed": True}, "REDIS_URL"),
    ],
)
def test_what_is_unusual_is_said(more, words):
    """Links on their way, the coordinator, drones that are missing, a change, and why the figures are
    old; nothing else.
    """
    assert words in last_line(**more)
    assert words not in last_line()
