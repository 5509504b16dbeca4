"""Truncated pages, and errors of servers: what is tried again, what is kept, and that an outage
loses no URL.
"""

import re
import signal
import time
from collections import Counter

import pytest

from tests.support.crawling import Crawl, wait_until
from tests.support.examples import in_campaign
from tests.support.failing_site import STALLS, TRUNCATED, UNENDED, WHOLE, FailingHosts
from tests.support.named_sites import sites
from tests.support.quick_uplink import QUICK_UPLINK
from webcrawl.crawl.control.client import Client
from webcrawl.crawl.page_links import MOST_LINKS
from webcrawl.tools.verify_crawl import verify

NETS = {
    "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/8",
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0.02,
}


def crawl_of(hosts, folder, **settings):
    (folder / "hosts").write_text(hosts.hosts_file)
    (folder / "seeds.txt").write_text(hosts.seeds())
    given = {**NETS, "HOSTS_FILE": folder / "hosts", "PORTS_ALLOWED": hosts.port, **settings}
    return Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, given)


def logged(crawl):
    """Status and annotations of each line of crawl.log: [(URL without scheme and port, status,
    annotations)].
    """
    lines = (crawl.jobdir / "logs/crawl.log").read_text().splitlines()
    rows = [line.split() for line in lines]
    return [
        (f"{host.partition(':')[0]}/{path}", int(row[1]), row[11])
        for row in rows
        for host, _, path in [row[3].partition("://")[2].partition("/")]
        if path != "robots.txt"
    ]


def said(crawl):
    return crawl.output.read_text()


def first_time(how):
    return lambda host, path, times: how if path == "/3" and times == 1 else WHOLE


def always(how):
    return lambda host, path, times: how if path == "/3" else WHOLE


@pytest.mark.parametrize(
    ("how", "why"),
    [(TRUNCATED, "disconnect"), (UNENDED, "disconnect"), *in_campaign((STALLS, "time"))],
)
class TestShortBody:
    def test_it_is_tried_again(self, tmp_path, how, why):
        """A page whose first download was truncated is fetched once more, whole, and nothing is
        said of it.
        """
        with FailingHosts(1, 6, first_time(how)).serving() as hosts:
            crawl = crawl_of(hosts, tmp_path)
            assert crawl.run() == 0

        assert hosts.requested["host1.test/3"] == 2
        assert {(url, status) for url, status, _ in logged(crawl)} == {
            (f"host1.test/{n}", 200) for n in range(6)
        }
        assert not any("truncated" in notes for *_, notes in logged(crawl))
        assert "truncated" not in said(crawl)

    def test_what_stays_short_is_kept_and_counted(self, tmp_path, how, why):
        """After the retries, of which there is one if it was late, it is archived, marked, and
        counted at the end.
        """
        with FailingHosts(1, 6, always(how)).serving() as hosts:
            crawl = crawl_of(hosts, tmp_path)
            assert crawl.run() == 0

        assert hosts.requested["host1.test/3"] == (2 if how == STALLS else 3)
        ((status, notes),) = [rest for url, *rest in logged(crawl) if url == "host1.test/3"]
        assert status == 200
        assert f"truncated:{why}" in notes
        assert "1 page truncated" in said(crawl)
        assert crawl.stats["failures"] == 0
        assert list(verify(crawl.jobdir, Counter())) == []

    def test_it_is_a_failure_if_the_user_says_so(self, tmp_path, how, why):
        """With DOWNLOAD_FAIL_ON_DATALOSS=1 it ends, after the same retries, with an outcome of its
        own.
        """
        with FailingHosts(1, 6, always(how)).serving() as hosts:
            crawl = crawl_of(hosts, tmp_path, DOWNLOAD_FAIL_ON_DATALOSS=1)
            assert crawl.run() == 0

        requested = 2 if how == STALLS else 3
        assert hosts.requested["host1.test/3"] == requested
        ((status, notes),) = [rest for url, *rest in logged(crawl) if url == "host1.test/3"]
        assert status == (-4 if how == STALLS else -3)
        assert f"truncated:{why}" in notes
        assert (
            crawl.stats["outcome/cut_late" if how == STALLS else "outcome/cut_short"] == requested
        )
        assert "truncated" not in said(crawl)

    def test_it_is_kept_at_once_if_the_user_says_so(self, tmp_path, how, why):
        """With DOWNLOAD_FAIL_ON_DATALOSS=0 it is taken as it comes, and counted."""
        with FailingHosts(1, 6, always(how)).serving() as hosts:
            crawl = crawl_of(hosts, tmp_path, DOWNLOAD_FAIL_ON_DATALOSS=0)
            assert crawl.run() == 0

        assert hosts.requested["host1.test/3"] == 1
        assert [
            f"truncated:{why}" in notes for url, _, notes in logged(crawl) if url == "host1.test/3"
        ] == [True]
        assert "1 page truncated" in said(crawl)


@pytest.mark.parametrize("settings", [{}, *in_campaign({"RETRY_TIMES": 0})])
def test_an_outage_truncates_nothing(tmp_path, settings):
    """Downloads that an outage of our own network truncated are made again, charged to nobody, and all
    pages are whole.
    """
    hosts = FailingHosts(20, 12, lambda *_: WHOLE, pause=0.3)
    with hosts.serving():
        crawl = crawl_of(
            hosts, tmp_path, HOST_RETRY_WAIT=600, HOST_MAX_FAILURES=2, **QUICK_UPLINK, **settings
        )
        running = crawl.start()
        wait_until(lambda: sum(hosts.whole.values()) > 60)
        hosts.go_down(midway=6)
        wait_until(lambda: "no network since" in said(crawl))
        time.sleep(1)
        hosts.come_back()
        assert running.wait() == 0

    assert hosts.reset > 5
    assert set(hosts.whole) >= {f"{name}/{number}" for name in hosts.names for number in range(12)}
    last = {url: (status, notes) for url, status, notes in logged(crawl)}
    assert [
        url for url, (status, notes) in last.items() if status != 200 or "truncated" in notes
    ] == []
    assert "truncated" not in said(crawl)


class TestServersErrors:
    @pytest.mark.parametrize("status", [502, 503])
    def test_an_outage_of_a_host_in_the_middle(self, tmp_path, status):
        """A host that gives nothing but errors for some time loses no URL, and is requested rarely."""
        times = {}

        def behave(host, path, _):
            begun = times.setdefault("begun", time.monotonic())
            return status if 0.5 < time.monotonic() - begun < 4.5 else WHOLE

        with FailingHosts(1, 60, behave).serving() as hosts:
            crawl = crawl_of(
                hosts, tmp_path, HOST_RETRY_WAIT=1, HOST_PATIENCE=600, OUTAGE_END_WAIT=60
            )
            assert crawl.run() == 0

        assert {(url, status) for url, status, _ in logged(crawl)} == {
            (f"host1.test/{n}", 200) for n in range(60)
        }
        assert sum(hosts.requested.values()) - 61 <= 7

    def test_a_page_that_always_fails_does_not_hold_up_its_host(self, tmp_path):
        """Five of 200 pages that always give 503 are tried three times each; nobody waits for the
        host.
        """
        bad = ("/9", "/50", "/90", "/130", "/170")
        with FailingHosts(
            1, 200, lambda host, path, _: 503 if path in bad else WHOLE
        ).serving() as hosts:
            crawl = crawl_of(hosts, tmp_path, HOST_RETRY_WAIT=600)
            assert crawl.run() == 0

        assert {url for url, status, _ in logged(crawl) if status == 503} == {
            f"host1.test{path}" for path in bad
        }
        assert [hosts.requested[f"host1.test{path}"] for path in bad] == [3] * 5

    def test_what_is_waited_for(self, tmp_path):
        """While its only host is left alone after a failure, it says so: in progress, status and
        end.
        """
        with FailingHosts(1, 1, lambda *_: 503).serving() as hosts:
            crawl = crawl_of(hosts, tmp_path, HOST_RETRY_WAIT=60)
            running = crawl.start()
            wait_until(lambda: hosts.requested["host1.test/0"] == 1)
            waits = r"waits \d+ s after 503 from http://host1.test:\d+"
            wait_until(
                lambda: re.fullmatch(waits, Client(crawl.jobdir).ask("status")["waits"]), pause=0.2
            )
            wait_until(lambda: re.search(f"{waits}, 0 pages", said(crawl)))
            running.interrupt()
            assert running.wait() == 0

        assert crawl.stats["bound/failures"] > crawl.stats.get("bound/politeness", 0)
        assert "bound by waits after failures" in said(crawl)

    @pytest.mark.campaign
    def test_a_kill_among_it(self, tmp_path):
        """A crawl that is killed while its host is failing, and run again, loses no URL and no
        page.
        """
        well, times = set(), {}

        def behave(host, path, _):
            if len(well) >= 5:  # so that there are URLs in a row, however slow the machine is
                begun = times.setdefault("begun", time.monotonic())
                if time.monotonic() - begun < 4.5:
                    return 502
            if path in ("/7", "/55"):
                return TRUNCATED
            well.add(path)
            return WHOLE

        with FailingHosts(1, 60, behave).serving() as hosts:
            settings = {
                "HOST_RETRY_WAIT": 1,
                "HOST_PATIENCE": 600,
                "OUTAGE_END_WAIT": 60,
                "CHECKPOINT_INTERVAL": 0.5,
            }
            crawl = crawl_of(hosts, tmp_path, **settings)
            for pause in (1.2, 1.0, 2.0):
                running = crawl.start()
                time.sleep(pause)
                running.process.kill()
                running.process.join()
                assert running.process.exitcode == -signal.SIGKILL
            assert crawl.run() == 0

        assert sorted((url, status) for url, status, _ in logged(crawl)) == sorted(
            (f"host1.test/{n}", 200) for n in range(60)
        )
        assert "2 pages truncated" in said(crawl)
        assert all(hosts.requested[f"host1.test/{n}"] >= 3 for n in (7, 55))


def test_what_is_too_long_is_told(tmp_path):
    """The last lines say how many answers end at DOWNLOAD_TRUNCATE, and how many links are too
    many.
    """
    pages = {
        "/": "<a href=/0>"
        + "".join(f"<a href=http://b.test/{at}>" for at in range(MOST_LINKS + 1)),
        "/0": "long " * 300_000,
    }
    with sites(
        lambda _, path, __: pages.get(path, path).encode() if path != "/robots.txt" else None
    ) as served:
        crawl = served.crawl(tmp_path, ["site.test"], URL_SCOPE="host", DOWNLOAD_TRUNCATE=1_400_000)
        assert crawl.run() == 0

    assert (
        "1 answer truncated at DOWNLOAD_TRUNCATE (1 text/html): the rest is not in the crawl"
        in said(crawl)
    )
    assert "left out: 2 links (too many links, or bytes of links, on a page); " in said(crawl)


def test_a_site_deeper_than_it_may_be_is_told(tmp_path):
    """The last lines say that URL_MAX_DEPTH left links out, where nothing else does: all others are
    fetched.
    """

    def page(_, path, __):
        return (
            f"<a href=/{int(path[1:] or 0) + 1}>on</a>".encode() if path != "/robots.txt" else None
        )

    with sites(page) as served:
        crawl = served.crawl(tmp_path, ["site.test"], URL_MAX_DEPTH=4)
        assert crawl.run() == 0

    assert "0 URLs queued, 0 failures" in said(crawl)
    assert "left out: 1 link (URL_MAX_DEPTH); " in said(crawl)


def test_a_host_with_all_its_pages_is_told(tmp_path):
    """The last lines say how many URLs HOST_MAX_PAGES left out."""
    home = "".join(f"<a href=/{number}>" for number in range(9)).encode()
    with sites(
        lambda _, path, __: (
            home if path == "/" else path.encode() if path != "/robots.txt" else None
        )
    ) as served:
        crawl = served.crawl(tmp_path, ["site.test"], HOST_MAX_PAGES=3)
        assert crawl.run() == 0

    assert "left out: 7 URLs (HOST_MAX_PAGES, or more than a host's sitemaps may bring); " in said(
        crawl
    )
