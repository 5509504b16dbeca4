"""`scrapy hive resize` and `scrapy hive adopt` of a hive that runs, with a real server and
stand-ins for the drones.
"""

import asyncio
import json
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from shlex import quote
from types import SimpleNamespace

import pytest

from tests.support.crawling import wait_until
from tests.support.hive_members import Members
from tests.support.served_hives import (
    checkpoint,
    finished,
    hive,
    refused,
    resizing,
    serve,
    served,
)
from webcrawl.base.errors import CannotStart
from webcrawl.crawl.hive.coordinator import DroneState, Report
from webcrawl.crawl.hive.errors import Away
from webcrawl.crawl.hive.member import IDENTITY, KEY, Identity, take_identity
from webcrawl.crawl.hive.operator import HiveView
from webcrawl.crawl.hive.partition import NO_ORDER, SlotMap
from webcrawl.store.crawldb import CrawlDB
from webcrawl.tools.supervisor import member_changes

FIRST = SlotMap.fair(range(2))


def target(server, folder=None):
    """A hive with this server."""
    return SimpleNamespace(
        operator_maker=lambda: lambda: server,
        ask_server=lambda: asyncio.run(server.read_hive()),
        folder=folder,
    )


class Server:
    """A server of a hive of two drones: what `happens` comes between two calls of an operator.

    `noted`: the number of the last command that all drones' checkpoints have.
    """

    def __init__(self, *happens, noted=1 << 60):
        self.orders, self.noted, self.slots = [], noted, FIRST
        self._happens = [*happens]

    def order(self, members, lost=()):
        """Somebody gives an order."""
        before = self.orders[-1] if self.orders else NO_ORDER
        self.orders.append(before.followed_by(members, lost, len(self.orders) + 1))
        return len(self.orders)

    def settle(self):
        """The coordinator carries it out."""
        self.slots = self.slots.resized(self.orders[-1].sharing)
        self.slots = self.slots.without(self.slots.leaving)

    def empty(self):
        """It is killed, and the drones come back."""
        self.orders.clear()

    def away(self):
        """It is gone for good."""
        self.orders = None

    def _next(self):
        if self._happens:
            self._happens.pop(0)(self)
        if self.orders is None:
            raise Away("closed")

    async def resize(self, members, lost):
        self._next()
        return self.order(members, lost)

    async def read_hive(self):
        self._next()
        about = {"identity": "x", "run": 1, "beat": 3, "generation": self.slots.generation}
        state = dict.fromkeys(range(2), DroneState.RETIRED) | dict.fromkeys(
            self.slots.drones, DroneState.RUNNING
        )
        drones = {
            drone: Report(drone=drone, state=state[drone], applied=self.noted, **about)
            for drone in state
        }
        return HiveView(
            map=self.slots,
            reports=drones,
            leases=dict.fromkeys(drones, 9.0),
            orders=tuple(self.orders),
        )

    async def aclose(self):
        pass


def nothing(_):
    """Nothing happens."""


def change(server, members=(0,), folder=None, lost=()):
    """What is said of a change to these members."""
    said = []
    asyncio.run(
        member_changes._change_members(lambda: server, folder, lambda _: members, lost, said.append)
    )
    return said


def about(drone, **more):
    """A report of this drone."""
    return Report(drone=drone, identity="x", run=1, beat=3, generation=1, **more)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(member_changes, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(member_changes, "NOTING_SECONDS", 0.0)


class TestTwoAtOnce:
    """Of two orders neither is forgotten."""

    @pytest.mark.parametrize(
        ("happens", "orders"),
        [
            ((nothing, nothing), [{0}]),
            ((partial(Server.order, members=(0, 1, 2)),) * 1, [{0, 1, 2}, {0, 2}]),
            (
                (nothing, partial(Server.order, members=(0, 1, 2))),
                [{0, 1, 2}, {0}, {0, 2}],
            ),
            ((nothing, partial(Server.order, members=(0,))), [{0}, {0}]),
        ],
    )
    def test_a_drone_is_given_up_while_their_number_changes(self, happens, orders):
        """The others are those of the other order, also if it comes between the look and ours."""
        server = Server(*happens)
        order = asyncio.run(
            member_changes._give_order(
                server, asyncio.run(server.read_hive()), partial(member_changes.all_but, 1), ()
            )
        )

        assert [one.members for one in server.orders] == orders
        assert order == server.orders[-1]

    def test_nobody_is_left(self):
        """The last drone that another order has left is not given up."""
        server = Server()
        server.order((1,))
        with pytest.raises(CannotStart, match="--drone 1: no drone would be left"):
            member_changes.give_up(target(server), 1, str)

        assert len(server.orders) == 1

    def test_another_one_after_ours(self):
        """It ends our waiting if it names other drones."""
        server = Server(*[nothing] * 4, partial(Server.order, members=(1,)))
        with pytest.raises(CannotStart, match="another change was requested since then, to the"):
            change(server)


def test_ctrl_c():
    """It ends the waiting, and the operator is told that it does not end the change."""

    def interrupt(_):
        raise asyncio.CancelledError

    said = []
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(
            member_changes._change_members(
                lambda: Server(*[nothing] * 4, interrupt), None, lambda _: (0,), (), said.append
            )
        )

    assert said[-1] == "the change was ordered, and continues without this command"


class TestServerThatDies:
    """An order that no checkpoint has is lost with the server, and the operator is told."""

    def test_before_it_hears_of_the_order(self):
        """Nothing was changed, as far as is known: the command has to be repeated."""
        with pytest.raises(CannotStart, match="unreachable: closed; perhaps no drone has heard of"):
            change(Server(nothing, Server.away))

    def test_before_a_drone_has_noted_it(self):
        """The order is not in force."""
        with pytest.raises(CannotStart, match="lost the change before a drone had noted it: rep"):
            change(Server(nothing, nothing, nothing, Server.empty, noted=0))

    def test_after_all_have_noted_it(self):
        """The drones bring it back, and the wait goes on."""
        server = Server(*[nothing] * 4, Server.empty, partial(Server.order, members=(0,)))
        server.order((0, 1))
        server._happens += [nothing, Server.settle]

        assert change(server)[-1] == "the hive now has 1 drone"

    def test_for_good(self):
        """The change continues when the server is back."""
        with pytest.raises(CannotStart, match="closed; the change continues when it is back"):
            change(Server(*[nothing] * 4, Server.away))

    def test_a_drone_that_has_not_noted_it(self):
        """It is waited for, and named."""
        server = Server(*[nothing] * 4, noted=0)
        server._happens += [lambda server: setattr(server, "noted", 1), Server.settle]

        assert change(server) == [
            "waiting for drone 0, which has not noted the change yet",
            "waiting for the new map",
            "the hive now has 1 drone",
        ]

    @pytest.mark.parametrize("noted", [False, True])
    def test_the_hive_ends(self, folder, noted):
        """Its checkpoints tell whether the order is in force."""
        checkpoint(folder, 0, FIRST, *[(1, (0,), ())] * noted)
        why = "the change to 1 drone is not complete" if noted else "start it, and repeat the com"
        with pytest.raises(CannotStart, match=why):
            change(Server(noted=0), folder=folder)


@pytest.mark.campaign
class TestResize:
    def test_while_it_runs(self, folder, url):
        """The drones are told, the wait is shown, and hive.json has the new drones for the next
        start.
        """
        folder.write(replace(folder.founding(), drones=(0, 1, 2)))
        with served(folder, url), Members(url, 3) as members:
            done = hive("resize", folder.path, "-n", 2)
            wait_until(lambda: folder.founding().drones == (0, 1))

        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "the hive now has 2 drones"
        assert members.commands == [("resize", [0, 1], [])]

    def test_a_drone_that_leaves_is_waited_for(self, folder, url):
        """A drone that has given away its slots is waited for until no map has it: it may have more
        to give.
        """
        with (
            served(folder, url),
            Members(url, 3, coordinator="leaving"),
            resizing(folder, 2) as process,
        ):
            said = process.stdout.readline()
            while "leaving" not in said:
                said = process.stdout.readline()
            process.terminate()

        assert said == "waiting for drone 2, which is leaving the hive\n"

    def test_a_second_time(self, folder, url):
        """Who asks for another number ends the wait of the first."""
        with served(folder, url), Members(url, 2), resizing(folder, 4) as first:
            wait_until(lambda: folder.founding().drones == (0, 1, 2, 3))
            second = hive("resize", folder.path, "-n", 2)
            _, said = first.communicate()

        assert (second.returncode, first.returncode) == (0, 1), second.stderr
        assert (
            said.splitlines()[-1] == "another change was requested since then, to the drones 0, 1"
        )

    @pytest.mark.parametrize(
        ("ends", "state"), [(finished, "has finished"), (lambda _: None, "is not running")]
    )
    def test_nobody_runs_the_hive_any_more(self, folder, url, ends, state):
        """The wait ends when whoever runs the hive is gone: a line says how the hive is, and that a
        start goes on.
        """
        with (
            served(folder, url) as end,
            Members(url, 2, moving=(1,)),
            resizing(folder, 1) as process,
        ):
            process.stdout.readline()
            checkpoint(folder, 0, FIRST, (1 << 60, (0,), ()))
            ends(folder)
            end()
            _, said = process.communicate(timeout=120)

        assert process.returncode == 1
        change = "and the change to 1 drone is not complete: start the hive again to complete it"
        assert said == f"{folder.path}: the hive {state}, {change}\n"
        assert refused("resize", folder.path, "-n", 1, status=3) == said.rstrip("\n")

    def test_a_hive_that_is_stopped(self, folder, url):
        """A hive that nobody runs is not resized, though its server is there and knows its drones;
        nobody is told.
        """
        serve(folder, url)
        with Members(url, 2) as members:
            line = refused("resize", folder.path, "-n", 1, status=3)

        assert line == f"{folder.path}: the hive is not running: start it first"
        assert members.commands == []

    def test_a_change_that_no_drone_would_hear_of_is_refused(self, url):
        """A change that no drone would hear of is refused."""
        with Members(url, 2):
            pass

        assert refused("resize", url, "-n", 1, status=3) == "no drone of this hive is there"

    @pytest.mark.parametrize("number", ["0", "-1", "many", "65536"])
    def test_no_number_of_drones(self, folder, number):
        """At least one drone is needed, and no more than a hive can have."""
        assert refused("resize", folder.path, "-n", number).startswith(
            f"-n {number}: must be a whole number from 1 "
        )


class TestAdopt:
    def test_a_drone_that_is_alive(self, url):
        """A drone that is there is told to give away what it has."""
        with Members(url, 3) as members:
            done = hive("adopt", url, "--drone", 1)

        assert done.returncode == 0, done.stderr
        assert members.commands == [("resize", [0, 2], [])]

    def test_a_hive_that_is_stopped(self, folder):
        """A drone may be given up while nobody runs: the others' checkpoints have it for the next
        start.
        """
        checkpoint(folder, 0, FIRST)
        asked = hive("adopt", folder.path, "--drone", 1, "--lost")
        assert (asked.returncode, folder.founding().drones) == (1, (0, 1))
        assert "drone 1 owns 8192 of 16384 parts of the web; the following is lost" in asked.stdout
        assert "  3 URLs queued for 1 host\n  7 pages in its archive, " in asked.stdout

        done = hive("adopt", folder.path, "--drone", 1, "--lost", "--yes")

        assert (done.returncode, done.stderr) == (0, "")
        order = folder.read_checkpoints().order
        assert (order.members, order.lost, folder.founding().drones) == ({0}, {1}, (0,))
        assert (
            refused("adopt", folder.path, "--drone", 1, "--lost")
            == "--drone 1: was given up already: start the hive"
        )
        assert (
            refused("adopt", folder.path, "--drone", 0, "--lost")
            == "--drone 0: no drone would be left"
        )

    def test_a_hive_that_is_stopped_in_a_change(self, folder):
        """The change goes on at the next start, without the drone that was given up."""
        checkpoint(folder, 0, FIRST, (7, (0, 1, 2), ()))
        done = hive("adopt", folder.path, "--drone", 1, "--lost", "--yes")

        assert (
            done.stdout.splitlines()[-1]
            == "the other drones take over its hosts when the hive is started, with 2 drones"
        )
        order = folder.read_checkpoints().order
        assert (order.members, order.lost, folder.founding().drones) == ({0, 2}, {1}, (0,))
        checkpoint(folder, 0, FIRST, (7, (1,), ()))
        assert (
            refused("adopt", folder.path, "--drone", 1, "--lost")
            == "--drone 1: no drone would be left"
        )

    def test_what_would_be_lost(self, url):
        """Of a drone whose state is gone the losses are said exactly, and nothing is done without
        --yes.
        """
        with Members(url, 2):
            pass

        done = hive("adopt", url, "--drone", 1, "--lost")

        assert done.returncode == 1
        said = " ".join(done.stdout.split())
        assert "drone 1 owns " in said
        assert "5 URLs queued for 2 hosts" in said
        assert "in its archive, /crawl/drone-1 on kiwi" in said
        assert "1 batch of links for other drones" in said
        assert said.endswith("repeat the command with --yes to give it up")

    @pytest.mark.parametrize(
        ("reports", "seconds"),
        [
            ({1: about(1, lease=30.0, fence=30.0)}, 0),
            ({1: about(1, lease=30.0, fence=50.0)}, 20),
            ({0: about(0, lease=30.0, fence=50.0)}, 50),
            ({}, 30),
        ],
    )
    def test_one_that_may_only_be_cut_off(self, reports, seconds):
        """It may fetch for as long as its fence is longer than its lease, or all of it if the
        server may be new.
        """
        assert member_changes._seconds_to_fence(HiveView(reports=reports), 1) == seconds

    def test_one_that_comes_back_while_it_is_waited_for(self):
        """It is not given up: nothing of it is lost."""
        looks = [
            HiveView(map=SlotMap.fair(range(2))),
            HiveView(map=SlotMap.fair(range(2))),
            HiveView(leases={1: 9.0}),
        ]
        said = []
        with pytest.raises(CannotStart, match="--drone 1: it was alive within"):
            member_changes.adopt_lost(
                SimpleNamespace(folder=None, ask_server=lambda: looks.pop(0)),
                1,
                said.append,
                sure=True,
            )

        assert (
            "waiting for 30 s: until then drone 1 may still fetch, if it is only cut off from the server."
            in said
        )

    @pytest.mark.parametrize(
        ("words", "line"),
        [
            (["--drone", "x"], "--drone x: must be a whole number from 0 to 65534"),
            (["--drone", "1", "--lost"], "--drone 1: it was alive within "),
            (["--drone", "7", "--lost"], "--drone 7: this hive has no such drone"),
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
            (
                lambda db: db.set(KEY, b"k" * 16),
                "holds a crawl that is not part of a hive, not drone 0 of the hive web",
            ),
            (
                lambda db: take_identity(db, "web", 1),
                "belongs to drone 1 of the hive web, not to drone 0 of web",
            ),
            (
                lambda db: take_identity(db, "big", 0),
                "belongs to drone 0 of the hive big, not to drone 0 of web",
            ),
            (
                lambda db: take_identity(db, "web", 0),
                "drone 0 of this hive has its state in another folder, /crawl/drone-0 on kiwi",
            ),
        ],
    )
    def test_the_folder_of_another_crawl(self, url, tmp_path, make, why):
        """A folder that is not this drone's is refused before anything is made there, and before
        anybody is told.
        """
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
        """A drone that ends before the hive has let it in ends the command, and the others are told
        nothing.
        """
        (tmp_path / "script-2").write_text("refuse")
        with closing(CrawlDB(tmp_path / "drone" / "state")) as db:
            take_identity(db, "web", 2)
        with Members(url, 2, founders=3) as members:
            done = hive("adopt", url, "--drone", 2, "--jobdir", tmp_path / "drone")

        assert done.returncode == 1
        assert (
            "drone 2 ended with exit status 1 before it had handed over everything" in done.stderr
        )
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
    def test_a_drone_that_ends_while_it_is_waited_for(
        self, tmp_path, monkeypatch, before, reason, status, ends
    ):
        """One that was stopped ends the command, too; one of which nothing is left ends it well."""
        (tmp_path / "stats.json").write_text(json.dumps(before))
        write = (
            f"open('stats.json', 'w').write({json.dumps({'reason': reason})!r});" if reason else ""
        )
        words = [
            "sh",
            "-c",
            f'cd {tmp_path}; while [ ! -e go ]; do sleep 0.02; done; exec {quote(sys.executable)} -c "$0"',
        ]
        words.append(f"{write}raise SystemExit({status})")

        def give_up(_target, _drone, _say, check_going):
            (tmp_path / "go").touch()
            end = time.monotonic() + 60
            while not (tmp_path / "over").exists():
                check_going()
                assert time.monotonic() < end
                time.sleep(0.02)
                if reason == "finished" and processes[0].poll() is not None:
                    check_going()
                    (tmp_path / "over").touch()

        processes, popen = [], subprocess.Popen
        monkeypatch.setattr(
            subprocess, "Popen", lambda *w, **m: processes.append(popen(*w, **m)) or processes[-1]
        )
        nothing = dict.fromkeys(
            ("check_is_launched", "check_can_leave", "_check_folder"), lambda *_: None
        )
        for name, fake in {**nothing, "give_up": give_up}.items():
            monkeypatch.setattr(member_changes, name, fake)
        target = SimpleNamespace(name="web", ask_server=lambda: HiveView(leases={2: 1.0}))
        adopted = partial(
            member_changes.adopt,
            target,
            2,
            member_changes.SavedIdentity(tmp_path, None, None),
            words,
            print,
        )

        if ends == "no":
            with pytest.raises(
                CannotStart,
                match="drone 2 ended with exit status 0 before it had handed over everything",
            ):
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

        assert line.startswith(
            "--drone 1: it was alive within HIVE_LEASE seconds; without --jobdir it hands over"
        )
        assert members.commands == []

    def test_one_that_has_shrunk_away(self, folder):
        """A drone that is no member, and for which the map of the others still waits, may be given up."""
        checkpoint(folder, 0, SlotMap.fair(range(3)).resized(range(2)))

        done = hive("adopt", folder.path, "--drone", 2, "--lost", "--yes")
        again = hive("adopt", folder.path, "--drone", 3, "--lost", "--yes")

        assert done.returncode == 0, done.stderr
        order = folder.read_checkpoints().order
        assert (order.members, order.lost, folder.founding().drones) == ({0, 1}, {2}, (0, 1))
        assert again.stderr == "--drone 3: this hive has no such drone\n"

    def test_one_that_leaves_and_is_lost(self):
        """So it is of a hive that runs."""
        member_changes.check_can_leave(HiveView(map=SlotMap.fair(range(3)).resized(range(2))), 2)

    def test_the_last_drone(self, url):
        """The last drone of a hive has nobody to give its hosts to."""
        with Members(url, 1):
            assert refused("adopt", url, "--drone", 0) == "--drone 0: no drone would be left"
