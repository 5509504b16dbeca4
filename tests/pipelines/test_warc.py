"""A page that could not be archived is not done, whatever the reason."""

from types import SimpleNamespace

import pytest
from scrapy.exceptions import DropItem

from tests.support.crawling import Crawl
from tests.support.warc_crawl import exchange, files
from tests.support.warc_reader import read
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


def test_the_version_of_the_format_is_a_setting(tmp_path, simweb):
    """With WARC_VERSION=1.0 all records are of that version, and the warcinfo record says so."""
    server = simweb(1, 2)
    settings = {"DNS_NAMESERVERS": server.nameserver, "POLITENESS_FACTOR": 0, "WARC_VERSION": "1.0"}
    crawl = Crawl(tmp_path / "job", {"seeds": f"{server.world.origin(0)}/"}, settings)

    assert crawl.run() == 0

    found = [record for path in files(crawl.jobdir) for record in read(path)]
    assert {record.version for record in found} == {"1.0"}
    assert found[0].about["format"] == "WARC File Format 1.0"
