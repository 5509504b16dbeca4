"""The annotations of an answer in crawl.log (docs/logs.md)."""

from __future__ import annotations

from webcrawl.crawl.since import note_of
from webcrawl.model import Exchange, Link
from webcrawl.revisit.change import By, Change


def notes_of(link: Link, exchange: Exchange | None) -> list[str]:
    """All of them, but for the number of tries."""
    notes = [] if exchange is None else _of_answer(exchange)
    if link.history and link.is_revisit:
        return [*_of_revisit(exchange), *notes]
    return notes


def _of_revisit(exchange: Exchange | None) -> list[str]:
    """Of a page that was fetched again; `same-text`: other bytes that show the same."""
    found = exchange.revisit if exchange is not None else None
    if found is None:
        return ["revisit"]
    same = found.change is Change.CHANGED and found.by is By.DIGEST
    return ["revisit", str(found.change), *(["same-text"] if same else [])]


def _of_answer(exchange: Exchange) -> list[str]:
    """Of what was not taken whole, not processed or not stored, and what others have noted."""
    notes = [f"truncated:{exchange.truncated}"] if exchange.truncated else []
    if exchange.duplicate:
        notes.append("duplicate:digest")  # Heritrix's words
    if exchange.followed:
        notes.append("seen:followed")
    if exchange.refers is not None:
        notes.append(note_of(exchange))
    notes += exchange.notes
    return [*notes, f"links_cut:{exchange.links_cut}"] if exchange.links_cut else notes
