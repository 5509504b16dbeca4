"""`webcrawl report`: one HTML page on a crawl."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path

from webcrawl.base.program import program
from webcrawl.store.disk import resolved
from webcrawl.store.errors import StoreError
from webcrawl.tools.tool_command import (
    ToolCommand,
    print_line,
    print_text,
    usage_error,
    whole_number,
    write_page,
)

REPORT_NAME = "report.html"
# With more bits, too many fingerprints that have nothing in common share a part by which they are
# sorted.
MAX_DISTANCE_BITS = 6


class Command(ToolCommand):
    """Reads the last checkpoint, and changes nothing of the crawl (docs/watch.md)."""

    summary = "Make one HTML page on a crawl: figures, hosts, seeds, what went wrong"
    usage = "JOBDIR [options]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add --output and --near-duplicate-bits."""
        super().add_options(parser)
        parser.add_argument(
            "-o",
            "--output",
            metavar="FILE",
            help=f"where to write it (default: JOBDIR/{REPORT_NAME}); - prints it",
        )
        parser.add_argument(
            "--near-duplicate-bits",
            default="4",
            metavar="BITS",
            help="pages are near-duplicates if at most so many bits differ, 0 to 6 (default: %(default)s)",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Write the report of a crawl or hive, or print it."""
        if len(args) != 1:
            raise usage_error(f"one folder: {program()} report JOBDIR")
        max_distance = whole_number(
            "--near-duplicate-bits", opts.near_duplicate_bits, 0, MAX_DISTANCE_BITS
        )
        try:
            self._write_report(Path(args[0]), opts.output, max_distance)
        except (StoreError, OSError) as error:
            self.fail(error)

    def _write_report(self, jobdir: Path, output: str | None, max_distance: int) -> None:
        """Write the page to a file, or print it if `output` is a dash."""
        from webcrawl.tools.report.report_page import report  # noqa: PLC0415 - Scrapy imports every command for any: 0.2 s

        target = None if output == "-" else _target(jobdir, output)
        text = report(jobdir, default_terms(), time.time(), max_distance)
        if target is None:
            print_text(text.encode())
            return
        try:
            write_page(target, text)
        except OSError as error:
            elsewhere = (
                "; -o FILE writes the report elsewhere, -o - prints it" if output is None else ""
            )
            self.fail(f"{target}: {error.strerror or error}{elsewhere}")
            return
        print_line(str(target))


def default_terms() -> Mapping[str, str]:
    """Return the defaults of all settings as texts, in the form in which a state keeps them."""
    from scrapy.settings import Settings  # noqa: PLC0415 - as above, and what follows

    from webcrawl import settings  # noqa: PLC0415
    from webcrawl.adapter.values import plain_values  # noqa: PLC0415
    from webcrawl.crawl.last_run import terms_of  # noqa: PLC0415

    ours = Settings()
    ours.setmodule(settings, "project")
    return terms_of("web", {}, plain_values(ours, "web"))


def _target(jobdir: Path, name: str | None) -> Path:
    """Return the path to write to. Raise OSError if it would replace a file of the crawl."""
    path = jobdir / REPORT_NAME if name is None else Path(name)
    if path.is_dir():
        raise IsADirectoryError(f"{path}: a folder, not a file to write to")
    is_inside = resolved(path).is_relative_to(resolved(jobdir))
    if is_inside and path.suffix.lower() not in (".html", ".htm"):
        raise PermissionError(f"{path}: in the crawl's own folder a report must end in .html")
    return path
