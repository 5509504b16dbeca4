"""Foldings of the comparison form: each turns a canonical URL into the form that is fingerprinted.

They decide which URLs count as the same (LARM's normaliser); the URL that is fetched stays as it
is. All are off by default, because each is wrong for some site.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from webcrawl.base.errors import RulesError
from webcrawl.base.url_text import host_of
from webcrawl.urls.exclusion_rules import readable

# Names that mean nothing else, whatever the value; and common words if the value is long enough for
# an id (`sid=12` is a story, `s=word` a search). Without look-around, which RE2 does not support.
SESSION_PARAMETER = (
    r"(?:phpsessid|jsessionid|aspsessionid[a-z]{8}|cfid|cftoken|oscsid|xtcsid|zenid)=[^&]*"
    r"|(?:sid|sess|sessid|session_?id|session)=[a-z0-9_-]{16,}"
    r"|s=[0-9a-f]{32}"
)
_SERVLETS = r";jsessionid=[^/?;]*"
_ASP_NET = r"(?:/\((?:[a-z]\([^()/?]*\))+\))+/"
SESSION_SEGMENT = f"{_SERVLETS}|{_ASP_NET}"
"""The path parameter of Java servlets, or ASP.NET's `/(S(…))/`."""

_SESSION_PARAMETER = re.compile(rf"(?<=[?&])(?:{SESSION_PARAMETER})(?:&|$)", re.IGNORECASE)
_servlets = re.compile(_SERVLETS, re.IGNORECASE).sub
_asp_net = re.compile(_ASP_NET, re.IGNORECASE).sub


def without_session(url: str) -> str:
    """Return the URL without the session ids in its path and query."""
    path, mark, query = url.partition("?")
    start = path.index("/", path.index("//") + 2)
    # Servlets' first: such a parameter may be inside the segment of ASP.NET's
    path = path[:start] + _asp_net("/", _servlets("", path[start:]))
    if not mark:
        return path
    kept = _SESSION_PARAMETER.sub("", mark + query)
    # A `?` or `&` is left over where the last parameter went
    if len(kept) <= len(query):
        kept = kept.rstrip("?&")
    return path + kept


Folding = Callable[[str], str]

_INDEX = re.compile(r"/(?:index|default)\.[a-z0-9]{1,5}(?=\?|$)", re.IGNORECASE)
_SLASHES = re.compile(r"//+")


def lower_path(url: str) -> str:
    """Ignore case in paths, as Windows servers do."""
    path, mark, query = url.partition("?")
    return path.lower() + mark + query


def no_index(url: str) -> str:
    """Turn `/index.html` and `/default.asp` into the folder that they are in."""
    path, mark, query = url.partition("?")
    return _INDEX.sub("/", path) + mark + query


def single_slashes(url: str) -> str:
    """Turn `/a//b` into `/a/b`."""
    path, mark, query = url.partition("?")
    scheme, _, rest = path.partition("://")
    return f"{scheme}://{_SLASHES.sub('/', rest)}{mark}{query}"


def no_session_ids(url: str) -> str:
    """Remove session ids from path and query."""
    return without_session(url)


def sorted_query(url: str) -> str:
    """Ignore the order of parameters."""
    path, mark, query = url.partition("?")
    return path + mark + "&".join(sorted(query.split("&")))


def one_scheme(url: str) -> str:
    """Treat https as http."""
    return "http" + url[5:] if url.startswith("https:") else url


# A form that is not reached by then is never reached: a rule makes it longer each time
ROUNDS = 16


def compose(foldings: Sequence[Folding]) -> Folding | None:
    """Combine foldings, in their order, into one; return None if there are none.

    They are applied until nothing changes: one may leave what an earlier one would fold, as without
    its session id `/;jsessionid=1/a` has two slashes. So a folded URL is its own folding, in any
    order of the foldings. If they lead in a circle, its first URL by the alphabet is the form of
    all URLs in it.
    """
    if not foldings:
        return None

    def fold(url: str) -> str:
        folded = _once(foldings, url)
        return url if folded == url else _settled(foldings, [url, folded])

    return fold


def _once(foldings: Sequence[Folding], url: str) -> str:
    for folding in foldings:
        url = folding(url)
    return url


def _settled(foldings: Sequence[Folding], forms: list[str]) -> str:
    """Return the last form of a URL, given the first ones."""
    while len(forms) <= ROUNDS:
        folded = _once(foldings, forms[-1])
        if folded in forms:
            # They lead in a circle: any URL of it has to give the same form
            return min(forms[forms.index(folded) :])
        forms.append(folded)
    # It grows without end, so one round has to do
    return forms[1]


_HOST_RULE = re.compile(r"(startsWith|endsWith|synonym)\(([^()\s]+)\)\s*=\s*([^()\s=]*)")

Rules = dict[str, str]


class HostRules:
    """A folding of hosts: by startsWith, then endsWith, then synonym, each by its longest rule."""

    def __init__(self, starts: Rules, ends: Rules, synonyms: Rules, size: int = 2**16) -> None:
        self._starts = dict(sorted(starts.items(), key=_longest_first))
        self._ends = dict(sorted(ends.items(), key=_longest_first))
        self._synonyms = synonyms
        self.rules = starts, ends, synonyms
        self.host = lru_cache(size)(self._host)

    def __call__(self, url: str) -> str:
        """Return the URL with its host replaced according to the rules."""
        host = host_of(url)
        other = self.host(host)
        if other == host:
            return url
        start = url.index("//") + 2
        return url[:start] + other + url[start + len(host) :]

    def _host(self, host: str) -> str:
        """Return the host that stands for this one: its beginning, its end and then all of it
        replaced.
        """
        name = host
        # Of each kind the longest rule alone, which is the first: they are sorted so
        for start, other in self._starts.items():
            if name.startswith(start):
                name = other + name[len(start) :]
                break
        for end, other in self._ends.items():
            if name.endswith(end):
                name = name[: -len(end)] + other
                break
        # A host of which the rules would leave nothing stays as it is
        return self._synonyms.get(name, name) or host


def read_host_rules(path: Path) -> HostRules:
    """Read the rules from a file. Raise RulesError for the first line that is not a rule."""
    kinds: dict[str, Rules] = {"startsWith": {}, "endsWith": {}, "synonym": {}}
    with readable(path):
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        rule = _HOST_RULE.fullmatch(line)
        if rule is None:
            raise RulesError(f"{path}, line {number}: expected a rule such as startsWith(www.)=")
        kind, old, new = rule.groups()
        kinds[kind][_host_name(old)] = _host_name(new)
    return HostRules(kinds["startsWith"], kinds["endsWith"], kinds["synonym"])


def _longest_first(rule: tuple[str, str]) -> int:
    return -len(rule[0])


def _host_name(text: str) -> str:
    # In LARM a comma stands for a dot, which its library could not read in a key; no host has one
    return text.replace(",", ".").lower()
