"""All that `assemble` connects, with clocks of the test's own."""

from functools import partial
from unittest import mock

from scrapy.settings import Settings

from webcrawl.adapter.values import plain_values
from webcrawl.crawl import assembly, ground
from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.ground import Surroundings
from webcrawl.crawl.visitor import Visitor


def assembled(values, wall, steady=None, around=None) -> tuple[Crawl, Visitor]:
    """A crawl with these settings.

    `wall` gives the seconds since 1970, `steady` the seconds since some moment.
    """
    settings = Settings(values)
    settings.setmodule("webcrawl.settings", "default")
    with mock.patch.object(
        ground, "CrawlClock", partial(CrawlClock, wall=wall, steady=steady or wall)
    ):
        return assembly.assemble(
            plain_values(settings, "web"), around or Surroundings(), spider="web"
        )
