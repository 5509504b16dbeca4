"""The types of checked settings, which mypy goes by."""

from typing import Any, get_type_hints

import pytest

from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.settings.setting_kinds import Maybe
from webcrawl.crawl.checks import check
from webcrawl.crawl.checks.check import KINDS, SCRAPYS

TYPES = get_type_hints(CheckedSettings)
FILLED_IN = {"READ_TRUNCATE", "LINK_LOG", "ROBOTSTXT_USER_AGENT"}  # users have no such setting


def read_type(kind: Any) -> Any:
    if isinstance(kind, Maybe):
        return read_type(kind.kind) | None
    return get_type_hints(kind.read)["return"]


@pytest.mark.parametrize("name", [*KINDS, *SCRAPYS])
def test_type_of_a_setting(name: str) -> None:
    """A setting has the type that its kind reads; where none is allowed at first, perhaps without it."""
    read = read_type(KINDS.get(name) or SCRAPYS[name])
    assert read in (TYPES[name], TYPES[name] | None) or read | None == TYPES[name]


def test_names() -> None:
    """Every setting that may be written has a type, and nothing else but what is filled in."""
    assert TYPES.keys() == KINDS.keys() | SCRAPYS.keys() | FILLED_IN


def test_defaults() -> None:
    """The settings of a crawl that says nothing are all there that have no condition."""
    assert CheckedSettings.__required_keys__ <= check({}).keys() | FILLED_IN
