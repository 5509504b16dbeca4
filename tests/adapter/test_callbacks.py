"""Which methods of a spider a request from outside may name."""

import pytest
from scrapy import Spider
from scrapy.spiders import CrawlSpider

from webcrawl.adapter.request_links import CallbackCheck, has_method
from webcrawl.adapter.spiders.web import WebSpider


class Shop(Spider):
    name = "shop"
    ran = False

    def item(self, response, n=1):
        """A callback."""

    def _private(self, response, page=None):
        """One too."""

    def failed(self, failure):
        """An errback."""

    def closed(self, reason):
        """Scrapy calls it."""

    def nothing(self):
        """Takes no answer."""

    @property
    def lazy(self):
        type(self).ran = True
        return self.item

    @classmethod
    def made(cls, response):
        """No method."""

    @staticmethod
    def apart(response):
        """None either."""


@pytest.mark.parametrize(
    ("kind", "name", "keywords"),
    [
        *(
            (Shop, "item", {}),
            (Shop, "item", {"n": 2}),
            (Shop, "_private", {}),
            (Shop, "failed", {}),
        ),
        *((Shop, "parse", {}), (WebSpider, "parse", {}), (WebSpider, "failed", {})),
        *((CrawlSpider, "_callback", {"a": 1}), (CrawlSpider, "parse_start_url", {})),
    ],
)
def test_callbacks(kind, name, keywords):
    """Methods that take an answer, and what the request gives them, may be named."""
    assert CallbackCheck(kind("a")).takes("callback", name, keywords)


@pytest.mark.parametrize(
    ("kind", "name", "keywords"),
    [
        *(
            (Shop, "absent", {}),
            (Shop, "item", {"m": 2}),
            (Shop, "nothing", {}),
            (Shop, "closed", {}),
        ),
        *(
            (Shop, "lazy", {}),
            (Shop, "made", {}),
            (Shop, "apart", {}),
            (Shop, "name", {}),
            (Shop, "log", {}),
        ),
        *(
            (Shop, "start", {}),
            (Shop, "from_crawler", {}),
            (Shop, "update_settings", {}),
            (Shop, "__init__", {}),
        ),
        *(
            (WebSpider, "parse_all", {}),
            (WebSpider, "start", {}),
            (WebSpider, "known_arguments", {}),
        ),
    ],
)
def test_what_is_no_callback(kind, name, keywords):
    """What Scrapy or the crawl calls, what is no plain method, and what does not take the
    arguments, may not.
    """
    assert not CallbackCheck(kind("a")).takes("callback", name, keywords)
    assert not Shop.ran


def test_what_the_state_may_name():
    """A request of the spider's own may name whatever can be called."""
    spider = Shop()
    assert [has_method(spider, name) for name in ("item", "lazy", "absent", "name", 7)] == [
        True,
        True,
        *[False] * 3,
    ]
