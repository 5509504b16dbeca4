"""Which parts of a crawl heed the settings of single domains and hosts (control/sheets.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from webcrawl.control.in_force import InForce
from webcrawl.control.sheets import BUDGET, DEPTH, OF_HOST, SCOPE, PerHost, Sheets, without_conflict
from webcrawl.frontier.allowances import Allowance
from webcrawl.frontier.booking import Own
from webcrawl.frontier.frontier import Frontier
from webcrawl.urls.filters.chain import Chain
from webcrawl.urls.filters.depth import DepthFilter
from webcrawl.urls.filters.scope import PageScope


def heed(
    sheets: Sheets,
    in_force: InForce,
    frontier: Frontier,
    chain: Chain,
    *,
    own: Callable[[Mapping[str, Any]], Own],
    allowance: Callable[[int], Allowance],
) -> None:
    """`own` makes politeness and limits of all settings, `allowance` a policy of budgets of a number of pages."""

    def of_host(settings: Mapping[str, Any]) -> Own:
        return own(without_conflict({**in_force.values, **settings}))

    sheets.listen(OF_HOST, of_host, frontier.vary)
    in_force.listen(OF_HOST, lambda _: sheets.tell(OF_HOST))  # what a sheet does not say follows the crawl's settings
    budgets = frontier.budgets
    if budgets is not None:
        sheets.listen([BUDGET], lambda settings: allowance(settings[BUDGET]), budgets.vary)
    for one in chain.filters:
        if isinstance(one, DepthFilter):
            sheets.listen([DEPTH], lambda settings: settings[DEPTH], _hears(one))
        elif isinstance(one, PageScope):
            sheets.listen([SCOPE], lambda settings: settings[SCOPE], _hears(one))


def _hears(one: DepthFilter | PageScope) -> Callable[[PerHost[Any] | None], None]:
    def hear(found: PerHost[Any] | None) -> None:
        one.per_host = found

    return hear
