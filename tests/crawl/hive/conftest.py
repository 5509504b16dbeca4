"""One real server for each worker."""

import pytest

from tests.support.redis_server import emptied
from webcrawl.crawl.hive.embedded import EmbeddedServer


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
