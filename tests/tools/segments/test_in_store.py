"""Crawls whose finished files lie in a store: what was not read from them is no silent loss."""

from contextlib import closing

from tests.support.objectstore import FakePlace, StoredCrawl
from tests.tools.segments.crawls import builder, values
from webcrawl.crawl.last_run import keep_terms, terms_of
from webcrawl.store.jobdir.meta_row import CLEAN
from webcrawl.tools.segments.left import TABLE, left_by

NAME = "tables/links-00000.parquet"


def test_tables_in_a_store_are_counted_as_lost(tmp_path, caplog):
    """The links in them are missing from the segment; but for those of files that an earlier build has read."""
    with closing(StoredCrawl(tmp_path, FakePlace(), keep=False)) as crawl:
        keep_terms(crawl.db, terms_of("web", {}, values()))
        crawl.db.set("key", bytes(16))
        crawl.db.set(CLEAN, b"1")
        crawl.finish(NAME)
        crawl.outputs.open("logs/crawl.log")
        crawl.rounds(5)
    assert not (tmp_path / NAME).exists()
    with builder(tmp_path) as made:
        made.read(left_by(tmp_path))
        assert made.lost == 1
        made._db.set(f"{TABLE}{tmp_path.resolve() / NAME}", b"1")
        made.read(left_by(tmp_path))

        assert made.lost == 1
    assert f"{NAME}: taken away before it was read: copy it back" in caplog.text
