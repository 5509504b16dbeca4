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
from webcrawl.tools.tool_command import (
    ToolCommand,
    discard_further_output,
    print_error,
    usage_error,
    write_out,
    write_text,
)

if TYPE_CHECKING:
    from webcrawl.tools.why.answer import WhyAnswer

USAGE = f"give a folder and a URL: {program()} why JOBDIR URL, or --file URLS"


class Command(ToolCommand):
    """Explains what happened to one URL, or to each URL of a file.

    Exit status 0, whatever the answer; 1 and a line if the folder cannot be read as a crawl.
    """

    summary = "Explain what happened to a URL"
    usage = "JOBDIR URL | JOBDIR --file URLS"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add --json, --all and --file."""
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
        """Explain one URL, or each URL of a file."""
        if "--" in args:
            args.remove("--")
        expected_args = 2 if opts.file is None else 1
        if len(args) != expected_args:
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
            discard_further_output()
        except (StoreError, OSError) as error:
            self.exitcode = ExitStatus.FAILED
            print_error(error, as_json=opts.json)

    def _answer(self, jobdir: Path, urls: list[str], opts: argparse.Namespace) -> None:
        """Print the answer on one URL, or a line for each URL of a file."""
        from webcrawl.tools.why.answer import OpenedCrawls  # noqa: PLC0415 - as above, and what follows
        from webcrawl.tools.why.why_text import text_of  # noqa: PLC0415

        with OpenedCrawls(jobdir, deep=opts.all, trusted=_CodeOfProject(self)) as crawls:
            if opts.file is not None:
                _print_many(
                    crawls.answers(_read_urls(opts.file)),
                    f"{opts.file}: contains no URL",
                    as_json=opts.json,
                )
            else:
                (answer,) = crawls.answers(urls)
                write_text(_json(answer.to_json()) if opts.json else text_of(answer))
            write_out()


class _CodeOfProject(Container[str]):
    """The dotted paths that the project's settings name, which may be imported.

    The settings are read only when a crawl names code that is not ours: reading them loads Scrapy.
    """

    def __init__(self, command: Command) -> None:
        self._command = command

    def __contains__(self, path: object) -> bool:
        from webcrawl.adapter.plain_scrapy import trusted_code  # noqa: PLC0415 - as above

        return path in trusted_code(self._command.settings)


def _print_many(answers: Iterator[WhyAnswer], no_answers: str, *, as_json: bool) -> None:
    """Print one line per answer, then how many URLs have which state and reason.

    Print `no_answers` if there are none.
    """
    from webcrawl.tools.why.why_text import line_of  # noqa: PLC0415 - as above

    urls_by_kind: Counter[tuple[str, str]] = Counter()
    for answer in answers:
        urls_by_kind[answer.state, answer.kind] += 1
        write_text(_json(answer.to_json()) if as_json else f"{line_of(answer)}\n")
    if as_json:
        summary = [
            {"state": state, "kind": kind, "urls": urls}
            for (state, kind), urls in urls_by_kind.most_common()
        ]
        write_text(_json({"summary": summary}))
        return
    write_text("\n" if urls_by_kind else f"{readable(no_answers)}\n")
    for (state, kind), urls in urls_by_kind.most_common():
        write_text(readable(f"{urls:>8} {state}: {kind}") + "\n")


def _json(value: Any) -> str:
    return f"{json.dumps(value)}\n"


def _read_urls(name: str) -> list[str]:
    """Return the URLs in a file, one per line. Raise OSError if the file cannot be read."""
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    lines = data.decode("utf-8", "replace").split("\n")
    return [line.strip() for line in lines if line.strip()]
