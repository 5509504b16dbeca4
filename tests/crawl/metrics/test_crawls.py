"""A crawl that Prometheus watches."""

import asyncio
import json
import socket
import urllib.error
import urllib.request
from contextlib import closing, suppress
from types import SimpleNamespace

import pytest

from tests.crawl.metrics.figures import read
from tests.support.commands import command
from tests.support.crawling import Crawl, wait_until
from tests.support.ports import free_port
from tests.support.waiting import eventually
from webcrawl.crawl import metrics, metrics_serving
from webcrawl.crawl.checks import SettingError, check
from webcrawl.crawl.metrics_serving import MetricsServing

FAST = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0.05, "CHECKPOINT_INTERVAL": 0.3}


def crawl_of(tmp_path, server, **settings):
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, **FAST, **settings}
    return Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)


def serving(monkeypatch, jobdir, file):
    """Metrics of a crawl with nothing to tell but `figures`, and a list of its tellings."""
    told = []
    collector = SimpleNamespace(text=lambda: told.append(1) or b"figures")
    monkeypatch.setattr(metrics, "CrawlCollector", lambda *_: collector)
    values = {"JOBDIR": jobdir, "METRICS_PORT": None, "METRICS_FILE": file, "HIVE_DRONES": 0}
    run = SimpleNamespace(crawl=SimpleNamespace(followers=set()))
    return MetricsServing(values, run, "", {}, dict, bool), told


class Scraper:
    """Asks as Prometheus does, and keeps what it heard last."""

    def __init__(self, port):
        self._url = f"http://127.0.0.1:{port}/metrics"
        self.found = {}

    def has(self, pages):
        with (
            suppress(urllib.error.URLError, ConnectionError),
            urllib.request.urlopen(self._url, timeout=10) as answer,  # noqa: S310
        ):
            self.found = {key[0]: value for key, value in read(answer.read()).items()}
            return self.found["webcrawl_pages_total"] >= pages
        return False


class TestPort:
    @pytest.mark.campaign
    def test_counters_go_on_after_a_kill(self, tmp_path, simweb):
        """A crawl that is killed and resumed tells no smaller counters than before."""
        port = free_port()
        crawl = crawl_of(tmp_path, simweb(20, 3000), METRICS_PORT=port)
        scraper = Scraper(port)
        running = crawl.start()
        wait_until(lambda: scraper.has(100), pause=0.2)
        running.kill()
        before = scraper.found
        running = crawl.start()
        wait_until(lambda: scraper.has(0), pause=0.05)
        after = scraper.found
        running.interrupt()

        assert running.wait() == 0
        counters = [
            name
            for name in before
            if name.endswith(("_total", "_bucket")) and "_process_" not in name
        ]
        assert len(counters) > 20
        assert {name: before[name] for name in counters if after[name] < before[name]} == {}
        assert "webcrawl_checkpoint_timestamp_seconds" in after

    def test_a_port_in_use(self, tmp_path, simweb):
        """The crawl does not start, in one line, before it has made anything but its folder's
        state.
        """
        with closing(socket.create_server(("127.0.0.1", 0))) as taken:
            port = taken.getsockname()[1]
            crawl = crawl_of(tmp_path, simweb(1, 3), METRICS_PORT=port)
            status = crawl.run()

        line = f"METRICS_PORT: cannot listen on 127.0.0.1, port {port}: Address already in use\n"
        assert (status, crawl.output.read_text()) == (1, line)
        assert not (tmp_path / "job/warc").exists()

    def test_of_archives(self, tmp_path):
        """So it is with `scrapy process`, before an archive is read."""
        archive = tmp_path / "one.warc.gz"
        archive.write_bytes(b"")
        with closing(socket.create_server(("127.0.0.1", 0))) as taken:
            port = taken.getsockname()[1]
            words = [
                "process",
                str(archive),
                "-s",
                f"JOBDIR={tmp_path / 'job'}",
                "-s",
                f"METRICS_PORT={port}",
            ]
            done = command("webcrawl", *words, cwd=tmp_path)

        assert done.returncode == 1
        assert (
            done.stderr
            == f"METRICS_PORT: cannot listen on 127.0.0.1, port {port}: Address already in use\n"
        )

    def test_any_port_that_is_free(self, tmp_path, simweb):
        """The file in JOBDIR says which it is, as long as the crawl runs; so drones of one machine
        need no number.
        """
        crawl, place = (
            crawl_of(tmp_path, simweb(20, 3000), METRICS_PORT=0),
            tmp_path / "job/metrics.url",
        )
        running = crawl.start()
        wait_until(place.exists)
        answers = {}
        for path in ("metrics", "healthz", "readyz"):
            with urllib.request.urlopen(  # noqa: S310
                f"{place.read_text().strip()}/{path}", timeout=60
            ) as answer:
                answers[path] = answer.read()
        running.interrupt()

        assert running.wait() == 0
        assert b"webcrawl_pages_total" in answers.pop("metrics")
        assert answers == {"healthz": b"200 OK\n", "readyz": b"200 OK\n"}
        assert not place.exists()

    def test_a_drones_port(self):
        """It is the same for each: on a machine of its own nobody else has it."""
        assert check({"METRICS_PORT": 65_535, "HIVE_DRONES": 2, "HIVE_DRONE": 1})[
            "METRICS_PORT"
        ] == (
            "127.0.0.1",
            65_535,
        )

    @pytest.mark.parametrize("port", [-1, 65_536, "http", 1.5, True])
    def test_no_port(self, port):
        """What is no port is refused."""
        with pytest.raises(SettingError, match="must be a port from 1 to 65535"):
            check({"METRICS_PORT": port})


class TestFile:
    def test_while_it_runs(self, tmp_path, simweb):
        """The file is there as long as the crawl runs, whole at any time, and gone afterwards."""
        path = tmp_path / "webcrawl.prom"
        crawl = crawl_of(tmp_path, simweb(20, 3000), METRICS_FILE=path)
        running = crawl.start()
        wait_until(path.exists)
        found = read(path.read_bytes())
        running.interrupt()

        assert running.wait() == 0
        assert ("webcrawl_pages_total",) in found
        assert list(tmp_path.glob("webcrawl.prom*")) == []

    def test_a_folder_that_goes_away(self, tmp_path, simweb):
        """Where the file cannot be written the log says so once, and the crawl goes on."""
        (tmp_path / "there").mkdir()
        crawl = crawl_of(
            tmp_path,
            simweb(2, 20),
            METRICS_FILE=tmp_path / "there/webcrawl.prom",
            EXTENSIONS='{"tests.crawl.metrics.removing.Removing": 1}',
        )

        assert crawl.run() == 0
        assert crawl.output.read_text().count("webcrawl.prom cannot be written: ") == 1
        assert crawl.stats["reason"] == "finished"

    def test_a_folder_that_comes_back(self, tmp_path, caplog, monkeypatch):
        """It is said once that the file is not written, and once that it is again."""
        monkeypatch.setattr(metrics_serving, "INTERVAL", 0.001)
        metrics, written = serving(monkeypatch, tmp_path, tmp_path / "a/crawl.prom")

        async def run():
            metrics.begin()
            await eventually(lambda: len(written) > 2)
            (tmp_path / "a").mkdir()
            before = len(written)
            await eventually(lambda: len(written) > before + 2)
            metrics.end()

        with caplog.at_level("INFO"):
            asyncio.run(run())

        away, again = caplog.messages
        assert "crawl.prom cannot be written: " in away
        assert again == f"metrics: {tmp_path}/a/crawl.prom can be written again"

    @pytest.mark.parametrize("name", ["webcrawl.txt", "missing/webcrawl.prom", "webcrawl.prom\0"])
    def test_no_such_file(self, tmp_path, name):
        """A file that nobody would read, or that cannot be made, is refused."""
        with pytest.raises(SettingError, match="METRICS_FILE = "):
            check({"METRICS_FILE": str(tmp_path / name)})


@pytest.mark.parametrize("setting", ["METRICS_PORT=9180", "METRICS_FILE=webcrawl.prom"])
def test_without_the_library(tmp_path, setting):
    """The line says what to install."""
    words = [
        "prometheus_client",
        "scrapy",
        "crawl",
        "web",
        "-a",
        "seeds=http://a.test/",
        "-s",
        setting,
    ]
    words += ["-s", f"JOBDIR={tmp_path / 'job'}"]
    done = command("tests.support.without", *words)

    assert done.returncode == 1
    assert done.stderr.endswith(
        "(prometheus_client is not installed: pip install 'prometheus_client>=0.22,<1')\n"
    )
    assert done.stderr.count("\n") == 1


def test_metrics_json_is_no_damage(tmp_path, simweb):
    """What was told lies beside the crawl's files, and `verify` does not mind it."""
    crawl = crawl_of(tmp_path, simweb(2, 20), METRICS_FILE=tmp_path / "webcrawl.prom")

    assert crawl.run() == 0
    assert "webcrawl_pages_total" in "".join(
        json.loads((tmp_path / "job/metrics.json").read_text())
    )
    assert "no damage found" in command("scrapy.cmdline", "verify", tmp_path / "job").stdout


def test_the_file_follows_no_link(tmp_path, monkeypatch):
    """What somebody's link in the place of the temporary file leads to stays as it is."""
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / "crawl.prom.new").symlink_to(tmp_path / "precious")
    metrics, _ = serving(monkeypatch, tmp_path, tmp_path / "crawl.prom")

    async def run():
        metrics.begin()
        return (tmp_path / "crawl.prom").read_bytes()

    assert asyncio.run(run()) == b"figures"
    assert (tmp_path / "precious").read_bytes() == b"precious"
