"""A crawl started on damaged files refuses in the same line that `scrapy verify` prints, and
changes nothing.
"""

import re
import sqlite3
from collections import Counter
from contextlib import closing

import pytest

from tests.support.crawling import Crawl
from tests.support.jobs import Job, killed, tree
from webcrawl.adapter.preflight import preflight
from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.base.errors import CannotStart
from webcrawl.crawl.start_check import check_start
from webcrawl.tools.verify_crawl import verify

pytestmark = pytest.mark.xdist_group("verify start")  # one stopped crawl for all tests


def refused(root, tmp_path):
    """The output of the check before a crawl, which leaves every file with its bytes and times."""
    from scrapy.settings import Settings

    (tmp_path / "seeds.txt").write_text("http://h0.test/\n")
    values = Settings()
    values.setmodule("webcrawl.settings")
    values.setdict({"JOBDIR": str(root), "USER_AGENT": "tests/1 (+http://tests.test/)"}, "cmdline")
    before = tree(root)
    with pytest.raises(CannotStart) as error:
        preflight(values, WebSpider, {"seeds": str(tmp_path / "seeds.txt")})
    assert tree(root) == before
    return str(error.value)


def flip(path, at, bit=1):
    data = bytearray(path.read_bytes())
    data[at] ^= bit
    path.write_bytes(data)


class TestRefusals:
    @pytest.mark.parametrize(
        ("at", "line"), [(3, "byte 0: not a SQLite"), (18, "byte 16: header"), (69, "byte 68: an")]
    )
    def test_the_database_s_header(self, copy, tmp_path, at, line):
        """A flipped bit in the header of crawl.db is refused."""
        flip(copy / "state/crawl.db", at)

        assert f"state/crawl.db: damaged at {line}" in refused(copy, tmp_path)

    def test_a_truncated_database(self, copy, tmp_path):
        """A database that ends early is refused."""
        path = copy / "state/crawl.db"
        path.write_bytes(path.read_bytes()[:-5000])

        assert re.search(
            r"crawl\.db: damaged at byte \d+: the file ends early", refused(copy, tmp_path)
        )

    @pytest.mark.parametrize("kind", ["url", "content"])
    def test_a_truncated_fingerprint_file(self, tmp_path, kind):
        """A fingerprint file that ends early is refused, before the outputs are truncated to the
        checkpoint.
        """
        root = killed(tmp_path / "live", tmp_path / "job")
        (one,) = (damage for damage in _spoil_run(root, kind) if damage)

        assert refused(root, tmp_path) == one

    @pytest.mark.parametrize("name", ["logs/crawl.log", "logs/links.log"])
    def test_a_missing_output(self, copy, tmp_path, name):
        """A missing output is refused."""
        (copy / name).unlink()

        assert f"{copy}/{name}: damaged at byte 0: missing, " in refused(copy, tmp_path)

    def test_a_frame_of_the_log(self, tmp_path):
        """A damaged frame of SQLite's log, which SQLite would take for the log's end, is refused."""
        root = killed(tmp_path / "live", tmp_path / "job")
        flip(root / "state/crawl.db-wal", 32 + 24 + 7)

        assert "crawl.db-wal: damaged at byte 32: wrong checksum of a frame" in refused(
            root, tmp_path
        )


def _spoil_run(root, kind):
    found = Counter()
    assert list(verify(root, found)) == []
    with closing(
        sqlite3.connect(f"file:{root}/state/crawl.db?mode=ro&readonly_shm=1", uri=True)
    ) as db:
        ((name,),) = db.execute("SELECT name FROM run WHERE store = ? LIMIT 1", (kind,)).fetchall()
    path = root / "state/seen" / name
    path.write_bytes(path.read_bytes()[:-9])
    yield from map(str, verify(root, found))


class TestSound:
    def test_a_sound_crawl(self, job, tmp_path):
        """A sound crawl is accepted, whether stopped or killed, and so is a folder without one."""
        assert list(check_start(job)) == []
        assert list(check_start(killed(tmp_path / "live", tmp_path / "job"))) == []
        assert list(check_start(tmp_path / "none")) == []

    def test_a_log_without_its_index(self, tmp_path):
        """A log without its index is left to SQLite, which recreates the index."""
        root = killed(tmp_path / "live", tmp_path / "job")
        (root / "state/crawl.db-shm").unlink()

        assert list(check_start(root)) == []
        Job(root).close()


class TestBlocks:
    def test_what_is_only_read_later(self, copy, tmp_path, simweb):
        """A damaged block of a queue ends the crawl with that line when it is read; the last
        checkpoint is kept.
        """
        server = simweb(1, 1)
        (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
        path = copy / "state/crawl.db"
        with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as db:
            blocks = [data for (data,) in db.execute("SELECT data FROM block")]
            before = list(db.iterdump())
        places = [path.read_bytes().index(data[:200]) for data in blocks]
        for at, data in zip(places, blocks, strict=True):
            flip(path, at + len(data) // 2)
        damages = [str(damage) for damage in verify(copy, Counter())]

        crawl = Crawl(
            copy, {"seeds": tmp_path / "seeds.txt"}, {"DNS_NAMESERVERS": server.nameserver}
        )
        status = crawl.run()

        said = crawl.output.read_text()
        assert (status, crawl.stats["reason"]) == (1, "store_failed")
        assert re.search(rf"{path}: damaged at byte 0: block \d+: ", said)
        assert all(int(re.search(r"at byte (\d+): ", line)[1]) in places for line in damages)
        assert "Traceback" not in said
        assert [str(damage) for damage in verify(copy, Counter())] == damages
        with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as db:
            after = list(db.iterdump())
        assert len(after) == len(before)
        assert [line for line in after if "block" not in line] == [
            line for line in before if "block" not in line
        ]


# -- A host that was given up is no damage.


def test_a_crawl_that_gave_a_host_up_is_sound(tmp_path, simweb):
    """A crawl in which a host was given up has no damaged place."""
    server = simweb(1, 3)
    (tmp_path / "seeds.txt").write_text(
        "\n".join([*server.world.seeds(), "http://127.0.0.99:8081/"])
    )
    crawl = Crawl(
        tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, {"DNS_NAMESERVERS": server.nameserver}
    )

    assert crawl.run(HOST_MAX_FAILURES=1, HOST_PATIENCE=0, ROBOTSTXT_OBEY=False) == 0
    assert crawl.stats["frontier/hosts given up"] == 1
    assert list(verify(tmp_path / "job", Counter())) == []
