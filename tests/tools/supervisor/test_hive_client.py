"""`scrapy ctl` of a hive: which drones are asked or told, and what is said of it."""

import asyncio
from contextlib import closing
from dataclasses import replace
from functools import partial
from io import BytesIO

import pytest
from redis import Redis
from scrapy.settings import Settings

from tests.support.examples import in_campaign
from tests.support.hive_members import Members
from tests.support.served_hives import (
    HERE,
    Scripted,
    hive,
    look_at,
    of_another_hive,
    ordered,
    refused,
    seen,
)
from webcrawl.crawl.control.client import Client
from webcrawl.crawl.control.command import CommandError, NoAnswer, NotRunning
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.crawl.hive.redis_server.steps import Keys
from webcrawl.store.lock import Lock
from webcrawl.tools.supervisor import hive_client
from webcrawl.tools.supervisor.hive_client import HiveClient
from webcrawl.tools.supervisor.servers import URL_FILE


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
        """What drones could not carry out is said, and is no success, whatever else they have
        refused since.
        """
        (tmp_path / "seeds.txt").write_text("http://a.test/\n")
        with Members(url, 2, refuses="no seeds there"):
            done = ordered(url, "seeds", "add", tmp_path / "seeds.txt")

        assert (done.returncode, done.stdout) == (1, "")
        reasons = [f"refused by drone {one}: no seeds there" for one in range(2)]
        assert done.stderr == f"{'; '.join(reasons)}\n"

    def test_what_files_alone_tell(self, url):
        """A server has no files of a crawl: `why` needs a folder, whether the hive runs or not."""
        done = ordered(url, "why", "http://a.test/")

        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"{url}: why reads files: give the folder of the hive or drone\n"

    def test_a_server_with_something_else(self, url):
        """What stands there under a key of the hive, and is no hive's, is told in words."""
        with Redis.from_url(url) as client:
            client.set(Keys("web").map, "foreign")

        line = refused("status", url)

        assert line.startswith(
            "REDIS_URL: the server has other data under a key of the hive: WRONGTYPE "
        )

    def test_a_server_with_a_value_that_cannot_be_read(self, url):
        """What is of the right type, and no hive's, is told in words too."""
        with Redis.from_url(url) as client:
            client.hset(Keys("web").map, "slots", b"\xff\xfe")

        assert refused("status", url).startswith("the hive's data in the server cannot be read")

    def test_the_copy_of_a_hive_that_runs(self, folder, url):
        """A command to the copy of a running hive's folder is not for the hive that runs."""
        folder.server.mkdir()
        (folder.server / URL_FILE).write_text(f"{url}\n")
        with Members(url, 2) as members:
            done = ordered(folder.path, "stop")

        assert done.returncode == 3
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
        """What is for the folder's hive is not for one that the server knows by the same name, nor
        tells of it.
        """
        of_another_hive(folder)
        given = f"REDIS_URL={url}"
        # somebody runs the one of the folder, too
        with closing(folder.lock()), Members(url, 3) as members:
            line = refused(*words, folder.path, "-s", given)
            asked = ordered(folder.path, "pause", "-s", given)

        where = "(drone 0 in /crawl/drone-0 on kiwi)"
        assert (
            line
            == f"the server already has another hive named web {where}: set a different HIVE_NAME; a hive that has "
            "begun keeps its name, and needs another server or database in REDIS_URL"
        )
        assert (asked.returncode, asked.stderr) == (3, f"{folder.path}: {line}\n")
        assert members.commands == []

    @pytest.mark.parametrize(
        ("words", "line"),
        [
            (["exclude", "two words"], "exclude: 'two words' is neither "),
            (
                ["set", "CHECKPOINT_INTERVAL", "soon"],
                "CHECKPOINT_INTERVAL = 'soon': must be a number from 0.1 to ",
            ),
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
            ([], "a spider: scrapy hive web -n 4 -a seeds=FILE"),
            (
                ["adopt", "redis://h"],
                "which drone? scrapy hive adopt JOBDIR|URL --drone K, with --jobdir PATH or --lost",
            ),
            (
                ["adopt", "redis://h", "--drone", "1", "--lost", "--jobdir", "."],
                "--lost, --jobdir: a drone whose JOBDIR is there is not lost",
            ),
            (["resize", "redis://h"], "how many drones? scrapy hive resize JOBDIR|URL -n N"),
            (["status"], "one hive: scrapy hive status JOBDIR|URL"),
            (["resize", "3", "."], "one hive: scrapy hive resize JOBDIR|URL -n N"),
            (
                ["web", "more"],
                "exactly one spider is needed: scrapy hive NAME -n N; orders go by scrapy ctl JOBDIR",
            ),
            (["web", "--so"], "unknown option --so"),
        ],
    )
    def test_wrong_words(self, words, line):
        """What cannot be understood ends with the usage and one line."""
        done = hive(*words)

        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].endswith(f"error: {line}")


def order(name, *looks, folder=None):
    """What is said of a command to a hive of two drones."""
    return asyncio.run(
        hive_client.order_drones(partial(Scripted, *looks), folder, (0, 1), name, ())
    )


class TestWhoHasDoneIt:
    """The number of drones that are said to have done it have done it."""

    @pytest.fixture(autouse=True)
    def _at_once(self, monkeypatch):
        monkeypatch.setattr(hive_client, "LOOK_SECONDS", 0.0)
        monkeypatch.setattr(hive_client, "ORDER_SECONDS", 0.05)

    def test_a_drone_that_goes_away(self):
        """It has not done it, and is named."""
        assert order("pause", seen([0, 1], [0]), seen([0, 1], [0, 1])) == "pause: done by 2 drones"
        assert order("pause", seen([0], [0, 1])) == "pause: done by 2 drones"
        with pytest.raises(NoAnswer, match="pause: drone 1 ended without an answer"):
            order("pause", seen([0, 1], [0]), seen([0], [0]))

    def test_a_drone_that_has_left_meanwhile(self):
        """A drone that has given away all that it had is not missed."""
        last = replace(seen([0], [0]), map=SlotMap.fair([0]))

        assert order("resume", last) == "resume: done by 1 drone"

    @pytest.mark.parametrize("looks", [[(0, 1)] * 99, [(0,)], []])
    def test_what_may_be_carried_out_later(self, monkeypatch, looks):
        """An order that was given is not said to be refused, whatever keeps the drones from
        confirming it.
        """
        monkeypatch.setattr(hive_client, "ORDER_SECONDS", 0.0)
        with pytest.raises(NoAnswer):
            order("pause", *(seen(alive, [0]) for alive in looks))

    def test_who_stops_goes_away(self):
        """That is what it was told."""
        assert order("stop", seen([0], [0])) == "stop: done by 2 drones"

    def test_a_server_that_is_away(self, tmp_path):
        """A hive is said to be stopped if its own process has ended with its server, and not
        before.
        """
        folder = HiveFolder(tmp_path / "job")
        lock = folder.lock()
        for of in (None, folder):
            with pytest.raises(NoAnswer, match="the hive's server is"):
                order("stop", folder=of)
        lock.close()
        assert order("stop", folder=folder) == "stop: done by 2 drones"


@pytest.fixture(name="asked")
def _asked(tmp_path, monkeypatch):
    """A folder of a hive, and what its server says; whoever is asked notes it."""
    HiveFolder(tmp_path).write(Founding("web", "web", "domain", 2, (0, 1)))
    for drone in (0, 1):
        (tmp_path / f"drone-{drone}").mkdir()
    heard = []

    class Client:
        def __init__(self, jobdir, patience):
            self._name = jobdir.name

        def ask(self, *words):
            heard.append((self._name, *words))
            return {"from": self._name}

    monkeypatch.setattr(hive_client, "Client", Client)

    def ask(seen, *words):
        one = HiveClient(Settings(), str(tmp_path), 1.0, None)
        monkeypatch.setattr(one, "_ask_server", lambda: seen)
        monkeypatch.setattr(one._target, "operator_maker", lambda: None)
        return one.ask(*words), heard

    return tmp_path, ask


@pytest.mark.parametrize("word", ["example.com", "http://example.com/x", "WWW.example.com"])
def test_the_owner_is_asked(asked, word):
    """What concerns a host or a URL is asked of the drone to which it belongs."""
    folder, ask = asked

    _, heard = ask(look_at(folder), "about", word)

    assert heard == [("drone-1", "about", word)]


def test_an_owner_that_has_ended(asked, monkeypatch):
    """The line says which drone has the host, for the operator has to start that one."""
    folder, ask = asked
    monkeypatch.setattr(hive_client, "Client", Client)

    with pytest.raises(NotRunning, match=r"this belongs to drone 1: .*/drone-1: no running crawl"):
        ask(look_at(folder), "host", "example.com")


def test_a_hive_that_only_its_server_tells_of(asked, monkeypatch):
    """The server tells which drone has a host; a drone on this machine is asked in its folder."""
    folder, _ = asked
    one = HiveClient(Settings(), "redis://h", 1.0, None)
    seen = replace(look_at(folder), partition="domain")
    monkeypatch.setattr(one, "_ask_server", lambda: seen)

    assert one.ask("host", "example.com") == {"from": "drone-1"}
    assert [row["drone"] for row in one.ask("hosts")["drones"]] == [0, 1]
    seen = replace(look_at(folder, hosts=("far", "far")), partition="domain")
    with pytest.raises(CommandError, match=r"belongs to drone 1, .* on far:"):
        one.ask("host", "example.com")
    with pytest.raises(CommandError, match="no drone runs on this machine; give the folder of a"):
        one.ask("hosts")
    seen = replace(seen, partition="domain test=[1]")
    with pytest.raises(CommandError, match="the server does not tell which drone has it"):
        one.ask("host", "example.com")


def test_an_owner_elsewhere(asked):
    """A drone on another machine is not asked; the line says where it is."""
    folder, ask = asked
    seen = look_at(folder, hosts=(HERE, "far"))

    with pytest.raises(
        CommandError, match="drone 1, which runs elsewhere: run `scrapy ctl` there, on far:"
    ):
        ask(seen, "host", "example.com")
    answer, heard = ask(seen, "hosts")
    assert heard == [("drone-0", "hosts")]
    assert [row["drone"] for row in answer["drones"]] == [0, 1]
    assert answer["drones"][1]["answer"].startswith(
        "runs elsewhere: run `scrapy ctl` there, on far:"
    )


@pytest.mark.parametrize("word", ["http://", "a b", "http://[::1"])
def test_no_host(asked, word):
    """What is neither a host nor a URL is nobody's."""
    folder, ask = asked

    with pytest.raises(CommandError, match="is neither a host nor a URL"):
        ask(look_at(folder), "host", word)


def test_one_answers_for_all(asked):
    """Settings and opt-outs are the same on all drones: one of them is asked, one on this machine
    if there is one.
    """
    folder, ask = asked

    assert ask(look_at(folder), "get", "LOG_LEVEL") == (
        {"from": "drone-0"},
        [("drone-0", "get", "LOG_LEVEL")],
    )
    assert ask(look_at(folder, hosts=("far", HERE)), "excluded")[0] == {"from": "drone-1"}
    with pytest.raises(CommandError, match="runs elsewhere"):
        ask(look_at(folder, hosts=("far", "far")), "excluded")


def test_a_drone_that_was_killed(asked, monkeypatch):
    """A drone whose process has ended here is not said to run, though its lease is not over."""
    folder, _ = asked
    one = HiveClient(Settings(), str(folder), 1.0, None)
    monkeypatch.setattr(one._target, "ask_server", lambda: look_at(folder))
    (folder / "drone-0/state").mkdir()
    with closing(Lock(folder / "drone-0/state")):
        rows = one.ask("status")["drones"]

    assert [row["state"] for row in rows] == ["running", "away"]
    with pytest.raises(NotRunning, match="no drone of a hive named web is running there"):
        one.ask("status")


def test_drones_that_run_and_have_no_lease(asked, monkeypatch):
    """It is not said that none runs: the server may be full, and renew no lease."""
    folder, _ = asked
    one = HiveClient(Settings(), str(folder), 1.0, None)
    monkeypatch.setattr(one._target, "ask_server", lambda: replace(look_at(folder), leases={}))
    (folder / "drone-0/state").mkdir()

    with (
        closing(Lock(folder / "drone-0/state")),
        pytest.raises(NotRunning, match="drones run here, but none has reached the hive's server"),
    ):
        one.ask("status")


def test_a_question_to_a_drone_that_was_killed(asked, monkeypatch):
    """The others answer all the same, and the answer says that it does not run."""
    folder, ask = asked
    ask_client = hive_client.Client.ask

    def asking(client, *words):
        if client._name == "drone-1":
            raise NotRunning("no running crawl accepts commands there")
        return ask_client(client, *words)

    monkeypatch.setattr(hive_client.Client, "ask", asking)

    assert [row["answer"] for row in ask(look_at(folder), "hosts")[0]["drones"]] == [
        {"from": "drone-0"},
        "no running crawl accepts commands there",
    ]


def test_what_is_in_force(asked, monkeypatch):
    """The status of a hive lists the commands in force, as a drone on this machine has them."""
    folder, ask = asked
    monkeypatch.setattr(hive_client.Client, "ask", lambda *_: {"in_force": ["exclude a.test"]})

    (folder / "drone-0/state").mkdir()
    with closing(Lock(folder / "drone-0/state")):
        assert ask(look_at(folder), "status")[0]["in_force"] == ["exclude a.test"]
    assert ask(look_at(folder, hosts=("far", "far")), "status")[0]["in_force"] == []


async def done(_make_operator, _folder, _there, name, _words):
    """An order that all drones have carried out."""
    return f"{name}: done"


def test_an_order_goes_to_no_socket(asked, monkeypatch):
    """It goes to all drones by their server, which answers when their checkpoints have it."""
    folder, ask = asked
    monkeypatch.setattr(hive_client, "order_drones", done)

    assert ask(look_at(folder), "pause") == ("pause: done", [])


def test_a_drone_that_is_away(asked, monkeypatch):
    """What it has not heard is no success if a server of the hive's own alone knows it, for a kill
    ends that.
    """
    folder, ask = asked
    monkeypatch.setattr(hive_client, "order_drones", done)
    seen = look_at(folder, alive=(0,))
    assert ask(seen, "pause")[0] == "pause: done"
    with pytest.raises(
        NoAnswer, match="done, but drone 1 is not running, and receives the command when it is back"
    ):
        ask(seen, "exclude", "example.org")

    (folder / "server").mkdir()
    (folder / "server" / "url").write_text(f"unix://{folder}/server/valkey.sock\n")
    with pytest.raises(NoAnswer, match="done, but drone 1 is not running"):
        ask(seen, "pause")
    assert ask(seen, "stop")[0] == "stop: done"


def test_piped_seeds_need_all_drones_here(asked):
    """Standard input is not read if a drone could not read what it brings."""
    folder, ask = asked

    with pytest.raises(CommandError, match="drones on other machines cannot read standard input"):
        ask(look_at(folder, hosts=(HERE, "far")), "seeds", "add", "-")


def test_standard_input_is_named_once(asked):
    """Otherwise nothing is read of it, and nothing is left in the folder."""
    folder, ask = asked

    with pytest.raises(CommandError, match="- for standard input may be given once"):
        ask(look_at(folder), "seeds", "add", "-", "-")
    assert not (folder / "seeds").exists()


def test_an_address(asked):
    """A host is found by its address in any spelling, as its drone takes it."""
    folder, ask = asked
    for word in ("::1", "[::1]:80"):
        _, heard = ask(look_at(folder), "host", word)

    assert heard[0][0] == heard[1][0]


def test_nobody_is_there(tmp_path, asked):
    """Without a server nobody says that no drone runs: it may be one that the settings do not name."""
    with pytest.raises(
        NotRunning, match="the hive is not running, or has a server that -s REDIS_URL=… must name"
    ):
        HiveClient(Settings(), str(tmp_path), 1.0, None).ask("status")


def test_a_list_that_is_missing(asked, tmp_path, monkeypatch):
    """All lists are looked at before standard input is written to a file."""
    one = HiveClient(Settings(), str(tmp_path), 1.0, BytesIO(b"http://a.test/\n"))
    monkeypatch.setattr(one, "_ask_server", lambda: look_at(tmp_path))

    with pytest.raises(CommandError, match=r"missing\.txt: No such file"):
        one.ask("seeds", "add", "-", str(tmp_path / "missing.txt"))

    assert not (tmp_path / "seeds").exists()
