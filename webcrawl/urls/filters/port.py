"""Drops URLs with ports of services that are not for a crawler; the clients check again before they connect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from webcrawl.ports import BAD, Ports
from webcrawl.urls.filters.lines import Lines, leave_out

if TYPE_CHECKING:
    from webcrawl.urls.filters.protocol import Origin, Setup

# URLs that `Ports` may refuse: bad ports, and Gopher's of any kind. Most ports that links name are none of these, and a
# line that is no suspect costs nothing: a filter that looked at all named ports took 3 % of a crawl of such links.
SUSPECTS = rf"^[^/]+//[^/]*:(?:{'|'.join(map(str, sorted(BAD)))})(?:/|$)|^gopher:"


class PortFilter:
    """Looks only at URLs with a suspicious port. Queued URLs are checked again: PORTS_ALLOWED may differ next time."""

    name = "port"
    suspects = SUSPECTS

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._suspects = Lines(SUSPECTS)

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self:
        return cls(Ports(setup.settings["PORTS_ALLOWED"]))

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        allow = self._ports.allow_url
        return leave_out(urls, {url for url in self._suspects.among(urls) if not allow(url)})

    def reject(self, url: str) -> bool:
        return not self._ports.allow_url(url)
