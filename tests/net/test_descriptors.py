"""How many connections fit below the limit of open files."""

import pytest

from webcrawl.net.shortage import MOST, OTHERS, Room, room, worth_keeping


@pytest.mark.parametrize(
    ("limit", "fetches", "kept", "fits"),
    [
        pytest.param(1_048_576, 100, 300, Room(100, 300), id="plenty"),
        pytest.param(1024, 1000, 3000, Room(791, 113), id="usual limit"),
        pytest.param(1024, 100, 300, Room(100, 300), id="usual limit and requests"),
        pytest.param(136, 100, 300, Room(51, 7), id="few"),
        pytest.param(30, 100, 300, Room(5, 0), id="hardly any"),
        pytest.param(10, 100, 300, Room(1, 0), id="none left"),
    ],
)
def test_connections_fit_below_the_limit(limit, fetches, kept, fits):
    """Fetches come first, an eighth is for kept connections, and the crawl's files have their part."""
    assert room(limit, 20, fetches, kept) == fits


def test_without_a_limit_of_requests_the_descriptors_are_the_limit():
    """CONCURRENT_REQUESTS = 0 means as many as fit."""
    assert room(10_000, 20, 0, 300).fetches == 10_000 - 20 - OTHERS - 300


@pytest.mark.parametrize(
    ("queues", "fetches", "factor", "kept"),
    [
        pytest.param(300, 100, 10, 1000, id="default"),
        pytest.param(60, 20, 10, 200, id="few"),
        pytest.param(3000, 1000, 10, 3000, id="a wide rotation"),
        pytest.param(768, 256, 10, MOST, id="many"),
        pytest.param(300, 100, 0, 300, id="without politeness"),
        pytest.param(50, 0, 10, 50, id="without a limit of requests"),
    ],
)
def test_connections_worth_keeping(queues, fetches, factor, kept):
    """As many hosts wait for their turn as politeness makes wait; a rotation has one for each of its hosts."""
    assert worth_keeping(queues, fetches, factor) == kept


@pytest.mark.parametrize("limit", range(20, 3000, 7))
def test_the_parts_are_never_more_than_the_whole(limit):
    """Fetches, kept connections and the reserve for other files stay below the limit."""
    fits = room(limit, 20, 1000, 3000)

    assert fits.fetches >= 1
    assert limit < 24 or fits.fetches + fits.kept + min(OTHERS, (limit - 20) // 2) <= limit - 20
