"""Feeds inputs to one target: reports each failing place once, with a minimised input."""

import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from tests.fuzzing.mutator import Mutator
from tests.fuzzing.target import Target

SLOW = 1.0  # seconds of CPU that an input of 64 KiB must not exceed
HANG = 15  # seconds of CPU before an input is aborted
MEMORY = 4 << 30
TRIES = 400  # to minimise an input


class HangError(BaseException):
    """An input hangs; a BaseException, so that no reader's `except Exception` catches it."""


@dataclass(slots=True)
class Finding:
    """An input and what it does."""

    data: bytes
    kind: str  # the exception's name, or `slow`
    place: str
    told: str


def verdict(target: Target, data: bytes) -> Finding | None:
    """The rule that this input breaks, if any."""
    start = time.process_time()
    try:
        with bounded():
            target.run(data)
    except (Exception, HangError) as error:  # noqa: BLE001 - whatever it is, it is a finding
        last = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if "/tests/fuzzing/campaign" not in frame.filename
        ][-1]
        return Finding(
            data,
            type(error).__name__,
            f"{last.filename.rpartition('/')[2]}:{last.name}",
            traceback.format_exc(limit=-6),
        )
    seconds = time.process_time() - start
    return Finding(data, "slow", "", f"{seconds:.1f} s") if seconds > SLOW else None


@contextmanager
def bounded() -> Iterator[None]:
    def hang(*_: object) -> None:
        raise HangError(f"more than {HANG} s of CPU")

    before = signal.signal(signal.SIGVTALRM, hang)
    signal.setitimer(signal.ITIMER_VIRTUAL, HANG)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def limit_memory() -> None:
    """A bomb raises MemoryError instead of exhausting the machine."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def smaller(target: Target, finding: Finding) -> Finding:
    """The same finding with fewer bytes, as far as that is cheap."""
    size, tries = len(finding.data) // 2, TRIES if finding.kind not in ("slow", "HangError") else 0
    while size and tries > 0:
        at, before = 0, len(finding.data)
        while at < len(finding.data) and tries > 0:
            tries -= 1
            found = verdict(target, finding.data[:at] + finding.data[at + size :])
            if found is not None and (found.kind, found.place) == (finding.kind, finding.place):
                finding = found
            else:
                at += size
        size = min(size, len(finding.data)) // (1 if len(finding.data) < before else 2)
    return finding


def run(
    target: Target,
    seed: int,
    *,
    seconds: float,
    told: Callable[[Finding], None],
    note: Callable[[bytes], None],
) -> int:
    """Run inputs until the time is over, the corpus first; each is passed to `note` first.

    Returns their number.
    """
    corpus = target.corpus()
    mutated, until, known, count = (
        Mutator(corpus, target.tokens, Random(seed)),
        time.monotonic() + seconds,
        set(),
        0,
    )
    while count < len(corpus) or time.monotonic() < until:
        data = corpus[count] if count < len(corpus) else mutated()
        count += 1
        note(data)
        finding = verdict(target, data)
        if finding is not None and (finding.kind, finding.place) not in known:
            known.add((finding.kind, finding.place))
            told(smaller(target, finding))
    return count
