"""A pytest plugin for Scrapy's own tests: notes which of them crawl, and has their crawls use the
add-on if told to.

It runs in the sdist of Scrapy, whose tests are a package `tests` too, so it imports nothing of this
project's tests.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler

ROOT = Path(__file__).resolve().parents[2]
# in the environment: a file to write; whether to force
CRAWLS, FORCED = "WEBCRAWL_OWN_CRAWLS", "WEBCRAWL_OWN_FORCED"
LOOPBACK = "127.0.0.0/8,::1/128"
# What the harness needs, and a project would have to set as well: Scrapy's tests ask one host on
# loopback, at once.
SETTINGS: dict[str, Any] = {
    "PRIVATE_NETWORKS_ALLOWED": LOOPBACK,
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0,
    "HOST_RETRY_WAIT": 0.2,
    "HOST_PATIENCE": 3,
    "ROBOTSTXT_OBEY": False,
    "OUTPUTS": "",
    "DNS_LOOKUP": "force_addon.NoNames",
}
OWN_PRIORITY = 16  # just above an add-on's, below what the tests set
_crawls: set[str] = set()
_running = ""


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    sys.addaudithook(_stay_here)
    _note_crawls()
    if os.environ.get(FORCED):
        sys.path.append(str(ROOT))  # last: `tests` is Scrapy's
        _force()


def _stay_here(event: str, details: tuple[Any, ...]) -> None:
    """Refuse what would leave this machine: a test that needs the internet may have no mark."""
    if event == "socket.connect" and isinstance(details[1], tuple) and not _is_here(details[1][0]):
        raise OSError(errno.ENETUNREACH, "loopback only")
    if event == "socket.getaddrinfo" and details[0] and not _is_here(details[0]):
        raise socket.gaierror(socket.EAI_NONAME, "loopback only")


def _is_here(host: Any) -> bool:
    name = host.decode() if isinstance(host, bytes) else str(host)
    return name in ("localhost", "::1", "::", "0.0.0.0", "") or name.startswith("127.")  # noqa: S104 - this machine


def _note_crawls() -> None:
    crawl, crawl_async = Crawler.crawl, Crawler.crawl_async

    def noted(self: Crawler, *args: Any, **kwargs: Any) -> Any:
        _crawls.add(_running)
        return crawl(self, *args, **kwargs)

    async def noted_async(self: Crawler, *args: Any, **kwargs: Any) -> None:
        _crawls.add(_running)
        await crawl_async(self, *args, **kwargs)

    Crawler.crawl, Crawler.crawl_async = noted, noted_async  # type: ignore[method-assign]


def _force() -> None:
    from webcrawl.adapter.addon import WebcrawlAddon
    from webcrawl.net.dns_answers import DnsAnswer, DnsFailure

    class NoNames:
        """No name but that of this machine leads anywhere."""

        def __init__(self, _servers: object) -> None: ...

        async def ask(self, _host: str) -> DnsAnswer:
            return DnsAnswer(failure=DnsFailure.NO_NAME)

        ask_six = check = ask

        async def probe(self) -> None: ...

        async def close(self) -> None: ...

    globals()["NoNames"] = NoNames  # where DNS_LOOKUP looks for it

    class Forced(WebcrawlAddon):
        """The add-on, also where settings are applied before there is a spider: `get_crawler` does
        that.
        """

        @classmethod
        def from_crawler(cls, crawler: Crawler) -> Any:
            return cls(crawler.spider or _stand_in(crawler.spidercls))

    begin = Crawler.__init__

    def begin_forced(self: Crawler, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        for name, value in SETTINGS.items():
            self.settings.set(name, value, OWN_PRIORITY)
        self.settings.set("JOBDIR", mkdtemp(prefix="webcrawl-own-"), OWN_PRIORITY)
        self.settings.set("ADDONS", {**self.settings.getdict("ADDONS"), Forced: 1000}, "cmdline")

    Crawler.__init__ = begin_forced  # type: ignore[method-assign]


def _stand_in(kind: type[Spider]) -> Spider:
    """A spider of this class that was given no arguments: its constructor may demand some."""
    spider = kind.__new__(kind)
    spider.name = getattr(kind, "name", None) or "test"
    return spider


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    global _running  # noqa: PLW0603 - pytest runs one test at a time in a process
    _running = item.nodeid
    return (yield)


def pytest_sessionfinish() -> None:
    if path := os.environ.get(CRAWLS):
        with Path(path).open("a") as file:
            file.writelines(f"{json.dumps(name)}\n" for name in sorted(_crawls))
