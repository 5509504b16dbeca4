"""logs/errors.log when it cannot be written to, and errors in other threads."""

import asyncio
import io
import logging
import os
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from webcrawl.adapter.extensions.breaker import ErrorBreaker


async def opened(folder, many=100, engine=None):
    breaker = ErrorBreaker(SimpleNamespace(stats=None, engine=engine), folder, many, 1.0)
    breaker.opened()
    return breaker


@pytest.fixture(name="breaker")
def _breaker(tmp_path):
    made = asyncio.run(opened(tmp_path))
    yield made
    made.closed()


@contextmanager
def breaking(folder, shown):
    """A breaker of a crawl whose log goes to this handler as well."""
    logging.getLogger().addHandler(shown)
    made = asyncio.run(opened(folder))
    try:
        yield
    finally:
        made.closed()
        logging.getLogger().removeHandler(shown)
        shown.close()


def fail():
    for _ in range(3):
        try:
            raise_it()
        except ValueError:
            logging.getLogger("somewhere").exception("a mistake")


def raise_it():
    raise ValueError


@pytest.mark.parametrize(
    "why", ["No space left on device", "No such file or directory", "not a regular file"]
)
def test_a_file_that_takes_nothing_is_told_once(breaker, tmp_path, caplog, capfd, why):
    """Whether the disk is full, the folder gone or a pipe there, that is one warning, and no
    "Logging error".
    """
    if "space" in why:
        (tmp_path / "logs/errors.log").symlink_to("/dev/full")
    elif "regular" in why:
        os.mkfifo(tmp_path / "logs/errors.log")
    else:
        (tmp_path / "logs").rmdir()

    fail()

    (said,) = [
        record.getMessage() for record in caplog.records if record.levelno == logging.WARNING
    ]
    assert said.startswith(f"{tmp_path}/logs/errors.log: not written: [Errno ")
    assert why in said
    assert "Logging error" not in capfd.readouterr().err


def test_otherwise_it_has_every_traceback(breaker, tmp_path):
    """Each error is there with its traceback."""
    fail()

    assert (tmp_path / "logs/errors.log").read_text().count("Traceback") == 3


def test_of_another_crawl_of_this_process(breaker, tmp_path):
    """What Scrapy says is another spider's belongs in that one's file, and counts for its
    ERROR_BREAKER alone.
    """
    breaker._crawler.spider = ours = object()
    for spider in (ours, object()):
        try:
            raise_it()
        except ValueError:
            logging.getLogger("somewhere").exception("a mistake", extra={"spider": spider})

    assert (tmp_path / "logs/errors.log").read_text().count("Traceback") == 1
    assert len(breaker._times) == 1


def test_errors_that_are_alike(tmp_path):
    """Of one place in the code the screen shows three errors, and a line says where the rest is."""
    shown = logging.StreamHandler(said := io.StringIO())
    with breaking(tmp_path, shown):
        for _ in range(2):
            fail()
        logging.getLogger("somewhere").error("another", exc_info=ValueError("elsewhere"))

    text = said.getvalue()
    assert (text.count("a mistake"), text.count("another\n")) == (3, 1)
    assert text.count(f"are from now on shown only in {tmp_path}/logs/errors.log") == 1
    assert (tmp_path / "logs/errors.log").read_text().count("a mistake") == 6


def test_errors_that_are_alike_in_a_file(tmp_path):
    """A log that goes to a file has all of them."""
    shown = logging.FileHandler(tmp_path / "log.txt")
    with breaking(tmp_path, shown):
        for _ in range(2):
            fail()

    assert (tmp_path / "log.txt").read_text().count("a mistake") == 6


def test_errors_that_are_alike_and_not_in_the_file(tmp_path):
    """As long as errors.log cannot be written to, the log shows all."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/errors.log").symlink_to("/dev/full")
    shown = logging.StreamHandler(said := io.StringIO())
    with breaking(tmp_path, shown):
        for _ in range(2):
            fail()

    assert said.getvalue().count("a mistake") == 6


def test_errors_in_other_threads(tmp_path):
    """They end the crawl as well, and whoever logs them there gets no error for that."""
    reasons = []

    class Engine:
        spider, scheduler = "web", None

        async def close_spider_async(self, reason):
            reasons.append(reason)

    async def crawl():
        breaker = await opened(tmp_path, many=3, engine=Engine())
        try:
            await asyncio.to_thread(fail)
            await asyncio.sleep(0.01)
        finally:
            breaker.closed()

    asyncio.run(crawl())

    assert reasons == ["error_breaker"]


def test_another_rate(breaker):
    """A rate that changes while the crawl runs counts the errors before it too."""
    breaker._times.extend([1.0, 2.0])

    breaker.change({"ERROR_BREAKER": (2, 5)})

    assert ([*breaker._times], breaker._times.maxlen, breaker._seconds) == ([1.0, 2.0], 2, 5)
