"""The settings of WebSub."""

import pytest

from webcrawl.crawl.checks.check import SettingError, check
from webcrawl.crawl.checks.places import CallbackAddress

ON = {
    "WEBSUB_PORT": 8900,
    "WEBSUB_ADDRESS": "https://crawl.example/websub/",
    "REVISIT_POLICY": "fixed",
}


def test_an_address():
    """It is canonical, and a token can follow it after a slash."""
    assert (
        CallbackAddress().read("HTTPS://Crawl.Example:443/websub/")
        == "https://crawl.example/websub"
    )
    assert CallbackAddress().read("http://[::1]:8900") == "http://[::1]:8900"
    assert CallbackAddress().read("") is CallbackAddress().read(None) is None


@pytest.mark.parametrize(
    "value",
    [
        "x",
        "ftp://a.test/",
        "http://",
        "http://u:p@a.test/",
        "http://a.test/?q",
        "http://a.test/#f",
        5,
    ],
)
def test_what_is_no_address(value):
    """Hubs could not send there, or would be told a password."""
    with pytest.raises(SettingError, match=r"WEBSUB_ADDRESS = .*: must be an http or https URL"):
        check(ON | {"WEBSUB_ADDRESS": value})


def test_all_that_is_needed():
    """The port, with an address and with revisits."""
    values = check(ON)
    assert (values["WEBSUB_PORT"], values["WEBSUB_ADDRESS"]) == (
        8900,
        "https://crawl.example/websub",
    )


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({"WEBSUB_ADDRESS": None}, "WEBSUB_ADDRESS = None: must be set with WEBSUB_PORT"),
        ({"REVISIT_POLICY": "none"}, "WEBSUB_PORT = 8900: must be none with REVISIT_POLICY = none"),
        (
            {"HIVE_DRONES": 9, "HIVE_DRONE": 5, "WEBSUB_PORT": 65_533},
            "WEBSUB_PORT = 65533: must be at most 65535",
        ),
    ],
)
def test_what_is_missing(more, line):
    """One line says it."""
    with pytest.raises(SettingError, match=line):
        check(ON | more)
