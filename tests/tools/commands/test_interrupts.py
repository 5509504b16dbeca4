"""Signals that belong together count as one."""

import signal
from functools import partial
from types import SimpleNamespace

import pytest

from webcrawl.tools.commands.crawl import (
    ENDING_SIGNALS,
    FORCED_END_SECONDS,
    SAME_SIGNAL_SECONDS,
    OneSignal,
)


@pytest.fixture(name="heard")
def _heard():
    """Handlers as Scrapy installs them: the first installs the second, which has all further
    signals ignored.
    """
    heard, before = (
        [],
        [(number, signal.getsignal(number)) for number in (*ENDING_SIGNALS, signal.SIGHUP)],
    )
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

    def install(handler):
        for number in ENDING_SIGNALS:
            signal.signal(number, handler)

    def graceful(*_):
        heard.append("end")
        install(forced)

    def forced(*_):
        heard.append("force")
        install(signal.SIG_IGN)

    install(graceful)
    yield heard
    for number, handler in before:
        signal.signal(number, handler)


@pytest.fixture(name="armed")
def _armed():
    """The seconds after which the kernel is to end the process."""
    return []


@pytest.fixture(name="send")
def _send(heard, armed):
    """Sends a signal at a time of the handler's clock."""
    now = [0.0]
    OneSignal(partial(now.__getitem__, 0), armed.append).install()

    def send(number, at):
        now[0] = at
        signal.raise_signal(number)

    return send


def test_a_second_signal_within_half_a_second_is_the_same(heard, send, armed):
    """Signals of either kind within half a second of the first end the crawl once, and gracefully."""
    for number, at in (
        (signal.SIGINT, 10.0),
        (signal.SIGTERM, 10.0),
        (signal.SIGINT, 10.0 + SAME_SIGNAL_SECONDS - 0.01),
    ):
        send(number, at)

    assert (heard, armed) == (["end"], [])


def test_a_second_signal_while_the_first_one_is_handled(heard, armed):
    """It is the same, though Scrapy has just installed the handler that forces the end."""

    def interrupted(*_):
        signal.signal(signal.SIGTERM, lambda *_: heard.append("force"))
        signal.raise_signal(signal.SIGTERM)
        heard.append("end")

    signal.signal(signal.SIGTERM, interrupted)
    OneSignal(lambda: 10.0, armed.append).install()
    signal.raise_signal(signal.SIGTERM)

    assert (heard, armed) == (["end"], [])


@pytest.mark.parametrize("number", ENDING_SIGNALS)
def test_a_later_one_forces_the_end(heard, send, armed, number):
    """A signal half a second after the first one forces the end, which the kernel sees to; later
    ones are ignored.
    """
    for at in (10.0, 10.0 + SAME_SIGNAL_SECONDS, 20.0):
        send(number, at)

    assert (heard, armed) == (["end", "force"], [FORCED_END_SECONDS])
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


@pytest.mark.parametrize("stands", [False, True])
def test_a_loop_that_stands_still(heard, armed, stands):
    """Its watch hears of the first signal, and a second one that the loop cannot hear ends the
    process at once.
    """
    now, watch, said = [0.0], SimpleNamespace(stands=stands), []
    watch.note_stop, watch.end = partial(said.append, "told"), said.append
    OneSignal(partial(now.__getitem__, 0), armed.append, lambda: watch).install()
    for at in (10.0, 10.0 + SAME_SIGNAL_SECONDS):
        now[0] = at
        signal.raise_signal(signal.SIGINT)

    assert (said, armed) == (["told", *[130] * stands], [FORCED_END_SECONDS])


def test_a_closed_terminal_ends_the_crawl(heard, send, armed):
    """SIGHUP ends the crawl as SIGTERM does, and more of them do not force that."""
    for at in (10.0, 20.0, 30.0):
        send(signal.SIGHUP, at)

    assert (heard, armed) == (["end"], [])


def test_a_terminal_that_is_closed_meanwhile(heard, send, armed):
    """SIGHUP while the crawl ends changes nothing."""
    send(signal.SIGTERM, 10.0)
    send(signal.SIGHUP, 20.0)

    assert (heard, armed) == (["end"], [])


def test_nohup(heard):
    """A SIGHUP that is ignored stays so."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    OneSignal().install()

    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    assert heard == []
