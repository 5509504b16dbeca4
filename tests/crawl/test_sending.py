"""A client's connection tells that a request is about to be sent."""

from types import SimpleNamespace

import pytest

from webcrawl.crawl.fetching import Sending
from webcrawl.crawl.trip import Trip


@pytest.mark.parametrize("trip", [Trip(), None], ids=["of the scheduler's", "of somebody else's"])
def test_once_for_each_request(trip):
    """Whatever connections it takes; the trip has the latest of them."""
    told, first, second = [], SimpleNamespace(received=1), SimpleNamespace(received=2)
    watch = Sending(trip, lambda: told.append(1))
    assert told == []

    watch.source = first
    watch.source = second

    assert watch.spare is False
    assert told == [1]
    assert watch.source is second
    assert trip is None or trip.source is second


@pytest.mark.parametrize("spare", [True, False])
def test_what_its_connection_is_worth(spare):
    """Whether the connection will be needed is for the trip to say."""
    assert Sending(Trip(spare=spare), int).spare is spare
