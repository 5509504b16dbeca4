"""A page as a document: its main text as Markdown, and what is known of that text, by trafilatura and resiliparse."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from lxml import etree, html  # type: ignore[import-untyped,unused-ignore]  # untyped

from webcrawl.content.documents.quality import COLUMNS, plain, quality
from webcrawl.content.html.elements import defused
from webcrawl.content.html.encodings import decode
from webcrawl.content.html.on_demand import likely_language
from webcrawl.content.neardup.near_duplicates import fingerprint

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_BLANK = re.compile(r"[ \t]+$", re.MULTILINE)
_EMPTY = re.compile(r"\n{3,}")
_BROKEN = re.compile(r"(?<=\S)\n[ \t]{5,}(?=\S)")  # lines of the markup, indented: Markdown's lists take less
FENCE = "```"
LONGEST = 1 << 20  # characters of text: the addresses of links may swell it to many times what came
PARSER = {"encoding": "utf-8", "collect_ids": False, "remove_comments": True, "remove_pis": True}


@dataclass(frozen=True, slots=True)
class Body:
    """What an extractor is given."""

    url: str
    data: bytes
    encoding: str
    is_markup: bool
    fetched: str  # the day, as YYYY-MM-DD: no page can be younger


def extracted(body: Body) -> dict[str, Any]:
    """Title, author, date, licence, text, its language, fingerprint and measures; JSON can have all of them."""
    decoded = decode(body.data, body.encoding)
    about: dict[str, Any] = _main(decoded, body) if body.is_markup else {"text": decoded}
    whole = _clean(about["text"])
    about["text"] = text = whole[:LONGEST]
    about["cut"] = len(whole) > LONGEST
    read = plain(text)
    language, distance = likely_language(read) if read else ("", 0)
    about["language_detected"], about["language_distance"] = (language, distance) if language else (None, None)
    return about | {"neardup": fingerprint(read), **dict(zip(COLUMNS, quality(read), strict=True))}


def _main(markup: str, body: Body) -> dict[str, Any]:
    from trafilatura import bare_extraction  # noqa: PLC0415 - optional, and slow to load

    try:  # given text, trafilatura takes many a page without <html> for none
        tree = html.document_fromstring(defused(markup.encode(errors="replace")), html.HTMLParser(**PARSER))
    except etree.ParserError:
        return {"text": ""}
    tree.make_links_absolute(body.url, handle_failures="ignore")  # trafilatura takes all for relative to the host
    found: Any = bare_extraction(  # a dict, if asked for
        tree,
        url=body.url,
        include_comments=False,
        include_formatting=True,
        include_links=True,
        with_metadata=True,
        # what the page says, not what its text may mean: that takes ten times as long as all the rest
        date_extraction_params={"extensive_search": False, "original_date": True, "max_date": body.fetched},
    )
    if found is None:  # it has no text
        return {"text": ""}
    parts = (found.text or "").split(FENCE)  # every second one is code
    text = FENCE.join(part if at % 2 else _BROKEN.sub(" ", part) for at, part in enumerate(parts))
    return {"text": text, **{name: getattr(found, name) or None for name in ("title", "author", "date", "license")}}


def _clean(text: str) -> str:
    text = _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _EMPTY.sub("\n\n", _BLANK.sub("", text)).strip()
