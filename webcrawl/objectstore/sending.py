"""One file after the other to the store, in a thread of its own. While the store is away, tries are further apart."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from webcrawl.lack import lack
from webcrawl.objectstore.place import Place, Refused, Stopped
from webcrawl.objectstore.upload import Sums, upload
from webcrawl.store.worker import SYSTEMS, Worker
from webcrawl.text.credentials import text_without_credentials

logger = logging.getLogger(__name__)

T = TypeVar("T")
SHORTEST, LONGEST = 1.0, 300.0  # seconds between two tries


@dataclass(frozen=True, slots=True)
class Sent:
    """A file that is in the store, whole."""

    sums: Sums
    by: str


class Sender:
    """Its methods are the crawl's thread's; what it finds out it says once, and counts."""

    def __init__(self, address: str, place_of: Callable[[], Place], clock: Callable[[], float]) -> None:
        self._address, self._place_of, self._clock = address, place_of, clock
        self._place: Place | None = None
        self._worker = Worker(stack=SYSTEMS)  # packages for stores were not written for small ones
        self._stopped = False
        self._begun: set[str] = set()  # names that this process wrote, perhaps in part
        self._wait, self._retry_at, self._away_since = SHORTEST, 0.0, 0.0
        self._told: set[type] = set()
        self.moved = clock()  # when something last was
        self.failures = 0

    def __repr__(self) -> str:
        return f"<Sender {self._address} failures={self.failures}>"

    @property
    def is_due(self) -> bool:
        """Whether a try makes sense now."""
        return self._clock() >= self._retry_at

    @property
    def is_away(self) -> bool:
        """Whether the last try failed."""
        return self._away_since > 0.0

    def look(self) -> Future[None]:
        """Has the thread find out whether the store answers."""
        return self._worker.submit(self._look)

    def send(self, name: str, path: Path, crc: int | None) -> Future[Sent | None]:
        """A job that gives None if the file is to be tried later; Refused if it is not."""
        return self._worker.submit(self._send, name, path, crc)

    def remove(self, name: str) -> Future[bool]:
        """A job that says whether the file is gone from the store."""
        return self._worker.submit(self._remove, name)

    def done(self, job: Future[T]) -> bool:
        return self._worker.done(job)

    def stop(self) -> None:
        """What is under way is given up at its next piece."""
        self._stopped = True

    def close(self) -> None:
        """Ends the thread when it has nothing to do; one that hangs in a call of the store's is left to itself."""
        self._stopped = True
        with suppress(TimeoutError):
            self._worker.submit(lambda: None).result(timeout=SHORTEST)
            self._worker.close()

    # -- in the thread

    def _look(self) -> None:
        try:
            self._opened().look()
        except Exception as error:  # noqa: BLE001 - the store's, of any kind
            self._fails(error)

    def _send(self, name: str, path: Path, crc: int | None) -> Sent | None:
        if self._stopped or not self.is_due:
            return None
        moved = self.moved
        try:
            sums, by = upload(self._opened(), path, name, crc, self._begun, self._going)
        except Refused:
            raise
        except Stopped:
            return None
        except Exception as error:  # noqa: BLE001 - as above
            self._fails(error)
            self.moved = moved  # nothing came of it
            return None
        self._answers()
        return Sent(sums, by)

    def _remove(self, name: str) -> bool:
        if self._stopped or not self.is_due:
            return False
        try:
            self._opened().remove(name)
        except Exception as error:  # noqa: BLE001 - as above
            self._fails(error)
            return False
        self._answers()
        return True

    def _opened(self) -> Place:
        if self._place is None:
            self._place = self._place_of()
        return self._place

    def _fails(self, error: Exception) -> None:
        now = self._clock()
        self.failures += 1
        self._retry_at, self._wait = now + self._wait, min(2 * self._wait, LONGEST)
        why = " ".join(text_without_credentials(str(error) or type(error).__name__).split())
        if not self.is_away:
            self._away_since = now
            self._told.clear()
        if type(error) not in self._told:  # another kind of failure is news
            self._told.add(type(error))
            whose = "this machine lacks something" if lack(error) else "finished files wait here"
            logger.warning("%s: %s: %s; tried again, less and less often", self._address, why, whose)

    def _answers(self) -> None:
        if self.is_away:
            logger.info("%s: takes files again, after %.0f s", self._address, self._clock() - self._away_since)
        self._wait, self._retry_at, self._away_since = SHORTEST, 0.0, 0.0

    def _going(self) -> None:
        """Called for each piece."""
        if self._stopped:
            raise Stopped
        self.moved = self._clock()
