"""What is said of seeds that give nothing."""

from types import SimpleNamespace

import pytest

from webcrawl.base.model import Link
from webcrawl.crawl.seed_fates import SeedFates
from webcrawl.net.errors import ConnectFailed, NoNetwork, NoSocket, NotRunning

SEED = Link("http://a.test/")


def fates():
    """Those of a crawl that has got nothing yet."""
    parts = SimpleNamespace(
        log=SimpleNamespace(hearers=[]),
        statistics=SimpleNamespace(outcomes={}),
        pipeline=SimpleNamespace(filtered={}),
    )
    return SeedFates(SimpleNamespace(parts=parts), hops=5)


def test_a_seed_that_fails():
    """A seed whose server refuses is named in the progress line, and at the end."""
    found = fates()
    found.failed(SEED, ConnectFailed("refused"))

    assert found.progress().startswith("no seed has answered: a.test: ")
    assert found.lines()


@pytest.mark.parametrize(
    "error",
    [
        NoSocket("[Errno 24] Too many open files"),
        NoNetwork("no answer in time"),
        NotRunning("no answer in time"),
    ],
)
def test_what_this_machine_lacks(error):
    """A lack of sockets, an outage, or a process that was stopped, is not said to be a seed's."""
    found = fates()
    found.failed(SEED, error)

    assert (found.progress(), found.lines()) == ("", [])
