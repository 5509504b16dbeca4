"""`scrapy ctl JOBDIR excluded` of crawls that do not run."""

import json

import pytest

from tests.support.commands import command
from webcrawl.crawl.checks import check
from webcrawl.crawl.control.in_force import InForce
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder
from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.exclusion_rules import OptOut

NOW = 1_800_000_000.0
STOPPED = "no running crawl accepts commands there: the answer is from the last checkpoint\n"


def state(folder, *wishes):
    """A state that has these records."""
    db = CrawlDB(folder / "state")
    in_force = InForce(db, check({}), clock=lambda: NOW)
    for wish in wishes:
        in_force.exclude(wish)
    db.checkpoint()
    db.close()


def excluded(jobdir, *words):
    return command("scrapy", "ctl", jobdir, "excluded", *words, "--json")


def rules(done):
    return [one["rule"] for one in json.loads(done.stdout)["excluded"]]


def test_of_a_crawl(tmp_path):
    """The records of the last checkpoint are shown, all or those that name a URL; standard error
    says of when.
    """
    state(tmp_path, OptOut("a.test", NOW, "joe"), OptOut("b.test/x/", NOW))

    every, some = excluded(tmp_path), excluded(tmp_path, "http://www.a.test/y")

    assert (every.returncode, every.stderr) == (0, f"{tmp_path}: {STOPPED}")
    assert rules(every) == ["a.test", "b.test/x/"]
    assert json.loads(every.stdout)["excluded"][0]["by"] == "joe"
    assert rules(some) == ["a.test"]


def test_of_a_hive(tmp_path):
    """Of a hive there are the records of all drones, each once."""
    for drone in (0, 1):
        state(
            tmp_path / f"drone-{drone}",
            OptOut("a.test", NOW),
            *([OptOut("b.test", NOW)] if drone else []),
        )
    HiveFolder(tmp_path).write(Founding("web", "web", "domain", 2, (0, 1)))

    done = excluded(tmp_path)

    assert (done.returncode, rules(done)) == (0, ["a.test", "b.test"])
    assert "from the last checkpoint" in done.stderr


def test_where_no_crawl_is(tmp_path):
    """Where there is no state, nothing is shown, and the exit status is 3 as for every command."""
    done = excluded(tmp_path)

    assert (done.returncode, done.stderr) == (
        3,
        f"{tmp_path}: no running crawl accepts commands there\n",
    )


@pytest.mark.parametrize("words", [["a.test", "b.test"], ["*"]])
def test_wrong_words(tmp_path, words):
    """What a crawl would refuse is refused."""
    state(tmp_path)

    assert excluded(tmp_path, *words).returncode == 1


def test_a_damaged_state(tmp_path):
    """A state that cannot be read is an error, and not an empty list."""
    state(tmp_path, OptOut("a.test", NOW))
    (tmp_path / "state/crawl.db").write_bytes(b"x" * 8192)

    done = excluded(tmp_path)

    assert (done.returncode, json.loads(done.stdout).keys()) == (1, {"error"})


def test_an_exclusion_without_a_running_crawl(tmp_path):
    """It is refused with 3, and the line names the file that does the same."""
    done = command("scrapy", "ctl", tmp_path, "exclude", "a.test")

    assert done.returncode == 3
    assert "URL_EXCLUDE_FILE" in done.stderr
