"""scrapy verify reads what the processing modules wrote."""

from collections import Counter

import msgpack
import pytest

from tests.support.outputs import Crawl
from tests.support.tampering import tampered
from webcrawl.adapter.pipelines.outputs import TagsPipeline
from webcrawl.crawl.checkpointing import state_name
from webcrawl.crawl.outputs.tags import TagCounts
from webcrawl.record.statistics import Statistics
from webcrawl.store.jobdir.log_lines import SHAPES, TAGS_POSITION
from webcrawl.tools.verify_crawl import verify

LINES = {
    "logs/images.log": (b"http://a.test/i\tgif\t1\t2\t30\n", b"http://a.test/j\t-\t\t\t0\n"),
    "logs/neardup.log": (b"0123456789abcdef\thttp://a.test/\n", b"-\thttp://a.test/b\n"),
    "logs/skipped.log": (b"2011-06-23T17:12:08.802Z\tscope\thttp://b.test/\thttp://a.test/\n",),
}
REQUEST = b"2011-06-23T17:12:08.802Z\tGET\thttp://a.test/\tL\t0\t-\t0.000\tnew\n"


@pytest.fixture(name="crawl")
def _crawl(tmp_path):
    crawl = Crawl(tmp_path)
    crawl.checkpoint()
    yield crawl
    crawl.close()


def damages(crawl):
    return [f"{damage.path.name}: {damage.why}" for damage in verify(crawl.root, Counter())]


def test_added_seeds_are_there_until_they_are_read(crawl):
    """A file of seeds that came by command is missed if the crawl has not read it to its end."""
    unread = msgpack.packb([[0, 0], [], {"jobdir:seeds/a.txt": b"", "/elsewhere.txt": b""}])
    crawl.db.set("seeds/more", unread)
    crawl.checkpoint()
    assert damages(crawl) == ["a.txt: missing, though not all of its seeds are read"]

    crawl.db.set("seeds/more", msgpack.packb([[1, 0], ["jobdir:seeds/a.txt"], {}]))
    crawl.checkpoint()
    assert damages(crawl) == []


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("wrong", [b"", b"x\n", b"\n", b"a\tb\tc\td\te\tf\tg\n"])
def test_lines_have_their_fields(crawl, name, wrong):
    """A line that has not is damage, at its place."""
    output = crawl.outputs.open(name)
    for line in (*LINES[name], wrong):
        assert line == wrong or SHAPES[name].fullmatch(line)
        output.write(line)
    crawl.checkpoint()

    assert damages(crawl) == (
        [f"{output.path.name}: not a line of this log: {wrong!r}"] if wrong else []
    )


def test_a_line_that_came_twice(crawl):
    """Lines that another program has added are not told as a line that lost its end."""
    output = crawl.outputs.open("logs/neardup.log")
    for line in LINES["logs/neardup.log"]:
        output.write(line)
    crawl.checkpoint()
    first, last = LINES["logs/neardup.log"]
    output.path.write_bytes(first + first + last)

    (damage,) = damages(crawl)
    assert damage.startswith("neardup.log: the last checkpoint ends within this line")


def test_requests_log_is_checked_without_a_note(crawl):
    """No checkpoint knows of it; a last line that is still being written is none."""
    (crawl.root / "logs").mkdir()
    log = crawl.root / "logs/requests.log"
    log.write_bytes(REQUEST + b"2011-06-23T17")
    assert damages(crawl) == []

    log.write_bytes(b"2011-06-23T17\n" + REQUEST)
    assert damages(crawl) == ["requests.log: not a line of this log: b'2011-06-23T17\\n'"]


class TestTags:
    def tags(self, crawl, *, clean, text="a\t2\t1\n"):
        counts = TagCounts()
        counts.add([b"a", b"a"])
        crawl.db.set(TAGS_POSITION, msgpack.packb(counts.rows()))
        crawl.db.set("clean", clean)
        crawl.checkpoint()
        (crawl.root / "tags.tsv").write_text(text)

    def test_its_name_is_that_of_the_pipeline(self):
        """The position is found where the pipeline puts it."""
        assert f"pipeline.{state_name(TagsPipeline)}" == TAGS_POSITION

    def test_the_counts_of_the_last_checkpoint(self, crawl):
        """After a crawl that has ended, the file has the counts in crawl.db; it may be missing."""
        self.tags(crawl, clean=b"1")
        assert damages(crawl) == []

        (crawl.root / "tags.tsv").write_text("a\t3\t1\n")
        assert damages(crawl) == ["tags.tsv: the counts differ from those of the last checkpoint"]

        (crawl.root / "tags.tsv").unlink()
        assert damages(crawl) == []

    def test_ahead_after_a_crash(self, crawl):
        """A crawl that was killed may have written it for a checkpoint that it did not finish."""
        self.tags(crawl, clean=b"", text="a\t3\t1\n")

        assert damages(crawl) == []

    def test_no_rows(self, crawl):
        """What has not the form of rows is damage in any case."""
        self.tags(crawl, clean=b"", text="a\t3\t1\nb 1 1\n")

        assert damages(crawl) == ["tags.tsv: line 2 is not a row of counts: 'b 1 1'"]


# -- Statistics of another number of URLs than crawl.log has lines are damage.


def told(root, value):
    """What verify says of a crawl with this value for statistics."""
    sql = f"INSERT OR REPLACE INTO meta VALUES ('statistics', x'{value.hex()}', 0)"
    tampered(root / "state/crawl.db", sql)
    found = Counter()
    return [str(damage).replace(f"{root}/", "") for damage in verify(root, found)], found[
        "logs/crawl.log"
    ]


def saved(**more):
    return msgpack.packb(Statistics(bytes(16)).save() | more)


def test_as_many_urls_as_lines(copy):
    """Statistics of as many URLs as the log has lines are sound; others are not."""
    _, lines = told(copy, saved(lines=0, since=1))
    assert lines > 0

    assert told(copy, saved(lines=lines)) == ([], lines)
    (damage,), _ = told(copy, saved(lines=lines + 1))
    assert (
        f"table meta, statistics: they count {lines + 1} URLs, but logs/crawl.log has {lines} lines"
        in damage
    )


def test_statistics_of_a_part(copy):
    """Those that were kept from later on are of fewer URLs."""
    assert told(copy, saved(lines=3, since=1000))[0] == []


@pytest.mark.parametrize(
    "value", [b"\xc1", b"\x05", b"\x80", msgpack.packb({"lines": "x", "since": 0})]
)
def test_no_statistics(copy, value):
    """A value that is no statistics is damage."""
    (damage,), _ = told(copy, value)
    assert "table meta, statistics: " in damage


def test_a_damaged_log(copy):
    """Where the log itself is damaged, that is reported alone."""
    _, lines = told(copy, saved(lines=0, since=1))
    log = copy / "logs/crawl.log"
    log.write_bytes(log.read_bytes()[:-5])

    damages, _ = told(copy, saved(lines=lines))
    assert damages
    assert all("logs/crawl.log: damaged" in damage for damage in damages)
