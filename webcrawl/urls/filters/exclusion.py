"""The list of those who asked to be left alone, read again whenever it changes."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Self

from webcrawl.urls.filters.exclusion_rules import ExclusionRules, RulesError, parse_exclusions

if TYPE_CHECKING:
    from webcrawl.urls.filters.protocol import Clock, Origin, Setup

logger = logging.getLogger(__name__)


class ExclusionFilter:
    """URL_EXCLUDE_FILE: must be readable at the start; later, a missing or bad file leaves the old rules.

    The file is looked at no oftener than every `interval` seconds, and read when its time or size changed.
    """

    name = "excluded"

    def __init__(self, path: str | Path, interval: float, clock: Clock) -> None:
        self._path = Path(path)
        self._interval = interval
        self._clock = clock
        self._due = clock() + interval
        try:
            self._stamp = self._look()
            self._rules = self._read()
        except OSError as error:
            raise RulesError(f"{path}: cannot be read: {error.strerror or error}") from error

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        path = setup.settings["URL_EXCLUDE_FILE"]
        return cls(path, setup.settings["URL_EXCLUDE_FILE_INTERVAL"], setup.clock) if path else None

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        excludes = self._current().excludes
        return [url for url in urls if not excludes(url)]

    def reject(self, url: str) -> bool:
        return self._current().excludes(url)

    def _current(self) -> ExclusionRules:
        now = self._clock()
        if now >= self._due:
            self._due = now + self._interval
            self._reread()
        return self._rules

    def _reread(self) -> None:
        try:
            stamp = self._look()
            if stamp != self._stamp:
                self._stamp = stamp
                self._rules = self._read()
                logger.info("%s was read again: %s", self._path, self._rules)
        except (OSError, RulesError) as error:
            logger.warning("the old exclusions stay: %s", error)

    def _look(self) -> tuple[int, int]:
        stat = self._path.stat()
        return stat.st_mtime_ns, stat.st_size

    def _read(self) -> ExclusionRules:
        try:
            text = self._path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise RulesError(f"{self._path}: is not UTF-8 text") from error
        return parse_exclusions(text, str(self._path))
