"""Passes changed settings, and those of a sheet for a domain or host, to their parts.

What the start checked is checked here as well. Nothing on the way of a page has a look at the
settings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from webcrawl.base.settings.checked_settings import CheckedSettings, with_values
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.in_force import OF_FILTERS, OF_FRONTIER, InForce
from webcrawl.crawl.control.sheets import BUDGET, DEPTH, OF_HOST, PerHost, Sheets, without_conflict
from webcrawl.crawl.crawl_end import CrawlEnd
from webcrawl.crawl.last_run import SCOPE, OtherTerms, Terms, refuse
from webcrawl.crawl.rules import allowance_of, limits_of, own_of, politeness_of
from webcrawl.crawl.url_filters import Filters
from webcrawl.frontier.booking import HostTerms
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.protocol import Frontier as AnyFrontier
from webcrawl.net.robots_book import RobotsBook
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.meta_row import TERMS as META
from webcrawl.urls.filters.depth import DepthFilter
from webcrawl.urls.filters.scope import PageScope
from webcrawl.urls.link_pipeline import LinkPipeline


def _change_scope(db: CrawlDB, values: CheckedSettings) -> None:
    """Note another scope in the crawl's terms.

    A later run has to know under which scope seeds were noted. Raise CommandError if the scope
    cannot be had within this crawl.
    """
    before: Terms = json.loads(db.get(META) or b"{}")
    now = before | {SCOPE: values[SCOPE]}
    if before.get(SCOPE) == now[SCOPE]:
        return
    try:
        refuse(db.folder.parent, before, now)
    except OtherTerms as error:
        raise CommandError(str(error)) from error
    db.set(META, json.dumps(now).encode())


def heed(
    in_force: InForce,
    db: CrawlDB,
    filters: Filters,
    frontier: AnyFrontier,
    book: RobotsBook,
    crawl_end: CrawlEnd,
) -> None:
    """Have each part of the crawl hear of the settings that may change while it runs.

    `now=False`: the parts were made with the present values, and hear of changes alone.
    """
    in_force.listen([SCOPE, *OF_FILTERS], filters.change, now=False)
    # The last listener: the terms are not changed back if a later one refuses the value.
    in_force.listen([SCOPE], partial(_change_scope, db), now=False)

    def of_frontier(now: CheckedSettings) -> None:
        frontier.change(politeness_of(now), limits_of(now))
        book.change(retry_wait=now["HOST_RETRY_WAIT"], patience=now["HOST_PATIENCE"])

    in_force.listen(OF_FRONTIER, of_frontier, now=False)
    if isinstance(frontier, Frontier):
        queues = frontier.core.queues
        in_force.listen(
            ["DOMAIN_BUDGET_PAGES"], lambda now: queues.budgets.change(allowance_of(now)), now=False
        )
    in_force.listen(
        ["OUTAGE_END_WAIT"],
        lambda now: setattr(crawl_end, "wait", now["OUTAGE_END_WAIT"]),
        now=False,
    )


def heed_sheets(
    sheets: Sheets, in_force: InForce, frontier: Frontier, pipeline: LinkPipeline
) -> None:
    """Have the parts hear what sheets set for domains, now and whenever that changes."""

    # `own`: what the sheet of a host sets; all other settings are those in force.
    def of_host(own: Mapping[str, Any]) -> HostTerms:
        return own_of(without_conflict(with_values(in_force.values, own)))

    names = list(OF_HOST)
    # An address then has one request at a time, whichever host it is.
    if in_force.values["POLITENESS_PER_IP"]:
        names.remove("HOST_CONNECTIONS")
    sheets.listen(names, of_host, frontier.steering.set_host_terms)
    # what no sheet says follows all others
    in_force.listen(OF_FRONTIER, lambda _: sheets.tell(OF_HOST), now=False)
    budgets = frontier.domains.budgets
    if budgets is not None:
        sheets.listen(
            [BUDGET],
            lambda own: allowance_of(with_values(in_force.values, own)),
            budgets.set_overrides,
        )
    sheets.listen([DEPTH], lambda settings: settings[DEPTH], partial(_tell, pipeline, DepthFilter))
    sheets.listen([SCOPE], lambda settings: settings[SCOPE], partial(_tell, pipeline, PageScope))
    # A change of these settings makes the filters anew, which have not heard of any sheet.
    in_force.listen([SCOPE, *OF_FILTERS], lambda _: sheets.tell((DEPTH, SCOPE)), now=False)


def _tell(
    pipeline: LinkPipeline, kind: type[DepthFilter | PageScope], found: PerHost[Any] | None
) -> None:
    """Set the values of hosts with a sheet at each filter of this kind."""
    for url_filter in pipeline.chain.filters:
        if isinstance(url_filter, kind):
            url_filter.per_host = found
