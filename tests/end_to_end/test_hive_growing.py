"""A drone that is started as one more than the hive has, as on a fourth machine."""

import os
import signal

from tests.support.commands import command
from tests.support.crawling import wait_until
from tests.support.hives import NAME, Hive

SLOWLY = {"POLITENESS_MIN_DELAY": 0.4, "POLITENESS_MAX_DELAY": 0.5}
WAITS = "HIVE_DRONE = 2: the hive has the drones 0, 1; this one waits until"


def test_started_with_the_settings_of_all(simweb, redis, tmp_path):
    """It waits until the hive is resized, as its log says, and gets its share; SIGTERM ends it well
    meanwhile.
    """
    web = simweb(20, 300)
    hive = Hive(tmp_path / "hive", web, redis.url, drones=2, settings=SLOWLY).start_all()
    drone = hive.add()
    wait_until(lambda: web.log.count > 20)
    waiting = hive.start(drone, HIVE_DRONES=2)
    wait_until(lambda: WAITS in hive.said(drone))
    os.kill(waiting.process.pid, signal.SIGTERM)
    assert waiting.wait() == 0, hive.said(drone)

    hive.start(drone, HIVE_DRONES=2)
    resized = command("scrapy", "hive", "resize", redis.url, "-n", 3, "-s", f"HIVE_NAME={NAME}")

    assert resized.returncode == 0, resized.stderr
    assert hive.wait() == [0, 0, 0]
    assert hive.crawls[drone].stats["hive/slots"] > 300
