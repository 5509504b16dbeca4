"""`scrapy report`: what it is given, and what it writes."""

import argparse
import errno
import json
import os
from contextlib import closing

import msgpack
import pytest

from tests.support.commands import command
from tests.support.jobs import Job, killed, tree
from tests.support.reports import Report, truth
from tests.support.saving import prepared
from tests.support.tampering import tampered
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StateVersion, StoreError
from webcrawl.store.jobdir.job_dir import NoCrawl
from webcrawl.store.outputs import Outputs
from webcrawl.tools.commands import report as report_command
from webcrawl.tools.report.report_page import report


def made(root):
    """The report of a crawl, which it must not change."""
    before = tree(root)
    page = Report(report(root, {}, 0.0))
    assert tree(root) == before
    return page


class TestCrawls:
    def test_a_crawl_that_kept_no_statistics(self, copy):
        """Of a crawl of an earlier version the statistics are made from the log, and the page says
        so.
        """
        page, said = made(copy), truth(copy / "logs/crawl.log")

        assert "made from logs/crawl.log" in page.text
        assert {row[0]: row[1] for row in page.numbers("host-table")} == +said.documents
        assert {row[0]: row[2] for row in page.numbers("outcome-table")} == said.outcomes

    def test_seeds_that_are_in_no_list(self, copy):
        """Requests of a spider, and the lists of earlier runs, give more seeds than were read."""
        page = made(copy)

        assert "seeds with an outcome" in page.text
        assert "of 0 read" not in page.text

    @pytest.mark.parametrize(
        ("name", "value", "said"),
        [
            (
                "tallies",
                {"crawl": {"archive/lost/damaged": 2}},
                "Parts of the archives could not be read: damaged 2.",
            ),
            (
                "tallies",
                {"crawl": {"archive/repeats": 1, "archive/forgotten": 2}},
                "2 answers (sites that asked to be forgotten), 1 answer (URLs that were fetched",
            ),
            (
                "seeds",
                {"bad": 1, "place": {"bad": 2}},
                "3 lines of the seed lists gave no seed: see the log.",
            ),
        ],
    )
    def test_what_could_not_be_read(self, tmp_path, name, value, said):
        """Records that `process` has lost or left out, and lines that are no seeds, are something
        wrong.
        """
        with closing(CrawlDB(tmp_path / "state")) as db:
            db.set(name, json.dumps(value).encode())
            db.checkpoint()
        wrong = made(tmp_path).section("wrong")

        assert said in wrong
        assert "Nothing went wrong" not in wrong

    def test_a_killed_crawl(self, tmp_path):
        """Bytes that were written after the last checkpoint are not read."""
        root = killed(tmp_path / "live", tmp_path / "job")
        page = made(root)

        noted = page.numbers("outcome-table")[0][2]
        assert 0 < noted < truth(root / "logs/crawl.log").outcomes[200]
        assert "running, or was killed" in page.text

    def test_a_crawl_that_failed(self, tmp_path):
        """A crawl whose disk was full is not said to run, to be killed, or to have had no trouble."""
        CrawlDB(tmp_path / "state").close()
        (tmp_path / "stats.json").write_text('{"reason": "store_failed"}')
        page = made(tmp_path)

        assert "The last run failed (store_failed); this report shows its last" in page.text
        assert "running, or was killed" not in page.text
        assert "could not keep what it did" in page.section("wrong")
        assert "Nothing went wrong" not in page.section("wrong")

    def test_a_run_after_one_that_failed(self, tmp_path):
        """A crawl that runs again is not said to have failed, though stats.json still says so."""
        (tmp_path / "stats.json").write_text('{"reason": "store_failed"}')
        with closing(CrawlDB(tmp_path / "state")):
            page = made(tmp_path)

        assert "The crawl is running, or was killed" in page.text
        assert "could not keep what it did" not in page.section("wrong")

    def test_a_running_crawl(self, tmp_path):
        """The crawl that works is not held up, and the report is of its last checkpoint."""
        job = Job(tmp_path / "job")
        job.work()
        job.checkpoint()
        job.work()

        before = Report(report(job.root, {}, 0.0)).numbers("outcome-table")[0][2]
        job.checkpoint()
        after = Report(report(job.root, {}, 0.0)).numbers("outcome-table")[0][2]
        job.close()
        assert 0 < before < after

    def test_a_crawl_without_a_page(self, tmp_path):
        """Every section has a sentence in the place of its table."""
        CrawlDB(tmp_path / "state").close()
        page = made(tmp_path)

        for name, sentence in {
            "time": "Nothing was downloaded yet.",
            "bound": "It was not measured while the crawl ran.",
            "outcomes": "No URL has ended yet.",
            "wrong": "Nothing went wrong",
            "seeds": "No seed was read",
            "types": "no documents yet",
            "hosts": "No host has given a document yet.",
            "skipped": "No URL was left out.",
            "waiting": "No host is deferred.",
            "disk": "Nothing was written yet.",
            "settings": "does not record the settings",
        }.items():
            assert sentence in page.section(name)
        assert page.tree.xpath("//table") == []

    def test_damaged_lines(self, copy):
        """A line that cannot be read is left out, and the page says how many there are."""
        log = copy / "logs/crawl.log"
        lines = log.read_bytes().splitlines(keepends=True)
        lines[3] = b"\xff" * (len(lines[3]) - 1) + b"\n"
        lines[5] = b"2026 x" + lines[5][6:].replace(b" ", b"_")
        log.write_bytes(b"".join(lines))

        page = made(copy)
        assert "2 lines of logs/crawl.log cannot be read" in page.text
        assert page.numbers("outcome-table")[0][2] == len(lines) - 2

    def test_a_log_that_is_not_there(self, copy):
        """What the checkpoint counts and the log lacks is named."""
        (copy / "logs/crawl.log").unlink()

        assert "logs/crawl.log lacks" in made(copy).text

    def test_a_log_that_cannot_be_opened(self, copy):
        """The page says why, and does not call it short."""
        (copy / "logs/crawl.log").unlink()
        (copy / "logs/crawl.log").mkdir()
        text = made(copy).text

        assert "The log cannot be read: [Errno 21] Is a directory" in text
        assert "logs/crawl.log lacks" not in text

    def test_damaged_state(self, copy):
        """Rows and values that cannot be read are left out, and named."""
        tampered(
            copy / "state/crawl.db",
            "UPDATE host SET data = x'00' WHERE name = 'h3.test'",
            "UPDATE meta SET value = x'c1' WHERE name = 'tallies'",
        )

        page = made(copy)
        assert "1 host record cannot be read" in page.text
        assert "tallies in state/crawl.db cannot be read" in page.text

    def test_what_bounded_it(self, tmp_path):
        """A row for each cause with its time, its share, and what would have helped."""
        db = CrawlDB(tmp_path / "state")
        db.set(
            "tallies",
            msgpack.packb({"crawl": {"bound/politeness": 90, "bound/slots": 30, "pages": 7}}),
        )
        db.checkpoint()
        db.close()

        rows = made(tmp_path).rows("bound-table")
        assert [row[0] for row in rows] == ["politeness", "CONCURRENT_REQUESTS"]
        assert [row[2] for row in rows] == ["75.0 %", "25.0 %"]
        assert rows[1][3] == "a higher CONCURRENT_REQUESTS"

    def test_near_duplicates(self, tmp_path):
        """Of a crawl that noted fingerprints, near-duplicates are counted, up to the checkpoint."""
        db = CrawlDB(tmp_path / "state")
        outputs = Outputs(db, tmp_path)
        log = outputs.open("logs/neardup.log")
        for number, name in (
            (0xFF00, "a"),
            (0xFF01, "b"),
            (0xFF01, "c"),
            (0x1234567890ABCDEF, "d"),
        ):
            log.write(f"{number:016x}\thttp://{name}/\n".encode())
        log.write(b"-\thttp://short/\n")
        prepared(db)
        db.checkpoint()
        log.write(b"000000000000ff00\thttp://late/\n")
        log.flush()
        outputs.close()
        db.close()

        words = "(75.0 %) are near-duplicates of another, 2 of them with the same fingerprint."
        section = made(tmp_path).section("copies")
        assert f"3 of 4 pages with a fingerprint {words}" in section
        assert "Of those that share 90.0 % of their pairs of words, 78.4 % are found." in section
        assert "2 of 4 pages with a" in Report(report(tmp_path, {}, 0.0, max_distance=0)).section(
            "copies"
        )

    def test_wrong_checksums(self, copy):
        """A value with a wrong checksum is not believed, however plausible it is."""
        tampered(
            copy / "state/crawl.db",
            "UPDATE host SET state = -2 WHERE name = 'h3.test'",
            "UPDATE meta SET crc = crc + 1 WHERE name = 'tallies'",
            sealed=False,
        )

        page = made(copy)
        assert "1 host record cannot be read" in page.text
        assert "tallies in state/crawl.db cannot be read" in page.text

    def test_domains_over_budget(self, copy):
        """Domains over their budgets are listed with the URLs that wait."""
        rows = made(copy).numbers("budget-table")

        assert rows
        assert all(row[1] > 0 for row in rows)


class TestNoCrawls:
    def test_no_folder(self, tmp_path):
        with pytest.raises(NoCrawl, match="no such folder"):
            report(tmp_path / "none", {}, 0.0)

    def test_no_crawl(self, tmp_path):
        with pytest.raises(NoCrawl, match=r"not a crawl: state/crawl\.db is missing"):
            report(tmp_path, {}, 0.0)

    def test_a_state_of_another_version_is_not_misread(self, copy):
        """A crawl of another version of the state is not misread."""
        tampered(copy / "state/crawl.db", "PRAGMA user_version = 4")

        with pytest.raises(StateVersion, match="version 4"):
            report(copy, {}, 0.0)

    def test_no_database(self, copy):
        (copy / "state/crawl.db").write_bytes(b"no database" * 100)

        with pytest.raises(StoreError, match="not a SQLite database"):
            report(copy, {}, 0.0)


class TestFiles:
    def test_beside_the_crawl(self, copy):
        """By default the page is JOBDIR/report.html; its path is printed, and verify does not mind
        it.
        """
        done = command("scrapy", "report", copy)

        assert (done.returncode, done.stdout, done.stderr) == (0, f"{copy}/report.html\n", "")
        assert (copy / "report.html").read_text().startswith("<!doctype html>")
        assert [path.name for path in copy.glob(".report*")] == []
        assert command("scrapy", "verify", copy).returncode == 0

    def test_elsewhere(self, copy, tmp_path):
        """-o names the file, which is replaced; a dash prints the page."""
        (tmp_path / "old.txt").write_text("old")
        done = command("scrapy", "report", copy, "-o", tmp_path / "old.txt")
        printed = command("scrapy", "report", copy, "-o", "-")

        assert (done.returncode, printed.returncode) == (0, 0)
        assert (tmp_path / "old.txt").read_text().startswith("<!doctype html>")
        assert printed.stdout.startswith("<!doctype html>")
        assert not (copy / "report.html").exists()

    @pytest.mark.parametrize(
        ("name", "why"),
        [
            (".", "a folder, not a file"),
            ("job/logs/crawl.log", "must end in .html"),
            ("job/state/crawl.db", "must end in .html"),
            ("none/at/all.html", "No such file or directory"),
        ],
    )
    def test_where_it_may_not_go(self, copy, tmp_path, name, why):
        """A folder, a file of the crawl, or a path that is not there: one line, status 1, and
        nothing is changed.
        """
        before = tree(copy)
        done = command("scrapy", "report", copy, "-o", tmp_path / name)

        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
        assert why in done.stderr
        assert tree(copy) == before

    @pytest.mark.skipif(os.geteuid() == 0, reason="everything can be written to by root")
    def test_where_nobody_may_write(self, copy, tmp_path):
        (tmp_path / "shut").mkdir(mode=0o500)
        done = command("scrapy", "report", copy, "-o", tmp_path / "shut/report.html")

        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)

    @pytest.mark.parametrize(
        ("words", "elsewhere"),
        [((), "; -o FILE writes the report elsewhere, -o - prints it"), (("-o", "x.html"), "")],
    )
    def test_where_nothing_can_be_written(self, copy, monkeypatch, capsys, words, elsewhere):
        """A folder that is read-only, or full, is named with the reason, and with the way to write
        elsewhere.
        """

        def refuse(path, _):
            raise OSError(errno.EROFS, "Read-only file system", f"{path.parent}/.report.html.new")

        monkeypatch.setattr(report_command, "write_page", refuse)
        made = report_command.Command()
        parser = argparse.ArgumentParser()
        made.add_options(parser)
        made.run([str(copy)], parser.parse_args(words))

        where = words[1] if words else copy / "report.html"
        assert made.exitcode == 1
        assert capsys.readouterr().err == f"{where}: Read-only file system{elsewhere}\n"

    def test_a_link_in_the_place_of_the_new_file(self, copy, tmp_path):
        """The page is never written through a link that somebody has put beside it."""
        (tmp_path / "victim").write_text("mine")
        (tmp_path / ".out.html.new").symlink_to(tmp_path / "victim")
        done = command("scrapy", "report", copy, "-o", tmp_path / "out.html")

        assert done.returncode == 0
        assert (tmp_path / "victim").read_text() == "mine"
        assert not (tmp_path / "out.html").is_symlink()

    @pytest.mark.parametrize("words", [[], ["a", "b"]])
    def test_what_it_is_given(self, words):
        """One folder, no less and no more."""
        done = command("scrapy", "report", *words)

        assert done.returncode == 2
        assert "one folder: scrapy report JOBDIR" in done.stderr

    def test_no_crawl(self, tmp_path):
        """One line and status 1."""
        done = command("scrapy", "report", tmp_path)

        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"{tmp_path}: not a crawl: state/crawl.db is missing\n"
