"""Finds pages too dangerous for a tree: by the standard's rules 30 KB of markup become gigabytes.

The grammar of start tags (HTML Standard 13.2.5) comes first, as regular expressions, one named
fragment per idea.
"""

from __future__ import annotations

import re

import numpy as np
import re2

from webcrawl.base.possessive import compile_possessive

ATTRIBUTES = 256  # more than any real tag has


def _any_case(word: str) -> str:
    return "".join(f"[{letter}{letter.upper()}]" for letter in word)


# Section numbers are those of the HTML Standard.
SPACE = r"[\t\n\f\r ]"
# between attributes: a `/` that does not end the tag separates like a space (13.2.5.32, .40)
GAP = r"[\t\n\f\r /]"
TAG_NAME = r"[^\t\n\f\r />]"  # one character of it, after the first (13.2.5.8)
# letters in HTML (13.2.5.6); the others begin a name in XML, and text in HTML
TAG_FIRST = r"[a-zA-Z_:\x80-\xff]"
NAME_FIRST = r"[^\t\n\f\r />]"  # may be a `=` (13.2.5.32)
NAME_NEXT = r"[^\t\n\f\r />=]"  # 13.2.5.33
BARE_FIRST = r"""[^\t\n\f\r >"']"""  # of an unquoted value (13.2.5.35)
BARE_NEXT = r"[^\t\n\f\r >]"  # 13.2.5.38

# Formatting elements but `a` (13.2.4.3), which the parser opens again in every paragraph if they
# are left open. All by their first letter, which makes Python's engine twice as fast; some words
# that are no element match too.
_ENDINGS = ("", "m", "t", "ig", "ode", "ont", "obr", "mall", "trike", "trong")
FORMATTING = f"[bBiIuUsSeEtTcCfFnN](?:{'|'.join(map(_any_case, _ENDINGS))})"
ANCHOR = "[aA]"  # no more than one is open at a time

# For RE2.
_NAME = f"{NAME_FIRST}{NAME_NEXT}*"
_EQUALS = f"{SPACE}*={SPACE}*"  # 13.2.5.34 and .35
_BARE = f"{BARE_FIRST}{BARE_NEXT}*"
_QUOTED = """(?:"[^"]*"|'[^']*')"""  # 13.2.5.36 and .37
_ATTRIBUTE = f"(?:{GAP}+{_NAME}(?:{_EQUALS}{_BARE})?|{GAP}*{_NAME}{_EQUALS}{_QUOTED})"
_LONG_NAME = f"{GAP}+{NAME_NEXT}{{500}}"
_LONG_VALUE = (
    f"""{GAP}*{_NAME}{_EQUALS}(?:"[^"]{{500}}|'[^']{{500}}|{BARE_FIRST}{BARE_NEXT}{{500}})"""
)
_LONG_ATTRIBUTE = f"(?:{_LONG_NAME}|{_LONG_VALUE})"
_OPENING = f"<(?:{ANCHOR}|{FORMATTING})"
_LARGE = f"{_OPENING}{_ATTRIBUTE}{{12}}|{_OPENING}{_ATTRIBUTE}*{_LONG_ATTRIBUTE}"

# For Python's engine.
_EXACT_VALUE = f"""(?:"[^"]*+"|'[^']*+'|(?=>)|{BARE_FIRST}{BARE_NEXT}*+)"""  # (?=>): `x=>` has none
_EXACT_ATTRIBUTE = f"{NAME_FIRST}{NAME_NEXT}*+(?:{SPACE}*+={SPACE}*+{_EXACT_VALUE}|(?!{SPACE}*+=))"
_GAP_OR_ATTRIBUTE = f"(?:{GAP}++|{_EXACT_ATTRIBUTE})"
# Nearly all tags have only such attributes. They contain no bracket, so wherever a tag of them is
# thought to begin, even in a comment or a script, it ends before a real one begins.
_PLAIN_VALUE = """(?:="[^"<>]*+"|='[^'<>]*+'|=[^\\t\\n\\f\\r "'<>][^\\t\\n\\f\\r <>]*+|(?=[\\t\\n\\f\\r />]))"""
_PLAIN_ATTRIBUTE = rf"{GAP}++[a-zA-Z][-:.\w]*+{_PLAIN_VALUE}"
_REST = f"(?={GAP})(?P<rest>(?:{_PLAIN_ATTRIBUTE})*+{GAP}*+>)?+"  # no group: the tag is not plain


_CROWDED = b"<a" + ATTRIBUTES * b" x=1" + b">"  # all automata find this


def _automaton(pattern: str) -> re2._Regexp[bytes]:
    """Return an RE2 expression for bytes, whose automata are made already.

    RE2 makes them at the first match, under a lock that it never releases if memory ends meanwhile:
    the next search would wait for ever. So they are made before memory can be short.
    """
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    options.max_mem = 64 << 20
    expression = re2.compile(pattern.encode(), options)
    expression.search(_CROWDED)
    return expression


def _python_expression(pattern: str) -> re.Pattern[bytes]:
    return compile_possessive(pattern.encode())


# An anchor or formatting element of 12 attributes, or one attribute of 500 bytes.
LARGE_TAG = _automaton(_LARGE)
# Such a tag, or any formatting element with attributes: without them the parser opens at most three
# equal ones again.
SUSPECT = _automaton(f"{_LARGE}|<{FORMATTING}{GAP}")
CROWDED_TAG = _automaton(f"<{TAG_FIRST}{TAG_NAME}*{_ATTRIBUTE}{{{ATTRIBUTES}}}")

FORMATTING_OR_ANCHOR = _python_expression(f"<(?:(?P<anchor>{ANCHOR})|{FORMATTING}){_REST}")
FORMATTING_ALONE = _python_expression(f"<(?P<anchor>){FORMATTING}{_REST}")  # the same groups
REST_OF_TAG = _python_expression(f"{_GAP_OR_ATTRIBUTE}*+>")
START_OF_TAG = _python_expression(f"<{TAG_FIRST}{TAG_NAME}*+(?={GAP})")
# gaps count as well
ATTRIBUTES_OF_TAG = _python_expression(f"{_GAP_OR_ATTRIBUTE}{{0,{2 * ATTRIBUTES}}}+")


MANY_TAGS = 12_000  # nested, they take lexbor 0.2 s at worst
# bytes of formatting tags times all tags: at worst 190 MB of elements opened again
MAX_COPIED_BYTES = 4_000_000
HARMLESS_TAGS = 2_500  # with so few tags, small anchors do no harm
LONG_BODY = 64 << 10  # in shorter bodies the attributes of one tag cost 0.3 s at worst
MEASURED_BYTES = 64 << 10  # of a tag, in which its attributes are counted


def heavy(body: bytes) -> bool:
    """Return whether a tree of this page could take more time or memory than a page is worth."""
    # Three times as fast as bytes.count
    tags = int(np.count_nonzero(np.frombuffer(body, np.uint8) == 0x3C))
    # No tag is longer than the body
    if tags * len(body) <= MAX_COPIED_BYTES:
        return False
    # An ordinary page ends here, after a search of 7 us
    if tags <= HARMLESS_TAGS and not SUSPECT.search(body):
        return False
    if tags > MANY_TAGS:
        return True
    counts_anchors = tags > HARMLESS_TAGS or bool(LARGE_TAG.search(body))
    pattern = FORMATTING_OR_ANCHOR if counts_anchors else FORMATTING_ALONE
    return _copied_bytes(body, pattern) * tags > MAX_COPIED_BYTES


def _copied_bytes(body: bytes, tag: re.Pattern[bytes]) -> int:
    """Return how many bytes of this page the parser may open again at every tag, at the most.

    These are all formatting tags, and the largest anchor. Every place where such a tag may begin is
    measured, even inside a comment: that only raises the bound.
    """
    largest_anchor = 0
    formatting = 0
    are_plain = True
    for anchor_name, rest_of_tag in tag.findall(body):
        if anchor_name:
            largest_anchor = max(largest_anchor, len(rest_of_tag))
        else:
            formatting += len(rest_of_tag)
        if not rest_of_tag:
            are_plain = False
    if are_plain:
        return largest_anchor + formatting
    return largest_anchor + formatting + _bytes_of_odd_tags(body, tag)


def _bytes_of_odd_tags(body: bytes, tag: re.Pattern[bytes]) -> int:
    """Return the bytes of those tags whose attributes the quick expression does not know.

    A tag without an end counts as MAX_COPIED_BYTES.
    """
    size = 0
    for start in tag.finditer(body):
        if not start["rest"]:
            rest = REST_OF_TAG.match(body, start.end(), start.end() + MEASURED_BYTES)
            size += rest.end() - start.start() if rest else MAX_COPIED_BYTES
            if size > MAX_COPIED_BYTES:
                break
    return size


def defused(body: bytes) -> bytes:
    """Return the body, with every tag that has more than ATTRIBUTES attributes turned into text.

    Their `<` becomes a blank. In a body of tags within tags, only what comes before them is kept.
    """
    if not CROWDED_TAG.search(body):
        return body
    changed = bytearray(body)
    measured = 0
    for tag in START_OF_TAG.finditer(body):
        attributes = ATTRIBUTES_OF_TAG.match(body, tag.end(), tag.end() + MEASURED_BYTES)
        end = attributes.end() if attributes else tag.end()
        measured += end - tag.end()
        # Tags within tags within tags: keep only what comes before them
        if measured > 4 * len(body):
            return bytes(changed[: tag.start()])
        if body[end : end + 1] != b">":
            changed[tag.start()] = 0x20
    return bytes(changed)
