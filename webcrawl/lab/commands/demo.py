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

from webcrawl.adapter.command_line_settings import check_log_file, settings_words
from webcrawl.adapter.json_log import choose_json
from webcrawl.base.errors import CannotStart
from webcrawl.base.program import PYTHON, ExitStatus, environment, name_program
from webcrawl.base.readable import count
from webcrawl.store.jobdir import stats_file
from webcrawl.tools.commands.crawl import OneSignal
from webcrawl.tools.tool_command import print_text

PAGES_PER_HOST = 100  # on average: at one page per second more than anyone waits for
MAX_HOSTS = 100_000
MAX_SECONDS = 86_400
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
    _demo_settings: Settings
    _temporary_jobdir: str | None = None  # kept after the crawl, for the user to look at

    def syntax(self) -> str:
        return "[options]"

    def short_desc(self) -> str:
        return "Crawl a synthetic web on this machine for half a minute; needs no network"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the number of hosts and the duration."""
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
        """Check the options, and make the settings of the demo from them.

        End the process with a line if an option is impossible or the JOBDIR is in use.
        """
        opts.set[:] = settings_words(self.settings, opts.set)
        super().process_options(args, opts)
        if args:
            raise UsageError(f"unexpected argument: {args[0]}")
        if not 1 <= opts.hosts <= MAX_HOSTS or not 1 <= opts.seconds <= MAX_SECONDS:
            _exit_with(
                f"demo: allowed are --hosts from 1 to {MAX_HOSTS} and --seconds from 1 to {MAX_SECONDS}"
            )
        assert self.settings is not None  # noqa: S101 - Scrapy sets them before it asks for anything
        self._demo_settings = demo_settings(self.settings)
        if self._is_given("JOBDIR") and Path(self._demo_settings["JOBDIR"], "state").exists():
            _exit_with(
                f"demo: JOBDIR = {self._demo_settings['JOBDIR']}: already holds a crawl of an earlier demo "
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
            if not self._is_given(name):
                self._demo_settings.set(name, value, "cmdline")

    def _is_given(self, name: str) -> bool:
        return self._demo_settings.getpriority(name) == SETTINGS_PRIORITIES["cmdline"]

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Serve the synthetic web, and crawl it for the given time."""
        del args
        with TemporaryDirectory(prefix="webcrawl-demo-web-") as folder:
            try:
                with _simweb(opts.hosts, Path(folder)) as web:
                    hosts = count(opts.hosts, "synthetic host")
                    self._crawl(*web, f"{hosts} on loopback for {opts.seconds:g} s")
            except CannotStart as error:
                if self._temporary_jobdir is not None:
                    rmtree(self._temporary_jobdir)
                _exit_with(str(error))

    def _crawl(self, seeds: Path, nameserver: str, what: str) -> None:
        """Crawl from these seeds and print a summary; `what` describes the web to the user."""
        if not self._is_given("JOBDIR"):
            self._temporary_jobdir = mkdtemp(prefix="webcrawl-demo-")
            self._demo_settings.set("JOBDIR", self._temporary_jobdir, "cmdline")
        self._demo_settings.set("DNS_NAMESERVERS", nameserver, "cmdline")
        from webcrawl.adapter.preflight import preflight  # noqa: PLC0415 - 0.4 s, here and below
        from webcrawl.adapter.spiders.web import WebSpider  # noqa: PLC0415

        preflight(self._demo_settings, WebSpider, {"seeds": str(seeds)})
        choose_json(self._demo_settings)
        check_log_file(self._demo_settings)
        _print_line(f"crawling {what} (Ctrl-C to stop)")
        # On a terminal the progress line is drawn by itself
        if not sys.stderr.isatty():
            logging.getLogger("webcrawl.adapter.extensions.progress").addHandler(_ProgressPrinter())
        crawler = AsyncCrawlerProcess(self._demo_settings)
        crawling = crawler.crawl(WebSpider, seeds=str(seeds))
        OneSignal().install_soon()
        crawler.start()
        if crawling.done() and not crawling.cancelled() and crawling.exception() is not None:
            self.exitcode = ExitStatus.FAILED  # the log says why
        jobdir = Path(self._demo_settings["JOBDIR"])
        _print_line(summary(jobdir, stats_file.read(jobdir)))


def demo_settings(given: Settings) -> Settings:
    """Return the settings of webcrawl's project, whatever project this is, with the command line's."""
    own = Settings()
    own.setmodule("webcrawl.settings")
    for name in given:
        if given.getpriority(name) == SETTINGS_PRIORITIES["cmdline"]:
            own.set(name, given[name], "cmdline")
    return own


class _ProgressPrinter(logging.Handler):
    """Prints the lines of progress where there is no terminal on which they are drawn."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):  # the summary at the end reports it
            print_text(f"{record.getMessage()}\n")


@contextmanager
def _simweb(hosts: int, folder: Path) -> Iterator[tuple[Path, str]]:
    """Run the synthetic web for the block; yield its seed file and its name server's address.

    Raise CannotStart if it does not start.

    The web runs in its own session, so that Ctrl-C stops only the crawler. It reads a pipe that
    closes when this process ends, even by kill -9, and stops then.
    """
    seeds = folder / "seeds.txt"
    errors = folder / "errors"
    options = ["--hosts", hosts, "--pages", hosts * PAGES_PER_HOST]
    options += ["--seeds", seeds, "--kinds", ",".join(KINDS)]
    options += ["--port", 0, "--dns-port", 0, "--tls-port", 0]
    command = [*PYTHON, "-m", "webcrawl.lab.simweb", "--until-eof", *map(str, options)]
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
                web.wait()
                text = errors.read_text().strip() or "the synthetic web did not start"
                raise CannotStart(text.splitlines()[-1])  # the last line says why
            yield seeds, ready[1]
        finally:
            web.terminate()


def summary(jobdir: Path, stats: Mapping[str, Any]) -> str:
    """Return the last lines of a crawl with these stats."""
    if not stats.get("reason"):
        return f"interrupted before the end; output in {jobdir}"
    from webcrawl.crawl.last_lines import last_lines  # noqa: PLC0415

    # No deferred host is due again: their web is gone
    figures = {**stats, "deferred_due": 0}
    return "\n".join(last_lines(jobdir, figures, stats["seconds"]))


def _print_line(line: str) -> None:
    try:
        print_text(f"{line}\n")
    except OSError as error:
        _exit_with(f"demo: {error}")


def _exit_with(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.exit(ExitStatus.FAILED)
