"""Excludes the sites that asked not to be crawled, by URL_EXCLUDE_FILE and by command.

The file is read again when it changes.
"""

from __future__ import annotations

import errno
import logging
import stat
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from webcrawl.base.errors import RulesError
from webcrawl.urls.exclusion_rules import (
    ExclusionRules,
    OptOut,
    optouts_in,
    parse_exclusions,
    readable,
    rules_of,
)
from webcrawl.urls.filters.filter_protocol import Clock, Origin, Setup

logger = logging.getLogger(__name__)

# Seconds between looks: a change has to be heeded within a minute. A shorter interval only reads a
# large file more often while an operator appends to it
INTERVAL = 30


class ExclusionFilter:
    """Drops the URLs that URL_EXCLUDE_FILE excludes.

    The file must be valid at the start; if it is missing or bad later, the old rules stay in force.
    It is checked at most every `interval` seconds, and read if its time or size has changed.
    """

    name = "excluded"

    def __init__(self, path: Path, interval: float, clock: Clock) -> None:
        self._path = path
        self._interval = interval
        self._clock = clock
        self._looked = clock()
        self._complaint = ""
        self._stamp = 0, 0
        self._rules = ExclusionRules()
        self.text = ""
        self.read_at = 0.0
        with readable(path):
            self._read(self._look())

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        path = setup.settings["URL_EXCLUDE_FILE"]
        return cls(Path(path), INTERVAL, setup.clock) if path else None

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        excludes = self._current().excludes
        return [url for url in urls if not excludes(url)]

    def reject(self, url: str) -> bool:
        return self._current().excludes(url)

    def _current(self) -> ExclusionRules:
        now = self._clock()
        # Less than 0: the clock was set back
        was_just_looked_at = 0 <= now - self._looked < self._interval
        if not was_just_looked_at:
            self._looked = now
            self._reread()
        # The `until` of a rule has passed. The file has not changed, so its text is parsed again.
        if now >= self._rules.ends:
            self._rules = parse_exclusions(self.text, str(self._path), now)
        return self._rules

    def records(self) -> list[OptOut]:
        """Return what the file says of each rule, expired ones included."""
        return optouts_in(self.text, str(self._path))[0]

    def _reread(self) -> None:
        try:
            with readable(self._path):
                # A file that is missing now is read when it comes back
                before, self._stamp = self._stamp, (0, 0)
                stamp = self._look()
                if stamp == before:
                    self._stamp = before
                    return
                self._read(stamp)
            self._complaint = ""
            logger.info("%s: read again; it now has %s", self._path, self._rules)
        except RulesError as error:
            if str(error) != self._complaint:  # once, not at every look
                logger.warning("%s; the previous exclusions stay in force", error)
            self._complaint = str(error)

    def _look(self) -> tuple[int, int]:
        found = self._path.stat()
        # Reading a pipe would make the event loop wait for its writer
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        return found.st_mtime_ns, found.st_size

    def _read(self, stamp: tuple[int, int]) -> None:
        text, now = self._path.read_text(encoding="utf-8-sig"), self._clock()
        # Only now that the text was read: a lack of descriptors must not hide a change
        self._stamp = stamp
        self._rules = parse_exclusions(text, str(self._path), now)
        self.text = text
        self.read_at = now
        for line in optouts_in(text, str(self._path))[1]:
            logger.warning("%s", line)


class CommandedFilter:
    """Drops URLs that a command excluded (`webcrawl ctl JOBDIR exclude`).

    It is the last filter of every chain, and has no rules until the operator excludes something.
    """

    name = "commanded"

    def __init__(self, clock: Clock = time.time) -> None:
        self._clock = clock
        self.records: list[OptOut] = []
        self._rules = ExclusionRules()

    @property
    def rules(self) -> list[str]:
        """Return the rules that hold now."""
        now = self._clock()
        return [one.rule for one in self.records if one.holds(now)]

    def use(self, records: Sequence[OptOut]) -> None:
        """Use these records, and no others.

        Raise RulesError if one is no rule; then those before stay.
        """
        self._rules = rules_of(records, self._clock())
        self.records = [*records]

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        if not self.records:
            return urls
        excludes = self._current().excludes
        return [url for url in urls if not excludes(url)]

    def reject(self, url: str) -> bool:
        return bool(self.records) and self._current().excludes(url)

    def _current(self) -> ExclusionRules:
        if self._clock() >= self._rules.ends:
            self.use(self.records)
        return self._rules
