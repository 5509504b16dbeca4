"""A lack of memory or threads is noticed wherever it shows."""

import asyncio
import gc
import logging
import sys
import threading

import pytest

from webcrawl.base.errors import lack, words_of
from webcrawl.crawl.exhaustion_watch import ExhaustionWatch
from webcrawl.store.errors import StoreError

NO_THREAD = RuntimeError("can't start new thread")


@pytest.fixture(name="found")
def _found():
    """The errors that were noticed; in a running loop, `watched` is called and its turn of the loop
    awaited.
    """
    return []


def noticed(found, happen):
    """Lets `happen` have its way in a loop that is watched."""

    async def main():
        before = sys.unraisablehook, threading.excepthook
        lacks = ExhaustionWatch(found.append, asyncio.get_running_loop())
        lacks.watch()
        try:
            happen()
            await asyncio.sleep(0.01)
        finally:
            lacks.unwatch()
        assert (sys.unraisablehook, threading.excepthook) == before

    asyncio.run(main())
    return [str(error) or type(error).__name__ for error in found]


def raise_it(error):
    raise error


class Dying:
    def __del__(self):
        raise MemoryError


def in_thread():
    thread = threading.Thread(target=raise_it, args=(MemoryError(),))
    thread.start()
    thread.join()


def logged(error):
    try:
        raise_it(error)
    except Exception:
        logging.getLogger("somewhere").exception("cannot go on")


@pytest.mark.parametrize(
    "happen",
    [
        pytest.param(
            lambda: asyncio.get_running_loop().call_soon(raise_it, MemoryError()), id="a callback"
        ),
        pytest.param(in_thread, id="a thread"),
        pytest.param(lambda: [Dying(), gc.collect()], id="a destructor"),
        pytest.param(lambda: logged(MemoryError()), id="the log"),
    ],
)
def test_where_it_shows(found, happen):
    """An error that ends a callback, a thread or a destructor, or that is logged, is passed on to
    the loop's thread.
    """
    assert noticed(found, happen) == ["MemoryError"]


def test_what_is_no_lack(found, caplog):
    """Other errors are handled as they were before."""
    assert noticed(found, lambda: logged(KeyError("x"))) == []
    assert caplog.records[0].exc_info


def test_the_log_has_a_line_without_a_traceback(found, caplog):
    """The traceback of a lack says nothing and is left out."""
    noticed(found, lambda: logged(NO_THREAD))

    assert caplog.messages == ["cannot go on"]
    assert caplog.records[0].exc_info is None


def test_what_a_lack_is():
    """No memory, or no thread, or what was raised from that."""
    wrapped = StoreError("not kept")
    wrapped.__cause__ = MemoryError()

    assert [
        lack(error)
        for error in (MemoryError(), wrapped, NO_THREAD, RuntimeError("x"), OSError(12, "x"), None)
    ] == [*("out of memory", "out of memory", "the system cannot start another thread", "", "", "")]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no\n  such thing"), "no such thing"),
        (TimeoutError(), "TimeoutError"),
        (MemoryError(), "out of memory"),
        (OSError(28, "No space left on device"), "[Errno 28] No space left on device"),
    ],
)
def test_an_error_has_words(error, said):
    """One line; what says nothing has its name, and a lack is called by its own."""
    assert words_of(error) == said


@pytest.mark.parametrize(
    "happen",
    [
        pytest.param(
            lambda: asyncio.get_running_loop().call_soon(raise_it, MemoryError()), id="a callback"
        ),
        pytest.param(in_thread, id="a thread"),
        pytest.param(lambda: [Dying(), gc.collect()], id="a destructor"),
    ],
)
def test_of_two_crawls_the_first_ends_first(happen):
    """The other one goes on to notice what befalls it, and the one that has ended hears nothing
    more.
    """
    first, second = [], []

    async def main():
        loop = asyncio.get_running_loop()
        before = sys.unraisablehook, threading.excepthook
        one = ExhaustionWatch(first.append, loop)
        one.watch()
        other = ExhaustionWatch(second.append, loop)
        other.watch()
        one.unwatch()
        try:
            happen()
            await asyncio.sleep(0.01)
        finally:
            other.unwatch()
            sys.unraisablehook, threading.excepthook = before

    asyncio.run(main())
    assert (len(first), len(second)) == (0, 1)
