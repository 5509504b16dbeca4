"""Settings of the command line that nothing reads: no code that this crawl has loaded has their names in it.

Scrapy lets every component ask for settings of its own, so a name that no table has may still be somebody's.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

PACKAGE = re.compile(r"\b([A-Za-z_]\w*)\.(?=[A-Za-z_])")  # the first name of a dotted path
OURS = frozenset(("scrapy", "webcrawl"))
_PROXY = "a proxy is named in the environment: http_proxy=http://HOST:PORT, and https_proxy (docs/scrapy.md#proxies)"
WISHES = {  # names that people try, and what does it here
    "PROXY HTTP_PROXY HTTPS_PROXY PROXIES PROXY_URL": _PROXY,
    "MAX_PAGES PAGE_LIMIT MAX_REQUESTS": "CLOSESPIDER_PAGECOUNT ends the crawl, HOST_MAX_PAGES bounds each host",
    "MAX_DEPTH CRAWL_DEPTH": "URL_MAX_DEPTH",
    "DELAY CRAWL_DELAY REQUEST_DELAY WAIT": "POLITENESS_MIN_DELAY",
    "TIMEOUT REQUEST_TIMEOUT": "DOWNLOAD_TIMEOUT",
    "THREADS WORKERS CONCURRENCY MAX_CONCURRENCY": "CONCURRENT_REQUESTS",
    "ALLOWED_DOMAINS DOMAINS": "-a scope=, URL_INCLUDE",
}


def read_by_nobody(names: Collection[str], given: Mapping[str, Any], spider: type) -> Iterator[str]:
    """One line for those of these names that nothing reads; `given`: the user's settings, which name their code."""
    packages = {spider.__module__.partition(".")[0], *OURS}
    for value in given.values():
        packages.update(PACKAGE.findall(str(dict(value) if isinstance(value, Mapping) else value)))
    left = set(names)
    for module, loaded in [*sys.modules.items()] if names else ():
        if module.partition(".")[0] in packages:
            text = _text(loaded)
            left -= {name for name in left if f'"{name}"' in text or f"'{name}'" in text}
    if left:
        helps = {does: name for name in sorted(left) for tried, does in WISHES.items() if name.upper() in tried.split()}
        wanted = "".join(f"; for {name}: {does}" for does, name in helps.items())
        yield f"{', '.join(sorted(left))}: no effect, nothing here reads a setting of this name{wanted}"


def _text(module: Any) -> str:
    path = Path(getattr(module, "__file__", None) or "")
    try:
        return path.read_text("utf-8", "replace") if path.suffix == ".py" else ""
    except OSError:
        return ""
