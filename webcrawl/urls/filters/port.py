"""Drops URLs with ports of services that are not for a crawler; the clients check again before they connect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from webcrawl.ports import Ports
from webcrawl.urls.filters.lines import Lines, leave_out

if TYPE_CHECKING:
    from webcrawl.urls.filters.protocol import Origin, Setup

NAMED = r"^[^/]+//[^/]*:[0-9]+/"


class PortFilter:
    """Looks only at URLs that name a port. Queued URLs are checked again: PORTS_ALLOWED may differ in the next run."""

    name = "port"
    suspects = NAMED

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._named = Lines(NAMED)

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self:
        return cls(Ports(setup.settings["PORTS_ALLOWED"]))

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        allow = self._ports.allow_url
        return leave_out(urls, {url for url in self._named.among(urls) if not allow(url)})

    def reject(self, url: str) -> bool:
        return not self._ports.allow_url(url)
