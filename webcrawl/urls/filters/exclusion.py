"""The list of sites that asked not to be crawled, read again whenever it changes."""

from __future__ import annotations

import errno
import logging
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Self

from webcrawl.urls.filters.exclusion_rules import ExclusionRules, optouts_in, parse_exclusions
from webcrawl.urls.rules_file import RulesError, readable

if TYPE_CHECKING:
    from webcrawl.urls.filters.protocol import Clock, Origin, Setup
    from webcrawl.urls.optout import OptOut

logger = logging.getLogger(__name__)


class ExclusionFilter:
    """URL_EXCLUDE_FILE: must be valid at the start; if it is missing or bad later, the old rules stay in force.

    The file is checked at most every `interval` seconds, and read if its time or size has changed.
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
        self.text, self.read_at = "", 0.0
        with readable(path):
            self._read(self._look())

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        path = setup.settings["URL_EXCLUDE_FILE"]
        return cls(Path(path), setup.settings["URL_EXCLUDE_FILE_INTERVAL"], setup.clock) if path else None

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        excludes = self._current().excludes
        return [url for url in urls if not excludes(url)]

    def reject(self, url: str) -> bool:
        return self._current().excludes(url)

    def _current(self) -> ExclusionRules:
        now = self._clock()
        if not 0 <= now - self._looked < self._interval:  # less than 0: the clock was set back
            self._looked = now
            self._reread()
        if now >= self._rules.ends:
            self._rules = parse_exclusions(self.text, str(self._path), now)
        return self._rules

    def records(self) -> list[OptOut]:
        """What the file says of each rule, those that are over too."""
        return optouts_in(self.text, str(self._path))[0]

    def _reread(self) -> None:
        try:
            with readable(self._path):
                stamp = self._look()
                if stamp == self._stamp:
                    return
                self._read(stamp)
            self._complaint = ""
            logger.info("%s: read again, now %s", self._path, self._rules)
        except RulesError as error:
            if str(error) != self._complaint:  # once, not at every look
                logger.warning("keeping the old exclusions: %s", error)
            self._complaint = str(error)

    def _look(self) -> tuple[int, int]:
        found = self._path.stat()
        if not stat.S_ISREG(found.st_mode):  # the event loop would wait for whoever writes into a pipe
            raise OSError(errno.EINVAL, "it is not a regular file")
        return found.st_mtime_ns, found.st_size

    def _read(self, stamp: tuple[int, int]) -> None:
        text, now = self._path.read_text(encoding="utf-8-sig"), self._clock()
        self._stamp = stamp  # now that there is a text, good or bad: what a lack of descriptors hid is read next time
        self._rules = parse_exclusions(text, str(self._path), now)
        self.text, self.read_at = text, now
        for line in optouts_in(text, str(self._path))[1]:
            logger.warning("%s", line)
