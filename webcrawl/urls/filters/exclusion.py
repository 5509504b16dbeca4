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
        """Read the file. Raise RulesError if it is missing or has a line that is no rule.

        `interval`: seconds between two looks at whether it has changed.
        """
        self._path = path
        self._interval = interval
        self._clock = clock
        self._looked_at = clock()
        self._complaint = ""
        self._file_stamp = 0, 0
        self._rules = ExclusionRules()
        self.text = ""
        self.read_at = 0.0
        with readable(path):
            self._read(self._stat_file())

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        path = setup.settings["URL_EXCLUDE_FILE"]
        return cls(Path(path), INTERVAL, setup.clock) if path else None

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        excludes = self._rules_in_force().excludes
        return [url for url in urls if not excludes(url)]

    def reject(self, url: str) -> bool:
        return self._rules_in_force().excludes(url)

    def _rules_in_force(self) -> ExclusionRules:
        """Return the rules that hold now.

        The file is looked at again when it is time, and its text is parsed again when the `until`
        of a rule has passed.
        """
        now = self._clock()
        # Less than 0: the clock was set back
        was_just_looked_at = 0 <= now - self._looked_at < self._interval
        if not was_just_looked_at:
            self._looked_at = now
            self._reread()
        if now >= self._rules.ends:
            self._rules = parse_exclusions(self.text, str(self._path), now)
        return self._rules

    def records(self) -> list[OptOut]:
        """Return what the file says of each rule, expired ones included."""
        return optouts_in(self.text, str(self._path))[0]

    def _reread(self) -> None:
        """Read the file again if it has changed.

        If it is missing or bad, the rules before stay in force, and a warning says so once for each
        error.
        """
        try:
            with readable(self._path):
                # A file that is missing now is read when it comes back
                stamp_before, self._file_stamp = self._file_stamp, (0, 0)
                stamp = self._stat_file()
                if stamp == stamp_before:
                    self._file_stamp = stamp_before
                    return
                self._read(stamp)
            self._complaint = ""
            logger.info("%s: read again; it now has %s", self._path, self._rules)
        except RulesError as error:
            if str(error) != self._complaint:  # once, not at every look
                logger.warning("%s; the previous exclusions stay in force", error)
            self._complaint = str(error)

    def _stat_file(self) -> tuple[int, int]:
        """Return the file's time and size, which change with its content. Raise OSError if it is no
        file.
        """
        status = self._path.stat()
        # Reading a pipe would make the event loop wait for its writer
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        return status.st_mtime_ns, status.st_size

    def _read(self, stamp: tuple[int, int]) -> None:
        text, now = self._path.read_text(encoding="utf-8-sig"), self._clock()
        # Only now that the text was read: a lack of descriptors must not hide a change
        self._file_stamp = stamp
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
        excludes = self._rules_in_force().excludes
        return [url for url in urls if not excludes(url)]

    def reject(self, url: str) -> bool:
        return bool(self.records) and self._rules_in_force().excludes(url)

    def _rules_in_force(self) -> ExclusionRules:
        if self._clock() >= self._rules.ends:
            self.use(self.records)
        return self._rules
