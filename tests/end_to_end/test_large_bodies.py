"""Bodies beyond 2 MiB: kept whole in a crawl that is to keep what it finds; what is truncated is
counted, and replays.
"""

import gzip
import http.client
import random
from collections import Counter
from urllib.parse import urlsplit

import pytest

from tests.support.crawling import QUICK, Crawl, scrapy
from tests.support.plain_site import Site, serving
from tests.support.warc_reader import read
from tests.support.wayback import collection, needs_pywb, wayback
from webcrawl.crawl.checks import check
from webcrawl.tools.verify_crawl import verify

pytestmark = pytest.mark.xdist_group("large bodies")  # two crawls for all tests
TRUNCATE = 2 << 20
PDF = b"%PDF-1.7\n" + random.Random(1).randbytes(TRUNCATE + 1_000_000)
FILM = b"\0\0\0\x1cftypmp42" + random.Random(2).randbytes(TRUNCATE + 500_000)
PAGE = b"<!doctype html><a href=/early>x</a>" + b"<p>word</p>" * 250_000 + b"<a href=/late>y</a>"
WORDS = gzip.compress(b"".join(b"%d words\n" % number for number in range(400_000)), 1)


class Files(Site):
    """Large files: two that are the same, one in chunks, one that is packed, and a page with a link
    at its end.
    """

    def answer(self):
        links = "".join(
            f"<a href=/{name}>"
            for name in ("a.pdf", "again.pdf", "film", "chunks", "words", "page")
        )
        files = {
            "/": (links.encode(), "text/html"),
            "/a.pdf": (PDF, "application/pdf"),
            "/again.pdf": (PDF, "application/pdf"),
            "/film": (FILM, "video/mp4"),
            "/page": (PAGE, "text/html"),
            "/words": (WORDS, "text/plain"),
        }
        if self.path == "/chunks":
            self.chunks()
        elif self.path in files:
            body, kind = files[self.path]
            coding = {"content_encoding": "gzip"} if body is WORDS else {}
            self.say(200, body, content_type=kind, **coding)
        else:
            self.say(404, b"")

    def chunks(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for at in range(0, len(FILM), 100_000):
            piece = FILM[at : at + 100_000]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")


def crawled(folder, **settings):
    with serving(Files) as address:
        (folder / "seeds.txt").write_text(f"{address}/\n")
        given = {
            **QUICK,
            "PORTS_ALLOWED": address.rpartition(":")[2],
            "URL_EXCLUDE_EXTENSIONS": "",
            **settings,
        }
        crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt", "scope": "host"}, given)
        assert crawl.run() == 0
    return crawl, address


@pytest.fixture(name="whole", scope="module")
def _whole(tmp_path_factory):
    return crawled(tmp_path_factory.mktemp("whole"))


@pytest.fixture(name="truncated", scope="module")
def _truncated(tmp_path_factory):
    return crawled(tmp_path_factory.mktemp("truncated"), DOWNLOAD_TRUNCATE=TRUNCATE)


def answers(crawl, kind="response"):
    records = [
        record
        for path in sorted((crawl.jobdir / "warc").glob("*.warc.gz"))
        for record in read(path)
    ]
    return {
        urlsplit(one.fields["WARC-Target-URI"]).path: one for one in records if one.kind == kind
    }


class TestWhole:
    def test_the_archive_has_every_byte(self, whole):
        """A crawl of a host keeps 64 MiB of a body unless something else is set; README promised
        every byte.
        """
        found = answers(whole[0])

        assert found["/a.pdf"].block.endswith(PDF)
        assert found["/film"].block.endswith(FILM)
        assert not any("WARC-Truncated" in record.fields for record in found.values())
        assert "truncated at DOWNLOAD_TRUNCATE" not in whole[0].output.read_text()

    def test_a_document_is_read_as_far_as_ever(self, whole):
        """Links are read in the first 2 MiB of a document: what is behind that would hold the crawl
        up.
        """
        log = (whole[0].jobdir / "logs/crawl.log").read_text()

        assert "/early " in log
        assert "/late " not in log

    @pytest.mark.parametrize(
        ("settings", "expected"),
        [
            ({}, TRUNCATE),
            ({"URL_SCOPE": "host"}, 64 << 20),
            ({"REQUISITES": True}, 64 << 20),
            ({"PURPOSE": "archive search"}, 64 << 20),
            ({"PURPOSE": "search"}, TRUNCATE),
            ({"URL_SCOPE": "host", "DOWNLOAD_TRUNCATE": 5000}, 5000),
            ({"URL_SCOPE": "host", "DOWNLOAD_MAXSIZE": 9000}, 9000),
        ],
    )
    def test_who_keeps_how_much(self, settings, expected):
        """Crawls that are to keep what they find keep 64 MiB of a body, unless the operator has set
        a size.
        """
        assert check(settings, settings.__contains__)["DOWNLOAD_TRUNCATE"] == expected


class TestTruncated:
    def test_they_are_counted_by_type(self, truncated, tmp_path):
        """The last lines, the report and `verify` say how many bodies are truncated, and what they
        are.
        """
        crawl, _ = truncated
        types = "2 application/pdf, 2 video/mp4, 1 text/html, 1 text/plain"
        assert scrapy(["verify", str(crawl.jobdir)], crawl.project, tmp_path / "verify") == 0
        page = tmp_path / "report.html"
        assert (
            scrapy(
                ["report", str(crawl.jobdir), "-o", str(page)], crawl.project, tmp_path / "report"
            )
            == 0
        )

        assert f"6 answers truncated at DOWNLOAD_TRUNCATE ({types}): " in crawl.output.read_text()
        assert f"6 answers truncated at DOWNLOAD_TRUNCATE ({types}): " in page.read_text()
        # the other PDF refers to the first
        of_records = "2 video/mp4, 1 application/pdf, 1 text/html, 1 text/plain"
        assert (
            f"archive: 5 records with truncated bodies: {of_records}\n"
            in (tmp_path / "verify").read_text()
        )
        assert list(verify(crawl.jobdir, Counter())) == []

    def test_an_equal_one_is_a_revisit(self, truncated):
        """A body that is truncated where another one was, with the same bytes, is stored once."""
        whole, revisits = answers(truncated[0]), answers(truncated[0], "revisit")
        pdfs = {"/a.pdf", "/again.pdf"}

        assert len(pdfs & whole.keys()) == len(pdfs & revisits.keys()) == 1
        (first,), (again,) = pdfs & whole.keys(), pdfs & revisits.keys()
        assert revisits[again].fields["WARC-Refers-To"] == whole[first].id
        assert whole[first].fields["WARC-Truncated"] == "length"

    def test_their_heads_are_true(self, truncated):
        """The head of a truncated answer declares the length that is kept, and the received one
        beside it.
        """
        heads = {}
        for records in (answers(truncated[0]), answers(truncated[0], "revisit")):
            for path, record in records.items():
                head, _, _ = record.block.partition(b"\r\n\r\n")
                lengths = [
                    line for line in head.split(b"\r\n") if b"content-length" in line.lower()
                ]
                heads[path] = lengths

        kept, pdf = (
            b"Content-Length: %d" % TRUNCATE,
            b"X-Archive-Orig-Content-Length: %d" % len(PDF),
        )
        assert heads["/a.pdf"] == heads["/again.pdf"] == [kept, pdf]
        assert heads["/film"] == [kept, b"X-Archive-Orig-Content-Length: %d" % len(FILM)]
        assert heads["/words"][1] == b"X-Archive-Orig-Content-Length: %d" % len(WORDS)
        assert heads["/chunks"] == []

    def test_a_package_counts_them(self, truncated, tmp_path):
        """`export wacz` says how many answers are truncated, by type."""
        crawl, _ = truncated
        said = tmp_path / "said"
        command = ["export", "wacz", str(crawl.jobdir), "-o", str(tmp_path / "site.wacz")]
        assert scrapy(command, crawl.project, said) == 0

        assert (
            "5 answers truncated: 2 video/mp4, 1 application/pdf, 1 text/html, 1 text/plain\n"
            in said.read_text()
        )

    @needs_pywb
    def test_the_archive_replays_to_its_end(self, truncated, tmp_path):
        """A browser is not told to wait for bytes that nobody has: by pywb, a 5 MB PDF never ended."""
        crawl, address = truncated
        collection(tmp_path / "pywb", (crawl.jobdir / "warc").glob("*.warc.gz"))

        with wayback(tmp_path / "pywb") as replay:
            place = urlsplit(replay)
            sizes = {}
            for path in ("/a.pdf", "/again.pdf", "/film", "/chunks", "/page", "/words"):
                connection = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
                connection.request("GET", f"{place.path}/2100id_/{address}{path}")
                answer = connection.getresponse()
                # IncompleteRead or a timeout: it did not end
                sizes[path] = answer.status, len(answer.read())
                connection.close()

        assert {status for status, _ in sizes.values()} == {200}
        assert (
            sizes["/a.pdf"]
            == sizes["/again.pdf"]
            == sizes["/film"]
            == sizes["/page"]
            == (200, TRUNCATE)
        )
