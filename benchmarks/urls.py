"""A page's 40 links on their way to the seen store, stage by stage, compared with what Scrapy does
for them.

`relative` are pages of rooted, relative and fragment links; `absolute` link to other hosts; `real`
are the pages of html-newspaper and html-readability, if WEBCRAWL_CASES names their folder.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from urllib.parse import urljoin

from scrapy import Request
from scrapy.utils.request import fingerprint
from w3lib.url import canonicalize_url

from benchmarks.support.report import report, timed
from webcrawl import settings
from webcrawl.frontier.seen.caches.clock import ClockCache
from webcrawl.urls.canonical import canonical_links, match_plain
from webcrawl.urls.filters.filter_protocol import Origin
from webcrawl.urls.link_pipeline import LinkPipeline, build_filters
from webcrawl.urls.url_fingerprint import Fingerprints

LINKS, CACHE, KEY = 40, 2**16, bytes(range(16))
SETTINGS = {name: value for name, value in vars(settings).items() if name.isupper()}
Page = tuple[str, list[str]]


def relative_pages(link_count: int, random: Random) -> Iterator[Page]:
    """Yield pages whose links stay on their host: navigation, and thousands of stories."""
    for _ in range(link_count // LINKS):
        site = int(random.paretovariate(0.8)) % 5000
        stories = [_story(random.randrange(20_000)) for _ in range(LINKS - 16)]
        navigation = [f"/section{i}/?page={i}" for i in range(12)] + [
            "#top",
            "../",
            "about.html",
            "?print=1",
        ]
        yield f"http://www.site{site}.example/news/2014/index.html", navigation + stories


def absolute_pages(link_count: int, random: Random) -> Iterator[Page]:
    """Yield pages whose links all name a host."""
    for page, links in relative_pages(link_count, random):
        yield (
            page,
            [
                f"https://www.site{random.randrange(5000)}.example{_story(i)}"
                for i in range(len(links))
            ],
        )


def real_pages(folder: Path) -> Iterator[Page]:
    """Yield real pages with their links as they are written there."""
    for name in ("html-newspaper", "html-readability"):
        with gzip.open(folder / name / "links.jsonl.gz", "rt") as lines:
            for page in map(json.loads, lines):
                yield (
                    page["base"],
                    [
                        link[1]
                        for link in page["links"]
                        if link[0] in ("a", "area", "frame", "iframe")
                    ],
                )


def main() -> None:
    """Measure each workload."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.urls", description=__doc__)
    parser.add_argument(
        "--n", type=int, default=400_000, help="links per workload (`real` has a fixed number)"
    )
    options = parser.parse_args()
    workloads = {
        "relative": list(relative_pages(options.n, Random(1))),
        "absolute": list(absolute_pages(options.n, Random(2))),
    }
    if cases := os.environ.get("WEBCRAWL_CASES"):
        workloads["real"] = list(real_pages(Path(cases))) * 4
    for name, pages in workloads.items():
        measure(name, pages)


def measure(workload: str, pages: list[Page]) -> None:
    """Report the cost of everything, of each stage alone, and of the baseline."""
    links = sum(len(found) for _, found in pages)
    plain = sum(match_plain(link) is not None for _, found in pages for link in found)
    figures: dict[str, float] = {}
    for stage, run in stages(pages).items():
        with timed() as clock:
            run()
        figures[stage] = clock.cpu / links * LINKS * 1e6
    report(
        f"urls/{workload}",
        links=links,
        plain_share=plain / links,
        links_per_cpu_second=int(LINKS * 1e6 / figures["pipeline_and_cache"]),
        times_baseline=figures["baseline"] / figures["pipeline_and_cache"],
        **{f"{stage}_us_per_40": value for stage, value in figures.items()},
    )


def stages(pages: list[Page]) -> dict[str, Callable[[], None]]:
    """Return the whole pipeline, and each stage alone on what the stage before makes of the
    pages.
    """
    filtered: Counter[str] = Counter()
    filters, fingerprints = build_filters(SETTINGS), Fingerprints(KEY)
    whole = LinkPipeline(build_filters(SETTINGS), None, fingerprints)
    joined = [
        [url for url in canonical_links(page, found, filtered).values() if url]
        for page, found in pages
    ]
    kept = [
        filters.keep(urls, Origin(page, 1), filtered)
        for (page, _), urls in zip(pages, joined, strict=True)
    ]
    numbers = [fingerprints(urls) for urls in kept]
    cache, second = ClockCache(CACHE), ClockCache(CACHE)

    def everything() -> None:
        for page, found in pages:
            cache.misses(whole.process(page, 1, found).keys)

    def joining() -> None:
        for page, found in pages:
            canonical_links(page, found, filtered)

    def filtering() -> None:
        for (page, _), urls in zip(pages, joined, strict=True):
            filters.keep(urls, Origin(page, 1), filtered)

    def fingerprinting() -> None:
        for urls in kept:
            fingerprints(urls)

    def caching() -> None:
        for batch in numbers:
            second.misses(batch)

    return {
        "pipeline_and_cache": everything,
        "canonical": joining,
        "filters": filtering,
        "fingerprints": fingerprinting,
        "cache": caching,
        "baseline": lambda: baseline(pages),
    }


def baseline(pages: list[Page]) -> None:
    """What a Scrapy spider does: urljoin, canonicalize_url, a Request and its fingerprint, a set."""
    seen: set[bytes] = set()
    for page, found in pages:
        for link in found:
            try:
                request = Request(canonicalize_url(urljoin(page, link)))
            except ValueError:
                continue
            seen.add(fingerprint(request))


def _story(number: int) -> str:
    return f"/news/2014/{number % 12 + 1}/{number}/a-story-that-has-number-{number}.html"


if __name__ == "__main__":
    main()
