"""A page that could not be archived is not done, whatever the reason."""

from types import SimpleNamespace

import pytest
from scrapy.exceptions import DropItem

from tests.support.warc_crawl import exchange
from webcrawl.items import Page
from webcrawl.model import Link
from webcrawl.pipelines import warc
from webcrawl.pipelines.warc import WarcPipeline
from webcrawl.store.errors import StoreError


@pytest.mark.parametrize("error", [StoreError("the disk is full"), MemoryError(), ZeroDivisionError("a bug")])
def test_a_failing_archive_ends_the_crawl(monkeypatch, error):
    """Any error of the archive ends the crawl with what is on disk, and no later pipeline gets the page."""

    def write(*args, **kwargs):
        raise error

    failures = []
    monkeypatch.setattr(warc, "scheduler_of", lambda crawler: SimpleNamespace(fail=failures.append))
    pipeline = WarcPipeline(None, {})
    pipeline._writer = SimpleNamespace(write=write)
    with pytest.raises(DropItem):
        pipeline.process_item(Page.of(Link("http://a.test/"), exchange()))

    assert failures == [error]
