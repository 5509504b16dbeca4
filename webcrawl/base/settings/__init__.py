"""Every setting of the crawl, stated once, in the order in which a URL meets them.

From this table come webcrawl/settings.py, the checks at the start (crawl/checks) and
docs/settings.md (`python docs/make_settings.py`).
"""

from __future__ import annotations

from typing import Any

from webcrawl.base.settings.crawl_settings import CRAWL_SETTINGS
from webcrawl.base.settings.scrapy_settings import PLUMBING, SCRAPY_SETTINGS
from webcrawl.base.settings.setting_kinds import Setting

PREFIX = "WEBCRAWL_"  # of a setting in the environment
SECTIONS = CRAWL_SETTINGS | SCRAPY_SETTINGS
SETTINGS: dict[str, Setting] = {one.name: one for section in SECTIONS.values() for one in section}
DEFAULTS: dict[str, Any] = PLUMBING | {name: one.default for name, one in SETTINGS.items()}
