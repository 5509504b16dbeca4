"""A crawl of sixty hosts, forty of them behind ten kinds of block pages: killed once, let in by some,
shut out by others.
"""

import asyncio
import json
from contextlib import contextmanager
from threading import Thread

import pyarrow.parquet as pq
import pytest

from tests.support.blocked_web import (
    APP,
    BLOCKED_HOSTS,
    BOTH,
    HOSTS,
    OPEN,
    OWNERS,
    PAGES,
    SHUT,
    SIX,
    BlockedWeb,
    pages_of,
)
from tests.support.crawling import Crawl, scrapy, wait_until
from tests.support.fulltext import indexed, written
from tests.support.named_sites import sites
from tests.support.nameserver import AAAA, NameServer
from tests.support.net_http import silence
from tests.support.places import ROOT
from webcrawl.record.fulltext.text_search import SearchAll

pytestmark = pytest.mark.campaign
SETTINGS = {
    "OUTPUTS": "warc cdxj text index tables",
    "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/16,::1/128",
    "CHECKPOINT_INTERVAL": 1,
    "SOFT404_PROBE": 2,
    # the crawl goes on until the owners have let us in, however long the machine takes
    "OUTAGE_END_WAIT": 900,
    "POLITENESS_FACTOR": 0,
    "DOWNLOAD_TIMEOUT": 20,
    "HOST_PATIENCE": 900,
}
NOWHERE = "127.0.0.9"  # nobody answers there


@contextmanager
def named():
    """A name server in a thread; its address."""
    server, loop, stop = NameServer(), asyncio.new_event_loop(), asyncio.Event()
    for host in HOSTS:
        if host != SIX:
            server.add(host, NOWHERE if host == BOTH else "127.0.0.1")
    for host in (SIX, BOTH):
        server.add(host, "::1", kind=AAAA)

    async def serve():
        async with server.running():
            await stop.wait()

    thread = Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    wait_until(lambda: server.port)
    try:
        yield server.address
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


@pytest.fixture(name="crawled", scope="module")
def _crawled(tmp_path_factory):
    """The crawl, the web, and the annotations of each URL in the log."""
    folder, web = tmp_path_factory.mktemp("blocked"), BlockedWeb()
    with named() as names, sites(web, six=True) as served, silence(NOWHERE, served.port):
        (folder / "seeds.txt").write_text("".join(f"{served.url(host)}\n" for host in HOSTS))
        crawl = Crawl(
            folder / "job", {"seeds": folder / "seeds.txt"}, {**SETTINGS, "DNS_NAMESERVERS": names}
        )
        running = crawl.start()
        wait_until(lambda: web.requested.total() > 150 and (crawl.jobdir / "stats.json").exists())
        running.kill()
        web.forget()
        running = crawl.start()
        wait_until(lambda: web.has_given(set(OPEN) - set(OWNERS)))
        web.let_in = True
        wait_until(lambda: web.has_given(OPEN))
        running.interrupt()
        assert running.wait() == 0
        assert crawl.run(OUTAGE_END_WAIT=1) == 0
        crawl.url = served.url
    log = {}
    for line in (crawl.jobdir / "logs/crawl.log").read_text().splitlines():
        fields = line.split()
        log.setdefault(tuple(fields[3].removeprefix("http://").split("/", 1)), []).append(
            fields[-1].split(",")
        )
    return (
        crawl,
        web,
        {(host.partition(":")[0], path): notes for (host, path), notes in log.items()},
    )


def truth():
    """Host and path of all pages."""
    return {(host, page) for host in OPEN for page in pages_of(host)}


def parts(url):
    host, _, path = url.removeprefix("http://").partition("/")
    return host.partition(":")[0], path


def test_the_text_has_all_pages_and_nothing_else(crawled):
    """No block page, and not valid data about a host's rendering for what is not there, whatever
    its status.
    """
    crawl, _, _ = crawled

    assert sorted(parts(line["url"]) for line in written(crawl.jobdir)) == sorted(truth())


def test_the_index_has_what_the_text_has(crawled):
    """A search finds pages by their words, and no block page by its own."""
    crawl, _, _ = crawled

    assert sorted(parts(url) for _, url in indexed(crawl.jobdir)) == sorted(truth())
    assert {
        word: SearchAll([crawl.jobdir]).find(word, 5)[0] for word in ("lamp", "halt", "offer7")
    } == {
        "lamp": sum(host not in APP for host, _ in truth()),
        "halt": 0,
        "offer7": 0,
    }


def test_block_pages_cost_no_budget(crawled, tmp_path):
    """A domain's pages are those that were let in, however many block pages came, and none is
    owed.
    """
    crawl, _, _ = crawled
    hosts = [host for host in BLOCKED_HOSTS if host not in SHUT]
    found = [why(crawl, host, "1", tmp_path)["budget"] for host in hosts[::7]]

    assert {one["used"] for one in found} == {len(PAGES)}
    assert {one["over_budget"] for one in found} == {0}
    assert {one["debt"] for one in found} == {0}


def test_who_is_let_in_crawls_at_once(crawled):
    """The next probe after its owner has let us in is the first page; no further wait follows."""
    _, web, _ = crawled

    assert {host: all(web.after[host]) for host in OWNERS} == dict.fromkeys(OWNERS, True)


def why(crawl, host, path, folder):
    """The answer of `scrapy why --json`."""
    out = folder / f"why-{host}-{path}"
    assert scrapy(["why", "--json", str(crawl.jobdir), crawl.url(host, f"/{path}")], ROOT, out) == 0
    return json.loads(out.read_text())


def test_hosts_on_ipv6_are_reached(crawled):
    """One that has no other address, and one whose IPv4 address is silent: none of their URLs has
    failed.
    """
    crawl, _, log = crawled
    tables = [
        pq.read_table(path, columns=["url", "ip"])
        for path in (crawl.jobdir / "tables").glob("pages-*.parquet")
    ]
    found = {(parts(row["url"])[0], row["ip"]) for table in tables for row in table.to_pylist()}

    assert {ip for host, ip in found if host in (SIX, BOTH)} == {"::1"}
    assert {
        tuple(notes) for host in (SIX, BOTH) for page in PAGES for notes in log[host, page]
    } == {("-",)}
    assert crawl.stats.get("outcome/connect_timeout", 0) == 0
