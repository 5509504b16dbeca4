"""A hive of two drones on this machine, for tests that order it."""

import signal
import subprocess
import sys
from contextlib import contextmanager

from tests.support.crawling import PATIENCE, SETTINGS, wait_until
from tests.support.places import ROOT
from webcrawl.crawl.control.client import NAME


@contextmanager
def two_drones(folder, server, seeds):
    """The process of a hive in `folder / "job"`, once both drones take orders.

    It has to be stopped by one.
    """
    jobdir = folder / "job"
    (folder / "seeds.txt").write_text("".join(f"{url}\n" for url in seeds))
    values = {**SETTINGS, "DNS_NAMESERVERS": server.nameserver, "JOBDIR": jobdir, "HIVE_LEASE": 4}
    options = [word for name, value in values.items() for word in ("-s", f"{name}={value}")]
    words = ["-m", "scrapy", "hive", "web", "-n", "2", "-a", f"seeds={folder}/seeds.txt", *options]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([sys.executable, *words], cwd=ROOT, stderr=log)
    try:
        wait_until(lambda: all((jobdir / f"drone-{drone}" / NAME).is_socket() for drone in (0, 1)))
        yield process
        assert process.wait(PATIENCE) == 0
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)
