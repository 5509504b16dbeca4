"""Notifies systemd that the crawl has begun, is alive, and ends (`man 3 sd_notify`)."""

from __future__ import annotations

import contextlib
import os
import socket
from typing import Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.listeners import connect_extension
from webcrawl.crawl.periodic import Loop

SOCKET = "NOTIFY_SOCKET"  # set for a unit with Type=notify
WATCHDOG = "WATCHDOG_USEC"  # set for a unit with WatchdogSec


class ServiceManager:
    """Notifies systemd. With a watchdog it sends a sign of life twice in each period of that."""

    def __init__(self, address: str, watchdog: float) -> None:
        """`watchdog` is the time in seconds after which systemd restarts a silent process; 0: never."""
        # `@` stands for the null byte of an abstract socket
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._watchdog = watchdog
        self._loop = Loop(lambda: self._notify("WATCHDOG=1"))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not os.environ.get(SOCKET):
            raise NotConfigured
        return connect_extension(
            crawler, cls(os.environ[SOCKET], int(os.environ.get(WATCHDOG) or 0) / 1e6)
        )

    def opened(self) -> None:
        self._notify("READY=1")
        if self._watchdog:
            self._loop.start(self._watchdog / 2)

    def closed(self) -> None:
        self._loop.stop()
        self._notify("STOPPING=1")

    def _notify(self, state: str) -> None:
        # systemd may be restarting, and a full socket must not hold up the crawl
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.setblocking(False)
            out.sendto(state.encode(), self._address)
