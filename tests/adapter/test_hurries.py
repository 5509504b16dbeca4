"""Whether a crawl that ends is in a hurry: what it then waits for is given up within seconds."""

from types import SimpleNamespace

import pytest

from webcrawl.adapter.crawl_end import RunEnd
from webcrawl.adapter.scheduler import FrontierScheduler


@pytest.mark.parametrize(
    ("reason", "told", "hurries"),
    [
        ("finished", False, False),
        ("closespider_pagecount", False, False),
        ("shutdown", False, True),
        ("stopped", False, True),
        ("finished", True, True),
    ],
)
def test_hurries(reason, told, hurries):
    """After a signal or a command, and after a signal that comes while the crawl closes by itself."""
    scheduler = FrontierScheduler.__new__(FrontierScheduler)
    scheduler.end, scheduler.waker = (
        RunEnd(reason=reason),
        SimpleNamespace(engine=SimpleNamespace(was_told_to_stop=told)),
    )

    assert scheduler.is_hurried is hurries
