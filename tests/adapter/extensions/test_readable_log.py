"""Lines of the log while crawls run."""

import logging

import pytest
from scrapy.settings import Settings

from webcrawl.adapter.extensions.readable_log import ReadableLog

TITLE = "a title: \x1b[31m"


@pytest.fixture(name="handler")
def _handler():
    handler = logging.StreamHandler()
    logging.getLogger().addHandler(handler)
    yield handler
    logging.getLogger().removeHandler(handler)


def line(handler):
    return handler.format(logging.LogRecord("x", logging.INFO, "x.py", 1, TITLE, (), None))


@pytest.mark.parametrize("first", [0, 1])
def test_two_crawls_of_a_process(handler, first):
    """Lines are readable until both have ended, and as before then."""
    logs = [ReadableLog(Settings()), ReadableLog(Settings())]
    before = handler.formatter
    for log in logs:
        log.opened()

    logs.pop(first).closed()
    assert "\x1b" not in line(handler)
    logs.pop().closed()

    assert handler.formatter is before
    assert "\x1b" in line(handler)
