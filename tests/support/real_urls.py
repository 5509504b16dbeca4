"""All real URLs of the collected cases: logs, links of real pages, graphs, sitemaps, feeds, lists
of sites.
"""

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.cases import cases, unpacked
from webcrawl.content.html.link_reader import LinkReader
from webcrawl.urls.canonical import canonical_links

FOLDERS = (
    "crawl-logs", "html-newspaper", "html-readability", "graph-hollins", "site-uci-shared", "sitemaps", "feeds",
    "robots-real", "warc", "top-sites",
)  # fmt: skip
LONGEST = 2**20


@cache
def real_urls() -> tuple[str, ...]:
    """Every real URL once, in canonical form; skips the test if the cases are not available."""
    found: dict[str, None] = {}
    for folder in map(cases, FOLDERS):
        read = READERS[folder.name]
        found |= dict.fromkeys(url for url in _canonical("", list(read(folder))) if url)
    return tuple(found)


def _canonical(base: str, links: list[str]) -> Iterator[str | None]:
    yield from canonical_links(base, links, Counter(), LONGEST).values()


def _lines(path: Path) -> list[str]:
    return unpacked(path).decode().splitlines()


def _logs(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("*.zst")):
        for line in _lines(path):
            if found := re.search(r"Downloaded (\S+), status", line):
                yield found[1]


def _links(folder: Path) -> Iterator[str]:
    with gzip.open(folder / "links.jsonl.gz", "rt") as lines:
        for page in map(json.loads, lines):
            yield from (link[2] for link in page["links"] if link[2])


def _graph(folder: Path) -> Iterator[str]:
    return (line.partition("\t")[2] for line in _lines(folder / "urls.tsv.zst"))


def _site(folder: Path) -> Iterator[str]:
    reader = LinkReader()
    for page in map(json.loads, _lines(folder / "pages.jsonl.zst")):
        yield page["url"]
        if page["html"]:
            found = reader.links(page["body"].encode(), "text/html; charset=utf-8", page["url"])
            yield from (
                url for url in _canonical(found.base, [raw for _, raw, _, _ in found.links]) if url
            )


def _index(folder: Path) -> Iterator[str]:
    for entry in json.loads((folder / "index.json").read_text()):
        reference = entry.get("reference", {})
        for name in ("locs", "item_links", "hreflang_links"):
            yield from (url for url in reference.get(name) or [] if isinstance(url, str))
        yield from (record["uri"] for record in entry.get("records") or [] if record.get("uri"))


def _sitemaps(folder: Path) -> Iterator[str]:
    with gzip.open(folder / "robots.jsonl.gz", "rt") as lines:
        for file in map(json.loads, lines):
            yield from file["sitemaps"]


def _sites(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("*.zst")):
        yield from (f"http://{line.rpartition(',')[2]}/" for line in _lines(path))


READERS = {
    "crawl-logs": _logs, "html-newspaper": _links, "html-readability": _links, "graph-hollins": _graph,
    "site-uci-shared": _site, "sitemaps": _index, "feeds": _index, "robots-real": _sitemaps, "warc": _index,
    "top-sites": _sites,
}  # fmt: skip
