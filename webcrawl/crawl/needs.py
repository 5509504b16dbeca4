"""Settings that some kinds of crawls need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webcrawl.store.errors import StoreError

Needs = Mapping[str, tuple[object, str]]
"""By setting: its value, and what is said of any other."""


class Unfit(StoreError):  # noqa: N818 - reads as what it is
    """A crawl of this kind cannot have these settings."""


def need(values: Mapping[str, Any], needs: Needs, kind: str) -> None:
    """Raises Unfit, in a line, for the first setting with another value."""
    for name, (needed, why) in needs.items():
        if (values[name] or None) != (needed or None):
            raise Unfit(f"{name} = {values[name]!r}: must be {why} ({kind})")
