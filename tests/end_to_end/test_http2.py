"""Hosts that speak only HTTP/2, crawled by `scrapy crawl web`."""

import json
from collections import Counter
from random import Random

import pytest

from tests.support.commands import command
from tests.support.crashes import complaints, crash
from tests.support.crashes import crawl_of as crawl_of_world
from tests.support.crawling import QUICK, Crawl, wait_until
from tests.support.examples import in_campaign
from tests.support.http2_servers import NO_PROTOCOL, Http2Pages, context, http2_site
from tests.support.warc_reader import read
from webcrawl.lab.simweb import truth
from webcrawl.tools.verify_crawl import verify

PAGES = 30


def site(host, path, _):
    """A start page, its pages in a row, and one that only a redirect leads to."""
    if path == "/robots.txt":
        return 200, [("content-type", "text/plain")], b"User-agent: *\nDisallow: /secret\n"
    if path == "/":
        links = "".join(f'<a href="/{n}">{n}</a>' for n in range(PAGES))
        return (
            200,
            [("content-type", "text/html")],
            f'{links}<a href="/moved">m</a><a href="/secret">s</a>'.encode(),
        )
    if path == "/moved":
        return 302, [("location", "/there")], b""
    if path[1:].isdigit() or path == "/there":
        return 200, [("content-type", "text/html")], f"<p>words of {host} {path} ".encode() * 30
    return None


def crawl_of(folder, port, hosts=("a.test",), **settings):
    (folder / "seeds.txt").write_text("".join(f"https://{host}:{port}/\n" for host in hosts))
    (folder / "hosts").write_text("".join(f"127.0.0.1 {host}\n" for host in hosts))
    settings = {"HOSTS_FILE": folder / "hosts", "PORTS_ALLOWED": port, **QUICK, **settings}
    return Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)


def statuses(crawl):
    """Status of each path in crawl.log."""
    lines = [line.split() for line in (crawl.jobdir / "logs/crawl.log").read_text().splitlines()]
    return {"/" + line[3].split("/", 3)[3]: line[1] for line in lines}


def why(crawl, *words):
    """What `scrapy why` prints."""
    return command("webcrawl", "why", crawl.jobdir, *words).stdout


def records(crawl):
    return [one for path in sorted(crawl.jobdir.glob("warc/*.warc.gz")) for one in read(path)]


@pytest.mark.parametrize(
    "shut", [NO_PROTOCOL, *in_campaign(b"", None)], ids=["alert", "closes", "lets in"]
)
def test_it_is_crawled_whole(tmp_path, shut):
    """All pages come, obey robots.txt, and are archived in HTTP/1.1's form, marked as h2."""
    pages = Http2Pages(site)
    with http2_site(pages, context(tmp_path, "a.test"), shut) as (door, port):
        crawl = crawl_of(tmp_path, port, OUTPUTS="warc cdxj text")
        assert crawl.run() == 0

    found = statuses(crawl)
    assert found.pop("/secret") == "-9998"
    assert found.pop("/moved") == "302"
    assert found == dict.fromkeys(
        ("/robots.txt", "/", "/there", *(f"/{n}" for n in range(PAGES))), "200"
    )
    assert max(Counter(path for _, path, *_ in pages.requested).values()) == 1
    assert door.hellos.count(False) == 1
    assert list(verify(crawl.jobdir, Counter())) == []
    page = next(
        one
        for one in records(crawl)
        if one.kind == "response" and one.fields["WARC-Target-URI"].endswith("/3")
    )
    assert page.block.startswith(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<p>words of a.test /3"
    )
    about = [
        one.about for one in records(crawl) if one.kind == "metadata" and "protocol" in one.about
    ]
    assert {(one["protocol"], one["reconstructed"]) for one in about} == {("h2", "head")}
    texts = [path for path in crawl.jobdir.rglob("*") if "text" in path.name and path.is_file()]
    assert texts
    answer = json.loads(why(crawl, f"https://a.test:{port}/3", "--json"))
    assert (answer["state"], answer["host"]["protocol"]) == ("fetched", "HTTP/2 only")
    assert "speaks only HTTP/2" in why(crawl, f"https://a.test:{port}/3")


def test_a_kill_forgets_nothing(tmp_path):
    """After kill -9 every page is fetched, and stands in the archive once."""
    pages = Http2Pages(site)
    with http2_site(pages, context(tmp_path, "a.test")) as (door, port):
        crawl = crawl_of(tmp_path, port, POLITENESS_MIN_DELAY=0.05, CHECKPOINT_INTERVAL=0.3)
        for count in (8, 20):
            running = crawl.start()
            wait_until(lambda count=count: len({path for _, path, *_ in pages.requested}) >= count)
            running.kill()
        shut = door.hellos.count(False)
        assert crawl.run() == 0

    assert {path for path, status in statuses(crawl).items() if status == "200"} >= {
        f"/{n}" for n in range(PAGES)
    }
    urls = Counter(
        one.fields["WARC-Target-URI"]
        for one in records(crawl)
        if one.kind in ("response", "revisit")
    )
    assert set(urls.values()) == {1}
    assert list(verify(crawl.jobdir, Counter())) == []
    assert door.hellos.count(False) == shut  # the host's record says how to begin


def test_without_http2_the_host_is_given_up(tmp_path):
    """With HTTP2=off its URLs end at once, with a status of their own and a line that says why."""
    with http2_site(Http2Pages(site), context(tmp_path, "a.test")) as (_, port):
        crawl = crawl_of(tmp_path, port, HTTP2="off", HOST_PATIENCE=259_200)
        assert crawl.run() == 1

    assert statuses(crawl) == {"/robots.txt": "-7", "/": "-7"}
    said = crawl.output.read_text()
    assert "the server speaks only HTTP/2; -s HTTP2=needed allows HTTP/2" in said


def test_both_protocols_side_by_side(tmp_path):
    """With HTTP2=prefer no host is requested twice."""
    with http2_site(Http2Pages(site), context(tmp_path, "a.test", "b.test")) as (door, port):
        crawl = crawl_of(tmp_path, port, ("a.test", "b.test"), HTTP2="prefer")
        assert crawl.run() == 0

    assert False not in door.hellos
    assert Counter(statuses(crawl).values())["200"] == PAGES + 3


@pytest.mark.parametrize(("way", "spoken"), in_campaign(("needed", ""), ("prefer", "h2")))
def test_a_web_of_both_protocols_with_kills(simweb, tmp_path, way, spoken):
    """Every page of hosts that speak one or both is requested as the truth says, and archived by
    what was spoken.
    """
    server = simweb(24, 160, mix={"https_h2": 0.4, "https_both": 0.4}, size=(2000, 3000))
    settings = {
        "HTTP2": way,
        "DOWNLOAD_TIMEOUT": 30,
        "HOST_PATIENCE": 60,
        "CHECKPOINT_INTERVAL": 0.3,
    }
    crawl = crawl_of_world(tmp_path / "crawled", server, settings)
    killed = crash(crawl, server, Random(7), kills=2, requests=(40, 70))

    expected = truth(server.world, server.world.seeds())
    assert (killed.status, len(killed.deaths)) == (0, 2)
    assert [*complaints(expected, killed)] == []
    assert [*killed.fetched_again()] == []
    protocols = {"": "", "https_h2": "h2", "https_both": spoken}
    about = [
        one
        for one in records(crawl)
        if one.kind == "metadata" and one.fields.get("WARC-Target-URI")
    ]
    found = {one.fields["WARC-Target-URI"]: one.about.get("protocol", "") for one in about}
    assert expected.must <= found.keys()
    for url, protocol in found.items():
        assert protocol == protocols[server.world.kind("scheme", server.world.locate(url)[0])], url


class Old:
    """Answers HTTP/1.1 with one status, but for these paths, and HTTP/2 with the pages of a site."""

    def __init__(self, status, fields=(), well=(), newer=site):
        self.pages, self.status, self.fields, self.well = Http2Pages(newer), status, fields, well
        self.refused = []

    async def __call__(self, reader, writer):
        if writer.get_extra_info("ssl_object").selected_alpn_protocol() == "h2":
            await self.pages(reader, writer)
            return
        while head := (await reader.readuntil(b"\r\n\r\n")).decode():
            path = head.split(" ")[1]
            status, fields, body = self.status, self.fields, b""
            if path in self.well:
                status, fields, body = site("a.test", path, None)
            else:
                self.refused.append(path)
            lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
            writer.write(
                f"HTTP/1.1 {status} -\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body
            )


@pytest.mark.parametrize(
    ("status", "fields"), [(505, []), (426, []), (426, [("Upgrade", "h2, HTTP/2.0")])]
)
def test_a_server_that_wants_another_version(tmp_path, status, fields):
    """It is asked by HTTP/2 at once, and then always: no URL and no robots.txt fails.

    Such a server was taken at its word: each of its pages was a 426, or was requested three times
    and lost.
    """
    old = Old(status, fields)
    with http2_site(old, context(tmp_path, "a.test", protocols=("h2", "http/1.1")), None) as (
        _,
        port,
    ):
        crawl = crawl_of(tmp_path, port, HOST_PATIENCE=3600)
        assert crawl.run() == 0

    assert Counter(statuses(crawl).values()) == {"200": PAGES + 3, "302": 1, "-9998": 1}
    assert old.refused == ["/robots.txt"]
    assert list(verify(crawl.jobdir, Counter())) == []


def test_it_wants_another_version_for_some_pages(tmp_path):
    """Where pages came by HTTP/1.1, the one that is refused comes by HTTP/2, and so does what
    follows.
    """
    old = Old(505, well=("/robots.txt", "/", "/0", "/1"))
    with http2_site(old, context(tmp_path, "a.test", protocols=("h2", "http/1.1")), None) as (
        _,
        port,
    ):
        crawl = crawl_of(tmp_path, port)
        assert crawl.run() == 0

    assert Counter(statuses(crawl).values()) == {"200": PAGES + 3, "302": 1, "-9998": 1}
    assert len(old.refused) == 1


@pytest.mark.parametrize(
    ("status", "fields", "protocols", "more"),
    [
        (505, [], ("http/1.1",), {}),
        (505, [], ("h2", "http/1.1"), {"HTTP2": "off"}),
        (426, [("Upgrade", "websocket")], ("h2", "http/1.1"), {}),
    ],
    ids=["no HTTP/2", "HTTP2=off", "web socket"],
)
def test_its_answer_is_all_that_there_is(tmp_path, status, fields, protocols, more):
    """Who does not speak HTTP/2 either, or wants something else, is taken at his word: the URL
    alone ends so.
    """
    old = Old(status, fields, well=("/robots.txt", "/", *(f"/{n}" for n in range(PAGES)), "/there"))
    with http2_site(old, context(tmp_path, "a.test", protocols=protocols), None) as (_, port):
        crawl = crawl_of(tmp_path, port, **more)
        assert crawl.run() == 0

    assert Counter(statuses(crawl).values()) == {"200": PAGES + 2, str(status): 1, "-9998": 1}
    assert old.pages.requested == []
