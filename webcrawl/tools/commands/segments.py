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

URLS = 1_000_000
MOST = 1_000_000_000
UNTOUCHED = (
    "nothing was requested since this segment was built: if its crawl was killed, crawl the "
    "segment again, because no other segment has its URLs"
)
STORES = {
    "exact": "webcrawl.frontier.seen.disk.DiskSeen",
    "bloom": "webcrawl.frontier.seen.bloom.BloomSeen",
}


class Command(ToolCommand):
    """`webcrawl segments`: exit status 1 and one line if it fails, or tables could not be read."""

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
        super().add_options(parser)
        parser.add_argument(
            "--urls",
            metavar="N",
            default=str(URLS),
            help=f"URLs in a segment, at most (default: {URLS})",
        )
        parser.add_argument(
            "--seen",
            choices=[*STORES],
            help="the index: exact, or a Bloom filter (default: as it is, at first exact)",
        )
        parser.add_argument("-o", metavar="FILE", help="the segment (default: segment.csv)")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        name, *folders = args or [""]
        if name != "build" or not folders or not all(folders):
            raise usage_error(f"{program()} segments build JOBDIR...")
        opts.urls = whole_number("--urls", opts.urls, 1, MOST)
        from webcrawl.adapter.preflight import REASONS  # noqa: PLC0415 - Scrapy imports every command for any

        try:
            self.exitcode = _build(self.settings, [*map(Path, folders)], opts)
        except (*REASONS, CannotStart, OSError) as error:
            self.exitcode = ExitStatus.FAILED
            print_error(text_without_credentials(str(error)), as_json=opts.json)
        except KeyboardInterrupt:
            self.exitcode = ExitStatus.INTERRUPTED


def _build(settings: Settings, jobdirs: list[Path], opts: argparse.Namespace) -> int:
    from webcrawl.adapter.plain_scrapy import trusted_code  # noqa: PLC0415 - 0.4 s, here and below
    from webcrawl.crawl.segments import FOLDER  # noqa: PLC0415
    from webcrawl.tools.segments.builder import SegmentBuilder  # noqa: PLC0415
    from webcrawl.tools.segments.earlier_crawl import earlier_crawls  # noqa: PLC0415
    from webcrawl.tools.segments.segment import copy_segment  # noqa: PLC0415

    target = Path(opts.o or "segment.csv")
    if not target.parent.is_dir() or target.is_dir():
        raise CannotStart(f"-o {target}: {'is a folder' if target.is_dir() else 'no such folder'}")
    # a file would take the place of a device, or of /dev/stdout
    if target.exists() and not target.is_file():
        raise CannotStart(f"-o {target}: is not a file")
    crawls = [
        earlier for jobdir in jobdirs for earlier in earlier_crawls(jobdir, trusted_code(settings))
    ]
    values = _values(settings, crawls[0].values)
    with SegmentBuilder(
        jobdirs[0] / FOLDER, values, crawls[0], store=STORES.get(opts.seen, "")
    ) as builder:
        before = builder.lost
        if builder.undelivered is None:
            builder.read(crawls)
            if builder.unrequested is not None:
                sys.stderr.write(f"{readable(str(builder.unrequested))}: {UNTOUCHED}\n")
            made = vars(builder.make(opts.urls, _needed(values)))
        else:  # it was made, and the process ended before the file was where it should be
            made = {}
        copy_segment(
            builder.segment_path(builder.number) if builder.undelivered else None, target.resolve()
        )
        builder.note_delivery()
        figures = builder.figures()
        lost = builder.lost - before
    answer = {
        "segment": str(target),
        "number": builder.number,
        **made,
        "known": figures["seen/keys"],
        "lost": lost,
    }
    if opts.json:
        print_text(f"{json.dumps(answer)}\n")
    elif made:
        print_line(
            f"{target}: {count(made['urls'], 'URL')}, {count(made['hosts'], 'host')}, "
            f"{count(made['domains'], 'domain')}, at most {made['per_host']} per host; {made['left']} left for later, "
            f"{answer['known']} known"
        )
    else:
        print_line(
            f"{target}: segment {builder.number}, which had been built earlier but not delivered"
        )
    if lost:
        what = "crawl or table" if lost == 1 else "crawls or tables"
        sys.stderr.write(f"{lost} {what} could not be read, so its links are missing\n")
    return int(lost > 0)


def _values(settings: Settings, of_crawl: Mapping[str, Any]) -> CheckedSettings:
    """Return the project's settings, then the crawl's own, then those of the command line."""
    from webcrawl.adapter.user_settings import on_command_line  # noqa: PLC0415 - as above
    from webcrawl.adapter.values import plain_values  # noqa: PLC0415 - as above

    given = plain_values(settings, "web")
    named = on_command_line(settings)
    own = {name: value for name, value in of_crawl.items() if name not in named}
    return with_values(given, own)


def _needed(values: CheckedSettings) -> int:
    from webcrawl.base.loading import load  # noqa: PLC0415 - as above
    from webcrawl.tools.segments.segment import hosts_needed  # noqa: PLC0415 - as above

    policy = load(values["POLITENESS_POLICY"])(
        values["POLITENESS_FACTOR"], values["POLITENESS_MIN_DELAY"], values["POLITENESS_MAX_DELAY"]
    )
    return hosts_needed(values["CONCURRENT_REQUESTS"] or URLS, policy.wait)
