"""What a browser's document has that the page as it was sent has not."""

from __future__ import annotations

from typing import NamedTuple

from webcrawl.base.url_text import host_of
from webcrawl.content.html.encoding_sniffing import encoding_of
from webcrawl.content.html.link_reader import LinkReader
from webcrawl.content.html.shown_text import resolved, visible

KINDS = ("a", "area", "frame", "iframe")  # links that lead to other pages
SLIGHT = 10  # a text that has grown by less than one in so many, such as a clock's, is the same
FEW = 20  # characters: so has one that has grown by less


class Gain(NamedTuple):
    """Text and links that only scripts bring."""

    text: int  # characters of the lines that are new
    links: int  # to other pages of its host: what others put into a page leads elsewhere
    whole: int  # characters of the page as it was sent

    @property
    def is_slight(self) -> bool:
        """True if the page as it was sent says the same."""
        return not self.links and self.text < max(self.whole / SLIGHT, FEW)


class Comparison:
    """Compares documents with the pages that they were made of."""

    def __init__(self) -> None:
        self._reader = LinkReader(KINDS)

    def gain(self, page: bytes, document: bytes, content_type: str, url: str) -> Gain:
        """`document`: what the browser made of the page."""
        plain = _lines(page, content_type, url)
        known = set(plain)
        more = [line for line in dict.fromkeys(_lines(document, content_type, url)) if line not in known]
        links = self._links(document, content_type, url) - self._links(page, content_type, url)
        return Gain(sum(map(len, more)), len(links - {url}), sum(map(len, plain)))

    def _links(self, body: bytes, content_type: str, url: str) -> set[str]:
        found, host = self._reader.links(body, content_type, url), host_of(url)
        targets = (resolved(link[1], found.base).partition("#")[0] for link in found.links)
        return {target for target in targets if target.startswith(("http://", "https://")) and host_of(target) == host}


def _lines(body: bytes, content_type: str, url: str) -> list[str]:
    return (visible(body, content_type, encoding_of(body, content_type, url)) or "").splitlines()
