"""Sitemaps that robots.txt names, and feeds that pages name, crawled by `scrapy crawl web`."""

import gzip
from collections import Counter

import pytest

from tests.end_to_end.test_hive_revisits import resize
from tests.support.crawling import wait_until
from tests.support.hive_server import stream_server
from tests.support.hives import Hive
from tests.support.named_sites import Typed, sites
from webcrawl.tools.verify_crawl import verify
from webcrawl.tools.verify_hive import verify_hive

ATOM = b"<feed xmlns='http://www.w3.org/2005/Atom'><link rel='hub' href='/hub'/><entry><link href='/news'/>"


class Answers:
    """A site whose pages only its sitemaps and feeds name; `port` is known once it is served."""

    def __init__(self):
        self.port = 0

    def __call__(self, host, path, _):
        here, other = f"http://{host}:{self.port}", f"http://other.test:{self.port}"
        if host == "other.test":
            lines = f"{other}/of-map\nhttp://site.test:{self.port}/from-other\n"
            return {"/map": Typed(lines.encode(), "text/plain"), "/of-map": b"o"}.get(path)
        pages = f"<urlset><url><loc>{here}/listed</loc></url>"
        return {
            "/robots.txt": f"Sitemap: {here}/index.xml\nSitemap: {other}/map\n".encode(),
            "/": b"<link rel=alternate type=application/rss+xml href=/feed>",
            "/index.xml": f"<sitemapindex><sitemap><loc>{here}/map.xml.gz</loc></sitemap></sitemapindex>".encode(),
            "/map.xml.gz": Typed(gzip.compress(pages.encode()), "application/gzip"),
            "/feed": Typed(ATOM, "application/xml"),
            "/listed": b"<p>1", "/news": b"<p>2", "/from-other": b"<p>3", "/hub": b"<p>4",
        }.get(path)  # fmt: skip


BOTH = {"SITEMAPS": True, "FEED_LINKS": "on"}
OF_MAPS = {"/index.xml", "/map.xml.gz", "/listed"}


@pytest.mark.parametrize(
    ("settings", "scope", "pages", "others"),
    [
        ({}, "host", OF_MAPS, set()),
        ({"SITEMAPS": False}, "any", set(), set()),
        (
            {"SITEMAPS": "off", "LINK_SOURCES": "all", "OUTPUTS": "links"},
            "any",
            {"/feed", "/news"},
            set(),
        ),
        ({"SITEMAPS": True}, "host", OF_MAPS, set()),
        (BOTH, "any", {*OF_MAPS, "/feed", "/news", "/from-other"}, {"/map", "/of-map"}),
        ({**BOTH, "ROBOTSTXT_OBEY": False}, "host", {"/feed", "/news"}, set()),
    ],
    ids=["default", "off", "all", "sitemaps", "both", "no robots"],
)
def test_what_is_fetched(tmp_path, settings, scope, pages, others):
    """What each setting says, and no hub; sitemaps of other hosts as far as the scope goes."""
    answers = Answers()
    with sites(answers) as served:
        answers.port = served.port
        crawl = served.crawl(tmp_path, ["site.test"], names=["other.test"], **settings)
        crawl.arguments["scope"] = scope
        assert crawl.run() == 0
        assert list(verify(crawl.jobdir, Counter())) == []

    requested = served.pages()
    expected = [("site.test", path) for path in ("/", *pages)] + [
        ("other.test", path) for path in others
    ]
    assert sorted(requested) == sorted(expected)
    log = (crawl.jobdir / "logs" / "crawl.log").read_text().splitlines()
    paths = {line.split()[3].rpartition(f":{served.port}")[2]: line.split()[4] for line in log}
    assert paths.get("/index.xml", "M") == "M"
    assert paths.get("/listed", "MML") == "MML"
    assert paths.get("/news", "LL") == "LL"


@pytest.mark.parametrize("packed", [False, True])
def test_a_sitemap_longer_than_a_page(tmp_path, packed):
    """It is read beyond DOWNLOAD_TRUNCATE, to its end; pages are truncated there."""
    urls = "".join(f"<url><loc>/{number}/{'x' * 90}</loc></url>" for number in range(30))
    listing = f"<urlset>{urls}<url><loc>/last</loc></url></urlset>".encode()
    answers = {
        "/robots.txt": b"Sitemap: /map.xml",
        "/": b"<p>nothing",
        "/map.xml": Typed(gzip.compress(listing, 0) if packed else listing, "application/xml"),
        "/last": b"<p>" + b"many words " * 200,
    }
    with sites(lambda _host, path, _: answers.get(path)) as served:
        crawl = served.crawl(tmp_path, ["site.test"], DOWNLOAD_TRUNCATE=1024)
        assert crawl.run() == 0
        assert "/last" in {path for _, path in served.pages()}

    lines = [
        line.split() for line in (crawl.jobdir / "logs" / "crawl.log").read_text().splitlines()
    ]
    sizes = {line[3].split("/", 3)[3]: line[2] for line in lines}
    assert (int(sizes["map.xml"]) > 2000, sizes["last"]) == (True, "1024")


def test_a_user_of_links_log_sees_the_hub(tmp_path):
    """It is in the link log with its kind, though nobody asks for it."""
    answers = Answers()
    with sites(answers) as served:
        answers.port = served.port
        crawl = served.crawl(
            tmp_path, ["site.test"], SITEMAPS=False, FEED_LINKS=True, OUTPUTS="links"
        )
        assert crawl.run() == 0

    rows = [
        line.split("\t") for line in (crawl.jobdir / "logs" / "links.log").read_text().splitlines()
    ]
    assert {row[3] for row in rows} == {"feed", "hub"}
    assert "/hub" not in {path for _, path in served.pages()}


@pytest.mark.parametrize(
    ("pages", "sitemaps", "tried"), [(12, True, 1), (6, True, 0), (12, False, 0)]
)
def test_a_sitemap_that_nobody_names(tmp_path, pages, sitemaps, tried):
    """It is looked for once, on hosts with ten pages."""

    def answer(host, path, _):
        links = "".join(f"<a href=/{number}>" for number in range(1, pages))
        listed = "<urlset><url><loc>/listed</loc></url></urlset>"
        known = {
            "/": f"{links}".encode(),
            "/sitemap.xml": Typed(listed.encode(), "text/xml"),
            "/listed": b"l",
        }
        return known.get(path, f"page {path}".encode() if path[1:].isdigit() else None)

    with sites(answer) as served:
        assert served.crawl(tmp_path, ["site.test"], SITEMAPS=sitemaps).run() == 0

    requested = [path for _, path in served.pages()]
    assert requested.count("/sitemap.xml") == requested.count("/listed") == tried
    assert len(requested) == pages + 2 * tried


class Hosts:
    """Sites that one page leads to, each with a sitemap: those of a few pages, and one of many."""

    def __init__(self, few, many):
        self.port, self.pages = (
            0,
            {**dict.fromkeys((f"few{n}.test" for n in range(few)), 3), "many.test": many},
        )

    def __call__(self, host, path, _):
        if host == "start.test":
            links = [f"<a href=http://{name}:{self.port}/>" for name in self.pages] + [
                f"<a href=/{n}>" for n in range(12)
            ]
            return {"/": "".join(links).encode()}.get(
                path, b"page " + path.encode() if path != "/robots.txt" else None
            )
        here = f"http://{host}:{self.port}"
        if path == "/robots.txt":
            return f"Sitemap: {here}/map.xml".encode()
        if path == "/map.xml":
            urls = "".join(f"<url><loc>{here}/{n}</loc></url>" for n in range(2 * self.pages[host]))
            return Typed(f"<urlset>{urls}</urlset>".encode(), "text/xml")
        number = int(path[1:] or 0)
        return f"{host} {path} <a href=/{(number + 1) % self.pages[host]}>".encode()


def test_hosts_of_few_pages_are_not_requested(tmp_path):
    """Only one that has given ten pages is, once; then pages follow that nothing links to.

    Sitemaps count apart.
    """
    answers = Hosts(few=5, many=15)
    with sites(answers) as served:
        answers.port = served.port
        crawl = served.crawl(tmp_path, ["start.test"], names=answers.pages)
        assert crawl.run() == 0
        assert list(verify(crawl.jobdir, Counter())) == []

    requested = served.pages()
    assert [host for host, path in requested if path == "/map.xml"] == ["many.test"]
    assert Counter(host for host, _ in requested) == {
        "start.test": 13,
        "many.test": 32,
        **{f"few{n}.test": 4 for n in range(5)},
    }
    assert max(Counter(requested).values()) == 1
    stats = crawl.stats
    robots = len(served.requested) - len(requested)
    assert (stats["answers"], stats["sitemaps"], stats["sitemaps/urls"]) == (
        len(requested) - 1 + robots,
        1,
        30,
    )
    assert stats["pages"] == len(requested) - 1
    assert stats["statistics"]["documents"] == len(requested) - 1


@pytest.mark.campaign
def test_kills_lose_no_turn_and_no_page(tmp_path):
    """Whenever a crawl is killed: in the end every page was logged once, and the sitemap too."""
    answers = Hosts(few=0, many=150)
    with sites(answers) as served:
        answers.port = served.port
        settings = {"CHECKPOINT_INTERVAL": 0.1, "POLITENESS_MIN_DELAY": 0.005}
        crawl = served.crawl(tmp_path, ["start.test"], names=answers.pages, **settings)
        for many in (30, 100, 200):
            running = crawl.start()
            wait_until(lambda many=many: len(served.requested) > many)
            running.process.kill()
            running.process.join()
        assert crawl.run() == 0
        assert list(verify(crawl.jobdir, Counter())) == []

    log = [line.split() for line in (crawl.jobdir / "logs" / "crawl.log").read_text().splitlines()]
    ended = Counter(
        fields[3].partition(f":{served.port}")[2] for fields in log if "many.test" in fields[3]
    )
    assert ended == dict.fromkeys(
        [*(f"/{n}" for n in range(300)), "/", "/map.xml", "/robots.txt"], 1
    )
    assert crawl.stats["sitemaps"] == 1


@pytest.mark.campaign
def test_a_hive_whose_drones_come_and_go(tmp_path):
    """Each host's sitemap is read by the drone that has the host, also where that is killed or the
    host moves.
    """
    names = [f"d{number}.test" for number in range(12)]
    listed = 24  # pages of a host, the second half of which only its sitemap names
    requested = []

    def answer(host, path, headers):
        if path == "/robots.txt":
            return f"Sitemap: http://{host}:{found.port}/map.xml".encode()
        requested.append((host, path))
        if path == "/map.xml":
            lines = "".join(f"http://{host}:{found.port}/{number}\n" for number in range(listed))
            return Typed(lines.encode(), "text/plain")
        number = int(path[1:] or 0)
        return f"{host} {path} {f'<a href=/{number + 1}>' if number < listed // 2 - 1 else ''}".encode()

    (tmp_path / "hosts").write_text("".join(f"127.0.0.1 {name}\n" for name in names))
    settings = {
        "HOSTS_FILE": tmp_path / "hosts",
        "POLITENESS_FACTOR": 0,
        "POLITENESS_MIN_DELAY": 0.05,
    }
    with stream_server(tmp_path / "server") as server, sites(answer, all_headers=True) as found:
        seeds = [found.url(name) for name in names]
        hive = Hive(
            tmp_path / "hive", None, server.url, drones=2, settings=settings, seeds=seeds
        ).start_all()
        try:
            wait_until(lambda: len(requested) > 100)
            hive.kill(0)
            hive.start(0)
            new = hive.add()
            resize(server, hive, 0, 1, new)
            hive.start(new)
            assert hive.wait() == [0, 0, 0]
        finally:
            hive.end()

    counts = Counter(requested)
    pages = {(name, f"/{number or ''}") for name in names for number in range(listed)}
    assert counts.keys() - {(name, "/0") for name in names} == pages | {
        (name, "/map.xml") for name in names
    }
    assert list(verify_hive(tmp_path / "hive", Counter())) == []
