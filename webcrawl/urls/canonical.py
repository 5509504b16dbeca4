"""The fetched form of a URL: serialised by the URL standard, without fragment and credentials.

A canonical URL is ASCII without spaces or control characters. Its scheme is one of SCHEMES, its
host is an address or a name that DNS can represent, and a `/` follows the host. The serialiser is
ada.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from ada_url import join_url, normalize_url

from webcrawl.base.model import Exchange
from webcrawl.base.possessive import compile_possessive

# The characters that the URL standard leaves unchanged in a path and in the query of a special
# scheme.
_PATH = r"A-Za-z0-9_~!$&'()*+,;=:@%.\[\]|-"
_QUERY = r"\?[!$-&(-;=?-~]*+"
_DOTS = r"(?!\.|%2[eE])"  # a segment that starts like this may be `.` or `..`
_SEGMENTS = rf"(?:/{_DOTS}[{_PATH}]*+)"
# A name of at least two labels, without punycode (IDNA has to check that), and not an IPv4 address
# in any of its forms: those end in a label that starts with a digit.
_PORT = r"(?::(?:[1-5][0-9]{4}|[1-9][0-9]{3}))?+"  # no default port has that many digits
_HOST = (
    rf"(?![^/:]{{254}})(?:(?!xn--)[a-z0-9-]{{1,63}}\.)++(?!xn--)[a-z][a-z0-9-]{{0,62}}{_PORT}(?=/)"
)
_FRAGMENT = r"(?:#[ -~]*+)?"
_TAIL = rf"{_SEGMENTS}*+(?:{_QUERY})?+"
_NEIGHBOUR = rf"{_DOTS}[{_PATH.replace(':', '')}]++{_TAIL}"

# Possessive, so that no link makes it search twice. What it matches must come out of ada just as
# it went in: after widening it run the tests, which compare both on arbitrary strings
match_plain = compile_possessive(
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
    """Return, for a page, what has to precede each kind of plain link to make it canonical.

    The kinds are those of `match_plain`; None: links of this kind need the parser. `base` is the
    page's canonical URL, or empty.
    """
    if not base.startswith("http"):
        # No base, or one of ftp or gopher: only a whole URL can do without the parser
        return (None, "") + (None,) * 7
    scheme, _, rest = base.partition("//")
    host, _, _ = rest.partition("/")
    path = base.partition("?")[0]
    directory = path[: path.rindex("/") + 1]
    return (None, "", scheme, f"{scheme}//{host}", directory, path, base, None, None)


# kinds of links: a whole URL; relative by name; starting with ./ or ../
ABSOLUTE, RELATIVE, STEPPED = 1, 4, 8
_STEPS = 7  # the group of the leading ./ and ../


@lru_cache(64)
def above(directory: str, dots: str) -> str:
    """Return the directory to which the leading ./ and ../ of a link in `directory` lead.

    Both are canonical URLs that end in a slash; no ../ leads above the root.
    """
    steps = dots.count("..")
    root = directory.index("/", directory.index("//") + 2)
    end = len(directory) - 1
    while steps and end > root:
        end = directory.rindex("/", root, end)
        steps -= 1
    return directory[: end + 1]


SCHEMES = ("http", "https", "ftp", "gopher")
MAX_LENGTH = 2000  # URL_MAX_LENGTH, unless it is set
LONGEST = 65_536  # the most that it can be


class InvalidUrl(ValueError):  # noqa: N818 - an ordinary outcome, not an error
    """The string is not a URL that can be fetched; it is counted under the name `reason`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def canonical(link: str, base: str = "", max_length: int = LONGEST) -> str:
    """Return the canonical form of a link on the page `base`. Raise InvalidUrl if it has none.

    The length of a URL is not checked here: the pipeline of links and the reader of seeds do that.
    """
    if len(link) > max_length:
        raise InvalidUrl("length")
    try:
        href = join_url(base, link) if base else normalize_url(link)
    except ValueError as error:
        # A lone surrogate has no UTF-8, which is what ada parses
        raise InvalidUrl("syntax" if _encodes(link) else "encoding") from error
    href = href.partition("#")[0]
    scheme, colon, rest = href.partition(":")
    if scheme not in SCHEMES:
        raise InvalidUrl("scheme")
    authority, path = _authority(rest)
    if not authority:
        raise InvalidUrl("host")
    if scheme == "gopher":
        authority = _gopher_authority(authority)
        # RFC 4266 2.1: of an empty path "the <gophertype> defaults to 1"
        path = "/" if path == "/1" else path
    if not _has_dns_form(authority):
        raise InvalidUrl("host")
    return f"{scheme}{colon}//{authority}{path}"


def canonical_links(
    base: str, links: Iterable[str], invalid: Counter[str], max_length: int = MAX_LENGTH
) -> dict[str, str | None]:
    """Return the canonical form of each distinct link of the page `base`, in order of appearance.

    An invalid link has None, and its reason is counted in `invalid`; no string makes this raise. A
    link that is plainly canonical already costs 0.5 us instead of the parser's 2
    (`benchmarks.urls`).
    """
    base, head = _start(base, max_length)
    directory = head[RELATIVE]
    found: dict[str, str | None] = {}
    for link in dict.fromkeys(links):
        plain = match_plain(link) if len(link) <= max_length else None  # do no work on longer ones
        if plain is not None:
            kind = plain.lastindex or 0
            start = head[kind]
            if start is not None:
                # 95 % of the 30,641 different links of 217 real pages end here
                found[link] = start + plain[kind]
                continue
            if kind == STEPPED and directory:
                found[link] = above(directory, plain[_STEPS]) + plain[STEPPED]
                continue
        try:
            found[link] = _parsed(link, base, max_length)
        except InvalidUrl as error:
            found[link] = None
            invalid[error.reason] += 1
    return found


@lru_cache(64)  # links that are followed and those of other kinds are asked for in turn
def _start(base: str, max_length: int) -> tuple[str, Heads]:
    base = _canonical_base(base, max_length)
    return base, heads(base)


def _parsed(link: str, base: str, max_length: int) -> str:
    if len(link) <= max_length and match_foreign(link):
        raise InvalidUrl("scheme")
    return canonical(link, base, max_length)


def _canonical_base(base: str, max_length: int) -> str:
    """Return the canonical form of a page's base URL, or the empty string if it has none.

    Nearly all are canonical already.
    """
    plain = match_plain(base) if len(base) <= max_length else None
    if plain is not None and plain.lastindex == ABSOLUTE:
        return plain[ABSOLUTE]
    try:
        return canonical(base, max_length=max_length)
    except InvalidUrl:
        return ""


def _encodes(link: str) -> bool:
    """Return whether the string has a UTF-8 form; a lone surrogate has none."""
    try:
        link.encode()
    except UnicodeEncodeError:
        return False
    return True


def _authority(rest: str) -> tuple[str, str]:
    """Split what follows a URL's scheme into host and port, and path with query.

    Credentials are left out. Both are empty if there is no host.
    """
    if not rest.startswith("//"):
        return "", ""
    authority, _, path = rest[2:].partition("/")
    path = f"/{path}"
    # Only in gopher URLs: the parser adds the slash of the others
    if "?" in authority:
        authority, _, query = rest[2:].partition("?")
        path = f"/?{query}"
    return authority.rpartition("@")[2], path


def _gopher_authority(authority: str) -> str:
    """Return host and port of a gopher URL as the parser normalises those of http.

    The URL standard does not know gopher, and would leave them as they are. Raise InvalidUrl.
    """
    try:
        href = normalize_url(f"http://{authority}/")
    except ValueError as error:
        raise InvalidUrl("host") from error
    port = authority.removeprefix(authority.rpartition(":")[0])
    host = _authority(href[5:])[0]
    # http's default port is written out for gopher, and gopher's own is dropped
    if port == ":70":
        return host.removesuffix(port)
    return host + port if port == ":80" else host


def _has_dns_form(authority: str) -> bool:
    """Return whether the labels of a name have 1 to 63 octets, and the name at most 253 characters.

    RFC 1035, 2.3.4. The root's dot may end the name.
    """
    if authority[0] == "[":
        return True
    host = authority.partition(":")[0].removesuffix(".")
    if len(host) > 253:
        return False
    return all(0 < len(label) <= 63 for label in host.split("."))


def redirect_target(exchange: Exchange) -> str:
    """Return the canonical URL that the answer redirects to; empty if none can be fetched."""
    location = exchange.location
    if location is None:
        return ""
    try:
        return canonical(location, exchange.url)
    except InvalidUrl:
        return ""
