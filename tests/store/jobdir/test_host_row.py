"""The health of a host, in one word."""

from types import SimpleNamespace

import pytest

from webcrawl.base.model import Status
from webcrawl.store.jobdir.host_row import Health, health_of


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
