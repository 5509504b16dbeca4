"""`scrapy verify` of a hive: each drone as a crawl, and everything in one drone only."""

import gzip
import re
import shutil
import sqlite3
import zlib
from collections import Counter
from contextlib import closing
from functools import partial

import msgpack
import pytest

from tests.support.commands import command
from tests.support.hive_jobs import hive, named
from tests.support.jobs import Job, stopped, tree
from tests.support.tampering import tampered
from webcrawl.base.digest import SHA1
from webcrawl.crawl.hive import registry
from webcrawl.crawl.hive.member import IDENTITY, KEY, MAP, Identity
from webcrawl.record.since.index import GONE_PREFIX
from webcrawl.record.since.sources import FileSignature, write_indexed_files
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import Disk
from webcrawl.tools import verify_hive as module
from webcrawl.tools.verify_crawl import verify
from webcrawl.tools.verify_hive import pages, shared_names, verify_hive

pytestmark = pytest.mark.xdist_group("verify hive")  # one hive for all tests


@pytest.fixture(name="sound", scope="module")
def _sound(tmp_path_factory):
    return hive(tmp_path_factory.mktemp("hive") / "web")


@pytest.fixture(name="copy")
def _copy(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "web")


@pytest.fixture(name="same", scope="module")
def _same(tmp_path_factory):
    """Two drones that have crawled the same hosts."""
    return hive(tmp_path_factory.mktemp("same") / "web", ("h", "h"))


def told(root):
    """The damaged places, as lines without the folder's name. Verify must not change anything."""
    before = tree(root)
    lines = [str(damage).replace(f"{root}/", "") for damage in verify_hive(root, Counter())]
    assert tree(root) == before
    return lines


def figures(root, check=verify_hive):
    found = Counter()
    assert list(check(root, found)) == []
    return found


class TestSound:
    def test_figures_are_sums(self, sound):
        """A sound hive passes, and its figures are those of its drones together."""
        found = figures(sound)
        parts = [figures(sound / f"drone-{drone}", verify) for drone in range(2)]

        for name in ("hosts", "queued", "keys", "files", "bytes", "records"):
            assert found[name] == parts[0][name] + parts[1][name] > 0
        assert found["drones"] == 2
        assert (
            found["pages"]
            == found["archived"]
            == sum(map(ended, (sound / "drone-0", sound / "drone-1")))
        )

    def test_the_summary_has_a_line_on_the_hive(self, sound):
        """The summary has a line on the hive."""
        done = command("scrapy", "verify", sound)

        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines()[0] == f"{sound}: no damage found"
        many = ended(sound / "drone-0") + ended(sound / "drone-1")
        assert done.stdout.splitlines()[1].startswith(
            f"hive: 2 drones; {many} URLs, {many} archived URLs, "
        )

    def test_drones_without_a_hive_file(self, copy):
        """Folders of drones that were copied into one are checked alike."""
        (copy / "hive.json").unlink()

        assert told(copy) == []
        assert figures(copy)["drones"] == 2

    def test_an_archive_without_an_index(self, copy):
        """Where the archive has no index its records are read."""
        for drone in range(2):
            unindexed(copy / f"drone-{drone}")

        assert figures(copy)["archived"] == ended(copy / "drone-0") + ended(copy / "drone-1")

    def test_a_running_hive(self, tmp_path):
        """Drones that work are not held up; what each did since its last checkpoint does not count."""
        jobs = [Job(tmp_path / f"drone-{drone}", hosts=hosts) for drone, hosts in enumerate("hi")]
        for job in jobs:
            job.work()
            job.checkpoint()
            job.work()

        assert list(verify_hive(tmp_path, Counter())) == []
        for job in jobs:
            job.close()

    def test_rows_of_the_hive(self, copy):
        """What drones keep of the hive in the table meta is no damage."""
        db = CrawlDB(copy / "drone-0/state")
        db.set("hive/outbox/1/0000000001", b"\xc1 batch")
        db.set("hive/id", b"0123456789abcdef")
        db.checkpoint()
        db.close()

        assert told(copy) == []

    def test_a_host_left_behind(self, copy):
        """A host record without URLs stays where it was when its slot moved."""
        tampered(copy / "drone-1/state/crawl.db", *moved(copy, "h0.test"))

        assert told(copy) == []

    def test_robots_of_two_drones(self, copy):
        """A robots.txt, or what pages await, may be requested by the host's former owner and by its
        present one.
        """
        assert said_by_two(copy, path="LP") == []
        assert said_by_two(copy, notes="inline") == []

    def test_a_page_behind_a_block_page_that_moved(self, copy):
        """The former owner got the block page, the present one asks again: such a URL had not
        ended.
        """
        assert said_by_two(copy, notes="3t,wall:anubis") == []
        assert said_by_two(copy, notes="wall:unknown") != []

    def test_archived_urls_of_two_drones(self, same, tmp_path):
        """URLs that several drones may have archived are not said to be in only one drone."""
        root = shutil.copytree(same, tmp_path / "web")
        repeated(root / "drone-0")
        of_drones = [set(urls(root / f"drone-{drone}")) for drone in range(2)]
        both = set.intersection(*of_drones)
        found = Counter()
        for _ in verify_hive(root, found):
            pass

        assert found["archived in several"] == len(both) > 0
        assert found["archived"] == sum(map(len, of_drones)) - 2 * len(both)

    def test_an_earlier_archive_of_all_drones(self, copy):
        """Files of an earlier crawl with which all drones were compared are missing once."""
        for drone in range(2):
            folder = copy / f"drone-{drone}/state/since"
            folder.mkdir()
            january = FileSignature("/january/warc/a.cdxj", 1, 1)
            write_indexed_files(Disk(), folder, [january], {SHA1})
        found = Counter()
        for _ in verify_hive(copy, found):
            pass

        assert found[f"{GONE_PREFIX}/january/warc"] == 1


class TestDamage:
    def test_of_a_drone(self, copy):
        """What is wrong with one drone is told as for a single crawl, with its path."""
        log = copy / "drone-1/logs/links.log"
        log.write_bytes(log.read_bytes()[:-100])

        assert [line.partition(":")[0] for line in told(copy)] == ["drone-1/logs/links.log"] * 2

    def test_a_line_of_no_text(self, copy):
        """A line of a drone's log is damaged once, whatever bytes it has, and all else is checked."""
        log = copy / "drone-1/logs/crawl.log"
        *before, line = log.read_bytes().splitlines(keepends=True)
        log.write_bytes(b"".join((*before, line[:-2], b"\xec\n")))

        assert [one.partition(":")[0] for one in told(copy)] == ["drone-1/logs/crawl.log"]

    def test_a_missing_drone(self, copy):
        """A drone that hive.json names, and that has no folder or no state, is damage; the others
        are checked.
        """
        shutil.rmtree(copy / "drone-1")
        named(copy, (0, 1))
        missing = "drone-1/state/crawl.db: damaged at byte 0: the state of this drone of the hive is missing"
        assert told(copy) == [missing]

        (copy / "drone-1").mkdir()
        assert told(copy) == [missing]

    def test_a_folder_in_place_of_a_lost_one(self, copy):
        """A start without a drone's folder makes another, which is refused: it does not hide that
        the first is gone.
        """
        shutil.rmtree(copy / "drone-1")
        for drone, name, value in (
            (0, IDENTITY, Identity("a" * 16, "hive", 0, 1).pack()),
            (0, KEY, bytes(16)),
            (0, registry.COMPANIONS, msgpack.packb((1.0, {0: "a" * 16, 1: "b" * 16}, ()))),
            (1, IDENTITY, Identity("c" * 16, "hive", 1, 1).pack()),
        ):
            db = CrawlDB(copy / f"drone-{drone}/state")
            db.set(name, value)
            db.checkpoint()
            db.close()

        assert told(copy) == [
            (
                f"drone-1/state/crawl.db: damaged at byte 0: this drone was never let in: the state "
                f"of drone 1, {'b' * 16}, is in another folder"
            )
        ]

    @pytest.mark.parametrize(
        ("drone", "name", "value"),
        [
            (1, IDENTITY, b"\x90"),
            (1, IDENTITY, b"\xc1"),
            (0, MAP, msgpack.packb((1, (0,), (70_000,)))),
            (0, registry.COMPANIONS, msgpack.packb((1.0,))),
        ],
    )
    def test_what_a_drone_says_of_itself_cannot_be_read(self, tmp_path, drone, name, value):
        """Its damaged row is told; all else is checked, and nothing fails."""
        both = {0: "a" * 16, 1: "b" * 16}
        for number, state in both.items():
            with closing(CrawlDB(tmp_path / f"drone-{number}/state")) as db:
                db.set(IDENTITY, Identity(state, "hive", number, 1).pack())
                db.set(KEY, bytes(16))
                db.set(registry.COMPANIONS, msgpack.packb((1.0, both, ())))
                db.checkpoint()
        with closing(sqlite3.connect(tmp_path / f"drone-{drone}/state/crawl.db")) as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, 1)", (name, value))
            db.commit()

        assert [line.rpartition(": table")[2] for line in told(tmp_path)] == [
            f" meta, {name}: wrong checksum"
        ]

    def test_a_page_in_two_drones(self, same, monkeypatch):
        """A URL that two drones have ended, or archived, is told with its place in the second; then
        how many more.
        """
        monkeypatch.setattr(module, "MAX_PLACES", 2)
        lines = told(same)
        at = (same / "drone-1/logs/crawl.log").read_bytes().index(b"\n") + 1
        second = urls(same / "drone-1")[1]
        both = len(set.intersection(*(set(urls(same / f"drone-{drone}")) for drone in range(2))))

        assert [line for line in lines if "crawl.log" in line] == [
            (
                "drone-1/logs/crawl.log: damaged at byte 0: http://h0.test/some/where/0.html is also "
                "in the log of drone-0"
            ),
            f"drone-1/logs/crawl.log: damaged at byte {at}: {second} is also in the log of drone-0",
            f"drone-1/logs/crawl.log: damaged at byte 0: {both - 2} more of this kind",
        ]
        index = [line for line in lines if "cdxj" in line]
        assert index[0].endswith(
            ".cdxj: damaged at byte 0: http://h0.test/some/where/0.html is also in the archive of drone-0"
        )
        assert index[2].endswith(f"{both - 2} more of this kind")

    @pytest.mark.parametrize("indexed", [True, False])
    def test_an_attempt_before_the_host_moved(self, same, tmp_path, indexed):
        """An answer after which a URL was tried again may be in another drone's archive than the
        last one.
        """
        root = shutil.copytree(same, tmp_path / "web")
        repeated(root / "drone-0")
        for drone in range(2 * (not indexed)):
            unindexed(root / f"drone-{drone}")

        assert [line for line in told(root) if "is also in the archive of" in line] == []

    def test_a_page_in_two_archives_without_indexes(self, same, tmp_path):
        """The same is found where archives have no index, at the record's place."""
        root = shutil.copytree(same, tmp_path / "web")
        for drone in range(2):
            unindexed(root / f"drone-{drone}")
        lines = [line for line in told(root) if "/warc/" in line]

        assert "http://h0.test/some/where/0.html is also in the archive of drone-0" in lines[0]
        assert ".warc.gz: damaged at byte" in lines[0]
        assert len(lines) == module.MAX_PLACES + 1

    def test_a_host_in_two_frontiers(self, copy):
        """A host with URLs in two drones is asked by both: damage."""
        stopped(copy / "drone-2", hosts="h")
        lines = [line for line in told(copy) if "has URLs" in line]

        assert (
            "drone-2/state/crawl.db: damaged at byte 0: h10.test also has URLs in drone-0" in lines
        )

    def test_stats_json(self, copy):
        """The hive's own stats.json is checked too."""
        (copy / "stats.json").write_text("[]")

        assert told(copy) == ["stats.json: damaged at byte 0: not a mapping"]

    def test_hive_json(self, copy):
        """A damaged hive.json is one line on standard error."""
        (copy / "hive.json").write_text("[]")
        done = command("scrapy", "verify", copy)

        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"{copy}/hive.json: damaged at byte 0: not a mapping\n"


class TestShared:
    def test_what_only_hashes_have_in_common(self, tmp_path, monkeypatch):
        """Names are equal if their texts are: a hash that several names have is no damage."""
        monkeypatch.setattr(module, "hash", lambda name: name[0], raising=False)
        names = {0: (b"apple", b"banana"), 1: (b"avocado", b"banana"), 2: (b"cherry",)}
        made = {
            drone: lambda has=has: ((name, tmp_path, 0) for name in has)
            for drone, has in names.items()
        }
        count, twice = shared_names(made)

        assert count == 5
        assert [(one.name, sorted(one.places)) for one in twice] == [(b"banana", [0, 1])]

    def test_many_names(self, tmp_path):
        """Names that one drone has many times count once, whatever comes between them."""
        has = [b"%d" % (number % 50) for number in range(500)]
        names = {0: has, 1: [b"x%d" % number for number in range(30)] + [b"49"] * 3}
        made = {
            drone: lambda has=has: ((name, tmp_path, 0) for name in has)
            for drone, has in names.items()
        }
        count, twice = shared_names(made)

        assert count == 50 + 31
        assert [one.name for one in twice] == [b"49"]


def urls(root):
    """Of a drone's log."""
    return [line.split()[3] for line in (root / "logs/crawl.log").read_text().splitlines()]


def ended(root):
    return len(urls(root))


def repeated(root):
    """Says of each answer in a crawl's archive that its URL was tried again."""
    for archive in (root / "warc").glob("*.warc.gz"):
        data, whole, places = archive.read_bytes(), b"", {}
        while data:
            places[archive.stat().st_size - len(data)] = len(whole)
            unpacking = zlib.decompressobj(31)
            whole += gzip.compress(_repeated(unpacking.decompress(data)))
            data = unpacking.unused_data
        archive.write_bytes(whole)
        index = archive.with_name(archive.name.replace(".warc.gz", ".cdxj"))
        offset = re.compile(r'(?<="offset": ")\d+')
        index.write_text(
            offset.sub(lambda found, places=places: str(places[int(found[0])]), index.read_text())
        )
    lengths = {path: path.stat().st_size for path in (root / "warc").iterdir()}
    rows = (
        f"UPDATE output SET length = {size} WHERE path = 'warc/{path.name}'"
        for path, size in lengths.items()
    )
    tampered(root / "state/crawl.db", *rows)


def _repeated(record):
    head, _, block = record.partition(b"\r\n\r\n")
    if b"WARC-Type: metadata" in head:
        block = block[:-4] + b"triedAgain: yes\r\n\r\n\r\n"
        head = re.sub(rb"(?<=Content-Length: )\d+", str(len(block) - 4).encode(), head)
    return head + b"\r\n\r\n" + block


def said_by_two(root, **changed):
    """URLs that two drones have ended, once the logs of both begin with such a line."""
    log, other = (root / f"drone-{drone}/logs/crawl.log" for drone in range(2))
    fields = log.read_bytes().splitlines()[-1].decode().split()
    for name, value in changed.items():
        fields[{"path": 4, "notes": 11}[name]] = value
    crafted = (" ".join(fields) + "\n").encode()
    for path in (log, other):
        path.write_bytes(crafted + path.read_bytes()[len(crafted) :])
    return shared_names({drone: partial(pages, root / f"drone-{drone}") for drone in range(2)})[1]


def unindexed(root):
    """Takes the indexes from a crawl's archive."""
    for path in (root / "warc").glob("*.cdxj"):
        path.unlink()
    tampered(
        root / "state/crawl.db",
        "DELETE FROM output WHERE path LIKE '%.cdxj'",
        "DELETE FROM meta WHERE name LIKE 'finished.%.cdxj'",
    )


def moved(root, name):
    """What makes a host of drone 0 one of the receiving drone, without URLs."""
    with closing(sqlite3.connect(root / "drone-0/state/crawl.db")) as db, db:
        (data,) = db.execute(
            "SELECT data FROM host WHERE name = ? AND state = 0", (name,)
        ).fetchone()
    return [f"INSERT INTO host VALUES ('{name}', 0, x'{data.hex()}', 0)"]
