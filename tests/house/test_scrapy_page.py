"""docs/scrapy.md: what a row says of a setting or meta key of Scrapy is what happens."""

import re

import pytest
from scrapy import Spider
from scrapy.settings import Settings

from tests.support.places import ROOT
from webcrawl import settings as defaults
from webcrawl.adapter.request_meta import OF_FTP, WHY
from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.adapter.user_settings import enabled, warnings
from webcrawl.crawl.checks.scrapys import TAKEN, UNHEARD

# as one: unknown option; the options are hundreds of rows, and each takes no time
pytestmark = pytest.mark.xdist_group("pages")
WHYS = {name: row for row in UNHEARD for name in row.names.split()}
OURS = {one.theirs: one.ours for one in TAKEN}


class Own(Spider):
    name = "own"


def _rows(heading):
    """What the table below a heading says of each name."""
    text = (
        (ROOT / "docs/scrapy.md")
        .read_text(encoding="utf-8")
        .partition(f"\n## {heading}\n")[2]
        .partition("\n## ")[0]
    )
    rows = re.findall(r"^\| (`.*?) \| (.*?) \|", text, re.MULTILINE)
    return [(name, says) for names, says in rows for name in re.findall(r"`(\w+)`", names)]


SETTINGS, KEY_ROWS = _rows("Settings"), _rows("Meta keys")


def _settings(spider, **given):
    made = Settings()
    made.setmodule(defaults, priority="project")
    spider.update_settings(made)
    made.setdict(given, priority="cmdline")
    return made


def _does(name):
    if name in OURS:
        return f"as `{OURS[name]}`"
    if name not in WHYS:
        return "yes"
    readers = WHYS[name].readers
    return "not `web`" if "requests" in readers or readers & enabled(_settings(Own)) else "no"


class TestSettings:
    @pytest.mark.parametrize(("name", "says"), SETTINGS)
    def test_it_does_what_its_row_says(self, name, says):
        """A row says `yes`, `no`, `not web`, or the name of the setting that this one is taken as."""
        assert says == _does(name)

    @pytest.mark.parametrize(("name", "says"), [row for row in SETTINGS if row[0] in WHYS])
    def test_who_is_warned(self, name, says):
        """What has no effect is warned of: for every spider, or for the spider without middlewares
        only.
        """
        warned = [
            any(name in line for line in warnings(_settings(kind, **{name: '{"x": 1}'}), spider))
            for kind, spider in ((Own, Own()), (WebSpider, WebSpider("x")))
        ]

        assert warned == [says == "no", True]


class TestMeta:
    @pytest.mark.parametrize(("name", "says"), KEY_ROWS)
    def test_it_does_what_its_row_says(self, name, says):
        """A row says `no` of what is always warned of, `refused` of what no client has, else `yes`."""
        without = name in WHY and not WHY[name][1].replace("RetryMiddleware", "")

        assert says == ("refused" if name in OF_FTP else "no" if without else "yes")
