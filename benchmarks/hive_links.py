"""Which share of the links to other drones' hosts the URL cache keeps off the wire.

The pages of a synthetic web, and the real pages of site-uci-shared if WEBCRAWL_CASES names its folder, in the order in
which a crawl finds them. Each drone has a cache of its own. A link counts once a page. The real site is of one
registered domain, so it is divided by host.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import zstandard

from benchmarks.support.report import report
from webcrawl.base.hosts import host_of
from webcrawl.base.loading import load
from webcrawl.content.html.link_reader import LinkReader
from webcrawl.crawl.hive.partition import partition_of
from webcrawl.crawl.hive.slot_map import SlotMap
from webcrawl.lab.simweb import World, tree_pages
from webcrawl.lab.simweb.random_content import path
from webcrawl.lab.simweb.truth import FOLLOWED, registered
from webcrawl.settings import HIVE_URL_CACHE, URL_CACHE_SIZE
from webcrawl.urls.canonical import canonical_links
from webcrawl.urls.url_fingerprint import Fingerprints

Page = tuple[str, list[str]]
FINGERPRINTS = Fingerprints(bytes(range(16)))


def synthetic(hosts: int, most: int) -> Iterator[Page]:
    """Breadth first from host 0."""
    world = World(hosts, most)
    queue, met = deque([(0, 0)]), {(0, 0)}
    while queue:
        host, page = queue.popleft()
        found = [link.url for link in tree_pages.anchors(world, host, page) if link.source in FOLLOWED]
        yield world.origin(host) + path(page), found
        for url in found:
            number, target = world.locate(url) or (0, "")
            child = world.page_at(number, target)
            if child is not None and (number, child) not in met:
                met.add((number, child))
                queue.append((number, child))


def real(folder: Path) -> Iterator[Page]:
    """The pages of site-uci-shared by their distance from its seeds."""
    data = zstandard.ZstdDecompressor(max_window_size=2**27).decompress(
        (folder / "pages.jsonl.zst").read_bytes(), max_output_size=2**28
    )
    found = {page["url"]: page for page in map(json.loads, data.decode().splitlines())}
    reader = LinkReader()
    for line in gzip.decompress((folder / "expected_requests.tsv.gz").read_bytes()).decode().splitlines():
        url = line.split("\t")[2]
        if url in found and found[url]["html"]:
            read = reader.links(found[url]["body"].encode(), "text/html; charset=utf-8", url)
            yield (
                url,
                list(
                    filter(None, canonical_links(read.base, [link for _, link, _, _ in read.links], Counter()).values())
                ),
            )


def replay(name: str, stream: Iterable[Page], way: str, drones: int, size: int, *, inside: bool = False) -> None:
    """Sends each page's links through its drone's cache. `inside`: only those to hosts that have pages."""
    partition = partition_of(way, registered)
    owners = SlotMap.fair(range(drones), partition.groups).owners
    owner = lru_cache(None)(lambda host: owners[partition.slot(host)])
    caches = [load(HIVE_URL_CACHE)(size) for _ in range(drones)]
    stream = list(stream)
    hosts = {host_of(url) for url, _ in stream}
    links = others = sent = 0
    for page, urls in stream:
        me, distinct = owner(host_of(page)), dict.fromkeys(urls)
        kept = [url for url in distinct if not inside or host_of(url) in hosts]
        foreign = [url for url in kept if url.startswith("http") and owner(host_of(url)) != me]
        links, others = links + len(kept), others + len(foreign)
        sent += len(caches[me].misses(FINGERPRINTS(foreign)))
    report(
        f"hive_links/{name}", drones=drones, partition=way, cache=size, pages=len(stream), links=links,
        to_others=others, sent=sent, kept_off=1 - sent / max(others, 1),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hive_links", description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000, help="of the synthetic web")
    parser.add_argument("--pages", type=int, default=20_000, help="of the synthetic web")
    parser.add_argument("--drones", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1024, URL_CACHE_SIZE], help="entries of a cache")
    args = parser.parse_args()
    cases = os.environ.get("WEBCRAWL_CASES")
    for drones in args.drones:
        for size in args.sizes:
            replay("synthetic", synthetic(args.hosts, args.pages), "domain", drones, size)
            if cases:
                folder = Path(cases) / "site-uci-shared"
                replay("site-uci-shared", real(folder), "host", drones, size, inside=True)
                replay("site-uci-shared, all links", real(folder), "host", drones, size)


if __name__ == "__main__":
    main()
