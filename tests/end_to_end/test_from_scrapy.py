"""docs/in-your-scrapy-project.md: what its spiders show, with the process killed by the site that they crawl."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter

import pytest

from tests.support.crawling import PATIENCE
from tests.support.places import ROOT
from tests.support.plain_site import Site, serving

pytestmark = pytest.mark.campaign  # crawls that are killed, and each takes seconds to start again
QUICK = [
    "POLITENESS_MIN_DELAY=0",
    "POLITENESS_FACTOR=0",
    "CHECKPOINT_INTERVAL=0.3",
    "LOG_LEVEL=WARNING",
]


class Deadly(Site):
    """Answers any URL; what comes as one of the deadly numbers of requests kills who asks, before
    it is answered.
    """

    requested, deadly, crawl = Counter(), (), None

    def answer(self):
        self.requested[self.path] += 1
        if self.requested.total() in self.deadly:
            self.crawl.kill()
            self.crawl.wait()
        if self.path == "/robots.txt":
            return self.say(404, b"")
        number = int((re.search(r"\d+$", self.path) or "0")[0])
        body = f"<title>{number}</title><a href=/page{min(number + 1, 30)}>next</a><a href=/page{number}>self</a>"
        return self.say(200, body.encode(), content_type="text/html")


@pytest.fixture(name="runs")
def _runs(tmp_path):
    """Runs a spider until it ends by itself: exit statuses, its rows' first values, the site's log."""

    def run(name, *deadly):
        folder = tmp_path / "tolerant"
        shutil.copytree(ROOT / "docs/examples/tolerant", folder)
        handler = type("Handler", (Deadly,), {"requested": Counter(), "deadly": deadly})
        statuses = []
        with serving(handler) as site:
            given = [
                "PRIVATE_NETWORKS_ALLOWED=127.0.0.0/8",
                f"PORTS_ALLOWED={site.rpartition(':')[2]}",
                *QUICK,
            ]
            words = [sys.executable, "-m", "scrapy", "crawl", name, "-a", f"site={site}/"]
            words += [word for one in given for word in ("-s", one)]
            while len(statuses) < 2 or statuses[-1]:
                environment = {**os.environ, "PYTHONPATH": str(ROOT)}
                handler.crawl = subprocess.Popen(words, cwd=folder, env=environment)
                statuses.append(handler.crawl.wait(PATIENCE))
                assert len(statuses) <= len(deadly) + 2, statuses
        lines = (folder / f"crawls/{name}/rows.jsonl").read_text().splitlines()
        return (
            statuses,
            sorted(next(iter(json.loads(line).values())) for line in lines),
            handler.requested,
        )

    return run


def test_a_killed_crawl_loses_no_request(runs):
    """Killed three times under way, the crawl has each of its sixty requests' items once (Scrapy's
    7978).
    """
    statuses, rows, _ = runs("killed", 10, 35, 60)

    assert statuses[:3] == [-9, -9, -9]
    assert rows == [*range(60)]


def test_a_stopped_crawl_goes_on_with_what_was_queued(runs):
    """A callback closes the spider; the next run has the other requests, and no URL is asked twice
    (4106).
    """
    _, rows, requested = runs("stopped")

    assert rows == [*range(40)]
    assert {*requested.values()} == {1}


def test_known_urls_are_known_after_a_kill(runs):
    """Each page has one row, though most links to it are repeats and the process died on the way
    (5307, 7952).
    """
    statuses, rows, _ = runs("known", 12, 40)

    assert statuses[:2] == [-9, -9]
    assert rows == [*range(50)]


def test_a_broad_crawl_needs_one_setting(runs):
    """A CrawlSpider with the add-on alone follows all pages of a site, each once (6331)."""
    _, rows, requested = runs("broad", 15)

    assert len(rows) == len({*rows}) == 31
    assert max(requested[path] for path in requested if path != "/robots.txt") <= 2
