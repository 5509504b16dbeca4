"""A crawl of sites whose robots.txt cannot be fetched at first, or never by http."""

from collections import Counter

import pytest

from tests.support.crawling import Crawl
from tests.support.crawling_sites import serving

PAGES = 20
NAMES = ["a.test", "b.test"]
LINKS = "".join(f"<a href=/{number}>{number}</a>" for number in range(PAGES))
SETTINGS = {
    "HOST_PATIENCE": 60,
    "OUTAGE_END_WAIT": 3,
    "HOST_MAX_FAILURES": 2,
    "CONTENT_SEEN": "process",
}


@pytest.fixture(name="crawled")
def _crawled(tmp_path):
    """Crawls the sites from these seeds; returns how often each URL was requested, and the statuses
    in crawl.log.
    """

    def crawl(robots, seeds):
        def answer(url):
            if url.endswith("/robots.txt"):
                return (robots(url), "text/plain", b"")
            return (200, "text/html", f"{url} {LINKS}".encode())

        with serving(answer, tmp_path, NAMES) as sites:
            (tmp_path / "seeds.txt").write_text("\n".join(seeds))
            settings = {"HOSTS_FILE": sites.hosts_file(tmp_path / "hosts", NAMES), **SETTINGS}
            crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)
            assert crawl.run() == 0
            lines = [
                line.split() for line in (tmp_path / "job/logs/crawl.log").read_text().splitlines()
            ]
            return Counter(sites.requested), Counter(
                line[1] for line in lines if not line[4].endswith("P")
            )

    return crawl


@pytest.mark.parametrize("status", [429, 503])
def test_no_url_is_lost_while_robots_txt_is_away(crawled, status):
    """A robots.txt that fails four times costs none of the site's URLs, and none of their attempts."""
    tries = Counter()

    def robots(url):
        tries[url] += 1
        return status if tries[url] <= 4 else 404

    requested, ended = crawled(robots, ["http://a.test/"])

    assert ended == {"200": PAGES + 1}
    assert requested.pop("http://a.test/robots.txt") == 5
    assert set(requested.values()) == {1}


def test_a_scheme_without_robots_txt_does_not_hold_up_the_other(crawled):
    """The URLs by https are fetched while those by http wait; these stay in the state of the crawl."""
    requested, ended = crawled(
        lambda url: 503 if url.startswith("http:") else 404,
        ["http://a.test/first", "http://a.test/second", "https://a.test/", "http://b.test/"],
    )

    assert ended == {"200": PAGES + 1}
    assert {
        url for url in requested if url.startswith("http:") and not url.endswith("/robots.txt")
    } == set()
