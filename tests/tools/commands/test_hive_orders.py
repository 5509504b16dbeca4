"""`scrapy hive` and `scrapy ctl` of a hive that runs, with a real server and stand-ins for the drones."""

import asyncio
import json
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace

import pytest
from redis import Redis

from tests.support.commands import command
from tests.support.crawling import wait_until
from tests.support.examples import in_campaign
from tests.support.fake_hives import COMMAND
from tests.support.hive_members import Members
from tests.support.places import ROOT
from tests.support.redis_server import emptied
from webcrawl.base.errors import CannotStart
from webcrawl.crawl.control.command import NoAnswer
from webcrawl.crawl.hive.drone_identity import IDENTITY, KEY, Identity, take_up
from webcrawl.crawl.hive.errors import Away
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder
from webcrawl.crawl.hive.keys import Keys
from webcrawl.crawl.hive.operator import Look
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.crawl.hive.process import UNIX, EmbeddedServer
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.lock import Lock
from webcrawl.tools.supervisor import changes, orders, watching
from webcrawl.tools.supervisor.changes import Waiting
from webcrawl.tools.supervisor.servers import URL, at
from webcrawl.tools.supervisor.watching import Watching


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
        stats = {"reason": "shutdown", "pages": 7, "queued": 3, "hosts": 1, "at": "2026-11-21T12:00:00Z"}
        (folder.drone(drone) / "stats.json").write_text(json.dumps(stats))
    return folder


def serve(folder, url):
    """Has the hive of this folder run, with this server of its own."""
    folder.server.symlink_to(Path(url.removeprefix(UNIX)).parent)
    (folder.server / URL).write_text(f"{url}\n")


@contextmanager
def served(folder, url, ended=()):
    """The same, watched as `scrapy hive web` does it. `ended`: drones that have ended because nothing was left."""
    serve(folder, url)
    lock, over = folder.lock(), Event()
    watching = Watching(folder, at(url, "web"), None, lambda: ended)

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
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield process


def of_another_hive(folder):
    """The first drone here was in a hive of this name once; none of the server's drones is of that hive."""
    with closing(CrawlDB(folder.drone(0) / "state")) as db:
        take_up(db, "web", 0)
        db.set(KEY, b"k" * 16)
        db.checkpoint()


def finished(folder):
    """All drones have crawled to the end."""
    for drone in folder.known().drones:
        (folder.drone(drone) / "stats.json").write_text(json.dumps({"reason": "finished", "pages": 7, "queued": 0}))


def hive(*words):
    return command(COMMAND, "hive", *words)


def ordered(place, *words):
    return command(COMMAND, "ctl", place, *words)


def refused(*words):
    """The only line."""
    done = hive(*words)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done
    return done.stderr.rstrip("\n")


class TestStatus:
    def test_of_a_hive_that_is_stopped(self, folder):
        """A row for each drone says what its last checkpoint has, and where the drone lies."""
        done = hive("status", folder.path)

        heading, first, _, last = done.stdout.splitlines()
        assert done.returncode == 0
        assert heading.split()[:4] == ["drone", "state", "pages", "pages/s"]
        assert first.split() == [
            *("0", "stopped", "(shutdown)", "7", "0.0", "3", "1", "-"),
            *("2026-11-21T12:00:00Z", str(folder.drone(0))),
        ]
        assert last == "web: stopped, 2 drones; 14 pages (0.0/s), 6 queued"

    def test_of_one_whose_server_is_not_named(self, folder):
        """Who runs on this machine is seen all the same, and the line says where more can be had."""
        (folder.drone(0) / "state").mkdir(parents=True, exist_ok=True)
        with closing(Lock(folder.drone(0) / "state")):
            _, first, second, last = hive("status", folder.path).stdout.splitlines()

        assert [line.split()[1] for line in (first, second)] == ["running", "stopped"]
        assert last == (
            "web: 1 drone running, 2 meant; 14 pages (0.0/s), 6 queued; as of their last checkpoints: "
            "-s REDIS_URL names their server"
        )

    def test_of_one_that_has_finished(self, folder):
        """A hive whose drones have all crawled to the end says so."""
        finished(folder)

        assert hive("status", folder.path).stdout.splitlines()[-1].startswith("web: finished, 2 drones; ")
        said = json.loads(hive("status", folder.path, "--json").stdout)
        assert [said[name] for name in ("state", "running", "meant", "changing")] == ["finished", 0, 2, False]

    def test_of_a_change_that_has_not_ended(self, folder, url):
        """How many drones run is told apart from how many are meant, and the change that has not ended is named."""
        folder.write(replace(folder.known(), wanted=(0, 1, 2)))
        stopped = hive("status", folder.path).stdout.splitlines()[-1]
        with served(folder, url), Members(url, 2):
            runs = hive("status", folder.path).stdout.splitlines()[-1]

        goes_on = "the change to 3 drones has not ended, and goes on at the next start"
        assert stopped.startswith(f"web: stopped: {goes_on}; ")
        assert runs.startswith("web: 2 drones running, 3 meant: the change goes on, the queen is drone 0; ")

    def test_of_one_that_runs(self, folder, url):
        """A row for each drone says what its last sign of life said, with the rate of the last seconds."""
        serve(folder, url)
        with Members(url, 2):
            done = hive("status", folder.path)

        _, first, second, last = done.stdout.splitlines()
        assert first.split()[:2] == ["0", "running"]
        assert first.split()[3] == "5000.0"
        assert second.split()[4:] == ["5", "2", "1", "0", "s", "ago", "kiwi:/crawl/drone-1", "(101)"]
        assert last.startswith("web: 2 drones running, the queen is drone 0; ")

    def test_how_long_ago_a_drone_was_heard(self, url):
        """A sign of life is as old as the drone's own HIVE_LEASE says, whatever that of the command is."""
        with Members(url, 1):
            done = hive("status", url, "--json", "-s", "HIVE_LEASE=300")

        assert [row["seen"] for row in json.loads(done.stdout)["drones"]] == ["0 s ago"]

    def test_another_hive_of_the_name(self, folder, url):
        """Of the folder's hive its own files tell, and a line says that the server knows another one by this name."""
        of_another_hive(folder)
        with Members(url, 2):
            done = hive("status", folder.path, "-s", f"REDIS_URL={url}")

        _, first, second, last = done.stdout.splitlines()
        assert [line.split()[1:4] for line in (first, second)] == [["stopped", "(shutdown)", "7"]] * 2
        assert last == (
            "web: stopped, 2 drones; 14 pages (0.0/s), 6 queued; as of their last checkpoints: "
            "the server knows another hive of this name"
        )

    def test_by_its_server(self, url):
        """A hive of many machines is known by its server and its name."""
        with Members(url, 3, name="big"):
            done = hive("status", url, "-s", "HIVE_NAME=big", "--json")
            asked = command(COMMAND, "ctl", url, "status", "-s", "HIVE_NAME=big", "--json")

        assert [row["drone"] for row in json.loads(asked.stdout)["drones"]] == [0, 1, 2]
        said = json.loads(done.stdout)
        assert [row["drone"] for row in said["drones"]] == [0, 1, 2]
        assert (said["name"], said["queen"], said["generation"]) == ("big", 0, 1)

    def test_drones_that_are_away(self, url):
        """A drone without a sign of life is away; its last figures are shown."""
        with Members(url, 2):
            pass

        rows = json.loads(hive("status", url, "--json").stdout)["drones"]
        assert [(row["state"], row["seen"]) for row in rows] == [("away", "-")] * 2
        assert all(row["pages"] for row in rows)

    def test_drones_here_that_are_away(self, folder, url):
        """Of a drone whose folder is here the last sign of life is its last checkpoint."""
        serve(folder, url)
        with Members(url, 2):
            pass

        rows = json.loads(hive("status", folder.path, "--json").stdout)["drones"]
        assert [(row["state"], row["seen"]) for row in rows] == [("away", "2026-11-21T12:00:00Z")] * 2

    def test_nothing_there(self, url, tmp_path):
        """A folder without a hive, a server without one, and a server that is not there, are one line each."""
        assert refused("status", tmp_path) == f"{tmp_path}: no hive: hive.json is missing"
        assert refused("status", url) == f"{url}: no drone of a hive named web is known there"
        assert refused("status", "redis://127.0.0.1:1").startswith("REDIS_URL = redis://127.0.0.1:1: ")


class TestCommands:
    @pytest.mark.parametrize(
        "words",
        [
            ["pause"],
            *in_campaign(["resume"], ["checkpoint"], ["stop"], ["exclude", "a.test"]),
            ["set", "CHECKPOINT_INTERVAL", "9"],
        ],
    )
    def test_given_to_all(self, url, words):
        """A command is given to all drones, and has succeeded when all have carried it out."""
        with Members(url, 2) as members:
            done = ordered(url, *words)

        assert (done.returncode, done.stdout) == (0, f"{words[0]}: done by 2 drones\n")
        assert [command[: len(words)] for command in members.commands] == [tuple(words)]

    def test_a_wish_is_dated_for_all(self, url):
        """Every drone, also one that hears of it later, gets the time of the order with an exclude."""
        with Members(url, 2) as members:
            ordered(url, "exclude", "a.test", "--by", "joe", "--forget")

        ((*words, option, date),) = members.commands
        assert words == ["exclude", "a.test", "--by", "joe", "--forget"]
        assert (option, date[-1]) == ("--since", "Z")

    def test_what_a_drone_refuses(self, url, tmp_path):
        """What drones could not carry out is said, and is no success, whatever else they have refused since."""
        (tmp_path / "seeds.txt").write_text("http://a.test/\n")
        with Members(url, 2, refuses="no seeds there"):
            done = ordered(url, "seeds", "add", tmp_path / "seeds.txt")

        assert (done.returncode, done.stdout) == (1, "")
        reasons = [f"refused by drone {one}: no seeds there" for one in range(2)]
        assert done.stderr == f"{'; '.join(reasons)}\n"

    def test_a_server_with_something_else(self, url):
        """What stands there under a key of the hive, and is no hive's, is told in words."""
        with Redis.from_url(url) as client:
            client.set(Keys("web").map, "foreign")

        line = refused("status", url)

        assert line.startswith("REDIS_URL: the server holds something else under a key of the hive: WRONGTYPE ")

    def test_a_server_with_a_value_that_cannot_be_read(self, url):
        """What is of the right type, and no hive's, is told in words too."""
        with Redis.from_url(url) as client:
            client.hset(Keys("web").map, "slots", b"\xff\xfe")

        assert refused("status", url).startswith("what the server has of the hive cannot be read")

    def test_the_copy_of_a_hive_that_runs(self, folder, url):
        """A command to the copy of a running hive's folder is not for the hive that runs."""
        folder.server.mkdir()
        (folder.server / URL).write_text(f"{url}\n")
        with Members(url, 2) as members:
            done = ordered(folder.path, "stop")

        assert done.returncode == 2
        assert done.stderr.startswith(f"{folder.path}: the hive is not running")
        assert members.commands == []

    @pytest.mark.parametrize(
        "words",
        [
            ["resize", "-n", "1"],
            ["adopt", "--drone", "1"],
            ["adopt", "--drone", "1", "--lost", "--yes"],
        ],
    )
    def test_another_hive_of_the_name(self, folder, url, words):
        """What is for the folder's hive is not for one that the server knows by the same name, nor tells of it."""
        of_another_hive(folder)
        given = f"REDIS_URL={url}"
        with closing(folder.lock()), Members(url, 3) as members:  # somebody runs the one of the folder, too
            line = refused(*words, folder.path, "-s", given)
            asked = ordered(folder.path, "pause", "-s", given)

        where = "(drone 0 in /crawl/drone-0 on kiwi)"
        assert line == f"the server knows another hive named web {where}: each needs a HIVE_NAME of its own"
        assert (asked.returncode, asked.stderr) == (2, f"{folder.path}: {line}\n")
        assert (members.commands, folder.known().wanted) == ([], ())

    @pytest.mark.parametrize(
        ("words", "line"),
        [
            (["exclude", "two words"], "exclude: 'two words' is neither "),
            (["set", "CHECKPOINT_INTERVAL", "soon"], "CHECKPOINT_INTERVAL = 'soon': must be a number from 0.1 to "),
            (["set", "DNS_TIMEOUT", "9"], "DNS_TIMEOUT cannot change while the crawl runs"),
            (["pause", "now"], "usage: pause"),
        ],
    )
    def test_what_all_would_refuse(self, url, words, line):
        """A command that no drone could carry out is given to none."""
        with Members(url, 1) as members:
            done = ordered(url, *words)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert done.stderr.startswith(line)
        assert members.commands == []

    @pytest.mark.parametrize(
        ("words", "line"),
        [
            ([], "which spider, or which hive?"),
            (["status"], "one hive: scrapy hive status JOBDIR|URL"),
            (["resize", "3", "."], "one hive: scrapy hive resize JOBDIR|URL -n N"),
            (["web", "more"], "exactly one spider is needed: scrapy hive NAME -n N; orders go by scrapy ctl"),
            (["web", "--so"], "unknown option --so"),
        ],
    )
    def test_wrong_words(self, words, line):
        """What cannot be understood ends with the usage and one line."""
        done = hive(*words)

        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].endswith(f"error: {line}")


class Scripted:
    """An operator's server: what it knows at each look, and then no more."""

    def __init__(self, *looks):
        self._looks = [*looks]

    async def look(self):
        if self._looks:
            return self._looks.pop(0)
        raise Away("closed")

    async def command(self, *_):
        return 7

    async def close(self):
        pass


def seen(alive, applied=()):
    """What an operator sees of drones that are alive, some of which have carried the command out."""
    reports = {one: SimpleNamespace(applied=7 * (one in applied), refusal=lambda _: "") for one in range(2)}
    return Look(reports=reports, leases=dict.fromkeys(alive, 9.0))


def order(name, *looks, folder=None):
    """What is said of a command to a hive of two drones."""
    return asyncio.run(orders.given(partial(Scripted, *looks), folder, (0, 1), name, ()))


def changing(*looks, folder=None):
    """A hive whose server goes away before it hears of a change."""
    return SimpleNamespace(running=lambda: partial(Unreached, *looks), look=lambda: looks[0], folder=folder)


class TestWhoHasDoneIt:
    """The number of drones that are said to have done it have done it."""

    @pytest.fixture(autouse=True)
    def _at_once(self, monkeypatch):
        monkeypatch.setattr(orders, "LOOKS", 0.0)
        monkeypatch.setattr(orders, "PATIENCE", 0.05)

    def test_a_drone_that_goes_away(self):
        """It has not done it, and is named."""
        assert order("pause", seen([0, 1], [0]), seen([0, 1], [0, 1])) == "pause: done by 2 drones"
        assert order("pause", seen([0], [0, 1])) == "pause: done by 2 drones"
        with pytest.raises(NoAnswer, match="pause: drones 1 went away before they answered"):
            order("pause", seen([0, 1], [0]), seen([0], [0]))

    def test_a_drone_that_has_left_meanwhile(self):
        """A drone that has given away all that it had is not missed."""
        last = replace(seen([0], [0]), map=SlotMap.fair([0]))

        assert order("resume", last) == "resume: done by 1 drone"

    @pytest.mark.parametrize("looks", [[(0, 1)] * 99, [(0,)], []])
    def test_what_may_be_carried_out_later(self, monkeypatch, looks):
        """An order that was given is not said to be refused, whatever keeps the drones from confirming it."""
        monkeypatch.setattr(orders, "PATIENCE", 0.0)
        with pytest.raises(NoAnswer):
            order("pause", *(seen(alive, [0]) for alive in looks))

    def test_who_stops_goes_away(self):
        """That is what it was told."""
        assert order("stop", seen([0], [0])) == "stop: done by 2 drones"

    def test_a_server_that_is_away(self, tmp_path):
        """A hive is said to be stopped if its own process has ended with its server, and not before."""
        folder = HiveFolder(tmp_path / "job")
        lock = folder.lock()
        for of in (None, folder):
            with pytest.raises(NoAnswer, match="the hive's server is"):
                order("stop", folder=of)
        lock.close()
        assert order("stop", folder=folder) == "stop: done by 2 drones"


class Cut:
    """An operator's connection, which fails when it is cancelled."""

    def __init__(self):
        self.asked = asyncio.Event()

    async def look(self):
        self.asked.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            raise Away from None

    async def close(self):
        pass


def test_the_watch_ends_though_its_cancellation_is_lost(folder, monkeypatch):
    """Where the hive's end meets a question to the server, which fails for that, nothing is asked again."""
    monkeypatch.setattr(watching, "INTERVAL", 0)

    async def run():
        cut = Cut()
        task = asyncio.create_task(Watching(folder, lambda: cut, None, set).run())
        await cut.asked.wait()
        cut.asked.clear()
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=120)
        return len(done), cut.asked.is_set()

    assert asyncio.run(run()) == (1, False)


class Overtaken:
    """A server that gets an order while somebody looks at it, which stands in hive.json first, as of `resize`."""

    def __init__(self, folder):
        self.told, self._folder = [], folder

    async def look(self):
        self._folder.write(replace(self._folder.known(), wanted=(0,)))
        return Look(wanted=frozenset({0}))

    async def resize(self, members, lost):
        self.told.append((members, lost))


def test_an_order_is_not_overtaken_by_the_one_before(folder):
    """An order that came while the server was looked at is in force: the one before is not given again."""
    folder.write(replace(folder.known(), wanted=(0, 1, 2)))
    operator = Overtaken(folder)

    asyncio.run(Watching(folder, lambda: operator, None, set)._look(operator))

    assert operator.told == []
    assert folder.known().wanted == (0,)


class Unreached(Scripted):
    """A server that goes away before it hears of the order."""

    async def resize(self, *_):
        raise Away("closed")


class TestTwoAtOnce:
    """Of two orders neither is forgotten."""

    @pytest.mark.parametrize(
        ("pending", "asked", "wanted"),
        [
            ((), (), (0,)),
            ((0, 1, 2, 3), (), (0, 2, 3)),
            ((0, 1, 2, 3), (0, 1, 2, 3), (0, 2, 3)),
            ((), (0, 1, 2), (0, 2)),
        ],
    )
    def test_a_drone_is_given_up_while_their_number_changes(self, folder, pending, asked, wanted):
        """The others are those of the change: by hive.json, where it stands first, or by the server alone."""
        folder.write(replace(folder.known(), wanted=pending))
        look = replace(seen([0, 1]), map=SlotMap.fair(range(2)), reports={}, wanted=frozenset(asked))
        with closing(folder.lock()), pytest.raises(CannotStart, match="the change goes on when it is back"):
            changes.give_up(changing(look, folder=folder), 1, str)

        assert folder.known().wanted == wanted

    def test_nobody_is_left(self, folder):
        """The last drone that another order has left is not given up."""
        folder.write(replace(folder.known(), wanted=(1,)))
        look = replace(seen([0, 1]), map=SlotMap.fair(range(2)), reports={})
        with closing(folder.lock()), pytest.raises(CannotStart, match="--drone 1: no drone would be left"):
            changes.give_up(changing(look, folder=folder), 1, str)

        assert folder.known().wanted == (1,)

    def test_the_first_one_reaches_the_server_last(self, folder):
        """Whoever runs the hive tells the server what hive.json says: until then the second command waits."""
        folder.write(replace(folder.known(), wanted=(0, 1)))
        look = replace(seen([0, 1]), wanted=frozenset({0, 1, 2}))
        with closing(folder.lock()):
            waits = asyncio.run(Waiting(Scripted(look), folder, (0, 1), ()).look())

        assert waits == "the new map"


@pytest.mark.campaign
class TestResize:
    def test_while_it_runs(self, folder, url):
        """The drones are told, the wait is shown, and hive.json has the new drones for the next start."""
        folder.write(replace(folder.known(), drones=(0, 1, 2)))
        with served(folder, url, ended={2}), Members(url, 3) as members:
            done = hive("resize", folder.path, "-n", 2)

        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "the web is shared by 2 drones now"
        assert members.commands[0] == ("resize", [0, 1], [])
        assert (folder.known().drones, folder.known().wanted) == ((0, 1), ())

    def test_a_drone_that_leaves_is_waited_for(self, folder, url):
        """A drone that has given away its slots stays in hive.json until it has ended: it may have more to give."""
        folder.write(replace(folder.known(), drones=(0, 1, 2)))
        with served(folder, url), Members(url, 3), resizing(folder, 2) as process:
            said = [process.stdout.readline() for _ in range(2)]
            drones = folder.known().drones
            process.terminate()

        assert said[-1] == "waiting for the drones that leave\n"
        assert drones == (0, 1, 2)

    def test_a_second_time(self, folder, url):
        """Who asks for another number ends the wait of the first; a drone that never came is not started any more."""
        with served(folder, url), Members(url, 2), resizing(folder, 4) as first:
            wait_until(lambda: folder.known().drones == (0, 1, 2, 3))
            wanted = folder.known().wanted
            second = hive("resize", folder.path, "-n", 2)
            _, said = first.communicate()

        assert (second.returncode, first.returncode) == (0, 1), second.stderr
        assert said.splitlines()[-1] == "others were asked for since then: drones 0, 1"
        assert (wanted, folder.known().drones) == ((0, 1, 2, 3), (0, 1))

    @pytest.mark.parametrize(("ends", "state"), [(finished, "has finished"), (lambda _: None, "is not running")])
    def test_nobody_runs_the_hive_any_more(self, folder, url, ends, state):
        """The wait ends when whoever runs the hive is gone: a line says how the hive is, and that a start goes on."""
        with served(folder, url) as end, Members(url, 2, moving=(1,)), resizing(folder, 1) as process:
            process.stdout.readline()
            ends(folder)
            end()
            _, said = process.communicate(timeout=120)

        assert process.returncode == 1
        change = "and the change to 1 drone has not ended: start it again, and it goes on with that"
        assert said == f"{folder.path}: the hive {state}, {change}\n"
        assert folder.known().wanted == (0,)
        assert refused("resize", folder.path, "-n", 1) == said.rstrip("\n")

    def test_a_hive_that_is_stopped(self, folder, url):
        """A hive that nobody runs is not resized, though its server is there and knows its drones; nobody is told."""
        serve(folder, url)
        with Members(url, 2) as members:
            line = refused("resize", folder.path, "-n", 1)

        assert line == f"{folder.path}: the hive is not running: start it first"
        assert (members.commands, folder.known().wanted) == ([], ())

    def test_a_change_that_no_drone_would_hear_of_is_refused(self, url):
        """A change that no drone would hear of is refused."""
        with Members(url, 2):
            pass

        assert refused("resize", url, "-n", 1) == "no drone of this hive is there"

    @pytest.mark.parametrize("number", ["0", "-1", "many", "5000"])
    def test_no_number_of_drones(self, folder, number):
        """At least one drone is needed, and no more than a hive can have."""
        assert refused("resize", folder.path, "-n", number).startswith(f"-n {number}: must be a whole number from 1 ")


class TestAdopt:
    def test_a_drone_that_is_alive(self, url):
        """A drone that is there is told to give away what it has."""
        with Members(url, 3) as members:
            done = hive("adopt", url, "--drone", 1)

        assert done.returncode == 0, done.stderr
        assert members.commands == [("resize", [0, 2], [])]

    def test_a_hive_that_is_stopped(self, folder):
        """A drone may be given up while nobody runs: hive.json has it for the next start."""
        asked = hive("adopt", folder.path, "--drone", 1, "--lost")
        assert (asked.returncode, folder.known().drones) == (1, (0, 1))
        assert "drone 1 are 3 URLs queued, 7 pages," in asked.stdout

        done = hive("adopt", folder.path, "--drone", 1, "--lost", "--yes")

        assert (done.returncode, done.stderr) == (0, "")
        assert (folder.known().drones, folder.known().lost) == ((0,), (1,))
        assert refused("adopt", folder.path, "--drone", 1, "--lost") == "--drone 1: no member of this hive"
        assert refused("adopt", folder.path, "--drone", 0, "--lost") == "--drone 0: no drone would be left"

    def test_a_hive_that_is_stopped_in_a_change(self, folder):
        """The change goes on at the next start, without the drone that was given up."""
        folder.write(replace(folder.known(), wanted=(0, 1, 2)))
        done = hive("adopt", folder.path, "--drone", 1, "--lost", "--yes")

        assert done.stdout.splitlines()[-1] == "the others take over its hosts when the hive is started, with 2 drones"
        assert (folder.known().drones, folder.known().lost, folder.known().wanted) == ((0,), (1,), (0, 2))
        folder.write(replace(folder.known(), drones=(0, 2), wanted=(2,)))
        assert refused("adopt", folder.path, "--drone", 2, "--lost") == "--drone 2: no drone would be left"

    def test_what_would_be_lost(self, url):
        """Of a drone whose state is gone the losses are said exactly, and nothing is done without --yes."""
        with Members(url, 2):
            pass

        done = hive("adopt", url, "--drone", 1, "--lost")

        assert done.returncode == 1
        said = " ".join(done.stdout.split())
        assert "drone 1 owns " in said
        assert "5 URLs queued for 2 hosts" in said
        assert "in its archive, /crawl/drone-1 on kiwi" in said
        assert "1 letter of links for others" in said
        assert said.endswith("repeat the command with --yes to give it up")

    @pytest.mark.parametrize(
        ("words", "line"),
        [
            ([], "which drone? "),
            (["--drone", "x"], "--drone x: must be a whole number from 0 to 4095"),
            (["--drone", "1", "--lost"], "--drone 1: it was alive within "),
            (["--drone", "7", "--lost"], "--drone 7: no member of this hive"),
            (
                ["--drone", "1", "--lost", "--jobdir", "."],
                "--lost, --jobdir: a drone whose JOBDIR is there is not lost",
            ),
        ],
    )
    def test_an_order_that_makes_no_sense_changes_nothing(self, url, words, line):
        """What makes no sense changes nothing."""
        with Members(url, 2) as members:
            assert refused("adopt", url, *words).startswith(line)
        assert members.commands == []

    @pytest.mark.parametrize(
        ("make", "why"),
        [
            (lambda _: None, "no crawl has begun there"),
            (lambda db: db.set(KEY, b"k" * 16), "holds a crawl of its own, and is not drone 0 of the hive web"),
            (lambda db: take_up(db, "web", 1), "is drone 1 of the hive web, not drone 0 of web"),
            (lambda db: take_up(db, "big", 0), "is drone 0 of the hive big, not drone 0 of web"),
            (
                lambda db: take_up(db, "web", 0),
                "drone 0 of this hive has its state in another folder, /crawl/drone-0 on kiwi",
            ),
        ],
    )
    def test_the_folder_of_another_crawl(self, url, tmp_path, make, why):
        """A folder that is not this drone's is refused before anything is made there, and before anybody is told."""
        jobdir = tmp_path / "single"
        if why != "no crawl has begun there":
            with closing(CrawlDB(jobdir / "state")) as db:
                make(db)
                db.checkpoint()
        before = sorted(tmp_path.rglob("*"))
        with Members(url, 2) as members:
            line = refused("adopt", url, "--drone", 0, "--jobdir", jobdir)

        assert line == f"--jobdir {jobdir}: {why}"
        assert members.commands == []
        assert sorted(tmp_path.rglob("*")) == before

    def test_a_drone_that_cannot_be_started(self, url, tmp_path):
        """A drone that ends before the hive has let it in ends the command, and the others are told nothing."""
        (tmp_path / "script-2").write_text("refuse")
        with closing(CrawlDB(tmp_path / "drone" / "state")) as db:
            take_up(db, "web", 2)
        with Members(url, 2, founders=3) as members:
            done = hive("adopt", url, "--drone", 2, "--jobdir", tmp_path / "drone")

        assert done.returncode == 1
        assert "drone 2 ended with exit status 1 before all was given away" in done.stderr
        assert members.commands == []

    @pytest.mark.parametrize(
        ("before", "reason", "status", "ends"),
        [
            ({}, "shutdown", 0, "no"),
            ({}, "finished", 0, 0),
            ({}, "finished", 1, 1),
            ({"reason": "finished"}, "", 0, "no"),
        ],
    )
    def test_a_drone_that_ends_while_it_is_waited_for(self, tmp_path, monkeypatch, before, reason, status, ends):
        """One that was stopped ends the command, too; one of which nothing is left ends it well."""
        (tmp_path / "stats.json").write_text(json.dumps(before))
        write = f"open('stats.json', 'w').write({json.dumps({'reason': reason})!r});" if reason else ""
        words = ["sh", "-c", f'cd {tmp_path}; while [ ! -e go ]; do sleep 0.02; done; exec {sys.executable} -c "$0"']
        words.append(f"{write}raise SystemExit({status})")

        def give_up(_target, _drone, _say, still):
            (tmp_path / "go").touch()
            end = time.monotonic() + 60
            while not (tmp_path / "over").exists():
                still()
                assert time.monotonic() < end
                time.sleep(0.02)
                if reason == "finished" and processes[0].poll() is not None:
                    still()
                    (tmp_path / "over").touch()

        processes, popen = [], subprocess.Popen
        monkeypatch.setattr(subprocess, "Popen", lambda *w, **m: processes.append(popen(*w, **m)) or processes[-1])
        nothing = dict.fromkeys(("must_run", "check_given_up", "_check_folder"), lambda *_: None)
        for name, fake in {**nothing, "give_up": give_up}.items():
            monkeypatch.setattr(changes, name, fake)
        target = SimpleNamespace(name="web", look=lambda: Look(leases={2: 1.0}))
        adopted = partial(changes.adopt, target, 2, changes.Found(tmp_path, None, None), words, print)

        if ends == "no":
            with pytest.raises(CannotStart, match="drone 2 ended with exit status 0 before all was given away"):
                adopted()
        else:
            assert adopted() == ends

    def test_a_drone_that_is_there(self, url, tmp_path):
        """A drone that runs needs no second process."""
        with closing(CrawlDB(tmp_path / "drone" / "state")) as db:
            db.set(IDENTITY, Identity(f"{1:032x}", "web", 1, 1).pack())
            db.checkpoint()
        with Members(url, 2) as members:
            line = refused("adopt", url, "--drone", 1, "--jobdir", tmp_path / "drone")

        assert line.startswith("--drone 1: it was alive within HIVE_LEASE seconds; without --jobdir it gives away")
        assert members.commands == []

    def test_the_last_drone(self, url):
        """The last drone of a hive has nobody to give its hosts to."""
        with Members(url, 1):
            assert refused("adopt", url, "--drone", 0) == "--drone 0: no drone would be left"
