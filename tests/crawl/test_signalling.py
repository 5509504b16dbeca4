"""What listings say of pages: which of them they may speak for, and what becomes of it."""

import json
from collections import Counter
from contextlib import closing
from random import Random
from urllib.parse import urljoin, urlsplit

import pytest

from tests.support.cases import cases
from webcrawl.base.model import Link, Timings
from webcrawl.base.url_text import host_of
from webcrawl.content.formats import listings, sniffing
from webcrawl.content.formats.listings import ListingEntry
from webcrawl.content.formats.sniffing import is_packed
from webcrawl.content.html.link_kinds import DocumentLinks
from webcrawl.content.page import Page
from webcrawl.crawl.revisit.signals import Signals
from webcrawl.crawl.signalling import Signalling, dated
from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.url_fingerprint import Fingerprints

NOW = 1_800_000_000.0
DOMAINS = RegisteredDomains()


def site_of(url):
    return DOMAINS(host_of(url))


class Passing:
    """Filters that let everything through but what names it."""

    def passing(self, page_url, depth, links, base, path):
        return frozenset(link for link in links if "/filtered" not in link)


@pytest.fixture
def db(tmp_path):
    with closing(CrawlDB(tmp_path)) as db:
        yield db


@pytest.fixture
def told():
    return []


@pytest.fixture
def signalling(db, told):
    signals = Signals(db, Fingerprints(bytes(16)), Random(1))
    believe(signals, "a.test")
    return Signalling(
        signals,
        lambda url, now, via: not told.append(url),
        Passing(),
        site_of,
        lambda url: "/others" not in url,
    )


def believe(signals, host):
    for _ in range(20):
        signals.followed(f"http://{host}/", changed=True)


def page(url, entries, truncated=""):
    """A page with these entries."""
    found = Page(url, 200, [], b"", "", 0, "", "", NOW, Timings(), 0, truncated)
    found.link, found.found = Link(url), DocumentLinks(url, "utf-8", entries=entries)
    return found


def items(urls, date, kind="sitemap", role="item"):
    return [ListingEntry(url, kind, role, modified=date) for url in urls]


class TestOwn:
    URLS = (
        "http://a.test/1",
        "/2",
        "http://www.a.test/3",
        "http://b.test/4",
        "mailto:x",
        "http://a.test:81/5",
    )

    def names(self, kind, role="item"):
        entries = items(self.URLS, 5.0, kind, role)
        return [url for url, _ in dated(entries, "http://a.test/x", "", site_of)]

    def test_a_sitemap_speaks_for_its_host(self):
        """Pages of others are links only."""
        own = ["http://a.test/1", "http://a.test/2", "http://a.test:81/5"]
        assert self.names("sitemap") == self.names("sitemap", "sitemap") == own

    def test_a_feed_speaks_for_its_registered_domain(self):
        """Its pages are often on a host beside."""
        assert "http://www.a.test/3" in self.names("feed")
        assert "http://b.test/4" not in self.names("feed")

    @pytest.mark.parametrize(
        "role", ["image", "alternate", "self", "home", "hub", "enclosure", "page"]
    )
    def test_what_is_no_entry(self, role):
        """Its date is another's."""
        assert self.names("feed", role) == []


class TestRead:
    def test_a_later_date_has_the_page_fetched(self, signalling, told):
        """If it is ours, and if it passes the filters."""
        url, pages = (
            "http://a.test/map",
            ["http://a.test/1", "http://a.test/filtered", "http://a.test/others"],
        )
        signalling.on_body_read(page(url, items(pages, 100.0)), NOW)
        assert told == []
        signalling.on_body_read(page(url, items(pages, 200.0)), NOW)
        assert told == ["http://a.test/1"]
        assert signalling.signals.counters["signals/elsewhere"] == 1

    def test_a_sitemap_in_an_index(self, signalling, told):
        """It is a page like others: its own date has it fetched."""
        for date in (100.0, 200.0):
            signalling.on_body_read(
                page("http://a.test/index", items(["/1.xml.gz"], date, role="sitemap")), NOW
            )
        assert told == ["http://a.test/1.xml.gz"]

    def test_an_index_that_names_itself(self, signalling, told):
        """It is fetched once for each new date, like any other page."""
        for number in range(5):
            signalling.on_body_read(
                page("http://a.test/index", items(["/index"], 100.0 + number, role="sitemap")), NOW
            )
        assert told == ["http://a.test/index"] * 4

    def test_a_truncated_listing(self, signalling, told):
        """What is missing at its end is not gone."""
        url, both = "http://a.test/map", ["http://a.test/1", "http://a.test/2"]
        signalling.on_body_read(page(url, items(both, 100.0)), NOW)
        signalling.on_body_read(page(url, items(both[:1], 100.0), truncated="length"), NOW)
        signalling.on_body_read(page(url, items(both, 200.0)), NOW)
        assert sorted(told) == both


class TestPushed:
    def test_entries_with_news(self, signalling, told):
        """Those that are known and have a later date, or none."""
        feed = Link("http://a.test/feed")
        signalling.on_body_read(page(feed.url, items(["/1", "/2"], 100.0, "feed")), NOW)
        signalling.pushed(feed, items(["/1"], 200.0, "feed") + items(["/2"], None, "feed"), NOW)
        assert told == ["http://a.test/1", "http://a.test/2"]

    def test_what_has_no_entries(self, signalling, told):
        """It is the page itself."""
        signalling.pushed(Link("http://a.test/page"), [], NOW)
        assert told == ["http://a.test/page"]


@pytest.mark.parametrize("name", ["sitemaps", "feeds"])
def test_real_listings(name, db, told):
    """Each entry on the listing's host that has a date is a signal when it was a day earlier
    before; no other is.
    """
    folder, count = cases(name), Counter()
    for case in json.loads((folder / "index.json").read_text()):
        body, reference = (folder / case["file"]).read_bytes(), case["reference"]
        body = sniffing.unpacked(body) if is_packed("", body) else body
        read = listings.read_list(body) if reference["kind"] == "text" else listings.read(body)
        hosts = Counter(
            urlsplit(one.url).hostname for one in read.entries if one.role in ("item", "sitemap")
        )
        host = next((host for host, _ in hosts.most_common() if host), "a.test")
        url = f"http://{host}/{case['file'].replace(' ', '')}"
        signals = Signals(db, Fingerprints(bytes(16)), Random(1))
        for one in {host, *filter(None, hosts)}:
            believe(signals, one)
        signalling = Signalling(
            signals, lambda url, now, via: not told.append(url), Passing(), site_of
        )
        told.clear()

        before = [
            ListingEntry(
                one.url, one.kind, one.role, modified=one.modified and one.modified - 86_400
            )
            for one in read.entries
        ]
        signalling.on_body_read(page(url, before), NOW)
        assert told == [], case["file"]
        signalling.on_body_read(page(url, read.entries), NOW)
        signalling.on_body_read(page(url, read.entries), NOW)

        own = {
            one.url: one
            for one in read.entries
            if one.role in ("item", "sitemap", "guid") and one.modified
        }
        expected = {
            urljoin(url, one) for one in own if is_own(urljoin(url, one), host, own[one].kind)
        }
        assert len(told) == len({*told}) == len({plain(one) for one in expected}), case["file"]
        assert {*map(plain, told)} == {*map(plain, expected)}, case["file"]
        count["listings"] += 1
        count["signals"] += len(told)
    assert count["listings"] == {"sitemaps": 20, "feeds": 32}[name]
    assert count["signals"] == {"sitemaps": 86, "feeds": 189}[name]


def is_own(url, host, kind):
    named = urlsplit(url).hostname
    return named == host or (
        kind == "feed" and named is not None and DOMAINS(named) == DOMAINS(host)
    )


def plain(url):
    """Without what the canonical form changes."""
    return url.partition("#")[0].removesuffix("/")
