"""`scrapy ctl`, as an operator uses it, on one crawl that runs meanwhile."""

import json
import subprocess
import sys

import pytest

from tests.support.commanding import Console
from tests.support.crawling import Crawl, scrapy, wait_until
from tests.support.places import ROOT
from webcrawl import settings
from webcrawl.crawl.control.client import NAME
from webcrawl.crawl.control.in_force import CHANGEABLE, OF_LIMITS
from webcrawl.lab.simweb import World, running

pytestmark = pytest.mark.xdist_group("ctl")

FAST = {
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0.02,
    "CONCURRENT_REQUESTS": 4,
    "CHECKPOINT_INTERVAL": 3600,
}
VALUES = {  # what 1 is not for
    "HOST_CONNECTIONS": "a.test=2",
    "LOG_LEVEL": "WARNING",
    "POLITENESS_MIN_DELAY": "0.1",
    "URL_SCOPE": "any",
    "URL_SCHEMES": "http,https",
    "URL_MAX_LENGTH": "500",
    "URL_EXCLUDE_EXTENSIONS": "zip,exe",
    "URL_INCLUDE": "test",
    "URL_EXCLUDE": "never",
    "URL_EXCLUDE_FILE": "none",
    "DOWNLOAD_TRUNCATE": "100000",
    "ERROR_BREAKER": "10/30",
    "MIN_FREE_DISK": "0",
    "BANDWIDTH_MAX": "10MB",
    **dict.fromkeys(OF_LIMITS, "1000000"),
    "CLOSESPIDER_BYTES": "10GB",
}
BACK = {  # what the values look like as text
    "URL_SCHEMES": "all",
    "URL_INCLUDE": "[]",
    "URL_EXCLUDE": "[]",
    "URL_EXCLUDE_FILE": "none",
    "URL_EXCLUDE_EXTENSIONS": ",".join(settings.URL_EXCLUDE_EXTENSIONS),
    "ERROR_BREAKER": "20/60",
}


class Ctl:
    """The command, and the crawl that it is for."""

    def __init__(self, crawl, folder):
        self.crawl, self.jobdir, self._output = crawl, crawl.jobdir, folder / "ctl.out"
        self.ask = Console(crawl.jobdir).ask

    def __call__(self, *words):
        """Its exit status, and what it prints."""
        status = scrapy(["ctl", str(self.jobdir), *words], ROOT, self._output)
        return status, self._output.read_text()

    def json(self, *words):
        status, text = self(*words, "--json")
        return status, json.loads(text.splitlines()[-1])


@pytest.fixture(name="ctl", scope="module")
def _ctl(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ctl")
    with running(World(4, 4000, port=0, tls_port=0, addresses=4), latency=0.02) as server:
        (folder / "seeds.txt").write_text(f"{next(iter(server.world.seeds()))}\n")
        own = {"DNS_NAMESERVERS": server.nameserver, **FAST, "POLITENESS_MIN_DELAY": 0.2}
        crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, own)
        process = crawl.start()
        ctl = Ctl(crawl, folder)
        ctl.server = server
        wait_until(lambda: ctl.ask("status")["pages"] > 5)
        yield ctl
        assert ctl.ask("stop").startswith("stopping")
        assert process.wait() == 0
        assert not (crawl.jobdir / NAME).exists()
        assert ctl("status")[0] == 3


def test_status(ctl):
    """The figures of the contract, as JSON and as lines."""
    status, figures = ctl.json("status")
    first, *more = ctl("status")[1].splitlines()

    assert status == 0
    assert figures["state"] in ("running", "paused")
    assert {type(figures[name]) for name in ("pages", "queued", "hosts", "failures")} == {int}
    assert figures["seconds"] > 0
    assert " queued, hosts: " in first
    assert " seen, 0 failures, " in first
    # the first once it has run for some seconds
    assert {line.split()[0] for line in more} <= {"bound", "waits"}


def test_a_refusal_is_one_line_and_status_1(ctl):
    """What is refused is one line and 1; as JSON the line is the error. No command at all is a wrong use."""
    assert ctl("jump") == (1, ctl("jump")[1])
    assert ctl("jump")[1].startswith("'jump' is not a command; the commands are stop, ")
    assert ctl.json("set", "X", "1")[1]["error"].startswith("X is not a setting of the crawl")
    assert ctl("exclude")[1].startswith("usage: exclude RULE [--by WHO]")
    assert ctl()[0] == 2


def test_pause_and_resume(ctl):
    """A pause is seen in the state."""
    assert ctl.json("pause")[1]["answer"].startswith("paused until")
    assert ctl.json("status")[1]["state"] == "paused"
    assert ctl("resume") == (0, "resumed\n")
    assert ctl.json("status")[1]["state"] == "running"


def test_exclude_and_include(ctl):
    """A rule holds until it is taken back."""
    assert ctl("exclude", "example.com")[1] == "example.com is excluded\n"
    assert ctl.ask("status")["in_force"] == ["exclude example.com"]
    assert ctl("include", "example.com")[0] == 0
    assert ctl("include", "example.com")[0] == 1


def test_checkpoint(ctl):
    """It is answered when it is taken."""
    before = (ctl.jobdir / "state/crawl.db-wal").stat().st_mtime_ns

    assert ctl("checkpoint") == (0, "a checkpoint was taken\n")
    assert (ctl.jobdir / "state/crawl.db-wal").stat().st_mtime_ns > before


def test_get(ctl):
    """A setting, and who says so: the default, the command line, or a command."""
    ctl.ask("set", "RETRY_AFTER_MAX", "77")

    found = {
        name: ctl.json("get", name)[1]
        for name in ("RETRY_AFTER_MAX", "POLITENESS_FACTOR", "SEEN_MEMORY")
    }

    assert [(one["value"], one["from"], one["may_change"]) for one in found.values()] == [
        (77.0, "command", True),
        (0.0, "command line", True),
        (256, "default", False),
    ]
    assert ctl("get", "NONSENSE")[0] == 1
    assert len(ctl.json("get")[1]["settings"]) > 80


def test_set(ctl):
    """Each setting of the table may change while the crawl runs, is what it was set to, and the
    crawl goes on.
    """
    ctl.ask("pause")  # some of these values would end it
    before = {one["name"]: one["value"] for one in ctl.ask("get")["settings"]}
    # no page of this crawl is fetched again
    heeded = [name for name in CHANGEABLE if not name.startswith("REVISIT_")]

    said = [ctl.ask("set", name, VALUES.get(name, "1")) for name in heeded]
    now = {one["name"]: one for one in ctl.ask("get")["settings"]}
    for name in heeded:
        ctl.ask("set", name, BACK.get(name, str(before[name])))

    assert [line.split(" is ")[0] for line in said] == heeded
    assert {now[name]["from"] for name in heeded} == {"command"}
    assert "REVISIT_AGE cannot change in this crawl" in ctl("set", "REVISIT_AGE", "100")[1]
    assert {one["name"] for one in now.values() if one["may_change"]} == set(heeded)
    after = {one["name"]: one["value"] for one in ctl.ask("get")["settings"]}
    assert after == before
    ctl.ask("resume")
    pages = ctl.ask("status")["pages"]
    wait_until(lambda: ctl.ask("status")["pages"] > pages)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("scope", "seeds", "URL_SCOPE was any, now seeds: the seeds' domains were not recorded"),
        ("URL_EXCLUDE", "a(", "URL_EXCLUDE = 'a\\('"),
        ("URL_EXCLUDE_FILE", "rules.txt", "there is no such file"),
        ("URL_FOLDINGS", "none", "decides which URLs count as the same"),
        ("CONCURRENT_REQUESTS", "-1", "must be a whole number from 0"),
        ("CONCURRENT_REQUESTS", "0", "must be at least 1, because FRONTIER_QUEUES is not set"),
    ],
)
def test_set_refused(ctl, name, value, why):
    """What would not have been taken at the start, or would change keys, is refused, and nothing
    changes.
    """
    before = ctl.ask("get")

    status, text = ctl("set", name, value)

    assert (status, why.replace("\\", "") in text) == (1, True), text
    assert ctl.ask("get") == before


def test_set_to_a_file_of_something_else(ctl, tmp_path):
    """A file that is no list of exclusions is refused with the number of a line; nothing says what
    stands in it.
    """
    (tmp_path / "shadow").write_text("root:$6$salt$secret:19000:0:99999:7:::\n")

    status, text = ctl("set", "URL_EXCLUDE_FILE", str(tmp_path / "shadow"))

    assert (status, text) == (
        1,
        f"{tmp_path}/shadow, line 1: neither a domain nor a URL prefix (syntax)\n",
    )
    assert "$6$" not in ctl.crawl.output.read_text()


def test_seeds_by_name(ctl, tmp_path, monkeypatch):
    """A list is read that is named as the operator's folder has it."""
    (tmp_path / "more.txt").write_text(f"{[*ctl.server.world.seeds()][1]}\n")
    before = ctl.ask("status")["seeds"]

    status = scrapy(
        ["ctl", str(ctl.jobdir), "seeds", "add", str(tmp_path / "more.txt")], ROOT, tmp_path / "out"
    )

    assert status == 0
    wait_until(lambda: ctl.ask("status")["seeds"] == before + 1)
    assert ctl("seeds", "add", "missing.txt")[0] == 1


def test_the_scope_spares_what_is_outside(ctl):
    """From the moment when the scope is narrower, links that lead out of it are dropped."""
    assert ctl("set", "scope", "host") == (0, "URL_SCOPE is host\n")
    before = ctl.ask("status").get("refused/scope", 0)

    wait_until(lambda: ctl.ask("status").get("refused/scope", 0) > before)

    assert ctl.ask("set", "scope", "any") == "URL_SCOPE is any"


def test_fewer_slots(ctl):
    """With fewer slots fewer downloads are under way, as soon as those before have ended; and with
    more again more.
    """

    def under_way():
        """The number of downloads: pages in the pipelines have no slot any more."""
        return sum(
            not row["phase"].endswith("pipelines") for row in ctl.ask("threads")["downloads"]
        )

    assert ctl.ask("set", "CONCURRENT_REQUESTS", "1") == "CONCURRENT_REQUESTS is 1"
    wait_until(lambda: under_way() <= 1)
    assert {under_way() for _ in range(20)} <= {0, 1}

    assert ctl.ask("set", "CONCURRENT_REQUESTS", "4") == "CONCURRENT_REQUESTS is 4"
    # or four hosts may for ever be requested one after the other, in step
    ctl.ask("set", "POLITENESS_MIN_DELAY", "0")
    wait_until(lambda: under_way() > 1)

    ctl.ask("set", "POLITENESS_MIN_DELAY", "0.2")


def test_without_a_crawl_that_runs_the_status_is_3(tmp_path):
    """Where no crawl runs the exit status is 3, whatever the command."""
    for words in (["status"], ["seeds", "add", "-"], ["jump"]):
        assert scrapy(["ctl", str(tmp_path), *words, "--json"], ROOT, tmp_path / "out") == 3
    assert "no running crawl accepts commands there" in (tmp_path / "out").read_text()


@pytest.mark.campaign
class TestKill:
    """kill -9 right after the answer."""

    @pytest.mark.parametrize(
        ("words", "kept"),
        [
            (["pause"], "pause"),
            (["exclude", "example.com"], "exclude example.com"),
            (["set", "URL_EXCLUDE", "x{3}"], "set URL_EXCLUDE x{3}"),
        ],
    )
    def test_what_lasts(self, tmp_path, simweb, words, kept):
        """What was answered is in force in the next run, although the last checkpoint by the clock
        was long ago.
        """
        server = simweb(2, 400, latency=0.05)
        crawl = crawl_of(tmp_path, server)
        console = Console(crawl.jobdir)

        killed = crawl.start()
        console.ask(*words)
        killed.kill()
        again = crawl.start()
        in_force = console.ask("status")["in_force"]
        again.interrupt()

        assert (in_force, again.wait()) == ([kept], 0)

    def test_seeds_from_standard_input(self, tmp_path, simweb):
        """Seeds that were piped in are crawled, although crawl and JOBDIR's place are others by
        then.
        """
        server = simweb(3, 60, latency=0.02)
        crawl = crawl_of(tmp_path, server)
        first, *others = server.world.seeds()
        console = Console(crawl.jobdir)

        killed = crawl.start()
        console.ask("pause")
        words = [sys.executable, "-m", "scrapy", "ctl", str(crawl.jobdir), "seeds", "add", "-"]
        piped = "".join(f"{url}\n" for url in others)
        subprocess.run(words, input=piped, text=True, cwd=ROOT, check=True, capture_output=True)
        killed.kill()
        crawl.jobdir = crawl.jobdir.rename(tmp_path / "moved")
        again = crawl.start()
        Console(crawl.jobdir).ask("resume")

        assert again.wait() == 0
        assert {first, *others} <= {hit.url for hit in server.log.hits}
        assert crawl.stats["seeds"] == 3

    def test_seeds_that_are_away(self, tmp_path, simweb):
        """A crawl that finishes without a list that was given by command and is gone says so; the
        next run has it.
        """
        server = simweb(3, 60, latency=0.02)
        crawl, more = crawl_of(tmp_path, server), tmp_path / "more.txt"
        first, *others = server.world.seeds()
        more.write_text("".join(f"{url}\n" for url in others))
        console = Console(crawl.jobdir)

        killed = crawl.start()
        console.ask("pause")
        console.ask("seeds", "add", str(more))
        killed.kill()
        away = more.rename(tmp_path / "away.txt")
        again = crawl.start()
        console.ask("resume")
        assert again.wait() == 1
        assert "1 list of seeds could not be read to the end" in crawl.output.read_text()
        away.rename(more)

        assert crawl.run() == 0
        assert {first, *others} <= {hit.url for hit in server.log.hits}


def crawl_of(tmp_path, server):
    (tmp_path / "seeds.txt").write_text(f"{next(iter(server.world.seeds()))}\n")
    own = {"DNS_NAMESERVERS": server.nameserver, **FAST}
    return Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, own)


class TestTheEnd:
    def test_while_it_stops(self, tmp_path, simweb):
        """A crawl that stops says so, and what it is ordered then is in force in the next run."""
        server = simweb(2, 60, latency=1.5)
        crawl = crawl_of(tmp_path, server)
        console = Console(crawl.jobdir)

        stopping = crawl.start()
        wait_until(lambda: console.ask("status")["in_flight"] > 0)
        console.ask("stop")
        state, said = console.ask("status")["state"], console.ask("exclude", "example.com")
        status = stopping.wait()
        again = crawl.start()
        in_force = console.ask("status")["in_force"]
        again.interrupt()

        assert (state, said, status) == ("stopping", "example.com is excluded", 0)
        assert (in_force, again.wait()) == (["exclude example.com"], 0)

    def test_switched_off(self, tmp_path, simweb):
        """Without CONTROL there is no socket."""
        crawl = crawl_of(tmp_path, simweb(2, 4))

        assert crawl.run(CONTROL=0) == 0
        assert not (crawl.jobdir / NAME).exists()
        assert not (crawl.jobdir / "seeds").exists()
