"""The settings that may change while a crawl runs, because somebody asks for them anew all the time (in_force.py)."""

from __future__ import annotations

from webcrawl.checks import SettingError, read
from webcrawl.control.errors import CommandError

OF_FRONTIER = (  # with each outcome
    *("POLITENESS_FACTOR", "POLITENESS_MIN_DELAY", "POLITENESS_MAX_DELAY"),
    *("CRAWL_DELAY_MAX", "RETRY_AFTER_MAX", "HOST_MAX_PAGES"),
)
CHANGEABLE = (*OF_FRONTIER, "OUTAGE_END_WAIT", "CHECKPOINT_INTERVAL", "LOG_LEVEL", "BANDWIDTH_MAX", "CLOSESPIDER_BYTES")


def check_set(name: str, value: str) -> None:
    """Raises CommandError for what no crawl would take, whatever its other settings are."""
    if name not in CHANGEABLE:
        able = ", ".join(CHANGEABLE)
        raise CommandError(f"{name} is no setting that can change while a crawl runs; these can: {able}")
    try:
        read(name, value)
    except SettingError as error:
        raise CommandError(str(error)) from error
