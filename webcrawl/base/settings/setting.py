"""A row of the table of settings: name, default, kind of value with its bounds, and text."""

from __future__ import annotations

from typing import Any, NamedTuple

from webcrawl.base.settings.setting_kinds import Kind

DAY = 86_400
TEBIBYTE = 1 << 20  # in MiB
MANY = 10**9


class Setting(NamedTuple):
    """A setting. A kind that needs higher rooms is named, and found in crawl/checks/table.py; none: Scrapy's affair."""

    name: str
    default: Any
    kind: Kind | str | None = None
    text: str = ""

    def means(self, text: str) -> Setting:
        """A copy with the sentence that docs/settings.md has on it."""
        return self._replace(text=text)
