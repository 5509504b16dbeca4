"""docs/papers-and-laboratory.md: the settings and figures that it names are there to be found."""

import re

import pytest

from tests.support.places import ROOT
from webcrawl.crawl.checks.check import KINDS, SCRAPYS

PAGE = (ROOT / "docs/papers-and-laboratory.md").read_text(encoding="utf-8")
SETTINGS = sorted(set(re.findall(r"`([A-Z][A-Z0-9_]*_[A-Z0-9_]+|[A-Z]{7,})`", PAGE)))
SCRAPY = {
    "DOWNLOAD_HANDLERS",
    "ITEM_PIPELINES",
    "USER_AGENT",
    "CLOSESPIDER_TIMEOUT",
    "ROBOTSTXT_OBEY",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_exists(name):
    """Settings are webcrawl's own, or those of Scrapy's that it takes."""
    assert name in KINDS or name in SCRAPYS or name in SCRAPY


@pytest.mark.parametrize(
    "figure", sorted(set(re.findall(r"\[([^]]*\d[^]]*)\]\(([a-z/-]+\.md)#", PAGE)))
)
def test_every_figure_is_on_its_page(figure):
    """A figure that is quoted is one of the page that is linked, as it is written there."""
    text, page = figure
    numbers = re.findall(r"\d[\d.,]*\d|\d", text)
    there = (ROOT / "docs" / page).read_text(encoding="utf-8")

    for number in numbers:
        assert number in there or number.replace(".", ",") in there
