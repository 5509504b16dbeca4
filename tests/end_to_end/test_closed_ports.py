"""A site with a link to a closed port of its own, as a stranger crawls it."""

import json
import socket
from collections import Counter

import pytest

from tests.support.commanding import Console
from tests.support.commands import command
from tests.support.crawling import wait_until
from tests.support.named_sites import sites
from webcrawl.tools.verify_crawl import verify

PAGES = 60


@pytest.fixture(name="closed")
def _closed():
    """A port at which nothing answers, and that no other program gets meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def site(closed):
    """A front page that links to the closed port, and to pages."""
    front = f'<a href="https://one.test:{closed}/login">log in</a>'
    front += "".join(f'<a href="/{number}">{number}</a>' for number in range(PAGES))

    def answer(_, path, __):
        if path == "/robots.txt":
            return None
        return (front if path == "/" else f"<title>{path}</title>").encode()

    return answer


def test_a_closed_port_holds_up_no_page(tmp_path, closed):
    """All pages of an http host are fetched, however long its https waits; the wait and `why` name
    the https.

    A front page that linked to https://HOST:closed/login had 8 of 60 pages fetched after 853
    seconds.
    """
    with sites(site(closed)) as web:
        crawl = web.crawl(
            tmp_path,
            ["one.test"],
            HOST_RETRY_WAIT=1000,
            OUTAGE_END_WAIT=3600,
            HOST_PATIENCE=100_000,
        )
        origin, running, console = (
            f"https://one.test:{closed}",
            crawl.start(),
            Console(crawl.jobdir),
        )
        wait_until(lambda: len(set(web.pages())) == PAGES + 1)
        wait_until(lambda: origin in str(console("status")))
        assert f"after no connection from {origin}/robots.txt" in str(console("status"))
        assert console("checkpoint")
        running.kill()

        running = crawl.start()
        wait_until(lambda: "running" in str(console("status")))
        running.interrupt()
        assert running.wait() == 0
        pages = [page for page in web.pages() if page[1] != "/"]
        assert len(pages) == len(set(pages)) == PAGES

    told = command("webcrawl", "why", crawl.jobdir, f"{origin}/login").stdout
    assert f"{origin} alone: failing: 1 in a row" in told
    found = json.loads(command("webcrawl", "why", crawl.jobdir, f"{origin}/login", "--json").stdout)
    assert found["state"] == "queued"
    assert (found["host"]["health"], found["host"]["health_in_words"]) == ("failing", "healthy")
    assert [(one["origin"], one["queued"]) for one in found["host"]["origins"]] == [(origin, 1)]
    assert list(verify(crawl.jobdir, Counter())) == []


def test_its_url_ends_when_the_patience_is_over(tmp_path, closed):
    """The URL at the closed port is tried until HOST_PATIENCE is over, and has its line in the log."""
    with sites(site(closed)) as web:
        crawl = web.crawl(tmp_path, ["one.test"], HOST_RETRY_WAIT=0.1, HOST_PATIENCE=1)
        assert crawl.run() == 0

    lines = [line.split() for line in (crawl.jobdir / "logs/crawl.log").read_text().splitlines()]
    ended = Counter(line[1] for line in lines if not line[3].endswith("/robots.txt"))
    assert ended == {"200": PAGES + 1, "-61": 1}
