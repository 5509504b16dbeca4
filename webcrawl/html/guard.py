"""Pages that a tree builder must not be given: the standard's own rules let 30 KB of markup grow to gigabytes.

A formatting element (b, i, font, ...) left open is made again, with its attributes, in every paragraph that follows:
lexbor took 2.6 GB and 7 s for such a page of 32 KB. Nesting costs the square of its depth, and so do the attributes
of one tag. These bounds are found without a tree and hold whatever the page does: docs/html.md has the argument.
"""

from __future__ import annotations

import re

import numpy as np
import re2

TAGS = 12_000  # at the worst lexbor takes 0.2 s to nest so many
COPIES = 4_000_000  # bytes of formatting tags times all tags: at the worst 190 MB of elements made again
HARMLESS = 2_500  # tags, among which small anchors do no harm
LONG = 64 << 10  # in shorter bodies the attributes of one tag cost 0.3 s at the worst
ATTRIBUTES = 256  # more than any real tag has
REACH = 64 << 10

# The grammar of tags, HTML Standard 13.2.5. As a language it is regular, so that an automaton reads it at 0.4 ns a
# byte, from every place where a tag might begin at once; it may count one attribute as two.
_SPACE = rb"[\t\n\f\r /]"
_NAME = rb"[^\t\n\f\r />][^\t\n\f\r />=]*"
_EQUALS = rb"[\t\n\f\r ]*=[\t\n\f\r ]*"
_BARE = rb"""[^\t\n\f\r >"'][^\t\n\f\r >]*"""
_QUOTED = rb"""(?:"[^"]*"|'[^']*')"""
_ONE = rb"(?:%b+%b(?:%b%b)?|%b*%b%b%b)" % (_SPACE, _NAME, _EQUALS, _BARE, _SPACE, _NAME, _EQUALS, _QUOTED)
_LARGE = rb"""(?:%b+[^\t\n\f\r />=]{500}|%b*%b%b(?:"[^"]{500}|'[^']{500}|[^\t\n\f\r >"'][^\t\n\f\r >]{500}))""" % (
    _SPACE, _SPACE, _NAME, _EQUALS,
)  # fmt: skip
# Those without attributes need no bound: of equal elements the standard makes no more than three again.
_OFTEN_OPEN = (  # all on their first letter, which makes Python's engine twice as fast
    rb"[bBiIuUsSeEtTcCfFnN](?:|[mM]|[tT]|[iI][gG]|[oO][dD][eE]|[oO][nN][tT]|[oO][bB][rR]|[mM][aA][lL][lL]"
    rb"|[tT][rR][iI][kK][eE]|[tT][rR][oO][nN][gG])"
)
_EITHER = rb"<(?:[aA]|%b)" % _OFTEN_OPEN  # of anchors, no more than one is open at a time
_OPTIONS = re2.Options()
_OPTIONS.encoding = re2.Options.Encoding.LATIN1
_OPTIONS.never_capture = True
_OPTIONS.max_mem = 64 << 20
_LARGE_TAG = rb"%b%b{12}|%b%b*%b" % (_EITHER, _ONE, _EITHER, _ONE, _LARGE)
_LARGE_ONES = re2.compile(_LARGE_TAG, _OPTIONS)
_SUSPECT = re2.compile(rb"%b|<%b%b" % (_LARGE_TAG, _OFTEN_OPEN, _SPACE), _OPTIONS)
_FIRST = rb"[a-zA-Z_:\x80-\xff]"  # of a tag's name: letters in HTML, all of these in XML, where HTML has text
_CROWDED = re2.compile(rb"<%b[^\t\n\f\r />]*%b{%d}" % (_FIRST, _ONE, ATTRIBUTES), _OPTIONS)

# The same grammar for Python's engine, exact, and never going back.
_ANY = (
    rb"(?:%b++|[^\t\n\f\r />][^\t\n\f\r />=]*+(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+"
    rb"""(?:"[^"]*+"|'[^']*+'|(?=>)|[^\t\n\f\r >"'][^\t\n\f\r >]*+)|(?![\t\n\f\r ]*+=)))""" % _SPACE
)
# What nearly all tags are made of. It crosses neither bracket, so that wherever a tag of such attributes is thought
# to begin, in a comment or a script, it ends before a real one begins.
_PLAIN = (
    rb"%b++[a-zA-Z][-:.\w]*+"
    rb"""(?:="[^"<>]*+"|='[^'<>]*+'|=[^\t\n\f\r "'<>][^\t\n\f\r <>]*+|(?=[\t\n\f\r />]))""" % _SPACE
)
_REST = rb"(?=%b)((?:%b)*+%b*+>)?+" % (_SPACE, _PLAIN, _SPACE)
_FORMATTING = re.compile(rb"<(?:([aA])|%b)%b" % (_OFTEN_OPEN, _REST))
_WITHOUT_ANCHORS = re.compile(rb"<()%b%b" % (_OFTEN_OPEN, _REST))
_TAG_REST = re.compile(rb"%b*+>" % _ANY)
_START = re.compile(rb"<%b[^\t\n\f\r />]*+(?=%b)" % (_FIRST, _SPACE))
_ATTRIBUTES = re.compile(rb"%b{0,%d}+" % (_ANY, 2 * ATTRIBUTES))  # spaces count as well


def heavy(body: bytes) -> bool:
    """Whether a tree of this page could take more time or memory than a page is worth."""
    tags = int(np.count_nonzero(np.frombuffer(body, np.uint8) == 0x3C))  # three times as fast as bytes.count
    if tags <= HARMLESS and not _SUSPECT.search(body):
        return False
    if tags > TAGS:
        return True
    anchors = tags > HARMLESS or bool(_LARGE_ONES.search(body))
    return _copied(body, _FORMATTING if anchors else _WITHOUT_ANCHORS) * tags > COPIES


def _copied(body: bytes, tag: re.Pattern[bytes]) -> int:
    """Bytes that may be made again at every tag: all formatting tags, and the largest anchor.

    Each place where one may begin is measured, whether it is one or stands in a comment: that only makes it more.
    """
    found = tag.findall(body)
    anchor = max((len(rest) for name, rest in found if name), default=0)
    formatting = sum(len(rest) for name, rest in found if not name)
    if all(rest for _, rest in found):
        return anchor + formatting
    return anchor + formatting + _odd(body, tag)


def _odd(body: bytes, tag: re.Pattern[bytes]) -> int:
    """The same of tags with attributes that are not plain; one that does not end is as long as can be."""
    size = 0
    for found in tag.finditer(body):
        if not found[2]:
            rest = _TAG_REST.match(body, found.end(), found.end() + REACH)
            size += rest.end() - found.start() if rest else COPIES
            if size > COPIES:
                break
    return size


def defused(body: bytes) -> bytes:
    """The body with those tags made text that have more than ATTRIBUTES attributes."""
    if not _CROWDED.search(body):
        return body
    changed = bytearray(body)
    spent = 0
    for tag in _START.finditer(body):
        attributes = _ATTRIBUTES.match(body, tag.end(), tag.end() + REACH)
        end = attributes.end() if attributes else tag.end()
        spent += end - tag.end()
        if spent > 4 * len(body):  # tags within tags within tags: what came before them must do
            return bytes(changed[: tag.start()])
        if body[end : end + 1] != b">":
            changed[tag.start()] = 0x20
    return bytes(changed)
