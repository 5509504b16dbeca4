"""The one place that checks settings, before the first request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webcrawl import settings as defaults
from webcrawl.checks.table import KINDS, RULES, SCRAPYS

LONGEST = 120  # characters shown of a value, and of the detail about it


class SettingError(ValueError):
    """A setting with an invalid value; the message is one line with its name, the value and what is allowed."""

    def __init__(self, name: str, value: object, allowed: str, detail: str = "") -> None:
        shown = dict(value) if isinstance(value, Mapping) else value
        line = f"{name} = {_short(repr(shown))}: must be {allowed}" + (f" ({_short(detail)})" if detail else "")
        super().__init__(" ".join(line.split()))


def check(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns every setting of the table as a plain value, defaults included. Raises SettingError."""
    values: dict[str, Any] = {}
    given = {name: kind for name, kind in SCRAPYS.items() if settings.get(name) is not None}
    for name, kind in (KINDS | given).items():
        value = settings[name] if name in settings else getattr(defaults, name)
        try:
            values[name] = kind.read(value)
        except (ValueError, TypeError, OSError) as error:
            raise SettingError(name, value, kind.allowed, str(error)) from error
    for rule in RULES:
        if not rule.holds(values):
            raise SettingError(rule.name, values[rule.name], rule.allowed.format(**values))
    return values | {"FRONTIER_QUEUES": values["FRONTIER_QUEUES"] or _default_queues(values)}


def _default_queues(values: Mapping[str, Any]) -> int:
    """Three host queues per concurrent download, as the Mercator paper recommends."""
    return int(min(3 * values["CONCURRENT_REQUESTS"], values["FRONTIER_MAX_QUEUES"]))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
