"""Commands to a crawl that runs, and what of them lasts."""

import time

import pytest

from tests.support.commanding import Console
from tests.support.crawling import Crawl, wait_until

FAST = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0.02, "CONCURRENT_REQUESTS": 4, "CHECKPOINT_INTERVAL": 3600}


@pytest.fixture(name="console")
def _console(tmp_path):
    return Console(tmp_path / "job")


def crawl_of(tmp_path, server, seeds=None, **settings):
    chosen = server.world.seeds() if seeds is None else seeds
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in chosen))
    own = {"DNS_NAMESERVERS": server.nameserver, **FAST}
    return Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, {**own, **settings})


def asked(server):
    return [hit.url for hit in server.log.hits if not hit.url.endswith("/robots.txt")]


def said(crawl):
    return crawl.output.read_text()


def kill(running):
    running.kill()


def host_of(url):
    return url.split("/")[2]


class TestPause:
    def test_until_resumed(self, tmp_path, simweb, console):
        """A paused crawl asks nobody and does not end, after kill -9 too; resumed, it fetches each page once."""
        server = simweb(4, 80, latency=0.02)
        crawl = crawl_of(tmp_path, server)

        running = crawl.start()
        wait_until(lambda: len(asked(server)) > 10)
        assert console("pause").startswith("paused,")
        assert console("pause") == "it is paused already"
        wait_until(lambda: console("status")["in_flight"] == 0)
        half = len(asked(server))
        kill(running)

        running = crawl.start()
        assert console("status")["in_force"] == ["pause"]
        assert console("status")["trouble"] == "paused"
        time.sleep(0.5)
        assert (len(asked(server)), running.process.is_alive()) == (half, True)
        assert "still in force by command: pause" in said(crawl)
        assert console("resume") == "resumed"
        assert running.wait() == 0

        assert half < 80
        assert sorted(asked(server)) == sorted(set(asked(server)))
        assert (len(asked(server)), crawl.stats["reason"]) == (80, "finished")

    def test_stopped_while_paused(self, tmp_path, simweb, console):
        """A paused crawl can be stopped, by command or by a signal, and stays paused."""
        crawl = crawl_of(tmp_path, simweb(2, 40, latency=0.02))

        running = crawl.start()
        console("pause")
        assert console("stop").startswith("stopping")
        first, reason = running.wait(), crawl.stats["reason"]
        running = crawl.start()
        assert console("resume") == "resumed"

        assert (first, reason, running.wait(), crawl.stats["pages"]) == (0, "stopped", 0, 40)


class TestExclude:
    def test_queued_urls_too(self, tmp_path, simweb, console):
        """A domain that is excluded is asked no more, in the next run neither, until it is included."""
        server = simweb(3, 90, latency=0.02)
        crawl = crawl_of(tmp_path, server, CHECKPOINT_INTERVAL=0.2)
        names = [host_of(url) for url in server.world.seeds()]
        out = names[0].partition(":")[0]

        running = crawl.start()
        wait_until(lambda: len(asked(server)) > 6)
        assert console(f"exclude {out}") == f"{out} is excluded"
        assert console(f"exclude {out}") == f"{out} is excluded already"
        time.sleep(0.2)  # what was in flight
        before = len([url for url in asked(server) if host_of(url).startswith(out)])
        running.interrupt()
        running.wait()
        running = crawl.start()
        assert console("status")["in_force"] == [f"exclude {out}"]
        assert console("include example.com").startswith("refused: example.com is not excluded by command")
        assert running.wait() == 0

        after = [url for url in asked(server) if host_of(url).startswith(out)]
        assert (len(after), before < 30) == (before, True)
        assert crawl.stats["frontier/dropped/-5001"] + crawl.stats.get("refused/commanded", 0) > 0


class TestSeeds:
    def test_more_of_them(self, tmp_path, simweb, console):
        """Seeds that come by command are crawled, although the crawl is killed before they are read."""
        server = simweb(4, 40, latency=0.05)
        first, *others = server.world.seeds()
        crawl = crawl_of(tmp_path, server, [first])
        (tmp_path / "more.txt").write_text("".join(f"{url}\n" for url in others))

        running = crawl.start()
        console("pause")
        assert console(f"seeds {tmp_path}/more.txt") == f"seeds will be read from {tmp_path}/more.txt"
        assert console("seeds nowhere.txt").startswith("refused: nowhere.txt")
        kill(running)
        running = crawl.start()
        console("resume")

        assert running.wait() == 0
        assert set(server.world.seeds()) <= set(asked(server))
        assert crawl.stats["seeds"] == 4


class TestSet:
    def test_in_force_at_once_and_later(self, tmp_path, simweb, console):
        """A setting has its new value at once, and after a restart; the command line goes before it, and says so."""
        server = simweb(1, 200)
        crawl = crawl_of(tmp_path, server, POLITENESS_MIN_DELAY=0.05)

        running = crawl.start()
        wait_until(lambda: len(asked(server)) > 5)
        assert console("set POLITENESS_MAX_DELAY 100") == "POLITENESS_MAX_DELAY is 100.0"
        assert console("set POLITENESS_MIN_DELAY 90") == "POLITENESS_MIN_DELAY is 90.0"
        time.sleep(0.3)  # the wait that had begun
        before = len(asked(server))
        time.sleep(0.3)
        assert len(asked(server)) == before
        running.interrupt()
        running.wait()

        crawl.settings.pop("POLITENESS_MIN_DELAY")
        again = crawl.start(POLITENESS_MIN_DELAY=0.01)
        assert console("status")["in_force"] == []
        again.interrupt()
        again.wait()
        assert "POLITENESS_MIN_DELAY = 0.01 of the command line goes before 90.0 by command" in said(crawl)

    def test_an_impossible_change_of_a_setting_is_refused_in_one_line(self, tmp_path, simweb, console):
        """What cannot change, is no setting, or has an impossible value, is refused in one line."""
        crawl = crawl_of(tmp_path, simweb(1, 40, latency=0.05))

        running = crawl.start()
        console("pause")  # it must not end before all is said
        answers = [
            console(line)
            for line in ("set SEEN_MEMORY 5", "set NONSENSE 1", "set POLITENESS_FACTOR x", "set POLITENESS_MIN_DELAY 9")
        ]
        level = console("set LOG_LEVEL WARNING"), console("set LOG_LEVEL LOUD")
        interval = console("set CHECKPOINT_INTERVAL 7200")
        running.interrupt()
        running.wait()

        assert [answer.split(":")[1].strip() for answer in answers] == [
            "SEEN_MEMORY cannot change while the crawl runs, only in a resumed one; get says which can",
            "NONSENSE is no setting of the crawl; get lists all, and which may change",
            "POLITENESS_FACTOR = 'x'",
            "POLITENESS_MIN_DELAY = 9.0",
        ]
        assert level[0] == "LOG_LEVEL is WARNING"
        assert level[1].startswith("refused: LOG_LEVEL = 'LOUD': must be")
        assert interval == "CHECKPOINT_INTERVAL is 7200.0"
