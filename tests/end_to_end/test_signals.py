"""Pages that sitemaps, feeds and hubs say have changed, in crawls by `scrapy crawl web`."""

import json
from collections import Counter

from tests.support.changing_site import Document, changing_site, log_of
from tests.support.crawling import wait_until
from webcrawl.verify.whole import verify

POLICY = "tests.support.only_listings.OnlyListings"


def sitemap(site, dates):
    entries = "".join(
        f"<url><loc>{site.url(path)}</loc><lastmod>{date}</lastmod></url>" for path, date in dates.items()
    )
    return Document(f"<urlset>{entries}</urlset>".encode(), media="text/xml")


def stats(crawl):
    return json.loads((crawl.jobdir / "stats.json").read_text())


def test_a_later_date_has_a_page_fetched(tmp_path):
    """At once, and no other page; a date that was wrong is counted, and so is one that was right."""
    documents = {"/": Document(b"<p>home"), **{f"/{name}": Document(name.encode()) for name in "abc"}}
    with changing_site(documents) as site:
        documents["/robots.txt"] = Document(f"Sitemap: {site.url('/map.xml')}".encode(), media="text/plain")
        dates = dict.fromkeys(["/a", "/b", "/c"], "2024-01-01")
        documents["/map.xml"] = sitemap(site, dates)
        crawl = site.crawl(tmp_path, REVISIT_POLICY=POLICY)
        running = crawl.start()
        wait_until(lambda: site.of("/c") and len(site.of("/map.xml")) >= 3)
        documents["/a"] = Document(b"another")
        documents["/map.xml"] = sitemap(site, {**dates, "/a": "2024-02-01", "/b": "2024-02-01"})
        wait_until(lambda: len(site.of("/a")) >= 2 and len(site.of("/b")) >= 2)
        documents["/map.xml"] = sitemap(site, {**dates, "/a": "2024-02-01T00:00:05Z", "/b": "2024-02-01"})
        assert site.until("/a", 3, running) == 0

    assert (len(site.of("/b")), len(site.of("/c")), len(site.of("/"))) == (2, 1, 1)
    notes = [(path, found) for _, path, found in log_of(crawl) if "revisit" in found and path != "/map.xml"]
    assert ("/a", "changed") in [(path, found[1]) for path, found in notes]
    assert ("/b", "unchanged") in [(path, found[1]) for path, found in notes]
    figures = stats(crawl)
    assert (figures["signals/true"], figures["signals"]) == (1, 3)
    assert list(verify(crawl.jobdir, Counter())) == []


def test_a_second_signal_sends_validators(tmp_path):
    """What the first one's fetch found is known."""
    documents = {"/": Document(b"<p>home"), "/a": Document(b"a", etag='"1"')}
    with changing_site(documents) as site:
        documents["/robots.txt"] = Document(f"Sitemap: {site.url('/map.xml')}".encode(), media="text/plain")
        crawl, running = site.crawl(tmp_path, REVISIT_POLICY=POLICY), None
        for day in range(1, 5):
            documents["/map.xml"] = sitemap(site, {"/a": f"2024-01-0{day}"})
            running = running or crawl.start()
            wait_until(lambda: len(site.of("/a")) >= day)  # noqa: B023 - called at once
        running.interrupt()
        assert running.wait() == 0

    assert [one.status for one in site.of("/a")[:4]] == [200, 200, 304, 304]
