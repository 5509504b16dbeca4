"""What only a running crawl knows of URLs. It is asked over its control socket, if it has one and answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webcrawl.why.source import Source


def ask(source: Source, urls: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """By canonical URL; nothing of a crawl that does not run."""
    del source, urls
    return {}
