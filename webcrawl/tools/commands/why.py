"""`webcrawl why`: what became of a URL, and why (docs/troubleshooting.md).

Scrapy imports every command for any of them: what takes long is imported later.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Container, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.base.program import ExitStatus, program
from webcrawl.base.readable import readable
from webcrawl.store.errors import StoreError
from webcrawl.tools.tool_command import ToolCommand, ignore_closed_pipe, print_error, usage_error

if TYPE_CHECKING:
    from webcrawl.tools.why.answer import WhyAnswer

USAGE = f"give a folder and a URL: {program()} why JOBDIR URL, or --file URLS"


class Command(ToolCommand):
    """Exit status 0, whatever the answer; 1 and a line if the folder cannot be read as a crawl."""

    summary = "Explain what happened to a URL"
    usage = "JOBDIR URL | JOBDIR --file URLS"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON object per answer")
        parser.add_argument(
            "--all", action="store_true", help="look through all queues and logs, however large"
        )
        parser.add_argument(
            "--file",
            metavar="URLS",
            help="the URLs in this file, one per line; - for standard input",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if "--" in args:
            args.remove("--")
        if len(args) != 1 + (opts.file is None):
            raise usage_error(USAGE)
        if "://" in args[0]:
            raise usage_error(
                f"{args[0]} is a URL, but the crawl's folder must come first: {program()} why JOBDIR URL"
            )
        try:
            self._answer(Path(args[0]), args[1:], opts)
        except KeyboardInterrupt:
            self.exitcode = ExitStatus.INTERRUPTED
        except BrokenPipeError:
            ignore_closed_pipe()
        except (StoreError, OSError) as error:
            self.exitcode = ExitStatus.FAILED
            print_error(error, as_json=opts.json)

    def _answer(self, jobdir: Path, urls: list[str], opts: argparse.Namespace) -> None:
        from webcrawl.tools.why.answer import OpenedCrawls  # noqa: PLC0415 - as above, and what follows
        from webcrawl.tools.why.why_text import text_of  # noqa: PLC0415

        with OpenedCrawls(jobdir, deep=opts.all, trusted=_OfProject(self)) as crawls:
            if opts.file is not None:
                _print_many(
                    crawls.answers(_lines(opts.file)),
                    f"{opts.file}: contains no URL",
                    as_json=opts.json,
                )
            else:
                (answer,) = crawls.answers(urls)
                sys.stdout.write(_json(answer.to_json()) if opts.json else text_of(answer))


class _OfProject(Container[str]):
    """The code that the project's settings name, read once a crawl has named foreign code."""

    def __init__(self, command: Command) -> None:
        self._command = command

    def __contains__(self, path: object) -> bool:
        from webcrawl.adapter.plain_scrapy import trusted_code  # noqa: PLC0415 - as above

        return path in trusted_code(self._command.settings)


def _print_many(answers: Iterator[WhyAnswer], none: str, *, as_json: bool) -> None:
    """Print an answer a line, and how many have which reason, or that there is `none`."""
    from webcrawl.tools.why.why_text import line_of  # noqa: PLC0415 - as above

    kinds: Counter[tuple[str, str]] = Counter()
    for answer in answers:
        kinds[answer.state, answer.kind] += 1
        sys.stdout.write(_json(answer.to_json()) if as_json else f"{line_of(answer)}\n")
    counted = [
        {"state": state, "kind": kind, "urls": number}
        for (state, kind), number in kinds.most_common()
    ]
    if as_json:
        sys.stdout.write(_json({"summary": counted}))
        return
    sys.stdout.write("\n" if counted else f"{readable(none)}\n")
    for one in counted:
        sys.stdout.write(readable(f"{one['urls']:>8} {one['state']}: {one['kind']}") + "\n")


def _json(value: Any) -> str:
    return f"{json.dumps(value)}\n"


def _lines(name: str) -> list[str]:
    """Return the URLs of a file, one per line; OSError if it cannot be read."""
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    lines = data.decode("utf-8", "replace").split("\n")
    return [line.strip() for line in lines if line.strip()]
