"""A drone as the loops of its hive see it."""

from unittest.mock import MagicMock

from webcrawl.adapter.hive_membership import Life


def test_a_command_with_a_mistake_in_it(caplog):
    """It is refused, and logged without a traceback: a drone that ended of it would hear it again at its next start."""
    scheduler = MagicMock(over=False, failed=None)
    scheduler.crawl.pause.side_effect = ZeroDivisionError("a mistake")

    why = Life(scheduler).obey("pause", (), late=False)

    assert why == "the crawl made a mistake, see its log: ZeroDivisionError('a mistake')"
    (line,) = caplog.messages
    assert line.startswith("by command: pause: ZeroDivisionError('a mistake') in ")
