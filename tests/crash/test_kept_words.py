"""kill -9 of crawls that owe something to what they were told: for how long a page holds, and that
one was gone.
"""

import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from tests.support.changing import records_of
from tests.support.changing_site import Document, changing_site, log_of
from tests.support.crawling import wait_until
from webcrawl.tools.verify_crawl import verify

HOLDS = 2.0  # seconds
KILLS = 2


@dataclass
class Timed(Document):
    """Notes when it was asked for."""

    times: list = field(default_factory=list)

    def answer(self, requested, serial):
        self.times.append(time.monotonic())
        return super().answer(requested, serial)


def kill(crawl, running):
    """Ends it by kill -9 after a checkpoint or two; what it left is sound."""
    time.sleep(0.4)
    running.process.kill()
    running.process.join()
    assert [*verify(crawl.jobdir, Counter())] == []


def test_pages_that_hold(tmp_path):
    """They are requested too early only if a kill has undone that they were requested; and no
    record is lost or doubled.
    """
    lasting = Timed(b"<p>lasts", headers={"Cache-Control": f"max-age={HOLDS:.0f}"})
    others = {f"/{number}": Timed(b"<p>%d" % number) for number in range(20)}
    with changing_site({"/a": lasting, **others}) as site:
        settings = {"REVISIT_POLICY": "uniform", "REVISIT_RATE": 50, "CHECKPOINT_INTERVAL": 0.1}
        crawl = site.crawl(tmp_path, "/a", *others, **settings)
        for _ in range(KILLS):
            known = len(others["/0"].times)
            running = crawl.start()
            wait_until(lambda known=known: len(others["/0"].times) > known + 1)
            kill(crawl, running)
        known = len(lasting.times)
        assert site.until("/a", known + 1, crawl.start()) == 0
        records, _ = records_of(crawl)

    early = [after - before for before, after in pairwise(lasting.times) if after - before < HOLDS]
    assert len(early) <= KILLS
    assert len(others["/0"].times) > len(lasting.times)
    assert records == dict.fromkeys(map(site.url, ["/a", *others]), 1)


def test_a_page_that_was_gone(tmp_path):
    """It was found so in its turn before the kill; a signal after it finds it back as it was: that
    is a change.
    """
    here = Document(b"<p>here")
    documents = {"/a": here, "/b": Document(b"<p>other")}
    with changing_site(documents) as site:
        listing = "<urlset><url><loc>{}</loc><lastmod>{}</lastmod></url></urlset>"
        documents["/map.xml"] = Document(
            listing.format(site.url("/a"), "2024-01-01").encode(), media="text/xml"
        )
        settings = {"REVISIT_AGE": 0.5, "CHECKPOINT_INTERVAL": 0.1, "SITEMAPS": True}
        crawl = site.crawl(tmp_path, "/map.xml", "/a", "/b", **settings)
        running = crawl.start()
        wait_until(lambda: site.of("/map.xml") and site.of("/a"))
        documents["/a"] = Document(status=404)
        wait_until(lambda: site.of("/a")[-1].status == 404)
        kill(crawl, running)
        known = len(site.of("/a"))
        documents["/a"] = here
        today = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 60))
        documents["/map.xml"] = Document(
            listing.format(site.url("/a"), today).encode(), media="text/xml"
        )
        assert site.until("/a", known + 1, crawl.start()) == 0

    status, _, notes = [line for line in log_of(crawl) if line[1] == "/a"][-1]
    assert (status, notes[0]) == (200, "revisit")
    assert "changed" in notes[1]
    # the sitemap has changed, too
    assert (crawl.stats["revisit/changed_text"], crawl.stats["signals/true"]) == (2, 1)
