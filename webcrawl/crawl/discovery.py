"""Takes what pages link to through the filters into the seen store, in batches."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Protocol

from webcrawl.base.model import Link, Packed, is_needed, may_need, pack_found, url_of
from webcrawl.base.numbers import fitting
from webcrawl.base.own_code import OwnCodeError
from webcrawl.base.readable import count
from webcrawl.crawl.redirect_chain import cookie_header, has_requested
from webcrawl.frontier.core import Heard
from webcrawl.frontier.protocol import Frontier
from webcrawl.frontier.seen.portions import PORTION, Portions
from webcrawl.frontier.seen.protocol import SeenStore
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.counter_words import TOO_MANY_REDIRECTS
from webcrawl.urls.canonical import MAX_LENGTH
from webcrawl.urls.filters.filter_protocol import Chain
from webcrawl.urls.host_names import HOPS, entered
from webcrawl.urls.link_pipeline import LinkPipeline
from webcrawl.urls.recent_urls import RecentUrls

logger = logging.getLogger(__name__)

MARK_AS_SEEN = b""  # placeholder for the seen store: mark as seen, never return

# characters that logs, queues and batches may get by the links of one page
LINK_TEXT_ROOM = 16 << 20


class Offered(Enum):
    """The result of submitting a single link."""

    FILTERED = "filtered"
    KNOWN = "known"  # at once; most duplicates are found later
    SUBMITTED = "submitted"


class OtherDrones(Protocol):
    """The other drones of a hive, as far as the crawl of this one sends them anything."""

    def is_ours(self, url: str) -> bool:
        """Return whether a canonical URL is for this drone to fetch."""

    def keep_ours(
        self, keys: Sequence[int], urls: Sequence[str], records: Sequence[bytes]
    ) -> tuple[Sequence[int], Sequence[bytes]]:
        """Return those of these links that this drone owns, and send the others to their owners.

        They are given by fingerprint, URL and packed form.
        """

    def keep_seeds(
        self, keys: Sequence[int], urls: Sequence[str], records: Sequence[bytes]
    ) -> tuple[Sequence[int], Sequence[bytes]]:
        """Like `keep_ours`, for seeds, which all drones read."""

    def request(self, link: Link, variants: Sequence[str], *, free: bool) -> None:
        """Send a request of the spider to the owner of its URL; `free`: without the seen test."""

    def send_vote(self, source: str, url: str) -> bool:
        """Tell the owner of a URL that this domain links to it; return False if that is this drone."""

    def ask_robots(self, record: Packed) -> None:
        """Have the owner of another host fetch a robots.txt that redirects there."""

    def send_robots_failure(self, link: Link) -> bool:
        """Tell the drone that waits for a robots.txt that it does not come.

        Return False if that is this drone.
        """

    def send_robots_answer(
        self, link: Link, status: int, body: bytes, location: str | None, chain: str
    ) -> bool:
        """Send the answer to a robots.txt to the drone that asked for it.

        Return False if that is this drone.
        """


class Discovery:
    """Submits links: of pages, redirects, large pages in portions, and single ones.

    To *submit* a link is to take it through the filters, and to leave it to the seen store to decide
    whether it is new. *Requisites* of a page are what it needs to be shown, such as images. A page
    is an *entrance* if the hop to it led into another site. The rest of a page with very many links
    is kept in *portions*, which are submitted later.
    """

    def __init__(
        self,
        pipeline: LinkPipeline,
        seen: SeenStore,
        frontier: Frontier,
        *,
        recent_urls: RecentUrls,
        portions: Portions,
        site_of: Callable[[str], str],
        counters: Counter[str],
        other_drones: OtherDrones | None = None,
        on_links: Heard | None = None,
        leave_unfollowed: Callable[[Sequence[bytes]], None] | None = None,
    ) -> None:
        """Take the parts through which links go.

        `pipeline`: filters links, and gives them their canonical form.
        `seen`: gets the links that pass, and decides which are new.
        `frontier`: if its `found` is set, that gets the links in place of the seen store.
        `recent_urls`: URLs that were submitted a short time ago, and need not be submitted again.
        `portions`: keep the further links of a page that has very many.
        `site_of`: names the site of a URL.
        `counters`: of the crawl.
        `other_drones`: get the links to hosts that are theirs, in a hive.
        `on_links`: gets each page and the URLs it links to, whatever becomes of them.
        `leave_unfollowed`: gets what would be submitted, in a crawl that follows no links.
        """
        self._on_links = on_links
        self._discovery_sink = frontier.found
        self._pipeline = pipeline
        self._seen = seen
        self._recent_urls = recent_urls
        self._portions = portions
        self._site_of = site_of
        self._counters = counters
        self._frontier = frontier
        self._other_drones = other_drones
        self._leave_unfollowed = leave_unfollowed

    def discover(
        self,
        page: Link,
        links: Sequence[str],
        hops: str,
        *,
        base: str = "",
        needed: bool = False,
        targets: dict[str, str | None] | None = None,
    ) -> None:
        """Submit the links of a page, in one batch; `hops` has the letter of each, or one for all.

        Of very many the first are submitted now, and the others in portions. `needed`: these are
        its requisites, which have filters of their own. `targets` gets, by link, the canonical form
        of those that are submitted now, or None.
        """
        self._counters["links"] += len(links)
        page = self._marked_if_entrance(page)
        # Six pages of 84,000 links, submitted at once, left 20 good hosts 20 of 396 pages. The rest
        # is noted in the turn that submits the first ones: so at any COMMIT each link of a finished
        # page is either in the seen store or in a portion.
        if len(links) > PORTION and self._discovery_sink is None:
            self._portions.put(page, base, links, hops, PORTION)
            links, hops = links[:PORTION], hops[:PORTION]
        filters = self._pipeline.requisites if needed else None
        self._submit(page, "L", links, hops, base, filters=filters, targets=targets)

    def passing(self, page: Link, links: Sequence[str], base: str) -> frozenset[str]:
        """Return those of these links of a page that the filters let through."""
        page = self._marked_if_entrance(page)
        return self._pipeline.passing(page.url, page.depth + 1, links, base, f"{page.path}L")

    def is_within(self, url: str) -> bool:
        """Return whether a page shown in another is one of the crawl's, however it was found."""
        return self._pipeline.chain.within(url)

    def redirected(self, page: Link, location: str, chain: str) -> None:
        """Submit the target of a redirect; `chain`: what was requested on the way, and its cookies.

        A target that was requested in this chain is requested again if it gets other cookies now.
        """
        self._counters["links"] += 1
        page = self._marked_if_entrance(page)
        cookies = cookie_header(chain, location) if chain else b""
        was_requested = bool(cookies) and has_requested(chain, self._pipeline.key(location))
        if self._discovery_sink is not None or not was_requested:
            filters = self._pipeline.requisites if is_needed(page.path) else None
            self._submit(page, "R", [location], "R", "", chain, filters)
            return
        # Only what this chain itself has requested: with any URL that is known, each page that
        # redirects to `/login` would fetch that again. A loop that changes no cookie ends here, at
        # the seen store; one that sets a new one each time ends at REDIRECT_MAX_HOPS.
        repeated = Link(location, page.path + "R", page.url, page.seed, chain=chain)
        variant = f"cookies {cookies.decode('latin-1')}"
        self._counters["links/new"] += self.submit(repeated, variant)

    def redirected_too_often(self, page: Link, location: str, base: str = "") -> None:
        """Count the target of a redirect that is one more in a row than REDIRECT_MAX_HOPS allows.

        A refresh counts as a redirect; `base` is its document's.
        """
        self._counters["links"] += 1
        self._pipeline.leave_out(TOO_MANY_REDIRECTS, location, page.url, base)

    def moved(self, page: Link, location: str, history: str) -> bool:
        """Submit the address to which a page has moved for good, with the page's history.

        Return False if a filter drops the address.
        """
        return self.submit(Link(location, f"{page.path}R", page.url, page.seed, history=history))

    def at_entrance(self, page: Link) -> Link:
        """Return the page as if no link had been followed since its site was entered.

        What is found of its host is a link of this page, not of the deepest one.
        """
        path = self._marked_if_entrance(page).path.rstrip(HOPS)
        return replace(page, path=path, history="", chain="")

    def _marked_if_entrance(self, page: Link) -> Link:
        """Return the page with a mark in its path if it is an entrance; its links inherit the path."""
        path = entered(page.path, page.via, page.url, self._site_of)
        if path is page.path:
            return page
        return Link(page.url, path, page.via, page.seed)  # `replace` of all fields takes 3 us more

    def _submit(
        self,
        page: Link,
        kind: str,
        links: Sequence[str],
        hops: str,
        base: str,
        chain: str = "",
        filters: Chain | None = None,
        targets: dict[str, str | None] | None = None,
    ) -> None:
        """Take links of a page through the filters, and hand what is new to the seen store.

        `kind` is the letter of the discovery path by which the filters judge all of them (R is a
        redirect), `hops` the letter that each record gets. In a crawl whose frontier takes the links
        of pages itself (`_discovery_sink`), or that does not follow links (`_leave_unfollowed`),
        these get the records instead. `chain` is kept with each link; `targets` gets the canonical
        form of each.
        """
        absorbed_before = self._recent_urls.absorbed
        # A redirect is no step away from the seed.
        depth = page.depth + (kind != "R")
        # A sink gets all links of each page, and so those found before, too.
        recent_urls = self._recent_urls if self._discovery_sink is None else None
        keys, urls, canonical_of = self._pipeline.process(
            page.url, depth, links, base, recent_urls, page.path + kind, self._on_links, filters
        )
        # With URL_MAX_LENGTH the pipeline's forms are not those that others would make of the links.
        if targets is not None and self._pipeline.is_usual:
            targets.update(canonical_of)
        self._counters["links/known"] += self._recent_urls.absorbed - absorbed_before
        self._counters["links/new"] += len(urls)
        if not urls:
            return
        if len(hops) > 1:  # of several links to a URL the first one counts
            hop_of = dict(zip(map(canonical_of.get, reversed(links)), reversed(hops), strict=True))
            hops = "".join([hop_of[url] for url in urls])
        records: Sequence[bytes] = pack_found(page, urls, hops, chain)
        if self._discovery_sink is not None:
            self._discovery_sink(page, records, redirect=kind == "R")
            return
        if self._leave_unfollowed is not None:
            self._leave_unfollowed(records)
        else:
            if self._other_drones is not None:
                keys, records = self._other_drones.keep_ours(keys, urls, records)
            self._seen.submit(keys, records)
        # Only what has passed the filters: scope and depth may be others on another page, and drops
        # are counted. 97 % of the links of a crawl of 20,000 pages of the synthetic web stop there.
        self._recent_urls.add(urls)

    def submit_portion(self, now: float, *, paced: bool = True) -> bool:
        """Submit the next links of a large page if it is time; return whether more wait.

        `paced`: keep the pace, because other links wait. Raise what ends the crawl: an error of the
        store, the disk, memory or the user's own code. By any other error the portion is lost.
        """
        portion = self._portions.pop_due(now, paced=paced) if self._portions.links else None
        if portion is None:
            return bool(self._portions.links)
        page = portion.page
        try:
            are_requisites = portion.hops[0] == "E" and may_need(page.path)
            filters = self._pipeline.requisites if are_requisites else None
            self._submit(page, "L", portion.links, portion.hops, portion.base, filters=filters)
        except (StoreError, OwnCodeError, OSError, MemoryError):
            raise
        except Exception:  # as with a page, these links are lost, and the crawl goes on
            logger.exception(
                "%s: %s lost by an unexpected error", page.url, count(len(portion.links), "link")
            )
        return bool(self._portions.links)

    def heard_of(self, url: str) -> bool:
        """Return whether a link to this canonical URL was submitted lately."""
        return url in self._recent_urls

    def forget(self) -> None:
        """Clear the cache of recent links. A link that is found again is then submitted again."""
        self._recent_urls.clear()

    def count_truncated_links(self, links: int) -> None:
        """Count links of a page that are not followed because there are too many."""
        self._counters["links"] += links
        self._counters["links/cut"] += links  # a name that crawls have in their states

    def submit(self, link: Link, variant: str = "", *more: str) -> bool:
        """Take a single link as `offer` does; return False if a filter drops it."""
        return self.offer(link, variant, *more) is not Offered.FILTERED

    def offer(self, link: Link, variant: str = "", *more: str) -> Offered:
        """Take a link from a request of a user's spider, and return what became of it.

        A *variant* tells requests of one URL apart, such as those with other bodies: each is seen
        separately. Whether the link is new depends on the first one; `more` variants are marked as
        seen.
        """
        if not self._pipeline.process(link.via, link.depth, [link.url]).urls:
            return Offered.FILTERED
        if self._other_drones is not None and not self._other_drones.is_ours(link.url):
            self._other_drones.request(link, (variant, *more), free=False)
            return Offered.SUBMITTED
        if not self.accept(link, variant, *more):
            return Offered.KNOWN
        return Offered.SUBMITTED

    def accept(self, link: Link, variant: str = "", *more: str) -> bool:
        """Submit a link of ours that has passed the filters; return False if it is known already.

        True does not say that it is new: the seen store may find out later that it is known.
        """
        keys = [self._pipeline.key(link.url, each) for each in (variant, *more)]
        may_be_new = self._seen.submit(keys, [link.pack(), *([MARK_AS_SEEN] * len(more))])
        return may_be_new != 0

    def insert(self, link: Link, variant: str = "") -> None:
        """Queue a link whether or not it was seen before, and mark it as seen."""
        if self._other_drones is not None and not self._other_drones.is_ours(link.url):
            self._other_drones.request(link, (variant,), free=True)
            return
        # In one turn of the event loop: no checkpoint can have the link marked, and not queued.
        self._frontier.add([link.pack()])
        self._seen.submit([self._pipeline.key(link.url, variant)], [MARK_AS_SEEN])

    def received(self, records: Sequence[bytes]) -> None:
        """Submit links that other drones found, which have passed all filters that do not learn.

        Filters that learn judge them here, too.
        """
        learned = self._pipeline.learned(records)
        if learned:
            self._seen.submit(self._pipeline.keys([url_of(record) for record in learned]), learned)


def fitting_links(link: Link, base: str, addresses: Sequence[str]) -> int:
    """Return how many links of a page may be followed, so that their text stays bounded.

    Each may get lines with its URL, the page's and the seed's.
    """
    # A relative link becomes as long as the base allows.
    chars_beside_link = min(len(base), MAX_LENGTH) + len(link.url) + len(link.seed)
    return fitting([addresses], chars_beside_link, LINK_TEXT_ROOM)
