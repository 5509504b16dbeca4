"""A shortcut: links that one regular expression shows to be canonical except for a prefix from the page.

Most links of real pages are like that (`benchmarks.urls` prints the share). The expression must never accept a link
that the parser would change; a property test compares the two on arbitrary strings.
"""

from __future__ import annotations

import re
from functools import lru_cache

# The characters that the URL standard leaves unchanged in a path and in the query of a special scheme.
_PATH = r"A-Za-z0-9_~!$&'()*+,;=:@%.\[\]|-"
_QUERY = r"\?[!$-&(-;=?-~]*+"
_DOTS = r"(?!\.|%2[eE])"  # a segment that starts like this may be `.` or `..`
_SEGMENTS = rf"(?:/{_DOTS}[{_PATH}]*+)"
# A name of at least two labels, without punycode (IDNA has to check that), and not an IPv4 address in any of its
# forms: those end in a label that starts with a digit.
_PORT = r"(?::(?:[1-5][0-9]{4}|[1-9][0-9]{3}))?+"  # no default port has that many digits
_HOST = rf"(?![^/:]{{254}})(?:(?!xn--)[a-z0-9-]{{1,63}}\.)++(?!xn--)[a-z][a-z0-9-]{{0,62}}{_PORT}(?=/)"
_FRAGMENT = r"(?:#[ -~]*+)?"
_TAIL = rf"{_SEGMENTS}*+(?:{_QUERY})?+"
_NEIGHBOUR = rf"{_DOTS}[{_PATH.replace(':', '')}]++{_TAIL}"

match_plain = re.compile(
    rf"(?:(https?://{_HOST}{_TAIL})"
    rf"|(//{_HOST}{_TAIL})"
    rf"|((?!//){_SEGMENTS}++(?:{_QUERY})?+)"
    rf"|({_NEIGHBOUR})"
    rf"|({_QUERY})"
    rf"|()"
    rf"|((?:\.\.?/)++)((?:{_NEIGHBOUR})?+)){_FRAGMENT}"
).fullmatch
"""The `lastindex` of the match is the kind of link, an index into `heads`."""

match_foreign = re.compile(r"(?:mailto|javascript|tel|data):(?!//)[ -~]*+").fullmatch
"""Common strings that are valid URLs of schemes that are never fetched."""

Heads = tuple[str | None, ...]


def heads(base: str) -> Heads:
    """The prefix of each kind of plain link on the page `base` (canonical, or empty); None means: use the parser."""
    if not base.startswith("http"):
        return (None, "") + (None,) * 7
    scheme, _, rest = base.partition("//")
    host, _, _ = rest.partition("/")
    path = base.partition("?")[0]
    directory = path[: path.rindex("/") + 1]
    return (None, "", scheme, f"{scheme}//{host}", directory, path, base, None, None)


ABSOLUTE, RELATIVE, STEPPED = 1, 4, 8  # kinds of links: a whole URL; relative by name; starting with ./ or ../
_STEPS = 7  # the group of the leading ./ and ../


def stepped(directory: str, plain: re.Match[str]) -> str:
    """The target of a STEPPED link on a page in this directory."""
    return above(directory, plain[_STEPS].count("..")) + plain[STEPPED]


@lru_cache(64)
def above(directory: str, steps: int) -> str:
    """The directory this many steps above `directory`, a canonical URL that ends in a slash; never above the root."""
    root = directory.index("/", directory.index("//") + 2)
    end = len(directory) - 1
    while steps and end > root:
        end = directory.rindex("/", root, end)
        steps -= 1
    return directory[: end + 1]
