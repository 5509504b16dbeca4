"""Writes unexpected errors to logs/errors.log, and ends a crawl with too many (Nielsen)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from traceback import walk_tb

from webcrawl.base.readable import ReadableFormatter
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.crawl.periodic import from_thread
from webcrawl.store.disk import appending
from webcrawl.store.jobdir.stats_file import ERROR_BREAKER

logger = logging.getLogger(__name__)

LINE = "%(asctime)s %(name)s: %(message)s"
# tracebacks from one place that the screen shows: a pipeline that fails at each page would fill it
TRACEBACKS_SHOWN = 3


class _Errors(logging.FileHandler):
    """A log file that says once, in a line, that it cannot be written: disk full or folder gone."""

    failed = False

    def _open(self) -> TextIOWrapper:
        return TextIOWrapper(appending(self.baseFilename), self.encoding, self.errors)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            super().emit(record)  # it opens the file here
        except OSError:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 - logging's names
        if not self.failed:
            self.failed = True
            logger.warning("%s: cannot be written: %s", self.baseFilename, sys.exc_info()[1])


class ErrorBreaker(logging.Handler):
    """A log handler that treats every error logged with a traceback as unexpected.

    What a page or a server can cause at will has an outcome and a counter, and never comes here.
    """

    def __init__(self, folder: Path, many: int, seconds: float, end: Callable[[str], None]) -> None:
        """End the crawl once `many` errors come within `seconds`, by `end` with the reason."""
        super().__init__(logging.ERROR)
        self._many = many
        self._seconds = seconds
        self._end = end
        self._times: deque[float] = deque(maxlen=many)  # of the last errors, by time.monotonic
        self._path = folder / "logs" / "errors.log"
        self._file: _Errors | None = None
        # by the file and line that raised them
        self._errors_at: Counter[tuple[str, int]] = Counter()
        # the handlers that write to a screen: they show only the first errors of each place
        self._screens: list[logging.Handler] = []

    def opened(self) -> None:
        """Begin to hear all log records: open errors.log, and filter what the screen shows."""
        self._loop = asyncio.get_running_loop()
        # If the folder cannot be made, the first error finds out, and `_Errors` says so.
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = _Errors(self._path, delay=True, encoding="utf-8", errors="backslashreplace")
        self._file.setFormatter(ReadableFormatter(logging.Formatter(LINE)))
        streams = [
            handler
            for handler in logging.getLogger().handlers
            if isinstance(handler, logging.StreamHandler)
        ]
        # A FileHandler is a StreamHandler, too.
        self._screens = [one for one in streams if not isinstance(one, logging.FileHandler)]
        for screen in self._screens:
            screen.addFilter(self._shows)
        logging.getLogger().addHandler(self)

    def change(self, values: CheckedSettings) -> None:
        """Heed another ERROR_BREAKER from now on."""
        self._many, self._seconds = values["ERROR_BREAKER"]
        self._times = deque(self._times, maxlen=self._many)

    def closed(self) -> None:
        logging.getLogger().removeHandler(self)
        for screen in self._screens:
            screen.removeFilter(self._shows)
        if self._file is not None:
            with contextlib.suppress(OSError):  # what it could not write before, which was said
                self._file.close()

    def _shows(self, record: logging.LogRecord) -> bool:
        """Return False for an error like many before, which errors.log has."""
        is_error = bool(record.exc_info) and record.levelno >= self.level
        # What errors.log cannot take, the screen shows.
        has_file = self._file is not None and not self._file.failed
        if not is_error or not has_file:
            return True
        return self._errors_at[_origin(record)] < TRACEBACKS_SHOWN

    def is_ours(self, record: logging.LogRecord) -> bool:
        """Return whether this crawl has logged it, and no other one of the process."""
        del record
        return True

    def count(self) -> None:
        """Count an unexpected error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record with a traceback to errors.log, and end the crawl if there are too many.

        Each place of origin is shown on the screen a few times only. Called by any thread.
        """
        if not record.exc_info or self._file is None or not self.is_ours(record):
            return
        self._file.emit(record)
        origin = _origin(record)
        self._errors_at[origin] += 1
        is_last_shown = self._errors_at[origin] == TRACEBACKS_SHOWN and bool(self._screens)
        if is_last_shown and not self._file.failed:
            logger.warning(
                "further errors raised at %s:%d are shown only in %s", *origin, self._path
            )
        self.count()
        now = time.monotonic()
        self._times.append(now)
        # The deque holds no more than `many`: the first one is that many errors ago.
        are_too_many = len(self._times) == self._many and now - self._times[0] <= self._seconds
        if are_too_many:
            # A pipeline may log in a thread of its own, and the crawl must be ended in the loop's.
            from_thread(self._loop, partial(self._end, ERROR_BREAKER))


def _origin(record: logging.LogRecord) -> tuple[str, int]:
    """Return the file and the line that raised the error of a record, or that logged it."""
    trace = record.exc_info[2] if record.exc_info else None
    if trace is None:
        return record.pathname, record.lineno
    *_, (frame, line) = walk_tb(trace)
    return frame.f_code.co_filename, line
