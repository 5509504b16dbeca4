"""The figures of revisits in a few words, for progress, status and the end of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webcrawl.revisit.figures import NUMBERS, PREFIX, RevisitFigures
from webcrawl.text.quantities import count

RECORDS = PREFIX + "records"


def figures_of(stats: Mapping[str, Any]) -> RevisitFigures | None:
    """From what `Crawl.stats` or a stats.json has; None of a crawl that fetches nothing again."""
    if RECORDS not in stats:
        return None
    return RevisitFigures.of({name: stats[PREFIX + name] for name in NUMBERS if PREFIX + name in stats})


def fresh(figures: RevisitFigures) -> str:
    """The estimated share of fresh copies, or a dash while there is nothing to estimate it by."""
    return f"{figures.freshness:.0%}" if figures.sampled else "-"


def in_words(figures: RevisitFigures) -> str:
    """What came of revisits, as one clause after the other."""
    found = [
        f"{figures.unchanged} unchanged",
        f"{figures.changed} changed",
        f"{figures.gone} gone",
    ]
    if figures.forgotten:
        found.append(f"{figures.forgotten} forgotten")
    return (
        f"{count(figures.taken, 'revisit')} of {count(figures.records, 'page')} ({', '.join(found)}), "
        f"about {fresh(figures)} of all copies fresh"
    )
