"""Tells systemd that the crawl has begun, that its loop turns, and that it ends (sd_notify(3))."""

from __future__ import annotations

import contextlib
import os
import socket
from typing import Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.listeners import connect_extension
from webcrawl.crawl.periodic import Loop

# of a unit with Type=notify, and with WatchdogSec
SOCKET, WATCHDOG = "NOTIFY_SOCKET", "WATCHDOG_USEC"


class ServiceManager:
    """Sends a sign of life twice in the time after which systemd restarts a hung process."""

    def __init__(self, address: str, watchdog: float) -> None:
        """`watchdog`: that time in seconds; 0 without one."""
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._watchdog = watchdog
        self._loop = Loop(lambda: self._say("WATCHDOG=1"))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not os.environ.get(SOCKET):
            raise NotConfigured
        return connect_extension(
            crawler, cls(os.environ[SOCKET], int(os.environ.get(WATCHDOG) or 0) / 1e6)
        )

    def opened(self) -> None:
        self._say("READY=1")
        if self._watchdog:
            self._loop.start(self._watchdog / 2)

    def closed(self) -> None:
        self._loop.stop()
        self._say("STOPPING=1")

    def _say(self, state: str) -> None:
        # systemd may restart just now, and a full socket must not hold up the crawl
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.setblocking(False)
            out.sendto(state.encode(), self._address)
