"""Pages that sitemaps, feeds and hubs say have changed, in crawls by `scrapy crawl web`."""

import gzip
import json
import time
from collections import Counter
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from urllib.error import URLError

from tests.support.changing_site import Document, changing_site, log_of
from tests.support.crawling import wait_until
from tests.support.hub import hub
from tests.support.ports import free_port
from webcrawl.adapter.extensions import websub
from webcrawl.tools.verify_crawl import verify

POLICY = "tests.support.only_listings.OnlyListings"
LISTED = {"SITEMAPS": True, "FEED_LINKS": True}  # as by default: the site's crawls are without


def sitemap(site, dates):
    entries = "".join(
        f"<url><loc>{site.url(path)}</loc><lastmod>{date}</lastmod></url>"
        for path, date in dates.items()
    )
    return Document(f"<urlset>{entries}</urlset>".encode(), media="text/xml")


def later(seconds):
    """A date after all fetches of a test: what was changed before a fetch that found a change is no
    news.
    """
    return datetime.fromtimestamp(time.time() + seconds, UTC).isoformat(timespec="seconds")


def stats(crawl):
    return json.loads((crawl.jobdir / "stats.json").read_text())


def test_a_later_date_has_a_page_fetched(tmp_path):
    """At once, and no other page; a date that was wrong is counted, and so is one that was right."""
    documents = {
        "/": Document(b"<p>home"),
        **{f"/{name}": Document(name.encode()) for name in "abc"},
    }
    with changing_site(documents) as site:
        documents["/robots.txt"] = Document(
            f"Sitemap: {site.url('/map.xml')}".encode(), media="text/plain"
        )
        dates = dict.fromkeys(["/a", "/b", "/c"], "2024-01-01")
        documents["/map.xml"] = sitemap(site, dates)
        crawl = site.crawl(tmp_path, REVISIT_POLICY=POLICY, **LISTED)
        running = crawl.start()
        wait_until(lambda: site.of("/c") and len(site.of("/map.xml")) >= 3)
        documents["/a"] = Document(b"another")
        documents["/map.xml"] = sitemap(site, {**dates, "/a": later(60), "/b": later(60)})
        wait_until(lambda: len(site.of("/a")) >= 2 and len(site.of("/b")) >= 2)
        documents["/map.xml"] = sitemap(site, {**dates, "/a": later(120), "/b": dates["/b"]})
        assert site.until("/a", 3, running) == 0

    assert (len(site.of("/b")), len(site.of("/c")), len(site.of("/"))) == (2, 1, 1)
    notes = [
        (path, found)
        for _, path, found in log_of(crawl)
        if "revisit" in found and path != "/map.xml"
    ]
    assert ("/a", "changed") in [(path, found[1]) for path, found in notes]
    assert ("/b", "unchanged") in [(path, found[1]) for path, found in notes]
    lines = [
        line.split() for line in (crawl.jobdir / "logs" / "crawl.log").read_text().splitlines()
    ]
    assert [line[5] for line in lines if line[3] == site.url("/b")][1:] == [site.url("/map.xml")]
    figures = stats(crawl)
    assert (figures["signals/true"], figures["signals"]) == (1, 3)
    assert list(verify(crawl.jobdir, Counter())) == []


def test_a_second_signal_sends_validators(tmp_path):
    """What the first one's fetch found is known."""
    documents = {"/": Document(b"<p>home"), "/a": Document(b"a", etag='"1"')}
    with changing_site(documents) as site:
        documents["/robots.txt"] = Document(
            f"Sitemap: {site.url('/map.xml')}".encode(), media="text/plain"
        )
        crawl, running = site.crawl(tmp_path, REVISIT_POLICY=POLICY, **LISTED), None
        for day in range(1, 5):
            documents["/map.xml"] = sitemap(site, {"/a": later(60 * day)})
            running = running or crawl.start()
            wait_until(lambda: len(site.of("/a")) >= day)  # noqa: B023 - called at once
        running.interrupt()
        assert running.wait() == 0

    assert [one.status for one in site.of("/a")[:4]] == [200, 200, 304, 304]


def feed(site, the_hub, *entries):
    """An Atom feed with entries, each of a path and a date."""
    items = "".join(
        f"<entry><link href='{site.url(path)}'/><updated>{date}</updated></entry>"
        for path, date in entries
    )
    links = (
        f"<link rel='hub' href='{the_hub.address}'/><link rel='self' href='{site.url('/feed')}'/>"
    )
    return f"<feed xmlns='http://www.w3.org/2005/Atom'>{links}{items}</feed>".encode()


OLD, NEW = "2024-01-01T00:00:00Z", later(3600)


@contextmanager
def subscribed(tmp_path, settings=None, **more):
    """A site with a feed, its hub, a crawl, and the run of it that was asked to subscribe."""
    documents = {
        "/": Document(b"<link rel=alternate type=application/atom+xml href=/feed>"),
        "/a": Document(b"a"),
    }
    with changing_site(documents) as site, hub() as the_hub:
        for name, value in more.items():
            setattr(the_hub, name, value)
        documents["/feed"] = Document(
            feed(site, the_hub, ("/a", OLD)), media="application/atom+xml"
        )
        port = free_port()
        callback = {
            "WEBSUB_PORT": port,
            "WEBSUB_ADDRESS": f"http://127.0.0.1:{port}/hubs",
            "CHECKPOINT_INTERVAL": 0.3,
        }
        policy = "tests.support.only_listings.OnlySignals"
        crawl = site.crawl(tmp_path, REVISIT_POLICY=policy, REVISIT_AGE=0.2, **LISTED, **callback)
        crawl.settings.update(settings or {})
        runs = [crawl.start()]
        wait_until(lambda: the_hub.requested and site.of("/a"))
        yield site, the_hub, crawl, runs
        runs[-1].interrupt()
        assert runs[-1].wait() == 0
        assert list(verify(crawl.jobdir, Counter())) == []


def saved(crawl, name):
    """A counter, as of the last checkpoint."""
    with suppress(FileNotFoundError, KeyError):
        return stats(crawl)[name]
    return 0


def test_a_push_has_a_page_fetched(tmp_path):
    """The hub verifies what we asked for, and its signed news are believed; new pages in it are
    links.
    """
    with subscribed(tmp_path, moved=True) as (site, the_hub, crawl, _):
        wait_until(lambda: the_hub.answers)
        site.documents["/a"], site.documents["/new"] = Document(b"another"), Document(b"new")
        body = feed(site, the_hub, ("/a", NEW), ("/new", NEW))
        assert the_hub.publish(body) == 202
        wait_until(lambda: len(site.of("/a")) == 2 and site.of("/new"))
    (form,) = the_hub.requested
    assert form["hub.topic"] == site.url("/feed")
    assert the_hub.answers == [(200, "ch<&>allenge")]
    figures = stats(crawl)
    assert (figures["websub/verified"], figures["websub/pushes"], figures["signals/true"]) == (
        1,
        1,
        1,
    )
    archived = b"".join(
        gzip.decompress(path.read_bytes()) for path in (crawl.jobdir / "warc").glob("*.gz")
    )
    assert b"another" in archived
    assert form["hub.secret"].encode() not in archived
    lines = (crawl.jobdir / "logs" / "crawl.log").read_text().splitlines()
    assert {
        line.split()[1]
        for line in lines
        if line.split()[3].startswith(the_hub.address) and "robots" not in line
    } == {
        "202",
        "307",
    }


def test_forged_pushes_are_dropped(tmp_path):
    """Each is accepted and counted, and changes nothing."""
    with subscribed(tmp_path) as (site, the_hub, crawl, _):
        wait_until(lambda: the_hub.answers)
        site.documents["/last"] = Document(b"last")
        body = feed(site, the_hub, ("/a", NEW))
        assert the_hub.publish(body, signature="") == 202
        assert the_hub.publish(body, secret="guessed") == 202  # noqa: S106 - a wrong one
        assert the_hub.publish(body, signature="md5=0") == 202
        other = {
            **the_hub.requested[0],
            "hub.callback": the_hub.requested[0]["hub.callback"][:-1] + "x",
        }
        assert the_hub.publish(body, form=other) == 404
        assert the_hub.verify(other)[0] == 404
        assert the_hub.publish(feed(site, the_hub, ("/a", OLD), ("/last", OLD))) == 202
        wait_until(lambda: site.of("/last"))
    assert len(site.of("/a")) == 1
    figures = stats(crawl)
    assert [figures[f"websub/{name}"] for name in ("unsigned", "forged", "unasked", "pushes")] == [
        1,
        2,
        2,
        1,
    ]


def test_a_hub_that_verifies_another_topic(tmp_path):
    """It is told that nobody asked for that, and no push of it is believed."""
    with subscribed(tmp_path, topic="http://elsewhere.test/") as (site, the_hub, crawl, _):
        wait_until(lambda: the_hub.answers)
        assert the_hub.publish(feed(site, the_hub, ("/a", NEW))) == 202
        wait_until(lambda: saved(crawl, "websub/unasked") == 2)
    assert the_hub.answers[0][0] == 404
    assert len(site.of("/a")) == 1


def test_a_hub_that_refuses(tmp_path):
    """It is requested once."""
    with subscribed(tmp_path, status=404) as (_, the_hub, crawl, _):
        wait_until(lambda: saved(crawl, "websub/denied") == 1)
    assert len(the_hub.requested) == 1


def test_a_kill_keeps_the_subscription(tmp_path):
    """The next run takes pushes without asking the hub again."""
    with subscribed(tmp_path) as (site, the_hub, crawl, runs):
        wait_until(lambda: saved(crawl, "websub/verified") == 1)
        runs[0].kill()
        site.documents["/a"] = Document(b"another")
        runs.append(crawl.start())
        wait_until(lambda: pushed(the_hub, feed(site, the_hub, ("/a", NEW))), pause=0.1)
        wait_until(lambda: len(site.of("/a")) == 2)
    assert len(the_hub.requested) == 1


def pushed(the_hub, body):
    """Whether somebody took it."""
    with suppress(URLError, ConnectionError):
        return the_hub.publish(body) == 202
    return False


class LooksAlways:
    """Has hubs looked for all the time, so that a look falls between the steps of a crawl's end."""

    @classmethod
    def from_crawler(cls, crawler):
        websub.INTERVAL = 0.001
        return cls()


def test_hubs_are_left_alone_before_the_state_is_closed(tmp_path):
    """A crawl that ends meanwhile ends well: nothing looks into a closed database."""
    with subscribed(tmp_path, {"EXTENSIONS": json.dumps({f"{__name__}.LooksAlways": 0})}) as (
        _,
        the_hub,
        _,
        _,
    ):
        assert the_hub.requested


def test_a_change_that_no_date_announces(tmp_path):
    """It is found in the page's own turn."""
    documents = {"/": Document(b"<p>home"), "/a": Document(b"a")}
    with changing_site(documents) as site:
        documents["/robots.txt"] = Document(
            f"Sitemap: {site.url('/map.xml')}".encode(), media="text/plain"
        )
        documents["/map.xml"] = sitemap(site, {"/a": "2024-01-01"})
        crawl = site.crawl(tmp_path, CHECKPOINT_INTERVAL=0.3, **LISTED)
        running = crawl.start()
        wait_until(lambda: len(site.of("/a")) >= 3)
        documents["/a"] = Document(b"<p>quite another text than before")
        wait_until(lambda: saved(crawl, "revisit/changed_text") == 1)
        running.interrupt()
        assert running.wait() == 0
