"""`scrapy ctl` of a hive: orders for all drones, and questions to the one that knows."""

import json
import os
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from tests.support.crawling import scrapy, wait_until
from tests.support.ordered_hive import two_drones
from tests.support.places import ROOT
from webcrawl.crawl.control.client import Client
from webcrawl.lab.simweb import World, running

pytestmark = pytest.mark.xdist_group("hive_ctl")


@pytest.fixture(name="hive", scope="module")
def _hive(tmp_path_factory):
    """Two drones, of whose web nothing ends while the tests last."""
    folder = tmp_path_factory.mktemp("hive")
    job = folder / "job"
    with running(World(8, 8000, port=0, tls_port=0, addresses=4), latency=0.05) as server:
        with two_drones(folder, server, [next(iter(server.world.seeds()))]):
            yield job, server
            assert asked(job, "stop")[0] == 0
        assert asked(job, "status")[0] == 3


def asked(jobdir, *words):
    """The exit status, and the answer."""
    output = jobdir.with_suffix(".ctl")
    status = scrapy(["ctl", str(jobdir), *words, "--json"], ROOT, output)
    return status, json.loads(output.read_text().splitlines()[-1])


def test_status(hive):
    """The figures of the contract are those of all drones together, and there is a row for each."""
    jobdir, _ = hive
    wait_until(lambda: asked(jobdir, "status")[1].get("pages", 0) > 0)

    status, answer = asked(jobdir, "status")

    assert status == 0
    assert (answer["state"], [row["drone"] for row in answer["drones"]]) == ("running", [0, 1])
    for name in ("pages", "queued", "hosts", "failures"):
        assert answer[name] == sum(row[name] for row in answer["drones"])


def test_orders(hive):
    """All drones pause, and go on; what they are asked to leave alone, all of them do."""
    jobdir, _ = hive
    assert asked(jobdir, "pause") == (0, {"answer": "pause: done by 2 drones"})
    states = [Client(jobdir / f"drone-{drone}").ask("status")["state"] for drone in (0, 1)]
    assert states == ["paused"] * 2
    assert asked(jobdir, "exclude", "example.com")[0] == 0
    in_force = [Client(jobdir / f"drone-{drone}").ask("status")["in_force"] for drone in (0, 1)]
    assert in_force == [["pause", "exclude example.com"]] * 2
    assert asked(jobdir, "resume")[0] == 0
    assert asked(jobdir, "include", "example.com")[0] == 0
    assert asked(jobdir, "checkpoint")[0] == 0
    assert asked(jobdir, "set", "RETRY_AFTER_MAX", "78")[0] == 0
    assert asked(jobdir, "get", "RETRY_AFTER_MAX")[1]["value"] == 78


def test_who_leaves_is_asked_no_more(hive):
    """A wish given in the middle of the crawl is one record on all drones, and no request of any of
    them follows.
    """
    jobdir, server = hive
    drones = [Client(jobdir / f"drone-{drone}") for drone in (0, 1)]
    wait_until(lambda: all(drone.ask("hosts", "--by", "queue")["hosts"] for drone in drones))
    out = [drone.ask("hosts", "--by", "queue")["hosts"][0]["host"] for drone in drones]

    def hits(*, of_them):
        return sum((hit.host in out) == of_them for hit in server.log.hits)

    wait_until(lambda: hits(of_them=True) > 4)
    for host in out:
        assert asked(jobdir, "exclude", host, "--by", "joe", "--until", "2999-12-31")[0] == 0
    begun = hits(of_them=False)
    wait_until(lambda: hits(of_them=False) > begun + 20)  # what was under way has ended
    before, begun = hits(of_them=True), hits(of_them=False)
    wait_until(lambda: hits(of_them=False) > begun + 60)

    assert hits(of_them=True) == before
    first, second = (drone.ask("excluded") for drone in drones)
    assert first == second == asked(jobdir, "excluded")[1]
    assert [(one["rule"], one["by"]) for one in first["excluded"]] == [
        (host, "joe") for host in out
    ]
    for host in out:
        assert asked(jobdir, "include", host)[0] == 0


def test_an_order_that_no_drone_would_carry_out_is_given_to_none(hive):
    """An order that no drone would carry out is given to none."""
    jobdir, _ = hive

    assert asked(jobdir, "set", "SEEN_MEMORY", "1")[0] == 1
    assert asked(jobdir, "jump")[0] == 1


def test_seeds_from_standard_input(hive):
    """Seeds that are piped in lie in the hive's folder, and each drone reads them."""
    jobdir, server = hive
    _, second, *_ = server.world.seeds()

    words = [sys.executable, "-m", "scrapy", "ctl", str(jobdir), "seeds", "add", "-"]
    subprocess.run(words, input=f"{second}\n", text=True, cwd=ROOT, check=True, capture_output=True)

    (path,) = (jobdir / "seeds").iterdir()
    assert path.read_text() == f"{second}\n"
    for drone in (0, 1):
        wait_until(lambda: Client(jobdir / f"drone-{drone}").ask("status")["seeds"] == 2)  # noqa: B023


def test_a_drone_by_itself(hive):
    """Each drone's own folder can be asked like that of any crawl."""
    jobdir, _ = hive
    pid = os.getpid()

    assert asked(jobdir / "drone-1", "status")[1]["state"] == "running"
    assert asked(jobdir / f"drone-{pid}", "status")[0] == 3


def test_a_host_of_the_other_drone(hive):
    """Its folder takes no command for the host, and names the drone that has it."""
    jobdir, server = hive
    host = urlsplit(next(iter(server.world.seeds()))).hostname
    answers = [asked(jobdir / f"drone-{drone}", "host", host, "pause") for drone in (0, 1)]
    (owner,) = (drone for drone, (status, _) in enumerate(answers) if status == 0)

    assert answers[1 - owner][0] == 1
    assert f"belongs to drone {owner} of this hive" in str(answers[1 - owner][1])
    assert asked(jobdir / f"drone-{owner}", "host", host, "resume")[0] == 0
