"""Links of a style sheet that is a file of its own."""

from __future__ import annotations

import re

from webcrawl.html import css, encodings, mimetype
from webcrawl.html.encoding import BOMS
from webcrawl.html.found import Found

# CSS Syntax 3.2: these very bytes, and nothing but what is ASCII up to the end of the rule
_CHARSET = re.compile(rb'@charset "([^"\x80-\xff]{0,1000})";')


def is_style_sheet(content_type: str, url: str) -> bool:
    """Whether a browser takes this as one; without a Content-Type the name decides."""
    if not content_type:
        return url.partition("?")[0].endswith(".css")
    mime = mimetype.parse(content_type)
    return mime is not None and mime.essence == "text/css"


def links(body: bytes, content_type: str, url: str) -> Found:
    """Its url(), @import and image-set(), as links of the kind `style`; never raises."""
    encoding = _encoding(body, content_type)
    found = Found(url, encoding)
    found.links = [("style", one, "", "") for one in css.urls(encodings.decode(body, encoding))]
    return found


def _encoding(body: bytes, content_type: str) -> str:
    """Byte order mark, Content-Type, @charset, UTF-8; the page that names the sheet has no say here."""
    for mark, encoding in BOMS:
        if body.startswith(mark):
            return encoding
    mime = mimetype.parse(content_type)
    known = encodings.lookup(mime.parameters.get("charset", "")) if mime is not None else None
    if known is None:
        declared = _CHARSET.match(body)
        known = encodings.lookup(declared[1].decode()) if declared is not None else None
        if known in encodings.UTF_16:  # it was read as ASCII, so it is none
            known = encodings.UTF_8
    return known or encodings.UTF_8
