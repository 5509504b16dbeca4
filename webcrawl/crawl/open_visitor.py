"""Makes the visitor, and the features that take part in how a page is read and followed."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from pathlib import Path

from webcrawl.base.settings.checked_settings import CheckedSettings, value_of
from webcrawl.content.formats.document_reader import DocumentReader
from webcrawl.content.html.link_kinds import ALL_LOGGED, MARKDOWN
from webcrawl.content.recognise import recogniser
from webcrawl.crawl.copies import ReadCopies
from webcrawl.crawl.missing_pages import MissingPages
from webcrawl.crawl.page_links import LinkRules, PageLinks, PageReading
from webcrawl.crawl.parts import Parts
from webcrawl.crawl.rules import purpose_of
from webcrawl.crawl.visitor import PageStates, Visitor
from webcrawl.crawl.withholding import Owners
from webcrawl.net.robots import agent_of
from webcrawl.urls.url_fingerprint import ContentDigests

# settings that add a kind to LINK_SOURCES
MORE = {"SITEMAPS": "sitemap", "FEED_LINKS": "feed", "MARKDOWN_LINKS": MARKDOWN}
Digests = Callable[[bytes], bytes]


def open_visitor(values: CheckedSettings, parts: Parts, key: bytes, *, rereads: bool) -> Visitor:
    """`key`: of all hashes.

    `rereads`: its pages come from archives, which have their hosts' sitemaps as well.
    """
    digests, agent = ContentDigests(key), agent_of(values)
    rules = _rules(values)
    wanted = _wanted(values, rules)
    links = PageLinks(parts.discovery, rules, wanted, parts.moments)
    readers = of_sitemaps = _readers(wanted, values, agent)
    sitemaps = None
    if values["SITEMAPS"] is not False and not rereads:
        of_sitemaps = _readers(wanted | {"sitemap"}, values, agent)
        from webcrawl.crawl.sitemaps import Sitemaps  # noqa: PLC0415 - where they are read

        sitemaps = Sitemaps.open(parts, rules, links, looks=bool(values["SITEMAPS"]))
    if values["MARKDOWN_LINKS"] and not rereads:
        from webcrawl.crawl.site_listings import SiteListings  # noqa: PLC0415 - most crawls have none

        SiteListings.open(parts)
    reading = PageReading(
        readers,
        of_sitemaps,
        parts.counters,
        parts.moments,
        parts.clock,
        most=values["READ_TRUNCATE"],
    )
    copies = None
    if rules.skip_seen:
        copies = ReadCopies.open(parts, values["URL_SCOPE"], digests, reading.read)
    if rules.requisites:
        from webcrawl.crawl.requisites import Requisites  # noqa: PLC0415 - most crawls have none

        parts.moments.join(Requisites(parts.discovery, rules, links, reading.read))
    owners = Owners(
        parts.robots_answers.said if values["ROBOTSTXT_OBEY"] else None, agent, purpose_of(values)
    )
    missing = MissingPages(parts.frontier, parts.counters, values["RANDOM_SEED"])
    if values["SOFT404_PROBE"]:
        parts.frontier.notes.when_grown(values["SOFT404_PROBE"], missing.ask)
    return Visitor(
        parts,
        digests=digests,
        reading=reading,
        links=links,
        rules=rules,
        owners=owners,
        recogniser=recogniser(*marks(values)),
        missing=missing,
        states=_states(parts, digests, rereads=rereads, skips_seen=rules.skip_seen),
        sitemaps=sitemaps,
        copies=copies,
    )


def _rules(values: CheckedSettings) -> LinkRules:
    return LinkRules(
        followed=frozenset(values["LINK_SOURCES"])
        | {kind for name, kind in MORE.items() if value_of(values, name)},
        redirects=values["REDIRECT_MAX_HOPS"],
        skip_seen=values["CONTENT_SEEN"] == "skip",
        obey_nofollow=bool(values["OBEY_NOFOLLOW"]),
        requisites=values["REQUISITES"],
    )


def _wanted(values: CheckedSettings, rules: LinkRules) -> frozenset[str]:
    """Return the kinds of links that are read."""
    wanted = rules.followed | ALL_LOGGED if values["LINK_LOG"] else rules.followed
    if rules.requisites:
        from webcrawl.crawl.requisites import SOURCES  # noqa: PLC0415 - most crawls have none

        wanted = wanted.union(SOURCES)
    return wanted


def _readers(
    wanted: AbstractSet[str], values: CheckedSettings, agent: str
) -> tuple[DocumentReader, DocumentReader]:
    """Return two equal readers: one for pages, and one for what is read ahead in a thread."""
    first, second = (
        DocumentReader(
            wanted,
            anchor_text=values["LINK_LOG"],
            agent=agent,
            structured=values["STRUCTURED_DATA"],
        )
        for _ in range(2)
    )
    return first, second


def _states(
    parts: Parts, digests: Digests, *, rereads: bool, skips_seen: bool
) -> PageStates | None:
    """Return what compares pages with their earlier fetches, or None if pages do not come again."""
    if rereads:
        from webcrawl.crawl.archived_states import ArchivedStates  # noqa: PLC0415 - of other crawls no page comes again

        return ArchivedStates(parts.content, digests, skips_seen=skips_seen)
    if parts.revisiting is None:
        return None
    from webcrawl.crawl.page_states import States  # noqa: PLC0415 - likewise

    return States(parts.content, digests, parts.revisiting)


def marks(values: CheckedSettings) -> list[Path]:
    """Return the user's own tables of marks."""
    return [Path(values["RECOGNISE_FILE"])] if values["RECOGNISE_FILE"] is not None else []
