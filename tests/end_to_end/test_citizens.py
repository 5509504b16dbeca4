"""Ordinary spiders of Scrapy's kinds: their items and events are those of plain Scrapy, on the same
site.

Each line of the table is a spider of tests/support/citizens.py. A difference that is allowed is
named in its line, and described in docs/pipelines.md.
"""

import json

import pytest

from tests.support.citizens import Town
from tests.support.examples import in_campaign
from tests.support.plain_site import serving
from tests.support.projects import OURS, PLAIN, Project

MODULE = "tests.support.citizens"
COMMON = {
    "SPIDER_MODULES": [MODULE],
    "ROBOTSTXT_OBEY": False,
    "COOKIES_ENABLED": True,
    "CONCURRENT_REQUESTS": 1,
    "FEEDS": {"items.jsonl": {"format": "jsonlines"}},
    "NOTES": "notes",
    "RETRY_TIMES": 1,
    "ERROR_BREAKER": "1000/1",
}
# Spider -> settings, and `in_order`: items come in the same order too. Otherwise only the set of
# them is compared.
CITIZENS = {
    "following": {},
    "ruled": {},
    "mapped": {},
    "fed": {},
    "tabled": {"in_order": True},
    "member": {},
    "failing": {},
    "ordered": {"in_order": True},
    "repeating": {},
    "retrying": {"in_order": True},
    "telling": {},
    "staying": {"in_order": True, "ITEM_PIPELINES": {f"{MODULE}.Choosy": 300}},
    "meddled": {},
}
DAILY = ("following", "failing", "staying")  # in every run; the others in the campaign


class Ran:
    """A spider that ran to its end."""

    def __init__(self, folder, settings, spider, here, **more):
        project = Project(folder, settings, "", **{**COMMON, **more})
        events = {f"{MODULE}.Events": 500}
        mine = "EXTENSIONS = {**globals().get('EXTENSIONS', {}), **" + repr(events) + "}\n"
        with (project.folder / "mine.py").open("a") as file:
            file.write(mine)
        self.status, self.said = project.run("crawl", spider, "-a", f"here={here}")
        assert self.status == 0, self.said
        self.items = [*map(json.loads, (project.folder / "items.jsonl").read_text().splitlines())]
        self.events = [*map(json.loads, (project.folder / "notes").read_text().splitlines())]


def _sorted(things):
    return sorted(things, key=json.dumps)


class TestCitizens:
    @pytest.mark.parametrize(
        "name", [*DAILY, *in_campaign(*(name for name in CITIZENS if name not in DAILY))]
    )
    def test_it_is_as_in_plain_scrapy(self, name, tmp_path):
        """A spider gets the same items, signals and counters as in plain Scrapy, and ends for the
        same reason.
        """
        settings = {**CITIZENS[name]}
        in_order = settings.pop("in_order", False)
        ran = {}
        for kind, base in {"ours": OURS, "plain": PLAIN}.items():
            Town.requested.clear()
            with serving(Town) as here:
                run = Ran(tmp_path / kind, base, name, here, **settings)
            text = json.dumps([run.items, run.events]).replace(here, "")
            ran[kind] = json.loads(text)
        (items, events), (plain_items, plain_events) = ran["ours"], ran["plain"]

        assert plain_items
        if not in_order:
            items, plain_items = _sorted(items), _sorted(plain_items)
        assert items == plain_items
        assert _sorted(events) == _sorted(plain_events)
