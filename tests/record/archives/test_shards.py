"""Runs that share the files of an archive: who has which, and what they know of the others'."""

from pathlib import Path

import pytest

from tests.record.archives.test_archives import Reading
from tests.support.warc_crawl import Archive, exchange, files, indexes
from webcrawl.base.model import Link
from webcrawl.record.archives import Archives
from webcrawl.record.shards import Shard

ROBOTS = b"User-agent: *\nContent-Signal: ai-train=no\n"


class TestShares:
    @pytest.mark.parametrize("text", ["1/1", "1/4", "4/4", "007/8"])
    def test_k_of_n(self, text):
        """K is from 1 to N."""
        number, count = map(int, text.split("/"))

        assert Shard.read(text) == Shard(number, count)

    @pytest.mark.parametrize(
        "text",
        ["", "1", "0/4", "5/4", "1/0", "-1/4", "1/-4", "a/b", "1/4/2", " 1/4", "1.0/4", "\u0661/4"],
    )
    def test_anything_else(self, text):
        """It is refused with the form that is expected."""
        with pytest.raises(ValueError, match="must be K/N, with K from 1 to N"):
            Shard.read(text)

    def test_each_file_has_one_shard(self):
        """All shards together have every file once."""
        named = [Path(f"warc/web-{number:05}.warc.gz") for number in range(200)]
        shares = [[one for one in named if Shard(number, 7).has(one)] for number in range(1, 8)]

        assert sorted(one for share in shares for one in share) == named
        assert all(shares)

    def test_only_the_name_counts(self):
        """Another machine, with its archives in another folder, finds the same share."""
        for number in range(20):
            name = f"web-{number:05}.warc.gz"
            paths = (Path("/a/b") / name, Path("c.wacz/archive") / name, Path(f"{name}.open"))

            assert len({Shard(1, 2).has(path) for path in paths}) == 1

    def test_the_shares_stay_as_they_are(self):
        """They are those of every version: a shard goes on where it was."""
        named = [Path(f"{letter}.warc.gz") for letter in "abcdefgh"]

        assert "".join(one.name[0] for one in named if Shard(1, 3).has(one)) == "dg"


def shared(folder, count):
    """Answers that each shard reads, as (URL, body), and what it hears of robots.txt elsewhere."""
    found, heard, lost = [], [], []
    for number in range(1, count + 1):
        own = folder / f"shard-{number}-{count}"
        own.mkdir()
        reading = Reading(own)
        for answer in Archives(
            files(folder), reading.places.get, reading.originals, 1 << 20, Shard(number, count)
        ):
            lost += answer.counters
            if answer.download is not None:
                link, came = answer.download
                (heard if answer.is_of_other_shard else found).append((link.url, came.body))
        reading.originals.close()
    return sorted(found), sorted(heard), lost


@pytest.fixture(name="crawled")
def _crawled(tmp_path):
    """A file per page; every third body is the same, and each of these after the first a revisit."""
    archive = Archive(tmp_path, max_size=100)
    archive.write(
        exchange("http://a.test/robots.txt", ROBOTS), Link("http://a.test/robots.txt", "P")
    )
    for number in range(12):
        body = b"<p>same" if number % 3 == 0 else b"<p>page %d" % number
        archive.write(exchange(f"http://a.test/{number}", body), duplicate=number % 3 == 0)
    archive.stop()
    return tmp_path


def whole(folder):
    """All that one run reads."""
    own = folder / "whole"
    own.mkdir()
    reading = Reading(own)
    found = sorted((link.url, came.body) for link, came in reading.answers(*files(folder)))
    reading.originals.close()
    assert reading.lost == []
    return found


@pytest.mark.parametrize("is_indexed", [True, False])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_shards_read_what_one_run_reads(crawled, count, is_indexed):
    """Each answer comes once, and a revisit has its body wherever its original lies.

    With and without the index of the archive.
    """
    if not is_indexed:
        for path in indexes(crawled):
            path.unlink()
    found, _, lost = shared(crawled, count)

    assert found == whole(crawled)
    assert lost == []


@pytest.mark.parametrize("is_indexed", [True, False])
def test_a_robots_txt_in_another_shards_file(crawled, is_indexed):
    """Every shard hears of it: its words hold for pages of any file. It makes one page only."""
    if not is_indexed:
        for path in indexes(crawled):
            path.unlink()
    found, heard, _ = shared(crawled, 5)

    assert heard == [("http://a.test/robots.txt", ROBOTS)] * 4
    assert found.count(("http://a.test/robots.txt", ROBOTS)) == 1


@pytest.mark.parametrize("damage", [b"", b"no index\n", b'a 2 {"url": "x"}\n'])
def test_a_damaged_index(crawled, damage):
    """The file itself is read instead."""
    for path in indexes(crawled):
        path.write_bytes(path.read_bytes()[:-20] + damage)

    assert shared(crawled, 3)[::2] == (whole(crawled), [])


def test_an_index_of_another_file(crawled):
    """It is not believed."""
    first, *others = indexes(crawled)
    for path in others:
        path.write_bytes(first.read_bytes())

    assert shared(crawled, 3)[::2] == (whole(crawled), [])


def test_a_damaged_file_is_the_loss_of_its_shard_alone(crawled):
    """The others do not count it."""
    path = files(crawled)[4]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    _, _, lost = shared(crawled, 4)

    assert [name for name in lost if name.startswith("archive/lost/")] == ["archive/lost/damaged"]


def test_a_document_of_a_browser_in_another_shards_file(tmp_path):
    """Of two originals with one payload a revisit has the one that it names: a browser may have made
    another document of each.
    """
    archive = Archive(tmp_path, max_size=100)
    for number, document in enumerate((b"<p>one", b"<p>two")):
        made = exchange(f"http://a.test/{number}", b"<script>", rendered=True)
        made.body = document
        archive.write(made)
        again = exchange(f"http://a.test/{number}-again", b"<script>", rendered=True)
        again.body = document
        archive.write(again, duplicate=True)
    archive.stop()

    assert shared(tmp_path, 7)[0] == whole(tmp_path)
