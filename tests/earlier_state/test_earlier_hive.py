"""A hive that was founded with fewer slots goes on with as many."""

import tarfile
from collections import Counter
from contextlib import closing

import pytest

from tests.earlier_state import site
from tests.earlier_state.test_earlier_state import FAST, HERE
from tests.support.commands import command
from tests.support.crawling import Crawl
from tests.support.redis_server import OwnServer
from webcrawl.base.url_text import host_of
from webcrawl.crawl.hive.member import saved_map
from webcrawl.crawl.hive.partition import EARLIER_SLOTS
from webcrawl.store.crawldb import CrawlDB

ROBOTS = {url for url in site.urls(site.HIVE_HOSTS) if url.endswith("/robots.txt")}
SETTINGS = {
    "PORTS_ALLOWED": site.PORT,
    "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/8",
    "OUTPUTS": "warc cdxj links text",
    "HIVE_DRONES": 2,
    "HIVE_NAME": "earlier",
    "HIVE_LEASE": 2,
    **FAST,
}


@pytest.mark.xdist_group("earlier-site")  # its addresses and port are in the archive
def test_the_hive_goes_on(tmp_path):
    """A hive of two drones that was killed halfway is finished: each page is fetched once more at
    most, no host is asked by both, and the map has as many slots as before.
    """
    with tarfile.open(HERE / "hive-of-1024-slots.tar.xz") as archive:
        # Python 3.11.2, of Debian 12, has no filters yet
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path)  # noqa: S202 - it is our own
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in site.seeds(site.HIVE_HOSTS)))
    jobs = [tmp_path / f"hive/drone-{drone}" for drone in range(2)]
    before = {url for job in jobs for url in logged(job)[:30]}

    with site.serving(site.HIVE_HOSTS) as requested, OwnServer(tmp_path / "server") as server:
        settings = {**SETTINGS, "REDIS_URL": server.url}
        here = {"SCRAPY_SETTINGS_MODULE": "webcrawl.settings"}
        crawls = [
            Crawl(
                job,
                {"seeds": "seeds.txt"},
                {**settings, "HIVE_DRONE": drone},
                project=tmp_path,
                environment=here,
            )
            for drone, job in enumerate(jobs)
        ]
        ends = [running.wait() for running in [crawl.start() for crawl in crawls]]
        assert ends == [0, 0], [crawl.output.read_text() for crawl in crawls]

    pages = Counter(url for job in jobs for url in logged(job))
    assert set(pages) == site.urls(site.HIVE_HOSTS)
    # kept for a day, which is over
    assert {url for url, times in pages.items() if times > 1} <= ROBOTS
    assert len(requested) == len(set(requested))
    assert set(requested).isdisjoint(before - ROBOTS)
    hosts = [{host_of(url) for url in logged(job)} for job in jobs]
    assert all(hosts)
    assert hosts[0].isdisjoint(hosts[1])
    for job in jobs:
        with closing(CrawlDB(job / "state")) as db:
            assert len(saved_map(db).owners) == EARLIER_SLOTS
        assert command("webcrawl", "verify", str(job)).returncode == 0


def logged(job):
    """The URLs in a drone's crawl.log, in their order."""
    return [line.split()[3] for line in (job / "logs/crawl.log").read_text().splitlines()]
