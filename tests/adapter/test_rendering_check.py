"""What is missing for RENDER, and for what belongs to it, is said at the start, in one line."""

from importlib.util import find_spec

import pytest
from scrapy.settings import Settings

from webcrawl.adapter import rendering_check
from webcrawl.adapter.rendering_check import (
    BROWSER_HANDLER,
    ON_NEED_HANDLER,
    check_rendering,
    with_rendering_handler,
)
from webcrawl.crawl.checks import SettingError

AUTO = {"RENDER": "auto", "RENDER_ACTIONS": None, "RENDER_VIEWS": None, "OUTPUTS": ("warc",)}


@pytest.fixture(name="settings")
def _settings(monkeypatch):
    """Those of a crawl, on a machine that has all."""
    monkeypatch.setattr(rendering_check, "find_spec", lambda _: True)
    monkeypatch.setattr(rendering_check.shutil, "which", {"chromium": "/usr/bin/chromium"}.get)
    found = Settings()
    found.setmodule("webcrawl.settings")
    return found


def test_nothing_is_missing(settings):
    """Chromium is found on PATH; all http and https pages have the handler that renders."""
    check_rendering(settings, AUTO)

    assert rendering_check.chromium() == "/usr/bin/chromium"
    assert with_rendering_handler({"http": "a", "https": "b", "ftp": "c"}) == {
        "http": ON_NEED_HANDLER,
        "https": ON_NEED_HANDLER,
        "ftp": "c",
    }


def test_a_browser_without_windows_comes_first(monkeypatch):
    """A headless shell is taken before a browser with windows: it takes half as much CPU for a
    page.
    """
    monkeypatch.setattr(rendering_check.shutil, "which", "/usr/bin/{}".format)

    assert rendering_check.chromium() == "/usr/bin/chromium-headless-shell"


def test_the_library_is_missing(settings, monkeypatch):
    """The line names it with its bounds."""
    monkeypatch.setattr(rendering_check, "find_spec", lambda _: None)
    with pytest.raises(SettingError) as told:
        check_rendering(settings, AUTO)

    library = "scrapy_playwright is not installed: pip install 'scrapy-playwright>=0.0.48,<0.1'"
    assert str(told.value) == f"RENDER = 'auto': must be off ({library})"


def test_the_browser_is_missing(settings, monkeypatch):
    """The line names where it is looked for; a setting may say where it is."""
    monkeypatch.setattr(rendering_check.shutil, "which", lambda _: None)
    with pytest.raises(
        SettingError, match=r"none of chromium-headless-shell, .*google-chrome is on PATH"
    ):
        check_rendering(settings, AUTO)

    settings.set("PLAYWRIGHT_LAUNCH_OPTIONS", {"executable_path": "/opt/chromium"})
    check_rendering(settings, AUTO)


def test_another_handler_is_in_the_way(settings):
    """Its pages would not be rendered, and nobody would know."""
    settings.set("DOWNLOAD_HANDLERS", {"https": "mine.Handler"})
    with pytest.raises(SettingError, match=r"DOWNLOAD_HANDLERS has mine\.Handler for https"):
        check_rendering(settings, AUTO)


@pytest.mark.parametrize(
    ("name", "value"), [("RENDER_ACTIONS", ("scroll",)), ("RENDER_VIEWS", ("view", "pdf"))]
)
def test_what_no_page_would_have_is_refused(settings, name, value):
    """Without rendering nothing would come of it; pages that a project renders itself have it."""
    values = AUTO | {"RENDER": "off", name: value}
    with pytest.raises(SettingError) as told:
        check_rendering(settings, values)

    said = f"{name} = {' '.join(value)!r}: must be none with RENDER = off"
    assert str(told.value) == f"{said} (RENDER = all renders each page)"
    settings.set("DOWNLOAD_HANDLERS", dict.fromkeys(("http", "https"), BROWSER_HANDLER))
    check_rendering(settings, values)


def test_views_need_an_archive(settings):
    """They would be made, and kept nowhere."""
    with pytest.raises(SettingError, match=r"RENDER_VIEWS = 'pdf': .*OUTPUTS has no warc"):
        check_rendering(settings, AUTO | {"RENDER_VIEWS": ("pdf",), "OUTPUTS": ("text",)})


@pytest.mark.skipif(
    find_spec("scrapy_playwright") is None, reason="scrapy-playwright is not installed"
)
def test_the_handler_is_there():
    """The path names a class that looks at each answer before there is a response."""
    from webcrawl.adapter.browser import BrowserHandler
    from webcrawl.adapter.browser_on_need import BrowserOnNeed

    assert f"{BrowserOnNeed.__module__}.{BrowserOnNeed.__name__}" == ON_NEED_HANDLER
    assert issubclass(BrowserOnNeed, BrowserHandler)
