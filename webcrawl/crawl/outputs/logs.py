"""The logs of links (LARM), near-duplicates, images, and URLs that were not crawled."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.base.numbers import FEW
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.content.html.link_kinds import REDIRECT
from webcrawl.content.page import Page
from webcrawl.crawl.lost_requests import reason_of
from webcrawl.crawl.outputs.output import LogOutput, at_hand, link_columns, on_end
from webcrawl.crawl.run import Run
from webcrawl.store.jobdir.crawl_line import WITHHELD
from webcrawl.store.jobdir.log_lines import link_lines, page_lines, skipped_lines, unlogged
from webcrawl.urls.canonical import redirect_target
from webcrawl.urls.recent_urls import RecentUrls

COUNTER = "links/unlogged"
LINES = "link_lines"  # among what was looked up of a page


class LinkLog(LogOutput):
    """Logs from, to as written, to normalised, kind and anchor text of each link, followed or not.

    It stands before the output that drops bodies seen before: their links count too. Redirects make
    no page: it hears of them when they end.
    """

    output, path = "links", "logs/links.log"

    def open(self, run: Run) -> None:
        super().open(run)
        on_end(run, self._ended)
        at_hand(run, link_columns)
        at_hand(run, lines_of)

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page) and (data := lines_of(item)):
            self.log.write(data)
            if len(item.columns.kinds) > FEW:
                self._count(item)
        return item

    def _count(self, page: Page) -> None:
        """Count the links of a page that have no line, as there are too many."""
        kinds, addresses, texts, _, targets = page.columns
        left = unlogged(page.url, kinds, addresses, targets, texts)
        if left and self.run.is_open:
            self.run.crawl.parts.counters.update({COUNTER: left})

    def _ended(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Log a redirect as a link of its URL."""
        is_answer = exchange is not None and outcome.status > 0
        if exchange is None or not is_answer or link.is_prerequisite:
            return
        location = exchange.location
        if location:
            redirect = REDIRECT, location, redirect_target(exchange), ""
            self.log.write_now(link_lines(link.url, [redirect]))


def lines_of(page: Page) -> bytes:
    """Return the lines of a page's links, made once; none of a robots.txt or of no page."""
    if not 200 <= page.status < 300 or page.is_prerequisite or not page.all_found.links:
        return b""
    kinds, addresses, texts, _, targets = page.columns
    known: dict[str, Any] = page.looked_up or {}  # it has the columns
    url, data = known.get(LINES, ("", b""))
    # Made for all pages at hand together: 12 to 13 us per page in place of 17 to 18.
    if url != page.url:  # a callback may have given the page another since
        data = page_lines(page.url, kinds, addresses, targets, texts)
        known[LINES] = page.url, data
    return bytes(data)


class NearDuplicates(LogOutput):
    """A fingerprint of each page's text, of which near-duplicates share nearly all bits."""

    output, path = "neardup", "logs/neardup.log"
    content_types = ("text/html", "application/xhtml+xml", "text/plain")

    def process_item(self, page: Page) -> None:
        if 200 <= page.status < 300:
            found = page.fingerprint
            digits = "-" if found is None else f"{found:016x}"
            self.log.write(f"{digits}\t{page.url}\n".encode())


class Images(LogOutput):
    """One line for each image: its format and size."""

    output, path = "images", "logs/images.log"
    content_types = ("image/*",)

    def open(self, run: Run) -> None:
        from webcrawl.content.image_headers import image_of  # noqa: PLC0415 - most crawls read no images

        super().open(run)
        self._read = image_of

    def process_item(self, page: Page) -> None:
        if 200 <= page.status < 300:
            found = self._read(page.body)
            said = "\t".join(map(str, found)) if found is not None else "-\t\t"
            self.log.write(f"{page.url}\t{said}\t{len(page.body)}\n".encode())


REMEMBERED = 1 << 17  # URLs logged lately, 8 bytes each: most pages of a site link to the same ones
# why mailto:, javascript: and their like are no URLs for a crawler: too many to be worth a line
NO_URL = "scheme"


class Skipped(LogOutput):
    """Logs dropped links, URLs without an answer, and what is withheld. It gets no pages."""

    output, path = "skipped", "logs/skipped.log"

    def __init__(self, values: CheckedSettings) -> None:
        super().__init__(values)
        self._lately = RecentUrls(REMEMBERED)

    def open(self, run: Run) -> None:
        super().open(run)
        on_end(run, self._ended)
        if run.is_open:
            run.crawl.parts.pipeline.on_dropped = self._dropped

    def _dropped(self, reason: str, urls: Sequence[str], via: str) -> None:
        """Log links of the page `via` that a filter has dropped, unless they were logged lately."""
        if reason == NO_URL:
            return
        fresh = self._lately.unknown(urls)
        if fresh:
            self.log.write_now(skipped_lines(time.time(), reason, fresh, via))
            self._lately.add(fresh)

    def _ended(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Write a line to skipped.log if a URL ended without being crawled, or was withheld."""
        is_withheld = exchange is not None and exchange.state.withheld is not None
        has_failed = outcome.status < 0 and not link.is_prerequisite
        if is_withheld:
            reason = WITHHELD
        elif has_failed:
            reason = reason_of(outcome.status).replace(" ", "_")
        else:
            return
        ended_at = outcome.at or time.time()
        self.log.write_now(skipped_lines(ended_at, reason, [link.url], link.via))
