"""A crawl by two drones on one machine, as a user starts it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from redis import Redis
from scrapy.settings import Settings

from tests.support.commands import command, default_signal
from tests.support.crawling import PATIENCE, SETTINGS, Crawl, wait_until
from tests.support.places import ROOT
from webcrawl.base.errors import CannotStart
from webcrawl.crawl.hive.hive_folder import HiveFolder
from webcrawl.tools.supervisor.member_changes import give_up, resize
from webcrawl.tools.supervisor.servers import HiveTarget

CLOSED = {"CLOSESPIDER_PAGECOUNT": 3}
SLOWLY = {"POLITENESS_MIN_DELAY": 2, "POLITENESS_MAX_DELAY": 4}


@pytest.fixture(name="server")
def _server(simweb):
    return simweb(8, 64)


@pytest.fixture(name="start")
def _start(tmp_path, server):
    """Starts a hive on a small web; its JOBDIR is `job`."""
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
    started = []

    def start(*words, **settings):
        values = {
            **SETTINGS,
            "DNS_NAMESERVERS": server.nameserver,
            "JOBDIR": tmp_path / "job",
            **settings,
        }
        options = [word for name, value in values.items() for word in ("-s", f"{name}={value}")]
        line = [
            "-m",
            "scrapy",
            "hive",
            "web",
            "-a",
            f"seeds={tmp_path}/seeds.txt",
            *options,
            *map(str, words),
        ]
        with default_signal(signal.SIGINT):
            started.append(
                subprocess.Popen(
                    [sys.executable, *line], cwd=ROOT, stderr=subprocess.PIPE, text=True
                )
            )
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            for log in sorted(tmp_path.glob("job/**/*.log")):  # of a hive that did not end
                sys.stderr.write(f"{log}:\n{log.read_text()[-2000:]}\n")
            process.kill()
            sys.stderr.write(process.communicate()[1])


def ended(process):
    """Its exit status and what it said."""
    said = process.communicate(timeout=PATIENCE)[1]
    return process.returncode, said


def crawled(jobdir):
    """How often each page is in the logs of all drones; what a drone is just writing is no line
    yet.
    """
    logs = [log.read_text().rpartition("\n")[0] for log in jobdir.glob("drone-*/logs/crawl.log")]
    urls = [line.split()[3] for log in logs for line in log.splitlines()]
    return Counter(url for url in urls if not url.endswith("/robots.txt"))


def pages(jobdir):
    return sum(crawled(jobdir).values())


def test_interrupted_and_to_the_end(start, tmp_path):
    """Two drones crawl the whole web together, each page once, and end by themselves with one
    summary.

    Ctrl-C, or a kill -9 of what watches the drones, and the same command once more change nothing
    of that. The last lines say so after Ctrl-C, and name the command for a report.
    """
    slow = {"POLITENESS_MIN_DELAY": 0.3}
    for most, number, words in [(15, signal.SIGINT, ("-n", 2)), (30, signal.SIGKILL, ())]:
        process = start(*words, CHECKPOINT_INTERVAL=1, **slow)
        wait_until(lambda: pages(tmp_path / "job") > most)  # noqa: B023 - it is called here
        os.kill(process.pid, number)
        status, said = ended(process)
        assert status == (0 if number == signal.SIGINT else -number), said
        assert ("stopped by a signal: run the same command to resume" in said) == (
            number == signal.SIGINT
        )

    status, said = ended(start(**slow))

    found = crawled(tmp_path / "job")
    assert status == 0, said
    assert (len(found), max(found.values())) == (64, 1)
    assert re.search(r" from 8 hosts; 0 URLs queued, 0 failures in all\n", said)
    assert re.search(r"report: \S+ report \S*/job\n", said)
    assert "run the same command" not in said
    assert all(
        (tmp_path / f"job/drone-{drone}/logs/crawl.log").stat().st_size for drone in range(2)
    )


@pytest.mark.parametrize(("live", "status"), [(False, 1), (True, 0)])
def test_seeds_that_give_nothing(start, server, tmp_path, live, status):
    """The drone that has such a seed says why, in words; the hive fails if no drone has got
    anything.
    """
    seeds = ["http://site0.tset/", *[next(iter(server.world.seeds()))] * live]
    (tmp_path / "seeds.txt").write_text("\n".join(seeds))

    left, said = ended(start("-n", 2))

    assert left == status, said
    assert re.search(r"drone \d: .*site0\.tset: no host of that name\n", said)
    assert ("nothing was fetched: " in said) == (not live)


@pytest.fixture(name="grows")
def _grows(start, server, tmp_path):
    """A hive of two drones that was told a moment ago to be three: their checkpoints have that."""
    job = tmp_path / "job"
    hive = start("-n", 2, CHECKPOINT_INTERVAL=3600, **SLOWLY)
    wait_until(lambda: server.log.count > 20)
    hive.send_signal(signal.SIGUSR1)
    wait_until(lambda: all((job / f"drone-{drone}/stats.json").exists() for drone in range(2)))
    with pytest.raises(KeyboardInterrupt):
        resize(HiveTarget(Settings(), str(job)), 3, interrupt)
    return hive


def interrupt(said):
    """Ctrl-C while `resize` waits for drones that have noted the change: it ends only the waiting."""
    if "not noted" not in said:
        raise KeyboardInterrupt


def server_of(job):
    """The process of the hive's own server."""
    with Redis.from_url((job / "server/url").read_text().strip()) as client:
        return client.info("server")["process_id"]


def grown(job, status, said):
    """Asserts that it crawled the whole web, and that the third drone has its share of it."""
    found = crawled(job)
    assert status == 0, said
    assert (len(found), max(found.values())) == (64, 1)
    assert HiveFolder(job).founding().drones == (0, 1, 2)
    assert json.loads((job / "drone-2/stats.json").read_text())["hive/slots"] > 1024 // 4


def test_all_killed_while_it_grows(grows, start, tmp_path):
    """A larger number of drones is in force at the next start."""
    kill_all(grows)

    grown(tmp_path / "job", *ended(start(**SLOWLY)))


def kill_all(hive):
    """As a power cut ends it: drones, server and what watches them."""
    children = Path(f"/proc/{hive.pid}/task/{hive.pid}/children").read_text().split()
    for process in (hive.pid, *map(int, children)):
        os.kill(process, signal.SIGKILL)
    ended(hive)


@pytest.mark.parametrize(
    "moment", ["when the change is complete", "while it gives away", "when it has ended"]
)
def test_all_killed_after_it_has_shrunk(start, server, tmp_path, moment):
    """The next start runs the drone that has left once more if a checkpoint still has it: the crawl
    would never end.
    """
    job = tmp_path / "job"
    hive = start("-n", 3, CHECKPOINT_INTERVAL=3600, **SLOWLY)
    wait_until(lambda: server.log.count > 20)
    hive.send_signal(signal.SIGUSR1)
    wait_until(lambda: all((job / f"drone-{drone}/stats.json").exists() for drone in range(3)))
    if moment == "when the change is complete":
        assert resize(HiveTarget(Settings(), str(job)), 2, str) == 0
    else:
        with pytest.raises(KeyboardInterrupt):
            resize(HiveTarget(Settings(), str(job)), 2, interrupt)
    if moment == "when it has ended":
        wait_until(lambda: HiveFolder(job).figures(2).get("reason") == "finished")
    kill_all(hive)

    status, said = ended(start(**SLOWLY))

    assert status == 0, said
    assert len(crawled(job)) == 64
    assert HiveFolder(job).founding().drones == (0, 1)


def test_its_server_killed_while_it_grows(grows, tmp_path):
    """A drone that is to come is let in by a server that was started again, too."""
    os.kill(server_of(tmp_path / "job"), signal.SIGKILL)

    grown(tmp_path / "job", *ended(grows))


def hive(*words):
    """A command to a hive: its exit status, what it answers, and what it refuses."""
    done = command("scrapy", "hive", *words)
    return done.returncode, done.stdout, done.stderr


def test_killed_while_it_shrinks(start, server, tmp_path):
    """When what watches the drones is killed in a shrink, `resize` says so and ends; the next start
    goes on with it.
    """
    job = tmp_path / "job"
    first = start("-n", 3, CHECKPOINT_INTERVAL=1, **SLOWLY)
    wait_until(lambda: server.log.count > 20)
    words = [sys.executable, "-m", "scrapy", "hive", "resize", str(job), "-n", "1"]
    with subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as resizing:
        assert resizing.stdout.readline().startswith("waiting for ")
        first.kill()
        _, said = resizing.communicate(timeout=30)
    ended(first)
    change = "the change to 1 drone is not complete"
    assert (
        said
        == f"{job}: the hive is not running, and {change}: start the hive again to complete it\n"
    )
    assert resizing.returncode == 1
    assert f"web: stopped: {change}, and continues at the next start; " in hive("status", job)[1]

    status, said = ended(start(**SLOWLY))

    found = crawled(job)
    assert status == 0, said
    assert (len(found), max(found.values())) == (64, 1)
    folder = HiveFolder(job)
    assert (folder.founding().drones, folder.is_changing(folder.read_checkpoints())) == (
        (0,),
        False,
    )
    assert "web: finished, 1 drone; " in hive("status", job)[1]
    assert hive("resize", job, "-n", 2)[2] == f"{job}: the hive has finished: start it first\n"
    assert command("scrapy", "verify", job).returncode == 0


@pytest.mark.parametrize("killed", [False, True])
def test_a_drone_that_is_given_up_while_nothing_runs(start, server, tmp_path, killed):
    """The next start runs the other drone, which takes over all hosts, also if all is killed once
    more before the map has changed.
    """
    job, slow = tmp_path / "job", {"POLITENESS_MIN_DELAY": 0.3}
    first = start("-n", 2, CHECKPOINT_INTERVAL=1, **slow)
    wait_until(lambda: server.log.count > 20)
    first.send_signal(signal.SIGINT)
    assert ended(first)[0] == 0
    shutil.rmtree(job / "drone-1")
    assert hive("adopt", job, "--drone", 1, "--lost", "--yes")[0] == 0
    if killed:
        again = start(CHECKPOINT_INTERVAL=3600, **slow)
        wait_until((job / "drone-0/control.sock").is_socket)
        kill_all(again)

    status, said = ended(start(**slow))

    assert status == 0, said
    assert "resumed by 1 drone" in said
    assert not (job / "drone-1").exists()
    assert (
        HiveFolder(job).read_checkpoints().map.drones == HiveFolder(job).founding().drones == (0,)
    )
    hosts = {url.split("/")[2] for url in crawled(job)}
    assert len(hosts) == 8
    assert command("scrapy", "verify", job).returncode == 0


def test_the_folder_of_another_crawl(start, server, tmp_path):
    """`adopt` with the JOBDIR of a single crawl is refused before any drone is told, and the hive
    keeps all drones.
    """
    single = Crawl(tmp_path / "single", {"seeds": tmp_path / "seeds.txt", "limit": 1}, CLOSED)
    single.settings["DNS_NAMESERVERS"] = server.nameserver
    assert single.run() == 0
    process = start("-n", 2, **SLOWLY)
    wait_until(lambda: server.log.count > 20)

    status, _, said = hive("adopt", tmp_path / "job", "--drone", 0, "--jobdir", single.jobdir)

    why = "holds a crawl that is not part of a hive, not drone 0 of the hive web"
    assert (status, said) == (1, f"--jobdir {single.jobdir}: {why}\n")
    assert ended(process)[0] == 0
    assert (len(crawled(tmp_path / "job")), HiveFolder(tmp_path / "job").founding().drones) == (
        64,
        (0, 1),
    )
    assert [
        json.loads((tmp_path / f"job/drone-{one}/stats.json").read_text())["hive/slots"]
        for one in (0, 1)
    ] == [8192] * 2


def test_a_hive_that_cannot_change(start, server, tmp_path):
    """With a Bloom filter, which has not a list of fingerprints to give, the number of drones stays, and the
    crawl goes on.
    """
    job = tmp_path / "job"
    hive = start(
        "-n", 2, SEEN_STORE="webcrawl.frontier.seen.bloom.BloomSeen", POLITENESS_MIN_DELAY=0.5
    )
    wait_until(lambda: server.log.count > 20)
    for change in (partial(resize, wanted=3), partial(give_up, drone=1)):
        with pytest.raises(
            CannotStart,
            match=r"cannot be resized: a webcrawl\.frontier\.seen\.bloom\.BloomSeen cannot hand over",
        ):
            change(HiveTarget(Settings(), str(job)), say=interrupt)

    status, said = ended(hive)

    assert status == 0, said
    assert (len(crawled(job)), max(crawled(job).values())) == (64, 1)
    assert HiveFolder(job).founding().drones == (0, 1)
