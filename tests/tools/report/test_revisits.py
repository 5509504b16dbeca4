"""What the report says of a crawl that fetches pages again."""

import json
import sqlite3
from contextlib import closing

import pytest

from tests.support.reports import Report
from tests.support.revisited import COUNTS, HOSTS, announced, revisited
from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.history_line import PATH, RevisitMoment, line
from webcrawl.store.jobdir.revisit_figures import META, RevisitFigures
from webcrawl.store.outputs import Outputs
from webcrawl.tools.report.report_page import report
from webcrawl.tools.report.revisits import (
    MAX_GAP_SECONDS,
    TimedRevisits,
    read_revisits,
    signals,
    slots,
)


@pytest.fixture(name="jobdir", scope="module")
def _jobdir(tmp_path_factory):
    """Nobody may write there."""
    return revisited(tmp_path_factory.mktemp("revisits") / "job")


@pytest.fixture(name="page", scope="module")
def _page(jobdir):
    return Report(report(jobdir, {}, 0.0))


class Rows:
    """A snapshot of an open state."""

    def __init__(self, db):
        self.rows = db.query

    def get(self, name):
        figures = RevisitFigures(signals_true=1)
        return json.dumps(figures.numbers()).encode() if name == META else None


def moment(at, taken=0.0, records=100.0, freshness=0.5, age=10.0):
    return TimedRevisits(at, RevisitMoment(records, taken, taken, 0.0, 0.0, freshness, age))


class TestSection:
    def test_what_counts_each_visit(self, page):
        """Numbers in which a page counts each time that it is fetched are not said to be of URLs."""
        assert {"pages, revisits included", "URLs ended, revisits included"} <= page.tiles().keys()

    def test_tiles(self, page):
        """What matters first: freshness, age, pages, revisits, budget, what is late."""
        tiles = page.tree.xpath("//section[@id='revisits']/dl/div")
        found = {
            one.xpath("dt")[0].text_content(): one.xpath("dd")[0].text_content() for one in tiles
        }

        assert found["pages are fetched again"] == "25,000"
        assert found["revisits with a finding"] == "71,640"
        assert found["of copies are fresh"].endswith(" %")
        assert found["of them wait for their hosts"] == "310"

    def test_what_was_found(self, page):
        """By how it is known, with its share."""
        rows = page.numbers("revisit-table")

        assert [row[2] for row in rows] == [COUNTS[name] for name in (
            "unchanged_304", "unchanged_digest", "changed_digest", "changed_text", "gone"
        )]  # fmt: skip
        assert rows[0][3] == "57.5 %"

    def test_plots(self, page):
        """Freshness and findings over time, and two distributions of a sample."""
        titles = [
            one.text_content() for one in page.tree.xpath("//section[@id='revisits']//figcaption/b")
        ]

        assert titles == [
            "Freshness",
            "What revisits found",
            "How often pages change",
            "How often pages are fetched",
        ]
        assert "Of a sample of 2,000 pages." in page.section("revisits")

    def test_signals(self, page):
        """How many announcements were true, and whose."""
        assert "1,200 were there, 90 were not, and 400 were not looked at" in page.section(
            "revisits"
        )
        assert {row[0] for row in page.rows("signal-table")} == HOSTS.keys()

    def test_who_announces(self, tmp_path):
        """Hosts are named with the share of their announcements that was true; a damaged row is
        left out.
        """
        with closing(CrawlDB(tmp_path / "state")) as db:
            announced(db)
            db.checkpoint()
            db.execute("UPDATE announcer SET crc = 0 WHERE host = 'shop.example'")
            found = read_revisits(Rows(db), lambda: iter(()), [])
            made = Report(f"<p>{signals(found)}")

        rows = {host: true for host, _, true in made.rows("signal-table")}
        assert rows == {"news.example": "94.8 %", "blog.example": "78.6 %"}
        assert len(HOSTS) == 3

    def test_it_is_among_the_contents(self, page):
        """The page leads there."""
        assert page.tree.xpath("//nav/a[@href='#revisits']")

    def test_another_crawl_has_none(self, tmp_path):
        """Of a crawl without revisits nothing is said."""
        with closing(CrawlDB(tmp_path / "state")) as db:
            Outputs(db, tmp_path).open("logs/crawl.log")
            db.checkpoint()
        page = Report(report(tmp_path, {}, 0.0))

        assert "revisit" not in page.text

    def test_of_a_crawl_that_has_just_begun(self, tmp_path):
        """There is a section, which says what there is not yet."""
        page = Report(report(revisited(tmp_path / "job", lines=2, share=0.0), {}, 0.0))

        said = page.section("revisits")
        assert "No revisit has found a page changed, unchanged or gone yet." in said
        assert "No change that a sitemap, feed or hub announced was looked at yet." in said

    def test_of_a_hive(self, tmp_path):
        """Counts of all drones are added up."""
        for number in range(2):
            revisited(tmp_path / f"drone-{number}")
        page = Report(report(tmp_path, {}, 0.0))

        assert [row[2] for row in page.numbers("revisit-table")][:2] == [82_400, 36_600]
        assert "Of a sample of 4,000 pages." in page.section("revisits")


class TestDamage:
    def test_figures_of_another_form(self, tmp_path):
        """They are left out, and the page says so."""
        jobdir = revisited(tmp_path / "job", lines=2)
        value = json.dumps([1, 2]).encode()
        with closing(sqlite3.connect(jobdir / "state/crawl.db")) as db, db:
            db.execute(
                "UPDATE meta SET value = ?, crc = ? WHERE name = ?",
                (value, rowcrc.meta(META, value), META),
            )

        assert f"{META} in state/crawl.db cannot be read" in report(jobdir, {}, 0.0)

    @pytest.mark.parametrize(
        "line",
        [
            *(b"{", b'{"at":1}', b'{"at":1.0,"revisits":[1,2]}', b'{"at":"x","revisits":{}}'),
            b'{"at":1.0,"revisits":[0,0,0,0,0,0,0]}',
        ],
    )
    def test_lines_of_the_history_that_say_nothing(self, tmp_path, line):
        """They are passed over."""
        jobdir = revisited(tmp_path / "job", lines=3)
        path = jobdir / PATH
        first, rest = path.read_bytes().split(b"\n", 1)
        path.write_bytes(line.ljust(len(first)) + b"\n" + rest)

        assert "What revisits found" in report(jobdir, {}, 0.0)

    def test_a_time_of_which_nobody_knew(self, tmp_path):
        """Before the first estimate copies were not all out of date: freshness begins with that
        estimate.
        """
        jobdir = revisited(tmp_path / "job", lines=4)
        path = jobdir / PATH
        first, *rest = path.read_bytes().splitlines(keepends=True)
        row = json.loads(first)
        row["revisits"][-2:] = 0, 0
        path.write_bytes(line(row) + b"".join(rest))

        assert "Between 0.0%" not in report(jobdir, {}, 0.0)

    @pytest.mark.parametrize(
        ("at", "by"), [(0, 365), (3, -365)], ids=["ahead, and set right", "right, and set back"]
    )
    def test_a_clock_that_was_set(self, tmp_path, at, by):
        """Moments of a wrong clock are left out: in a plot time goes on in one direction."""
        jobdir = revisited(tmp_path / "job", lines=4)
        path = jobdir / PATH
        rows = [json.loads(one) for one in path.read_bytes().splitlines()]
        rows[at]["at"] += by * 86_400.0
        path.write_bytes(b"".join(map(line, rows)))

        assert "Each column is of 56 h." in report(jobdir, {}, 0.0)

    def test_without_the_history(self, tmp_path):
        """All else is there."""
        jobdir = revisited(tmp_path / "job", lines=3)
        (jobdir / PATH).unlink()
        page = Report(report(jobdir, {}, 0.0))

        assert "There is no history of revisits yet." in page.section("revisits")
        assert page.rows("revisit-table")


class TestSlots:
    def test_between_two_moments(self):
        """What grows is taken to have grown evenly."""
        found = slots([[moment(0.0), moment(60.0, 60.0), moment(120.0, 180.0)]], 5)

        assert [one.state.taken for one in found] == [0.0, 60.0, 180.0]
        assert [
            one.state.taken
            for one in slots([[moment(float(at), at) for at in range(0, 100, 9)]], 3)
        ] == [
            0.0,
            49.5,
            99.0,
        ]

    def test_a_pause(self):
        """Where nothing was written it is as it was before."""
        found = slots(
            [
                [
                    moment(0.0, 5.0),
                    moment(10 * MAX_GAP_SECONDS, 50.0),
                    moment(20 * MAX_GAP_SECONDS, 60.0),
                ]
            ],
            3,
        )

        assert [one.state.taken for one in found] == [5.0, 50.0, 60.0]
        later = [moment(0.0, 5.0), moment(2 * MAX_GAP_SECONDS, 50.0)]
        assert [
            one.state.taken
            for one in slots(
                [later, [moment(MAX_GAP_SECONDS, 1.0)], [moment(MAX_GAP_SECONDS)] * 3], 3
            )
        ] == [5.0, 6.0, 51.0]

    def test_several_crawls(self):
        """Counts are added up, freshness and age are means by pages; before its first moment a
        crawl has no part.
        """
        one, two = [moment(0.0, 1.0), moment(10.0, 2.0)], [moment(10.0, 5.0, 300.0, 0.9, 30.0)]
        first, last = slots([one, two])

        assert (first.state.records, first.state.freshness) == (100.0, 0.5)
        assert (last.state.records, last.state.taken, last.state.freshness, last.state.age) == (
            400.0,
            7.0,
            0.8,
            25.0,
        )

    def test_of_nothing(self):
        """No moments, no slots."""
        assert slots([]) == slots([[]]) == []


UNCHANGED = COUNTS["unchanged_304"] + COUNTS["unchanged_digest"]
CHANGED = COUNTS["changed_digest"] + COUNTS["changed_text"]


def test_the_share_that_found_a_change(tmp_path):
    """Of the revisits with a finding: pages that are gone are none that have changed."""
    page = Report(report(revisited(tmp_path / "job"), {}, 0.0))
    share = 100 * CHANGED / (UNCHANGED + CHANGED + COUNTS["gone"])

    assert f"{share:.1f} % found a change" in page.section("revisits").replace("\xa0", " ")
