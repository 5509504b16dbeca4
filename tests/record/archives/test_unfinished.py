"""Archives of a crawl that still writes them, or was killed: each page is read once, whatever
becomes of the crawl.
"""

import pytest

from tests.record.archives.test_archives import Reading
from tests.support.hive_jobs import named
from tests.support.warc_crawl import Archive, exchange, files
from webcrawl.record.archives import Archives
from webcrawl.record.warc.archive_files import NoArchive, archive_files


class Crawled:
    """A crawl, and a run that reads what lies in its archive."""

    def __init__(self, folder):
        (folder / "read").mkdir()
        self.root, self.reading = folder / "crawl", Reading(folder / "read")
        self.crawl = None

    def pages(self, *numbers, checkpoint=False, seed=1):
        """The crawl fetches these, after it was started if it does not run."""
        self.crawl = self.crawl or Archive(self.root, seed=seed)
        for number in numbers:
            self.crawl.write(exchange(f"http://a.test/{number}", b"<p>%d" % number))
        if checkpoint:
            self.crawl.checkpoint()

    def killed(self):
        self.crawl.close()
        self.crawl = None

    def read(self):
        """Numbers of the pages that are new to whoever reads."""
        return [
            int(link.url.rpartition("/")[2]) for link, _ in self.reading.answers(*files(self.root))
        ]


@pytest.fixture(name="crawled")
def _crawled(tmp_path):
    made = Crawled(tmp_path)
    yield made
    made.reading.originals.close()
    if made.crawl is not None:
        made.killed()


def test_pages_behind_the_first_checkpoint(crawled, caplog):
    """Of a crawl that was killed before its first checkpoint nothing counts: resumed, it fetches
    all of it again.
    """
    crawled.pages(checkpoint=True)
    crawled.pages(1, 2)
    crawled.killed()
    before = crawled.read()
    crawled.pages(1, 2, 3, seed=2)
    crawled.crawl.stop()
    crawled.crawl = None

    assert (before, crawled.read()) == ([], [1, 2, 3])
    why = "its crawl was killed or failed, and will fetch those pages again when it is resumed"
    assert f"bytes are ignored: {why}" in caplog.text


def test_pages_behind_the_last_checkpoint(crawled):
    """Of a file that is truncated to a checkpoint when its crawl is resumed what is before that is
    read, and once.
    """
    crawled.pages(1, 2, checkpoint=True)
    crawled.pages(3, 4)
    crawled.killed()
    before = crawled.read()
    crawled.pages(4, 3, 5, checkpoint=True)
    after = crawled.read()
    crawled.crawl.stop()
    crawled.crawl = None

    assert (before, sorted(after), crawled.read()) == ([1, 2], [3, 4, 5], [])


def test_a_crawl_that_goes_on(crawled):
    """While a crawl runs, each reading takes what its checkpoints have added."""
    read = []
    for number in range(3):
        crawled.pages(number, checkpoint=True)
        crawled.pages(number + 10)
        read.append(crawled.read())

    assert read == [[0], [10, 1], [11, 2]]


def test_a_file_that_is_finished_while_others_are_read(crawled):
    """A file that has lost its `.open` since the run began is read under its final name."""
    crawled.pages(1, checkpoint=True)
    archives = Archives(
        files(crawled.root), crawled.reading.places.get, crawled.reading.originals, 1 << 20
    )
    crawled.pages(2)
    crawled.crawl.stop()
    crawled.crawl = None

    assert [answer.download[0].url for answer in archives if answer.download] == [
        "http://a.test/1",
        "http://a.test/2",
    ]


def test_a_copy(crawled):
    """A file that lies in no crawl's folder is read as far as it is whole."""
    crawled.pages(1, checkpoint=True)
    crawled.pages(2)
    (path,) = files(crawled.root)
    copy = crawled.reading.folder / path.name
    copy.write_bytes(path.read_bytes())

    assert [link.url for link, _ in crawled.reading.answers(copy)] == [
        "http://a.test/1",
        "http://a.test/2",
    ]


# -- Which archive files the arguments of `scrapy process` name.


@pytest.fixture(name="hive")
def _hive(tmp_path):
    for name in (
        "drone-0/warc/b.warc.gz",
        "drone-0/warc/a.warc.gz.open",
        "drone-10/warc/c.warc.gz",
        "drone-2/x",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    named(tmp_path, (0, 2, 10, 11))
    return tmp_path


def test_the_files_of_a_hive_are_those_of_its_drones(hive):
    """Of a hive's folder the files of all drones, drone by drone; one that has none, or is not
    here, adds none.
    """
    found, again = archive_files([str(hive), str(hive / "drone-10")])

    assert [path.relative_to(hive).as_posix() for path in found] == [
        "drone-0/warc/a.warc.gz.open",
        "drone-0/warc/b.warc.gz",
        "drone-10/warc/c.warc.gz",
    ]
    assert again == [hive / "drone-10/warc/c.warc.gz"]


def test_a_drone_that_is_not_here(hive, caplog):
    """A line names it: its pages will be missing."""
    archive_files([str(hive)])

    assert caplog.messages == [f"{hive}/drone-11: left out, because this drone's folder is missing"]


def test_a_hive_without_archives(tmp_path):
    """One line, as for any folder."""
    named(tmp_path, (0, 1))

    with pytest.raises(NoArchive, match="no WARC files in this folder"):
        archive_files([str(tmp_path)])


def test_a_damaged_hive_file(hive):
    """One line."""
    (hive / "hive.json").write_text("{")

    with pytest.raises(NoArchive, match=r"hive\.json: damaged at byte 1"):
        archive_files([str(hive)])
