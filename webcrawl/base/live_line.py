"""A line at the bottom of the terminal that says how far a crawl or a hive has come."""

from __future__ import annotations

import logging
import sys
from typing import Any


class LiveLine:
    """Log lines that go to the same terminal are printed above it."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - here and below: saves 0.04 s without a terminal
        from rich.live import Live  # noqa: PLC0415

        self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
        self._moved: list[logging.StreamHandler[Any]] = []

    def start(self) -> None:
        before = sys.stderr
        self._live.start()
        for handler in logging.getLogger().handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is before:
                handler.setStream(sys.stderr)
                self._moved.append(handler)

    def update(self, text: str) -> None:
        from rich.text import Text  # noqa: PLC0415

        self._live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)

    def stop(self) -> None:
        self._live.stop()
        for handler in self._moved:
            handler.setStream(sys.stderr)
