"""Scrapy's own download handler on the crawl's frontier: pages, robots.txt, errors, archive."""

import gzip
import json
import socket
from collections import Counter
from contextlib import suppress

import pytest

from tests.support.crawling import Crawl
from tests.support.plain_site import Site, serving
from tests.support.warc_reader import digest, read
from webcrawl.tools.verify_crawl import verify

SCRAPYS = "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"
HANDLERS = {"DOWNLOAD_HANDLERS": json.dumps(dict.fromkeys(("http", "https"), SCRAPYS))}
FAST = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0.01}
PAGE = b"<title>One</title><a href=/two>two</a><a href=/forbidden>no</a><a href=/gone>gone</a><a href=/big>big</a>"
CODED = gzip.compress(b"<a href=/from-a-coded-page>x</a>")


class Small(Site):
    """A site with a robots.txt, a redirect, a coded page and a large one; notes what it is asked."""

    requested: list = []  # noqa: RUF012 - of the running test

    def answer(self):
        self.requested.append((self.path, self.headers["User-Agent"]))
        bodies = {
            "/robots.txt": b"User-agent: *\nDisallow: /forbidden\n",
            "/": PAGE,
            "/two": CODED,
            "/big": b"x" * 9_000_000,
        }
        body = bodies.get(self.path, b"")
        self.send_response(302 if self.path == "/gone" else 200)
        self.send_header(
            "Content-Type", "text/plain" if self.path in ("/robots.txt", "/big") else "text/html"
        )
        self.send_header("Content-Length", str(len(body)))
        if self.path == "/gone":
            self.send_header("Location", "/moved")
        if body is CODED:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        with suppress(ConnectionError):  # the client has enough
            self.wfile.write(body)


@pytest.fixture(name="site")
def _site():
    Small.requested = []
    with serving(Small) as address:
        yield address


def crawl_of(tmp_path, *urls):
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in urls))
    return Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, {**FAST, **HANDLERS})


def log_of(crawl):
    lines = (crawl.jobdir / "logs/crawl.log").read_text().splitlines()
    return {row[3]: (int(row[1]), row[2]) for row in (line.split() for line in lines)}


def test_a_handler_that_is_not_named_is_refused(tmp_path, site):
    """A crawl with a handler that goes round the guard does not start: one line, exit status 1,
    nothing is requested.
    """
    crawl = crawl_of(tmp_path, site)

    assert crawl.run() == 1
    (line,) = crawl.output.read_text().splitlines()
    assert line.startswith(
        f"DOWNLOAD_HANDLERS: {SCRAPYS} (http) connects without the address guard"
    )
    assert Small.requested == []


def test_a_named_handler_crawls(tmp_path, site):
    """Scrapy's handler fetches the pages; robots.txt is requested once, by the crawl's own client,
    and obeyed.
    """
    crawl = crawl_of(tmp_path, site)

    assert crawl.run(FOREIGN_HANDLERS_ALLOWED=SCRAPYS) == 0, crawl.output.read_text()

    requested = [path for path, _ in Small.requested]
    assert requested[:2] == ["/robots.txt", "/"]
    assert sorted(requested) == sorted(
        ["/robots.txt", "/", "/two", "/from-a-coded-page", "/gone", "/moved", "/big"]
    )
    assert {agent for _, agent in Small.requested} == {"webcrawl/0.1"}
    log = log_of(crawl)
    assert log[f"{site}/forbidden"][0] == -9998
    assert log[f"{site}/gone"] == (302, "0")
    assert log[f"{site}/two"] == (200, str(len(CODED)))
    assert log[f"{site}/big"] == (200, str(2 * 2**20))  # DOWNLOAD_TRUNCATE
    assert "errors" not in crawl.stats or crawl.stats["errors"] == 0
    assert crawl.stats["truncated/length"] == 1
    assert list(verify(crawl.jobdir, Counter())) == []


def test_the_archive_says_what_was_put_together(tmp_path, site):
    """A page has an exact payload below a head that is marked as reconstructed, and no request;
    robots.txt is exact.
    """
    crawl = crawl_of(tmp_path, site)
    assert crawl.run(FOREIGN_HANDLERS_ALLOWED=SCRAPYS) == 0

    records = [
        record for path in (crawl.jobdir / "warc").glob("*.warc.gz*") for record in read(path)
    ]
    of = {(record.kind, record.fields.get("WARC-Target-URI")): record for record in records}
    coded, about = of["response", f"{site}/two"], of["metadata", f"{site}/two"].about
    assert coded.block.partition(b"\r\n\r\n")[2] == CODED
    assert coded.fields["WARC-Payload-Digest"] == digest(CODED)
    assert (about["madeBy"], about["reconstructed"], about["protocol"]) == (
        SCRAPYS,
        "head",
        "HTTP/1.1",
    )
    assert ("request", f"{site}/two") not in of
    assert ("request", f"{site}/robots.txt") in of
    assert "madeBy" not in of["metadata", f"{site}/robots.txt"].about


def test_its_errors_are_booked_as_ours(tmp_path):
    """A refused connection of another handler is an outcome, not an unexpected error."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    crawl = crawl_of(tmp_path, f"http://127.0.0.1:{port}/")

    assert (
        crawl.run(FOREIGN_HANDLERS_ALLOWED=SCRAPYS, ROBOTSTXT_OBEY=False, HOST_MAX_FAILURES=2) == 1
    )

    assert log_of(crawl)[f"http://127.0.0.1:{port}/"][0] in (-2, -5004)
    assert crawl.stats["outcome/connect"] >= 1
    assert "errors" not in crawl.stats or crawl.stats["errors"] == 0
