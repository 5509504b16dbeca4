"""Text files: members of many lines, whole at every checkpoint, in files that are rotated."""

import gzip

import pytest

from tests.support.fulltext import Texts, page, written
from webcrawl.record.fulltext import text_files
from webcrawl.record.fulltext.text_files import MEMBER


@pytest.fixture(name="texts")
def _texts(tmp_path):
    opened = [Texts(tmp_path, index=False)]

    def again(**options):
        opened.append(Texts(tmp_path, index=False, **options))
        return opened[-1]

    opened[0].again = again
    yield opened[0]
    for one in opened:
        one.close()


def numbers(texts):
    return [line["ordinal"] for line in written(texts.root)]


def names(texts):
    return [path.name for path in sorted((texts.root / "text").iterdir())]


def members(path):
    """How many gzip members a file has."""
    return gzip.decompress(path.read_bytes()), path.read_bytes().count(b"\x1f\x8b\x08\0\0\0\0\0")


def test_a_page_without_text_has_no_number(texts):
    """Numbers are those of the lines, without gaps."""
    assert [texts.add(page(body=body)) for body in ("<p>a", "<p>", "<p>b")] == [True, False, True]
    texts.stop()

    assert numbers(texts) == [0, 1]


def test_a_finished_file(texts):
    """The end of a run finishes the file: it loses its `.open`."""
    texts.add(page())
    texts.stop()

    assert names(texts) == ["text-00000.jsonl.gz"]


def test_lines_share_members(texts):
    """Lines are compressed together, some hundred KB of them; a checkpoint ends a member."""
    for _ in range(3):
        texts.add(page())
    texts.checkpoint()
    texts.add(page(body=b"x" * (MEMBER + 1), content_type="text/plain"))
    texts.add(page())
    texts.stop()

    assert members(texts.root / "text/text-00000.jsonl.gz")[1] == 3


def test_a_crash_takes_back_what_no_checkpoint_has(texts):
    """After a crash the file is cut back to whole members, numbers go on, and the same file does."""
    texts.add(page("http://a.test/1"))
    texts.checkpoint()
    texts.add(page("http://a.test/2", b"x" * (MEMBER + 1), "text/plain"))
    texts.close()
    after = texts.again()
    after.add(page("http://a.test/3"))
    after.stop()

    assert [(line["ordinal"], line["url"]) for line in written(texts.root)] == [
        (0, "http://a.test/1"),
        (1, "http://a.test/3"),
    ]
    assert names(texts) == ["text-00000.jsonl.gz"]


def test_files_are_rotated(texts, monkeypatch):
    """A file that is large enough is finished, and the next one begun with the next page."""
    monkeypatch.setattr(text_files, "MEMBER", 1)
    after = texts.again if texts.close() else texts.again(max_size=1)
    for _ in range(3):
        after.add(page())
    after.stop()

    assert names(texts) == [f"text-0000{number}.jsonl.gz" for number in range(3)]
    assert numbers(texts) == [0, 1, 2]


def test_a_file_that_no_checkpoint_knows(texts):
    """A file begun after the last checkpoint is removed by the next start, and its number used again."""
    texts.checkpoint()
    texts.add(page(body=b"x" * (MEMBER + 1), content_type="text/plain"))
    texts.close()
    after = texts.again()

    assert list((texts.root / "text").iterdir()) == []
    after.add(page())
    after.stop()
    assert names(texts) == ["text-00000.jsonl.gz"]


def test_files_may_be_taken_away(texts):
    """The crawl needs finished files no more."""
    texts.add(page())
    texts.stop()
    (texts.root / "text/text-00000.jsonl.gz").unlink()
    after = texts.again()
    after.add(page())
    after.stop()

    assert names(texts) == ["text-00001.jsonl.gz"]
    assert numbers(texts) == [1]
