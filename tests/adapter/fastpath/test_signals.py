"""Signals that Scrapy awaits mean what they mean in Scrapy, with fewer tasks."""

import asyncio
import logging
from functools import partial

import pytest
from pydispatch import dispatcher
from pydispatch.dispatcher import Any
from scrapy.signalmanager import SignalManager

from webcrawl.adapter.fastpath.signals import shorten_signals

SIGNAL = object()


class Crawl:
    """A signal manager, and listeners that note what happens."""

    def __init__(self):
        self.manager = SignalManager(self)  # itself the sender
        self.said = []
        self.listeners = []  # connections are weak
        shorten_signals(self.manager)

    def plain(self, name, *, result=None):
        def listener(item):
            self.said.append(f"{name} {item}")
            if isinstance(result, Exception):
                raise result
            return result() if callable(result) else result

        return self._connected(listener)

    def waiting(self, name):
        async def listener(item):
            self.said.append(f"{name} {item}")
            await asyncio.sleep(0)
            self.said.append(f"{name} ends")
            return name

        return self._connected(listener)

    def _connected(self, listener):
        self.listeners.append(listener)
        self.manager.connect(listener, SIGNAL)
        return listener

    def forget(self, listener):
        self.listeners.remove(listener)

    def send(self, **named):
        async def send():
            answers = await self.manager.send_catch_log_async(SIGNAL, item="one", **named)
            self.said.append("sent")
            return answers

        return asyncio.run(send())


def steps(coroutine):
    """How often it waits."""
    count = 0
    while True:
        try:
            coroutine.send(None)
        except StopIteration:
            return count
        count += 1


class TestPlainListeners:
    def test_a_signal_that_nobody_hears_has_no_answers(self):
        """A signal that nobody hears has no answers."""
        assert Crawl().send() == []

    def test_no_task(self):
        """Plain listeners are called without a wait: the page stays in its batch."""
        crawl = Crawl()
        crawl.plain("first")

        assert steps(crawl.manager.send_catch_log_async(SIGNAL, item="one")) == 0
        assert crawl.said == ["first one"]

    def test_order_and_answers(self):
        """They are called in their order, with the arguments that they name, and what they return
        is the answer.
        """
        crawl = Crawl()
        first, second = crawl.plain("first"), crawl.plain("second", result=2)

        assert crawl.send(response=None, spider=None) == [(first, None), (second, 2)]
        assert crawl.said == ["first one", "second one", "sent"]

    def test_error(self, caplog):
        """An error is logged where Scrapy logs it, it is the answer, and the others are called."""
        error = ValueError("no")
        crawl = Crawl()
        first, second = crawl.plain("first", result=error), crawl.plain("second")
        answers = crawl.send(spider="the spider")
        (record,) = caplog.records

        assert answers == [(first, error), (second, None)]
        assert (record.name, record.levelno, record.spider) == (
            "scrapy.utils.signal",
            logging.ERROR,
            "the spider",
        )
        assert record.getMessage() == f"Error caught on signal handler: {first}"
        assert record.exc_info[1] is error

    def test_come_and_go(self):
        """Listeners may be connected and disconnected between two signals, and one that is no more
        is not called.
        """
        crawl = Crawl()
        first, second = crawl.plain("first"), crawl.plain("second")
        crawl.send()
        crawl.manager.disconnect(first, SIGNAL)
        third = crawl.plain("third")

        assert crawl.send() == [(second, None), (third, None)]

        crawl.forget(second)
        del second
        assert crawl.send() == [(third, None)]

    def test_all_arguments(self):
        """A listener with `**named` gets all, with the signal and the sender, as from pydispatch."""
        crawl, got = Crawl(), []

        def listener(**named):
            got.append(named)

        crawl.manager.connect(listener, SIGNAL)
        crawl.send(spider=None)

        assert got == [{"item": "one", "spider": None, "signal": SIGNAL, "sender": crawl}]

    def test_missing_argument(self, caplog):
        """One that wants an argument that the signal does not have is an error of its own."""

        def listener(unknown):
            raise AssertionError(unknown)

        crawl = Crawl()
        crawl.manager.connect(listener, SIGNAL)
        ((_, error),) = crawl.send()

        assert type(error) is TypeError
        assert len(caplog.records) == 1

    def test_any_sender(self):
        """Who listens to all senders or to all signals is called, too."""
        crawl = Crawl()
        first = crawl.plain("first")

        def listener(item):
            crawl.said.append(f"any {item}")

        for signal, sender in ((SIGNAL, Any), (Any, crawl)):
            dispatcher.connect(listener, signal, sender)
            try:
                assert crawl.send() == [(first, None), (listener, None)]
            finally:
                dispatcher.disconnect(listener, signal, sender)
        assert crawl.said == ["first one", "any one", "sent"] * 2

    def test_unknown_callable(self, caplog):
        """What pydispatch cannot call is logged each time, as in Scrapy."""
        crawl, listener = Crawl(), partial(str)
        crawl.manager.connect(listener, SIGNAL)
        crawl.send()
        crawl.send()

        assert [record.getMessage() for record in caplog.records] == [
            f"Error caught on signal handler: {listener}"
        ] * 2

    def test_returns_an_awaitable(self):
        """What a plain listener returns is awaited, if that is possible."""

        async def later():
            await asyncio.sleep(0)
            return "later"

        crawl = Crawl()
        first, second = crawl.plain("first", result=later), crawl.plain("second")

        assert crawl.send() == [(first, "later"), (second, None)]

    def test_error_of_an_awaitable(self, caplog):
        """So are errors of what it returned logged, and are the answer."""

        async def fails():
            raise ValueError("no")

        crawl = Crawl()
        first = crawl.plain("first", result=fails)
        ((listener, error),) = crawl.send()

        assert (listener, str(error)) == (first, "no")
        assert [record.getMessage() for record in caplog.records] == [
            f"Error caught on signal handler: {first}"
        ]


class TestCoroutines:
    def test_are_awaited(self):
        """With a coroutine among the listeners all are Scrapy's to call, and it waits for them."""
        crawl = Crawl()
        first, second = crawl.waiting("first"), crawl.plain("second")

        assert crawl.send() == [(first, "first"), (second, None)]
        assert crawl.said == ["first one", "second one", "first ends", "sent"]


class TestQuiet:
    @pytest.mark.parametrize("error", [ValueError("no"), KeyError("no")])
    def test_errors_that_are_not_logged(self, error, caplog):
        """`dont_log` names errors that are an answer and no entry of the log, as in Scrapy."""
        crawl = Crawl()
        first = crawl.plain("first", result=error)

        assert crawl.send(dont_log=ValueError) == [(first, error)]
        assert len(caplog.records) == (type(error) is KeyError)
