"""The recipes of the pages for operators and of docs/deploy, as whoever copies them runs them."""

import os
import re
import shlex
import subprocess
import sys
from argparse import ArgumentParser
from fnmatch import fnmatch

import pytest
from scrapy.settings import Settings

from tests.support.crawling import Crawl, wait_until
from tests.support.examples import in_campaign
from tests.support.places import ROOT
from webcrawl.base.outputs import NAMES
from webcrawl.crawl.control.commands import checked
from webcrawl.tools.commands import crawl as crawl_command

PAGES = ("control", "site-owners-operator", "troubleshooting", "verify-move-upgrade")
OPERATIONS = "".join((ROOT / f"docs/{page}.md").read_text(encoding="utf-8") for page in PAGES)
CRONTAB = (ROOT / "docs/deploy/crontab").read_text(encoding="utf-8")
LOGROTATE = (ROOT / "docs/deploy/logrotate.conf").read_text(encoding="utf-8")
CTL = [
    shlex.split(found)
    for text in (OPERATIONS, CRONTAB)
    for found in re.findall(r"(?:scrapy|webcrawl) ctl (?:crawls/web|\$JOB) ([^`\n>#]*)", text)
]
FAST = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0.01, "CHECKPOINT_INTERVAL": 0.3}


def crawl_of(tmp_path, server, **settings):
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, **FAST, **settings}
    return Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)


@pytest.mark.parametrize("words", CTL, ids=" ".join)
def test_commands_to_a_crawl(words):
    """Each command to a crawl that the documentation names is one that a crawl takes."""
    assert checked(*words)


def test_there_are_some():
    """The documentation is read at all."""
    assert len(CTL) > 8


def test_a_sites_lines(tmp_path):
    """What is printed for a complaint are the lines of the domain and its subdomains, and no
    others.
    """
    line = "2026-11-21T20:00:00.000Z   200  100 {} L http://seed.test/ text/html #001 1+2 sha1:X http://seed.test/ -\n"
    theirs = ["http://example.com/", "https://www.example.com/a", "http://example.com:8080/"]
    others = [
        "http://notexample.com/",
        "http://example.com.evil.test/",
        "http://a.test/?u=http://example.com/",
    ]
    log = tmp_path / "crawls/web/logs/crawl.log"
    log.parent.mkdir(parents=True)
    log.write_text("".join(line.format(url) for url in (*theirs, *others)))
    (words,) = re.findall(r"^    (awk .*)$", OPERATIONS, re.MULTILINE)
    said = subprocess.run(
        ["sh", "-c", words], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout

    assert [line.split() for line in said.splitlines()] == [
        ["2026-11-21T20:00:00.000Z", "200", url] for url in theirs
    ]


class TestCron:
    def lines(self, command):
        """The commands of the table for the shell."""
        found = re.findall(r"^(?:\S+ ){5}webcrawl (.*)$", CRONTAB, re.MULTILINE)
        return [line for line in found if f"scrapy {command} " in line]

    def run(self, line, tmp_path, job):
        """Runs a line as cron does, with this JOBDIR."""
        scrapy = tmp_path / "bin/scrapy"
        scrapy.parent.mkdir(exist_ok=True)
        scrapy.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m webcrawl "$@"\n')
        scrapy.chmod(0o755)
        around = {**os.environ, "PATH": f"{scrapy.parent}:{os.environ['PATH']}", "JOB": str(job)}
        return subprocess.run(
            ["sh", "-c", line], env=around, cwd=ROOT, capture_output=True, text=True, check=False
        )

    def test_no_percent_signs(self):
        """A percent sign would be a new line for cron."""
        assert "%" not in CRONTAB

    def test_the_crawl(self):
        """The line that begins the crawl has options and settings that there are."""
        (line,) = self.lines("crawl")
        scrapy, name, *words = shlex.split(line.partition("&& ")[2])
        parser, made = ArgumentParser(conflict_handler="resolve"), crawl_command.Command()
        made.settings = Settings()
        made.add_options(parser)
        options, spider = parser.parse_known_args(words)
        names = [one.partition("=")[0] for one in options.set]

        assert (scrapy, name, spider) == ("scrapy", "crawl", ["web"])
        assert options.spargs == ["seeds=/var/lib/webcrawl/seeds.txt"]
        assert names == ["JOBDIR", "LOG_FILE", "CLOSESPIDER_TIMEOUT", "USER_AGENT"]

    @pytest.mark.campaign
    def test_nights(self, tmp_path, simweb):
        """A crawl that ends by its time each night is finished in the end, each page once."""
        crawl = crawl_of(tmp_path, simweb(5, 60, latency=0.1))
        nights = 0
        while (
            nights < 20
            and crawl.run(CLOSESPIDER_TIMEOUT=1) == 0
            and crawl.stats["reason"] == "closespider_timeout"
        ):
            nights += 1
        urls = [
            line.split()[3] for line in (tmp_path / "job/logs/crawl.log").read_text().splitlines()
        ]

        assert crawl.stats["reason"] == "finished"
        assert nights > 0
        assert len(urls) == len(set(urls)) == 65

    def test_without_a_crawl(self, tmp_path):
        """By day and by evening nothing is said if no crawl runs."""
        for line in self.lines("ctl"):
            done = self.run(line, tmp_path, tmp_path / "job")
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def test_check(self, tmp_path, simweb):
        """Sundays' line says nothing of a crawl that is whole, and names the damage of one that is
        not.
        """
        crawl = crawl_of(tmp_path, simweb(1, 3))
        assert crawl.run() == 0
        (line,) = self.lines("verify")
        assert self.run(line, tmp_path, crawl.jobdir).stdout == ""

        log = crawl.jobdir / "logs/crawl.log"
        log.write_bytes(log.read_bytes().replace(b"http", b"htTp", 1))
        assert "crawl.log: damaged at byte" in self.run(line, tmp_path, crawl.jobdir).stdout


class TestLogrotate:
    PATTERNS = LOGROTATE.partition("{")[0].split("\n\n")[1].split()

    def test_patterns(self):
        """No output of a crawl is rotated, of a hive's drones neither; the log and the errors are."""
        outputs = [f"logs/{name}.log" for name in (*NAMES, "crawl", "store", "drone-0")]

        for base in ("/var/lib/webcrawl/one", "/var/lib/webcrawl/hive/drone-3"):
            for path in outputs:
                assert not any(_matches(f"{base}/{path}", pattern) for pattern in self.PATTERNS), (
                    path
                )
            assert any(_matches(f"{base}/logs/errors.log", pattern) for pattern in self.PATTERNS)
        assert any(_matches("/var/lib/webcrawl/one.log", pattern) for pattern in self.PATTERNS)
        assert "copytruncate" in LOGROTATE.split()

    @pytest.mark.campaign
    def test_while_a_crawl_runs(self, tmp_path, simweb):
        """The log and errors.log may be copied and emptied: lines go on at the beginning, and
        `verify` is content.
        """
        failing = '{"tests.support.cli_components.Failing": 1000}'
        log = tmp_path / "one.log"
        crawl = crawl_of(
            tmp_path,
            simweb(5, 300),
            LOG_FILE=log,
            ITEM_PIPELINES=failing,
            ERROR_BREAKER="100000/1",
            BANDWIDTH_MAX="2MB",
        )
        errors = crawl.jobdir / "logs/errors.log"
        running = crawl.start()
        for _ in range(3):
            for path in (log, errors):
                wait_until(lambda path=path: path.exists() and path.stat().st_size)
                path.with_suffix(".1").write_bytes(path.read_bytes())
                os.truncate(path, 0)

        assert running.wait() == 0
        assert "Spider closed (finished)" in log.read_text()
        assert b"\0" not in log.read_bytes() + errors.read_bytes()
        words = [sys.executable, "-m", "webcrawl", "verify", str(crawl.jobdir)]
        assert (
            "no damage found"
            in subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT).stdout
        )

    @pytest.mark.parametrize("how", ["renamed", *in_campaign("emptied")])
    def test_the_crawls_own_log(self, tmp_path, simweb, how):
        """crawl.log must stay: the run ends with a line that names it, and so does the next until
        the file is back.
        """
        crawl = crawl_of(tmp_path, simweb(5, 2000), BANDWIDTH_MAX="500kB")
        log = crawl.jobdir / "logs/crawl.log"
        running = crawl.start()
        wait_until(lambda: (crawl.jobdir / "stats.json").exists() and crawl.stats["pages"] > 40)
        kept = log.with_suffix(".1")
        if how == "renamed":
            log.rename(kept)
        else:
            kept.write_bytes(log.read_bytes())
            os.truncate(log, 0)

        assert running.wait() == 1
        assert crawl.stats["reason"] == "store_failed"
        assert "crawl.log" in crawl.output.read_text()
        assert crawl.run() == 1
        assert "crawl.log" in crawl.output.read_text()
        kept.replace(log)
        assert crawl.run(CLOSESPIDER_TIMEOUT=0.5) == 0


def _matches(path, pattern):
    """As the shell's wildcards, which do not match a slash."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatch, parts, wanted))
