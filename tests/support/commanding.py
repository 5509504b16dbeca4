"""Commands to a crawl in another process, through the socket in its JOBDIR."""

import time

from tests.support.crawling import wait_until
from webcrawl.crawl.control.client import NAME, Client
from webcrawl.crawl.control.command import CommandError, NotRunning

PATIENCE = 60.0  # seconds for an answer, on a busy machine too


class Console:
    """Gives commands to whatever run there is, or will be in a moment."""

    def __init__(self, jobdir):
        self._jobdir, self._client = jobdir, Client(jobdir, PATIENCE)

    def __call__(self, line):
        """The answer to a command, as a line or as figures."""
        return self.ask(*line.split(" "))

    def ask(self, *words):
        """The same, for words with blanks."""
        wait_until((self._jobdir / NAME).is_socket)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self._client.ask(*words)
            except NotRunning:  # of a killed run, which the next one will replace
                assert time.monotonic() < end, "no crawl listens"
                time.sleep(0.02)
            except CommandError as error:
                return f"refused: {error}"
