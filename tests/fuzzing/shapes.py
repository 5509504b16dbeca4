"""Shapes of slow or large input: nesting, repetition, endless constructs, expansion."""

from gzip import compress

XHTML = b'<html xmlns="http://www.w3.org/1999/xhtml">'

GZIP_MAGIC = b"\x1f\x8b\x08"

# Prefix, repeated unit, suffix.
Shape = tuple[bytes, bytes, bytes]
MARKUP: dict[str, Shape] = {
    **{f"nested {tag}": (b"", b"<%b>" % tag.encode(), b"x") for tag in (
        "a href=x", "b", "b x=1", "div", "p", "table", "table><tr><td", "svg", "math", "template", "noframes", "title",
        "style", "select", "option",
        "button", "form", "li", "dd", "ruby><rt", "frameset", "object", "h1", "nobr", "iframe", "svg><foreignObject",
        "math><mi", "caption", "body a=b",
    )},
    **{f"ends {tag}": (b"<div>" * 500, b"</%b>" % tag.encode(), b"") for tag in ("p", "br", "a", "b", "table",
    "body")},
    "misnested": (b"", b"<a href=x><b><p>", b""),
    "formatting in paragraphs": (b"<b x=1><i y=2><font z=3>" * 20, b"<p>x", b""),
    "tables in formatting": (b"<b>" * 50, b"<table><a href=x>", b""),
    "attributes": (b"<a ", b"a%d=1 ", b">"),
    "other attributes": (b"<a ", b"b%d ", b"href=x>"),
    "tags of attributes": (b"", b"<a " + b" ".join(b"a%d" % n for n in range(250)) + b">", b""),
    "comments": (b"", b"<!--", b""), "comment ends": (b"<!--", b"--!", b""), "dashes": (b"<!--", b"-", b""),
    "declarations": (b"", b"<!", b""),
    "instructions": (b"", b"<?", b""), "less-thans": (b"", b"<", b""), "open tag": (b"<a href='", b"x", b""),
    "quotes": (b"<a ", b"='\"", b""),
    "slashes": (b"<a", b"/", b""), "equals": (b"<a ", b"=", b""), "ampersands": (b"", b"&", b""), "entity": (b"&",
    b"a", b""), "number": (b"&#", b"9", b";"),
    "entities": (b"<a href='", b"&notinva;", b"'>"), "entities of two": (b"<a href='", b"&NotEqualTilde;", b"'>"),
    "NULs": (b"<a href='", b"\0", b"'>"),
    "CDATA": (b"<svg>", b"<![CDATA[", b""), "scripts": (b"<script>", b"<!--<script>", b""), "textarea": (b"<textarea>",
    b"</textare", b""),
    "bases": (b"", b"<base href=/x>", b""), "metas": (b"", b"<meta charset=x>", b""), "refreshes": (b"",
    b"<meta http-equiv=refresh content=x>", b""),
    "robots": (b"", b"<meta name=robots content=%d>", b""), "srcset": (b"<img srcset='", b"a 1x,", b"'>"),
    "commas": (b"<img srcset='", b",", b"'>"),
    "brackets": (b"<img srcset='", b"a (", b"'>"), "style": (b"<style>", b"url(a)", b"</style>"),
    "open urls": (b"<style>", b"url(", b"</style>"),
    "quoted urls": (b"<style>", b"url(')", b"</style>"), "escaped urls": (b"<style>", b"url(\\)", b'"</style>'),
    "imports": (b"<style>", b'@import "', b"</style>"),
    "escapes": (b"<style>url(", b"\\41 ", b")</style>"), "styles": (b"", b"<p style=a:url(b)>", b""), "links": (b"",
    b"<a href=%d>", b""), "empty links": (b"", b"<a href>", b""),
    "rel": (b"<a rel='", b"nofollow ", b"' href=x>"), "title": (b"<title>", b" \t", b"</title>"),
    "alt": (b"<img src=x alt='", b" a", b"'>"),
    "spaces": (b"<a href='", b" ", b"'>"), "plaintext": (b"<plaintext>", b"<a href=x>", b""),
}  # fmt: skip
XML: dict[str, Shape] = {
    **{f"XML nested {tag}": (XHTML, b"<%b>" % tag, b"x") for tag in (b"a href='x'", b"noframes", b"style", b"title",
    b"p")},
    **{f"XML around {tag}": (XHTML + b"<%b>" % tag * 250, text, b"") for tag in (b"noframes", b"style",
    b"a href='x'") for text in (b"url(x)",)},
    "XML attributes": (XHTML + b"<a ", b"a%d='' ", b"/>"), "XML namespaces": (XHTML + b"<a ", b"xmlns:a%d='u' ",
    b"/>"),
    "XML siblings": (XHTML, b"<a href='x'/>", b"</html>"), "XML instructions": (XHTML, b"<?a b?>", b""),
    "XML comments": (XHTML, b"<!---->", b""),
    "XML references": (b"<!DOCTYPE html [<!ENTITY a '%b'>]>" % (b"b" * 5000) + XHTML + b"<a href='", b"&a;",
    b"'/></html>"),
    "XML references in text": (b"<!DOCTYPE html [<!ENTITY a '%b'>]>" % (b"b" * 5000) + XHTML + b"<title>", b"&a;",
    b"</title></html>"),
    "XML entities": (b"<!DOCTYPE html [", b"<!ENTITY a%d 'b'>", b"]>" + XHTML),
    "XML defaults": (b"<!DOCTYPE html [<!ATTLIST a ", b"a%d CDATA 'x' ", b">]>" + XHTML + b"<a/>" * 1000),
}  # fmt: skip
CHARSETS = {
    "iso-2022-jp": b"\x1b$B\x1b(B", "iso-2022-kr": b"\x1b$)C\x0e", "hz-gb-2312": b"~{~}",
    "gb18030": b"\x84\x31\xa4\x37", "big5": b"\x88\x62", "utf-16": b"\xd8\0",
    "utf-7": b"+ADw-", "shift_jis": b"\x81", "windows-1253": b"\xaa", "euc-jp": b"\x8f\xa2", "x-user-defined": b"\xff",
    "utf-8": b"\xf0\x80",
}  # fmt: skip


LONG = b" 1" + b" " * 97
MLSD: dict[str, Shape] = {
    "lines": (b"", b" a\n", b""), "empty": (b"", b"\n", b""), "facts": (b"", b"a=b;", b" x\n"),
    "names": (b" ", b"\xff", b"\n"),
}  # fmt: skip
LIST: dict[str, Shape] = {
    "lines": (b"", b"-rw-r--r-- 1 o g 1 Jan 01 2024 a\n", b""), "sizes": (b"", b"-rw-r--r-- " + LONG * 80 + b"\n",
    b""),
    "commas": (b"", b"-rw-r--r-- 1" + b"," * 8000 + b"\n", b""), "months": (b"",
    b"-rw-r--r-- " + b"1 Jan 01 " * 880 + b"\n", b""),
    "letters": (b"", b"-rw-r--r-- 1 " + b"a" * 8000 + b"\n", b""), "dos": (b"",
    b"01-01-24 01:01AM" + b" " * 8000 + b"\n", b""),
}  # fmt: skip
MENU: dict[str, Shape] = {
    "items": (b"", b"1\t\ta\t1\n", b""), "hosts": (b"", b"1\t\t" + b"a" * 8000 + b"\t1\n", b""), "dots": (b"", b".\r",
    b""),
    "labels": (b"", b"1\t\t" + b"a." * 4000 + b"!\t1\n", b""), "colons": (b"", b"1\t\t" + b":" * 8000 + b"\t1\n", b""),
    "tabs": (b"1", b"\t", b"\n"),
}  # fmt: skip
REPLIES: dict[str, Shape] = {
    "empty": (b"220-\n", b"\n", b""), "many": (b"", b"150\n", b""), "long": (b"220 ", b"a", b"\n"),
}  # fmt: skip
HEADS: dict[str, Shape] = {
    "folds": (b"a: b\r\n", b" c\r\n", b""), "colons": (b"", b":\r\n", b""), "lengths": (b"Content-Length: 1", b",1",
    b"\r\n"),
    "fields": (b"", b"a:\n", b""), "codings": (b"Content-Encoding: ", b"gzip,", b"\r\n"), "spaces": (b"a: ", b" ",
    b"\r\n"),
    "interim": (b"", b"\r\n\r\nHTTP/1.1 100 x\r\n", b""),
}  # fmt: skip
ROBOTS: dict[str, Shape] = {
    "rules": (b"", b"Disallow: /a%d\n", b""), "stars": (b"", b"Disallow: /*a*b*c%d$\n", b""), "words": (b"",
    b"allow x\n", b""),
    "one rule": (b"Disallow: /", b"*a", b"$\n"), "groups": (b"", b"User-agent: *\n", b""), "BOMs": (b"", b"\xff\xfe",
    b""),
    "index": (b"", b"Allow: /%d/index.html\n", b"Disallow: /\n"),
}  # fmt: skip
SEEDS: dict[str, Shape] = {
    "line": (b"", b"a", b""), "quotes": (b"1,", b'""', b""), "comments": (b"a", b" #", b"\n"), "spaces": (b"a", b" ",
    b"b\n"),
    "empty": (b"", b"\n", b""),
}  # fmt: skip
TYPES: dict[str, Shape] = {
    "semicolons": (b"a/b", b";", b""), "names": (b"a/b", b";a", b""), "values": (b"a/b", b";a=b", b""),
    "quoted": (b"a/b", b';a="\\"', b""), "spaces": (b"a/b", b" ", b";"),
}  # fmt: skip
ATTRIBUTES = (
    "(", "a (", ",", "a ,", "url(", "url('", "url(\\", "charset ", "charset=", " ", "1", ".", ";", "\\", "/*",
    "@import ", "'", "\n",
)  # fmt: skip
LINKS = (
    "/..",
    "/.",
    "a.",
    "%",
    "%41",
    "@",
    ":",
    "//",
    "?",
    "\\",
    "\t",
    "é",
    "。",
    "xn--a.",
    "0.",
    "[",
    "1",
)
RECORD = b"WARC/1.1\r\nWARC-Type: x\r\n"
WHOLE_RECORD = RECORD + b"Content-Length: 0\r\n\r\n\r\n\r\n"
ARCHIVES: dict[str, Shape] = {
    "heads": (WHOLE_RECORD, RECORD, b""), "no lengths": (WHOLE_RECORD, RECORD + b"\r\n", b""),
    "long records": (WHOLE_RECORD, RECORD + b"Content-Length: 999999999\r\n\r\n", b""),
    "short records": (WHOLE_RECORD, RECORD + b"Content-Length: 0\r\n\r\nx", b""),
}  # fmt: skip
MEMBERS: dict[str, Shape] = {
    name: (compress(WHOLE_RECORD), member, b"")
    for name, member in {
        "heads": GZIP_MAGIC + bytes(7), "empty": compress(b""), "wrong checksums": compress(RECORD)[:-8] + bytes(8),
        "long records": compress(b"x" + RECORD + b"Content-Length: 999999999\r\n\r\n"),
    }.items()
}  # fmt: skip
DATES = (" ", ":", ",", "-", "Jan ", "1 ", "(", "\\", '"')


def filled(shape: Shape, size: int) -> bytes:
    """So many bytes of this shape; `%d` is a different number each time."""
    before, again, after = shape
    if b"%d" in again:
        parts, room = [], size - len(before) - len(after)
        while room > 0:
            parts.append(again.replace(b"%d", b"%d" % len(parts)))
            room -= len(parts[-1])
        return before + b"".join(parts) + after
    return before + again * max(1, (size - len(before) - len(after)) // len(again)) + after
