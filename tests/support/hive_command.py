"""`scrapy hive …`, whose drones are stand-ins (hive_drone.py)."""

import sys

from scrapy.cmdline import execute

from tests.support.places import ROOT
from webcrawl.tools.supervisor import plan

if __name__ == "__main__":
    plan.DRONE = (sys.executable, str(ROOT / "tests/support/hive_drone.py"))
    execute()
