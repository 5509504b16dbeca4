"""What the queen tells of all drones."""

import json
import logging
from dataclasses import replace

from webcrawl.crawl.hive.drone_report import Report
from webcrawl.crawl.hive.queen import NAME, SAY, WRITE, Telling


def reports(pages):
    return [
        Report(drone=drone, identity="x", run=1, beat=1, generation=1, figures={"pages": pages, "queued": drone})
        for drone in range(2)
    ]


def test_the_file(tmp_path):
    """The figures of all drones are summed in a file, which is written anew after a while, and at the end."""
    telling = Telling(tmp_path)

    def told(now, pages, **more):
        telling.tell(now, reports(pages), **more)
        return json.loads((tmp_path / NAME).read_text())["pages"]

    assert told(0, 5) == 10
    assert told(WRITE - 1, 6) == 10
    assert told(WRITE, 7) == 14
    assert told(WRITE + 1, 8, last=True) == 16


def test_the_line(tmp_path, caplog):
    """A line is logged now and then, and at the end."""
    caplog.set_level(logging.INFO)
    telling = Telling(tmp_path)
    for now in (0, WRITE, SAY, SAY + 1):
        telling.tell(now, reports(1), last=now == SAY + 1)

    assert [record.message for record in caplog.records] == ["the hive: 2 pages, 1 queued, 0 failures, drones: 2"] * 3


def test_a_drone_in_trouble(tmp_path, caplog):
    """The line says first why a drone fetches nothing, and how many such drones there are."""
    caplog.set_level(logging.INFO)
    ill = replace(reports(1)[0], trouble="no name server")
    Telling(tmp_path).tell(0, [ill, *reports(1)[1:]])

    assert caplog.messages == ["the hive: no name server (1 of 2 drones), 2 pages, 1 queued, 0 failures, drones: 2"]


def test_drones_that_are_away(tmp_path, caplog):
    """They are among the drones, whether they have ever reported or not, and are said to be away."""
    caplog.set_level(logging.INFO)
    Telling(tmp_path).tell(0, reports(1), {1: 0.0, 2: 0.0})

    assert caplog.messages == ["the hive: 2 pages, 1 queued, 0 failures, drones: 3, 2 away"]


def test_a_folder_that_is_gone(tmp_path, caplog):
    """A file that cannot be written ends nothing."""
    Telling(tmp_path / "gone").tell(0, reports(1))

    assert "not written" in caplog.text
