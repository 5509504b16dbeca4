"""The words for a host's health, and what its row says."""

from types import SimpleNamespace

import pytest

from webcrawl.base.model import Status
from webcrawl.store.jobdir.host_row import Health, HostRow, State, WallRow, health_of

ROW = HostRow("a.test", State.IDLE, 0.0, [1.0], 0.0, 0, 3, 0, "", [], None, 0.0, None, [])


@pytest.mark.parametrize(
    ("failures", "retired", "health"),
    [
        (0, 0, Health.HEALTHY),
        (1, 0, Health.FAILING),
        (5, 0, Health.ASIDE),
        (0, Status.HOST_BUDGET, Health.SPENT),
        (2, Status.HOST_BUDGET, Health.FAILING),
        (9, Status.DNS_FAILED, Health.GIVEN_UP),
    ],
)
def test_the_health_of_a_host(failures, retired, health):
    """A host given up is that alone; one that fails says so, though it has given all its pages."""
    assert health_of(SimpleNamespace(failures=failures, retired=retired, pages=0, wall=None), 5) is health


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "healthy"),
        ({"times": []}, "healthy: no answer yet"),  # it may have been asked, and given up by command since
        ({"retired": Status.HOST_BUDGET}, "spent: it has given all its pages (HOST_MAX_PAGES)"),
        ({"failures": 7}, "aside: 7 in a row"),
        ({"wall": WallRow("anubis", 1.0, 3)}, "behind a wall: anubis, 3 in a row"),
        ({"wall": WallRow("anubis", 1.0, 2)}, "healthy"),
        ({"retired": -1, "failures": 7}, "given up: its URLs end with -1"),
    ],
)
def test_the_words(change, words):
    """The first word is the one that every command has."""
    assert ROW._replace(**change).told(5) == words
