"""Parses robots.txt (RFC 9309): the rules and preferences of this crawler's group only.

Records are RFC 9309's, with what real files need (docs/robots-and-preferences.md). Paths and patterns are
normalised so that they can be compared octet by octet (RFC 9309 2.2.2): octets that RFC 3986 does
not allow in a URI are percent-encoded, all others decoded, but `/`, `?` and `#`, which part a URL
unless they are encoded. Hexadecimal digits are upper case. In paths `*` and `$` are encoded:
unencoded, they are wildcards.

Preferences for the use of its host's pages are those of draft-ietf-aipref-attach-05, section 3
(`RobotsSaid`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.content import stated_preferences
from webcrawl.content.purpose_bits import ROBOTS, PreferenceStatement, combined
from webcrawl.content.stated_preferences import address

# RFC 9309 2.5: at least this much must be parsed. Google's parser has no limit, and judges six of
# 107,122 real URLs otherwise for it.
LIMIT = 500 * 1024
BOM = b"\xef\xbb\xbf"
SPELLINGS = {
    b"user-agent": "user-agent",
    b"useragent": "user-agent",
    b"user agent": "user-agent",
    b"allow": "allow",
    b"disallow": "disallow",
    b"dissallow": "disallow",
    b"dissalow": "disallow",
    b"disalow": "disallow",
    b"diasllow": "disallow",
    b"disallaw": "disallow",
    b"crawl-delay": "crawl-delay",
    b"crawldelay": "crawl-delay",
    b"sitemap": "sitemap",
    b"site-map": "sitemap",
    b"content-usage": "content-usage",
    b"content-signal": "content-signal",
    b"license": "license",
}
# Also, in UTF-8, those without a break and without a width: no name of a field has such bytes, no
# value begins with one. A byte order mark in the middle spoils its line, as in Google's reader.
BLANKS = b" \t\x0b\x0c\xc2\xa0\xe2\x80\x8b"
_LINE = re.compile(rb"[^\r\n]+").finditer


def records(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield field, in its correct spelling, and value of each line that is a record.

    Other lines are skipped.
    """
    for match in _LINE(_text(body)):
        line = match[0].partition(b"#")[0].strip()
        field, colon, value = line.partition(b":")
        if not colon:
            words = line.split()
            if len(words) != 2:
                continue
            field, value = words
        kind = SPELLINGS.get(field.strip(BLANKS).lower())
        if kind is not None:
            yield kind, value.lstrip(BLANKS).rstrip()


def _text(body: bytes) -> bytes:
    """Return the complete lines within the limit, as UTF-8, without byte order mark."""
    whole = len(body) <= LIMIT
    body = body[:LIMIT]
    # half a line may end with a byte of a letter that looks like its end
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        body = body.decode("utf-16", "replace").removeprefix("\ufeff").encode("utf-8", "replace")
    if not whole:
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    for length in (3, 2, 1):  # a partial mark counts: Google's tests have it
        if body.startswith(BOM[:length]):
            return body[length:]
    return body


_PLAIN = r"A-Za-z0-9._~:\[\]@!&'()+,;=\-"  # not `/?#`, which part a URL, nor `*` and `$`
_DECODED = frozenset(octet for octet in range(128) if re.match(f"[{_PLAIN}]", chr(octet)))
_ODD_IN_PATH = re.compile(rf"%[0-9A-Fa-f]{{2}}|[^{_PLAIN}/?#%\x80-\U0010ffff]")
_ODD_IN_PATTERN = re.compile(rf"%[0-9A-Fa-f]{{2}}|[^{_PLAIN}/?#%*]".encode())


def path_of(url: str) -> str:
    """Return path and query of a canonical URL, normalised."""
    start = url.find("/", url.find("//") + 2)
    path = url[start:] if start > 0 else "/"
    return _ODD_IN_PATH.sub(_path_octet, path) if _ODD_IN_PATH.search(path) else path


def pattern_of(value: bytes) -> str:
    """Return a rule's value, normalised; empty if no path can match it."""
    if not value.startswith((b"/", b"*")):
        return ""
    anchor = value.endswith(b"$")
    return _ODD_IN_PATTERN.sub(_pattern_octet, value.removesuffix(b"$")).decode() + "$" * anchor


def is_plain(pattern: str) -> bool:
    return "*" not in pattern and not pattern.endswith("$")


def matches(pattern: str, path: str) -> bool:
    """Search each part between stars at its earliest place, so the time is linear."""
    anchored = pattern.endswith("$")
    first, *middle = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    position = len(first)
    last = middle.pop() if middle and anchored else ""
    for part in middle:
        position = path.find(part, position)
        if position < 0:
            return False
        position += len(part)
    if not anchored:
        return True
    if "*" not in pattern:
        return position == len(path)
    return path.endswith(last, position)


def _octet(octet: int) -> str:
    return chr(octet) if octet in _DECODED else f"%{octet:02X}"


def _path_octet(match: re.Match[str]) -> str:
    found = match[0]
    return _octet(int(found[1:], 16)) if len(found) == 3 else f"%{ord(found):02X}"


def _pattern_octet(match: re.Match[bytes]) -> bytes:
    found = match[0]
    return (_octet(int(found[1:], 16)) if len(found) == 3 else f"%{found[0]:02X}").encode()


USAGE, SIGNAL, LICENSE = "content-usage", "content-signal", "license"
# paths of one field: each may cost 6 us per page, and a file of 500 KiB has room for 25,000
MOST_PATHS_PER_FIELD = 256
LICENSES = 8  # of one file

Paths = Mapping[str, int]  # pattern, empty for all paths -> statement


class RobotsSaid:
    """The statements for this crawler.

    Of one field the longest path decides, for all its categories.
    """

    __slots__ = ("_fields", "licenses")

    def __init__(self, fields: Mapping[str, Paths], licenses: tuple[str, ...] = ()) -> None:
        self._fields = {
            name: tuple(sorted(paths.items(), key=lambda one: (-len(one[0]), one[0])))
            for name, paths in fields.items()
            if paths
        }
        self.licenses = licenses

    def __bool__(self) -> bool:
        return bool(self._fields or self.licenses)

    @property
    def weight(self) -> int:
        """Return the bytes of memory, about."""
        paths = sum(150 + len(path) for paths in self._fields.values() for path, _ in paths)
        return 400 + paths + sum(60 + len(one) for one in self.licenses)

    def fields(self) -> dict[str, dict[str, int]]:
        """Return each path's statement, by field."""
        return {name: dict(paths) for name, paths in self._fields.items()}

    def of(self, url: str) -> tuple[PreferenceStatement, ...]:
        """Return the preferences for a canonical URL of this host."""
        path = path_of(url)
        found = ((name, _longest(paths, path)) for name, paths in self._fields.items())
        return tuple(PreferenceStatement(ROBOTS, name, said) for name, said in found if said)


class GroupReader:
    """Collects the lines of one group."""

    def __init__(self) -> None:
        self._fields: dict[str, dict[str, int]] = {}
        self._full: set[str] = set()  # fields with more than MOST_PATHS_PER_FIELD paths
        self._licenses: dict[str, None] = {}

    def add(self, kind: str, value: bytes) -> None:
        """Add a line of one of the three fields."""
        if kind == LICENSE:
            found = address(value.decode("utf-8", "replace"))
            if found and len(self._licenses) < LICENSES:
                self._licenses[found] = None
            return
        pattern = ""
        if value[:1] == b"/":
            path, *rest = value.replace(b"\t", b" ").split(b" ", 1)
            pattern = pattern_of(path)
            value = b"".join(rest).strip()
        said = _READERS[kind](value)
        # a line that cannot be read is no rule: it takes nothing from those with shorter paths
        if said is not None:
            self._put(kind, pattern, said)

    def _put(self, kind: str, pattern: str, said: int) -> None:
        """Add what a line says of a path; equal paths are combined.

        More than MOST_PATHS_PER_FIELD say together, and of all paths, whatever one of them says.
        """
        paths = self._fields.setdefault(kind, {})
        pattern = "" if kind in self._full else pattern
        paths[pattern] = paths.get(pattern, 0) | said
        if len(paths) > MOST_PATHS_PER_FIELD:
            self._full.add(kind)
            self._fields[kind] = {"": combined(paths.values())}

    @property
    def fields(self) -> Mapping[str, Paths]:
        return self._fields

    @property
    def licenses(self) -> tuple[str, ...]:
        return tuple(self._licenses)


def said_by(group: GroupReader | None, everybody: GroupReader | None) -> RobotsSaid | None:
    """Return the preferences collected from a group, with the licences that are in none.

    None without any.
    """
    parts = [part for part in (group, everybody) if part is not None]
    if not parts:
        return None
    fields = group.fields if group is not None else {}
    # Each licence once, in the order in which they came.
    licenses: dict[str, None] = {}
    for part in parts:
        licenses.update(dict.fromkeys(part.licenses))
    return RobotsSaid(fields, tuple(licenses)[:LICENSES]) or None


def _longest(paths: Sequence[tuple[str, int]], path: str) -> int:
    """Return the preferences of the longest pattern that matches, or of several of that length.

    They are sorted so.
    """
    said, length = 0, -1
    for pattern, statement in paths:
        if len(pattern) < length:
            break
        if not pattern or matches(pattern, path):
            said = said | statement
            length = len(pattern)
    return said


_READERS: dict[str, Callable[[bytes], int | None]] = {
    USAGE: lru_cache(256)(stated_preferences.usage_statement),
    SIGNAL: lru_cache(256)(stated_preferences.signal_statement),
}


# Parts between stars, of all patterns with `*` or `$` in one group: each is searched for, so a
# hundred thousand would hold up the whole crawl. 1,927 real files have at most 1,672; a file with
# more than this forbids everything.
MOST_PARTS = 4096
USE_FIELDS = frozenset((USAGE, SIGNAL, LICENSE))
# no user-agent line behind these is for the same group
RULES = frozenset(("allow", "disallow", USAGE))
# RFC 9309 2.2.1; what follows, such as a version, is ignored
_token = re.compile(rb"[A-Za-z_-]*").match


class RobotsRules:
    """The rules for this crawler: pattern -> whether it allows.

    The longest matching pattern decides.

    `weight` estimates their bytes of memory: 4 KB on average for real files, where a Protego takes
    21.
    """

    __slots__ = ("_allowing", "_plain", "_special", "crawl_delay", "said", "weight")

    def __init__(
        self, rules: Mapping[str, bool], crawl_delay: float = 0.0, said: RobotsSaid | None = None
    ) -> None:
        """`rules`: patterns, and whether each allows.

        A file of too many wildcards forbids everything.
        """
        if all(rules.values()):
            rules = {}  # without a prohibition everything is allowed
        self.crawl_delay = crawl_delay  # seconds
        self.said = said  # of the use of the pages; None for nothing, as nearly everywhere
        # Longest first, and at equal length allow first (RFC 9309 2.2.2), so that the first match
        # decides.
        ordered = sorted(rules, key=lambda pattern: (-len(pattern), not rules[pattern]))
        self._plain = tuple(filter(is_plain, ordered))
        self._special = tuple(pattern for pattern in ordered if not is_plain(pattern))
        if len(self._special) + sum(pattern.count("*") for pattern in self._special) > MOST_PARTS:
            self._plain = ("/",)
            self._special = ()
            rules = {"/": False}
        self._allowing = frozenset(pattern for pattern, allow in rules.items() if allow)
        self.weight = 550 + 80 * len(rules) + sum(map(len, rules))
        if said is not None:
            self.weight += said.weight

    def __len__(self) -> int:
        return len(self._plain) + len(self._special)

    def allowed(self, url: str) -> bool:
        """Return whether a canonical URL of this host may be fetched."""
        if not (self._plain or self._special):  # most hosts forbid nothing, or have no robots.txt
            return True
        path = path_of(url)
        # One call for all of them: seldom does one match
        plain = self._plain_for(path) if path.startswith(self._plain) else ""
        special = self._special_for(path, len(plain)) if self._special else ""
        decisive = special or plain
        if not decisive or decisive in self._allowing:
            return True
        # Of two that are equally long, the one that allows decides (RFC 9309 2.2.2).
        return len(special) == len(plain) and plain in self._allowing

    def _plain_for(self, path: str) -> str:
        """Return the first pattern without wildcards that matches. One of them must match."""
        return next(pattern for pattern in self._plain if path.startswith(pattern))

    def _special_for(self, path: str, least: int) -> str:
        """Return the first pattern with wildcards, of `least` characters or more, that matches.

        Empty if none does.
        """
        for pattern in self._special:
            if len(pattern) < least:  # they are sorted: the following ones are no longer
                return ""
            if matches(pattern, path):
                return pattern
        return ""

    def deciding(self, url: str) -> tuple[str, bool] | None:
        """Return the pattern that decides about a canonical URL, and whether it allows.

        None if none matches.
        """
        path = path_of(url)
        found = [one for one in self._plain if path.startswith(one)]
        found += [one for one in self._special if matches(one, path)]
        best = max(found, key=lambda one: (len(one), one in self._allowing), default=None)
        return None if best is None else (best, best in self._allowing)

    def items(self) -> Iterator[tuple[str, bool]]:
        """Return each pattern and whether it allows."""
        return ((pattern, pattern in self._allowing) for pattern in (*self._plain, *self._special))


@dataclass(slots=True)
class RobotsTxt:
    """A parsed robots.txt."""

    rules: RobotsRules
    sitemaps: list[str]


@dataclass(slots=True)
class _Group:
    named: bool = False
    rules: dict[str, bool] = field(default_factory=dict)
    crawl_delay: float = 0.0
    said: GroupReader | None = None

    def add_line(self, kind: str, value: bytes) -> None:
        if kind == "crawl-delay":
            self.crawl_delay = _seconds(value)
        elif kind in USE_FIELDS:
            self.said = self.said or GroupReader()  # few files say anything of the use of pages
            self.said.add(kind, value)
        elif pattern := pattern_of(value):
            self.add(pattern, allow=kind == "allow")

    def add(self, pattern: str, *, allow: bool) -> None:
        """Add a rule: of two equal patterns the allowing one wins (RFC 9309 2.2.2)."""
        self.rules[pattern] = allow or self.rules.get(pattern, False)
        folder, _, page = pattern.rpartition("/")
        # as Google and Protego do: allowing this page allows the folder
        if allow and page.startswith("index.htm"):
            self.rules[f"{folder}/$"] = True


INVISIBLE = "\ufeff\u200b\ufffd"  # around an address; a no-break space in Latin-1 is no UTF-8


def parse(body: bytes, agent: str) -> RobotsTxt:
    """Parse the file for the crawler with this product token.

    Any bytes are valid, though maybe without rules.
    """
    ours = _Group()
    everyones = _Group()
    nobodys = _Group()
    token = agent.lower().encode()
    groups = [nobodys]  # to which the current lines apply
    sitemaps: list[str] = []
    closed = True  # after a rule, the next user-agent line begins another group
    for kind, value in records(body):
        if kind == "user-agent":
            if closed:
                groups = []
                closed = False
            if _is_everyone(value):
                group = everyones
            elif _names(value, token):
                group = ours
            else:
                continue
            group.named = True
            # Once, however often it is named: 17,000 lines `User-agent: *` before 17,000 rules would
            # hold up the event loop for three minutes.
            if not any(group is other for other in groups):
                groups.append(group)
        elif kind == "sitemap":
            # real files have such
            address = value.decode("utf-8", "replace").strip().strip(INVISIBLE).strip()
            if address:  # of an empty one robots.txt itself would be fetched
                sitemaps.append(address)
        else:
            closed = closed or kind in RULES
            for group in groups:
                group.add_line(kind, value)
    chosen = ours if ours.named else everyones
    return RobotsTxt(
        RobotsRules(chosen.rules, chosen.crawl_delay, said_by(chosen.said, nobodys.said)), sitemaps
    )


def product_token(user_agent: str) -> str:
    """Return the crawler's name in robots.txt files: `webcrawl/0.1 (+contact)` -> `webcrawl`."""
    match = _token(user_agent.strip().encode())
    return match[0].decode() if match else ""


def agent_of(values: CheckedSettings) -> str:
    """Return the name by which owners speak to the crawler; `values` are its settings."""
    return product_token(values["ROBOTSTXT_USER_AGENT"] or values["USER_AGENT"])


def _is_everyone(value: bytes) -> bool:
    return value[:1] == b"*" and not value[1:2].strip()


def _names(value: bytes, token: bytes) -> bool:
    match = _token(value)
    return bool(token) and match is not None and match[0].lower() == token


def _seconds(value: bytes) -> float:
    try:
        seconds = float(value)
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0
