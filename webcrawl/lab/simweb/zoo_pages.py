"""The HTML of a trap's page. It looks like any other page of the synthetic web."""

from __future__ import annotations

from html import escape
from zlib import crc32

from webcrawl.lab.simweb.random_content import prose
from webcrawl.lab.simweb.web_answers import Answer, Ask, Web
from webcrawl.lab.simweb.zoo import ZOO, Spot

NAV = 6  # links in the head of the page
FRAME = 3000  # bytes around the text, about
_TOP = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title} - {name}</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/static/style.css"></head>
<body><header><a href="/">{name}</a><h1>{title}</h1><nav>{nav}</nav></header><main>
"""
_BOTTOM = """</main><p><img src="/static/picture-1.png" alt="a picture"></p>
<form action="/search" method="get"><input name="q"></form>
<footer><a href="#top">Top</a> <a href="mailto:web@{domain}">Write</a> &copy; {name}</footer></body></html>
"""


def zoo_answer(world: Web, ask: Ask, kind: str) -> Answer:
    """The page at any path of a trap."""
    domain = world.name(ask.host)
    port = world.origin(ask.host).rpartition(":")[2]
    spot = Spot(world.seed, ask.name or domain, domain, f":{port}" if port.isdigit() else "", ask.path)
    show = ZOO[kind](spot)
    text = _text(world, f"{world.seed} {domain} {show.topic}")
    if show.plain:
        return Answer(body=text.encode(), type="text/plain; charset=utf-8")
    anchors = [f'<a href="{escape(href)}">{escape(_label(href))}</a>' for href in show.hrefs]
    top = _TOP.format(title=escape(show.title), name=spot.name, nav=" ".join(anchors[:NAV]))
    items = [f"<li>{anchor}</li>\n" for anchor in anchors[NAV:]]
    bottom = _BOTTOM.format(name=spot.name, domain=domain)
    return Answer(body="".join((top, "<p>", text, "</p>\n<ul>\n", *items, "</ul>", bottom)).encode())


def _text(world: Web, key: str) -> str:
    """The text of a topic. Its length follows from the topic too, so that pages of one topic have the same text."""
    low, high = world.size
    length = low + crc32(key.encode()) % (high - low + 1)
    return prose(key, max(length - FRAME, length // 2))


def _label(href: str) -> str:
    """Return the text of a link: the end of its address."""
    return href.rstrip("/").rpartition("/")[2][-40:]
