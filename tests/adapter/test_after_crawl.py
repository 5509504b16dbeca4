"""A drone that waits once its crawl is finished (HIVE_WHEN_DONE=wait)."""

import logging
import os
import signal
import socket

import pytest

from webcrawl.adapter import after_crawl


class EndsTheWait(logging.Handler):
    """Keeps what the drone says while it waits, and ends it as an engine does."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.fixture(name="ending")
def _ending():
    handler = EndsTheWait()
    after_crawl.logger.addHandler(handler)
    yield handler
    after_crawl.logger.removeHandler(handler)


def test_a_port_that_another_program_has_taken(ending):
    """The drone says so in a line, and waits for its signal all the same."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        after_crawl.wait_if_wanted(
            {"HIVE_DRONES": 1, "HIVE_WHEN_DONE": "wait", "METRICS_PORT": ("127.0.0.1", port)}
        )

    (line,) = ending.lines
    assert line.startswith(f"METRICS_PORT: cannot listen on 127.0.0.1, port {port}: ")
    assert line.endswith("waits without answering probes; free the port, and restart it")
