"""Which pages of a known graph are good: from a list, or from the table of pages of a crawl with a SCORER."""

from __future__ import annotations

from pathlib import Path

from webcrawl.base.libraries import missing
from webcrawl.lab.studies.traces import NoTrace

GOOD = 0.5  # the least score of a good page


def read_scores(path: Path) -> dict[str, float]:
    """The scores of pages. In a list a page may stand without one, and is good; pages that are not there are not."""
    found = _of_tables(path) if path.is_dir() else _of_list(path)
    if not any(score >= GOOD for score in found.values()):
        raise NoTrace(f"{path}: no page has a score of {GOOD} or more")
    return found


def _of_list(path: Path) -> dict[str, float]:
    found: dict[str, float] = {}
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            name, _, score = line.strip().partition("\t")
            try:
                found[name] = float(score or 1)
            except ValueError:
                raise NoTrace(f"{path}, line {number}: {score!r} is no score") from None
    found.pop("", None)
    return found


def _of_tables(path: Path) -> dict[str, float]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - optional
        import pyarrow.parquet as pq  # noqa: PLC0415 - as above
    except ImportError:
        raise NoTrace(f"{path}: {missing('pyarrow')}") from None
    found: dict[str, float] = {}
    for file in sorted(path.glob("tables/pages-*.parquet")):
        try:
            table = pq.read_table(file, columns=["url", "score"]).to_pydict()
        except (pa.ArrowException, ValueError) as error:
            raise NoTrace(f"{file}: {error}") from error
        found.update((url, score) for url, score in zip(table["url"], table["score"], strict=True) if score is not None)
    return found
