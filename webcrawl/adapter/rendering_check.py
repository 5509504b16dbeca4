"""What RENDER = auto needs: a browser, its library, and no other handler for its pages."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from scrapy.settings import BaseSettings

from webcrawl.base.loading import missing
from webcrawl.crawl.checks import SettingError

SCHEMES = ("http", "https")
# Without windows a page takes 0.25 s of CPU and not 0.45, so the headless shells come first.
NAMES = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
)
LAUNCH = "PLAYWRIGHT_LAUNCH_OPTIONS"
HANDLER = "webcrawl.adapter.browser_on_need.BrowserOnNeed"
OURS = ("webcrawl.adapter.handlers.HttpHandler", "webcrawl.adapter.browser.BrowserHandler", HANDLER)


def chromium() -> str | None:
    """Return the path of the system's own browser."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def on_need(handlers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the download handlers by scheme, with the one that renders for http and https."""
    return {**handlers, **dict.fromkeys(SCHEMES, HANDLER)}


def check_rendering(settings: BaseSettings) -> None:
    """Raise SettingError if RENDER = auto lacks what it needs."""
    if find_spec("scrapy_playwright") is None:
        raise SettingError("RENDER", "auto", "off", missing("scrapy_playwright"))
    if "executable_path" not in settings.getdict(LAUNCH) and chromium() is None:
        why = f"none of {', '.join(NAMES)} is on PATH, and {LAUNCH} has no executable_path"
        raise SettingError("RENDER", "auto", "off", why)
    handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
    for scheme in SCHEMES:
        if handlers.get(scheme) not in OURS:
            raise SettingError(
                "RENDER",
                "auto",
                "off",
                f"DOWNLOAD_HANDLERS has {handlers.get(scheme)} for {scheme}",
            )
