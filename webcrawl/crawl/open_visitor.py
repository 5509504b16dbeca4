"""Makes the visitor, and the features that take part in how a page is read and followed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.base.url_text import host_of
from webcrawl.content.formats.document_reader import DocumentReader
from webcrawl.content.html.link_kinds import ALL_LOGGED
from webcrawl.content.recognise import recogniser
from webcrawl.crawl.copies import ReadCopies
from webcrawl.crawl.missing_pages import MissingPages
from webcrawl.crawl.page_links import LinkRules, PageLinks, PageReading
from webcrawl.crawl.parts import Parts
from webcrawl.crawl.rules import purpose_of
from webcrawl.crawl.visitor import PageStates, Visitor
from webcrawl.crawl.withholding import Owners
from webcrawl.frontier.seen.content import Copies, Shells
from webcrawl.net.robots import agent_of
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.url_fingerprint import ContentDigests

if TYPE_CHECKING:
    from webcrawl.crawl.sitemaps import Sitemaps

MORE = {"SITEMAPS": "sitemap", "FEED_LINKS": "feed"}  # settings that add a kind to LINK_SOURCES
Digests = Callable[[bytes], bytes]


def open_visitor(values: Mapping[str, Any], parts: Parts, key: bytes, *, rereads: bool) -> Visitor:
    """`key`: of all hashes. `rereads`: its pages come from archives, which have their hosts' sitemaps as well."""
    domain, digests, agent = RegisteredDomains(), ContentDigests(key), agent_of(values)
    rules = _rules(values)
    wanted = _wanted(values, rules)
    links = PageLinks(parts.discovery, rules, wanted, parts.moments)
    readers = of_sitemaps = _readers(wanted, values, agent)
    sitemaps = None
    if values["SITEMAPS"] is not False and not rereads:
        of_sitemaps = _readers(wanted | {"sitemap"}, values, agent)
        sitemaps = _join_sitemaps(values, parts, rules, links)
    reading = PageReading(
        readers, of_sitemaps, parts.counters, parts.moments, parts.clock, most=values["READ_TRUNCATE"]
    )
    copies = None
    if rules.skip_seen:
        copies = _join_copies(values, parts, reading, digests, lambda url: domain(host_of(url)))
    if rules.requisites:
        _join_requisites(parts, rules, links, reading)
    owners = Owners(parts.robots_answers.said if values["ROBOTSTXT_OBEY"] else None, agent, purpose_of(values))
    missing = MissingPages(parts.frontier, parts.counters, values["RANDOM_SEED"])
    if values["SOFT404_PROBE"]:
        parts.frontier.notes.when_grown(values["SOFT404_PROBE"], missing.ask)
    known = recogniser(*marks(values))
    states = _states(parts, digests, rereads=rereads, skips_seen=rules.skip_seen)
    return Visitor(parts, digests, reading, links, rules, owners, known, missing, states, sitemaps, copies)


def _rules(values: Mapping[str, Any]) -> LinkRules:
    return LinkRules(
        followed=frozenset(values["LINK_SOURCES"]) | {kind for name, kind in MORE.items() if values[name]},
        redirects=values["REDIRECT_MAX_HOPS"],
        skip_seen=values["CONTENT_SEEN"] == "skip",
        obey_nofollow=bool(values["OBEY_NOFOLLOW"]),
        requisites=values["REQUISITES"],
    )


def _wanted(values: Mapping[str, Any], rules: LinkRules) -> frozenset[str]:
    """The kinds of links that are read."""
    wanted = rules.followed | ALL_LOGGED if values["LINK_LOG"] else rules.followed
    if rules.requisites:
        from webcrawl.crawl.requisites import SOURCES  # noqa: PLC0415 - most crawls have none

        wanted = wanted.union(SOURCES)
    return wanted


def _readers(wanted: AbstractSet[str], values: Mapping[str, Any], agent: str) -> tuple[DocumentReader, DocumentReader]:
    first, second = (DocumentReader(wanted, anchor_text=values["LINK_LOG"], agent=agent) for _ in range(2))
    return first, second


def _join_sitemaps(values: Mapping[str, Any], parts: Parts, rules: LinkRules, links: PageLinks) -> Sitemaps:
    """Unless they were asked for, no host is asked for the usual name."""
    from webcrawl.crawl.sitemaps import Sitemaps  # noqa: PLC0415 - as above

    has_listing = parts.signalling.signals.has_listing if parts.signalling is not None else lambda _: False
    named, looks = parts.robots.book.sitemaps, has_listing if values["SITEMAPS"] else None
    sitemaps = Sitemaps(parts.discovery, rules, links, parts.frontier, named, parts.counters, looks)
    parts.moments.join(sitemaps)
    return sitemaps


def _join_copies(
    values: Mapping[str, Any], parts: Parts, reading: PageReading, digests: Digests, domain: Callable[[str], str]
) -> ReadCopies:
    """What is done with bodies that were seen before; `domain`: the registered domain of a URL.

    Where links must stay on their site, each site's copy is followed. Elsewhere it may be a mirror.
    """
    scope, holds = values["URL_SCOPE"], parts.content.holds
    mirrors = scope not in ("host", "domain")
    copies = Copies(holds, digests, sites=mirrors, aliases=scope != "host")
    shells = Shells(holds, digests, domain) if mirrors else None
    feature = ReadCopies(copies, shells, parts.content, parts.counters, reading.read)
    parts.moments.join(feature)
    return feature


def _join_requisites(parts: Parts, rules: LinkRules, links: PageLinks, reading: PageReading) -> None:
    from webcrawl.crawl.requisites import Requisites  # noqa: PLC0415 - as above

    parts.moments.join(Requisites(parts.discovery, rules, links, reading.read))


def _states(parts: Parts, digests: Digests, *, rereads: bool, skips_seen: bool) -> PageStates | None:
    if rereads:
        from webcrawl.crawl.archived_states import ArchivedStates  # noqa: PLC0415 - of other crawls no page comes again

        return ArchivedStates(parts.content, digests, parts.halfway.comes_again, skips_seen=skips_seen)
    if parts.revisiting is None:
        return None
    from webcrawl.crawl.page_states import States  # noqa: PLC0415 - likewise

    return States(parts.content, digests, parts.revisiting)


def marks(values: Mapping[str, Any]) -> list[Path]:
    """The user's own tables of marks."""
    return [Path(values["RECOGNISE_FILE"])] if values["RECOGNISE_FILE"] is not None else []
