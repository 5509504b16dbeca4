"""webcrawl itself, and plain Scrapy in two forms (benchmarks/plain_scrapy.py)."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.peers.peer import Does, Peer, Web, nothing
from benchmarks.support.crawling import IMPOLITE, PORT, webcrawl


def _webcrawl(_: Path, work: Path, web: Web) -> list[str]:
    return webcrawl(work, web.hosts, *IMPOLITE)


def _plain(_: Path, __: Path, web: Web) -> list[str]:
    """Return the command of the CrawlSpider; 0 stands for all pages."""
    return [
        sys.executable,
        "-m",
        "benchmarks.plain_scrapy",
        str(web.hosts),
        str(web.pages),
        str(PORT),
        "0",
    ]


def _by_hand(built: Path, work: Path, web: Web) -> list[str]:
    return [*_plain(built, work, web), "--by-hand"]


IN_MEMORY = Does("yes", "none", "followed", "no", "switched off")
PEERS = (
    Peer(
        "webcrawl",
        Does("yes", "WARC, gzip", "filtered, followed", "kill -9", "per host, switched off"),
        nothing,
        _webcrawl,
    ),
    Peer("scrapy", IN_MEMORY, nothing, _plain, fewer=10),
    Peer("scrapy-by-hand", IN_MEMORY, nothing, _by_hand, fewer=10),
)
