"""Links of other XML: XLink, SVG's own href, XInclude, and style sheets named by processing instructions."""

from __future__ import annotations

import re
from html import unescape

from webcrawl.content.formats import xml_stream
from webcrawl.content.formats.xml_stream import Bases
from webcrawl.content.html.found_links import FoundLink

MOST = 100_000
XLINK = "{http://www.w3.org/1999/xlink}href"
SVG = "{http://www.w3.org/2000/svg}"
INCLUDE = "{http://www.w3.org/2001/XInclude}include"
OF_SVG = {"image": "img", "feImage": "img", "script": "script"}  # what HTML calls so too
_HREF = re.compile(r"""(?:^|\s)href\s*=\s*(?:"([^"]*)"|'([^']*)')""")


def read(body: bytes, content_type: str, url: str) -> list[FoundLink]:
    """The links of an XML document; those into itself (`#part`) are none."""
    target = _Target(url)
    xml_stream.read(body, content_type, target)
    return target.links


class _Target:
    def __init__(self, url: str) -> None:
        self.full, self.elements = False, 0
        self.links: list[FoundLink] = []
        self._bases = Bases(url)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        self._bases.start(attributes)
        if not attributes:
            return
        svg = tag.startswith(SVG)
        if svg and "href" in attributes:  # SVG 2: it goes before XLink's
            self._add(attributes["href"], OF_SVG.get(tag.removeprefix(SVG), "xlink"))
        elif XLINK in attributes:
            self._add(attributes[XLINK], OF_SVG.get(tag.removeprefix(SVG), "xlink") if svg else "xlink")
        elif tag == INCLUDE and "href" in attributes:
            self._add(attributes["href"], "xlink")

    def end(self, tag: str) -> None:  # noqa: ARG002 - lxml's signature
        self._bases.end()

    def data(self, text: str) -> None: ...

    def pi(self, target: str, text: str | None = None) -> None:
        if target == "xml-stylesheet" and (match := _HREF.search((text or "")[: xml_stream.PIECE])):
            address = match[1] if match[1] is not None else match[2]
            self._add(unescape(address), "link")  # its references are sound

    def close(self) -> None: ...

    def _add(self, address: str, kind: str) -> None:
        address = address.strip()
        if address and not address.startswith("#") and not self.full:
            self.links.append((kind, self._bases.absolute(address), "", ""))
            self.full = len(self.links) >= MOST
