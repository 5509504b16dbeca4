"""The history of a crawl: figures of moments, ever farther apart."""

import json

import pytest

from webcrawl.base.model import FAILURES
from webcrawl.store.jobdir.history_line import (
    KINDS,
    LONGEST,
    SHAPE,
    SHARPNESS,
    SHORTEST,
    interval,
    line,
    mix,
    moment,
    read,
)

DAY = 86_400
FIGURES = {
    "pages": 5,
    "bytes": 9,
    "seen/keys": 7,
    "in_flight": 2,
    "hosts_deferred": 1,
    "milliseconds": [0, 3, 0, 1, 0, 0],
}


def lines_of(age):
    """How many lines a crawl of this age has, and their bytes if each has 300."""
    at, number = 0.0, 0
    while at < age:
        at += interval(at)
        number += 1
    return number, 300 * number


def test_lines_are_sparse_in_an_old_crawl():
    """The first hour has a line every five seconds, an old crawl one every five minutes."""
    assert interval(0) == interval(3600) == SHORTEST
    assert interval(36_000) == 36_000 / SHARPNESS
    assert interval(30 * DAY) == LONGEST


def test_a_month_is_small():
    """A month is less than four megabytes."""
    number, size = lines_of(30 * DAY)

    assert number < 12_500
    assert size < 4e6


def test_a_line_is_compact():
    """A line is one JSON object with names of its own; figures that a crawl does not have are
    nothing.
    """
    row = moment({**FIGURES, "mix": mix({200: 4, -1: 1})}, 1_700_000_000.04)

    assert json.loads(line(row)) == row
    assert line(row).count(b"\n") == 1
    assert (
        row["at"],
        row["pages"],
        row["queued"],
        row["seen"],
        row["asked"],
        row["aside"],
    ) == (
        1.7e9,
        5,
        0,
        7,
        2,
        1,
    )
    assert row["mix"] == [4, 0, 0, 0, 1, 0]
    assert row["milliseconds"] == [0, 3, 0, 1]


def test_a_clock_before_1970():
    """A machine whose clock was never set writes lines as any other: they are no damage, and can be
    read.
    """
    written = line(moment(FIGURES, -86_400.04))

    assert SHAPE.fullmatch(written)
    assert read(written).at == -86_400.0


def test_a_line_of_a_crawl_with_revisits():
    """It has what became of them too; that of any other crawl has not."""
    revisits = {
        "revisit/records": 9,
        "revisit/taken": 4,
        "revisit/unchanged_304": 3,
        "revisit/freshness": 0.83214,
    }
    row = moment({**FIGURES, **revisits}, 1_700_000_000.0)

    assert row["revisits"] == [9, 4, 3, 0, 0, 0.8321, 0.0]
    assert "revisits" not in moment(FIGURES, 1_700_000_000.0)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *((200, "ok"), (304, "redirected"), (404, "not_found"), (503, "server_error")),
        *((-9998, "refused"), (-5003, "refused")),
        *((status, "unreachable") for status in sorted(FAILURES)),
    ],
)
def test_every_end_has_a_kind(status, kind):
    """Each status counts once, by whose doing it was."""
    assert mix({status: 3}) == dict.fromkeys(KINDS, 0) | {kind: 3}
