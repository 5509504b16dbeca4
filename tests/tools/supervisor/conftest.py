"""A server for each module, and a hive that does not run."""

import json

import pytest

from tests.support.redis_server import emptied
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder
from webcrawl.crawl.hive.redis_server.embedded_server import EmbeddedServer


@pytest.fixture(name="server", scope="module")
def _server(tmp_path_factory):
    server = EmbeddedServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server.url
    server.stop()


@pytest.fixture(name="url")
def _url(server):
    emptied(server)
    return server


@pytest.fixture(name="folder")
def _folder(tmp_path):
    """Of a hive of two drones, which does not run."""
    folder = HiveFolder(tmp_path / "job")
    folder.lock().close()
    folder.write(Founding("web", "web", "domain", 2, (0, 1)))
    for drone in range(2):
        folder.drone(drone).mkdir()
        stats = {
            "reason": "shutdown",
            "pages": 7,
            "queued": 3,
            "hosts": 1,
            "at": "2026-11-21T12:00:00Z",
        }
        (folder.drone(drone) / "stats.json").write_text(json.dumps(stats))
    return folder
