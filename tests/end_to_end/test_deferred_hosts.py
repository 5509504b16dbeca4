"""A crawl of which one host is away: it ends, keeps that host's URLs, and goes on with them when it
is run again.
"""

import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support.crawling import Crawl
from webcrawl.tools.verify_crawl import verify


class Site(BaseHTTPRequestHandler):
    """Answers everything with a page, or with what the server says."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.requested.append((time.monotonic(), self.path))
        status = self.server.status
        body = b"<title>page</title>" + self.path.encode()
        self.send_response(404 if self.path == "/robots.txt" else status)
        if status == 429:
            self.send_header("Retry-After", "3600")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    def __init__(self, address, status=200):
        super().__init__(address, Site)
        self.requested, self.status = [], status
        threading.Thread(target=self.serve_forever, args=(0.01,)).start()

    def stop(self):
        self.shutdown()
        self.server_close()


@pytest.fixture(name="job")
def _job(tmp_path):
    """A crawl of ten pages on a port where nobody listens; and that port."""
    server = Server(("127.0.0.1", 0))
    port = server.server_address[1]
    server.stop()
    urls = [f"http://127.0.0.1:{port}/{number}" for number in range(10)]
    (tmp_path / "seeds.txt").write_text("\n".join(urls))
    settings = {
        "PORTS_ALLOWED": port,
        "HOST_MAX_FAILURES": 2,
        "HOST_PATIENCE": 1000,
        "OUTAGE_END_WAIT": 0.5,
    }
    return Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings), port


def test_it_ends_and_goes_on(job):
    """Its URLs stay in the state, and are fetched by the same command once the host is there again."""
    crawl, port = job
    # the second failure defers the host after 1 s, and the third try would come after 3 s
    assert crawl.run(HOST_RETRY_WAIT=1, OUTAGE_END_WAIT=1.5, ROBOTSTXT_OBEY=False) == 0
    assert (crawl.stats["deferred"], crawl.stats["hosts_deferred"], crawl.stats["queued"]) == (
        10,
        1,
        10,
    )
    assert crawl.stats["deferred_due"] > time.time() - 60
    assert "10 URLs of 1 deferred host; run the same command to resume" in crawl.output.read_text()
    assert list(verify(crawl.jobdir, Counter())) == []

    server = Server(("127.0.0.1", port))
    assert crawl.run(HOST_RETRY_WAIT=1, OUTAGE_END_WAIT=10, ROBOTSTXT_OBEY=False) == 0
    server.stop()
    assert crawl.stats["queued"] == crawl.stats["deferred"] == 0
    assert len({path for _, path in server.requested}) == 10
    lines = (crawl.jobdir / "logs/crawl.log").read_text().splitlines()
    assert sum(line.split()[1] == "200" for line in lines) == 10


def test_a_retry_after_is_kept_over_a_restart(job):
    """A host that asked for an hour is asked for nothing by the next run either."""
    crawl, port = job
    server = Server(("127.0.0.1", port), 429)
    assert crawl.run(RETRY_AFTER_MAX=3600) == 0
    requested = len(server.requested)
    assert crawl.run(RETRY_AFTER_MAX=3600) == 0
    server.stop()
    assert requested == 1  # robots.txt, whose answer asks for it, too
    assert len(server.requested) == requested
    assert (crawl.stats["deferred"], crawl.stats["queued"]) == (10, 10)


def test_a_host_given_up_ends_its_urls(job):
    """With a patience that is over soon each URL has a line in the log, and the crawl is over."""
    crawl, _ = job
    assert crawl.run(HOST_PATIENCE=0.1, ROBOTSTXT_OBEY=False) == 1  # nothing was fetched
    lines = [line.split() for line in (crawl.jobdir / "logs/crawl.log").read_text().splitlines()]
    assert {line[1] for line in lines} == {"-2"}
    assert len({line[3] for line in lines}) == len(lines) == 10
    assert sum("given_up" in line[-1] for line in lines) == 9
    assert (crawl.stats["deferred"], crawl.stats["queued"]) == (0, 0)
