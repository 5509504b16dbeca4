"""Sites that want a cookie back before they answer, crawled by `scrapy crawl web`."""

import time
from collections import Counter

import pytest

from tests.support.crawling import wait_until
from tests.support.named_sites import sites
from tests.support.warc_reader import read
from webcrawl.tools.verify_crawl import verify


def moved(location, *cookies):
    return 302, [("Location", location), *(("Set-Cookie", cookie) for cookie in cookies)], b""


def gate(host, path, cookie):
    """Every page of the site, and its robots.txt, redirects to itself until it gets its cookie."""
    if f"gate={path}" not in cookie:
        return moved(path, f"gate={path}; HttpOnly")
    if path == "/robots.txt":
        return b"User-agent: *\nDisallow: /secret"
    return (
        b'<a href="/one"><a href="/two"><a href="/secret">' + host.encode()
        if path == "/"
        else path.encode()
    )


def check(_, path, cookie):
    """The start page sends to a check, which sends back; the page behind it is reached without a
    cookie.
    """
    if path == "/":
        return (
            b'<a href="/next">' if "seen=1" in cookie else moved("/check?from=/", "seen=1; Path=/")
        )
    if path.startswith("/check"):
        return moved("/") if "seen=1" in cookie else moved("/nocookie")
    return path.encode() if path in ("/next", "/nocookie") else None


def lines_of(crawl):
    """Status, path of the URL and discovery path of each line of crawl.log, without those of
    robots.txt.
    """
    for line in (crawl.jobdir / "logs" / "crawl.log").read_text().splitlines():
        fields = line.split()
        if not fields[3].endswith("/robots.txt"):
            yield fields[1], "/" + fields[3].split("/", 3)[3], fields[4]


LOGGED = [
    ("-9998", "/secret", "RL"),
    ("200", "/", "R"),
    ("200", "/one", "RLR"),
    ("200", "/two", "RLR"),
    ("302", "/", "-"),
    ("302", "/one", "RL"),
    ("302", "/two", "RL"),
]


class TestGates:
    def test_every_page_wants_a_cookie(self, tmp_path):
        """Each page is requested twice; so is robots.txt, whose rules hold.

        Log and archive have each request.
        """
        with sites(gate) as served:
            crawl = served.crawl(tmp_path, ["a.test"])
            assert crawl.run() == 0

            paths = ("/robots.txt", "/", "/one", "/two")
            expected = [
                ("a.test", path, cookie) for path in paths for cookie in ("", f"gate={path}")
            ]
            assert sorted(served.requested) == sorted(expected)
        assert sorted(lines_of(crawl)) == LOGGED
        records = [record for path in crawl.jobdir.glob("warc/*.warc.gz") for record in read(path)]
        requests = [
            record.block
            for record in records
            if record.kind == "request" and b"GET /one " in record.block
        ]
        assert sorted(b"\r\nCookie: gate=/one\r\n" in request for request in requests) == [
            False,
            True,
        ]
        assert list(verify(crawl.jobdir, Counter())) == []

    @pytest.mark.campaign
    @pytest.mark.parametrize("requests", [3, 5, 7])
    def test_killed_in_the_middle_of_a_chain(self, tmp_path, requests):
        """A crawl that is killed between the hops of a chain ends like any other: each line is in
        the log once.
        """
        often = {"CHECKPOINT_INTERVAL": 0.1, "POLITENESS_MIN_DELAY": 0.4}
        with sites(gate) as served:
            crawl = served.crawl(tmp_path, ["a.test"], **often)
            running = crawl.start()
            wait_until(lambda: len(served.requested) >= requests)
            # within the host's wait: a checkpoint has the chain, and its next hop is not requested
            # yet
            time.sleep(0.25)
            running.kill()
            before = len(served.requested)
            assert crawl.run(POLITENESS_MIN_DELAY=0) == 0

            assert ("a.test", "/", "") not in served.requested[
                before:
            ]  # the chain is not begun again
        assert sorted(lines_of(crawl)) == LOGGED
        assert list(verify(crawl.jobdir, Counter())) == []


def test_back_from_a_check(tmp_path):
    """A page that sends to a check of its cookie, which sends back, is requested again, and its
    links are followed.
    """
    with sites(check) as served:
        assert served.crawl(tmp_path, ["a.test"]).run() == 0

        assert [
            (path, cookie) for _, path, cookie in served.requested if path != "/robots.txt"
        ] == [
            ("/", ""),
            ("/check?from=/", "seen=1"),
            ("/", "seen=1"),
            ("/next", ""),
        ]
