"""Where a setting that changes while the crawl runs goes: to the part that holds it, which nobody asks anew.

What the start checked is checked here as well. Nothing on the way of a page has a look at the settings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from webcrawl.control.errors import CommandError
from webcrawl.crawl.admission import CrawlAdmission
from webcrawl.crawl.filter_states import FilterStates
from webcrawl.crawl.terms import META, SCOPE, OtherTerms, Terms, refuse
from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.filters.chain import Chain
from webcrawl.urls.pipeline import LinkPipeline


class Filters:
    """The chain of URL filters, in all places that use it; another one takes over what this one has learned."""

    def __init__(
        self,
        build: Callable[[Mapping[str, Any]], Chain],
        pipeline: LinkPipeline,
        admission: CrawlAdmission,
        states: FilterStates,
    ) -> None:
        self._build, self._pipeline, self._admission, self._states = build, pipeline, admission, states

    def change(self, values: Mapping[str, Any]) -> None:
        """RulesError: these are no filters, and those before stay."""
        chain = self._build(values)
        chain.restore(self._pipeline.chain.state())
        self._pipeline.use(chain, values["URL_MAX_LENGTH"])
        self._admission.chain = self._states.chain = chain


def change_scope(db: CrawlDB, values: Mapping[str, Any]) -> None:
    """Notes another scope in the crawl's terms: a later run has to know which seeds were noted under it.

    CommandError: it cannot be had within this crawl.
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
