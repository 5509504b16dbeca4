"""Builds the chain of filters, the comparison form and the pipeline from settings."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from webcrawl.base.loading import load
from webcrawl.urls.filters.filter_chain import Chain
from webcrawl.urls.filters.filter_protocol import Clock, Setup, UrlFilter
from webcrawl.urls.filters.named_filter import named_filter
from webcrawl.urls.foldings import Folding, compose, read_host_rules
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.link_pipeline import LinkPipeline
from webcrawl.urls.url_fingerprint import Fingerprints


def build_filters(
    settings: Mapping[str, Any],
    *,
    key: bytes = bytes(16),
    clock: Clock = time.time,
    domains: RegisteredDomains | None = None,
    last: Sequence[UrlFilter] = (),
) -> Chain:
    """Builds URL_FILTERS in their order, without those that the settings leave nothing to do; `last` follow them."""
    setup = Setup(settings, clock, key, domains or RegisteredDomains())
    wanted = {path: order for path, order in settings["URL_FILTERS"].items() if order is not None}
    built = [named_filter(path, setup) for path in sorted(wanted, key=wanted.__getitem__)]
    return Chain([*(one for one in built if one is not None), *last])


def build_folding(settings: Mapping[str, Any]) -> Folding | None:
    """The comparison form: host rules first, then URL_FOLDINGS in their order. None means the URL itself."""
    foldings: list[Folding] = [load(path) for path in settings["URL_FOLDINGS"]]
    if settings["URL_HOST_RULES"]:
        foldings.insert(0, read_host_rules(Path(settings["URL_HOST_RULES"])))
    return compose(foldings)


def build_pipeline(
    settings: Mapping[str, Any],
    key: bytes,
    clock: Clock = time.time,
    domains: RegisteredDomains | None = None,
    last: Sequence[UrlFilter] = (),
    fingerprints: Fingerprints | None = None,
) -> LinkPipeline:
    """The pipeline that takes a page's links to the seen store."""
    chain = build_filters(settings, key=key, clock=clock, domains=domains, last=last)
    numbers = fingerprints or Fingerprints(key)
    folding, longest = build_folding(settings), settings["URL_MAX_LENGTH"]
    return LinkPipeline(chain, folding, numbers, longest, requisites=settings["REQUISITES"])
