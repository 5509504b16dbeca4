"""The answer to a command (`webcrawl ctl`) as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from webcrawl.base.readable import readable
from webcrawl.crawl import progress
from webcrawl.crawl.bound import in_words as causes_in_words
from webcrawl.store.jobdir.revisit_figures import figures_of, in_words

WIDEST = 60  # characters of a cell; --json has all


def shown(answer: Any) -> Iterator[str]:
    """Yield the lines of an answer; whatever is in it, a terminal can show them.

    A mapping is a line for each key. A list of flat mappings is a table, and of any other list each
    item has its lines.
    """
    for line in _lines(answer):
        yield readable(line)


def status(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield the progress of a crawl or a hive: the main figures of all that `--json` has."""
    state = figures.get("state", "")
    trouble = figures.get("trouble") or ""
    # A paused crawl has "paused" for both.
    why = f" ({trouble})" if trouble not in ("", state) else ""
    yield readable(
        f"{state}{why}, {figures.get('seconds', 0):.0f} s since the start: {progress.line(figures)}"
    )
    if waits := figures.get("waits"):
        yield readable(str(waits))
    if bound := figures.get("bound") or causes_in_words(figures):
        yield readable(f"bound by {bound}")
    revisits = figures_of(figures)
    if revisits is not None:
        yield in_words(revisits)
    if figures.get("in_force"):
        yield "in force by command:"
        yield from (f"  {readable(str(line))}" for line in figures["in_force"])
    yield from shown(figures.get("drones", []))


def _lines(answer: Any) -> Iterator[str]:
    if isinstance(answer, Mapping):
        yield from _mapping(answer)
    elif isinstance(answer, Sequence) and not isinstance(answer, str):
        yield from _list(answer)
    else:
        yield _said(answer)


def _mapping(answer: Mapping[Any, Any]) -> Iterator[str]:
    """Yield a line for each plain value, and of all others a heading with their lines below it."""
    plain = [str(name) for name, value in answer.items() if _is_plain(value)]
    width = max(map(len, plain), default=0)
    for name, value in answer.items():
        if _is_plain(value):
            yield f"{name!s:<{width}}  {_said(value)}".rstrip()
            continue
        yield f"{name}:"
        for line in _lines(value):
            yield f"  {line}"


def _list(items: Sequence[Any]) -> Iterator[str]:
    if items and all(map(_is_row, items)):
        yield from _table(items)
        return
    for item in items:
        yield from _lines(item)


def _is_row(item: Any) -> bool:
    return isinstance(item, Mapping) and all(map(_is_cell, item.values()))


def _table(items: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a heading and a line for each item, in columns as wide as their longest cell."""
    heads = list(dict.fromkeys(chain.from_iterable(items)))
    cells_of = [[_short(_said(item.get(name))) for name in heads] for item in items]
    rows = [heads, *cells_of]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = map(str.ljust, row, widths)
        yield "  ".join(cells).rstrip()


def _is_plain(value: Any) -> bool:
    return isinstance(value, str) or not isinstance(value, (Mapping, Sequence)) or not value


def _is_cell(value: Any) -> bool:
    """Return whether a value is plain, or has only plain ones in it."""
    if _is_plain(value):
        return True
    parts = value.values() if isinstance(value, Mapping) else value
    return all(map(_is_plain, parts))


def _short(cell: str) -> str:
    return cell if len(cell) <= WIDEST else f"{cell[: WIDEST - 3]}..."


def _said(value: Any) -> str:
    if isinstance(value, (list, tuple)) and value:
        return ",".join(map(str, value))
    if value is None or value in ([], {}):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.12g}"
    return str(value)
