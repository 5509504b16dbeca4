"""Work of outputs on all pages at hand, one page after the other: half the time that it takes between other work."""

from __future__ import annotations

from collections.abc import Callable

from scrapy.crawler import Crawler

from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.items import Page
from webcrawl.pipelines.output import is_plain


def at_hand(crawler: Crawler, look_up: Callable[[Page], object]) -> None:
    """Has `look_up` called with each page whose links the crawl has read, right after they were followed.

    It may only ask for fields of the page that keep what was found: an error is raised again where the field is asked
    for next, and what a pipeline does for a page it does when the page gets there.
    """
    if is_plain(crawler):
        return
    looked_up = scheduler_of(crawler).at_hand
    if look_up not in looked_up:  # two outputs may want the same
        looked_up.append(look_up)


def link_columns(page: Page) -> object:
    """Its links of all kinds, with their canonical URLs."""
    return page.columns
