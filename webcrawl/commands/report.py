"""`scrapy report`: one HTML page on a crawl."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from webcrawl.commands.saying import say, say_all
from webcrawl.logs.readable import readable
from webcrawl.store.errors import StoreError

NAME = "report.html"


class Command(ScrapyCommand):
    """Reads the last checkpoint and changes nothing of the crawl; docs/report.md says what is on the page."""

    requires_project = False
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "JOBDIR [options]"

    def short_desc(self) -> str:
        return "Make one HTML page on a crawl, running or not: figures, hosts, seeds, what went wrong"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-o", "--output", metavar="FILE", help=f"where to write it (default: JOBDIR/{NAME}); - prints it"
        )

        parser.add_argument(
            "--graph", metavar="FOLDER", help="write the graph of hosts in place of the page (hosts.tsv, edges.tsv)"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("one folder: scrapy report JOBDIR")
        jobdir = Path(args[0])
        try:
            if opts.graph is None:
                self._page(jobdir, opts.output)
            else:
                self._graph(jobdir, Path(opts.graph))
        except (StoreError, OSError) as error:
            sys.stderr.write(f"{readable(' '.join(str(error).split()))}\n")
            self.exitcode = 1

    def _graph(self, jobdir: Path, folder: Path) -> None:
        from webcrawl.report.graph import write_graph  # noqa: PLC0415 - as below

        graph = write_graph(jobdir, folder)
        say(f"{folder}: hosts {len(graph.hosts)}, edges {graph.size}")

    def _page(self, jobdir: Path, output: str | None) -> None:
        from webcrawl.report.page import report  # noqa: PLC0415 - Scrapy imports every command for any: 0.2 s

        target = None if output == "-" else _target(jobdir, output)
        text = report(jobdir, _defaults(), time.time())
        if target is None:
            say_all(text.encode())
        else:
            write_page(target, text)
            say(str(target))


def _defaults() -> Mapping[str, str]:
    """What every setting is if nobody sets it, as the state keeps them."""
    from scrapy.settings import Settings  # noqa: PLC0415 - as above, and what follows

    from webcrawl import settings  # noqa: PLC0415
    from webcrawl.adapter.values import plain_values  # noqa: PLC0415
    from webcrawl.crawl.terms import terms_of  # noqa: PLC0415

    ours = Settings()
    ours.setmodule(settings, "project")
    return terms_of("web", {}, plain_values(ours, "web"))


def _target(jobdir: Path, name: str | None) -> Path:
    """Where to write; OSError if nothing may be written there."""
    path = jobdir / NAME if name is None else Path(name)
    if path.is_dir():
        raise IsADirectoryError(f"{path}: a folder, not a file to write to")
    inside = path.resolve().is_relative_to(jobdir.resolve())
    if inside and path.suffix.lower() not in (".html", ".htm"):
        raise PermissionError(f"{path}: in the crawl's own folder a report must end in .html")
    return path


def write_page(path: Path, text: str) -> None:
    """Replaces the file as a whole; what is no file, such as /dev/stdout, is written to."""
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    try:
        with new.open("x", encoding="utf-8") as file:  # follows no link that somebody put there
            file.write(text)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
