"""Batches that somebody who can write to the server has forged: refused item by item, and nothing
of them is kept.
"""

import re
from base64 import urlsafe_b64encode

import msgpack
import pytest

from tests.support.crawling import scrapy, wait_until
from tests.support.hives import Hive
from tests.support.places import ROOT
from tests.support.plain_site import Site, serving
from webcrawl.base.model import Link
from webcrawl.crawl.hive import batch as wire
from webcrawl.crawl.hive.batch import Batch, Kind

SIZE = (2000, 3000)


@pytest.fixture(name="web")
def _web(simweb):
    return simweb(8, 60, size=SIZE, latency=0.02)


@pytest.fixture(name="hive")
def _hive(tmp_path, redis, web):
    hive = Hive(tmp_path / "hive", web, redis.url, drones=2)
    yield hive
    hive.end()


@pytest.fixture(name="requested")
def _requested():
    """A server beside the web, and what it was asked for: a proxy that nobody may use."""
    requested = []

    class Proxy(Site):
        def answer(self):
            requested.append(self.path)
            super().answer()

        do_CONNECT = answer  # noqa: N815 - its name in the library

    with serving(Proxy) as address:
        yield address, requested


def word(**given):
    return urlsafe_b64encode(msgpack.packb(given)).decode()


def forged(web, proxy):
    """Links of the web with requests that nobody may make from outside; and links that are none."""
    host = web.world.origin(0)
    words = {
        "class": word(_class="tests.support.trap.thing"),
        "absent": word(callback="absent"),
        "closed": word(callback="closed"),
        "start": word(callback="start"),
        "proxy": word(meta={"proxy": proxy}),
        "unknown": word(method="GET", more=1),
        "unreadable": "AAAA",
        "priority": f"x.{word(method='POST')}",
    }
    links = [Link(f"{host}/forged/{name}", "L", request=text) for name, text in words.items()]
    links += [Link(f"file://{name}/etc/passwd", "L") for name in ("x", "127.0.0.1")]
    records = [link.pack() for link in links]
    return [*records, b"nothing", b"http://a.test/    x   ", 7, None]


def put(redis, web, proxy):
    """Puts forged items into every stream, in copies of the head of a real batch, with one good
    link among them.
    """
    items = forged(web, proxy)
    good = Link(f"{web.world.origin(0)}/forged/good", "L").pack()
    with redis.client() as client:
        streams = [key for key in client.scan_iter("webcrawl:*") if client.type(key) == b"stream"]
        heads = {key: batch for key in streams if (batch := _batch(client, key)) is not None}
        assert heads
        for key, (field, data) in heads.items():
            identifier, message = wire.read_batch(data)
            for kind, some in (
                (Kind.LINKS, items),
                (Kind.VOTES, [["a.test", 7], 5]),
                (Kind.ROBOTS, [[items[0], 200]]),
            ):
                middle = len(some) // 2
                made = [*some[:middle], *([good] if kind is Kind.LINKS else []), *some[middle:]]
                client.xadd(
                    key,
                    {
                        field: _sealed(
                            Batch(kind, message.sender, message.generation, 0, made), identifier
                        )
                    },
                )
    return len(items) + 3, len(heads)


def _batch(client, key):
    """The field and the bytes of a batch in a stream."""
    for _, fields in client.xrange(key, count=10):
        for field, data in fields.items():
            if data.startswith(wire.MAGIC):
                return field, data
    return None


def _sealed(message, identifier):
    """The batch's bytes, of the hive that has this identifier."""
    data = wire.pack_batch(message, b"another hive")
    head = data[: wire.HEAD.size - len(identifier)] + identifier
    frame = data[wire.HEAD_BYTES :]
    return head + wire.CRC.pack(wire.crc32_of_many(frame, wire.crc32_of_many(head))) + frame


@pytest.mark.campaign
def test_nothing_of_them_is_kept(hive, web, redis, requested, tmp_path):
    """No module is imported, no proxy requested, no file read; the good link is fetched, and the
    hive ends, twice.
    """
    (proxy, through), imported = requested, tmp_path / "imported"
    for crawl in hive.crawls:
        crawl.environment["TRAP"] = str(imported)
    hive.start_all()
    wait_until(lambda: web.log.count > 40)
    wait_until(lambda: _has_batches(redis))
    put(redis, web, proxy)

    assert hive.wait() == [0, 0]

    lines = [line for drone in range(2) for line in hive.said(drone).splitlines()]
    assert not [line for line in lines if "Traceback" in line]
    told = [line for line in lines if "an item from the hive's server was refused" in line]
    refused = [crawl.stats["hive/refused"] for crawl in hive.crawls]
    assert len(told) == sum(map(bool, refused))
    assert max(refused) >= len(forged(web, proxy)) + 3
    assert any(re.search(rf"\b{max(refused)} items from the hive's server", line) for line in lines)
    names = {hit.url.partition("/forged/")[2] for hit in web.log.hits if "/forged/" in hit.url}
    assert names == {"good"}
    assert through == []
    log = "".join((crawl.jobdir / "logs" / "crawl.log").read_text() for crawl in hive.crawls)
    assert "file:" not in log
    assert not imported.exists()
    for crawl in hive.crawls:
        assert scrapy(["verify", str(crawl.jobdir)], ROOT, tmp_path / "verified") == 0

    assert hive.start_all().wait() == [0, 0]
    assert not imported.exists()


def _has_batches(redis):
    with redis.client() as client:
        streams = [key for key in client.scan_iter("webcrawl:*") if client.type(key) == b"stream"]
        return len(streams) == 2 and all(_batch(client, key) for key in streams)


def test_requests_that_go_round_the_guard_stay(redis, simweb, requested, tmp_path):
    """A request with a proxy goes to a drone's own hosts only; one for another's is lost, which
    status 1 says.
    """
    proxy, through = requested
    web = simweb(8, 24, size=SIZE)
    addresses = " ".join(web.world.seeds())
    settings = {"SPIDER_MODULES": "tests.support.lost_spiders"}
    hive = Hive(tmp_path / "hive", web, redis.url, drones=2, settings=settings)
    for drone, crawl in enumerate(hive.crawls):
        crawl.spider = "proxied"
        crawl.arguments = {
            "here": addresses,
            "proxy": proxy,
            "notes": hive.folder / f"notes-{drone}",
        }
    hive.start_all()
    try:
        assert hive.wait() == [1, 1]
    finally:
        hive.end()

    lost = [crawl.stats["requests/unkept"] for crawl in hive.crawls]
    assert sum(lost) == 8
    for drone in range(2):
        assert (
            hive.said(drone).count("cannot be sent to the drone that has its host: meta proxy") == 1
        )
        assert "Traceback" not in hive.said(drone)
    forms = [hit for hit in web.log.hits if "form?a=1" in hit.url]
    assert len({hit.url for hit in forms}) == 8
    # by the drones that have their hosts
    assert len({url for url in through if url.endswith("/proxied")}) == 8
