"""LINK_SOURCES where the library for PDFs is missing."""

import pytest

from webcrawl.adapter import user_settings
from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.content.html.link_kinds import ALL
from webcrawl.crawl.checks import SettingError, check, names

pytestmark = pytest.mark.usefixtures("missing")


@pytest.fixture(name="missing")
def _missing(monkeypatch):
    """The library is not there."""
    monkeypatch.setattr(names, "find_spec", lambda _: None)


@pytest.mark.parametrize("value", ["pdf", "a,PDF", ["a", "pdf"], ALL])
def test_whoever_names_pdfs_is_told(value):
    """The crawl does not start, and the line says what to install."""
    with pytest.raises(SettingError, match=r"^LINK_SOURCES = .*pip install 'pypdfium2>=5,<6'\)$"):
        check({"LINK_SOURCES": value})


def test_all_means_what_can_be_read():
    """All kinds but that one."""
    assert check({"LINK_SOURCES": "all"})["LINK_SOURCES"] == tuple(
        kind for kind in ALL if kind != "pdf"
    )


def test_the_log_says_what_is_left_out(settings):
    """A warning at the start; none if nothing is left out."""
    assert [*user_settings.setting_warnings(settings(LINK_SOURCES="all"), WebSpider("x"))] == [
        "LINK_SOURCES: links in PDFs are not read: pypdfium2 is not installed: pip install 'pypdfium2>=5,<6'"
    ]
    assert [*user_settings.setting_warnings(settings(LINK_SOURCES="a"), WebSpider("x"))] == []


@pytest.fixture(name="settings")
def _settings():
    from tests.adapter.test_user_settings import settings

    def made(**given):
        found = settings(**given)
        WebSpider.update_settings(found)
        return found

    return made
