"""What several test files need."""

import gc
import os
from contextlib import ExitStack, closing

import pytest
from hypothesis import settings

from tests.support import bytecode
from tests.support.examples import LONG, MORE, SHORT
from tests.support.forked import Forked
from tests.support.places import ROOT

# The same examples in every run of CI, so that a change is judged by what it changed; new ones in
# everybody else's. No deadline: a busy machine is no fault of the code.
IN_CI = bool(os.environ.get("CI"))
for name, number in (("short", SHORT), ("more", MORE), ("long", LONG)):
    settings.register_profile(
        name, derandomize=IN_CI and number < LONG, deadline=None, max_examples=number
    )
settings.load_profile("short")

# Whose tests kill, starve and outlast crawls, as do single ones elsewhere: `pytest -m campaign`,
# and CI after the default run.
CAMPAIGN = tuple(
    str(ROOT / "tests" / start)
    for start in (
        "torture/",
        "crash/",
        "hardened/",
        "end_to_end/test_hive",
        "end_to_end/test_leaving_hive",
        "tools/why/test_hive",
    )
)
CRAWLING = {
    "torture",
    "crash",
    "hardened",
    "end_to_end",
    "fastpath",
    "adapter",
    "commands",
    "hostile",
    "simweb",
}


def crawls(item):
    """Whether a test is one of whole crawls, which wait most of the time."""
    return not CRAWLING.isdisjoint(item.path.parts)


def pytest_xdist_auto_num_workers():
    """For `-n auto`: six processes per core, of which five begin with tests that wait."""
    return (
        None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else len(os.sched_getaffinity(0)) * 6
    )


def pytest_configure(config):
    if config.args_source is config.ArgsSource.TESTPATHS and not config.option.markexpr:
        # who names a folder or a file means all that is in it
        config.option.markexpr = "not campaign"
    if hasattr(config, "cache"):  # unless told to be without
        bytecode.keep(lambda: config.cache.mkdir("bytecode"))
    if config.option.dist == "loadgroup":
        config.pluginmanager.register(Forked(len(config.option.tx), crawls))
        config.option.dist, config.option.tx = "no", []  # pytest-xdist has nothing to do


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """All that collecting makes stays until the end: looking through it for garbage took a quarter
    of the time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before those with another marker are left out
def pytest_collection_modifyitems(items):
    """The campaign's get their mark."""
    for item in items:
        if str(item.path).startswith(CAMPAIGN):
            item.add_marker("campaign")


@pytest.fixture(name="simweb")
def _simweb():
    """Starts synthetic webs on free ports; they end with the test. The answer is the server."""
    from webcrawl.lab.simweb import World, running

    with ExitStack() as stack:

        def start(hosts, pages, *, latency=0.0, **options):
            world = World(hosts, pages, **{"port": 0, "tls_port": 0, "addresses": 4, **options})
            return stack.enter_context(running(world, latency=latency))

        yield start


@pytest.fixture(name="db")
def _db(tmp_path):
    """The state of a crawl, in the test's own folder."""
    from webcrawl.store.crawldb import CrawlDB  # as above

    with closing(CrawlDB(tmp_path)) as db:
        yield db


@pytest.fixture(name="redis")
def _redis(tmp_path):
    """A server for a hive, which a test may kill and restart."""
    from tests.support.hive_server import stream_server  # as above

    with stream_server(tmp_path / "server") as server:
        yield server
