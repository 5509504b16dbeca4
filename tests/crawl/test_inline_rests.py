"""Downloads that somebody awaits, while nothing is fetched."""

from collections import Counter
from types import SimpleNamespace

import pytest

from webcrawl.crawl.inline import LOOK, InlineDownloads
from webcrawl.model import Link

NOW = 100.0


@pytest.mark.parametrize(("rests", "decision"), [(True, NOW + LOOK), (False, None)])
def test_no_host_is_lent_while_the_crawl_rests(rests, decision):
    """Whoever awaits is in line, and looked at again a little later."""
    lending = SimpleNamespace(lend=lambda *_: None)
    clock = lambda: NOW  # noqa: E731
    inline = InlineDownloads(lending, None, clock, None, Counter(), None, rests=lambda: rests)

    assert inline.lend(Link("http://a.test/"), lambda _: None) == decision
