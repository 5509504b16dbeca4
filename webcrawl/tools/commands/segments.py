"""`webcrawl segments`: offline crawling, segment by segment (docs/reprocess-and-since.md)."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from webcrawl.base.errors import CannotStart
from webcrawl.base.program import ExitStatus, program
from webcrawl.base.readable import count, readable, text_without_credentials
from webcrawl.base.settings.checked_settings import CheckedSettings, with_values
from webcrawl.tools.tool_command import (
    SETTINGS_OPTION,
    ToolCommand,
    print_error,
    print_line,
    print_text,
    usage_error,
    whole_number,
)

if TYPE_CHECKING:
    from scrapy.settings import Settings

URLS_PER_SEGMENT = 1_000_000  # by default
MAX_URLS_PER_SEGMENT = 1_000_000_000
UNTOUCHED = (
    "nothing was requested since this segment was built: if its crawl was killed, crawl the "
    "segment again, because no other segment has its URLs"
)
STORES = {
    "exact": "webcrawl.frontier.seen.disk.DiskSeen",
    "bloom": "webcrawl.frontier.seen.bloom.BloomSeen",
}


class Command(ToolCommand):
    """Builds segments.

    Exit status 1 with one line if the segment cannot be built, or if a crawl or table could not be
    read.
    """

    summary = "Build the next list of URLs from the links that crawls found"
    usage = "build JOBDIR... [options]"
    default_settings: ClassVar[dict[str, Any]] = {}
    listed_options = SETTINGS_OPTION

    def long_desc(self) -> str:
        return (
            "Read what crawls have left since the last time, and write the next segment of new URLs, sorted by domain, "
            f"for {program()} crawl web -a seeds=segment.csv -a follow=0."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add --urls, --seen, -o and --json."""
        super().add_options(parser)
        parser.add_argument(
            "--urls",
            metavar="N",
            default=str(URLS_PER_SEGMENT),
            help=f"URLs in a segment, at most (default: {URLS_PER_SEGMENT})",
        )
        parser.add_argument(
            "--seen",
            choices=[*STORES],
            help="the index: exact, or a Bloom filter (default: as it is, at first exact)",
        )
        parser.add_argument("-o", metavar="FILE", help="the segment (default: segment.csv)")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Build the next segment, and set the exit status by how it went."""
        name, *folders = args or [""]
        has_folders = len(folders) > 0 and all(folders)
        if name != "build" or not has_folders:
            raise usage_error(f"{program()} segments build JOBDIR...")
        opts.urls = whole_number("--urls", opts.urls, 1, MAX_URLS_PER_SEGMENT)
        from webcrawl.adapter.preflight import REASONS  # noqa: PLC0415 - Scrapy imports every command for any

        try:
            self.exitcode = _build(self.settings, [*map(Path, folders)], opts)
        except (*REASONS, CannotStart, OSError) as error:
            self.exitcode = ExitStatus.FAILED
            print_error(text_without_credentials(str(error)), as_json=opts.json)
        except KeyboardInterrupt:
            self.exitcode = ExitStatus.INTERRUPTED


def _build(settings: Settings, jobdirs: list[Path], opts: argparse.Namespace) -> int:
    """Build the next segment from the links that these crawls found; return the exit status.

    Raise CannotStart or another of preflight's REASONS if it cannot be built.
    """
    from webcrawl.adapter.plain_scrapy import trusted_code  # noqa: PLC0415 - 0.4 s, here and below
    from webcrawl.crawl.segments import FOLDER  # noqa: PLC0415
    from webcrawl.tools.segments.builder import SegmentBuilder  # noqa: PLC0415
    from webcrawl.tools.segments.earlier_crawl import earlier_crawls  # noqa: PLC0415
    from webcrawl.tools.segments.segment import copy_segment  # noqa: PLC0415

    target = _target(opts.o)
    crawls = [
        earlier for jobdir in jobdirs for earlier in earlier_crawls(jobdir, trusted_code(settings))
    ]
    values = _merged_settings(settings, crawls[0].values)
    with SegmentBuilder(
        jobdirs[0] / FOLDER, values, crawls[0], store=STORES.get(opts.seen, "")
    ) as builder:
        lost_before = builder.lost
        if builder.undelivered is None:
            builder.read(crawls)
            if builder.unrequested is not None:
                sys.stderr.write(f"{readable(str(builder.unrequested))}: {UNTOUCHED}\n")
            segment_figures = vars(builder.make(opts.urls, _hosts_needed(values)))
        else:  # an earlier process built it, and ended before it had copied the file
            segment_figures = {}
        copy_segment(
            builder.segment_path(builder.number) if builder.undelivered else None, target.resolve()
        )
        builder.note_delivery()
        known_urls = builder.figures()["seen/keys"]
        lost = builder.lost - lost_before
    answer = {
        "segment": str(target),
        "number": builder.number,
        **segment_figures,
        "known": known_urls,
        "lost": lost,
    }
    if opts.json:
        print_text(f"{json.dumps(answer)}\n")
    else:
        print_line(_summary(answer))
    if lost:
        what = "crawl or table" if lost == 1 else "crawls or tables"
        sys.stderr.write(f"{lost} {what} could not be read, so its links are missing\n")
        return ExitStatus.FAILED
    return ExitStatus.DONE


def _target(name: str | None) -> Path:
    """Return the file to write the segment to. Raise CannotStart if it cannot be written there."""
    target = Path(name or "segment.csv")
    if target.is_dir():
        raise CannotStart(f"-o {target}: is a folder")
    if not target.parent.is_dir():
        raise CannotStart(f"-o {target}: no such folder")
    # The segment is renamed to its place, and would replace a device, or /dev/stdout.
    if target.exists() and not target.is_file():
        raise CannotStart(f"-o {target}: is not a file")
    return target


def _summary(answer: Mapping[str, Any]) -> str:
    """Return what was built as one line. An earlier segment that is delivered has no figures."""
    segment = answer["segment"]
    if "urls" not in answer:
        return (
            f"{segment}: segment {answer['number']}, which had been built earlier but not delivered"
        )
    urls = count(answer["urls"], "URL")
    hosts = count(answer["hosts"], "host")
    domains = count(answer["domains"], "domain")
    return (
        f"{segment}: {urls}, {hosts}, {domains}, at most {answer['per_host']} per host; "
        f"{answer['left']} left for later, {answer['known']} known"
    )


def _merged_settings(settings: Settings, of_crawl: Mapping[str, Any]) -> CheckedSettings:
    """Return the project's settings, overridden by the crawl's, then by the command line's."""
    from webcrawl.adapter.user_settings import on_command_line  # noqa: PLC0415 - as above
    from webcrawl.adapter.values import plain_values  # noqa: PLC0415 - as above

    given = plain_values(settings, "web")
    named = on_command_line(settings)
    own = {name: value for name, value in of_crawl.items() if name not in named}
    return with_values(given, own)


def _hosts_needed(values: CheckedSettings) -> int:
    """Return how many hosts a segment needs, so that politeness does not slow its crawl down."""
    from webcrawl.base.loading import load  # noqa: PLC0415 - as above
    from webcrawl.tools.segments.segment import hosts_needed  # noqa: PLC0415 - as above

    policy = load(values["POLITENESS_POLICY"])(
        values["POLITENESS_FACTOR"], values["POLITENESS_MIN_DELAY"], values["POLITENESS_MAX_DELAY"]
    )
    return hosts_needed(values["CONCURRENT_REQUESTS"] or URLS_PER_SEGMENT, policy.wait)
