"""What each URL filter of a crawl says of one URL, and by which rule."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from webcrawl.control.sheets import DEPTH, SCOPE
from webcrawl.loading import load
from webcrawl.urls.filters.commanded import CommandedFilter
from webcrawl.urls.filters.depth import DepthFilter
from webcrawl.urls.filters.lines import Lines
from webcrawl.urls.filters.protocol import Bounds, Origin, Remembers, Setup, Suspects, UrlFilter
from webcrawl.urls.filters.scope import PageScope, ScopeFilter
from webcrawl.urls.hosts import RegisteredDomains, host_of
from webcrawl.urls.optout import OptOut
from webcrawl.urls.rules_file import RulesError
from webcrawl.why.rules import rule_of
from webcrawl.why.settings import may_load
from webcrawl.why.sheets import SavedSheets

PASSES, REFUSES, UNASKED = "passes", "refuses", "not asked"


class Verdict(NamedTuple):
    """What one filter says."""

    name: str
    verdict: str
    rule: str = ""

    def to_json(self) -> dict[str, str]:
        return {"name": self.name, "verdict": self.verdict, "rule": self.rule}


class Filters:
    """The filters of a crawl, in their order, with what they had learned by the last checkpoint."""

    def __init__(
        self,
        values: Mapping[str, Any],
        key: bytes,
        domains: RegisteredDomains,
        learned: Mapping[str, bytes],
        excluded: list[OptOut],
        sheets: SavedSheets,
        trusted: Collection[str] = (),
    ) -> None:
        self._values, self._domains, self._sheets = values, domains, sheets
        self._learned = learned
        self._unasked: dict[int, Verdict] = {}
        self._filters: list[UrlFilter | None] = []
        setup = Setup(values, time.time, key, domains)
        for path in sorted(values["URL_FILTERS"], key=values["URL_FILTERS"].__getitem__):
            self._add(path, setup, trusted)
        commanded = CommandedFilter()
        try:
            commanded.use(excluded)
        except (RulesError, TypeError, AttributeError) as error:  # of a state that is damaged
            self._miss(commanded.name, str(error))
        else:
            self._filters.append(commanded)
        if values["URL_SCOPE"] == "any":  # single hosts' pages may have a scope all the same
            self._heed(PageScope(domains))

    def __repr__(self) -> str:
        return f"<Filters {len(self._filters)}>"

    def _add(self, path: str, setup: Setup, trusted: Collection[str]) -> None:
        if not may_load(path, trusted):
            self._miss(path, "not one of URL_FILTERS in this project")
            return
        try:
            made: UrlFilter | None = load(path).from_setup(setup)
            if isinstance(made, Remembers) and made.name in self._learned:
                made.restore(self._learned[made.name])
        except Exception as error:  # noqa: BLE001 - a filter of somebody's may raise anything
            self._miss(path, " ".join(str(error).split()))
        else:
            if made is not None:  # otherwise the settings leave it nothing to do
                self._heed(made)

    def _heed(self, made: UrlFilter) -> None:
        """Adds a filter, which heeds the settings of single hosts."""
        if isinstance(made, DepthFilter):
            made.per_host = self._sheets.per_host(DEPTH)
        elif isinstance(made, PageScope):
            made.per_host = self._sheets.per_host(SCOPE)
            if made.per_host is None and self._values["URL_SCOPE"] == "any":
                return
        self._filters.append(made)

    def _miss(self, path: str, why: str) -> None:
        self._unasked[len(self._filters)] = Verdict(path, UNASKED, why)
        self._filters.append(None)

    def ask(self, url: str, origin: Origin, *, needed: bool = False) -> list[Verdict]:
        """What each says of a link found there; those behind the first that refuses are asked too.

        `needed`: as what a page needs to be shown.
        """
        said = []
        for place, one in enumerate(self._filters):
            if one is None:
                said.append(self._unasked[place])
                continue
            asked = one.for_requisites if needed and isinstance(one, Bounds) else one
            if asked is not None:
                said.append(self._verdict(asked, url, origin))
        return said

    def in_scope(self, url: str) -> bool:
        """Whether the seeds say that it is; they do so where requisites are fetched too."""
        return all(one.within(url) for one in self._filters if isinstance(one, ScopeFilter))

    def _verdict(self, one: UrlFilter, url: str, origin: Origin) -> Verdict:
        try:
            kept = one.keep([url], origin)
            if isinstance(one, Remembers) and one.name in self._learned and _learns(one, url):
                one.restore(self._learned[one.name])  # it must not learn from questions
        except Exception as error:  # noqa: BLE001 - as above
            return Verdict(one.name, UNASKED, " ".join(str(error).split()))
        home = origin.url if one.name == "scope" and origin.url else url  # a scope is that of the page
        values = self._sheets.values(self._values, host_of(home))
        rule = "" if kept else rule_of(one, url, origin, values, self._domains)
        return Verdict(one.name, PASSES if kept else REFUSES, rule)


def _learns(one: UrlFilter, url: str) -> bool:
    return not isinstance(one, Suspects) or bool(Lines(one.suspects).among([url]))


def first_refusal(verdicts: list[Verdict]) -> Verdict | None:
    """The first that refuses, which is the one that counts."""
    return next((one for one in verdicts if one.verdict == REFUSES), None)
