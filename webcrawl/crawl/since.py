"""What is counted and logged of an answer whose payload an earlier crawl has."""

from __future__ import annotations

from collections import Counter

from webcrawl.model import Exchange


def count_known(counters: Counter[str], exchange: Exchange) -> None:
    """Counts one such answer; its payload is not stored again."""
    counters["since/unmodified" if exchange.unmodified else "since/identical"] += 1
    counters["since/bytes"] += len(exchange.payload)


def note_of(exchange: Exchange) -> str:
    """Its annotation in crawl.log."""
    return "since:304" if exchange.unmodified else "since:digest"
