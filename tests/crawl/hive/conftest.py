"""One real server for each worker, and a loop for each test that is a coroutine."""

import asyncio
from inspect import iscoroutinefunction, signature

import pytest

from tests.support.redis_server import emptied
from webcrawl.crawl.hive.redis_server.embedded_server import EmbeddedServer


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Runs a test that is a coroutine."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in signature(pyfuncitem.obj).parameters}
    asyncio.run(pyfuncitem.obj(**arguments))
    return True


@pytest.fixture(scope="session")
def started(tmp_path_factory):
    server = EmbeddedServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def url(started):
    """Of an empty server."""
    emptied(started.url)
    return started.url
