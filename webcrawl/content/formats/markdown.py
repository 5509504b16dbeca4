"""Links of Markdown: of documents served as such, and of llms.txt, by which sites list theirs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from webcrawl.base.possessive import compile_possessive
from webcrawl.content.formats.sniffing import essence_of
from webcrawl.content.html.encodings import decode
from webcrawl.content.html.link_kinds import MARKDOWN, MARKDOWN_TYPES, DocumentLinks
from webcrawl.content.html.link_reader import ANCHOR_TEXT, TITLE

LISTING = "/llms.txt"
PLAIN = ("", "text/plain", "application/octet-stream")  # how servers send a listing
# An inline link, of which an image may be the text; an address in angle brackets; a reference's
_LINKS = compile_possessive(
    r"""(?P<text>!?\[[^\[\]]{0,1000}+\]|\])\(\s*+(?:<(?P<quoted>[^<>\n]*+)>|(?P<bare>[^\s()<>]*+(?:\([^\s()<>]*+\)[^\s()<>]*+)*+)(?=[\s)]))
    |<(?P<shown>https?://[^\s<>]++)>
    |^[ ]{0,3}\[[^\[\]\n]{1,1000}+\]:\s*+<?(?P<reference>[^\s<>]++)(?=[\s>]|\Z)""",
    re.MULTILINE | re.VERBOSE,
)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TITLE = re.compile(r"^#[ \t]+(.{1,1000})", re.MULTILINE)


def is_markdown(content_type: str, url: str) -> bool:
    """Return whether the links of this answer are read as those of Markdown."""
    essence = essence_of(content_type)
    if essence in MARKDOWN_TYPES:
        return True
    return essence in PLAIN and urlsplit(url).path.endswith(LISTING)


def markdown_links(body: bytes, url: str, encoding: str, *, whole: bool) -> DocumentLinks:
    """Return the title and the links of a document in Markdown. Never raises.

    `whole`: whether links of all kinds are wanted.
    """
    text = "\n".join(_outside_code(decode(body, encoding)))
    found = DocumentLinks(url, encoding, whole=whole)
    for link in _LINKS.finditer(text):
        label = link["text"] or ""
        address = link["quoted"] or link["bare"] or link["shown"] or link["reference"]
        if address and not label.startswith("!"):
            anchor = " ".join(label.strip("[]").split())[:ANCHOR_TEXT]
            found.links.append((MARKDOWN, address, anchor, ""))
    title = _TITLE.search(text)
    if title is not None:
        found.title = title[1].strip()[:TITLE]
    return found


def _outside_code(text: str) -> Iterator[str]:
    """Yield the lines that are not in a fenced block of code."""
    closing = ""
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if closing:
            if fence is not None and fence[1].startswith(closing):
                closing = ""
        elif fence is not None:
            closing = fence[1]
        else:
            yield line
