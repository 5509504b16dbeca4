"""What a hive shows of pages that are fetched again: in its progress, `hive status` and `ctl status`."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from webcrawl.crawl.control.answer_text import status as lines_of
from webcrawl.crawl.hive.drone_report import Report, State
from webcrawl.crawl.hive.errors import Away
from webcrawl.crawl.hive.hive_folder import Founding
from webcrawl.crawl.hive.operator import Look
from webcrawl.store.jobdir.figures import merged
from webcrawl.tools.supervisor import display
from webcrawl.tools.supervisor.asked import status
from webcrawl.tools.supervisor.hive_status import rows, table

AGAIN = {"revisit/records": 50, "revisit/taken": 20, "revisit/freshness": 0.5, "revisit/sampled": 9}
MORE = {"revisit/records": 150, "revisit/taken": 5, "revisit/freshness": 0.9, "revisit/sampled": 9}
TOGETHER = "25 revisits of 200 pages (0 unchanged, 0 changed, 0 gone), about 80% of all copies fresh"


def look(*figures):
    about = {"identity": "x", "run": 1, "beat": 3, "generation": 1}
    reports = {drone: Report(drone=drone, figures=one, **about) for drone, one in enumerate(figures)}
    return Look(map=None, places={}, reports=reports, leases={})


class Target:
    """A hive that does not run."""

    def __init__(self, folder, *figures):
        self.name, self.folder, self._figures, self._path = "web", self, figures, folder
        self.supervised = self.finished = False

    def known(self):
        return Founding("web", "web", "domain", 2, tuple(self.all_drones()))

    def server(self):
        return None

    def running(self, _drone):
        return False

    def begun(self):
        return (0,)

    def all_drones(self):
        return range(len(self._figures))

    def figures(self, drone):
        return self._figures[drone]

    def drone(self, number):
        return self._path / f"drone-{number}"


def test_progress():
    """Sums of all drones, and their mean freshness by the number of pages."""
    figures = {"pages": 3, **merged([AGAIN, MORE])}

    assert ", 25 revisits (80% fresh), 2 drones" in display.line(figures, 1.0, 2, [])
    assert "  fresh 80%  " in display.short_line(figures, 1.0, 2, [])
    assert "revisits" not in display.line({"pages": 3}, 1.0, 2, [])
    assert "hosts" in display.short_line({"pages": 3}, 1.0, 2, [])


def test_a_drone_that_hangs():
    """Its process runs, but it does no work: the line of the log says which one it is, the short one counts without."""
    assert display.line({}, 1.0, 3, [], [2]).endswith(", 3 drones (2 not heard of)")
    assert display.line({}, 1.0, 3, [0], [1, 2]).endswith(", 3 drones (0 down, 1, 2 not heard of)")
    assert display.short_line({}, 1.0, 3, [0], [2]).endswith("  drones 1/3")


def test_who_is_not_heard_of():
    """A drone whose lease has lapsed, and not one that said that it stops, or has given away all."""
    states = dict(enumerate(State))
    seen = look(*[{}] * (len(states) + 1))
    for drone, state in states.items():
        seen.reports[drone] = replace(seen.reports[drone], state=state, pid=100 + drone)
    silent = replace(seen, leases={len(states): 9.0}).silent

    assert [states[drone] for drone in silent] == [State.RUNNING, State.PAUSED, State.DRAINING]
    assert silent[0] == 100


def test_ctl_status():
    """The same, in a line of its own, and with --json by name."""
    found = status(look(AGAIN, MORE, {}))

    assert TOGETHER in list(lines_of(found))
    assert json.loads(json.dumps(found))["revisit/records"] == 200
    assert not any("revisits" in line for line in lines_of(status(look({}, {}))))


def test_ctl_status_of_a_hive_that_shrank():
    """What a drone that has left had fetched is among the sums, and has no row."""
    found = status(look(AGAIN, MORE), [{"pages": 7, "queued": 0}])

    assert found["pages"] == status(look(AGAIN, MORE))["pages"] + 7
    assert [row["drone"] for row in found["drones"]] == [0, 1]


class Looking:
    """An operator of a server that has these reports, and no sign of life."""

    def __init__(self, seen):
        self._seen = seen

    async def look(self):
        return self._seen

    async def close(self):
        pass


def test_hive_status_of_a_folder_that_was_moved(tmp_path):
    """A drone that has ended lies where its folder is, wherever that was when it last spoke; others where they say."""
    target, seen = Target(tmp_path, {}, {}), look({}, {})
    for drone, report in seen.reports.items():
        seen.reports[drone] = replace(report, jobdir=f"/before/drone-{drone}", host="here")
    target.server = lambda: lambda: Looking(seen)

    assert [row["place"] for row in rows(target)[0]] == [str(tmp_path / "drone-0"), "here:/before/drone-1 (0)"]


def test_hive_status_while_the_server_is_away(tmp_path):
    """Drones that run all the same are not said to be stopped; where none runs, the hive does not."""

    async def away():
        raise Away("no server")

    target = Target(tmp_path, {"pages": 3}, {})
    target.server = lambda: lambda: SimpleNamespace(look=away, close=Looking({}).close)
    target.running = lambda drone: drone == 0
    found, common = rows(target)

    assert [row["state"] for row in found] == ["running", "stopped"]
    assert "web: 1 drone running, 2 meant; 3 pages" in table(found, common)[-1]
    assert "their server does not answer now" in table(found, common)[-1]
    target.running = lambda drone: False
    assert table(*rows(target))[-1] == "web: stopped, 2 drones; 3 pages (0.0/s), 0 queued"


@pytest.mark.parametrize(("figures", "last"), [((AGAIN, MORE), TOGETHER), (({}, {}), None)])
def test_hive_status(tmp_path, figures, last):
    """So has the last line of the table, of a hive that does not run, too."""
    lines = table(*rows(Target(tmp_path, *figures)))

    assert (lines[-1] == TOGETHER) is (last is not None)
