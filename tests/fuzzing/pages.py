"""Targets: pages of any markup and encoding, and the attributes and headers that we parse
ourselves.
"""

import codecs
import gzip
import json
from collections import Counter
from collections.abc import Iterator

import webencodings

from tests.fuzzing.target import LONGEST, Target, chance, folder
from webcrawl.content.html import embedded_addresses, encodings, link_kinds, mimetype
from webcrawl.content.html.embedded_addresses import refresh
from webcrawl.content.html.encodings import declared, encoding_of, from_content, xml_declared
from webcrawl.content.html.link_reader import LinkReader, with_query
from webcrawl.urls.canonical import canonical_links

USUAL, ALL = LinkReader(), LinkReader(link_kinds.KINDS, anchor_text=True)
TYPES = [
    "text/html", "text/html; charset=utf-8", "text/html; charset=iso-2022-jp", "text/html; charset=x-user-defined",
    "text/html; charset=utf-16", "text/html; charset=gb18030", "text/html; charset=windows-1252", "",
    "application/xhtml+xml",
    "application/xml; charset=big5", "application/rss+xml", "text/html; charset=hz-gb-2312",
    "text/html; charset=euc-kr", "text/css", "text/css; charset=utf-16",
]  # fmt: skip
ENCODINGS = sorted(set(webencodings.LABELS.values()))
HIDING = ("iso2022", "hz", "utf_7")  # Python's, in which markup may look like text


def html(data: bytes) -> None:
    """Links are text that can be written and followed, and not more of it than the page allows."""
    random = chance(data)
    media, url = (
        random.choice(TYPES),
        random.choice(("http://a.test/b/c?d", "http://site.jp/", "ftp://f.test/")),
    )
    usual, found = USUAL.links(data, media, url), ALL.links(data, media, url)
    assert [one[:2] for one in found.links if one[0] in USUAL.wanted] == [
        one[:2] for one in usual.links
    ]
    assert (usual.base, usual.title, usual.refresh, usual.canonical) == (
        found.base, found.title, found.refresh, found.canonical,
    )  # fmt: skip
    assert is_encoding(found.encoding)
    assert sum(len(link) for _, link, _, _ in found.links) <= 16 * len(data) + 100
    assert all(len(text) <= 500 for _, _, text, _ in found.links)
    for kind, link, text, _ in found.links:
        (link + text).encode()
        assert kind in link_kinds.KINDS
    canonical_links(found.base, [link for _, link, _, _ in found.links], Counter())


def is_encoding(name: str) -> bool:
    """Return whether it is one of the standard's, or one of Python's that hides nothing."""
    return name in ENCODINGS or not codecs.lookup(name).name.startswith(HIDING)


def encoding(data: bytes) -> None:
    """Every body has an encoding, and every encoding decodes every body."""
    random = chance(data)
    chosen = encoding_of(data, random.choice(TYPES), "http://site.example/")
    for name in (
        chosen,
        random.choice(ENCODINGS),
        declared(data) or "utf-8",
        xml_declared(data) or "utf-8",
    ):
        assert is_encoding(name)
        text = encodings.decode(data, name)
        text.encode()
        assert len(text) <= len(data)


def attributes(data: bytes) -> None:
    """What is found in an attribute, style sheet or header was in it, and parses again to the same."""
    text = data.decode("utf-8", "replace")
    for found in (embedded_addresses.srcset_urls(text), embedded_addresses.css_urls(text)):
        assert sum(map(len, found)) <= len(text)
        assert all(found)
    when = refresh(text)
    assert when is None or (0 <= when[0] <= 10**9 and len(when[1]) <= len(text))
    assert from_content(text) in (None, *ENCODINGS)
    mime = mimetype.parse(data.decode("latin-1"))
    if mime is not None:
        quoted = {
            name: '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
            for name, value in mime.parameters.items()
        }
        again = ";".join([mime.essence, *(f"{name}={value}" for name, value in quoted.items())])
        assert len(again) > mimetype.LONGEST or mimetype.parse(again) == mime
    for name in ENCODINGS:
        query = with_query(text, name)
        assert with_query(query, name) == query
        assert len(query) <= 40 * len(text)


def _pages() -> Iterator[bytes]:
    for name in ("html-newspaper", "html-readability"):
        place = folder(name)
        for path in sorted((place / "pages").iterdir())[:60] if place is not None else ():
            page = gzip.decompress(path.read_bytes())
            middle = page.find(b"<a ", len(page) // 2)
            yield page[: LONGEST // 2] + page[middle : middle + LONGEST // 2]
    yield from _xml()


def _xml() -> Iterator[bytes]:
    for name, below in (("malicious", "xml"), ("feeds", "files"), ("sitemaps", "files")):
        place = folder(name)
        if place is not None:
            yield from (path.read_bytes()[:LONGEST] for path in sorted((place / below).iterdir()))


def _encoded() -> Iterator[bytes]:
    place = folder("charset-chardet")
    if place is not None:
        for path in sorted((place / "files").rglob("*.gz")):
            yield gzip.decompress(path.read_bytes())[:LONGEST]
    place = folder("charset-prescan")
    if place is not None:
        for row in (place / "html5lib-encoding.jsonl").read_text(encoding="utf-8").splitlines():
            yield json.loads(row)["data_latin1"].encode("latin-1", "replace")


def _headers() -> Iterator[bytes]:
    place = folder("charset-prescan")
    if place is not None:
        for row in json.loads((place / "wpt-mime-types.json").read_text(encoding="utf-8")):
            if isinstance(row, dict):
                yield row["input"].encode("latin-1", "replace")


HTML = (
    b"<!doctype html><html><head><base href=/x/><title>t</title>"
    b"<meta name=robots content=nofollow><meta http-equiv=refresh content='3;url=r'>"
    b"<link rel=canonical href=c></head><body background=b><a href=one>1</a>"
    b"<img src=i srcset='a 1x, b 2x'><style>@import 'x';a{b:url(y)}</style><p style='c:url(z)'>"
    b"<form action=f><input type=image src=s formaction=t></form><noframes><a href=two>"
    b"</noframes><template><a href=no></template><svg><a xlink:href=three></svg><!-- <a href=no>"
    b" -->"
)
XHTML = (
    b'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY e "x"><!ENTITY f "&e;&e;">]>'
    b'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>&f;</title></head><body>'
    b'<a href="one&e;">1</a><noframes>&lt;a href="two"&gt;</noframes></body></html>'
)
PAGES = [
    HTML,
    XHTML,
    '<meta charset=iso-2022-jp><a href="?q=日本&r=€#é">'.encode("iso-2022-jp", "replace"),
    '<a href="/é?ü=€">'.encode("cp1252"),
    '<a href="x?日">'.encode("utf-16"),
    b"@charset 'koi8-r'; @import/**/'x'; @namespace url(y); a{b:url( z ) image-set('v' 1x)}",
]
MARKUP = [
    b"<a href=", b"<a href='x'>", b"</a>", b"<b x=1>", b"<font a=b>", b"<p>", b"<table><td>", b"<noframes>",
    b"</noframes>", b"<template>",
    b"<svg>", b"<math>", b"<style>", b"<script>", b"<title>", b"<textarea>", b"<select><option>",
    b"<frameset><frame src=x>", b"<!--", b"-->",
    b"<![CDATA[", b"]]>", b"<!DOCTYPE html [<!ENTITY a 'b'>]>", b"&a;", b"&euro;", b"&#x110000;", b"&#0;",
    b"<?xml version='1.0' encoding='x'?>",
    b"<base href=//[>", b"<meta charset=", b"<meta http-equiv=content-type content='text/html; charset=",
    b"<meta http-equiv=refresh content=",
    b"<img srcset='", b" style='x:url(", b"<plaintext>", b"<iframe src=",
    b"<html xmlns='http://www.w3.org/1999/xhtml'>", b"xlink:href=", b"<", b">",
    b"'", b'"', b"=", b"/", b"utf-16", b"iso-2022-kr", b"x-user-defined", b"utf-7", b"replacement", b"\x1b$)C", b"~{",
    b"+ADw-", b"\x0e", b"\x84\x31\xa4\x37",
]  # fmt: skip
GRAMMAR = [
    b"url(", b'URL("', b")", b"@import ", b"@namespace ", b"type(",
    b"/*", b"*/", b"\\", b"\\0 ", b"\\110000 ", b"(", b",", b" 1x", b" 100w",
    b";", b"=", b"'", b'"', b"url=", b"0.5",
    b"text/html", b"charset=", b"charset", b";;", b'; a="b\\"c"', b"http:?", b"?", b"#", "é€日\U0001f600".encode(),
    b"\xed\xa0\x80", b"//",
]  # fmt: skip

TARGETS = [
    Target("html", html, PAGES, MARKUP, _pages),
    Target("encoding", encoding, [*PAGES, b"\x1b$)C\x0e!!\x0f", b"\xef\xbb\xbfx", b"\xff\xfe<\0"], MARKUP, _encoded),
    Target("attributes", attributes, [b"a 1x, b 2x", b"3; url='x'", b'text/html; charset="utf-8"; a=b',
    b"@import 'x'; a{b:url( \"y\" )}",
           "http://a/?é€日#ü".encode()], GRAMMAR, _headers),
]  # fmt: skip
