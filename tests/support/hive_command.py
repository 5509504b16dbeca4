"""`scrapy hive …`, whose drones are stand-ins (hive_drone.py)."""

import sys

from scrapy.cmdline import execute

from tests.support.places import ROOT
from webcrawl.tools.supervisor import hive_run

if __name__ == "__main__":
    hive_run.DRONE_PROGRAM = (sys.executable, str(ROOT / "tests/support/hive_drone.py"))
    execute()
