"""A JOBDIR of an earlier version goes on after `scrapy upgrade`; whatever goes wrong, it stays what it was."""

import shutil
import sqlite3
import subprocess
import sys
import tarfile
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.commands import command
from tests.support.crawling import Crawl, wait_until
from tests.tools.upgrade import site
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile, StateLocked, StateVersion, StoreError
from webcrawl.store.schema import VERSION
from webcrawl.tools.upgrade.upgrading import NoUpgrade, upgrade

HERE = Path(__file__).parent
COMMAND = "webcrawl"
FAST = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0.005}
ROBOTS = {url for url in site.urls() if url.endswith("/robots.txt")}
MIDDLE = """
import sys, time
from pathlib import Path
from webcrawl.tools.upgrade.upgrading import upgrade

def step(db):
    db.execute("DELETE FROM host")
    (Path(sys.argv[1]) / "begun").touch()
    time.sleep(60)

[*upgrade(Path(sys.argv[1]), steps={4: step})]
"""


@pytest.fixture(name="old")
def _old(tmp_path):
    """The folder of a crawl of version 4 that was killed halfway."""
    with tarfile.open(HERE / "version-4.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in site.seeds()))
    return tmp_path / "job"


def bytes_of(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "lock"}


def version_of(job):
    """As SQLite knows it."""
    with closing(sqlite3.connect(job / "state/crawl.db")) as db:
        return db.execute("PRAGMA user_version").fetchone()[0]


@pytest.mark.xdist_group("upgrade-site")  # its addresses and port are in the archive
def test_the_crawl_goes_on(old, tmp_path):
    """After the upgrade today's crawl finishes what was begun: every page is there once, and `verify` is content."""
    with site.serving() as asked:
        before = [line.split()[3] for line in (old / "logs/crawl.log").read_text().splitlines()]
        assert 50 < len(before) < 250
        done = command(COMMAND, "upgrade", str(old))
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"{old}: version 4 became version 5: {_queued(done.stdout)} URLs, 3 hosts\n"
        assert command(COMMAND, "verify", str(old)).returncode == 0
        settings = {"PORTS_ALLOWED": site.PORT, "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/8", **FAST}
        here = {"SCRAPY_SETTINGS_MODULE": "webcrawl.settings"}
        crawl = Crawl(old, {"seeds": "seeds.txt"}, settings, project=tmp_path, environment=here)
        assert crawl.run() == 0, crawl.output.read_text()

    logged = Counter(line.split()[3] for line in (old / "logs/crawl.log").read_text().splitlines())
    assert set(logged) == site.urls()
    assert {url for url, times in logged.items() if times > 1} <= ROBOTS  # which are a day old by now
    assert len(asked) == len(set(asked))
    assert set(asked).isdisjoint({*before[:50]} - ROBOTS)
    assert crawl.stats["reason"] == "finished"
    checked = command(COMMAND, "verify", str(old))
    assert (checked.returncode, checked.stdout.splitlines()[0]) == (0, f"{old}: no damage found")


def _queued(said):
    number = int(said.rpartition(": ")[2].partition(" ")[0])
    assert 50 < number < 360
    return number


class TestVersions:
    def test_the_crawl_names_the_command(self, old):
        """An older state is refused with the command that upgrades it, and nothing is changed."""
        before = bytes_of(old)
        with pytest.raises(StateVersion) as refusal:
            CrawlDB(old / "state")

        path = old / "state/crawl.db"
        line = f"{path}: written by version 4 of the state, this program reads {VERSION}: scrapy upgrade {old}"
        assert str(refusal.value) == line
        assert bytes_of(old) == before

    def test_a_second_time(self, old):
        """What is up to date stays as it is."""
        assert len([*upgrade(old)]) == 1
        before = bytes_of(old)

        assert [*upgrade(old)] == []
        assert bytes_of(old) == before
        assert command(COMMAND, "upgrade", str(old)).stdout == f"{old}: is up to date\n"

    @pytest.mark.parametrize("number", [VERSION + 1, 1000])
    def test_a_later_version(self, old, number):
        """A state of a later program is refused, by the crawl and by the command."""
        [*upgrade(old)]
        _set_version(old, number)
        line = f"made by a later webcrawl (version {number} of the state, this program reads {VERSION})"

        with pytest.raises(NoUpgrade) as refusal:
            [*upgrade(old)]
        assert line in str(refusal.value)
        with pytest.raises(StateVersion) as refusal:
            CrawlDB(old / "state")
        assert line in str(refusal.value)

    def test_a_version_from_which_nothing_leads(self, old):
        """Versions 1 to 3 are refused in a line, which names no command that would not help."""
        with closing(sqlite3.connect(old / "state/crawl.db")) as db, db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        _set_version(old, 3)

        with pytest.raises(NoUpgrade, match="nothing leads from version 3 of the state to version 5"):
            [*upgrade(old)]
        with pytest.raises(StateVersion, match=r"written by version 3 of the state, this program reads 5$"):
            CrawlDB(old / "state")

    def test_several_steps(self, old):
        """Steps are taken in their order, each in a transaction of its own, with a line each."""
        taken = []

        def step(db):
            taken.append(db.execute("PRAGMA user_version").fetchone()[0])
            return {"page": 1}

        lines = [*upgrade(old, to=7, steps={4: step, 5: step, 6: step})]

        assert taken == [4, 5, 6]
        assert lines == [f"version {number} became version {number + 1}: 1 page" for number in taken]
        assert version_of(old) == 7

    def test_every_version_from_the_oldest_has_its_step(self):
        """From each version that is not refused a way leads to this one."""
        from webcrawl.store.schema import OLDEST
        from webcrawl.tools.upgrade.upgrading import STEPS

        assert sorted(STEPS) == [*range(OLDEST, VERSION)]


def _set_version(job, number):
    with closing(sqlite3.connect(job / "state/crawl.db")) as db, db:
        db.execute(f"PRAGMA user_version = {number}")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class TestRefused:
    def test_while_a_crawl_runs(self, old):
        """A JOBDIR that a process works on is refused, and nothing is changed."""
        [*upgrade(old)]
        db = CrawlDB(old / "state")
        try:
            with pytest.raises(StateLocked):
                [*upgrade(old)]
        finally:
            db.close()

    def test_without_room(self, old):
        """The disk must have room for three times the database; what is missing is said."""
        rows = _rows(old)
        with pytest.raises(NoUpgrade, match=r"state/crawl.db: 64 MiB have to be free for this, 1 MiB are"):
            [*upgrade(old, free=lambda _: 1 << 20)]

        assert (version_of(old), _rows(old)) == (4, rows)

    @pytest.mark.parametrize("what", ["nothing", "file", "other", "cut"])
    def test_what_is_no_crawl(self, old, what):
        """A folder without a crawl, and a file that is no state, are refused in one line with exit status 1."""
        path = old / "state/crawl.db"
        if what == "nothing":
            shutil.rmtree(old / "state")
        else:
            path.write_bytes({"file": b"hello", "other": b"SQLite format 3\0" + bytes(200), "cut": b""}[what])
        done = command(COMMAND, "upgrade", str(old))

        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)

    def test_what_is_missing_is_not_called_damaged(self, old):
        """A folder that is not there, or holds no crawl, is named as such."""
        missing = command(COMMAND, "upgrade", str(old / "nothing"))
        empty = command(COMMAND, "upgrade", str(old.parent))

        assert (missing.returncode, missing.stderr) == (1, f"{old / 'nothing'}: no such folder\n")
        assert (empty.returncode, empty.stderr) == (1, f"{old.parent}: not a crawl: state/crawl.db is missing\n")

    def test_a_wrong_command_line(self):
        """Without a folder, or with two, the usage is shown."""
        assert command(COMMAND, "upgrade").returncode == 2
        assert command(COMMAND, "upgrade", "a", "b").returncode == 2


class TestDamage:
    @pytest.mark.parametrize("table", ["host", "block", "meta"])
    def test_a_damaged_row(self, old, table):
        """A row that is not what was written stops the upgrade with a line; the state stays of version 4."""
        column, key = {"host": ("data", "name"), "block": ("data", "id"), "meta": ("value", "name")}[table]
        with closing(sqlite3.connect(old / "state/crawl.db")) as db, db:
            rows = db.execute(f"SELECT {key}, {column} FROM {table}").fetchall()
            first, data = next(row for row in rows if table != "meta" or row[0] == "frontier")
            middle = len(data) // 2
            data = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
            db.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (data, first))
        rows = _rows(old)

        with pytest.raises(DamagedFile):
            [*upgrade(old)]
        assert (version_of(old), _rows(old)) == (4, rows)

    def test_a_full_disk(self, old):
        """A disk that is full in the middle of it stops the upgrade with a line; the state stays of version 4."""
        rows = _rows(old)

        def step(db):
            db.execute("PRAGMA max_page_count = 20")
            db.execute("DELETE FROM robots")
            db.execute("INSERT INTO block VALUES (10000, zeroblob(10000000))")

        with pytest.raises(StoreError, match="full"):
            [*upgrade(old, steps={4: step})]
        assert (version_of(old), _rows(old)) == (4, rows)


def _rows(job):
    with closing(sqlite3.connect(job / "state/crawl.db")) as db:
        return {table: db.execute(f"SELECT * FROM {table}").fetchall() for table in ("meta", "host", "block", "robots")}


class TestKilled:
    def test_in_the_middle(self, old):
        """A `kill -9` during the transaction leaves the old state, from which the same command resumes."""
        rows = _rows(old)
        process = subprocess.Popen([sys.executable, "-c", MIDDLE, str(old)], cwd=HERE.parents[2])
        wait_until((old / "begun").exists)
        process.kill()
        process.wait()

        assert (version_of(old), _rows(old)) == (4, rows)
        assert len([*upgrade(old)]) == 1

    def test_right_after_it(self, old):
        """A `kill -9` before the log is copied back leaves a header of version 4; the same command ends the work."""
        code = "import os, sys; from pathlib import Path; from webcrawl.tools.upgrade.upgrading import upgrade\n"
        code += "for _ in upgrade(Path(sys.argv[1])): os.kill(os.getpid(), 9)"
        killed = subprocess.run([sys.executable, "-c", code, str(old)], check=False, cwd=HERE.parents[2])
        assert killed.returncode == -9
        assert (old / "state/crawl.db").read_bytes()[63] == 4

        assert [*upgrade(old)] == []
        assert (old / "state/crawl.db").read_bytes()[63] == 5
        assert command(COMMAND, "verify", str(old)).returncode == 0


def test_each_drone_of_a_hive_is_upgraded(old, tmp_path):
    """Of a hive each drone's folder is upgraded."""
    for number in (0, 1):
        shutil.copytree(old, tmp_path / f"hive/drone-{number}")
    done = command(COMMAND, "upgrade", str(tmp_path / "hive"))

    assert (done.returncode, done.stdout.count("version 4 became version 5")) == (0, 2)
