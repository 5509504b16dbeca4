"""An index outside the crawl follows monthly crawls by their texts alone."""

import gzip
import json
from collections import Counter

import pyarrow.parquet as pq
import pytest

from tests.support.named_sites import sites
from webcrawl.tools.verify_crawl import verify

pytestmark = pytest.mark.xdist_group("since index")  # two crawls for all tests
FIRST = {
    name: f"<p>{name} in the first month"
    for name in ("same", "other", "gone", "away", "moved", "copy", "bare")
}
SECOND = {
    "same": FIRST["same"],
    "other": "<p>other words",
    "gone": 404,
    "away": 410,
    "moved": 301,
    "copy": FIRST["same"],  # a body that another page has, which is not processed
    "bare": "<img src=x>",
    "new": "<p>a new page",
    "broken": 404,  # was never there
}


class Months:
    """A site whose pages are other ones in the second month; half of them have an ETag."""

    def __init__(self):
        self.pages = FIRST

    def __call__(self, host, path, headers):
        if path == "/robots.txt":
            return b""
        links = "".join(f"<a href=/{name}>" for name in self.pages).encode()
        if path == "/":
            return links
        page = self.pages.get(path[1:], 404)
        if isinstance(page, int):
            return page, [("Location", "/same")] if page == 301 else [], b"<p>not here"
        sent = [("ETag", f'"{hash(page)}"')] if path[1] in "sgoc" else []
        if sent and headers.get("If-None-Match") == sent[0][1]:
            return 304, sent, b""
        return 200, sent, page.encode()


@pytest.fixture(name="months", scope="module")
def _months(tmp_path_factory):
    folder, site, crawls = tmp_path_factory.mktemp("index"), Months(), []
    with sites(site, all_headers=True) as served:
        for name, pages in (("jan", FIRST), ("feb", SECOND)):
            site.pages = pages
            (folder / name).mkdir()
            crawl = served.crawl(folder / name, ["site.test"], OUTPUTS="warc cdxj text documents")
            if crawls:
                crawl.arguments["since"] = crawls[0].jobdir
            assert crawl.run() == 0, crawl.output.read_text()
            crawls.append(crawl)
    return crawls


def lines(crawl):
    """The lines of its texts, in their order."""
    for path in sorted((crawl.jobdir / "text").glob("*.jsonl.gz")):
        with gzip.open(path, "rt") as file:
            yield from map(json.loads, file)


def name_of(url):
    return url.rpartition("/")[2]


def test_an_index_that_is_given_both_months(months):
    """A line without text deletes a page, any other one replaces it: the index has the second
    month.

    Pages that were gone, and those that had become copies or had no text any more, were in no line.
    """
    index = {}
    for crawl in months:
        for line in lines(crawl):
            index[name_of(line["url"])] = line["text"]
    found = {name: text for name, text in index.items() if text}

    same = FIRST["same"].removeprefix("<p>")
    assert found == {"same": same, "other": "other words", "new": "a new page"}


def test_each_change_is_named(months):
    """Texts and documents name what changed and what went; what is new, or as it was, has no such
    word.
    """
    second = months[1]
    told = {name_of(line["url"]): line.get("change", "new") for line in lines(second)}
    gone = dict.fromkeys(("gone", "away", "moved"), "gone")
    changed = dict.fromkeys(("", "other", "copy", "bare"), "changed")
    (table,) = (second.jobdir / "tables").glob("documents-*.parquet")
    documents = {name_of(row["url"]): row["change"] for row in pq.read_table(table).to_pylist()}

    assert told == {"same": "new", "new": "new", **changed, **gone}
    assert {name: documents.get(name) for name in told} == told


def test_they_are_counted(months):
    """The counters and the last lines have what changed and what went; `verify` is content."""
    second = months[1]

    assert (second.stats["since/changed"], second.stats["since/gone"]) == (4, 3)
    assert (
        "4 pages changed since the earlier crawl, 3 gone (404, 410 or moved for good)"
        in second.output.read_text()
    )
    assert list(verify(second.jobdir, Counter())) == []
