"""Documents in Markdown that sites offer beside their pages, crawled by `scrapy crawl web`."""

import pytest
from pyarrow import parquet

from tests.support.named_sites import Typed, sites

WORDS = "Lamps of clay burn oil and give a light that is small but steady. " * 5
ANSWERS = {
    "/": f"<link rel=alternate type=text/markdown href=home.md><p>{WORDS}<a href=/deep/>".encode(),
    "/deep/": f"<p>{WORDS}deep".encode(),
    "/home.md": Typed(f"# Home\n\n{WORDS}[deep](/deep/)".encode(), "text/markdown"),
    "/llms.txt": Typed(b"# Lamps\n\n- [Hidden](hidden.md)", "text/plain"),
    "/hidden.md": Typed(f"# Hidden\n\n{WORDS}hidden".encode(), "text/markdown"),
}


@pytest.mark.parametrize(
    ("settings", "paths"),
    [
        ({}, {"/", "/deep/"}),
        ({"MARKDOWN_LINKS": True}, {*ANSWERS}),
        ({"LINK_SOURCES": "link"}, {"/", "/home.md"}),
    ],
    ids=["off", "on", "links of all kinds"],
)
def test_what_is_fetched(tmp_path, settings, paths):
    """With MARKDOWN_LINKS: the same in Markdown, and what llms.txt lists, which is requested once."""
    with sites(lambda _host, path, _: ANSWERS.get(path)) as served:
        crawl = served.crawl(tmp_path, ["site.test"], **settings)
        crawl.arguments["scope"] = "host"
        assert crawl.run() == 0

    assert sorted(path for _, path in served.pages()) == sorted(paths)


def test_documents(tmp_path):
    """A page's row has the address of its Markdown, whose own row has that text as it is."""
    with sites(lambda _host, path, _: ANSWERS.get(path)) as served:
        crawl = served.crawl(tmp_path, ["site.test"], MARKDOWN_LINKS=True, OUTPUTS="documents")
        crawl.arguments["scope"] = "host"
        assert crawl.run() == 0

    (file,) = (crawl.jobdir / "tables").glob("documents-*.parquet")
    rows = {
        row["url"].rpartition(f":{served.port}")[2]: row
        for row in parquet.read_table(file).to_pylist()
    }
    home = rows["/"]["markdown"].rpartition(f":{served.port}")[2]
    assert (home, rows[home]["title"]) == ("/home.md", "Home")
    assert rows[home]["text"] == ANSWERS[home].body.decode()
    assert rows["/deep/"]["markdown"] is None
