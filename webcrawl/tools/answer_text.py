"""The answer to a command (`webcrawl ctl`) as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from webcrawl.base.readable import readable
from webcrawl.crawl import progress
from webcrawl.crawl.bound import in_words as causes_in_words
from webcrawl.store.jobdir.revisit_figures import figures_of, in_words

MAX_CELL_CHARS = 60  # --json prints longer values whole


def answer_lines(answer: Any) -> Iterator[str]:
    """Yield the lines of an answer, with control characters escaped.

    A mapping has a line for each key. A list of flat mappings is a table. Each item of any other
    list has lines of its own.
    """
    for line in _lines(answer):
        yield readable(line)


def status_lines(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield the progress of a crawl or a hive: the main ones of the figures that `--json` prints."""
    state = figures.get("state", "")
    trouble = figures.get("trouble") or ""
    # A paused crawl has "paused" for both.
    why = f" ({trouble})" if trouble not in ("", state) else ""
    yield readable(
        f"{state}{why}, {figures.get('seconds', 0):.0f} s since the start: {progress.line(figures)}"
    )
    waits = figures.get("waits")
    if waits:
        yield readable(str(waits))
    bound = figures.get("bound") or causes_in_words(figures)
    if bound:
        yield readable(f"bound by {bound}")
    revisits = figures_of(figures)
    if revisits is not None:
        yield in_words(revisits)
    if figures.get("in_force"):
        yield "in force by command:"
        yield from (f"  {readable(str(line))}" for line in figures["in_force"])
    yield from answer_lines(figures.get("drones", []))


def _lines(answer: Any) -> Iterator[str]:
    if isinstance(answer, Mapping):
        yield from _mapping(answer)
    elif isinstance(answer, Sequence) and not isinstance(answer, str):
        yield from _list(answer)
    else:
        yield _plain_text(answer)


def _mapping(answer: Mapping[Any, Any]) -> Iterator[str]:
    """Yield a line for each plain value, and for each other value a heading and indented lines."""
    plain_names = [str(name) for name, value in answer.items() if _is_plain(value)]
    width = max(map(len, plain_names), default=0)
    for name, value in answer.items():
        if _is_plain(value):
            yield f"{name!s:<{width}}  {_plain_text(value)}".rstrip()
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
    heading = list(dict.fromkeys(chain.from_iterable(items)))
    rows = [[_shortened(_plain_text(item.get(name))) for name in heading] for item in items]
    lines = [heading, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for row in lines:
        cells = map(str.ljust, row, widths)
        yield "  ".join(cells).rstrip()


def _is_plain(value: Any) -> bool:
    """Return whether a value has one line: it is a text or a number, or it is empty."""
    has_parts = isinstance(value, (Mapping, Sequence)) and not isinstance(value, str)
    return not has_parts or not value


def _is_cell(value: Any) -> bool:
    """Return whether a value is plain, or a list of plain values only."""
    return _is_plain(value) or (not isinstance(value, Mapping) and all(map(_is_plain, value)))


def _shortened(cell: str) -> str:
    return cell if len(cell) <= MAX_CELL_CHARS else f"{cell[: MAX_CELL_CHARS - 3]}..."


def _plain_text(value: Any) -> str:
    """Return a value as text. Items of a list have commas between; a dash stands for nothing."""
    if isinstance(value, (list, tuple)) and value:
        return ",".join(map(str, value))
    if value is None or value in ([], {}):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.12g}"
    return str(value)
