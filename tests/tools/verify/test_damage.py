"""Flipped bits and truncated files: `scrapy verify` names the place, unless the damage is in unused
bytes.
"""

import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from random import Random

import pytest

from tests.support.jobs import killed, stopped
from tests.support.seens import OF_CRAWLS
from webcrawl.base.zstd_frame import unpack
from webcrawl.store.errors import StoreError
from webcrawl.store.schema import LAYOUT
from webcrawl.tools.verify_crawl import verify

FLIPS, LENGTHS = 20, 6

pytestmark = pytest.mark.xdist_group("verify damage")  # one stopped crawl for all tests


def told(root):
    """The damaged places; a refusal counts as one."""
    try:
        return list(verify(root, Counter()))
    except StoreError as error:
        return [error]


def content(root):
    """What SQLite reads from a stopped crawl's database: rows by table, zstd frames unpacked."""
    with closing(sqlite3.connect(f"file:{root}/state/crawl.db?immutable=1", uri=True)) as db:
        tables = [
            name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        ]
        found = {name: db.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in tables}
        found["sqlite_schema"] = db.execute(LAYOUT).fetchall()
    return {
        **found,
        "block": [(number, unpack(data)) for number, data in found["block"]],
        "waiting": [
            (seq, keys, unpack(records), crc) for seq, keys, records, crc in found["waiting"]
        ],
    }


def flipped(path, seed, count=FLIPS, within=None):
    """Flips one bit of the file at a time and yields its place; in the end the file is whole."""
    data, random = path.read_bytes(), Random(seed)
    places = within or range(len(data))
    for at in random.sample(places, min(count, len(places))):
        changed = bytearray(data)
        changed[at] ^= 1 << random.randrange(8)
        path.write_bytes(changed)
        yield at
    path.write_bytes(data)


def truncated(path, seed):
    """Truncates the file to several shorter lengths, among them the shortest and the longest."""
    data, random = path.read_bytes(), Random(seed)
    for length in {0, len(data) - 1, *random.sample(range(len(data)), LENGTHS)}:
        path.write_bytes(data[:length])
        yield length
    path.write_bytes(data)


@pytest.fixture(name="dead", scope="module")
def _dead(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    return killed(folder / "live", folder / "job")


def _near(damages, path, at):
    """A named place is in the file and not behind the flipped bit, or at the file's end."""
    ends = (path.stat().st_size,)
    return any(
        damage.path == path and (damage.offset <= at or damage.offset in ends) for damage in damages
    )


def _free(root, before, at):
    """The database is unchanged: the place is in free space."""
    after = content(root)
    assert not {table for table in before if before[table] != after[table]}, at
    return "free"


@pytest.mark.campaign
class TestFlippedBits:
    @pytest.mark.parametrize("kind", ["url", "content"])
    def test_a_fingerprint_file(self, copy, kind):
        """Each flipped bit of a fingerprint file is reported with the file and its page or table."""
        with closing(sqlite3.connect(copy / "state/crawl.db")) as db:
            ((name,),) = db.execute(
                "SELECT name FROM run WHERE store = ? LIMIT 1", (kind,)
            ).fetchall()
        path = copy / "state/seen" / name

        for at in flipped(path, kind):
            assert any(damage.path == path for damage in told(copy)), at

    def test_a_bloom_filter(self, tmp_path):
        """Each flipped bit of a Bloom filter's file is reported with the file."""
        root = stopped(tmp_path / "job", "bloom")
        named = content(root)["meta"]
        path = root / "state/seen" / dict(row[:2] for row in named)["seen.bloom"].decode()

        for at in flipped(path, 1, 20):
            assert any(damage.path == path for damage in told(root)), at

    def test_an_archive(self, copy):
        """Each flipped bit of a WARC file is reported.

        The place is the record's, or the whole file's for the gzip header's note on system and
        level, which no reader reads.
        """
        path = min((copy / "warc").glob("*.warc.gz*"))

        for at in flipped(path, 1, 40):
            assert _near(told(copy), path, at), at

    def test_what_follows_a_damaged_record_is_read(self, copy):
        """Two damaged records are two places."""
        path = min((copy / "warc").glob("*.warc.gz*"))
        data = bytearray(path.read_bytes())
        for place in (len(data) // 3, len(data) * 2 // 3):
            data[place] ^= 1
        path.write_bytes(data)

        damages = told(copy)

        assert [damage.path for damage in damages] == [path, path]
        assert 0 < damages[0].offset < len(data) // 3 < damages[1].offset < len(data) * 2 // 3

    @pytest.mark.parametrize("name", ["crawl.log", "links.log"])
    def test_a_log(self, copy, name):
        """A flipped bit of a log is reported with its line if the line is invalid, else with the
        file.
        """
        path = copy / "logs" / name
        seen = Counter()

        for at in flipped(path, name, 40):
            damages = told(copy)
            seen["line" if damages[0].offset else "file"] += 1
            # one line end more
            assert all(damage.path == path and damage.offset <= at + 1 for damage in damages), at

        assert min(seen["line"], seen["file"]) >= 2, seen

    @pytest.mark.parametrize("store", OF_CRAWLS)
    def test_the_database(self, tmp_path, store):
        """A flipped bit of crawl.db is reported, unless it is in free space: then no row has
        changed.
        """
        root = stopped(tmp_path / "job", store)
        path, before = root / "state/crawl.db", content(root)
        seen = Counter()

        for at in flipped(path, store, 25):
            seen["named" if told(root) else _free(root, before, at)] += 1

        assert seen["named"] > 2, seen

    @pytest.mark.parametrize("table", ["meta", "host", "robots", "waiting", "run", "output"])
    def test_a_row(self, copy, table):
        """Each flipped bit of a row is reported, in its header, its key, its value or its checksum."""
        path, before = copy / "state/crawl.db", content(copy)
        row = before[table][-1]
        mark = row[0].encode() if isinstance(row[0], str) else row[1][:64]
        start, seen = path.read_bytes().index(mark), Counter()

        for at in flipped(path, table, 30, range(start - 6, start + len(mark) + 20)):
            seen["named" if told(copy) else _free(copy, before, at)] += 1

        assert seen["named"] > 20, seen

    def test_the_log_of_the_database(self, dead, tmp_path):
        """A flipped bit of the log is reported with its frame if a finished checkpoint would be
        lost.

        Otherwise it is in the part that the next start drops.
        """
        root = shutil.copytree(dead, tmp_path / "job")
        path = root / "state/crawl.db-wal"
        committed = int.from_bytes((root / "state/crawl.db-shm").read_bytes()[16:20], "little")
        end, seen = 32 + committed * (24 + 8192), Counter()

        for at in flipped(path, 1, 40):
            damages = told(root)
            seen[at < end] += 1
            if at < end:
                frame = 32 + (at - 32) // 8216 * 8216 if at >= 32 else 0
                assert (damages[0].path, damages[0].offset) == (path, frame), at
            else:
                assert damages == [], at

        assert seen[True] > 20, seen

    def test_the_log_without_its_index(self, dead, tmp_path):
        """Without SQLite's index a damaged frame is reported if two finished checkpoints follow it."""
        root = shutil.copytree(dead, tmp_path / "job")
        (root / "state/crawl.db-shm").unlink()
        path = root / "state/crawl.db-wal"
        data = bytearray(path.read_bytes())
        data[32 + 24 + 100] ^= 4
        path.write_bytes(data)

        assert [(damage.path, damage.offset) for damage in told(root)][:1] == [(path, 32)]

    def test_the_index_of_the_log(self, dead, tmp_path):
        """A flipped bit of SQLite's index of the log is harmless: the index is recreated."""
        root = shutil.copytree(dead, tmp_path / "job")

        for at in flipped(root / "state/crawl.db-shm", 1, 20):
            assert told(root) == [], at


class TestTruncatedFiles:
    @pytest.mark.parametrize(
        "pattern",
        [
            "state/crawl.db",
            "state/seen/url-*",
            "warc/*.gz",
            "warc/*.cdxj",
            "logs/crawl.log",
            "logs/links.log",
        ],
    )
    def test_a_truncated_file(self, copy, pattern):
        """A file truncated anywhere is reported; a database that is truncated is refused."""
        named = {name for name, *_ in content(copy)["run"]}
        path = next(
            path for path in copy.glob(pattern) if "seen" not in pattern or path.name in named
        )

        for length in truncated(path, pattern):
            damages = told(copy)
            assert any(str(path) in str(damage) for damage in damages), length

    def test_a_truncated_log(self, dead, tmp_path):
        """A log that ends before the last checkpoint is reported."""
        root = shutil.copytree(dead, tmp_path / "job")
        path = root / "state/crawl.db-wal"
        committed = int.from_bytes((root / "state/crawl.db-shm").read_bytes()[16:20], "little")

        for length in truncated(path, 1):
            if length < 32 + committed * 8216:
                assert any(damage.path == path for damage in told(root)), length
