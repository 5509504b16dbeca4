"""What a crawl reports while it runs, and how it ends after an internal error."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import suppress
from types import SimpleNamespace

import pytest
from warcio import ArchiveIterator

from tests.support.crawling import SETTINGS, Crawl, wait_until
from tests.support.places import ROOT
from webcrawl import settings as defaults
from webcrawl.adapter.extensions.disk_space import DiskSpace
from webcrawl.base.readable import count
from webcrawl.crawl import disk_space
from webcrawl.lab.simweb.mix import GROUPS, even
from webcrawl.lab.simweb.name_server import DNS_KINDS

FAST = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0}
FAILING = '{"tests.support.cli_components.Failing": 1000}'


def crawl_of(tmp_path, server, **settings):
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, **FAST, **settings}
    return Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)


class TestErrors:
    def test_a_failing_pipeline_is_told_and_the_crawl_goes_on(self, tmp_path, simweb):
        """A bug in a pipeline is logged to errors.log with its traceback, once per page, without
        the page's body.
        """
        server = simweb(2, 10)
        crawl = crawl_of(tmp_path, server, ITEM_PIPELINES=FAILING)

        assert crawl.run() == 0

        log = (tmp_path / "job/logs/errors.log").read_text()
        assert crawl.stats["errors"] == log.count("ZeroDivisionError: a mistake in a pipeline") > 0
        assert "Traceback (most recent call last):" in log
        assert f"Error processing {next(iter(server.world.seeds()))}\n" in log
        assert "<html" not in log.lower()
        assert (
            f"{crawl.stats['errors']} unexpected errors: see logs/errors.log"
            in crawl.output.read_text()
        )

    def test_what_a_mistake_quotes_moves_no_terminal(self, tmp_path, simweb):
        """An error message may quote a page: control characters are escaped on the terminal and in
        errors.log.
        """
        crawl = crawl_of(
            tmp_path, simweb(1, 3), ITEM_PIPELINES='{"tests.support.cli_components.Quoting": 1000}'
        )

        assert crawl.run() == 0

        for path in (tmp_path / "job/logs/errors.log", crawl.output):
            text = path.read_bytes().decode()
            assert (
                r"ValueError: no such title: \x1b[2J\x07\x9b31m\u202eexe.txt\x0droot: all is well\x85"
                in text
            )
            assert not re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)

    def test_a_mistake_in_a_handler(self, tmp_path, simweb):
        """An error that no server can cause is logged too where only an errback receives it."""
        broken = "tests.support.cli_components.BrokenHandler"
        crawl = crawl_of(tmp_path, simweb(1, 1), FOREIGN_HANDLERS_ALLOWED=broken)

        assert crawl.run(DOWNLOAD_HANDLERS=json.dumps({"http": broken})) == 1  # nothing was fetched

        log = (tmp_path / "job/logs/errors.log").read_text()
        assert "ZeroDivisionError: a mistake in a handler" in log
        assert (
            crawl.stats["errors"]
            == crawl.stats["failures"]
            == log.count("Error downloading <GET http://site0.test:")
        )

    def test_too_many_stop_the_crawl(self, tmp_path, simweb):
        """ERROR_BREAKER such errors within its seconds end the crawl cleanly, with exit status 1."""
        server = simweb(2, 60, latency=0.02)
        crawl = crawl_of(tmp_path, server, ITEM_PIPELINES=FAILING, ERROR_BREAKER="5/60")

        assert crawl.run() == 1
        assert crawl.stats["reason"] == "error_breaker"
        assert 5 <= crawl.stats["errors"] < 30
        said = crawl.output.read_text()
        assert "stopped by ERROR_BREAKER" in said
        assert (
            "will be fetched again" not in said
        )  # what failed does not, as it would after a full disk
        assert crawl.run(ITEM_PIPELINES="{}") == 0
        assert crawl.stats["reason"] == "finished"

    def test_wishes_for_checkpoints_at_the_end(self, tmp_path, simweb):
        """Whoever goes on asking for them with SIGUSR1 does not end a crawl that has saved all."""
        server = simweb(2, 20)
        command = [sys.executable, "-m", *map(str, crawl_of(tmp_path, server).words())]
        with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
            wait_until(lambda: server.log.count)
            wait_until(
                lambda: process.send_signal(signal.SIGUSR1) or process.poll() is not None,
                pause=0.0005,
            )

        assert process.returncode == 0

    @pytest.mark.campaign
    def test_nothing_that_a_server_can_cause(self, tmp_path, simweb):
        """Broken answers, lost connections and unknown names are counted, and are never unexpected
        errors.
        """
        broken = [name for name in GROUPS["page"] if name != "endless"]
        server = simweb(40, 400, mix={**even(broken), **even(DNS_KINDS, 0.3)}, slow=0.02)
        crawl = crawl_of(tmp_path, server, DOWNLOAD_TIMEOUT=0.5, CLOSESPIDER_TIMEOUT=4)

        assert crawl.run() == 0
        assert crawl.stats["failures"] > 10
        assert not (tmp_path / "job/logs/errors.log").exists(), (
            tmp_path / "job/logs/errors.log"
        ).read_text()

    @pytest.mark.campaign
    def test_a_full_disk(self, tmp_path, simweb):
        """On a full disk one line says so, the exit status is 1, and the next run loses nothing."""
        server = simweb(5, 200)
        crawl = crawl_of(tmp_path, server)
        status, said = (
            crawl.run(
                ITEM_PIPELINES='{"tests.support.cli_components.SmallDisk": 0}',
                CHECKPOINT_INTERVAL=0.1,
            ),
            crawl.output.read_text(),
        )
        reason, pages = crawl.stats["reason"], count(crawl.stats["pages"], "page")
        queued = count(crawl.stats["queued"], "URL")
        again = crawl.run()

        assert (status, reason, again, crawl.stats["reason"]) == (1, "store_failed", 0, "finished")
        assert f": resumed with {pages} and {queued} queued" in crawl.output.read_text()
        assert re.search(rf"INFO: {pages} in .*; {queued} queued", said)
        assert said.count("File too large") == 1
        assert "Traceback" not in said
        lines = (tmp_path / "job/logs/crawl.log").read_text().splitlines()
        logged = sorted(line.split()[3] for line in lines)
        assert sum(not url.endswith("/robots.txt") for url in logged) == 200
        assert sorted(_archived(tmp_path / "job")) == logged


def _archived(jobdir):
    for path in jobdir.glob("warc/*.warc.gz*"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type in ("response", "revisit"):
                    yield record.rec_headers.get_header("WARC-Target-URI")


class TestStatistics:
    def test_whole_at_every_checkpoint_and_at_the_end(self, tmp_path, simweb):
        """stats.json can be read at any time; it has no reason until the end, and the times of the
        run.
        """
        server = simweb(4, 80, latency=0.05)
        crawl = crawl_of(tmp_path, server, CHECKPOINT_INTERVAL=0.1)
        seen = []

        def look():
            with suppress(FileNotFoundError):
                seen.append(json.loads((tmp_path / "job/stats.json").read_text()))
            return not running.process.is_alive()

        running = crawl.start()
        wait_until(look)

        assert running.wait() == 0
        assert {figures["reason"] for figures in seen[:-1]} >= {None}
        assert len({figures["pages"] for figures in seen}) > 2
        last = crawl.stats
        assert (last["reason"], last["pages"], last["errors"]) == ("finished", 80, 0)
        assert last["started"] <= last["at"]
        assert last["seconds"] > 0

    def test_tables_of_what_is_kept(self, tmp_path, simweb):
        """After a failed store the tables, too, are those of the last checkpoint, which has no page
        here, or few on a busy machine.
        """
        crawl = crawl_of(
            tmp_path, simweb(5, 200), ITEM_PIPELINES='{"tests.support.cli_components.SmallDisk": 0}'
        )

        assert crawl.run() == 1
        said = crawl.output.read_text()
        assert f"{crawl.jobdir} has everything up to the last checkpoint" in said
        # the first comes after five seconds, which a busy machine may need
        checkpoints = re.findall(r"checkpoint in [\d.]+ s: (\d+) page", said)
        kept = int(checkpoints[-1]) if checkpoints else 0
        assert kept < 200
        assert (crawl.stats["reason"], crawl.stats["pages"]) == ("store_failed", kept)
        assert (crawl.stats["statistics"]["documents"], crawl.stats["statistics"]["outcomes"]) == (
            kept,
            {"200": kept} if kept else {},
        )

    def test_counters_go_on(self, tmp_path, simweb):
        """A crawl that was stopped and resumed counts all its pages."""
        server = simweb(4, 40, latency=0.02)
        crawl = crawl_of(tmp_path, server)

        assert crawl.run(CLOSESPIDER_PAGECOUNT=10) == 0
        assert 10 <= crawl.stats["answers"] < 44
        assert crawl.run() == 0
        assert crawl.stats["answers"] == crawl.stats["status/200"] == 44
        assert crawl.stats["pages"] == 40  # the others are robots.txt

    def test_both_url_caches_count(self, tmp_path, simweb):
        """The hit rate of the caches is over all links that passed the canonical form, whichever
        cache knew them.
        """
        crawl = crawl_of(tmp_path, simweb(2, 40))

        assert crawl.run() == 0

        stats = crawl.stats
        known = stats["links/known"]
        assert known > 0
        asked = stats["seen/submitted"] + known
        assert stats["seen/cache_hit_rate"] == (stats["seen/cache_hits"] + known) / asked

    def test_in_scrapys_stats_too(self, tmp_path, simweb):
        """Extensions that read Scrapy's stats find the crawl's counters there, under `webcrawl/`."""
        crawl = crawl_of(tmp_path, simweb(2, 10))

        assert crawl.run(LOG_LEVEL="DEBUG") == 0
        assert "\n 'webcrawl/pages': 10,\n" in crawl.output.read_text()


class TestManners:
    def test_a_start_of_some_lines(self, tmp_path, simweb):
        """What Scrapy says of itself is logged at DEBUG only; a crawl begins and ends with a few
        lines of its own.
        """
        server = simweb(2, 10)
        crawl = crawl_of(tmp_path, server)

        assert crawl.run() == 0

        lines = crawl.output.read_text().splitlines()
        assert len(lines) < 16
        assert not [line for line in lines if not re.match(r"[\d-]+ [\d:]+ \[", line)]
        assert any(line.endswith(f" INFO: {tmp_path}/job: a new crawl") for line in lines)
        more = crawl_of(tmp_path / "more", server, LOG_LEVEL="DEBUG")
        assert more.run() == 0
        assert "Overridden settings:" in more.output.read_text()

    def test_the_end_in_words(self, tmp_path, simweb):
        """The last lines say what came of the crawl, and where it lies."""
        crawl = crawl_of(tmp_path, simweb(2, 10))

        assert crawl.run(CLOSESPIDER_PAGECOUNT=4) == 0
        first = crawl.output.read_text()
        assert crawl.run() == 0
        second = crawl.output.read_text()

        assert re.search(
            r" INFO: \d+ pages in [\d.]+ s \([\d.]+ pages/s\) from 2 hosts; \d+ URLs? queued[^,]*, 0 f",
            first,
        )
        assert re.search(
            rf" INFO: [\d.]+ MB in 1 WARC file; everything is in {tmp_path}/job\n", first
        )
        assert re.search(r"/job: resumed with \d+ pages and \d+ URLs? queued\n", second)
        assert re.search(
            r"pages/s\), 10 with earlier runs, from 2 hosts; 0 URLs queued, 0 failures in all\n",
            second,
        )

    def test_a_checkpoint_in_words(self, tmp_path, simweb):
        """A checkpoint's line has figures, not representations of objects."""
        crawl = crawl_of(tmp_path, simweb(4, 80, latency=0.05), CHECKPOINT_INTERVAL=0.1)

        assert crawl.run() == 0
        lines = [line for line in crawl.output.read_text().splitlines() if "checkpoint in" in line]
        assert lines
        form = r".*: checkpoint in [\d.]+ s: \d+ pages?, \d+ URLs? queued, \d+ hosts? in rotation"
        assert [line for line in lines if not re.fullmatch(form, line)] == []

    def test_the_log_can_be_followed(self, tmp_path, simweb):
        """A line of crawl.log is in the file soon, although nothing else is written and no
        checkpoint comes.
        """
        crawl = crawl_of(tmp_path, simweb(1, 40), CHECKPOINT_INTERVAL=600, POLITENESS_MIN_DELAY=0.3)
        running = crawl.start()
        log = tmp_path / "job/logs/crawl.log"

        wait_until(lambda: log.exists() and b"/robots.txt" in log.read_bytes())

        os.kill(running.process.pid, signal.SIGINT)
        assert running.wait() == 0


class TestIdentity:
    @pytest.mark.parametrize(
        ("settings", "warned"), [({}, True), ({"USER_AGENT": "me/1 (+http://x.test/)"}, False)]
    )
    def test_the_default_user_agent(self, tmp_path, simweb, settings, warned):
        """A crawl with the default user agent warns at its start, and says how to set one."""
        crawl = crawl_of(tmp_path, simweb(1, 1), **settings)

        assert crawl.run() == 0
        assert ("USER_AGENT is the default" in crawl.output.read_text()) is warned
        assert defaults.USER_AGENT == "webcrawl/0.1"


class TestProgress:
    def test_plain_lines(self, tmp_path, simweb):
        """Where standard error is not a terminal, the log has no escape sequences."""
        crawl = crawl_of(tmp_path, simweb(2, 6))

        assert crawl.run() == 0
        assert "\x1b" not in crawl.output.read_text()

    def test_a_live_line(self, tmp_path, simweb):
        """On a terminal one line stays in place, and the log scrolls above it."""
        crawl = crawl_of(tmp_path, simweb(2, 20, latency=0.15))
        leader, follower = pty.openpty()
        options = [("JOBDIR", tmp_path / "job"), *SETTINGS.items(), *crawl.settings.items()]
        words = [word for name, value in options for word in ("-s", f"{name}={value}")]
        command = [
            sys.executable,
            "-m",
            "scrapy",
            "crawl",
            "web",
            "-a",
            f"seeds={tmp_path}/seeds.txt",
            *words,
        ]
        terminal = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
        with subprocess.Popen(command, cwd=ROOT, stderr=follower, env=terminal) as process:
            os.close(follower)
            said = _all_of(leader)

        assert process.returncode == 0
        lines = [line.rpartition("\x1b[2K")[2].strip("\r") for line in said.split("\n")]
        live = [line for line in re.split(r"\x1b\[2K|\r", said) if re.match(r"\d+ pages \d", line)]
        assert len(live) > 2
        assert not re.search(r"[kM]?B\d", said)  # no log line begins where the live line ends
        assert any(line.endswith("INFO: Spider closed (finished)") for line in lines)
        assert said.count("] INFO: 20 pages in ") == 1


def _all_of(terminal):
    """What is written to a terminal, until its last writer closes it."""
    said = b""
    with suppress(OSError):
        while data := os.read(terminal, 65536):
            said += data
    os.close(terminal)
    return said.decode()


class _Engine:
    paused = False

    def pause(self):
        self.paused = True

    def unpause(self):
        self.paused = False


class _Crawler:
    def __init__(self, engine):
        self.engine = engine


class TestDiskSpace:
    def test_it_pauses_and_goes_on(self, tmp_path, monkeypatch):
        """Below MIN_FREE_DISK fetching pauses, and resumes as soon as there is room again."""
        free, woken, engine = [], [], _Engine()
        monkeypatch.setattr(
            disk_space.shutil, "disk_usage", lambda path: SimpleNamespace(free=free[-1] << 20)
        )
        scheduler = SimpleNamespace(
            wake=lambda: woken.append(True),
            crawl=SimpleNamespace(
                parts=SimpleNamespace(set_pause_reason=lambda why, holder: None),
                outlook=SimpleNamespace(stopped_by=""),
            ),
        )
        monkeypatch.setattr(
            "webcrawl.adapter.extensions.disk_space.scheduler_of", lambda crawler: scheduler
        )
        extension = DiskSpace(_Crawler(engine), tmp_path, least=100)

        paused = []
        for now in (500, 99, 50, 100):
            free.append(now)
            extension.space.look()
            paused.append(engine.paused)

        assert paused == [False, True, True, False]
        assert len(woken) == 1
