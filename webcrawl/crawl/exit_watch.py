"""Ends the process of a crawl that is over, although threads of the user's code do not return.

Python waits for all threads before a process ends, and Twisted for those of its pool, without a
word: a page that a crawl has given up may still be in one, as `asyncio.to_thread` has them.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from webcrawl.base.program import ExitStatus
from webcrawl.crawl import last_pages
from webcrawl.crawl.failures import place
from webcrawl.crawl.standstill import speak
from webcrawl.store.worker import Worker

logger = logging.getLogger(__name__)

LOOK_INTERVAL = 1.0  # seconds between two looks


def watch_exit(is_to_stop: Callable[[], bool]) -> None:
    """Name the threads for which the end of this process waits; do not wait for ever.

    `is_to_stop`: whether the crawl was told to stop. Then the process ends after STORED seconds,
    with status 1.
    """
    with suppress(RuntimeError):  # no more threads
        Worker().submit(_watch, is_to_stop)


def _watch(is_to_stop: Callable[[], bool]) -> None:
    """Look regularly, in a thread that ends with the process, whether it waits for others."""
    seconds = 0.0  # for which it has waited
    while True:
        time.sleep(LOOK_INTERVAL)
        # It may do other things than end
        main = sys._current_frames().get(threading.main_thread().ident or 0)  # noqa: SLF001 - documented all the same
        seconds = seconds + LOOK_INTERVAL if waits_for_threads(main) else 0.0
        if is_to_stop() and seconds >= last_pages.STORED:
            line = "%s does not return: the process ends without waiting for it"
            speak(logger.error, line, _places())
            os._exit(ExitStatus.FAILED)
        if seconds == last_pages.REPORTED_AFTER:
            line = (
                "the crawl is over, but the process waits for %s; a second signal ends it at once"
            )
            speak(logger.warning, line, _places())


def waits_for_threads(frame: FrameType | None) -> bool:
    """Return whether the main thread, which is in `frame`, waits for others, as at its end."""
    return frame is not None and frame.f_code.co_filename == threading.__file__


def _places() -> str:
    """Return where the threads are that Python waits for."""
    main = threading.main_thread()
    frames = sys._current_frames()  # noqa: SLF001 - as above
    waited_for = (one for one in threading.enumerate() if one is not main and not one.daemon)
    return "; ".join(
        sorted({place(frames[one.ident]) for one in waited_for if one.ident in frames})
    )
