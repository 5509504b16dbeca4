"""`scrapy hive …`, whose drones are stand-ins (hive_drone.py), as is their server."""

import sys

from scrapy.cmdline import execute

from tests.support.places import ROOT
from webcrawl.hive import operator
from webcrawl.supervisor import plan


class Server:
    """It is there and does nothing."""

    def __init__(self, folder):
        self.url = f"unix://{folder}/socket"

    def start(self):
        """Nobody asks."""

    def stop(self):
        """Nobody asks."""


if __name__ == "__main__":
    plan.DRONE = (sys.executable, str(ROOT / "tests/support/hive_drone.py"))
    operator.EMBEDDED = "tests.support.hive_command.Server"
    execute()
