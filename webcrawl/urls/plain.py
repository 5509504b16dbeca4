"""The short way: links that one regular expression shows to be canonical up to what stands before them.

Most links of real pages are (`benchmarks.urls` prints the share). The expression must never accept what the
parser would change: a property test compares the two on arbitrary strings.
"""

from __future__ import annotations

import re
from functools import lru_cache

# What the URL standard leaves as it is in a path and in the query of a special scheme.
_PATH = r"A-Za-z0-9_~!$&'()*+,;=:@%.\[\]|-"
_QUERY = r"\?[!$-&(-;=?-~]*+"
_DOTS = r"(?!\.|%2[eE])"  # a segment that begins like this may be `.` or `..`
_SEGMENTS = rf"(?:/{_DOTS}[{_PATH}]*+)"
# A name of at least two labels, not punycode (IDNA has to check that) and not an IPv4 address in any of its
# forms: those end in a label that begins with a digit.
_PORT = r"(?::(?:[1-5][0-9]{4}|[1-9][0-9]{3}))?+"  # no scheme's own port has so many digits
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
"""The match's `lastindex` says what kind of link it is: an index into `heads`."""

match_foreign = re.compile(r"(?:mailto|javascript|tel|data):(?!//)[ -~]*+").fullmatch
"""What most pages have that is no link: always a URL, and never of a scheme that is fetched."""

Heads = tuple[str | None, ...]


def heads(base: str) -> Heads:
    """What goes before a plain link on the page `base` (canonical, or empty), by kind; None: ask the parser."""
    if not base.startswith("http"):
        return (None, "") + (None,) * 7
    scheme, _, rest = base.partition("//")
    host, _, _ = rest.partition("/")
    path = base.partition("?")[0]
    directory = path[: path.rindex("/") + 1]
    return (None, "", scheme, f"{scheme}//{host}", directory, path, base, None, None)


ABSOLUTE, RELATIVE, STEPPED = 1, 4, 8  # kinds: a whole URL, one that begins with a neighbour's name, or with ./ and ../
_STEPS = 7  # those, as a group


def stepped(directory: str, plain: re.Match[str]) -> str:
    """Where a link of this kind leads, on a page in this directory."""
    return above(directory, plain[_STEPS].count("..")) + plain[STEPPED]


@lru_cache(64)
def above(directory: str, steps: int) -> str:
    """The directory so many steps up from this one, a canonical URL that ends in a slash; the root is the highest."""
    root = directory.index("/", directory.index("//") + 2)
    end = len(directory) - 1
    while steps and end > root:
        end = directory.rindex("/", root, end)
        steps -= 1
    return directory[: end + 1]
