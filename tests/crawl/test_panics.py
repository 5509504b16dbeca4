"""What code raises that is no Exception becomes one, unless it ends more than a page."""

import pytest

from webcrawl.crawl.panics import Panic, tamed, taming


class OfRust(BaseException):
    """As a library in Rust raises it."""


class Waits:
    """Something to await that never comes."""

    def __await__(self):
        yield


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), GeneratorExit()])
def test_what_ends_more_than_a_page_stays(error):
    """The process is to end, or a coroutine to be closed: nobody makes a page's error of that."""
    with pytest.raises(type(error)):
        tamed(error)


def test_a_panic_keeps_its_words():
    """An error of a page says what was raised."""
    assert str(tamed(OfRust("index out of bounds"))) == "OfRust: index out of bounds"
    assert isinstance(tamed(OfRust()), Panic)


def test_a_call_that_is_closed_while_it_waits():
    """Closing its coroutine, as the end of a process does, raises nothing."""

    async def call():
        await Waits()

    coroutine = taming(call)()
    coroutine.send(None)
    coroutine.close()
