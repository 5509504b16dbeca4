"""`scrapy verify`: a sound crawl passes, a missing or foreign one is refused in one line, and
nothing is changed.
"""

import gc
import json
import os
import sqlite3
import sys
from collections import Counter
from contextlib import closing

import pytest

from tests.support.commands import command
from tests.support.crawling import Crawl, wait_until
from tests.support.examples import in_campaign
from tests.support.jobs import HOSTS, Job, killed, stopped, tree
from tests.support.saving import settled
from tests.support.seens import OF_CRAWLS
from tests.support.tampering import tampered
from webcrawl.crawl.start_check import check_start
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile, StateVersion
from webcrawl.store.jobdir import snapshot
from webcrawl.store.jobdir.job_dir import NoCrawl
from webcrawl.store.jobdir.meta_row import CLEAN
from webcrawl.store.jobdir.snapshot import Changed, Snapshot
from webcrawl.store.outputs import Outputs
from webcrawl.tools.verify_crawl import verify

pytestmark = pytest.mark.xdist_group("verify verify")  # one stopped crawl for all tests


def told(root):
    """The damaged places, as lines without the folder's name. Verify must not change anything."""
    before = tree(root)
    lines = [str(damage).replace(f"{root}/", "") for damage in verify(root, Counter())]
    assert tree(root) == before
    return lines


def figures(root):
    found = Counter()
    assert list(verify(root, found)) == []
    return found


class TestSound:
    @pytest.mark.parametrize("store", OF_CRAWLS)
    def test_a_stopped_crawl_passes(self, tmp_path, store):
        """A stopped crawl is sound with each seen store, and the figures are the crawl's."""
        root = stopped(tmp_path / "job", store)

        assert told(root) == []
        found = figures(root)
        assert found["hosts"] == HOSTS
        assert found["queued"] > 500
        assert found["keys"] + found["waiting"] >= 2000
        assert found["behind"] == 0

    def test_a_finished_file_that_was_taken_away(self, tmp_path):
        """A finished file that is no longer there is no damage; it is named after the summary."""
        root = stopped(tmp_path / "job")
        with closing(CrawlDB(root / "state")) as db:
            outputs = Outputs(db, root)
            for name in ("one", "two"):
                output = outputs.open(f"warc/{name}.open")
                output.write(b"data")
                output.finish()
            db.checkpoint()
            outputs.close()
        (root / "warc/two").unlink()

        assert told(root) == []
        assert [*check_start(root)] == []
        done = command("scrapy", "verify", root)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (
            0,
            "warc/two: was finished, but is no longer here",
        )

    @pytest.mark.parametrize("store", ["disk", *in_campaign("bloom")])
    def test_a_killed_crawl_passes(self, tmp_path, store):
        """Bytes written after the last checkpoint are no damage; the figures count them."""
        root = killed(tmp_path / "live", tmp_path / "job", store)

        assert told(root) == []
        assert figures(root)["behind"] > 1000
        CrawlDB(root / "state").close()  # recovery gives the same checkpoint
        assert {**figures(root), "behind": 0} == {**figures(root), "behind": 0}

    def test_who_has_written_behind_the_last_checkpoint(self, tmp_path):
        """After a run that ended well it was no run: its bytes are not said to be fetched again."""
        root = stopped(tmp_path / "job")
        log = next(root.glob("logs/*.log"))
        log.write_bytes(log.read_bytes() + b"somebody else's")

        assert figures(root)["behind"] == 15
        with closing(CrawlDB(root / "state")) as db:
            db.set(CLEAN, b"1")
            db.checkpoint()
        assert (figures(root)["behind"], figures(root)["foreign"]) == (0, 15)

    def test_recovery_comes_to_what_was_verified(self, tmp_path):
        """The figures after a restart are those before it, except for what is truncated."""
        root = killed(tmp_path / "live", tmp_path / "job")
        before = figures(root)

        job = Job(root)
        job.close()

        after = figures(root)
        assert after.pop("behind") == 0 < before.pop("behind")
        assert after == before

    def test_without_the_index_of_the_log(self, tmp_path):
        """A log whose index was not copied is read nevertheless."""
        root = killed(tmp_path / "live", tmp_path / "job")
        before = figures(root)
        (root / "state/crawl.db-shm").unlink()

        assert told(root) == []
        assert figures(root) == before

    def test_killed_between_the_header_of_the_log_and_its_first_page(self, copy):
        """A log of only a header is empty; SQLite by itself would wait for the rest."""
        before = figures(copy)
        (copy / "state/crawl.db-wal").write_bytes(
            bytes.fromhex("377f0682002de21800002000") + bytes(range(20))
        )
        (copy / "state/crawl.db-shm").write_bytes(bytes(32768))

        assert told(copy) == []
        assert figures(copy) == before

    def test_a_log_that_a_running_crawl_has_just_truncated(self, tmp_path, monkeypatch):
        """For an instant it is only a header: then its first page is waited for."""
        root = killed(tmp_path / "live", tmp_path / "job")
        with Snapshot(root / "state") as whole:
            (before,) = whole.rows("SELECT count(*) FROM waiting")
        log = root / "state/crawl.db-wal"
        written = log.read_bytes()
        log.write_bytes(written[:32])
        monkeypatch.setattr(snapshot.time, "sleep", lambda _: log.write_bytes(written))

        with Snapshot(root / "state") as reading:
            assert list(reading.rows("SELECT count(*) FROM waiting")) == [before]
            assert before > (0,)

    @pytest.mark.skipif(os.geteuid() == 0, reason="everything can be written to by root")
    def test_read_only(self, tmp_path):
        """A crawl on a read-only medium passes."""
        root = killed(tmp_path / "live", tmp_path / "job")
        for path in (root, *root.rglob("*")):
            path.chmod(0o500 if path.is_dir() else 0o400)

        assert told(root) == []

    def test_a_crawl_that_works(self, tmp_path):
        """The last checkpoint of a running crawl passes, and the crawl is not held up."""
        job = Job(tmp_path / "job")
        job.work()
        job.checkpoint()
        found = Counter()

        reading = verify(job.root, found)
        with Snapshot(job.root / "state") as snapshot:
            (before,) = snapshot.rows("SELECT count(*) FROM waiting")
            for _ in range(3):
                job.work()
                job.checkpoint()
            assert list(snapshot.rows("SELECT count(*) FROM waiting")) == [before]
        assert list(reading) == []
        assert found["lines"] > 1000
        job.close()

    def test_a_finished_file_that_was_not_renamed(self, copy):
        """A finished file that still has its `.open` is accepted."""
        first = min((copy / "warc").glob("*.warc.gz*"))
        first.rename(f"{first}.open")

        assert told(copy) == []

    def test_a_crawl_begun_meanwhile(self, copy):
        """If files at rest change during the check, no verdict is given."""
        with Snapshot(copy / "state") as snapshot:
            Job(copy).close()
            job = Job(copy)
            job.work()
            job.checkpoint()
            settled(job.db)
            with pytest.raises(
                Changed, match="started while this command was reading: run the command again"
            ):
                snapshot.check_still()
            job.close()

    def test_a_crawl_that_has_just_begun(self, copy, monkeypatch):
        """If no damage was found by then, the check is repeated, now with the crawl's log."""
        still, jobs = Snapshot.check_still, []

        def begin(snapshot):
            if not jobs:
                jobs.append(Job(copy))
                jobs[0].work()
                jobs[0].checkpoint()
                settled(jobs[0].db)
            still(snapshot)

        before = figures(copy)["lines"]
        monkeypatch.setattr(Snapshot, "check_still", begin)
        after = figures(copy)["lines"]

        jobs[0].close()
        assert after > before


class TestNothingToVerify:
    def test_no_folder(self, tmp_path):
        """A missing JOBDIR is an error."""
        with pytest.raises(NoCrawl, match="no such folder"):
            list(verify(tmp_path / "none", Counter()))

    def test_a_folder_without_a_crawl_is_an_error(self, tmp_path):
        """A folder without a crawl is an error."""
        with pytest.raises(NoCrawl, match=r"not a crawl: state/crawl\.db is missing"):
            told(tmp_path)

    def test_a_crawl_of_another_version_is_not_misread(self, copy):
        """A crawl of another version of this program is not misread."""
        tampered(copy / "state/crawl.db", "PRAGMA user_version = 99")

        with pytest.raises(StateVersion, match="version 99"):
            told(copy)

    def test_a_log_without_its_database(self, copy):
        """A log without its database is damage."""
        (copy / "state/crawl.db").rename(copy / "state/crawl.db-wal")

        assert told(copy) == [
            "state/crawl.db-wal: damaged at byte 0: the log exists, but crawl.db is missing"
        ]


class TestMissing:
    @pytest.mark.parametrize(
        "pattern", ["state/seen/url-*", "state/seen/content-*", "logs/crawl.log"]
    )
    def test_files(self, copy, pattern):
        """A missing file that the checkpoint names is reported."""
        named = {name for (name,) in _rows(copy, "SELECT name FROM run")} | {"crawl.log"}
        path = next(path for path in copy.glob(pattern) if path.name in named)
        path.unlink()

        (line,) = told(copy)

        assert line.startswith(f"{path.relative_to(copy)}: damaged at byte 0: ")

    def test_the_bloom_filter(self, tmp_path):
        """A missing file of a Bloom filter is reported."""
        root = stopped(tmp_path / "job", "bloom")
        for path in root.glob("state/seen/bloom-*"):
            path.unlink()

        (line,) = told(root)

        assert "bloom-" in line
        assert line.endswith("the file is missing, though the checkpoint names it")

    def test_statistics_may_be_missing(self, copy):
        """stats.json may be deleted."""
        (copy / "stats.json").unlink()

        assert told(copy) == []


def _rows(root, sql):
    with closing(sqlite3.connect(root / "state/crawl.db")) as db:
        return db.execute(sql).fetchall()


class TestRows:
    """Rows that are fine for SQLite."""

    @pytest.mark.parametrize(
        ("sql", "why"),
        [
            ("DELETE FROM block WHERE id = (SELECT max(id) FROM block)", "is missing"),
            (
                "INSERT INTO block SELECT id + 1000, data FROM block LIMIT 1",
                "no queue refers to it",
            ),
            (
                "UPDATE host SET name = 'other.test' WHERE name = (SELECT max(name) FROM host WHERE state = 1)",
                "of another host",
            ),
            (
                "UPDATE host SET state = 7 WHERE name = 'h3.test'",
                "table host, h3.test: 7 is not a valid State",
            ),
            ("UPDATE host SET data = x'00' WHERE name = 'h3.test'", "table host, h3.test: "),
            (
                "DELETE FROM host WHERE name = (SELECT max(name) FROM host WHERE state = 1)",
                "URLs should be queued, but the queues hold",
            ),
            ("UPDATE meta SET value = x'80' WHERE name = 'frontier'", "table meta, frontier: "),
            ("UPDATE meta SET value = x'00' WHERE name = 'key'", "table meta, key: has 1 bytes"),
            (
                "UPDATE meta SET value = x'00' WHERE name = 'tallies'",
                "table meta, tallies: not a mapping",
            ),
            (
                "UPDATE meta SET value = CAST('3 warc/none' AS BLOB) WHERE name = 'warc'",
                "table meta, warc: ",
            ),
            ("UPDATE meta SET value = x'7b' WHERE name = 'seen.state'", "table meta, seen.state: "),
            (
                "UPDATE meta SET value = x'00' WHERE name = 'content.fresh'",
                "table meta, content.fresh: its 1 bytes",
            ),
            (
                "INSERT OR REPLACE INTO meta VALUES ('seen.fresh', zeroblob(16), 0)",
                "table meta, seen.fresh: the keys are not in asc",
            ),
            (
                "DELETE FROM waiting WHERE seq = (SELECT max(seq) FROM waiting)",
                "table waiting: expected records",
            ),
            ("UPDATE waiting SET keys = substr(keys, 9)", "table waiting, record"),
            ("UPDATE run SET count = count + 1", "keys, but the checkpoint says"),
            ("UPDATE run SET store = 'other'", "table run: "),
            (
                "UPDATE output SET length = length - 1 WHERE path = 'logs/crawl.log'",
                "the last checkpoint ends within this line",
            ),
            (
                "UPDATE output SET length = length - 1 WHERE path LIKE 'warc/%0.warc.gz'",
                "the file ends within a record",
            ),
            ("UPDATE output SET length = length + 1", "the file ends early"),
            ("UPDATE output SET path = '../' || path", "table output: "),
            ("UPDATE robots SET rules = x'28B52FFD', until = 1.5", "table robots, http://h"),
            (
                "UPDATE robots SET rules = x'21' WHERE hex(rules) LIKE '21%'",
                "table robots, http://h",
            ),
            (
                "UPDATE robots SET rules = CAST(rules || x'21' AS BLOB) WHERE hex(rules) LIKE '21%'",
                "table robots, http://h",
            ),
            (
                "UPDATE robots SET rules = CAST(rules || x'3B21' AS BLOB) WHERE hex(rules) LIKE '21%'",
                "table robots, http://h",
            ),
        ],
    )
    def test_what_does_not_fit(self, copy, sql, why):
        """A row that is missing, superfluous, malformed or in conflict with others is reported."""
        tampered(copy / "state/crawl.db", sql)

        lines = told(copy)

        assert [line for line in lines if why in line], lines

    @pytest.mark.parametrize(
        ("sql", "why"),
        [
            (
                "UPDATE meta SET value = zeroblob(16) || x'31' WHERE name = 'key'",
                "table meta, key: wrong checksum",
            ),
            (
                "UPDATE meta SET value = value || '' WHERE name = 'warc'",
                "table meta, warc: wrong checksum",
            ),
            ("UPDATE meta SET name = 'kez' WHERE name = 'key'", "table meta, kez: wrong checksum"),
            (
                "UPDATE host SET state = -1 WHERE name = 'h3.test'",
                "table host, h3.test: wrong checksum",
            ),
            (
                "UPDATE host SET crc = crc + 1 WHERE name = 'h3.test'",
                "table host, h3.test: wrong checksum",
            ),
            ("UPDATE robots SET until = until + 1", "table robots, http://h0.test: wrong checksum"),
            (
                "UPDATE robots SET origin = 'http://H0.test' WHERE origin LIKE '%h0.%'",
                "http://H0.test: wrong checksum",
            ),
            (
                "UPDATE waiting SET keys = zeroblob(length(keys))",
                ": wrong checksum of the keys",
            ),
            (
                "UPDATE output SET length = length - 9 WHERE path LIKE 'logs/c%'",
                "table output, logs/crawl.log: wrong checksum",
            ),
            (
                "UPDATE output SET bytes_crc = 7 WHERE path LIKE 'logs/c%'",
                "table output, logs/crawl.log: wrong checksum",
            ),
        ],
    )
    def test_what_is_as_good_another_way(self, copy, sql, why):
        """A plausible value with the wrong checksum is reported."""
        tampered(copy / "state/crawl.db", sql, sealed=False)

        lines = told(copy)

        assert [line for line in lines if why in line], lines

    def test_reading_that_is_left_off(self, copy):
        """Rows that are not read to the end, because one of them is wrong, are released without an
        error.
        """
        tampered(
            copy / "state/crawl.db",
            *(f"INSERT INTO meta VALUES ('seen.keys.{n}', x'', 0)" for n in "abc"),
        )
        lost = []

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "unraisablehook", lost.append)
            lines = told(copy)
            gc.collect()

        assert [line for line in lines if "table meta, seen.keys.*: invalid literal" in line], lines
        assert lost == []

    def test_a_table_of_another_form(self, copy):
        """Table definitions other than those of this program are damage."""
        tampered(copy / "state/crawl.db", "CREATE TABLE other (x)", "DROP INDEX host_in_use")

        for check in (lambda: told(copy), lambda: list(check_start(copy))):
            with pytest.raises(
                DamagedFile,
                match="table sqlite_schema, host_in_use: differs from the definition in this version",
            ):
                check()

    def test_two_queues_with_one_block(self, copy):
        """A block that two queues name is damage: it would be fetched twice."""
        sql = "INSERT INTO host SELECT 'x' || name, state, data, crc FROM host ORDER BY length(data) DESC LIMIT 1"
        tampered(copy / "state/crawl.db", sql)

        assert told(copy)


class TestCommand:
    def test_a_sound_crawl(self, job):
        """A sound crawl gives a summary and exit status 0."""
        done = command("scrapy", "verify", job)

        assert (done.returncode, done.stderr) == (0, "")
        first, frontier, seen, outputs = done.stdout.splitlines()
        assert first == f"{job}: no damage found"
        assert frontier.startswith("frontier: ")
        assert "keys" not in seen
        assert "WARC records" in outputs

    def test_a_damaged_crawl(self, copy):
        """Each damaged place is one line on standard output, followed by their number; the exit
        status is 1.
        """
        (copy / "logs/crawl.log").unlink()
        os.truncate(min((copy / "warc").glob("*.warc.gz*")), 0)

        done = command("scrapy", "verify", copy)

        assert (done.returncode, done.stderr) == (1, "")
        assert [line.split(": ")[1] for line in done.stdout.splitlines()[:2]] == 2 * [
            "damaged at byte 0"
        ]
        assert done.stdout.splitlines()[2:] == [f"{copy}: damaged places: 2"]

    def test_a_sound_crawl_as_json(self, job):
        """With --json a sound crawl is one object: no damage, the figures of the summary, and its
        lines.
        """
        done = command("scrapy", "verify", job, "--json")

        answer = json.loads(done.stdout)
        assert (done.returncode, answer["jobdir"], answer["damaged"]) == (0, str(job), [])
        assert answer["summary"] == command("scrapy", "verify", job).stdout.splitlines()
        assert answer["summary"][1].startswith(f"frontier: {answer['queued']} URLs queued")
        assert answer["summary"][2].startswith(f"seen: {answer['seen']} URLs")

    def test_a_damaged_crawl_as_json(self, copy):
        """With --json the damaged places are a list of the object, with path, byte and reason; the
        exit status is 1.
        """
        (copy / "logs/crawl.log").unlink()

        done = command("scrapy", "verify", "--json", copy)

        (damaged,) = json.loads(done.stdout)["damaged"]
        assert (done.returncode, done.stderr) == (1, "")
        assert (damaged["path"], damaged["byte"]) == (f"{copy}/logs/crawl.log", 0)
        assert (
            f"{copy}/logs/crawl.log: damaged at byte 0: {damaged['why']}"
            in command("scrapy", "verify", copy).stdout
        )

    def test_a_missing_crawl_as_json(self, tmp_path):
        """With --json a missing crawl is an object with the error, and exit status 1."""
        done = command("scrapy", "verify", tmp_path / "none", "--json")

        assert (done.returncode, json.loads(done.stdout)) == (
            1,
            {"error": f"{tmp_path}/none: no such folder"},
        )

    def test_a_damaged_name(self, copy):
        """A damaged name is escaped: it cannot control a terminal, and its place is one line."""
        tampered(
            copy / "state/crawl.db",
            "UPDATE host SET name = char(27) || '[2J' || char(10, 8238) || name",
        )

        done = command("scrapy", "verify", copy)

        lines = done.stdout.splitlines()
        assert any(r"table host, \x1b[2J\x0a\u202e" in line for line in lines)
        assert all(line.isprintable() for line in lines)
        assert all(line.startswith(str(copy)) for line in lines)

    def test_a_missing_crawl_is_one_line_and_status_1(self, tmp_path):
        """A missing crawl is one line on standard error, and exit status 1."""
        done = command("scrapy", "verify", tmp_path / "none")

        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"{tmp_path}/none: no such folder\n"

    @pytest.mark.skipif(os.geteuid() == 0, reason="everything can be read by root")
    def test_no_permission(self, copy):
        """A file without read permission is one line on standard error."""
        (copy / "state/crawl.db").chmod(0)

        done = command("scrapy", "verify", copy)

        assert (done.returncode, done.stdout) == (1, "")
        assert len(done.stderr.splitlines()) == 1

    def test_no_argument(self):
        """Without a JOBDIR the usage is printed."""
        assert command("scrapy", "verify").returncode == 2


@pytest.mark.campaign
class TestRealCrawls:
    def test_while_it_runs_when_it_was_killed_and_when_it_has_ended(self, tmp_path, simweb):
        """A real crawl is sound while it runs, after a kill and at its end."""
        server = simweb(8, 160, latency=0.02)
        (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
        settings = {
            "DNS_NAMESERVERS": server.nameserver,
            "CHECKPOINT_INTERVAL": 0.2,
            "ITEM_PIPELINES": '{"webcrawl.adapter.pipelines.outputs.LinkLogPipeline": 300}',
        }
        crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)

        running = crawl.start()
        wait_until(lambda: (crawl.jobdir / "stats.json").exists() and crawl.stats["pages"] > 20)
        alive = [list(verify(crawl.jobdir, Counter())) for _ in range(5)]
        running.kill()
        dead = told(crawl.jobdir)
        status = crawl.run()

        assert (alive, dead, status, told(crawl.jobdir)) == (5 * [[]], [], 0, [])
        assert figures(crawl.jobdir)["queued"] == 0


class TestDomains:
    def test_what_is_over_budget_is_counted(self, tmp_path):
        """The URLs that wait for their domains' budgets are among those queued, and counted."""
        found = figures(stopped(tmp_path / "job"))

        assert found["queued"] > found["over budget"] > 0
        assert found["domains"] == found["linked"] == 10

    @pytest.mark.parametrize(
        ("statement", "place"),
        [
            (
                "UPDATE domain SET waiting = waiting + 1 WHERE waiting > 0",
                "URLs should be waiting, but its queue holds",
            ),
            ("UPDATE domain SET rank = 65", "table domain"),
            ("UPDATE domain SET data = x'90'", "not a domain record"),
            ("UPDATE linked SET sources = x'0102'", "table linked"),
            ("UPDATE linked SET sources = zeroblob(260)", "table linked"),
            ("DELETE FROM domain WHERE waiting > 0", "URLs should be queued, but the queues hold"),
        ],
    )
    def test_a_row_that_disagrees(self, tmp_path, statement, place):
        """A domain's row must agree with its queue, and one of links hold whole hashes."""
        root = stopped(tmp_path / "job")
        tampered(root / "state/crawl.db", statement)

        assert any(place in line for line in told(root))

    def test_a_checksum_of_a_domain(self, tmp_path):
        """A domain's row with another checksum is damaged."""
        root = stopped(tmp_path / "job")
        tampered(root / "state/crawl.db", "UPDATE domain SET rank = rank + 1", sealed=False)

        assert any("table domain, 0.test: wrong checksum" in line for line in told(root))
