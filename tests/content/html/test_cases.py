"""The links of real pages equal the reference."""

import gzip
import json

import ada_url
import pytest

from tests.support.cases import cases
from webcrawl.content.html import link_kinds, tree_guard
from webcrawl.content.html.link_reader import LinkReader

READER = LinkReader([*link_kinds.FOLLOWED, "link", "feed"])
TAGS = {"meta": "refresh", "canonical": "link", "feed": "link"}


@pytest.mark.parametrize("name", ["html-newspaper", "html-readability"])
def test_real_pages_give_their_links(name):
    """Every link of every page in document order, the base, the targets and the robots directives are equal."""
    folder = cases(name)
    count = 0
    for line in gzip.decompress((folder / "links.jsonl.gz").read_bytes()).splitlines():
        row = json.loads(line)
        url = row["url"] or "http://base.example/dir/page.html"
        found = READER.links(gzip.decompress((folder / row["file"]).read_bytes()), "text/html", url)
        assert [(TAGS.get(kind, kind), link) for kind, link, _, _ in found.links] == [
            (TAGS.get(tag, tag), raw) for tag, raw, *_ in row["links"]
        ], row["id"]
        assert found.base == row["base"]
        assert found.meta_robots == {part.strip().lower() for part in ",".join(row["meta_robots"]).split(",")} - {""}
        for (_, link, _, _), (_, _, target, *_) in zip(found.links, row["links"], strict=True):
            assert _joined(found.base, link) == target
            count += 1
    assert count > 10_000


def _joined(base, link):
    try:
        return ada_url.join_url(base, link)
    except ValueError:
        return None


@pytest.mark.parametrize("name", ["html-newspaper", "html-readability"])
def test_heavy_pages_would_give_the_same(name, monkeypatch):
    """If every page were too heavy for lexbor, libxml2 would find the same set of links."""
    monkeypatch.setattr(tree_guard, "heavy", lambda html: True)
    folder = cases(name)
    for line in gzip.decompress((folder / "links.jsonl.gz").read_bytes()).splitlines():
        row = json.loads(line)
        found = READER.links(gzip.decompress((folder / row["file"]).read_bytes()), "text/html", "http://a.test/")
        assert {link for _, link, _, _ in found.links} == {raw for _, raw, *_ in row["links"]}, row["id"]
