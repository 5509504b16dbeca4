"""Which parts of a crawl heed the settings of single domains and hosts (control/sheets.py)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from webcrawl.control.changeable import OF_FILTERS, OF_FRONTIER
from webcrawl.control.in_force import InForce
from webcrawl.control.sheets import BUDGET, DEPTH, OF_HOST, SCOPE, PerHost, Sheets, without_conflict
from webcrawl.crawl.rules import allowance_of, own_of
from webcrawl.frontier.booking import Own
from webcrawl.frontier.frontier import Frontier
from webcrawl.urls.filters.depth import DepthFilter
from webcrawl.urls.filters.scope import PageScope
from webcrawl.urls.pipeline import LinkPipeline


def heed(sheets: Sheets, in_force: InForce, frontier: Frontier, pipeline: LinkPipeline) -> None:
    """Passes on what they say, now and whenever they change."""

    def of_host(settings: Mapping[str, Any]) -> Own:
        return own_of(without_conflict({**in_force.values, **settings}))

    alike = {"HOST_CONNECTIONS"} if in_force.values["POLITENESS_PER_IP"] else set()  # an address has one request
    sheets.listen([name for name in OF_HOST if name not in alike], of_host, frontier.vary)
    in_force.listen(OF_FRONTIER, lambda _: sheets.tell(OF_HOST), now=False)  # what no sheet says follows all others
    budgets = frontier.budgets
    if budgets is not None:
        sheets.listen([BUDGET], lambda settings: allowance_of({**in_force.values, **settings}), budgets.vary)
    sheets.listen([DEPTH], lambda settings: settings[DEPTH], partial(_tell, pipeline, DepthFilter))
    sheets.listen([SCOPE], lambda settings: settings[SCOPE], partial(_tell, pipeline, PageScope))
    in_force.listen([SCOPE, *OF_FILTERS], lambda _: sheets.tell((DEPTH, SCOPE)), now=False)  # there are other filters


def _tell(pipeline: LinkPipeline, kind: type[DepthFilter | PageScope], found: PerHost[Any] | None) -> None:
    for one in pipeline.chain.filters:
        if isinstance(one, kind):
            one.per_host = found
