"""Pages that are at hand together take the same step one after the other."""

from __future__ import annotations

from collections.abc import Generator
from types import coroutine


@coroutine
def step() -> Generator[None, None, None]:
    """Lets the others take theirs; asyncio.sleep(0) does this too, by two calls more.

    What many pages do one after the other finds its code and its tables in the processor's cache: a tenth of all CPU
    time (docs/performance.md).
    """
    yield
