"""Filters by one part of the URL: its scheme, its length, its port, its file extension."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Self

from webcrawl.base.url_text import BAD, Ports
from webcrawl.urls.canonical import SCHEMES
from webcrawl.urls.filters.filter_protocol import Lines, Origin, Setup, leave_out


class SchemeFilter:
    """Drops schemes that URL_SCHEMES does not name."""

    name = "scheme"

    def __init__(self, schemes: Iterable[str]) -> None:
        self._starts = tuple(f"{scheme}://" for scheme in schemes)

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        schemes = setup.settings["URL_SCHEMES"]
        # A canonical URL has one of SCHEMES
        drops_any = set(SCHEMES) - set(schemes)
        return cls(schemes) if drops_any else None

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        return [url for url in urls if url.startswith(self._starts)]


class LengthFilter:
    """Drops URLs that are longer than URL_MAX_LENGTH.

    They are checked again after `canonical`: escaping and joining can make a URL longer.
    """

    name = "length"

    def __init__(self, longest: int) -> None:
        self._longest = longest

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self:
        return cls(setup.settings["URL_MAX_LENGTH"])

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        longest = self._longest
        if max(map(len, urls), default=0) <= longest:
            return urls
        return [url for url in urls if len(url) <= longest]


# URLs that `Ports` may refuse: bad ports, and Gopher's of any kind. Most ports that links name are
# none of these, and a line that is no suspect costs nothing: a filter that looked at all named
# ports took 3 % of a crawl of such links.
_SUSPICIOUS_PORT = rf"^[^/]+//[^/]*:(?:{'|'.join(map(str, sorted(BAD)))})(?:/|$)|^gopher:"


class PortFilter:
    """Drops ports that belong to other services, unless PORTS_ALLOWED names them.

    Queued URLs are checked again: PORTS_ALLOWED may differ next time.
    """

    name = "port"
    suspects = _SUSPICIOUS_PORT

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._suspects = Lines(_SUSPICIOUS_PORT)

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self:
        return cls(Ports(setup.settings["PORTS_ALLOWED"]))

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        allow = self._ports.allow_url
        return leave_out(urls, {url for url in self._suspects.among(urls) if not allow(url)})

    def reject(self, url: str) -> bool:
        return not self._ports.allow_url(url)


class ExtensionFilter:
    """Drops path endings in URL_EXCLUDE_EXTENSIONS: archives, programs, audio, video, fonts.

    Only the end of the path counts: a file name in the query may belong to a page about the file.
    """

    name = "extension"
    for_requisites = None  # without fonts and films an archive shows other pages than the web did

    def __init__(self, extensions: Iterable[str]) -> None:
        endings = "|".join(re.escape(extension) for extension in extensions)
        self.suspects = rf"^[^?]*\.(?:{endings})(?:\?|$)"
        self._lines = Lines(self.suspects)

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        extensions = setup.settings["URL_EXCLUDE_EXTENSIONS"]
        return cls(extensions) if extensions else None

    def within(self, _url: str, /) -> bool:
        return True

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        return self._lines.without(urls)
