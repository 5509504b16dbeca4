"""The checked settings of a crawler."""

import pytest
from scrapy import Spider
from scrapy.utils.test import get_crawler

from webcrawl.adapter import values
from webcrawl.adapter.values import values_of
from webcrawl.crawl.checks import SettingError
from webcrawl.crawl.default_jobdir import default_jobdir


class Own(Spider):
    name = "own"


@pytest.fixture(name="checks")
def _checks(monkeypatch):
    """One entry for each time that the settings were checked."""
    found = []
    check = values.check
    monkeypatch.setattr(values, "check", lambda *given: found.append(given) or check(*given))
    return found


def test_frozen_settings_are_checked_once(checks):
    """However many components ask, each with a dict of its own."""
    crawler = get_crawler(Own, {"URL_MAX_LENGTH": 70})
    crawler.settings.freeze()
    first = values_of(crawler)
    first["URL_MAX_LENGTH"] = "changed by who asked"
    second = values_of(crawler)

    assert (second["URL_MAX_LENGTH"], len(checks)) == (70, 1)


def test_settings_that_may_change_are_checked_again():
    """An extension may still set one while crawlers are made."""
    crawler = get_crawler(Own)
    crawler.settings.frozen = False
    values_of(crawler)
    crawler.settings.set("URL_MAX_LENGTH", 70)

    assert values_of(crawler)["URL_MAX_LENGTH"] == 70


def test_settings_that_have_not_changed_are_not_checked_again(checks):
    """A dozen extensions ask before the settings are frozen, and others afterwards."""
    crawler = get_crawler(Own)
    crawler.settings.frozen = False
    values_of(crawler)
    values_of(crawler)
    crawler.settings.freeze()
    values_of(crawler)

    assert len(checks) == 1


@pytest.mark.parametrize("base", ["ITEM_PIPELINES", "OUTPUTS", "URL_FILTERS", "URL_SCHEMES"])
def test_a_change_in_place_is_one(base, checks):
    """Dicts, lists and sets can be changed without being set."""
    crawler = get_crawler(Own, {"OUTPUTS": {"warc"}, "URL_FILTERS": {}, "URL_SCHEMES": ["http"]})
    crawler.settings.frozen = False
    values_of(crawler)
    setting = crawler.settings[base]
    changes = {list: lambda: setting.append("https"), set: lambda: setting.add("text")}
    changes.get(type(setting), lambda: setting.update({"tests.support.snippets.X": None}))()
    values_of(crawler)

    assert len(checks) == 2


def test_true_is_not_one():
    """What equals a value that is allowed need not be allowed."""
    crawler = get_crawler(Own)
    crawler.settings.frozen = False
    crawler.settings.set("REDIRECT_MAX_HOPS", 1, "project")
    values_of(crawler)
    crawler.settings.set("REDIRECT_MAX_HOPS", True, "project")

    with pytest.raises(SettingError, match="REDIRECT_MAX_HOPS = True"):
        values_of(crawler)


def test_a_spider_may_have_another_name_than_its_class():
    """By its name goes the folder of a crawl that names none."""
    crawler = get_crawler(Own)
    crawler.settings.freeze()
    before = values_of(crawler)["JOBDIR"]
    crawler.spider = Own(name="renamed")

    assert (before, values_of(crawler)["JOBDIR"]) == (
        default_jobdir("own"),
        default_jobdir("renamed"),
    )


def test_each_crawler_has_its_own():
    """Several may run in one process."""
    made = [get_crawler(Own, {"URL_MAX_LENGTH": size}) for size in (70, 80)]
    for crawler in made:
        crawler.settings.freeze()

    assert [values_of(crawler)["URL_MAX_LENGTH"] for crawler in made] == [70, 80]
