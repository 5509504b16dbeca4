"""LARM's host resolver: a file of rules for host names that count as the same in the comparison form.

# three kinds of lines; as in LARM, a comma stands for a dot
startsWith(www.)=
endsWith(.a.com)=.b.com
synonym(daedalus.apache.org)=apache.org
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from webcrawl.urls.hosts import host_of
from webcrawl.urls.rules_file import RulesError, readable

if TYPE_CHECKING:
    from pathlib import Path

_RULE = re.compile(r"(startsWith|endsWith|synonym)\(([^()\s]+)\)\s*=\s*([^()\s=]*)")

Rules = dict[str, str]


class HostRules:
    """A folding: applies first startsWith, then endsWith, then synonym; of each kind, the longest rule that matches."""

    def __init__(self, starts: Rules, ends: Rules, synonyms: Rules, size: int = 2**16) -> None:
        self._starts = dict(sorted(starts.items(), key=_longest))
        self._ends = dict(sorted(ends.items(), key=_longest))
        self._synonyms = synonyms
        self.rules = starts, ends, synonyms
        self.host = lru_cache(size)(self._host)

    def __call__(self, url: str) -> str:
        """The URL with its host replaced according to the rules."""
        host = host_of(url)
        other = self.host(host)
        if other == host:
            return url
        start = url.index("//") + 2
        return url[:start] + other + url[start + len(host) :]

    def _host(self, host: str) -> str:
        name = host
        for start, other in self._starts.items():
            if name.startswith(start):
                name = other + name[len(start) :]
                break
        for end, other in self._ends.items():
            if name.endswith(end):
                name = name[: -len(end)] + other
                break
        return self._synonyms.get(name, name) or host  # keep a host of which the rules would leave nothing


def read_host_rules(path: Path) -> HostRules:
    """Reads the rules from a file. Raises RulesError for the first line that is not a rule."""
    kinds: dict[str, Rules] = {"startsWith": {}, "endsWith": {}, "synonym": {}}
    with readable(path):
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        rule = _RULE.fullmatch(line)
        if rule is None:
            raise RulesError(f"{path}, line {number}: {line[:80]!r} is not a rule such as startsWith(www.)=")
        kind, old, new = rule.groups()
        kinds[kind][_name(old)] = _name(new)
    return HostRules(kinds["startsWith"], kinds["endsWith"], kinds["synonym"])


def _longest(rule: tuple[str, str]) -> int:
    return -len(rule[0])


def _name(text: str) -> str:
    return text.replace(",", ".").lower()
