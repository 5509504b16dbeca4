"""The one place where settings are judged, before the first request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webcrawl import settings as defaults
from webcrawl.checks.table import KINDS, RULES, SCRAPYS

LONGEST = 120  # characters that are shown of a value, and of what is wrong with it


class SettingError(ValueError):
    """A setting with an impossible value; the message is one line with name, value and what is allowed."""

    def __init__(self, name: str, value: object, allowed: str, detail: str = "") -> None:
        shown = dict(value) if isinstance(value, Mapping) else value
        line = f"{name} = {_short(repr(shown))}: allowed is {allowed}" + (f" ({_short(detail)})" if detail else "")
        super().__init__(" ".join(line.split()))


def check(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting of the table as a plain value; one that is not given has its default. Raises SettingError."""
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
    """Mercator's advice: three host queues per download at once."""
    return int(min(3 * values["CONCURRENT_REQUESTS"], values["FRONTIER_MAX_QUEUES"]))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
