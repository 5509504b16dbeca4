"""Starts, before a crawl begins, the threads that libraries would start in the middle of it."""

from __future__ import annotations

from concurrent.futures import wait

import pycares

from webcrawl.store.worker import ThreadStart, Worker


def start_threads() -> None:
    """Start pycares' thread, and end it again. Raise RuntimeError if the system starts none.

    pycares starts a thread with its first channel, and waits for it without an end, though it may
    have died at birth for want of memory. So a worker does the waiting.
    """
    worker = Worker()
    start = ThreadStart()
    channel = worker.submit(_open_channel)
    start.wait(lambda seconds: bool(wait([channel], seconds).done))
    worker.result(channel)
    worker.close()


def _open_channel() -> None:
    try:
        pycares.Channel(sock_state_cb=_nothing).close()
    except pycares.AresError as error:
        # it has no other reason than a want of memory or descriptors
        raise RuntimeError(f"can't start new thread: {error}") from error


def _nothing(fd: int, readable: bool, writable: bool) -> None:  # noqa: FBT001 - c-ares' signature
    """Do nothing. Without such a function the channel would have a thread of its own."""
