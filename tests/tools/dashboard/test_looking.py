"""How a crawl is: what it says itself or, if it does not run, what it left."""

import fcntl
import json
import math
import os
import shutil
from datetime import UTC, datetime

import pytest

from tests.support.dashboards import FIGURES, Crawls, made
from tests.support.steered import steered
from webcrawl.base.model import Link, Outcome
from webcrawl.crawl.control.command import CommandError, NotRunning
from webcrawl.store.jobdir.crawl_line import LOG
from webcrawl.store.jobdir.crawl_line import line as crawl_line
from webcrawl.store.jobdir.crawls import LOCKS, is_locked
from webcrawl.tools.dashboard.crawl_page import activity_of, rate_of, warning_sentences
from webcrawl.tools.dashboard.crawls import (
    CrawlFinder,
    CrawlSample,
    moment_of_sample,
    recent_moments,
    take_sample,
)
from webcrawl.tools.report.report_page import LiveReport

NOW = 1_700_000_000.0


def known(folder):
    (one,) = CrawlFinder([folder], folder).find()
    return one


class TestFinding:
    def test_all_below_a_folder(self, tmp_path):
        """Crawls at any depth of three folders are found by their names, not what lies in them, nor
        other folders.
        """
        for name in ("web", "deep/er/still", "too/deep/by/far"):
            made(tmp_path / name)
        made(tmp_path / "web/state/inner")
        (tmp_path / "other").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "web")

        assert [one.name for one in CrawlFinder([], tmp_path).find()] == ["deep/er/still", "web"]
        assert CrawlFinder([], tmp_path / "nowhere").find() == []

    def test_a_hive_and_its_drones(self, tmp_path):
        """A hive is one entry, and each of its drones has an id of its own."""
        hive = {"version": 1, "name": "web", "drones": [0, 1]}
        made(tmp_path / "hive/drone-0")
        (tmp_path / "hive/hive.json").write_text(json.dumps(hive))
        finder = CrawlFinder([], tmp_path)
        (one,) = finder.find()

        assert [drone.name for drone in one.drones] == ["hive/drone-0", "hive/drone-1"]
        assert {finder.get(each.id).jobdir for each in (one, *one.drones)} == {
            tmp_path / "hive", tmp_path / "hive/drone-0", tmp_path / "hive/drone-1"
        }  # fmt: skip
        (tmp_path / "hive/hive.json").write_text("damaged")
        assert [one.name for one in finder.find()] == ["hive"]

    def test_ids_are_the_same_in_every_run(self, tmp_path):
        """A page can be bookmarked; what is no id leads nowhere."""
        made(tmp_path / "web")
        one, other = CrawlFinder([], tmp_path), CrawlFinder([tmp_path / "web"], tmp_path)

        assert one.find()[0].id == other.find()[0].id
        assert one.get("web") is one.get("../web") is None


class TestLocked:
    def test_a_lock_is_seen_and_not_taken(self, tmp_path):
        """The kernel's list of locks is read; nothing else says that a crawl runs, and nobody asks
        for its lock.
        """
        folder, locks = made(tmp_path / "web"), tmp_path / "locks"
        (folder / "state/lock").touch()
        about = (folder / "state/lock").stat()
        file = f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}:{about.st_ino}"
        others = "1: POSIX  ADVISORY  WRITE 5 00:01:2 0 EOF\n"

        assert not is_locked(folder, locks)
        for line, locked in (
            (f"2: FLOCK  ADVISORY  WRITE 77 {file} 0 EOF", True),
            (f"2: -> FLOCK  ADVISORY  WRITE 77 {file} 0 EOF", False),
            (f"2: FLOCK  ADVISORY  WRITE 77 {file}1 0 EOF", False),
        ):
            locks.write_text(f"{others}{line}\n")
            assert is_locked(folder, locks) is locked
        assert not is_locked(tmp_path / "nowhere", locks)

    def test_the_kernels_list(self, tmp_path):
        """A lock that a crawl holds is in it, where the file system has the number that the list
        has.
        """
        lock = made(tmp_path / "web") / "state/lock"
        with lock.open("w") as file:
            assert not is_locked(tmp_path / "web")
            fcntl.flock(file, fcntl.LOCK_EX)
            if f":{lock.stat().st_ino} " not in LOCKS.read_text():
                pytest.skip("this file system has other numbers in the list of locks")
            assert is_locked(tmp_path / "web")


class TestLooking:
    @pytest.mark.parametrize("state", ["running", "paused", "stopping"])
    def test_a_crawl_that_answers(self, tmp_path, state):
        """Its own figures, and its own state."""
        sample = take_sample(
            known(made(tmp_path / "a")), Crawls({"status": {**FIGURES, "state": state}}).ask
        )

        assert (sample.state, sample.number("pages"), sample.runs, sample.answers) == (
            state,
            120,
            True,
            True,
        )

    @pytest.mark.parametrize(
        ("stats", "state"),
        [
            ({"reason": "finished", "pages": 7}, "stopped"),
            ({"reason": None, "pages": 7}, "killed"),
            (None, "new"),
        ],
    )
    def test_a_crawl_that_does_not_run(self, tmp_path, stats, state):
        """What it saved last, and how it ended."""
        sample = take_sample(known(made(tmp_path / "a", stats=stats)), Crawls().ask)

        assert (sample.state, sample.number("pages"), sample.runs) == (
            state,
            7 if stats else 0,
            False,
        )

    def test_a_folder_that_was_removed(self, tmp_path):
        """A crawl whose folder was removed while a page shows it is gone, and not one that has not
        begun.
        """
        one = known(made(tmp_path / "a", stats={"reason": None, "pages": 7}))
        shutil.rmtree(tmp_path / "a")
        sample = take_sample(one, Crawls().ask)

        assert (sample.state, sample.runs) == ("gone", False)
        assert activity_of(sample, []) == "Its folder no longer exists."

    @pytest.mark.parametrize(
        "answer", [CommandError("no answer in 5 seconds"), "a line", ["a list"]]
    )
    def test_a_crawl_that_answers_something_else(self, tmp_path, answer):
        """It runs and cannot be asked: its saved figures are shown, and why."""
        folder = made(tmp_path / "a", stats={"reason": None, "pages": 7})
        sample = take_sample(known(folder), Crawls({"status": answer}).ask)

        assert (sample.state, sample.number("pages"), sample.answers) == ("silent", 7, False)
        assert sample.note

    def test_what_a_crawl_did_after_its_last_checkpoint(self, tmp_path):
        """Its figures are those of its last checkpoint, with which the next run begins: what a run
        that was killed did after that is done again.
        """
        at = datetime.fromtimestamp(NOW, UTC).isoformat()
        stats = {"reason": "finished", "at": at, "pages": 7}
        short = made(tmp_path / "short", stats=stats, history=[(NOW + 0.4, FIGURES)])
        resumed = made(tmp_path / "resumed", stats=stats, history=[(NOW + 60, FIGURES)])

        assert take_sample(known(short), Crawls().ask).number("pages") == 7
        assert take_sample(known(resumed), Crawls().ask).number("pages") == 7

    @pytest.mark.parametrize("text", ["", "[]", "{", "[" * 200_000, '"x"', "\xff"])
    def test_damaged_figures(self, tmp_path, text):
        """A stats.json that cannot be read says nothing, and breaks nothing."""
        (made(tmp_path / "a") / "stats.json").write_text(text)

        assert take_sample(known(tmp_path / "a"), Crawls().ask).figures == {}

    def test_figures_that_are_no_numbers(self, tmp_path):
        """What should be a number and is not counts as none."""
        figures = {
            **FIGURES,
            "pages": "many",
            "queued": None,
            "hosts": math.nan,
            "mix": 5,
            "levels": "x",
        }
        sample = take_sample(known(made(tmp_path / "a")), Crawls({"status": figures}).ask)

        assert [sample.number(name) for name in ("pages", "queued", "hosts", "nothing")] == [
            0,
            0,
            0,
            0,
        ]
        assert activity_of(sample, [])

    def test_a_hive_has_the_sums_of_all_drones_and_the_state_of_those_that_run(self, tmp_path):
        """The sums of its drones, those that do not answer included, and the state of those that
        run.
        """
        hive = {"version": 1, "name": "web", "drones": [0, 1]}
        made(tmp_path / "hive/drone-0")
        made(
            tmp_path / "hive/drone-1",
            stats={"reason": "finished", "pages": 7, "queued": 3, "seeds": 5},
        )
        (tmp_path / "hive/hive.json").write_text(json.dumps(hive))
        crawls = Crawls({("drone-0", "status"): FIGURES, ("drone-1", "status"): NotRunning("no")})
        sample = take_sample(known(tmp_path / "hive"), crawls.ask)

        assert (sample.state, sample.note) == ("running", "1 of 2 drones are running here")
        assert (sample.number("pages"), sample.number("queued"), sample.number("seeds")) == (
            127,
            4003,
            5,
        )
        assert sample.figures["levels"] == [3000, 1000, 0]
        assert sample.figures["mix"]["ok"] == 100

    def test_a_hive_of_drones_that_say_all_that_a_crawl_says(self, tmp_path):
        """Whatever a crawl answers can be shown together: numbers are added, and the words stay
        each drone's own.
        """
        hive = {"version": 1, "name": "web", "drones": [0, 1]}
        made(tmp_path / "hive/drone-0")
        made(tmp_path / "hive/drone-1")
        (tmp_path / "hive/hive.json").write_text(json.dumps(hive))
        with steered(tmp_path / "crawl") as crawl:
            status = {
                "state": "running",
                "seconds": 3.0,
                **crawl.crawl.outlook.glance(),
                "in_force": [],
                "queued": 2,
            }
        sample = take_sample(known(tmp_path / "hive"), Crawls({"status": status}).ask)

        assert (sample.state, sample.number("queued"), sample.number("seconds")) == (
            "running",
            4,
            3.0,
        )
        assert "waits" in status
        assert "waits" not in sample.figures


class TestRecent:
    def test_lines_that_are_none(self, tmp_path):
        """Those that are no moments are left out, and one that is not whole yet."""
        folder = made(
            tmp_path / "a", history=[(NOW + 5 * at, {**FIGURES, "pages": at}) for at in range(3)]
        )
        with (folder / "logs/history.jsonl").open("a") as file:
            file.write('{"at":1}\n[]\nnothing\n' + "[" * 10_000 + '\n{"at"')

        assert [one.figures["pages"] for one in recent_moments(folder)] == [0, 1, 2]

    @pytest.mark.parametrize("ahead", [3600, 1e9])
    def test_a_clock_that_was_ahead(self, tmp_path, ahead):
        """What it noted then is not what the crawl has come to, be that time in the past by now or
        not.
        """
        wrong = [(NOW + ahead + 5 * at, {**FIGURES, "pages": at}) for at in range(8)]
        right = [(NOW + 5 * at, {**FIGURES, "pages": 8 + at}) for at in range(10)]
        found = recent_moments(made(tmp_path / "a", history=wrong + right))

        assert [one.figures["pages"] for one in found] == [*range(8, 18)]
        assert round(rate_of(found), 3) == 0.2

    def test_only_the_end_is_read(self, tmp_path):
        """Of a file of any size some last moments are known."""
        found = recent_moments(
            made(
                tmp_path / "a", history=[(NOW + at, {**FIGURES, "pages": at}) for at in range(2000)]
            )
        )

        assert 100 < len(found) < 1000
        assert found[-1].figures["pages"] == 1999


def test_a_block_page_is_no_document_of_a_seed(tmp_path):
    """It is as in the report: a URL counts once, as it ended last, and a block page is no page."""
    folder = made(tmp_path / "a")
    seed, blocked = "http://a.test/", "http://b.test/"
    lines = [
        crawl_line(NOW, Link(seed, seed=seed), Outcome(403), None, ["wall:anubis"]),
        crawl_line(NOW, Link(seed, seed=seed), Outcome(403), None, ["wall:anubis"]),
        crawl_line(NOW, Link(seed, seed=seed), Outcome(200), None, []),
        b"not a line of this log\n",
        crawl_line(NOW, Link(blocked, seed=blocked), Outcome(200), None, ["wall:anubis"]),
    ]
    (folder / LOG).parent.mkdir(exist_ok=True)
    (folder / LOG).write_bytes(b"".join(lines))
    progress = LiveReport(folder, [folder], {})
    progress.read_logs()

    rows = {
        row.url: (row.status, row.found, row.fetched, row.failed)
        for row in progress.log.seeds.rows(9)
    }
    assert rows == {seed: (200, 1, 1, 0), blocked: (200, 1, 0, 0)}


def test_a_log_that_grows_and_is_truncated(tmp_path):
    """What was appended is read once, a line that is not whole later; after a kill, which truncates
    it back, all is anew.
    """
    folder = made(tmp_path / "a")
    log, progress = folder / LOG, LiveReport(folder, [folder], {})
    lines = [
        crawl_line(NOW, Link(url, seed=url), Outcome(200), None, [])
        for url in ("http://a.test/", "http://b.test/")
    ]

    def seeds(data):
        log.write_bytes(data)
        left = progress.read_logs()
        return {row.url: row.found for row in progress.log.seeds.rows(9)}, left

    assert seeds(lines[0] + lines[1][:9]) == ({"http://a.test/": 1}, 9)
    assert seeds(lines[0] + lines[1]) == ({"http://a.test/": 1, "http://b.test/": 1}, 0)
    assert seeds(lines[1]) == ({"http://b.test/": 1}, 0)


class TestSigns:
    @pytest.mark.parametrize(
        ("figures", "said"),
        [
            ({"trouble": "our network is out"}, "Our network is out."),
            ({"trouble": "", "waits": "waits 9 s for a.test"}, "Waits 9 s for a.test."),
            ({"state": "paused"}, "Paused: fetches nothing until it is resumed."),
            ({"state": "stopping"}, "Finishing 4 downloads in progress."),
            (
                {"queued": 0, "in_flight": 0, "deferred": 0},
                "Nothing is queued: the crawl is looking for more, or is about to end.",
            ),
            (
                {"queued": 7, "in_flight": 0, "deferred_due": 1.0},
                "7 URLs queued, all of deferred hosts, which are retried now and then.",
            ),
            (
                {"queued": 1, "in_flight": 0, "deferred": 1, "deferred_due": 1.0},
                "1 URL queued, all of deferred hosts, which are retried now and then.",
            ),
            ({}, "Hosts: 4 active 2 ready 24 waiting."),
        ],
    )
    def test_what_it_is_waiting_for(self, tmp_path, figures, said):
        """One sentence says what a crawl does."""
        sample = take_sample(
            known(made(tmp_path / "a")), Crawls({"status": {**FIGURES, **figures}}).ask
        )

        assert activity_of(sample, []) == said

    def test_what_is_wrong(self, tmp_path):
        """Unexpected errors, a standstill with URLs queued, and failures of most are named."""
        later = {**FIGURES, "mix": {**FIGURES["mix"], "unreachable": 105}}
        moments = [
            moment_of_sample(CrawlSample(NOW + at, "running", one))
            for at, one in ((0, FIGURES), (61, later))
        ]
        sample = take_sample(
            known(made(tmp_path / "a")), Crawls({"status": {**FIGURES, "errors": 2}}).ask
        )
        found = " ".join(warning_sentences(sample, moments, tmp_path))

        assert "2 unexpected errors" in found
        assert "No page in 61 s, though the queue has 4,000 URLs." in found
        assert "got no answer" in found
        assert rate_of(moments) == 0
