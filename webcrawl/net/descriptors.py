"""How many connections this process may have open, by its limit of descriptors."""

from __future__ import annotations

import logging
import resource
from dataclasses import dataclass
from pathlib import Path

logger = logging.getLogger(__name__)

# What else a crawl may open after its start: three descriptors for crawl.db and three for the copy of its log, one for
# a file that is synced, the archive and the logs (4), the runs of both seen stores, replaced ones included until the
# next checkpoint (50), their scratch files (10), seed lists (2), sockets of c-ares (10), and some for pipelines.
OTHERS = 100


MOST = 1000  # connections kept for hosts that wait: over TLS each takes 45 KB


@dataclass(frozen=True, slots=True)
class Room:
    """Connections that fit below the limit."""

    fetches: int  # at once
    kept: int  # idle


def raise_limit() -> int:
    """Raises this process's limit of open files as far as the system allows; returns it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError) as error:  # macOS: the hard limit is none, and cannot be had
            logger.info("the limit of open files stays %d: %s", soft, error)
        else:
            logger.info("the limit of open files is raised from %d to %d", soft, hard)
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 30 if limit == resource.RLIM_INFINITY else limit


def in_use() -> int:
    """Descriptors that are open now."""
    return sum(1 for _ in Path("/dev/fd").iterdir())


def worth_keeping(queues: int, fetches: int, factor: float) -> int:
    """Idle connections that are worth having.

    If hosts wait for `factor` times as long as their last answer took, so many of them wait for each that is asked. In
    a crawl that does not wait, there is one for each host of the rotation, as the frontier has it at least.
    """
    return max(queues, min(int(factor * fetches), MOST))


def room(limit: int, used: int, fetches: int, kept: int) -> Room:
    """As many of the fetches and kept connections that are wanted as fit; `fetches` = 0 wants as many as possible.

    Fetches come first, but leave an eighth to kept connections. With a very low limit the crawl's other files get half.
    """
    free = max(limit - used, 0)
    sockets = free - min(OTHERS, free // 2)
    most = max(sockets - min(kept, sockets // 8), 1)
    fetches = min(fetches or most, most)
    return Room(fetches, max(min(kept, sockets - fetches), 0))
