"""Checks that RENDER has a browser and its library, and that no other handler has its pages."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from scrapy.settings import BaseSettings

from webcrawl.base.loading import missing
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.settings.crawl_settings import OFF
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
# Arguments of a browser that reaches nothing but its proxy. What would go round it: its exceptions
# for loopback and link-local addresses, names looked up ahead of need, WebRTC's datagrams, HTTP/3.
CONTAINED = (
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--dns-prefetch-disable",
)
LAUNCH = "PLAYWRIGHT_LAUNCH_OPTIONS"
HANDLER = "webcrawl.adapter.browser_on_need.BrowserOnNeed"
BROWSER = "webcrawl.adapter.browser.BrowserHandler"
OURS = ("webcrawl.adapter.handlers.HttpHandler", BROWSER, HANDLER)


def chromium() -> str | None:
    """Return the path of the system's own browser."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def on_need(handlers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the download handlers by scheme, with the one that renders for http and https."""
    return {**handlers, **dict.fromkeys(SCHEMES, HANDLER)}


def check_rendering(settings: BaseSettings, values: CheckedSettings) -> None:
    """Raise SettingError if the crawl lacks what RENDER or what belongs to it needs."""
    if values["RENDER"] != OFF:
        _check_browser(settings, values["RENDER"])
    # BrowserHandler renders the requests that a spider marks with `playwright`
    elif BROWSER not in settings.getwithbase("DOWNLOAD_HANDLERS").values():
        for name in ("RENDER_ACTIONS", "RENDER_VIEWS"):
            words = " ".join(values[name] or ())
            if words:
                hint = "RENDER = all renders each page"
                raise SettingError(name, words, "none with RENDER = off", hint)
    if values["RENDER_VIEWS"] and "warc" not in values["OUTPUTS"]:
        why = "OUTPUTS has no warc, and views are kept in the archive"
        raise SettingError("RENDER_VIEWS", " ".join(values["RENDER_VIEWS"]), "none", why)


def _check_browser(settings: BaseSettings, render: str) -> None:
    if find_spec("scrapy_playwright") is None:
        raise SettingError("RENDER", render, OFF, missing("scrapy_playwright"))
    if "executable_path" not in settings.getdict(LAUNCH) and chromium() is None:
        why = f"none of {', '.join(NAMES)} is on PATH, and {LAUNCH} has no executable_path"
        raise SettingError("RENDER", render, OFF, why)
    handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
    for scheme in SCHEMES:
        if handlers.get(scheme) not in OURS:
            raise SettingError(
                "RENDER",
                render,
                OFF,
                f"DOWNLOAD_HANDLERS has {handlers.get(scheme)} for {scheme}",
            )
