"""A drone that does not fit its hive, or cannot work with its server, says so in one line; the hive
loses nothing.
"""

import re
from functools import partial

import pytest

from tests.support.commands import command
from tests.support.crawling import Crawl, wait_until
from tests.support.hive_server import stream_server
from tests.support.hives import NAME, Hive, assert_whole
from tests.support.old_redis import old_redis

SIZE = (2000, 3000)
SETTLED = re.compile(r" (INFO|DEBUG): ")
GARBAGE = [
    {"data": b"\xff" * 100},
    {"": "", "\0": "\0" * 10_000},
    {"d": b""},
    {"d": b"WCHV" + b"\xff" * 100},
]


@pytest.fixture(name="web")
def _web(simweb):
    return simweb(12, 120, size=SIZE, latency=0.02)


@pytest.fixture(name="hive")
def _hive(tmp_path, redis, web):
    hive = Hive(tmp_path / "hive", web, redis.url)
    yield hive
    hive.end()


def refusal(crawl, **settings):
    """The one line, beyond what is logged of every start, with which a drone refuses to start."""
    assert crawl.run(**settings) == 1
    (line,) = (line for line in crawl.output.read_text().splitlines() if not SETTLED.search(line))
    return line


def other(hive, drone, folder="other", **settings):
    """A drone of another folder."""
    model = hive.crawls[drone]
    return Crawl(hive.folder / folder, model.arguments, {**model.settings, **settings})


STRANGERS = [  # a drone's number, what it is told otherwise, and what the line names
    (1, {}, ["drone 1", "drone-1"]),  # the number of a drone belongs to its folder
    (2, {"HIVE_DRONES": 4}, ["HIVE_DRONES", "3", "4"]),
    (2, {"HIVE_PARTITION": "host"}, ["HIVE_PARTITION", "domain", "host"]),
]


def test_drones_that_do_not_fit(hive, web):
    """While a hive runs they are refused, each by a line that names what is different; so they are
    when it has ended.

    The hive finishes as if nothing had been. A folder that was one drone cannot go on as another.
    """
    for drone in (0, 1):  # without the third it cannot end, however long the strangers take
        hive.start(drone)
    wait_until(lambda: web.log.count > 20)
    for number, (drone, settings, named) in enumerate(STRANGERS):
        line = refusal(other(hive, drone, f"other-{number}", **settings))
        assert [word for word in named if word not in line] == []
    assert all(running.process.is_alive() for running in hive.running.values())
    hive.start(2)

    assert hive.wait() == [0, 0, 0]
    assert "drone 1" in refusal(other(hive, 1))
    line = refusal(hive.crawls[1], HIVE_DRONE=2)
    assert "belongs to drone 1" in line
    assert "not to drone 2 of test" in line
    assert_whole(hive, hive.hits())


def test_a_hive_that_fetches_nothing(redis, tmp_path):
    """It fails, and so does its next start; the way to begin anew is named. A drone that is told
    to start over keeps its folder, as the server knows its state.
    """
    seeds = [f"http://127.0.2.{number}:9/" for number in range(1, 5)]
    given = {"PRIVATE_NETWORKS_ALLOWED": "127.0.1.0/24", "HIVE_PARTITION": "host"}
    hive = Hive(tmp_path / "hive", None, redis.url, settings=given, seeds=seeds)
    for _ in range(2):
        assert hive.start_all().wait() == [1, 1, 1]
        assert hive.reasons == ["finished"] * 3
    for drone in range(3):
        line = "ERROR: no drone of the hive has fetched a page; to begin the hive anew, "
        assert hive.said(drone).count(line) == 2

    words = hive.crawls[0].words(USER_AGENT="webcrawl/1 (drone 0)")
    done = command("scrapy", *words[1:], "--fresh")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--fresh: drone 0 belongs to the hive test, which its server knows" in done.stderr
    assert not (tmp_path / "hive/drone-0.1").exists()

    anew = Hive(tmp_path / "anew", None, redis.url, settings=given, seeds=seeds)
    assert anew.start_all(HIVE_NAME="anew").wait() == [1, 1, 1]
    assert "belongs to" not in anew.said(0)


class TestServer:
    def test_wrong_password(self, hive, tmp_path):
        """A wrong password is one line, without the password."""
        with stream_server(tmp_path / "shut", password="right") as shut:  # noqa: S106 - a test's
            url = shut.url.replace("redis://", "redis://:wrong@")
            line = refusal(hive.crawls[0], REDIS_URL=url)

        assert "password" in line
        assert "wrong@" not in line

    def test_password_from_a_file(self, simweb, tmp_path):
        """With the password in a file the hive works."""
        (tmp_path / "password").write_text("right\n")
        with stream_server(tmp_path / "shut", password="right") as shut:  # noqa: S106 - a test's
            hive = Hive(
                tmp_path / "hive",
                simweb(4, 20, size=SIZE),
                shut.url.replace(":right@", ""),
                drones=1,
            )
            hive.start_all(REDIS_URL=shut.url, REDIS_PASSWORD_FILE=tmp_path / "password")
            assert hive.wait() == [0]

        assert_whole(hive, hive.hits())
        assert "right" not in hive.said(0)

    def test_an_old_redis(self, hive):
        """A server without what streams need is refused by its version."""
        with old_redis() as url:
            line = refusal(hive.crawls[0], REDIS_URL=url)

        assert "5.0.14" in line

    def test_one_that_evicts(self, hive, tmp_path):
        """A server that throws keys away when it is full is refused."""
        policy = ("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
        with stream_server(tmp_path / "evicting", *policy) as evicting:
            line = refusal(hive.crawls[0], REDIS_URL=evicting.url)

        assert "allkeys-lru" in line

    def test_a_full_one(self, hive, web, redis):
        """While the server takes nothing more drones go on with their own hosts; then they catch
        up.
        """
        hive.start_all()
        wait_until(lambda: web.log.count > 30)
        with redis.client() as client:
            client.config_set("maxmemory", 1)
            before = web.log.count
            wait_until(
                lambda: web.log.count > before + 5 and any(map(partial(_says, hive), range(3)))
            )
            client.config_set("maxmemory", 0)

        assert hive.wait() == [0, 0, 0]
        assert_whole(hive, hive.hits())


def _says(hive, drone):
    return re.search(r"WARNING: .*(full|memory)", hive.said(drone)) is not None


class TestStreams:
    def test_foreign_messages(self, hive, web, redis):
        """What others put into a drone's stream is counted, told in the log, and skipped."""
        hive.start_all()
        wait_until(lambda: web.log.count > 30)
        with redis.client() as client:
            streams = [
                key for key in client.scan_iter("webcrawl:*") if client.type(key) == b"stream"
            ]
            assert streams
            for key in streams:
                for fields in GARBAGE:
                    client.xadd(key, fields)

        assert hive.wait() == [0, 0, 0]
        assert_whole(hive, hive.hits())
        assert any("in this drone's stream was ignored" in hive.said(drone) for drone in range(3))

    def test_another_hive_in_the_same_server(self, hive, simweb, redis, tmp_path):
        """Two hives of different names share a server, and know nothing of each other."""
        second = Hive(tmp_path / "second", simweb(6, 40, size=SIZE), redis.url, drones=2)
        hive.start_all()
        second.start_all(HIVE_NAME=f"{NAME}2")

        assert hive.wait() == [0, 0, 0]
        assert second.wait() == [0, 0]
        assert_whole(hive, hive.hits())
        assert_whole(second, second.hits())
