"""Builds the chain of filters, the comparison form and the pipeline from settings."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.loading import load
from webcrawl.urls.filters.chain import Chain
from webcrawl.urls.filters.protocol import Clock, Setup
from webcrawl.urls.fingerprint import Fingerprints
from webcrawl.urls.foldings import compose
from webcrawl.urls.host_rules import read_host_rules
from webcrawl.urls.hosts import RegisteredDomains
from webcrawl.urls.pipeline import LinkPipeline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webcrawl.urls.filters.protocol import FromSetup, UrlFilter
    from webcrawl.urls.foldings import Folding


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
    classes: list[type[FromSetup]] = [load(path) for path in sorted(wanted, key=wanted.__getitem__)]
    built = [one.from_setup(setup) for one in classes]
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
