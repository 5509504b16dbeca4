"""Parses robots.txt (RFC 9309): the rules of this crawler's group only."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from webcrawl.net.robots_said import LICENSE, SIGNAL, USAGE, Collecting, RobotsSaid, said_by
from webcrawl.net.robots_syntax import is_plain, matches, path_of, pattern_of, records

# Parts between stars, of all patterns with `*` or `$` in one group: each is searched for, so a hundred thousand would
# hold up the whole crawl. 1,927 real files have at most 1,672; a file with more than this forbids everything.
MOST_PARTS = 4096
SAID = frozenset((USAGE, SIGNAL, LICENSE))
RULES = frozenset(("allow", "disallow", USAGE))  # no user-agent line behind these is for the same group
_token = re.compile(rb"[A-Za-z_-]*").match  # RFC 9309 2.2.1; what follows, such as a version, is ignored


class Rules:
    """The rules for this crawler: pattern -> whether it allows; the longest matching pattern decides.

    `weight` estimates their bytes of memory: 4 KB on average for real files, where a Protego takes 21.
    """

    __slots__ = ("_allowing", "_plain", "_special", "crawl_delay", "said", "weight")

    def __init__(self, rules: Mapping[str, bool], crawl_delay: float = 0.0, said: RobotsSaid | None = None) -> None:
        if all(rules.values()):
            rules = {}  # without a prohibition everything is allowed
        self.crawl_delay = crawl_delay  # seconds
        self.said = said  # of the use of the pages; None for nothing, as nearly everywhere
        # Longest first, and at equal length allow first (RFC 9309 2.2.2), so that the first match decides.
        ordered = sorted(rules, key=lambda pattern: (-len(pattern), not rules[pattern]))
        self._plain = tuple(filter(is_plain, ordered))
        self._special = tuple(pattern for pattern in ordered if not is_plain(pattern))
        if len(self._special) + sum(pattern.count("*") for pattern in self._special) > MOST_PARTS:
            self._plain, self._special, rules = ("/",), (), {"/": False}
        self._allowing = frozenset(pattern for pattern, allow in rules.items() if allow)
        self.weight = 550 + 80 * len(rules) + sum(map(len, rules)) + (said.weight if said is not None else 0)

    def __len__(self) -> int:
        return len(self._plain) + len(self._special)

    def allowed(self, url: str) -> bool:
        """True if a canonical URL of this host may be fetched."""
        if not (self._plain or self._special):  # most hosts forbid nothing, or have no robots.txt
            return True
        path = path_of(url)
        plain = ""
        if path.startswith(self._plain):
            plain = next(pattern for pattern in self._plain if path.startswith(pattern))
        for pattern in self._special:
            if len(pattern) < len(plain):
                break
            if matches(pattern, path):
                return pattern in self._allowing or (len(pattern) == len(plain) and plain in self._allowing)
        return not plain or plain in self._allowing

    def deciding(self, url: str) -> tuple[str, bool] | None:
        """The pattern that decides about a canonical URL, and whether it allows; None if none matches."""
        path = path_of(url)
        found = [one for one in self._plain if path.startswith(one)]
        found += [one for one in self._special if matches(one, path)]
        best = max(found, key=lambda one: (len(one), one in self._allowing), default=None)
        return None if best is None else (best, best in self._allowing)

    def items(self) -> Iterator[tuple[str, bool]]:
        """Each pattern and whether it allows."""
        return ((pattern, pattern in self._allowing) for pattern in (*self._plain, *self._special))


@dataclass(slots=True)
class RobotsTxt:
    """A parsed robots.txt."""

    rules: Rules
    sitemaps: list[str]


@dataclass(slots=True)
class _Group:
    named: bool = False
    rules: dict[str, bool] = field(default_factory=dict)
    crawl_delay: float = 0.0
    said: Collecting | None = None

    def take(self, kind: str, value: bytes) -> None:
        """A line of the group."""
        if kind == "crawl-delay":
            self.crawl_delay = _seconds(value)
        elif kind in SAID:
            self.said = self.said or Collecting()  # few files say anything of the use of pages
            self.said.add(kind, value)
        elif pattern := pattern_of(value):
            self.add(pattern, allow=kind == "allow")

    def add(self, pattern: str, *, allow: bool) -> None:
        """Add a rule: of two equal patterns the allowing one wins (RFC 9309 2.2.2)."""
        self.rules[pattern] = allow or self.rules.get(pattern, False)
        folder, _, page = pattern.rpartition("/")
        if allow and page.startswith("index.htm"):  # as Google and Protego do: allowing this page allows the folder
            self.rules[f"{folder}/$"] = True


INVISIBLE = "\ufeff\u200b\ufffd"  # around an address; a no-break space in Latin-1 is no UTF-8


def parse(body: bytes, agent: str) -> RobotsTxt:
    """Parse the file for the crawler with this product token. Any bytes are valid, though maybe without rules."""
    ours, everyones, nobodys = _Group(), _Group(), _Group()
    token = agent.lower().encode()
    groups = [nobodys]  # to which the current lines apply
    sitemaps: list[str] = []
    closed = True  # after a rule, the next user-agent line begins another group
    for kind, value in records(body):
        if kind == "user-agent":
            if closed:
                groups, closed = [], False
            group = everyones if _is_everyone(value) else ours if _names(value, token) else None
            if group is not None:
                group.named = True
                groups.append(group)
        elif kind == "sitemap":
            address = value.decode("utf-8", "replace").strip().strip(INVISIBLE).strip()  # real files have such
            if address:  # of an empty one robots.txt itself would be fetched
                sitemaps.append(address)
        else:
            closed = closed or kind in RULES
            for group in groups:
                group.take(kind, value)
    chosen = ours if ours.named else everyones
    return RobotsTxt(Rules(chosen.rules, chosen.crawl_delay, said_by(chosen.said, nobodys.said)), sitemaps)


def product_token(user_agent: str) -> str:
    """The crawler's name in robots.txt files: `webcrawl/0.1 (+contact)` -> `webcrawl`."""
    match = _token(user_agent.strip().encode())
    return match[0].decode() if match else ""


def agent_of(values: Mapping[str, Any]) -> str:
    """The name by which owners speak to the crawler; `values` are its settings."""
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
