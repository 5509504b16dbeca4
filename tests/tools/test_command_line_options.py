"""Settings of a command line, as the command lines of the crawls that it starts say them again."""

import pytest
from scrapy.settings import Settings

from webcrawl.tools.supervisor.hive_run import command_line_options


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("USER_AGENT", "mybot/1.0 (+https://example.org/)"),
        ("ITEM_PIPELINES", '{"mine.Pipeline": 300, "mine.Other": null}'),
        ("URL_FILTERS", '{"mine.Filter": 650}'),
        ("DNS_NAMESERVERS", "127.0.0.1:5353,127.0.0.2:53"),
    ],
)
def test_a_setting_is_said_again(name, word):
    """Each value of `-s` reaches the drones as it was given, those that Scrapy reads as dicts too."""
    settings, again = (
        Settings({"ITEM_PIPELINES": {}, "URL_FILTERS": {"ours.Filter": 1}}) for _ in range(2)
    )
    settings.set(name, word, "cmdline")

    given = command_line_options(settings)
    again.set(name, given[name], "cmdline")

    assert given.keys() == {name}
    assert again[name] == settings[name] or dict(again[name]) == dict(settings[name])
