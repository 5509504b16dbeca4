"""Where what bounds a crawl is looked at."""

from types import SimpleNamespace

import pytest

from webcrawl.adapter.archive_reading import EXTENSIONS
from webcrawl.adapter.extensions.bound import Bound, stopped_by
from webcrawl.crawl.profiling.bound import NO_WAY_OUT


def test_archives_are_not_looked_at():
    """`scrapy process` fetches nothing: it has no clients to look at, and switches this off."""
    path = f"{Bound.__module__}.{Bound.__qualname__}"
    assert EXTENSIONS[path] is None


@pytest.mark.parametrize(
    ("outlook", "no_way", "words"),
    [
        ({"stopped_by": "paused", "trouble": "paused"}, False, "paused"),
        ({"stopped_by": "", "trouble": "no name server"}, False, ""),
        ({"stopped_by": "", "trouble": "no name server"}, True, "no name server"),
        ({"stopped_by": "", "trouble": ""}, True, NO_WAY_OUT),
    ],
)
def test_a_pause_is_of_all_hosts(outlook, no_way, words):
    """Without name servers hosts with known addresses are fetched: a pause is what keeps all that wait from it."""
    assert stopped_by(SimpleNamespace(**outlook), no_way=no_way) == words
