"""Answers to forms, kept for the page that the browser is sent to next: loading that again commands nothing anew."""

from __future__ import annotations

import secrets
from typing import Any

from webcrawl.dashboard.orders import Order

MOST = 100


class Said:
    """The last hundred."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Order, Any, bool]] = {}

    def keep(self, order: Order, answer: Any, *, refused: bool) -> str:
        """Returns the name under which it is found."""
        while len(self._kept) >= MOST:
            del self._kept[next(iter(self._kept))]
        name = secrets.token_urlsafe(6)
        self._kept[name] = order, answer, refused
        return name

    def get(self, name: str) -> tuple[Order, Any, bool] | None:
        return self._kept.get(name)
