"""Text files: members of many lines, whole at every checkpoint, in files that are rotated."""

import gzip
import json

import pytest

from tests.support.fulltext import Texts, page, written
from tests.support.warc_crawl import NOW
from webcrawl.base.model import RecordLocation
from webcrawl.record.fulltext import text_files
from webcrawl.record.fulltext.text_files import MEMBER_BYTES


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
    texts.add(page(body=b"x" * (MEMBER_BYTES + 1), content_type="text/plain"))
    texts.add(page())
    texts.stop()

    assert members(texts.root / "text/text-00000.jsonl.gz")[1] == 3


def test_a_crash_takes_back_what_no_checkpoint_has(texts):
    """After a crash the file is truncated to whole members, numbers go on, and the same file does."""
    texts.add(page("http://a.test/1"))
    texts.checkpoint()
    texts.add(page("http://a.test/2", b"x" * (MEMBER_BYTES + 1), "text/plain"))
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
    monkeypatch.setattr(text_files, "MEMBER_BYTES", 1)
    after = texts.again if texts.close() else texts.again(max_size=1)
    for _ in range(3):
        after.add(page())
    after.stop()

    assert names(texts) == [f"text-0000{number}.jsonl.gz" for number in range(3)]
    assert numbers(texts) == [0, 1, 2]


def test_a_file_that_no_checkpoint_knows(texts):
    """A file begun after the last checkpoint is removed by the next start, and its number used
    again.
    """
    texts.checkpoint()
    texts.add(page(body=b"x" * (MEMBER_BYTES + 1), content_type="text/plain"))
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


# -- A page's line of JSON.


def line(one, ordinal=7):
    return json.loads(bytes(text_files.page_line(one, ordinal)))


def test_what_is_in_it():
    """Number, address, what the page says of itself, what a browser would show, and where the
    archive has it.
    """
    one = page(
        "http://a.test/x",
        "<html lang=fr><title>T</title><h1>Head</h1><p>Été <script>no()</script>2026",
    )
    one.title = "T"
    one.fetched_at = NOW
    one.exchange.state.archived = RecordLocation("w.warc.gz", 12, 34)

    assert line(one) == {
        "ordinal": 7,
        "url": "http://a.test/x",
        "title": "T",
        "language": "fr",
        "fetched_at": "2023-11-14T22:13:20.250Z",
        "type": "text/html",
        "digest": one.exchange.digest,
        "headings": ["Head"],
        "text": "Head\nÉté 2026",
        "warc": {"file": "w.warc.gz", "offset": 12, "length": 34},
    }


def test_a_contradicted_language(monkeypatch):
    """A text that is surely not in the declared language has its own beside it; others have only
    the declared one.
    """
    pytest.importorskip("resiliparse")
    text = (
        "Das Deutsche Volk bekennt sich darum zu unverletzlichen und unveräußerlichen Menschenrechten als Grundlage "
        "jeder menschlichen Gemeinschaft, des Friedens und der Gerechtigkeit in der Welt. Die nachfolgenden "
        "Grundrechte binden Gesetzgebung, vollziehende Gewalt und Rechtsprechung als unmittelbar geltendes Recht."
    )
    values = [
        line(page("http://a.test/", f"<html lang={declared}><p>{text}"))
        for declared in ("en", "de")
    ]
    monkeypatch.setattr(text_files, "knows_languages", lambda: False)
    values.append(line(page("http://a.test/", f"<html lang=en><p>{text}")))

    assert [(value["language"], value.get("written_in")) for value in values] == [
        ("en", "de"),
        ("de", None),
        ("en", None),
    ]


def test_where_the_record_lies_is_asked_late():
    """The archive may still have to write it when the line is made; the line's bytes have its
    place.
    """
    asked = []
    one = page("http://a.test/x", "<p>text")
    one.exchange.state.archived = place = RecordLocation(
        "w.warc.gz", written=lambda: asked.append(place.put(12, 34))
    )
    made = text_files.page_line(one, 0)
    before = len(asked)

    assert json.loads(bytes(made))["warc"] == {"file": "w.warc.gz", "offset": 12, "length": 34}
    assert (before, len(asked)) == (0, 1)


def test_plain_text():
    """A plain text is its own text; without an archive nothing is said of one."""
    value = line(page(body=b"one\ntwo", content_type="text/plain"))

    assert (value["text"], "warc" in value) == ("one\ntwo", False)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("<p> ", "text/html"),
        ("<script>var x</script>", "text/html"),
        (b"body { color: red }", "text/css"),
        (b"alert(1)", "text/javascript"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
    ],
)
def test_no_line(body, content_type):
    """A page that shows no text, and what is for programs, has none."""
    assert text_files.page_line(page(body=body, content_type=content_type), 0) == b""


def test_the_text_is_bounded():
    """Of a text that is too long the beginning is kept, and the line says so."""
    value = line(page(body=b"x" * (text_files.MAX_TEXT_CHARS + 1), content_type="text/plain"))

    assert (len(value["text"]), value["truncated"]) == (text_files.MAX_TEXT_CHARS, "length")


def test_a_truncated_page_says_so():
    """A page whose download broke off has the reason in its line."""
    assert line(page(truncated="disconnect"))["truncated"] == "disconnect"


def test_hostile_text():
    """Control characters but tab and line feed become replacement characters; a line is always one
    line of UTF-8.
    """
    one = page(body=b"a\0b\x1b[31m\tc\r\nd\x7f", content_type="text/plain; charset=utf-8")
    one.title = "lone \ud800"
    data = text_files.page_line(one, 0)

    assert data.count(b"\n") == 1
    assert json.loads(data)["text"] == "a\ufffdb\ufffd[31m\tc\nd\ufffd"
    assert json.loads(data)["title"] == "lone ?"
