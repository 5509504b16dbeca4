"""A crawl that waits for a server which has gone says for which one, and since when.

The server of a hive, or of Redis seeds, was stopped under a crawl with nothing else to do. Progress
lines, `ctl status` and the last lines said "bound by nothing to fetch; what helps: more seeds".
"""

import json
import re

import pytest

from tests.support.commands import command
from tests.support.crawling import QUICK, Crawl, wait_until
from tests.support.hive_server import stream_server
from tests.support.hives import Hive
from tests.support.plain_site import serving

HIVES, SEEDS = "the hive's server", "the seed server"


@pytest.fixture(name="server")
def _server(tmp_path):
    with stream_server(tmp_path / "redis") as server:
        yield server


def status(crawl):
    return command("webcrawl", "ctl", crawl.jobdir, "status").stdout


def said(crawl):
    return crawl.output.read_text() if crawl.output.exists() else ""


def waits_for(name):
    return re.compile(rf"waits for {name}, which has not answered since \d\d:\d\d:\d\d")


def check_while_it_is_away(crawl, name):
    """The server has just been stopped, and the crawl has nothing else to do."""
    words = waits_for(name)
    wait_until(lambda: words.search(status(crawl)), pause=0.5)
    wait_until(lambda: re.search(rf"progress\] INFO: {words.pattern}, ", said(crawl)))
    wait_until(lambda: "bound by a server that does not answer" in status(crawl), pause=1)
    answer = json.loads(command("webcrawl", "ctl", crawl.jobdir, "status", "--json").stdout)
    assert words.match(answer["waits"])
    assert "more seeds" not in answer["bound"]


def check_last_lines(crawl, name):
    last = said(crawl).rpartition("Closing spider")[2]
    line = rf"{waits_for(name).pattern}: restart it, then run the same command to resume"
    assert re.search(line, last), last
    assert "bound by a server that does not answer" in last
    assert f"({name}); what helps: that server: restart it" in last


def test_the_server_of_the_seeds(tmp_path, server):
    """While it is away all three say so, and once it is back none does."""
    with serving() as site:
        settings = {
            **QUICK,
            "REDIS_URL": server.url,
            "OUTPUTS": "warc",
            "MAX_IDLE_TIME_BEFORE_CLOSE": 0,
        }
        crawl = Crawl(tmp_path / "job", {}, settings)
        running = crawl.start()
        with server.client() as client:
            client.lpush("web:start_urls", f"{site}/a")
        wait_until(lambda: "/a" in log_of(crawl))
        server.kill()
        check_while_it_is_away(crawl, SEEDS)

        server.restart()
        wait_until(lambda: "the seed server is back" in said(crawl))
        assert "waits for" not in status(crawl)
        server.kill()
        wait_until(lambda: "waits for" in status(crawl), pause=0.5)
        running.interrupt()
        assert running.wait() == 0

    check_last_lines(crawl, SEEDS)


def test_the_server_of_a_hive(tmp_path, server):
    """A drone says so in the same words."""
    with serving() as site:
        # it is not cut off before it has said what it waits for
        settings = {**QUICK, "HIVE_FENCE": 3600}
        hive = Hive(
            tmp_path / "hive", None, server.url, drones=2, settings=settings, seeds=[f"{site}/a"]
        )
        crawl = hive.crawls[0]
        running = hive.start(0)  # the other one never comes, so the crawl does not end
        wait_until(lambda: "/a" in log_of(crawl) or "Spider opened" in said(crawl))
        wait_until(lambda: crawl.jobdir.joinpath("control.sock").exists())
        server.kill()
        check_while_it_is_away(crawl, HIVES)
        running.interrupt()
        assert running.wait() == 0

    check_last_lines(crawl, HIVES)


def log_of(crawl):
    path = crawl.jobdir / "logs/crawl.log"
    return path.read_text() if path.exists() else ""
