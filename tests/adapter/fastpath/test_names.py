"""The fast path runs on the Scrapy that it was written for, and refuses any other."""

import pytest
from scrapy.core.engine import ExecutionEngine
from scrapy.settings import Settings

from webcrawl import settings as defaults
from webcrawl.adapter.fastpath.names import PRIVATE, ForeignScrapy, check
from webcrawl.adapter.preflight import preflight
from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.base.errors import CannotStart

LINE = r"Scrapy 2\.20\.1 is installed: webcrawl needs 2\.19; pip install 'scrapy~=2\.19\.0'"


def test_the_installed_scrapy_has_all_names():
    """The Scrapy of the requirements passes."""
    check()


@pytest.mark.parametrize("version", [(2, 20, 1), (2, 20, "1")])
def test_another_version_is_refused(version):
    """A Scrapy of another minor version is refused in a line with both versions and the way out."""
    with pytest.raises(ForeignScrapy, match=LINE):
        check(version)


@pytest.mark.parametrize("kind", PRIVATE, ids=lambda kind: kind.__name__)
def test_each_missing_name_is_refused(kind):
    """A private name that is not there any more is named."""
    with pytest.raises(
        ForeignScrapy, match=rf"has no {kind.__name__}\._gone, {kind.__name__}\._lost:"
    ):
        check((2, 19, 0), {kind: (*PRIVATE[kind], "_gone", "_lost")})


def test_an_attribute_of_instances_counts():
    """A name that only the constructor sets is there."""
    assert not hasattr(ExecutionEngine, "_slot")
    check((2, 19, 3), {ExecutionEngine: ("_slot",)})


def test_a_crawl_is_refused_in_one_line(monkeypatch, tmp_path):
    """Before a crawl with a foreign Scrapy touches its JOBDIR it says so in one line."""
    monkeypatch.setattr("webcrawl.adapter.preflight.check_scrapy", lambda: check((2, 20, 1)))
    settings = Settings({"JOBDIR": str(tmp_path / "job"), "SCHEDULER": defaults.SCHEDULER})
    with pytest.raises(CannotStart, match=LINE):
        preflight(settings, WebSpider, {"seeds": "x"})

    assert list(tmp_path.iterdir()) == []
