"""The tables from which docs/scrapy-compatibility.md is made: what they say is what happens."""

import pytest
from scrapy import Spider
from scrapy.settings import Settings

from webcrawl import settings as defaults
from webcrawl.adapter.request_meta import FTP_KEYS, NO_EFFECT
from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.adapter.user_settings import enabled_components, setting_warnings
from webcrawl.crawl.checks.scrapys import PAGES, REQUESTS, TAKEN, UNHEARD

# as one: unknown option; the options are hundreds of rows, and each takes no time
pytestmark = pytest.mark.xdist_group("pages")
SCRAPYS = [(name, row) for row in UNHEARD if PAGES not in row.readers for name in row.names.split()]


class Own(Spider):
    name = "own"


def _settings(spider, **given):
    made = Settings()
    made.setmodule(defaults, priority="project")
    spider.update_settings(made)
    made.setdict(given, priority="cmdline")
    return made


class TestSettings:
    @pytest.mark.parametrize(("name", "row"), SCRAPYS, ids=[name for name, _ in SCRAPYS])
    def test_who_is_warned(self, name, row):
        """`web` is warned of a setting without effect, and other spiders are unless its reader is
        enabled.
        """
        warned = [
            any(
                name in line
                for line in setting_warnings(_settings(kind, **{name: '{"x": 1}'}), spider)
            )
            for kind, spider in ((Own, Own()), (WebSpider, WebSpider("x")))
        ]

        is_read = REQUESTS in row.readers or bool(row.readers & enabled_components(_settings(Own)))
        assert warned == [not is_read, True]

    @pytest.mark.parametrize("taken", TAKEN, ids=[one.theirs for one in TAKEN])
    def test_what_stands_for_one_of_ours_is_no_setting_without_effect(self, taken):
        """A setting of Scrapy's stands in one of the two tables."""
        assert taken.theirs not in dict(SCRAPYS)


class TestMeta:
    def test_a_key_that_is_refused_is_not_also_warned_of(self):
        """A key of request.meta is refused, or without effect, or works."""
        assert FTP_KEYS.isdisjoint(NO_EFFECT)
