"""Other tools read our archives without complaint, and every page comes back byte for byte."""

import gzip
import io
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator

from tests.support.cases import cases
from tests.support.warc_crawl import Archive, chunked, exchange, files
from tests.support.warc_reader import members, read
from webcrawl.base.model import Exchange, Link, Timings
from webcrawl.net.errors import FetchError
from webcrawl.net.http_answer import AnswerParser

PAGE = b"<html><p>hello world</p>" * 200
# For bodies coded by brotli warcio 1.8.1 uses any package named brotli, but fails with an
# AttributeError on the one that has this name today. Without such a package it does not decode
# these bodies.
WITHOUT_BROTLI = (
    "import sys; sys.modules['brotli'] = None; from warcio.cli import main; sys.exit(main())"
)
BIN = Path(sys.executable).parent
TOOLS = {
    "warcio": [sys.executable, "-c", WITHOUT_BROTLI, "check"],
    "fastwarc": [BIN / "fastwarc", "check", "-q"],
    "warcvalid": [BIN / "warcvalid"],
}
KEPT = b"Content-Length: %d\r\nX-Archive-Orig-Content-Length: %d"
# in curl's tests: the length that was declared, and what came
TRUNCATED = [("269.0", 677654, 10), ("315.0", 1056, 102)]


def run(tool, path):
    return subprocess.run([*TOOLS[tool], path], capture_output=True, text=True, check=False)


def coded(url, *, chunks):
    """A gzip-coded answer, in chunks or not."""
    zipped = gzip.compress(PAGE, mtime=0)
    made = chunked(url, zipped) if chunks else exchange(url, zipped)
    made.head = made.head.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    made.body = PAGE
    return made


EXCHANGES = [
    exchange("http://a.test/plain", PAGE),
    exchange("http://a.test/empty", b""),
    chunked("http://a.test/chunked", PAGE, size=1000),
    coded("http://a.test/gzip", chunks=False),
    coded("http://a.test/gzip-chunked", chunks=True),
    exchange("http://a.test/binary", bytes(range(256)) * 20),
    exchange("http://a.test/like-a-record", b"\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\n\r\n"),
    exchange("http://[::1]/six", b"six", ip="::1"),
    exchange("http://a.test/truncated", PAGE[:1000], truncated="length"),
    exchange("http://a.test/big", PAGE * 500),
]


def _write(root, exchanges, **options):
    archive = Archive(root, **options)
    for made in exchanges:
        link = Link(made.url, "LL", "http://via.test/", "http://seed.test/")
        archive.write(
            made, link, duplicate=made.url.endswith("again"), title="Ünï\r\nWARC-Type: x\u2028\x00"
        )
    archive.stop()
    (path,) = files(root)
    return path


@pytest.fixture(name="archive", scope="module")
def _archive(tmp_path_factory):
    """A file with one exchange of every kind."""
    again = exchange("http://a.test/again", PAGE)
    file = exchange("ftp://a.test/file", b"file", head=b"", request=b"", headers=[])
    return _write(tmp_path_factory.mktemp("warc"), [*EXCHANGES, again, file])


def _as_older(archive):
    """Its records, as WARC/1.0: warctools 5.0.1 reports any newer version before it checks anything
    else.
    """
    return [data.replace(b"WARC/1.1", b"WARC/1.0", 1) for data in members(archive.read_bytes())]


class TestTools:
    @pytest.mark.parametrize("tool", ["warcio", "fastwarc"])
    def test_a_tool_is_content(self, archive, tool):
        """The checkers of warcio and fastwarc end with status 0 and print nothing."""
        done = run(tool, archive)

        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def test_warctools_minds_the_version_only(self, archive, tmp_path):
        """A WARC/1.1 file passes warcvalid once its version is changed to 1.0, and nothing else."""
        renamed = tmp_path / "renamed.warc.gz"
        renamed.write_bytes(b"".join(zlib.compress(data, 1, 31) for data in _as_older(archive)))

        assert run("warcvalid", archive).returncode != 0
        assert run("warcvalid", renamed).returncode == 0

    @pytest.mark.parametrize("tool", TOOLS)
    def test_a_tool_would_notice(self, archive, tmp_path, tool):
        """The same checkers report a changed byte and a missing end, so their silence means
        something.
        """
        changed = [data.replace(b"hello", b"hellO", 1) for data in _as_older(archive)]
        damaged = tmp_path / "damaged.warc.gz"
        damaged.write_bytes(b"".join(zlib.compress(data, 1, 31) for data in changed)[:-500])

        assert run(tool, damaged).returncode != 0

    def test_warcio_gives_every_page_back(self, archive):
        """Decoded from transfer and content coding, the bodies are those that were exchanged."""
        assert _bodies_by_warcio(archive) == {made.url: made.body for made in EXCHANGES}

    def test_fastwarc_gives_every_byte_back(self, archive):
        """Heads and bodies come back as they were on the wire."""
        assert _blocks_by_fastwarc(archive) == {
            made.url: made.head + made.wire for made in EXCHANGES
        }


def _bodies_by_warcio(path):
    with path.open("rb") as file:
        return {
            record.rec_headers.get_header("WARC-Target-URI"): record.content_stream().read()
            for record in ArchiveIterator(file)
            if record.rec_type == "response"
        }


def _blocks_by_fastwarc(path):
    data = io.BytesIO(path.read_bytes())
    found = {}
    for record in FastIterator(data, parse_http=False):
        if record.headers["WARC-Type"] == "response":
            found[record.headers["WARC-Target-URI"]] = record.reader.read()
    return found


def _answers():
    """What our client accepts of the answers in curl's tests, with odd heads and broken bodies."""
    for path in sorted((cases("http-raw") / "responses").iterdir()):
        answer = AnswerParser(1 << 20)
        try:
            message = answer.feed(path.read_bytes()) or answer.lost(reset=False)
        except FetchError:
            continue
        wire, payload, body = message.forms()
        url, head = f"http://curl.test/{path.stem}", message.head
        yield Exchange(
            url, b"GET / HTTP/1.1\r\n\r\n", head.status, head.raw, head.headers, wire, payload, body,
            "127.0.0.1", 1e9, Timings(), message.truncated, tuple(message.flaws),
        )  # fmt: skip


class TestReal:
    def test_odd_answers(self, tmp_path):
        """For every head that our client accepts, the archive has its exact bytes and passes the
        tools.

        Only of two bodies that were truncated the head declares the length that came, beside the
        one it had.
        """
        exchanges = list(_answers())
        assert len(exchanges) > 80
        path = _write(tmp_path, exchanges)

        expected = {made.url: made.head + made.wire for made in exchanges}
        expected |= {
            made.url: made.head.replace(b"Content-Length: %d" % declared, KEPT % (kept, declared))
            + made.wire
            for made in exchanges
            for name, declared, kept in TRUNCATED
            if made.url == f"http://curl.test/{name}"
        }
        assert _blocks_by_fastwarc(path) == expected
        assert {
            r.fields["WARC-Target-URI"]: r.block for r in read(path) if r.kind == "response"
        } == expected
        older = tmp_path / "older.warc"  # warctools knows no version 1.1
        older.write_bytes(
            gzip.decompress(path.read_bytes()).replace(b"WARC/1.1\r\n", b"WARC/1.0\r\n")
        )
        files = {tool: older if tool == "warcvalid" else path for tool in TOOLS}
        assert {tool: run(tool, files[tool]).returncode for tool in TOOLS} == dict.fromkeys(
            TOOLS, 0
        )

    def test_real_pages(self, tmp_path):
        """Newspaper pages, plain and in chunks, come back unchanged."""
        pages = sorted((cases("html-newspaper") / "pages").glob("*.gz"))[:20]
        assert pages
        exchanges = [
            make(f"http://news.test/{number}", gzip.decompress(page.read_bytes()))
            for number, page in enumerate(pages)
            for make in (exchange, lambda url, body: chunked(f"{url}/chunked", body, 4096))
        ]
        path = _write(tmp_path, exchanges)

        assert _bodies_by_warcio(path) == {made.url: made.body for made in exchanges}
        assert {tool: run(tool, path).returncode for tool in ("warcio", "fastwarc")} == {
            "warcio": 0,
            "fastwarc": 0,
        }
