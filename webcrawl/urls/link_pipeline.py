"""Turns the link strings of one page into candidates for the seen store."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from webcrawl.base.errors import RulesError
from webcrawl.base.loading import load
from webcrawl.base.model import Packed, depth_of, path_of, url_of, via_of
from webcrawl.base.own_code import checked, text
from webcrawl.base.settings.checked_settings import CheckedSettings, value_of
from webcrawl.urls.canonical import MAX_LENGTH, InvalidUrl, canonical, canonical_links
from webcrawl.urls.filters.filter_protocol import (
    Chain,
    Clock,
    Dropped,
    Origin,
    Setup,
    UrlFilter,
    named_filter,
)
from webcrawl.urls.foldings import Folding, compose, read_host_rules
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.recent_urls import RecentUrls
from webcrawl.urls.url_fingerprint import Fingerprints

FILTER_OF_SETTING = {  # settings by which a crawl keeps within bounds, and the filter that sees to it
    "URL_SCOPE": "webcrawl.urls.filters.scope.ScopeFilter",
    "URL_EXCLUDE_FILE": "webcrawl.urls.filters.exclusion.ExclusionFilter",
    "URL_INCLUDE": "webcrawl.urls.filters.expressions.ExpressionFilter",
    "URL_EXCLUDE": "webcrawl.urls.filters.expressions.ExpressionFilter",
}


class Candidates(NamedTuple):
    """Distinct URLs for the seen store in columns: a tuple for each would cost too much.

    It would cost as much as the filters.
    """

    keys: Sequence[int]  # fingerprints
    urls: Sequence[str]
    # the canonical form of each distinct link of the page, whatever became of it
    found: Mapping[str, str | None]


class LinkPipeline:
    """Finds canonical form, filters, comparison form and fingerprint of a page's links in one call.

    No link makes it raise. `filtered` counts, by reason or filter, each distinct link without a
    canonical form and each distinct URL that a filter dropped.
    """

    def __init__(
        self,
        chain: Chain,
        folding: Folding | None,
        fingerprints: Fingerprints,
        max_length: int = MAX_LENGTH,
        *,
        requisites: bool = False,
    ) -> None:
        """`requisites`: what pages need to be shown passes a chain of its own."""
        self._requisites = requisites
        self.use(chain, max_length)
        self.filtered: Counter[str] = Counter()
        self.on_dropped: Dropped | None = None  # is told what was filtered
        self._folding = folding
        self._fingerprints = fingerprints

    @property
    def is_usual(self) -> bool:
        """Return whether its canonical forms are everybody's: URL_MAX_LENGTH is not set."""
        return self._max_length == MAX_LENGTH

    def use(self, chain: Chain, max_length: int) -> None:
        """Use these filters from the next page on."""
        self.chain = chain
        self._max_length = max_length
        self.requisites = chain.for_requisites() if self._requisites else None
        self._learning = chain.learning()

    def process(
        self,
        page_url: str,
        depth: int,
        links: Sequence[str],
        base: str = "",
        lately: RecentUrls | None = None,
        path: str = "",
        heard: Callable[[str, Sequence[str]], None] | None = None,
        chain: Chain | None = None,
        *,
        is_counted: bool = True,
    ) -> Candidates:
        """Return the distinct URLs among these links that pass; they are `depth` links from a seed.

        Seeds have an empty `page_url`. `base` is the document's base URL, if it declares one. URLs
        in `lately` passed the filters and were submitted before, and are left out. `path` is the
        links' discovery path. `heard` gets the page and all URLs, before any cache and any filter.
        `chain` takes the place of the ordinary one. Unless `is_counted`, nothing of what is dropped
        is counted or told.
        """
        filtered = self.filtered if is_counted else Counter[str]()
        on_dropped = self.on_dropped if is_counted else None
        by_link = canonical_links(base or page_url, links, filtered, self._max_length)
        urls = _distinct(by_link)
        # Before any cache: a domain's reputation counts known links, too
        if heard is not None:
            heard(page_url, urls)
        if on_dropped is not None:
            self._report_invalid_links(
                on_dropped,
                [link for link, url in by_link.items() if url is None],
                page_url,
                base,
            )
        # Nine of ten links of a page were on other pages before: with the cache a page costs 107 us
        # from its links to the seen store, 149 without. What a filter kept out is not in the cache:
        # scope and depth may differ on another page, and drops are counted
        if lately is not None:
            urls = lately.unknown(urls)
        if not urls:
            return Candidates((), urls, by_link)
        origin = Origin(page_url, depth, path)
        kept = (chain or self.chain).keep(urls, origin, filtered, on_dropped)
        keys = self._fingerprints(self.compared(kept), kept) if kept else ()
        return Candidates(keys, kept, by_link)

    def leave_out(self, reason: str, link: str, page_url: str, base: str) -> None:
        """Count and tell a link of a page that is left out for a reason which no filter knows."""
        self.filtered[reason] += 1
        if self.on_dropped is not None:
            by_link = canonical_links(base or page_url, [link], Counter(), self._max_length)
            self.on_dropped(reason, _distinct(by_link), page_url)

    def passing(
        self, page_url: str, depth: int, links: Sequence[str], base: str, path: str
    ) -> frozenset[str]:
        """Return which of these links pass the filters; nothing is counted."""
        found = canonical_links(base or page_url, links, Counter(), self._max_length)
        urls = _distinct(found)
        kept = set(self.chain.keep(urls, Origin(page_url, depth, path), Counter()))
        return frozenset(link for link in links if found[link] in kept)

    def _report_invalid_links(
        self, dropped: Dropped, links: Sequence[str], page_url: str, base: str
    ) -> None:
        # Each is parsed again for its reason: only a crawl that lists what it skips does so
        for link in links:
            try:
                canonical(link, base or page_url, self._max_length)
            except InvalidUrl as error:
                dropped(error.reason, [link], page_url)

    def key(self, url: str, variant: str = "") -> int:
        """Return the fingerprint of a GET of a canonical URL; `variant` stands for other requests."""
        compared = self.compared([url])[0]
        return self._fingerprints([f"{compared} {variant}" if variant else compared], [url])[0]

    def keys(self, urls: list[str]) -> list[int]:
        """Return the fingerprints of GETs of canonical URLs."""
        return self._fingerprints(self.compared(urls), urls)

    def learned(self, records: Sequence[Packed]) -> Sequence[Packed]:
        """Return those of another drone's links that the filters with a memory let pass here, too."""
        chain = self._learning
        if not chain.filters:
            return records
        found: list[Packed] = []
        # Links of one page come one after the other, as they were found
        for (path, via), some in groupby(records, key=_found_on):
            by_url = {url_of(record): record for record in some}
            origin = Origin(via, depth_of(path), path)
            kept = chain.keep(list(by_url), origin, self.filtered, self.on_dropped)
            found += map(by_url.__getitem__, kept)
        return found

    def compared(self, urls: list[str]) -> list[str]:
        """Return each URL's comparison form, by which the seen store and the link log identify it."""
        folding = self._folding
        return urls if folding is None else [folding(url) for url in urls]


def _distinct(found: Mapping[str, str | None]) -> list[str]:
    """Return the canonical URLs among these, once each."""
    urls = dict.fromkeys(found.values())
    urls.pop(None, None)
    return [*urls]  # type: ignore[list-item]


def _found_on(record: Packed) -> tuple[str, str]:
    return path_of(record), via_of(record)


def _check_bounds(settings: CheckedSettings, order: Container[str]) -> None:
    """Raise RulesError if a setting needs a filter that URL_FILTERS lacks.

    A list of one's own may lack a filter by mistake, and the crawl would leave its bounds without a
    word; with null it is left out on purpose.
    """
    for name, path in FILTER_OF_SETTING.items():
        value = value_of(settings, name)
        # `any` is the scope of a crawl without bounds
        narrows = value and value != "any"
        if narrows and path not in order:
            found = f'add "{path}" to URL_FILTERS, with null to leave it out on purpose'
            raise RulesError(f"{name} needs a filter that URL_FILTERS lacks: {found}")


def build_filters(
    settings: CheckedSettings,
    *,
    key: bytes = bytes(16),
    clock: Clock = time.time,
    domains: RegisteredDomains | None = None,
    last: Sequence[UrlFilter] = (),
) -> Chain:
    """Return URL_FILTERS in order, without those that have nothing to do, and then `last`.

    Raise RulesError if a setting needs a filter that URL_FILTERS lacks.
    """
    order = settings["URL_FILTERS"]
    _check_bounds(settings, order)
    setup = Setup(settings, clock, key, domains or RegisteredDomains())
    # As in ITEM_PIPELINES, None removes a filter
    numbers = {path: number for path, number in order.items() if number is not None}
    built = [named_filter(path, setup) for path in sorted(numbers, key=numbers.__getitem__)]
    return Chain([*(one for one in built if one is not None), *last])


def build_folding(settings: CheckedSettings) -> Folding | None:
    """Return the comparison form: host rules first, then URL_FOLDINGS in their order.

    None means the URL itself.
    """
    form = "a str: the URL's comparison form"
    foldings: list[Folding] = [
        checked("URL_FOLDINGS", load(path), text, form) for path in settings["URL_FOLDINGS"]
    ]
    if settings["URL_HOST_RULES"]:
        foldings.insert(0, read_host_rules(Path(settings["URL_HOST_RULES"])))
    return compose(foldings)


def build_pipeline(
    settings: CheckedSettings,
    key: bytes,
    clock: Clock = time.time,
    domains: RegisteredDomains | None = None,
    last: Sequence[UrlFilter] = (),
    fingerprints: Fingerprints | None = None,
) -> LinkPipeline:
    """Return the pipeline that takes a page's links to the seen store."""
    chain = build_filters(settings, key=key, clock=clock, domains=domains, last=last)
    numbers = fingerprints or Fingerprints(key)
    folding, longest = build_folding(settings), settings["URL_MAX_LENGTH"]
    return LinkPipeline(chain, folding, numbers, longest, requisites=settings["REQUISITES"])
