"""What engines such as Kubernetes, Slurm and systemd need of a process: statuses, probes, a log."""

import json
import logging
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.support.commands import command
from tests.support.crawling import QUICK, Crawl, wait_until
from tests.support.hive_server import stream_server
from tests.support.hives import Hive
from tests.support.plain_site import serving
from tests.support.ports import free_port
from webcrawl.adapter.json_log import JsonFormatter


def crawl_of(tmp_path, site, **settings):
    (tmp_path / "seeds.txt").write_text(f"{site}/a\n")
    return Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, {**QUICK, **settings})


class TestStatus:
    def test_a_crawl_that_is_finished(self, tmp_path):
        """Its status is 0, whatever STOPPED_STATUS is; the next start, with nothing left, too."""
        with serving() as site:
            crawl = crawl_of(tmp_path, site, STOPPED_STATUS=75)
            assert crawl.run() == 0
            assert crawl.run() == 0

    def test_a_limit(self, tmp_path, simweb):
        """A run that a limit has stopped has STOPPED_STATUS."""
        server = simweb(2, 10)
        (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
        arguments = {"seeds": tmp_path / "seeds.txt"}
        settings = {**QUICK, "DNS_NAMESERVERS": server.nameserver, "CLOSESPIDER_PAGECOUNT": 3}

        assert Crawl(tmp_path / "job", arguments, settings).run(STOPPED_STATUS=75) == 75
        assert Crawl(tmp_path / "other", arguments, settings).run() == 0

    def test_a_signal(self, tmp_path, simweb):
        """So has a run that a signal has stopped; a failure keeps its own."""
        server = simweb(2, 200)
        (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
        settings = {"DNS_NAMESERVERS": server.nameserver, "STOPPED_STATUS": 75}
        crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)

        running = crawl.start()
        wait_until(lambda: "Spider opened" in said(crawl))
        running.interrupt()
        assert running.wait() == 75
        assert crawl.run(POLITENESS_FACTOR="none at all") == 1


def test_without_the_library_of_the_probes(tmp_path):
    """A crawl that wants none of this ends with status 0 where prometheus_client is missing."""
    with serving() as site:
        words = crawl_of(tmp_path, site).words()
        done = command("tests.support.without", "prometheus_client", *words)
    assert done.returncode == 0, done.stderr


class TestJson:
    def test_every_line_is_an_object(self, tmp_path):
        """From Scrapy's first lines on."""
        with serving() as site:
            crawl = crawl_of(tmp_path, site, LOG_FORMAT="json", LOG_LEVEL="DEBUG")
            crawl.run(LOG_FILE=tmp_path / "log")

        lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
        assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)
        assert any(line["message"] == "Spider opened" for line in lines)

    def test_a_traceback(self):
        """It is a member of its line."""
        error = ValueError("a\nb")
        told = (ValueError, error, None)
        record = logging.LogRecord("x", logging.ERROR, "", 1, "%s failed", ("it",), told)
        line = json.loads(JsonFormatter().format(record))
        assert line["message"] == "it failed"
        assert line["traceback"].endswith("ValueError: a\nb")

    def test_credentials(self, tmp_path):
        """They are left out of JSON lines as of others."""
        with serving() as site:
            crawl = crawl_of(tmp_path, site.replace("://", "://user:hidden@"), LOG_FORMAT="json")
            crawl.run(LOG_FILE=tmp_path / "log")
        assert "hidden" not in (tmp_path / "log").read_text()


@pytest.fixture(name="server")
def _server(tmp_path):
    with stream_server(tmp_path / "redis") as server:
        yield server


class TestWaiting:
    def test_a_drone_whose_crawl_is_finished(self, tmp_path, server):
        """It lives, is not ready, and ends with status 0 by a signal; started again, it waits again."""
        with serving() as site:
            settings = {**QUICK, "HIVE_WHEN_DONE": "wait", "METRICS_PORT": free_port()}
            hive = Hive(
                tmp_path / "hive",
                None,
                server.url,
                drones=1,
                settings=settings,
                seeds=[f"{site}/a"],
            )
            for _ in range(2):
                running = hive.start(0)
                wait_until(lambda: probe(settings, "readyz") == (503, b"finished\n"), pause=0.1)
                assert probe(settings, "healthz") == (200, b"200 OK\n")
                running.interrupt()
                assert running.wait() == 0
        assert hive.crawls[0].stats["reason"] == "finished"

    def test_a_crawl_of_its_own(self, tmp_path):
        """Only drones wait."""
        with serving() as site:
            assert crawl_of(tmp_path, site, HIVE_WHEN_DONE="wait").run() == 0


def said(crawl):
    return crawl.output.read_text() if crawl.output.exists() else ""


def probe(settings, path):
    try:
        with urlopen(f"http://127.0.0.1:{settings['METRICS_PORT']}/{path}") as answer:
            return answer.status, answer.read()
    except HTTPError as error:
        with error:
            return error.code, error.read()
    except OSError:
        return None
