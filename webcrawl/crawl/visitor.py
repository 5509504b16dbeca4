"""Turns an answer into a page: redirects are followed, and new pages' links are submitted.

A redirect is followed as a link to its target, which is not fetched again if its URL was seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from webcrawl.base.model import Exchange, Link, Outcome, redirects_in_a_row
from webcrawl.base.page_values import MOVED, UNKNOWN, By, Change, PageJudgement, block_page_vendor
from webcrawl.content.html.link_kinds import DocumentLinks
from webcrawl.content.html.trees import markup
from webcrawl.content.page import Page
from webcrawl.content.recognise import PAGE, PARKED, SHELL, SOFT404, Recogniser
from webcrawl.content.stated_preferences import kept
from webcrawl.crawl.missing_pages import MissingPages
from webcrawl.crawl.page_links import LinkRules, PageLinks, PageReading
from webcrawl.crawl.parts import Parts
from webcrawl.crawl.redirect_chain import cookie_header, follow
from webcrawl.crawl.withholding import Owners, withhold
from webcrawl.frontier.outcomes import ACCEPTED
from webcrawl.net.header_times import sent_at
from webcrawl.net.robots_book import TRIES, robots_url
from webcrawl.net.robots_entry import NOT_MODIFIED, head_of
from webcrawl.store.jobdir.stats_file import RECOGNISED
from webcrawl.urls.canonical import MAX_LENGTH, redirect_target

if TYPE_CHECKING:
    from webcrawl.crawl.copies import ReadCopies
    from webcrawl.crawl.sitemaps import Sitemaps

WITHHELD = b"withheld"  # hashed with the digest of a withheld body, which is kept in its place
PAYMENT_REQUIRED = 402
PRICE = 40  # bytes of a price that are noted
REDIRECTS = 300  # the lowest status that is no success
# what a robots.txt counts as in whose place a block page came, or of which a part is missing
UNREACHABLE = 503
MISSING = frozenset(("disconnect", "time"))  # of Exchange.truncated: another try may bring the rest


class PageStates(Protocol):
    """Compares the answers of a page that is fetched many times."""

    def judge(self, page: Page, link: Link, exchange: Exchange) -> None:
        """Set `page.change`."""

    def note(self, page: Page) -> None:
        """Note that the page has this body, whose duplicates are known."""

    def returns(self, page: Page, link: Link, exchange: Exchange) -> bool:
        """Return whether a page is processed although its body is known."""
        ...


class Visitor:
    """Turns every answer into a Page, and tells the parts of the crawl what follows from it.

    Three words of its methods: a *block page* is a denial or bot challenge that comes in place of
    the page. A page that `is_none` is no page of its site: a block page, a soft 404, a probe. The
    body of a *withheld* page must not be kept by its owner's word; of its answer only the head is
    left.
    """

    def __init__(
        self,
        parts: Parts,
        *,
        digests: Callable[[bytes], bytes],
        reading: PageReading,
        links: PageLinks,
        rules: LinkRules,
        owners: Owners,
        recogniser: Recogniser,
        missing: MissingPages,
        states: PageStates | None,
        sitemaps: Sitemaps | None,
        copies: ReadCopies | None,
    ) -> None:
        """Take the parts of the crawl that see an answer, in `parts` and beside them.

        `digests`: the digest of a body, by which its duplicates are known.
        `reading`: reads the document of a page.
        `links`: submit the links that were read.
        `rules`: which links are followed, and how.
        `owners`: what the site's owner allows to be done with a page.
        `recogniser`: tells block pages, logins and the like from pages.
        `missing`: tells pages that are missing although their status says otherwise.
        `states`: compare the answers of a page that is fetched many times; None: none is.
        `sitemaps`: read those that a robots.txt names; None: they are not wanted.
        `copies`: know the bodies that were seen before; None: such bodies are not skipped.
        """
        self._owners = owners
        self._parts = parts
        self._digests = digests
        self._states = states
        self._sitemaps = sitemaps
        self.follow = links.follow
        self.read_ahead = reading.read_ahead
        self._read = reading.read
        self._on_known_body = parts.moments.on_known_body
        self._read_most = reading.most
        self._redirects = rules.redirects
        self._copies = copies
        self._recogniser = recogniser
        self._missing = missing

    def visit(self, link: Link, exchange: Exchange) -> Page:
        """Return the page of this answer; `follow` submits its links."""
        page = Page.of(link, exchange)
        page.read_most = self._read_most
        location = redirect_target(exchange)
        if link.is_prerequisite:
            # The target of any other redirect is a link, whose length the filters bound.
            robots_location = location if len(location) <= MAX_LENGTH else ""
            self._visit_robots(page, link, exchange, robots_location)
            return page
        if link.is_probe:
            self._missing.record_probe_answer(link, exchange, self._recogniser)
            page.is_none = True
            return page
        page.robots_word = self._owners.word(link.url)
        page.recognised = self._recognise(exchange)
        is_instead = bool(page.recognised) and _is_instead(page.recognised)
        page.is_none = is_instead or self._is_missing(page, exchange)
        self._judge_and_visit(page, link, exchange, location)
        # After the body was read: the document may have said something, too.
        if self._owners.judges:
            self._judge_use(page, exchange)
        if exchange.state.revisit is not None:
            exchange.state.said = _kept(page, exchange.state.revisit)
        for on_page in self._parts.moments.on_page:
            on_page(page)
        return page

    def _recognise(self, exchange: Exchange) -> str:
        """Return what the answer is in place of the page, or PAGE; note and count it once.

        Of an error the end of the download asks first, and the visit again.
        """
        kind = exchange.state.recognised
        if kind is None:
            kind = self._recogniser.recognise(
                exchange.status,
                exchange.headers,
                exchange.body[: self._read_most],
                names=exchange.names,
                kind=exchange.content_type,
            )
            # A page that a browser rendered has all that its scripts make, however little it is.
            if kind == SHELL and exchange.rendered:
                kind = PAGE
            exchange.state.recognised = kind
        if kind and kind not in exchange.state.notes:
            self._note(exchange, kind)
            self._note_price(exchange)
        return kind

    def _note_price(self, exchange: Exchange) -> None:
        """Note the price of a page that is only to be had for money, by Cloudflare's header."""
        if exchange.status != PAYMENT_REQUIRED:
            return
        price = exchange.header(b"crawler-price")
        if price:
            exchange.state.notes += (f"price:{price[:PRICE].decode('latin-1')}",)

    def _note(self, exchange: Exchange, kind: str) -> None:
        exchange.state.recognised = kind
        exchange.state.notes += (kind,)
        self._parts.counters[f"{RECOGNISED}{kind.replace(':', '/')}"] += 1

    def _is_missing(self, page: Page, exchange: Exchange) -> bool:
        """Return whether the host shows this same page for URLs that cannot exist; count it.

        Such a page is noted as a soft 404, unless its text has shown that already.
        """
        may_be_missing = page.recognised in (PAGE, SOFT404)
        if not (may_be_missing and self._missing.shows(exchange, self._recogniser)):
            return False
        self._parts.counters["soft404/by probe"] += 1
        if not page.recognised:
            self._note(exchange, SOFT404)
            page.recognised = SOFT404
        return True

    def looks(self, link: Link, exchange: Exchange, outcome: Outcome) -> None:
        """Note in the outcome of an error whether it is a block page: then its host is well."""
        if not link.request:
            outcome.blocked_by = block_page_vendor(
                self._recognise(exchange), robots=link.is_prerequisite
            )

    def withholds(self, link: Link, exchange: Exchange) -> bool:
        """Return whether an answer without a page must not be kept; then only its head is left."""
        return self._owners.judges and self._judge_use(self.unread(link, exchange), exchange)

    def forbids(self, link: Link, exchange: Exchange) -> bool:
        """Return whether a page made of this answer must not be kept; the answer stays whole."""
        return self._owners.judges and self._owners.withholds(self.unread(link, exchange))

    def _judge_use(self, page: Page, exchange: Exchange) -> bool:
        """Withhold the page if its owner forbids to keep it, and return whether that was done."""
        # A 304 has no content, but stands for what an earlier answer had.
        has_content = exchange.wire or exchange.body or page.change is Change.UNCHANGED
        if not (has_content and self._owners.withholds(page)):
            return False
        sources = withhold(page, exchange, self._owners.purpose)
        self._parts.counters.update(["withheld", *(f"withheld/{source}" for source in sources)])
        return True

    def unread(self, link: Link, exchange: Exchange) -> Page:
        """Return the page of an answer that other code processes: nothing follows from it."""
        page = Page.of(link, exchange)
        page.read_most = self._read_most
        if not link.is_prerequisite:
            page.robots_word = self._owners.word(link.url)
        return page

    def _judge_and_visit(self, page: Page, link: Link, exchange: Exchange, location: str) -> None:
        """Judge a page by its earlier fetches, then follow its redirect or read its body.

        `location`: the target of a redirect that can be fetched; else empty.
        """
        # What came in place of the page does not show whether that has changed.
        if not page.is_none:
            if self._states is not None:
                self._states.judge(page, link, exchange)
            if exchange.state.since is not None:
                _note_since(page, exchange.state.since)
        if location:
            self._visit_redirect(page, link, exchange, location)
        elif _has_news(page, exchange):
            self._visit_body(page, link, exchange)
        elif exchange.location:
            # No URL that can be fetched: it is counted, and logged, as such a link on a page is.
            self._parts.discovery.redirected(link, exchange.location, "")

    def _visit_redirect(self, page: Page, link: Link, exchange: Exchange, location: str) -> None:
        """Submit the target of a redirect, with the page's record if that has moved for good."""
        # A record is handed on once, and as no new page: one page that answered 301 could bring any
        # number of new ones, each with a record.
        if link.history and self._hand_on_record(link, exchange, location):
            page.change = Change.GONE
        elif redirects_in_a_row(link.path) >= self._redirects:
            self._parts.discovery.redirected_too_often(link, location)
        elif not link.is_revisit:
            self._parts.discovery.redirected(link, location, self._chain(link, exchange))
        elif not self._request_again(link, exchange, location):
            # Without the chain: back at this page it would begin a second record of it.
            self._parts.discovery.redirected(link, location, "")

    def _request_again(self, link: Link, exchange: Exchange, location: str) -> bool:
        """Request a known page again that redirects to itself, if it gets other cookies now.

        Return whether it does.
        """
        revisiting = self._parts.revisiting
        if revisiting is None or location != link.url:
            return False
        chain = self._chain(link, exchange)
        if cookie_header(chain, location) == cookie_header(link.chain, location):
            return False
        revisiting.repeat(link, chain)
        return True

    def _hand_on_record(self, link: Link, exchange: Exchange, location: str) -> bool:
        """Hand a page's record to the URL to which it has moved for good; return whether it has.

        A page whose new URL is filtered has not moved.
        """
        revisiting = self._parts.revisiting
        if revisiting is None:
            return False
        is_moved = exchange.status in MOVED and location != link.url
        if not is_moved or redirects_in_a_row(link.path) >= self._redirects:
            return False
        history = revisiting.history_of(link)
        if history is None or not self._parts.discovery.moved(link, location, history):
            return False
        revisiting.moved(link)
        return True

    def _visit_robots(self, page: Page, link: Link, exchange: Exchange, location: str) -> None:
        """Book a robots.txt; the sitemaps that it names are its links, if they are wanted.

        `location`: the target of a redirect that may be followed; else empty. An answer that is not
        the owner's word, or lacks a part, counts as none: the host's URLs wait for the next try.
        """
        chain = self._chain(link, exchange) if location else ""
        now = self._parts.clock()
        status = exchange.status
        if _says_nothing(exchange, self._recognise(exchange)):
            status = UNREACHABLE
            page.is_none = True
        elif self._is_truncated(link, exchange):
            status = UNREACHABLE
        sitemap_urls = self._parts.robots_answers.record_answer(
            link, status, exchange.body, location, now, chain, head_of(exchange)
        )
        if sitemap_urls and self._sitemaps is not None:
            # The robots.txt that was requested first, wherever redirects have led since.
            page.base = robots_url(link.history)
            page.found = DocumentLinks(
                page.base, page.encoding, [("sitemap", url, "", "") for url in sitemap_urls]
            )

    def _is_truncated(self, link: Link, exchange: Exchange) -> bool:
        """Return whether a robots.txt lacks a part, which may forbid something and come later."""
        # A 304 to a request without a condition is truncated, too: it lacks the whole file.
        is_file = 200 <= exchange.status < REDIRECTS or exchange.status == NOT_MODIFIED
        if exchange.truncated not in MISSING or not is_file:
            return False
        # At the last of three tries what came is read: a server whose Content-Length is always too
        # large would never be crawled. Half of `User-agent: *` and `Disallow: /secret` allows
        # everything, so before that nothing is better.
        return self._parts.robots.book.tries(link.history) < TRIES - 1

    def _visit_body(self, page: Page, link: Link, exchange: Exchange) -> None:
        """Decide whether a body is new, and read it unless it is known or withheld."""
        page.digest = page.digest or self._digests(exchange.body)
        is_withheld = self._owners.judges and self._is_withheld(page, link, exchange)
        if page.is_none:
            # It has no links to follow, although it may have been read for its owner's word.
            page.found = None
            return
        if is_withheld:  # its links were read by `_is_withheld`
            return
        self._note_body(page, link, exchange)
        if page.duplicate and self._copies is not None:
            for on_known_body in self._on_known_body:
                on_known_body(page, exchange)
        elif page.found is None:
            self._read(page, exchange)

    def _note_body(self, page: Page, link: Link, exchange: Exchange) -> None:
        """Set `page.duplicate`, and note the body as seen."""
        # `seen` notes the digest: it has to be asked once per body.
        page.duplicate = self._parts.content.seen(page.digest)
        if self._copies is not None and not page.duplicate:
            self._copies.first(page)
        # The page's own earlier body, and not that of another URL, is no duplicate.
        if page.duplicate and self._is_body_of(page, link, exchange):
            page.duplicate = False
        elif self._states is not None:
            self._states.note(page)
        if not (page.duplicate or link.history):  # budgets are about new pages
            self._parts.new_body(link, exchange.body)
        exchange.state.duplicate = page.duplicate

    def _is_body_of(self, page: Page, link: Link, exchange: Exchange) -> bool:
        """Return whether a known body was first seen as that of this very page."""
        # A page that a former run began was left out of its checkpoint, and its body was not.
        if exchange.state.was_begun or self._parts.halfway.comes_again(link.url):
            return True
        return self._states is not None and self._states.returns(page, link, exchange)

    def _is_withheld(self, page: Page, link: Link, exchange: Exchange) -> bool:
        """Return whether the body must not be kept; then its links are read here, to be followed.

        A withheld body does not count as seen: the owner of another URL with it may allow it. It is
        counted for the budgets once, under a digest of its own.
        """
        # By the head and robots.txt, without a look into the body.
        is_refused = self._owners.purpose.withholds(page.said_so_far)
        if not (is_refused or self._parts.content.holds(page.digest)):
            self._read(page, exchange)  # the document may forbid it, too
        if not self._owners.withholds(page):
            return False
        if page.found is None:
            self._read(page, exchange)
        if page.is_none:
            return True
        was_counted = self._parts.content.seen(self._digests(WITHHELD + page.digest))
        if not (was_counted or link.history):  # budgets are about new pages
            self._parts.new_body(link, exchange.body)
        return True

    def _chain(self, link: Link, exchange: Exchange) -> str:
        """Return the chain that the target of a redirect takes with it.

        It has the URLs that were requested on the way, and their cookies (redirect_chain.py).
        """
        cookies = [value for name, value in exchange.headers if name.lower() == b"set-cookie"]
        # Whether one has expired is for the server's clock to say: ours may be wrong
        now = (sent_at(exchange.headers) if cookies else None) or exchange.started
        return follow(link.chain, self._parts.pipeline.key(link.url), link.url, cookies, now)

    def follow_robots(self, page: Page) -> None:
        """Submit the sitemaps that this robots.txt names."""
        if self._sitemaps is not None:
            self._sitemaps.of_robots(page)

    def robots_conditions(self, link: Link) -> list[tuple[bytes, bytes]]:
        """Return headers by which a server may say that its robots.txt has not changed."""
        return self._parts.robots.conditions(link)

    def robots_way_failed(self, link: Link) -> None:
        """Book that the proxy of a request could not fetch the robots.txt that it needs."""
        self._parts.robots.way_failed(link, self._parts.clock())

    def robots_said(self, link: Link, status: int, body: bytes = b"") -> None:
        """Record a robots.txt that has no exchange here, or that failed with this status."""
        self._parts.robots_answers.record_answer(link, status, body, None, self._parts.clock())

    def robots_told(self, link: Link, status: int, body: bytes, location: str, chain: str) -> None:
        """Book a robots.txt that another drone fetched, because it was redirected there."""
        sitemap_urls = self._parts.robots_answers.record_answer(
            link, status, body, location or None, self._parts.clock(), chain
        )
        if sitemap_urls and self._sitemaps is not None:
            self._sitemaps.named(link, robots_url(link.history), sitemap_urls)


def _note_since(page: Page, since: Change) -> None:
    """Note that a page which is new to this crawl has changed since an earlier crawl, or is gone.

    An unchanged page counts as new: the outputs of this crawl have all its pages.
    """
    if page.change is Change.NEW and since is not Change.UNCHANGED:
        page.change = since


def _kept(page: Page, judgement: PageJudgement) -> tuple[int, int]:
    """Return what the page's record keeps of the owner's word: by headers, and by the document.

    Both are bits (purpose_bits.py). A document that is the same says the same, and is not read
    again.
    """
    header_bits, document_bits = kept(page.said_so_far.statements)
    is_same_document = judgement.by is By.DIGEST and judgement.change is Change.UNCHANGED
    if is_same_document:
        document_bits = judgement.said[1]
    return header_bits, document_bits


def _is_instead(recognised: str) -> bool:
    """Return whether this came in place of a page: a block page, or a domain trader's page."""
    return recognised == PARKED or bool(block_page_vendor(recognised))


def _puts_off(exchange: Exchange) -> bool:
    """Return whether an answer is a page that asks to come again, as challenges are sent."""
    return exchange.status == ACCEPTED and bool(markup(exchange.content_type, exchange.body))


def _says_nothing(exchange: Exchange, recognised: str) -> bool:
    """Return whether an answer in place of a robots.txt says nothing of what the host allows."""
    # UNKNOWN: a block page by its words alone. An error of this kind is the server's own, and allows
    # everything. With a good status whoever has answered was not the host's owner: 5 of 19 recorded
    # block pages have no vendor's mark.
    is_challenge = recognised == UNKNOWN and exchange.status < REDIRECTS
    return is_challenge or bool(block_page_vendor(recognised, robots=True)) or _puts_off(exchange)


def _has_news(page: Page, exchange: Exchange) -> bool:
    """Return whether an answer has a body that is not known to be unchanged.

    Of an answer that was truncated, and so was not judged, the links are read all the same.
    """
    if not (200 <= exchange.status < 300 and exchange.body):
        return False
    return page.change is not Change.UNCHANGED or exchange.state.revisit is None
