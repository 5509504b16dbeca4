"""The index beside each archive file says where its records are, for programs that replay them."""

import json
import logging

import pytest

from tests.support.cdxj import assert_index, entries, indexed, places
from tests.support.warc_crawl import Archive, chunked, exchange, files, indexes
from tests.support.warc_reader import digest
from webcrawl.base.model import PageView

PAGE = b"<p>hello world, " * 20


@pytest.fixture(name="archive")
def _archive(tmp_path):
    archive = Archive(tmp_path)
    yield archive
    archive.close()


def values(archive):
    """What the index says of each record, in the order of the archive, without the place."""
    archive.stop()
    assert_index(files(archive.root)[0])
    rows = sorted(entries(indexes(archive.root)[0]), key=lambda row: int(row[2]["offset"]))
    return [
        {name: row[name] for name in row if name not in ("length", "offset", "filename")}
        for *_, row in rows
    ]


def test_a_line(archive):
    """A line has key, time and values in cdxj-indexer's order, with its blanks."""
    archive.write(exchange("http://www.a.test/x?b=\\&a=1", PAGE))
    archive.stop()
    (path,), (index,) = files(archive.root), indexes(archive.root)
    url, when, payload, length, offset = places(path)[0]

    about = {"url": url, "mime": "text/html", "status": "200", "digest": payload}
    place = {"length": length, "offset": offset, "filename": path.name}
    assert index.read_text() == f"test,a)/x?a=1&b=\\ {when} {json.dumps(about | place)}\n"
    assert (when, payload) == ("20231114221320", digest(PAGE))


@pytest.mark.parametrize(
    ("request_line", "method"), [(b"GET / HTTP/1.1", None), (b"HEAD / HTTP/1.1", "HEAD")]
)
def test_the_method(archive, request_line, method):
    """Of an answer to another request than GET the line says to which: it is not the page of its
    URL.
    """
    archive.write(exchange(request=request_line + b"\r\n\r\n"))
    (found,) = values(archive)
    assert found.get("method") == method


def test_its_name_is_that_of_the_archive(archive):
    """Only the ending differs, and `.open` goes together with the archive's."""
    archive.write(exchange())
    archive.checkpoint()
    assert [path.name for path in indexes(archive.root)] == ["test-20231114221320-00000.cdxj.open"]
    archive.stop()
    assert [path.name for path in indexes(archive.root)] == ["test-20231114221320-00000.cdxj"]


def test_records_that_can_be_replayed(archive):
    """Responses, revisits, resources and a browser's documents have lines; requests and metadata
    have none.
    """
    archive.write(exchange("http://a.test/1", PAGE))
    archive.write(exchange("http://a.test/2", PAGE, status=203), duplicate=True)
    archive.write(
        exchange(
            "ftp://a.test/3",
            b"text",
            head=b"",
            headers=[(b"Content-Type", b"text/plain")],
            request=b"",
        )
    )
    archive.write(exchange("http://a.test/4", b"<script>", rendered=True, made_by="b"))
    found = values(archive)

    assert found[:3] == [
        {"url": "http://a.test/1", "mime": "text/html", "status": "200", "digest": digest(PAGE)},
        {"url": "http://a.test/2", "mime": "warc/revisit", "status": "203", "digest": digest(PAGE)},
        {"url": "ftp://a.test/3", "mime": "text/plain", "digest": digest(b"text")},
    ]
    assert [(row["url"], row.get("status"), row["mime"]) for row in found[3:]] == [
        ("http://a.test/4", "200", "text/html"),
        ("http://a.test/4", None, "text/html"),
    ]


def test_views_of_a_page(archive):
    """A screenshot and a PDF have lines of their own, behind that of the browser's document."""
    page = exchange("http://a.test/4", b"<script>", rendered=True)
    page.state.views = (
        PageView("urn:view:", "image/png", b"PNG" * 3000),
        PageView("urn:pdf:", "application/pdf", b"PDF"),
    )
    archive.write(page)
    archive.write(exchange("http://a.test/5", PAGE))
    found = values(archive)

    assert [(row["url"], row["mime"], row["digest"]) for row in found[2:4]] == [
        ("urn:view:http://a.test/4", "image/png", digest(b"PNG" * 3000)),
        ("urn:pdf:http://a.test/4", "application/pdf", digest(b"PDF")),
    ]
    assert [row["url"] for row in found] == [
        "http://a.test/4",
        "http://a.test/4",
        "urn:view:http://a.test/4",
        "urn:pdf:http://a.test/4",
        "http://a.test/5",
    ]


def test_a_transfer_coded_answer_has_the_digest_of_its_payload(archive):
    """The digest of its metadata record: that of the page, however it was sent."""
    archive.write(chunked("http://a.test/", PAGE))

    assert values(archive)[0]["digest"] == digest(PAGE)


@pytest.mark.parametrize(
    ("written", "mime"),
    [
        (b"text/html; charset=x", "text/html"),
        (b'a"b\\c\x01', 'a"b\\c\x01'),
        (b"\xff/x y", "ÿ/x"),
        (b"", None),
        (b"; x", None),
    ],
)
def test_the_media_type_is_as_the_server_wrote_it(archive, written, mime):
    """Up to a blank or semicolon; nothing in it can end the line."""
    archive.write(exchange(headers=[(b"Content-Type", written)]))

    assert values(archive)[0].get("mime") == mime


def test_each_archive_file_has_its_own(tmp_path):
    """Index and archive end with the same record."""
    archive = Archive(tmp_path, max_size=2500)
    for number in range(20):
        archive.write(exchange(f"http://a.test/{number}", PAGE))
        if number % 3 == 0:
            archive.checkpoint()
    archive.stop()

    assert len(files(tmp_path)) == len(indexes(tmp_path)) > 3
    for path in files(tmp_path):
        assert_index(path)


def test_it_is_truncated_with_the_archive(tmp_path):
    """After a crash both hold what the last checkpoint noted, and the next start finishes both."""
    archive = Archive(tmp_path)
    archive.write(exchange("http://a.test/1"))
    archive.checkpoint()
    archive.write(exchange("http://a.test/2"))
    archive.outputs.flush()
    archive.db.close()
    Archive(tmp_path, seed=2).stop()

    assert [row[0] for row in indexed(indexes(tmp_path)[0])] == ["http://a.test/1"]
    assert_index(files(tmp_path)[0])


@pytest.mark.parametrize("left", ["", ".new", ".runs"])
def test_a_finished_archive_gets_its_index_at_the_next_start(tmp_path, left):
    """A crash before or while the lines are sorted is made good."""
    archive = Archive(tmp_path)
    for number in (2, 1):
        archive.write(exchange(f"http://a.test/{number}"))
    archive.writer.close()
    archive.checkpoint()
    archive.db.close()
    (unsorted,) = indexes(tmp_path)
    assert unsorted.suffix == ".open"
    if left:
        unsorted.with_name(unsorted.stem + left).write_bytes(b"half a line")
    Archive(tmp_path, seed=2).stop()

    assert_index(files(tmp_path)[0])
    assert [path.name for path in indexes(tmp_path)] == [unsorted.stem]


def test_a_crash_after_the_sorting(tmp_path):
    """The unsorted lines that were about to be removed go at the next start."""
    archive = Archive(tmp_path)
    archive.write(exchange())
    archive.stop()
    (index,) = indexes(tmp_path)
    index.with_name(f"{index.name}.open").write_bytes(index.read_bytes())
    Archive(tmp_path, seed=2).stop()

    assert indexes(tmp_path) == [index]


class TestOnAndOff:
    """A file goes on as it was begun."""

    def test_without(self, tmp_path):
        """Archives need not be indexed."""
        archive = Archive(tmp_path, indexed=False)
        archive.write(exchange())
        archive.stop()

        assert indexes(tmp_path) == []

    @pytest.mark.parametrize("before", [True, False])
    def test_changed(self, tmp_path, before):
        """What a crash left is finished with or without an index, as it was begun."""
        archive = Archive(tmp_path, indexed=before)
        archive.write(exchange("http://a.test/1"))
        archive.checkpoint()
        archive.db.close()
        archive = Archive(tmp_path, seed=2, indexed=not before)
        archive.write(exchange("http://a.test/2"))
        archive.stop()
        first, second = files(tmp_path)

        assert_index(first if before else second)
        assert len(indexes(tmp_path)) == 1


def test_sorting_happens_beside_the_crawl(archive, caplog):
    """The lines are sorted in the thread that syncs, by the checkpoint after the one that finished
    the archive.
    """
    archive.write(exchange())
    archive.writer.close()
    archive.checkpoint()
    assert indexes(archive.root)[0].suffix == ".open"
    with caplog.at_level(logging.WARNING):
        archive.checkpoint()

    assert indexes(archive.root)[0].suffix == ".cdxj"
    assert caplog.messages == []
