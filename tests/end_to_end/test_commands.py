"""Commands to a crawl that runs, and what of them lasts."""

import time

import pytest

from tests.support.commanding import Console
from tests.support.crawling import Crawl, wait_until

FAST = {
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0.02,
    "CONCURRENT_REQUESTS": 4,
    "CHECKPOINT_INTERVAL": 3600,
}


@pytest.fixture(name="console")
def _console(tmp_path):
    return Console(tmp_path / "job")


def crawl_of(tmp_path, server, seeds=None, **settings):
    chosen = server.world.seeds() if seeds is None else seeds
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in chosen))
    own = {"DNS_NAMESERVERS": server.nameserver, **FAST}
    return Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, {**own, **settings})


def requested(server):
    return [hit.url for hit in server.log.hits if not hit.url.endswith("/robots.txt")]


def said(crawl):
    return crawl.output.read_text()


def kill(running):
    running.kill()


def host_of(url):
    return url.split("/")[2]


class TestPause:
    def test_until_resumed(self, tmp_path, simweb, console):
        """A paused crawl asks nobody and does not end, after kill -9 too; resumed, it fetches each
        page once.
        """
        server = simweb(4, 80, latency=0.02)
        crawl = crawl_of(tmp_path, server)

        running = crawl.start()
        wait_until(lambda: len(requested(server)) > 10)
        assert console("pause").startswith("paused until")
        assert console("pause") == "the crawl is already paused"
        wait_until(lambda: console("status")["in_flight"] == 0)
        half = len(requested(server))
        kill(running)

        running = crawl.start()
        assert console("status")["in_force"] == ["pause"]
        assert console("status")["trouble"] == "paused"
        time.sleep(0.5)
        assert (len(requested(server)), running.process.is_alive()) == (half, True)
        assert "still in force by command: pause" in said(crawl)
        assert console("resume") == "resumed"
        assert running.wait() == 0

        assert half < 80
        assert sorted(requested(server)) == sorted(set(requested(server)))
        assert (len(requested(server)), crawl.stats["reason"]) == (80, "finished")

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
        """A domain that is excluded is requested no more, in the next run neither, until it is
        included.
        """
        server = simweb(3, 90, latency=0.02)
        crawl = crawl_of(tmp_path, server, CHECKPOINT_INTERVAL=0.2)
        names = [host_of(url) for url in server.world.seeds()]
        out = names[0].partition(":")[0]

        running = crawl.start()
        wait_until(lambda: len(requested(server)) > 6)
        assert console(f"exclude {out}") == f"{out} is excluded"
        assert console(f"exclude {out}") == f"{out} is already excluded"
        time.sleep(0.2)  # what was in flight
        before = len([url for url in requested(server) if host_of(url).startswith(out)])
        running.interrupt()
        running.wait()
        running = crawl.start()
        assert console("status")["in_force"] == [f"exclude {out}"]
        assert console("include example.com").startswith(
            "refused: example.com is not excluded by command"
        )
        assert running.wait() == 0

        after = [url for url in requested(server) if host_of(url).startswith(out)]
        assert (len(after), before < 30) == (before, True)
        assert crawl.stats["frontier/dropped/-5001"] + crawl.stats.get("refused/commanded", 0) > 0
