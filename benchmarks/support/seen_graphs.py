"""Real link graphs and crawl logs as streams of pages, each a list of the URLs on it (see
WEBCRAWL_CASES).
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

from webcrawl.base.zstd_frame import zstd

Pages = list[list[str]]


def lines(path: Path) -> list[str]:
    with zstd.open(path) as file:
        return io.TextIOWrapper(file, "utf-8").read().splitlines()


def links(path: Path) -> dict[str, list[str]]:
    """Return the targets of each source, in the order of the file."""
    pages: dict[str, list[str]] = {}
    for line in lines(path):
        if "\t" in line and not line.startswith("#"):
            source, target = line.split("\t")
            pages.setdefault(source, []).append(target)
    return pages


def breadth_first(pages: dict[str, list[str]], start: str) -> Iterator[list[str]]:
    """Yield the start, and then the links of each page in the order of a crawl."""
    queue, known = [start], {start}
    yield [start]
    for page in queue:
        found = pages.get(page, [])
        yield found
        new = [target for target in dict.fromkeys(found) if target not in known]
        known.update(new)
        queue += new


def hollins(cases: Path) -> Pages:
    """Return the pages of a university's site in 2004, from its home page on.

    Its links are like those of many small crawls.
    """
    urls = dict(line.split("\t") for line in lines(cases / "graph-hollins" / "urls.tsv.zst"))
    pages = links(cases / "graph-hollins" / "edges.tsv.zst")
    return [[urls[number] for number in page] for page in breadth_first(pages, "2")]


def wikispeedia(cases: Path) -> Pages:
    """Return the pages of a small encyclopedia, in the order of a crawl from its first article."""
    pages = links(cases / "graph-wikispeedia" / "links.tsv.zst")
    return list(breadth_first(pages, next(iter(pages))))


def logs(cases: Path) -> Pages:
    """Return what two crawlers downloaded, one URL per page."""
    found = [
        line
        for name in ("uci-2020-04", "uci-2025-05")
        for line in lines(cases / "crawl-logs" / f"{name}.log.zst")
    ]
    return [[url] for line in found for url in re.findall(r"Downloaded (\S+), status", line)]


STREAMS = {"graph-hollins": hollins, "graph-wikispeedia": wikispeedia, "crawl-logs": logs}
