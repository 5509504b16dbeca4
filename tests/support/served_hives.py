"""Folders of hives with a real server and stand-ins for the drones, and commands to them."""

import asyncio
import json
import socket
import subprocess
import sys
from array import array
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace

import msgpack

from tests.support.commands import command
from tests.support.fake_hives import COMMAND
from tests.support.places import ROOT
from webcrawl.crawl.hive.coordinator import DroneState, Report
from webcrawl.crawl.hive.errors import Away
from webcrawl.crawl.hive.member import KEY, keep_map, take_identity
from webcrawl.crawl.hive.operator import HiveView
from webcrawl.crawl.hive.partition import SLOTS, SlotMap
from webcrawl.crawl.hive.redis_server.embedded_server import UNIX
from webcrawl.crawl.hive.registry import COMPANIONS, RESIZE, Command
from webcrawl.store.crawldb import CrawlDB
from webcrawl.tools.supervisor.hive_watch import HiveWatch
from webcrawl.tools.supervisor.servers import URL_FILE, operator_maker_at

HERE = socket.gethostname()
FIGURES = {"pages": 10, "queued": 5, "hosts": 2, "failures": 1}


def serve(folder, url):
    """Has the hive of this folder run, with this server of its own."""
    folder.server.symlink_to(Path(url.removeprefix(UNIX)).parent)
    (folder.server / URL_FILE).write_text(f"{url}\n")


@contextmanager
def served(folder, url):
    """The same, watched as `scrapy hive web` does it."""
    serve(folder, url)
    lock, over = folder.lock(), Event()
    watching = HiveWatch(folder, operator_maker_at(url, "web"), None, set)

    async def watch():
        task = asyncio.create_task(watching.run())
        await asyncio.to_thread(over.wait)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    thread = Thread(target=lambda: asyncio.run(watch()))
    thread.start()

    def end():
        over.set()
        thread.join()
        lock.close()

    try:
        yield end
    finally:
        end()


@contextmanager
def resizing(folder, drones):
    """The command, which waits."""
    words = [sys.executable, "-m", COMMAND, "hive", "resize", str(folder.path), "-n", str(drones)]
    with subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process


def of_another_hive(folder):
    """The first drone here was in a hive of this name once; none of the server's drones is of that
    hive.
    """
    with closing(CrawlDB(folder.drone(0) / "state")) as db:
        take_identity(db, "web", 0)
        db.set(KEY, b"k" * 16)
        db.checkpoint()


def checkpoint(folder, drone, slots, *orders):
    """Gives a drone a checkpoint with this map, and orders: number, members, drones given up."""
    packed = [
        Command(number, RESIZE, ([*members], [*lost])).pack() for number, members, lost in orders
    ]
    with closing(CrawlDB(folder.drone(drone) / "state")) as db:
        take_identity(db, "web", drone)
        db.set(KEY, b"k" * 16)
        keep_map(db, slots)
        db.set(COMPANIONS, msgpack.packb((0.0, {}, [], *packed)))
        db.checkpoint()


def finished(folder):
    """All drones have crawled to the end."""
    for drone in folder.all_drones():
        (folder.drone(drone) / "stats.json").write_text(
            json.dumps({"reason": "finished", "pages": 7, "queued": 0})
        )


def hive(*words):
    return command(COMMAND, "hive", *words)


def ordered(place, *words):
    return command(COMMAND, "ctl", place, *words)


def refused(*words, status=1):
    """The only line."""
    done = hive(*words)
    assert (done.returncode, done.stderr.count("\n")) == (status, 1), done
    return done.stderr.rstrip("\n")


class Scripted:
    """An operator's server: what it knows at each look, and then no more."""

    def __init__(self, *looks):
        self._looks = [*looks]

    async def read_hive(self):
        if self._looks:
            return self._looks.pop(0)
        raise Away("closed")

    async def command(self, *_):
        return 7

    async def aclose(self):
        pass


def seen(alive, applied=()):
    """What an operator sees of drones that are alive, some of which have carried the command out."""
    reports = {
        one: SimpleNamespace(applied=7 * (one in applied), refusal=lambda _: "") for one in range(2)
    }
    return HiveView(reports=reports, leases=dict.fromkeys(alive, 9.0))


def report_of(drone, folder, state=DroneState.RUNNING, **more):
    about = {
        "identity": "x",
        "run": 1,
        "beat": 3,
        "generation": 1,
        "jobdir": f"{folder}/drone-{drone}",
    }
    return Report(drone=drone, state=state, figures=FIGURES, seconds=float(drone), **about, **more)


def look_at(
    folder, hosts=(HERE, HERE), states=(DroneState.RUNNING, DroneState.RUNNING), alive=(0, 1)
):
    drones = range(len(hosts))
    return HiveView(
        map=SlotMap(1, tuple(drones), array("H", [1] * SLOTS)),
        places={drone: (hosts[drone], 7) for drone in drones},
        reports={drone: report_of(drone, folder, states[drone]) for drone in drones},
        leases=dict.fromkeys(alive, 1.0),
    )
