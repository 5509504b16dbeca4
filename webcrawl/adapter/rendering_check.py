"""Checks that RENDER has a browser and a library, and that no other handler fetches its pages."""

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
BROWSER_NAMES = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
)
# Arguments of a browser that reaches nothing but its proxy. Without them it would connect to
# loopback and link-local addresses directly, look up names ahead of need, and send WebRTC's
# datagrams and HTTP/3.
CONTAINING_ARGUMENTS = (
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--dns-prefetch-disable",
)
LAUNCH_OPTIONS = "PLAYWRIGHT_LAUNCH_OPTIONS"
ON_NEED_HANDLER = "webcrawl.adapter.browser_on_need.BrowserOnNeed"
BROWSER_HANDLER = "webcrawl.adapter.browser.BrowserHandler"
OUR_HANDLERS = ("webcrawl.adapter.handlers.HttpHandler", BROWSER_HANDLER, ON_NEED_HANDLER)


def chromium() -> str | None:
    """Return the path of the system's own Chromium, or None if it has none."""
    return next(filter(None, map(shutil.which, BROWSER_NAMES)), None)


def with_rendering_handler(handlers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the download handlers by scheme, with the rendering one for http and https."""
    return {**handlers, **dict.fromkeys(SCHEMES, ON_NEED_HANDLER)}


def check_rendering(settings: BaseSettings, values: CheckedSettings) -> None:
    """Raise SettingError if the crawl lacks what RENDER, RENDER_ACTIONS or RENDER_VIEWS need."""
    if values["RENDER"] != OFF:
        _check_browser(settings, values["RENDER"])
    # BrowserHandler renders the requests that a spider marks with `playwright`
    elif BROWSER_HANDLER not in settings.getwithbase("DOWNLOAD_HANDLERS").values():
        for name in ("RENDER_ACTIONS", "RENDER_VIEWS"):
            words = " ".join(values[name] or ())
            if words:
                hint = "RENDER = all renders each page"
                raise SettingError(name, words, "none with RENDER = off", hint)
    if values["RENDER_VIEWS"] and "warc" not in values["OUTPUTS"]:
        reason = "OUTPUTS has no warc, and views are kept in the archive"
        raise SettingError("RENDER_VIEWS", " ".join(values["RENDER_VIEWS"]), "none", reason)


def _check_browser(settings: BaseSettings, render: str) -> None:
    """Raise SettingError without a library, a browser, or our handlers for http and https."""
    if find_spec("scrapy_playwright") is None:
        raise SettingError("RENDER", render, OFF, missing("scrapy_playwright"))
    if "executable_path" not in settings.getdict(LAUNCH_OPTIONS) and chromium() is None:
        reason = f"none of {', '.join(BROWSER_NAMES)} is on PATH, and {LAUNCH_OPTIONS} has no executable_path"
        raise SettingError("RENDER", render, OFF, reason)
    handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
    for scheme in SCHEMES:
        if handlers.get(scheme) not in OUR_HANDLERS:
            raise SettingError(
                "RENDER",
                render,
                OFF,
                f"DOWNLOAD_HANDLERS has {handlers.get(scheme)} for {scheme}",
            )
