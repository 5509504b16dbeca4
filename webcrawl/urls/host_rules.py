"""LARM's host resolver: rules from a file that say which host names are one, for the comparison form.

# lines of three kinds; a comma stands for a dot, as LARM had it
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
    """A folding: first startsWith, then endsWith, then synonym; of each kind the longest rule that fits."""

    def __init__(self, starts: Rules, ends: Rules, synonyms: Rules, size: int = 2**16) -> None:
        self._starts = dict(sorted(starts.items(), key=_longest))
        self._ends = dict(sorted(ends.items(), key=_longest))
        self._synonyms = synonyms
        self.host = lru_cache(size)(self._host)

    def __call__(self, url: str) -> str:
        """The URL with its host replaced by the one that stands for it."""
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
        return self._synonyms.get(name, name) or host  # a host that rules leave nothing of keeps its name


def read_host_rules(path: Path) -> HostRules:
    """The rules of a file, or RulesError for the first line that is none."""
    kinds: dict[str, Rules] = {"startsWith": {}, "endsWith": {}, "synonym": {}}
    with readable(path):
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        rule = _RULE.fullmatch(line)
        if rule is None:
            raise RulesError(f"{path}, line {number}: no rule like startsWith(www.)=, but {line[:80]!r}")
        kind, old, new = rule.groups()
        kinds[kind][_name(old)] = _name(new)
    return HostRules(kinds["startsWith"], kinds["endsWith"], kinds["synonym"])


def _longest(rule: tuple[str, str]) -> int:
    return -len(rule[0])


def _name(text: str) -> str:
    return text.replace(",", ".").lower()
