"""Offline crawling fetches what online crawling fetches: segment by segment, built of what the last
ones found.
"""

import time
from collections import Counter

import pytest

from tests.end_to_end.test_cookies import check, lines_of
from tests.support.commands import command
from tests.support.crawling import POLITE, Crawl
from tests.support.examples import in_campaign
from tests.support.named_sites import sites
from tests.tools.segments.crawls import urls_of
from webcrawl.base.url_text import host_of
from webcrawl.lab.simweb import (
    by_host,
    even,
    gaps,
    mercator,
    overlaps,
    robots_first,
    truth,
    wait_until_idle,
)
from webcrawl.lab.simweb.host_kinds import is_robots
from webcrawl.tools.verify_crawl import verify

SIZE = (2000, 3000)
KINDS = [
    "redirect_301",
    "redirect_chain",
    "redirect_elsewhere",
    "redirect_spelled",
    "redirect_endless",
    "refresh",
    "refresh_loop",
    "duplicate",
    "spellings",
    "robots_meta",
    "status_404",
    "status_503_thrice",
    "trap_session",
    "source_frame",
    "source_canonical",
]


class Offline:
    """Crawls the seeds, then one segment after the other, until nothing is new."""

    def __init__(self, server, folder, seeds=(), most=10_000, **settings):
        self.server, self.folder, self.most = server, folder, most
        folder.mkdir(exist_ok=True)
        self.seeds = folder / "seeds.txt"
        self.seeds.write_text("\n".join(seeds or server.world.seeds()))
        self.arguments = {name: settings.pop(name) for name in ("scope",) if name in settings}
        # between two segments a host is not requested, which must not make it be given up
        self.settings = {"DNS_NAMESERVERS": server.nameserver, "HOST_PATIENCE": 60, **settings}
        self.jobdir, self.segments, self.current = folder / "job", [], self.seeds
        # so many requests: then the crawl of each segment is killed, once
        self.kill_after, self.killed = 0, set()

    def crawl(self, segment):
        crawl = Crawl(self.jobdir, {**self.arguments, "seeds": segment, "follow": 0}, self.settings)
        if not self.kill_after or segment in self.killed:
            return crawl.run()
        self.killed.add(segment)
        running, end = (
            crawl.start(CHECKPOINT_INTERVAL=0.2),
            len(self.server.log.hits) + self.kill_after,
        )
        while len(self.server.log.hits) < end and running.process.is_alive():
            time.sleep(0.01)
        running.process.kill()
        return running.wait()

    def run(self):
        """Return the exit status of the last crawl.

        A second call resumes the segment whose crawl was killed.
        """
        while True:
            if status := self.crawl(self.current):
                return status
            segment = self.folder / f"segment-{len(self.segments)}.csv"
            made = command(
                "scrapy", "segments", "build", self.jobdir, "--urls", self.most, "-o", segment
            )
            assert (made.returncode, made.stderr) == (0, "")
            if not (urls := urls_of(segment)):
                return 0
            self.segments.append(urls)
            self.current = segment

    def times(self):
        """In how many segments each URL is."""
        return Counter(url for segment in self.segments for url in segment)


def online(server, folder, seeds=(), **settings):
    """The URLs that an ordinary crawl asks for."""
    folder.mkdir()
    (folder / "seeds.txt").write_text("\n".join(seeds or server.world.seeds()))
    arguments = {name: settings.pop(name) for name in ("scope",) if name in settings}
    arguments["seeds"] = folder / "seeds.txt"
    assert (
        Crawl(folder / "job", arguments, {"DNS_NAMESERVERS": server.nameserver, **settings}).run()
        == 0
    )
    return requested(server)


def requested(server):
    """The URLs of all requests since the last call."""
    wait_until_idle(server)
    hits = list(server.log.hits)
    server.log.hits.clear()
    return hits


def pages(hits):
    return {hit.url for hit in hits if not is_robots(hit.path)}


@pytest.mark.campaign
def test_the_same_pages_as_online(simweb, tmp_path):
    """On the same web, with redirects, cookies, copies, refreshes and errors: each URL once,
    politely, and no other.
    """
    server = simweb(5, 30, mix=even(KINDS), size=SIZE)
    expected = online(server, tmp_path / "online")
    offline = Offline(server, tmp_path / "offline")

    assert offline.run() == 0

    hits = requested(server)
    world = server.world
    assert pages(hits) == pages(expected)
    assert [*truth(world, world.seeds()).complaints(hits)] == []
    assert [
        *overlaps(hits, by_host),
        *gaps(hits, mercator(world, **POLITE), by_host),
        *robots_first(hits),
    ] == []
    assert max(offline.times().values()) == 1
    assert len(offline.segments) > 2
    assert [
        *verify(offline.jobdir, Counter()),
        *verify(offline.jobdir / "segments", Counter()),
    ] == []


@pytest.mark.campaign
def test_killed_in_each_segment(simweb, tmp_path):
    """The same command resumes the segment; no page is lost, and none is in two segments."""
    server = simweb(4, 24, mix=even(["redirect_301", "duplicate"]), size=SIZE, latency=0.02)
    offline = Offline(server, tmp_path / "offline")
    offline.kill_after = 6

    runs = 0
    while offline.run():
        runs += 1
        assert runs < 20

    assert runs > 1
    assert truth(server.world, server.world.seeds()).must <= pages(requested(server))
    assert [
        *verify(offline.jobdir, Counter()),
        *verify(offline.jobdir / "segments", Counter()),
    ] == []
    assert max(offline.times().values()) == 1


def depth(url, ways):
    """Links followed since the site was entered, and how often another site was; `ways`: path and
    page of each URL.
    """
    within, crossed = 0, 0
    while ways[url][0] != "-":
        path, via = ways[url]
        if host_of(url) != host_of(via):
            crossed += 1
        elif not crossed:
            within += path[-1] == "L"
        url = via
    return within, crossed


def test_depth(simweb, tmp_path):
    """A limit of depth holds over all segments, within each site and of sites: the path of each URL
    comes along.
    """
    server = simweb(3, 40, size=SIZE, mix=even(["redirect_301"]))
    offline = Offline(server, tmp_path / "offline", URL_MAX_DEPTH=2)

    assert offline.run() == 0

    found = [
        line.split()[3:6] for line in (offline.jobdir / "logs/crawl.log").read_text().splitlines()
    ]
    ways = {url: (path, via) for url, path, via in found if not path.endswith("P")}
    depths = [depth(url, ways) for url in ways]
    assert max(depth for depth, _ in depths) == 2
    assert max(sites for _, sites in depths) <= 2
    assert len(offline.segments) > 2


def test_within_a_scope(simweb, tmp_path):
    """The scope holds as online, with seeds that a segment's URLs were found from."""
    server = simweb(
        5, 24, mix={"subdomain": 0.5} | even(["redirect_elsewhere", "duplicate"]), size=SIZE
    )
    seeds = [f"{server.world.origin(host)}/" for host in (0, 1)]
    offline = Offline(server, tmp_path / "offline", seeds, scope="seeds")

    assert offline.run() == 0

    hits = requested(server)
    assert [*truth(server.world, seeds, "seeds").complaints(hits)] == []
    assert pages(hits) == pages(online(server, tmp_path / "online", seeds, scope="seeds"))


def test_a_segment_and_nothing_else(simweb, tmp_path):
    """`-a follow=0` fetches what the segment names; what its pages link to is left for the next,
    which has that.
    """
    server = simweb(4, 30, mix=even(["redirect_301"]), size=SIZE)
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver}
    crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt", "follow": 0}, settings)
    assert crawl.run() == 0
    assert pages(requested(server)) == {*server.world.seeds()}

    done = command("scrapy", "segments", "build", crawl.jobdir, "-o", tmp_path / "segment.csv")
    assert (done.returncode, done.stderr) == (0, "")
    segment = urls_of(tmp_path / "segment.csv")
    assert segment
    assert segment == sorted(segment, key=lambda url: url.split("/")[2])

    crawl.arguments["seeds"] = tmp_path / "segment.csv"
    assert crawl.run() == 0
    assert pages(requested(server)) == {*segment}
    assert "reading from the beginning" not in crawl.output.read_text()


@pytest.mark.parametrize(
    ("outputs", "scope"),
    [*in_campaign(("links tables warc", "any"), ("tables", "seeds")), ("tables", "host")],
)
def test_of_a_crawl_that_followed_links(simweb, tmp_path, outputs, scope):
    """The links that it had not fetched when it was stopped come from its tables."""
    server = simweb(5, 60, mix=even(["redirect_301", "duplicate"]), size=SIZE)
    seeds = [*server.world.seeds()][: 5 if scope == "any" else 2]
    (tmp_path / "seeds.txt").write_text("\n".join(seeds))
    settings = {
        "DNS_NAMESERVERS": server.nameserver,
        "OUTPUTS": outputs,
        "CLOSESPIDER_PAGECOUNT": 12,
    }
    crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt", "scope": scope}, settings)
    assert crawl.run() == 0
    before = pages(requested(server))

    done = command("scrapy", "segments", "build", crawl.jobdir, "-o", tmp_path / "segment.csv")
    assert (done.returncode, done.stderr) == (0, "")

    crawl.settings.pop("CLOSESPIDER_PAGECOUNT")
    assert crawl.run() == 0
    queued_or_found_later = pages(requested(server))
    segment = {*urls_of(tmp_path / "segment.csv")}
    assert segment
    assert segment <= queued_or_found_later
    assert not segment & before


def test_another_follow_is_refused(simweb, tmp_path):
    """What one kind of crawl has found is not where the other looks for it."""
    server = simweb(1, 3, size=SIZE)
    settings = {"DNS_NAMESERVERS": server.nameserver}
    crawl = Crawl(
        tmp_path / "job", {"seeds": next(iter(server.world.seeds())), "follow": 0}, settings
    )
    assert crawl.run() == 0
    crawl.arguments["follow"] = 1

    assert crawl.run() == 1
    assert (
        "URL_FOLLOW was off, now on: links that were found would be lost"
        in crawl.output.read_text()
    )


@pytest.mark.campaign
def test_cookies_of_redirects(tmp_path):
    """A site that sends to a check and back: the cookie that it sets travels with the segment."""
    with sites(check) as served:
        logged = {}
        for way in ("online", "offline"):
            (tmp_path / way).mkdir()
            crawl = served.crawl(tmp_path / way, ["a.test"])
            logged[way] = crawl
            if way == "online":
                assert crawl.run() == 0
                continue
            crawl.arguments["follow"] = 0
            segment = tmp_path / "segment.csv"
            while True:
                assert crawl.run() == 0
                assert (
                    command("scrapy", "segments", "build", crawl.jobdir, "-o", segment).returncode
                    == 0
                )
                if not urls_of(segment):
                    break
                crawl.arguments["seeds"] = segment

    online, offline = (sorted(lines_of(crawl)) for crawl in logged.values())
    assert offline == online
    assert ("200", "/next", "RRL") in offline
