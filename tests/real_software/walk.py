"""A walk over a site that shares no code with the crawl: urllib, lxml and Protego."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections import deque
from dataclasses import dataclass, field
from urllib.parse import quote, urldefrag, urljoin, urlsplit

from lxml import etree, html
from protego import Protego

AGENT = "walk/1.0 (+http://127.0.0.1/)"
TARGETS = (("a", "href"), ("area", "href"), ("frame", "src"), ("iframe", "src"))
REFRESH = re.compile(r"^\s*\d+\s*[;,]\s*url\s*=\s*['\"]?([^'\"]+)", re.IGNORECASE)
SAFE = "".join(map(chr, range(0x21, 0x7F)))  # stays as it is written
TIMEOUT = 60.0
PARENTS = 50  # pages that link to a URL, at most, of which the walk knows


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer like another, and its target a link."""

    def redirect_request(self, *_):
        return None


@dataclass
class Walked:
    """What a walk has found. `pages` answered with success, `links` leads to each URL."""

    pages: dict[str, str] = field(default_factory=dict)  # URLs, and their types
    links: dict[str, list[str]] = field(default_factory=dict)  # URLs, and pages that link to them
    statuses: dict[str, int] = field(default_factory=dict)
    is_whole: bool = True  # False: there is more than the walk was allowed to fetch


def walk(start: str, most: int) -> Walked:
    """Fetch what can be reached from a URL on its host, by breadth first, `most` URLs at most."""
    found, waiting = Walked(links={start: []}), deque([start])
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirects)
    opener.addheaders = [("User-Agent", AGENT), ("Accept", "*/*")]
    origin = urlsplit(start)[:2]
    robots = _robots(opener, urljoin(start, "/robots.txt"))
    while waiting:
        if len(found.statuses) >= most:
            found.is_whole = False
            break
        url = waiting.popleft()
        if not robots.can_fetch(url, AGENT):
            continue
        status, kind, targets = _fetched(opener, url)
        found.statuses[url] = status
        if status == 200:
            found.pages[url] = kind
        for target in targets:
            if urlsplit(target)[:2] != origin:
                continue
            parents = found.links.get(target)
            if parents is None:
                found.links[target] = [url]
                waiting.append(target)
            elif len(parents) < PARENTS:
                parents.append(url)
    return found


def _robots(opener, url):
    try:
        with opener.open(url, timeout=TIMEOUT) as answer:
            return Protego.parse(answer.read().decode("utf-8", "replace"))
    except urllib.error.HTTPError as error:
        error.close()
        return Protego.parse("")


def _fetched(opener, url):
    """Return the status of a URL, its type and the targets of its links."""
    try:
        with opener.open(url, timeout=TIMEOUT) as answer:
            kind = answer.headers.get_content_type()
            body = answer.read() if kind in ("text/html", "application/xhtml+xml") else b""
            charset = answer.headers.get_content_charset()
            return answer.status, kind, _links(url, body, charset)
    except urllib.error.HTTPError as error:
        error.close()
        location = error.headers.get("Location")
        targets = [_absolute(url, location)] if location else []
        return error.code, error.headers.get_content_type(), targets


def _links(url, body, charset):
    if not body.strip():
        return []
    try:
        document = html.fromstring(body, parser=html.HTMLParser(encoding=charset))
    except (etree.ParserError, LookupError):
        return []
    base = next(iter(document.xpath("//base/@href")), "")
    base = urljoin(url, base.strip())
    found = [
        element.get(attribute)
        for tag, attribute in TARGETS
        for element in document.iter(tag)
        if element.get(attribute)
    ]
    for meta in document.iter("meta"):
        refresh = REFRESH.match(meta.get("content") or "")
        if refresh and meta.get("http-equiv", "").lower() == "refresh":
            found.append(refresh[1])
    targets = (_absolute(base, target) for target in found)
    return [target for target in targets if target.startswith(("http:", "https:"))]


def _absolute(base, target):
    """Resolve a link as browsers do: no line breaks, other blanks and signs of UTF-8 escaped."""
    joined = urljoin(base, re.sub(r"[\t\r\n]", "", target).strip())
    return quote(urldefrag(joined)[0], safe=SAFE)
