"""What becomes of answers without a text, and of texts that nobody can read, in a corpus."""

import gzip
import json

import pytest

from tests.support.named_sites import Typed, sites
from tests.support.tables import rows

pytest.importorskip(
    "trafilatura", reason="documents are made by trafilatura: pip install 'trafilatura>=2.0,<3'"
)
pytest.importorskip(
    "resiliparse", reason="languages are found by resiliparse: pip install 'resiliparse>=0.15,<3'"
)

LOST = "\ufffd" * 400
PAGES = {
    "/": "".join(
        f'<p>A start page with some words of its own.<a href="{at}">{at}</a>' for at in "abcdef"
    ).encode(),
    "/a": (204, [], b""),
    "/b": b"<title>No text</title><script>draw()</script><img src=x.png>",
    "/c": f"<meta charset=utf-8><h1>News</h1><article><p>{LOST} and {LOST}</article>".encode(),
    "/d": Typed(f"{LOST}\n{LOST}".encode(), "text/plain; charset=utf-8"),
    "/e": Typed(
        b"A plain text that anybody can read, with one \xff of another encoding.",
        "text/plain; charset=utf-8",
    ),
    "/f": Typed(b"", "text/plain"),
}


def test_no_empty_document_and_no_garbage_unmarked(tmp_path):
    """A 204 and a page without text make no document; a text of mostly U+FFFD is marked.

    Each made a row with an empty text, and pages that their server had decoded wrongly stood in a
    corpus as texts.
    """
    with sites(lambda _, path, __: PAGES.get(path)) as served:
        crawl = served.crawl(tmp_path, ["a.test"], OUTPUTS="documents text", MIN_FREE_DISK=0)
        assert crawl.run() == 0, crawl.output.read_text()

    documents = {row["url"][-1]: row for row in rows(crawl.jobdir, "documents")}
    assert documents.keys() == {"/", "c", "d", "e"}
    assert {name for name, row in documents.items() if row["flaw"] == "undecodable"} == {"c", "d"}
    assert all(row["text"] for row in documents.values() if row["flaw"] is None)
    texts = [gzip.decompress(path.read_bytes()) for path in (crawl.jobdir / "text").glob("*.gz")]
    lines = {line["url"][-1]: line for text in texts for line in map(json.loads, text.splitlines())}
    assert lines.keys() == {"/", "c", "d", "e"}
    assert {name for name, line in lines.items() if line.get("undecodable")} == {"c", "d"}
