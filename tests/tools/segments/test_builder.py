"""What a segment is built of, and where it is put: links that were found and not requested, each in
one segment.
"""

import json
import os
import stat
from contextlib import closing
from dataclasses import replace
from shutil import rmtree

import pytest

from tests.support.commands import command
from tests.support.faults import BreakingDisk
from tests.support.hive_jobs import named
from tests.support.objectstore import FakePlace, StoredCrawl
from tests.tools.segments.crawls import build, builder, crawled, link, urls_of, values
from webcrawl.crawl.last_run import keep_terms, terms_of
from webcrawl.crawl.segments import FOLDER, FOUND
from webcrawl.frontier.seen import disk as disk_store
from webcrawl.frontier.seen import waiting_records
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StateLocked, StoreError
from webcrawl.store.jobdir.job_dir import NoCrawl
from webcrawl.store.jobdir.meta_row import CLEAN
from webcrawl.tools.segments import builder as module
from webcrawl.tools.segments.earlier_crawl import earlier_crawls
from webcrawl.tools.segments.link_tables import TABLE_READ

A, B, C, D = (f"http://{name}.test/" for name in "abcd")
EXACT, BLOOM = "webcrawl.frontier.seen.disk.DiskSeen", "webcrawl.frontier.seen.bloom.BloomSeen"


@pytest.mark.parametrize("store", [EXACT, BLOOM])
def test_what_is_new(tmp_path, store):
    """Not what was requested, whenever it was found; each once; by domain."""
    crawl = crawled(tmp_path / "job", requested=[A, D], found=[[D, C, A], [B, C, A]])

    assert build(crawl, store=store) == [B, C]


@pytest.mark.parametrize("store", [EXACT, BLOOM])
def test_the_next_segment_has_only_what_came_since(tmp_path, store):
    """The index lasts from build to build."""
    crawl = crawled(tmp_path / "job", requested=[A], found=[[B]])
    assert build(crawl, store=store) == [B]
    assert build(crawl, store=store) == []
    crawled(crawl, requested=[B], found=[[A, B, C]])

    assert build(crawl, store=store) == [C]


def test_another_crawl_in_the_same_folder(tmp_path, caplog):
    """It is read from its beginning, however long its logs are."""
    index, crawl = (
        crawled(tmp_path / "index", requested=[A]),
        crawled(tmp_path / "job", requested=[B], found=[[B]]),
    )
    assert build(index, crawl) == []
    rmtree(crawl)
    with closing(CrawlDB(crawl / "state")) as db:
        db.set("key", b"another crawl's.")
        db.checkpoint()
    crawled(crawl, requested=[C], found=[[D], [B], [A]])

    assert build(index, crawl) == [D]
    assert build(index, crawl) == []
    assert (
        f"{crawl}: now holds another crawl than before, so it is read from its beginning"
        in caplog.text
    )


def test_a_segment_that_nobody_has_crawled(tmp_path):
    """It is named at the next build, for its URLs are in no other: a kill may have taken all that
    its crawl did.
    """
    crawl = crawled(tmp_path / "job", requested=[A], found=[[B]])
    done = command("scrapy", "segments", "build", crawl, "-o", tmp_path / "one.csv")
    assert (done.returncode, done.stderr) == (0, "")

    done = command("scrapy", "segments", "build", crawl, "-o", tmp_path / "one.csv")
    assert done.returncode == 0
    assert done.stderr.startswith(
        f"{crawl / FOLDER / 'segment-000001.csv'}: nothing was requested since"
    )
    crawled(crawl, requested=[B], found=[[C]])
    assert command("scrapy", "segments", "build", crawl, "-o", tmp_path / "one.csv").stderr == ""


def test_a_segment_that_was_crawled_and_gave_nothing(tmp_path):
    """It is not named at later builds: what was requested since is known to all of them, not to the
    first alone.
    """
    crawl = crawled(tmp_path / "job", requested=[A], found=[[B]])
    assert build(crawl) == [B]
    crawled(crawl, requested=[B], found=[[A]])
    assert build(crawl) == []
    with builder(crawl) as made:
        made.read(earlier_crawls(crawl))

        assert made.unrequested is None


def test_an_index_keeps_its_kind(tmp_path):
    """It need not be said again; another one is refused in a line."""
    crawl = crawled(tmp_path / "job", found=[[B]])
    assert build(crawl, store=BLOOM) == [B]
    crawled(crawl, found=[[B, C]])

    assert build(crawl) == [C]
    with pytest.raises(StoreError, match="started with the seen store 'bloom', not 'disk'"):
        build(crawl, store=EXACT)


def test_what_one_crawl_requested_another_need_not(tmp_path):
    """Several crawls are read together, whatever their order."""
    first = crawled(tmp_path / "1", requested=[A], found=[[B, C]])
    second = crawled(tmp_path / "2", requested=[B], found=[[A, D]])

    assert build(first, second) == [C, D]


def test_robots_txt_is_a_page_as_well(tmp_path):
    """That it was fetched for other pages does not count."""
    robots = link(f"{A}robots.txt", path="P")
    crawl = crawled(tmp_path / "job", requested=[A, robots], found=[[robots.url, A]])

    assert build(crawl) == [robots.url]


def test_what_is_left_comes_later(tmp_path):
    """A segment has N URLs at most, and of a host as many as it has of the others; nothing is lost."""
    pages = [f"{A}{at}" for at in range(7)]
    crawl = crawled(tmp_path / "job", found=[[*pages, B, C]])

    assert build(crawl, most=6, needed=3) == [pages[0], B, C]
    assert build(crawl, most=4, needed=3) == pages[1:5]
    assert build(crawl, most=4, needed=3) == pages[5:]
    assert build(crawl) == []


def test_how_it_was_found_comes_along(tmp_path):
    """Path, page, seed and cookies are those of the first link to it."""
    first = link(A, f"{B}1", "LlR")
    crawl = crawled(tmp_path / "job", found=[[first], [link(A, f"{C}2", "L")]])
    with builder(crawl) as made:
        made.read(earlier_crawls(crawl))
        made.make(10, 10)
        row = made.segment_path(1).read_text().splitlines()[1]

    assert row == f"1,{A},LlR,{B}1,http://s.test/,"


def test_a_segment_that_was_not_handed_over_comes_again(tmp_path):
    """It was made, and the process ended: it is not made twice, and not forgotten."""
    crawl = crawled(tmp_path / "job", found=[[A]])
    with builder(crawl) as made:
        made.read(earlier_crawls(crawl))
        made.make(10, 10)
    crawled(crawl, found=[[B]])

    assert build(crawl) == [A]
    assert build(crawl) == [B]


def test_what_no_checkpoint_has_is_left_for_later(tmp_path):
    """A crawl that was killed may take it back."""
    crawl = crawled(tmp_path / "job", found=[[A]])
    with (crawl / FOUND).open("ab") as file:
        file.write(link(B).pack() + b"\n" + link(C).pack()[:9])

    assert build(crawl) == [A]
    crawled(crawl, found=[[D]])
    assert build(crawl) == [D]


def test_a_running_crawl_may_be_read(tmp_path):
    """It is looked at without its lock, and keeps running."""
    crawl = crawled(tmp_path / "job", requested=[A], found=[[B]])
    with closing(CrawlDB(crawl / "state")) as db:
        assert build(crawl) == [B]
        db.set(CLEAN, b"1")
        db.checkpoint()


def test_a_log_that_ends_early_is_damage(tmp_path):
    """Nobody takes the rest for read."""
    crawl = crawled(tmp_path / "job", found=[[A, B]])
    (crawl / FOUND).write_bytes((crawl / FOUND).read_bytes()[:-30])

    with pytest.raises(StoreError, match=r"found\.log: damaged at byte \d+: the file ends early"):
        build(crawl)


def test_a_log_that_was_set_back(tmp_path):
    """A log that is shorter than what was read of it is another one: what stands there now may
    never have been read.
    """
    crawl = crawled(tmp_path / "job", requested=[A, B], found=[[C]])
    build(crawl)
    with (
        builder(crawl) as made,
        pytest.raises(
            StoreError, match=r"\d+ bytes were read earlier, but the file is now shorter"
        ),
    ):
        made.read([replace(one, outputs={"logs/crawl.log": 9}) for one in earlier_crawls(crawl)])


def test_a_line_that_is_no_link_is_damage(tmp_path):
    """One line, and nothing is built of the rest."""
    crawl = crawled(tmp_path / "job", found=[[A, B]])
    data = (crawl / FOUND).read_bytes()
    (crawl / FOUND).write_bytes(data.replace(b" ", b"_", 1))
    with pytest.raises(StoreError, match="damaged: a line is not a link"):
        build(crawl)

    (crawl / FOUND).write_bytes(data[:-1] + b"x")
    with pytest.raises(StoreError, match="the line has no end"):
        build(crawl)


def test_a_crawl_whose_links_nobody_knows(tmp_path, caplog):
    """It followed links, and left no tables: that is told, and counts as lost."""
    crawl = crawled(tmp_path / "job", requested=[A], found=None)
    with builder(crawl) as made:
        made.read(earlier_crawls(crawl))
        assert made.lost == 1
    assert "has neither logs/found.log nor tables, so its links are missing" in caplog.text


def test_a_crawl_that_has_asked_for_nothing(tmp_path, caplog):
    """It has no links to lose: so it is between the checks of a start and the first checkpoint."""
    crawl = crawled(tmp_path / "job", found=None)
    with builder(crawl) as made:
        made.read(earlier_crawls(crawl))
        assert made.lost == 0
    assert caplog.text == ""


def test_tables_that_were_taken_away(tmp_path, caplog):
    """A crawl whose tables are gone has had some: those that were not read are missed, and no
    others.
    """
    crawl = crawled(
        tmp_path / "job", requested=[A], found=None, outputs={"tables/links-00000.parquet": b"rows"}
    )
    (crawl / "tables/links-00000.parquet").unlink()
    with builder(crawl) as made:
        made.read(earlier_crawls(crawl))
        assert made.lost == 1
        made._db.set(f"{TABLE_READ}{crawl.resolve()}/tables/links-00000.parquet", b"1")
        made.read(earlier_crawls(crawl))

        assert made.lost == 1
    assert (
        "links-00000.parquet: was removed before it was read: copy it back, or its links are missing"
        in caplog.text
    )


def test_a_folder_without_a_crawl_is_named_in_one_line(tmp_path):
    """One line that names the folder."""
    with pytest.raises(NoCrawl, match="no such folder"):
        earlier_crawls(tmp_path / "none")
    with pytest.raises(NoCrawl, match="not a crawl"):
        earlier_crawls(tmp_path)
    crawl = crawled(tmp_path / "job", requested=[A], found=[[B]])
    build(crawl)
    with pytest.raises(NoCrawl, match="is not a crawl, but the index of segments"):
        earlier_crawls(crawl / FOLDER)


def test_a_name_that_is_no_text_is_named_in_one_line(tmp_path):
    """By a name that is not UTF-8 nothing could be noted in the state."""
    crawl = crawled(tmp_path / os.fsdecode(b"job\xff"), requested=[A], found=[[B]])
    done = command("scrapy", "segments", "build", crawl, "-o", tmp_path / "one.csv")

    why = "the path has control or invalid characters, so progress cannot be recorded under it: rename it"
    assert (done.returncode, done.stderr) == (1, f"{tmp_path}/job\\udcff: {why}\n")


def test_a_drone_that_is_not_here(tmp_path, caplog):
    """A line names it: its links will be missing."""
    crawled(tmp_path / "drone-0", requested=[A], found=[[B]])
    named(tmp_path, (0, 1))

    assert len(earlier_crawls(tmp_path)) == 1
    assert caplog.messages == [
        f"{tmp_path}/drone-1: left out, because this drone's folder is missing"
    ]


def test_one_builder_at_a_time(tmp_path):
    """A second one is refused."""
    crawl = crawled(tmp_path / "job", found=[[A]])
    with builder(crawl), pytest.raises(StateLocked):
        builder(crawl)


def test_many_are_read_in_portions(tmp_path, monkeypatch):
    """With a checkpoint now and then, and files that are merged, the segments are the same."""
    monkeypatch.setattr(module, "CHECKPOINT_LINKS", 100)
    monkeypatch.setattr(module, "POOL_BYTES", 5000)
    pages = [
        [f"http://h{at % 17}.test/{at * 7 % 900}" for at in range(first, first + 30)]
        for first in range(0, 1800, 30)
    ]
    crawl = crawled(tmp_path / "job", requested=pages[0], found=pages)

    found = build(crawl, most=10_000, needed=1)
    while more := build(crawl, most=10_000, needed=1):
        found += more

    assert sorted(found) == sorted({url for page in pages for url in page} - set(pages[0]))


def test_no_link_that_was_known_is_kept(tmp_path, monkeypatch):
    """However many there are, and however few of them the index passes over at a time."""
    monkeypatch.setattr(waiting_records, "PIECE", 8)
    monkeypatch.setattr(disk_store, "PASSED", 8)
    found = [[f"http://h.test/{at}" for at in range(400)]]
    crawl = crawled(tmp_path / "job", found=found)
    assert len(build(crawl)) == 400
    crawled(crawl, found=found * 3)

    assert build(crawl) == []
    with closing(CrawlDB(crawl / FOLDER / "state")) as db:
        assert db.query("SELECT count(*) FROM waiting") == [(0,)]


PAGES = [f"http://h{at % 5}.test/{at}" for at in range(40)]


class TestFaults:
    """Whatever the disk refuses, whenever it dies."""

    def everything(self, crawl, disk=None):
        found = []
        while more := build(crawl, most=15, needed=2, disk=disk):
            found.append(more)
        return found

    @pytest.mark.campaign
    def test_at_every_operation(self, tmp_path, monkeypatch):
        """The disk is full at some operation: one error; then all segments come as if nothing had
        been.
        """
        monkeypatch.setattr(module, "POOL_BYTES", 2000)
        whole = self.everything(crawled(tmp_path / "whole", requested=PAGES[:3], found=[PAGES]))
        counting = BreakingDisk()
        self.everything(crawled(tmp_path / "count", requested=PAGES[:3], found=[PAGES]), counting)

        tried = [*range(1, counting.operations + 1)]
        failed = 0
        for at in tried[:: max(1, len(tried) // 10)]:
            crawl = crawled(tmp_path / str(at), requested=PAGES[:3], found=[PAGES])
            found = []
            try:
                while more := build(
                    crawl, most=15, needed=2, disk=(disk := BreakingDisk(at, for_good=True))
                ):
                    found.append(more)
            except (StoreError, OSError):
                failed += 1
            assert disk.operations >= 1
            # a segment that was in no caller's hands comes again, and may be the one that came last
            rest = self.everything(crawl)
            if found and rest and found[-1] == rest[0]:
                found.pop()
            assert [*found, *rest] == whole, at
        assert failed


def test_what_a_builder_leaves_is_sound(tmp_path):
    """Its state says what was made, and whether it was given away."""
    crawl = crawled(tmp_path / "job", found=[[A, B]])
    build(crawl)

    with closing(CrawlDB(crawl / FOLDER / "state")) as db:
        assert json.loads(db.get(module.MADE)) == {"number": 1, "given": 1, "touched": False}


NAME = "tables/links-00000.parquet"


def test_tables_in_a_store_are_counted_as_lost(tmp_path, caplog):
    """The links in them are missing from the segment; but for those of files that an earlier build
    has read.
    """
    with closing(StoredCrawl(tmp_path, FakePlace(), keep=False)) as crawl:
        keep_terms(crawl.db, terms_of("web", {}, values()))
        crawl.db.set("key", bytes(16))
        crawl.db.set(CLEAN, b"1")
        crawl.finish(NAME)
        crawl.outputs.open("logs/crawl.log")
        crawl.rounds(5)
    assert not (tmp_path / NAME).exists()
    with builder(tmp_path) as made:
        made.read(earlier_crawls(tmp_path))
        assert made.lost == 1
        made._db.set(f"{TABLE_READ}{tmp_path.resolve() / NAME}", b"1")
        made.read(earlier_crawls(tmp_path))

        assert made.lost == 1
    assert f"{NAME}: was removed before it was read: copy it back" in caplog.text


def test_no_file_takes_the_place_of_a_device(tmp_path):
    """It is refused before anything is built: a file is put in place by its name, and the pipe
    would be gone.
    """
    crawl, pipe = crawled(tmp_path / "job", requested=[A], found=[[B]]), tmp_path / "pipe"
    os.mkfifo(pipe)

    done = command("scrapy", "segments", "build", crawl, "-o", pipe)

    assert (done.returncode, done.stderr) == (1, f"-o {pipe}: is not a file\n")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert not (crawl / "segments").exists()


def test_a_link_stays_one(tmp_path):
    """The file that it names becomes the segment."""
    crawl, link = crawled(tmp_path / "job", requested=[A], found=[[B]]), tmp_path / "segment.csv"
    (tmp_path / "other").mkdir()
    link.symlink_to(tmp_path / "other/segment.csv")

    assert command("scrapy", "segments", "build", crawl, "-o", link).returncode == 0

    assert link.is_symlink()
    assert urls_of(tmp_path / "other/segment.csv") == [B]
