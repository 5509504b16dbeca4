"""The index has each page that a checkpoint has exactly once, whatever happens."""

import logging
import shutil

import pytest

from tests.support.fulltext import Texts, indexed, page, written
from webcrawl.record.fulltext import text_index
from webcrawl.record.fulltext.text_index import TextIndexWriter
from webcrawl.store.errors import StoreError

URL = "http://www.a.test/%d"


@pytest.fixture(name="open_")
def _open(tmp_path):
    opened = []

    def again(**options):
        opened.append(Texts(tmp_path, **options))
        return opened[-1]

    yield again
    for one in opened:
        one.close()


def add(texts, count):
    first = texts.files.ordinal
    for number in range(first, first + count):
        texts.add(page(URL % number))


def agrees(root):
    """Whether the index has what the text files have."""
    return indexed(root) == [(line["ordinal"], line["url"]) for line in written(root)]


def test_what_a_crash_left_out_is_added(tmp_path, open_, monkeypatch, caplog):
    """Pages of the last checkpoint that the index lacks are read from the text files again, and
    told.
    """
    caplog.set_level(logging.INFO, text_index.__name__)
    texts = open_()
    monkeypatch.setattr(texts.indexer, "_stopped", True)  # the thread does nothing from now on
    add(texts, 3)
    texts.checkpoint()
    texts.close()
    assert (indexed(tmp_path), caplog.messages) == ([], [])
    texts = open_()
    texts.wait()
    assert caplog.messages[0] == f"{tmp_path}/index: 3 pages to add"
    assert caplog.messages[1].startswith("index: 3 pages more in ")
    add(texts, 1)
    texts.stop()

    assert len(indexed(tmp_path)) == 4
    assert agrees(tmp_path)


def test_an_index_that_is_wanted_later(tmp_path, open_):
    """Pages of earlier runs without an index are in it, too."""
    texts = open_(index=False)
    add(texts, 3)
    texts.stop()
    texts = open_()
    add(texts, 1)
    texts.stop()

    assert len(indexed(tmp_path)) == 4


def test_pages_that_the_crawl_does_not_know(tmp_path, open_):
    """If the crawl's files are older than the index (a backup was restored), what is beyond them is
    dropped.
    """
    texts = open_()
    add(texts, 2)
    texts.checkpoint()
    texts.wait()
    for name in ("state", "text"):
        shutil.copytree(tmp_path / name, tmp_path / "backup" / name)
    add(texts, 3)
    texts.stop()
    for name in ("state", "text"):
        shutil.rmtree(tmp_path / name)
        (tmp_path / "backup" / name).rename(tmp_path / name)
    texts = open_()
    texts.add(page("http://another.test/"))
    texts.stop()

    assert indexed(tmp_path) == [(0, URL % 0), (1, URL % 1), (2, "http://another.test/")]


def test_an_index_of_the_latest_files(tmp_path, open_):
    """What is in the index already may be taken away."""
    texts = open_()
    add(texts, 2)
    texts.stop()
    (tmp_path / "text/text-00000.jsonl.gz").unlink()
    texts = open_()
    add(texts, 1)
    texts.stop()

    assert len(indexed(tmp_path)) == 3


class TestErrors:
    def test_text_that_is_missing(self, tmp_path, open_):
        """An index that cannot be completed ends the crawl, in a line that says what is missing."""
        texts = open_(index=False)
        add(texts, 2)
        texts.stop()
        (tmp_path / "text/text-00000.jsonl.gz").unlink()

        with pytest.raises(
            StoreError, match=r"text-00000.jsonl.gz: moved or removed before its pages were indexed"
        ):
            open_().stop()

    @pytest.mark.parametrize(
        ("left", "why"),
        [((0, 2), "/text: page 1 is missing before page 2"), ((0, 1), "/text: page 2 is missing$")],
    )
    def test_a_page_that_is_missing(self, open_, monkeypatch, left, why):
        """A number that no line of the text files has is named."""
        texts = open_(index=False)
        add(texts, 3)
        texts.stop()
        all_of = text_index.lines_from
        monkeypatch.setattr(
            text_index,
            "lines_from",
            lambda *where: (one for one in all_of(*where) if one[1]["ordinal"] in left),
        )

        with pytest.raises(StoreError, match=why):
            open_().stop()

    def test_a_page_that_is_there_twice(self, tmp_path, open_):
        """An index with more pages than numbers is not believed."""
        texts = open_()
        add(texts, 2)
        texts.stop()
        twice = text_index.TextIndexWriter(tmp_path / "index", end=2)
        line = next(iter(written(tmp_path)))
        for _ in range(2):
            twice.add(text_index.document_of(line, "a.test", 0, 0))
        twice.commit(2)
        twice.close()

        with pytest.raises(
            StoreError,
            match="/index: is damaged: it has 4 pages, but the last number is 1; to have the next start rebuild it",
        ):
            open_()

    def test_an_error_in_the_thread(self, tmp_path, open_, monkeypatch):
        """The next checkpoint is taken, and then the crawl ends; nothing is added after the error."""
        texts = open_()
        add(texts, 2)
        monkeypatch.setattr(TextIndexWriter, "commit", broken)
        texts.checkpoint()
        with pytest.raises(StoreError, match="no room"):
            texts.wait()
        add(texts, 1)

        with pytest.raises(StoreError, match="no room"):
            texts.checkpoint()
        texts.close()
        monkeypatch.undo()
        open_().stop()
        assert len(indexed(tmp_path)) == 3
        assert agrees(tmp_path)

    def test_a_damaged_index(self, tmp_path, open_):
        """An index that cannot be opened is named in one line, with what to do."""
        texts = open_()
        add(texts, 1)
        texts.stop()
        (tmp_path / "index/meta.json").write_text("{")

        with pytest.raises(
            StoreError,
            match=r"index: .*to have the next start rebuild it from text/, run rm -r .*index",
        ):
            open_()

    def test_an_index_that_is_no_index(self, tmp_path, open_):
        """A file of that name."""
        (tmp_path / "index").write_text("")

        with pytest.raises(StoreError, match="index: "):
            open_()


def broken(_writer, until):
    raise StoreError(f"no room for {until} pages")
