"""`webcrawl demo`: shows the whole crawler at work, on a machine without a network.

Scrapy imports every command for any of them, in every project on the machine: what takes long is
imported later.
"""

from __future__ import annotations

import argparse
import logging
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from scrapy.commands import ScrapyCommand
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.exceptions import UsageError
from scrapy.settings import SETTINGS_PRIORITIES, Settings

from webcrawl.adapter.given_settings import check_log_file, given_words
from webcrawl.adapter.json_log import choose_json
from webcrawl.base.errors import CannotStart
from webcrawl.base.program import PYTHON, ExitStatus, environment, name_program
from webcrawl.base.readable import count
from webcrawl.store.jobdir import stats_file
from webcrawl.tools.commands.crawl import OneSignal
from webcrawl.tools.tool_command import say_all

PAGES = 100  # per host on average: at one page per second more than anyone waits for
KINDS = (  # a sample of what the real web has
    *(
        "chunked",
        "no_length",
        "etag",
        "coding_gzip",
        "coding_br",
        "charset_header",
        "source_a",
        "spellings",
    ),
    *("redirect_301", "status_404", "duplicate", "status_503"),
    *("robots_missing", "robots_empty", "robots_disallow", "robots_wildcard", "robots_moved"),
)
READY = re.compile(r"simweb ready: .* dns ([^\s;]+);")


class Command(ScrapyCommand):
    """Starts the synthetic web in a separate process, crawls it politely, and prints a summary.

    It has webcrawl's own settings in any project, and those of its command line.
    """

    requires_project = False
    requires_crawler_process = False
    _own: Settings
    _made: str | None = None  # the temporary JOBDIR, kept for the user to look at

    def syntax(self) -> str:
        return "[options]"

    def short_desc(self) -> str:
        return "Crawl a synthetic web on this machine for half a minute; needs no network"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        name_program(parser, self)
        parser.add_argument(
            "--hosts",
            type=int,
            default=300,
            metavar="N",
            help="hosts to serve (default: %(default)s)",
        )
        parser.add_argument(
            "--seconds", type=float, default=30, metavar="S", help="duration (default: %(default)s)"
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        opts.set[:] = given_words(self.settings, opts.set)
        super().process_options(args, opts)
        if args:
            raise UsageError(f"unexpected argument: {args[0]}")
        if not 1 <= opts.hosts <= 100_000 or not 1 <= opts.seconds <= 86_400:
            _refuse("demo: allowed are --hosts from 1 to 100000 and --seconds from 1 to 86400")
        assert self.settings is not None  # noqa: S101 - Scrapy sets them before it asks for anything
        self._own = own_settings(self.settings)
        if self._given("JOBDIR") and Path(self._own["JOBDIR"], "state").exists():
            _refuse(
                f"demo: JOBDIR = {self._own['JOBDIR']}: already holds a crawl of an earlier demo "
                "web: use another JOBDIR"
            )
        wanted = {
            "USER_AGENT": "webcrawl-demo/1.0 (+http://site0.test/)",
            "LOG_LEVEL": "WARNING",
            "CLOSESPIDER_TIMEOUT": opts.seconds,
            "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/16",
            "MIN_FREE_DISK": 0,
        }
        for name, value in wanted.items():
            if not self._given(name):
                self._own.set(name, value, "cmdline")

    def _given(self, name: str) -> bool:
        return self._own.getpriority(name) == SETTINGS_PRIORITIES["cmdline"]

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        del args
        with TemporaryDirectory(prefix="webcrawl-demo-web-") as folder:
            try:
                with _simweb(opts.hosts, Path(folder)) as web:
                    what = (
                        f"{count(opts.hosts, 'synthetic host')} on loopback for {opts.seconds:g} s"
                    )
                    self._crawl(*web, what)
            except CannotStart as error:
                if self._made is not None:
                    rmtree(self._made)
                _refuse(str(error))

    def _crawl(self, seeds: Path, nameserver: str, what: str) -> None:
        if not self._given("JOBDIR"):
            self._made = mkdtemp(prefix="webcrawl-demo-")
            self._own.set("JOBDIR", self._made, "cmdline")
        self._own.set("DNS_NAMESERVERS", nameserver, "cmdline")
        from webcrawl.adapter.preflight import preflight  # noqa: PLC0415 - 0.4 s, here and below
        from webcrawl.adapter.spiders.web import WebSpider  # noqa: PLC0415

        preflight(self._own, WebSpider, {"seeds": str(seeds)})
        choose_json(self._own)
        check_log_file(self._own)
        _say(f"crawling {what} (Ctrl-C to stop)")
        # On a terminal the progress line is drawn by itself
        if not sys.stderr.isatty():
            logging.getLogger("webcrawl.adapter.extensions.progress").addHandler(_Said())
        crawler = AsyncCrawlerProcess(self._own)
        crawling = crawler.crawl(WebSpider, seeds=str(seeds))
        OneSignal().install_soon()
        crawler.start()
        if crawling.done() and not crawling.cancelled() and crawling.exception() is not None:
            self.exitcode = ExitStatus.FAILED  # the log says why
        jobdir = Path(self._own["JOBDIR"])
        _say(_summary(jobdir, stats_file.read(jobdir)))


def own_settings(given: Settings) -> Settings:
    """Return the settings of webcrawl's project, whatever project this is, with the command line's."""
    own = Settings()
    own.setmodule("webcrawl.settings")
    for name in given:
        if given.getpriority(name) == SETTINGS_PRIORITIES["cmdline"]:
            own.set(name, given[name], "cmdline")
    return own


class _Said(logging.Handler):
    """Prints progress as plain lines where there is no terminal."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):  # the end says it
            say_all(f"{record.getMessage()}\n")


@contextmanager
def _simweb(hosts: int, folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the seed file and the name server's address.

    The web runs in its own session, so that Ctrl-C stops only the crawler. It reads a pipe that
    closes when this process ends, even by kill -9, and stops then.
    """
    seeds, errors = folder / "seeds.txt", folder / "errors"
    options = [
        "--hosts",
        hosts,
        "--pages",
        hosts * PAGES,
        "--seeds",
        seeds,
        "--kinds",
        ",".join(KINDS),
    ]
    ports = ["--port", 0, "--dns-port", 0, "--tls-port", 0]
    command = [*PYTHON, "-m", "webcrawl.lab.simweb", "--until-eof", *map(str, options + ports)]
    with errors.open("wb") as error:
        web = subprocess.Popen(  # noqa: S603 - this very program
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=error,
            text=True,
            start_new_session=True,
            env=environment(),
        )
    with web:
        try:
            assert web.stdout is not None  # noqa: S101
            ready = READY.match(web.stdout.readline())
            if ready is None:
                # Its last line says why
                web.wait()
                raise CannotStart(
                    (errors.read_text().strip() or "the synthetic web did not start").splitlines()[
                        -1
                    ]
                )
            yield seeds, ready[1]
        finally:
            web.terminate()


def _summary(jobdir: Path, stats: Mapping[str, Any]) -> str:
    if not stats.get("reason"):
        return f"interrupted before the end; output in {jobdir}"
    from webcrawl.crawl.last_lines import last_lines  # noqa: PLC0415

    return "\n".join(last_lines(jobdir, stats, stats["seconds"]))


def _say(line: str) -> None:
    try:
        say_all(f"{line}\n")
    except OSError as error:
        _refuse(f"demo: {error}")


def _refuse(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.exit(ExitStatus.FAILED)
