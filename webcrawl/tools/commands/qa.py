"""`webcrawl qa`: how well a WACZ package replays."""

from __future__ import annotations

import argparse
import asyncio
import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.base.loading import missing
from webcrawl.base.program import ExitStatus, program
from webcrawl.base.readable import count, readable
from webcrawl.base.settings.crawl_settings import ACTIONS
from webcrawl.tools.tool_command import ToolCommand, print_error, print_line, usage_error

if TYPE_CHECKING:
    from webcrawl.adapter.replays import ReplayComparison
    from webcrawl.record.packaged_answers import PackagedAnswers

MIN_SAME_SHARE = 0.9  # of words, pixels and resources, by default


class Command(ToolCommand):
    """Compares the pages of a WACZ package with their replay (docs/browser.md).

    Exit status 1 if a page differs, or the package cannot be replayed.
    """

    summary = "Replay a WACZ package in a browser, and list the pages that differ"
    usage = "FILE.wacz [--live] [--actions NAMES] [--least SHARE] [--json]"

    def long_desc(self) -> str:
        return (
            "Shows each page of the package in a browser that has no network, and compares its text and a screenshot"
            " with those that the crawl's browser archived (RENDER=all, RENDER_VIEWS=view), or with the live page. A"
            " page differs if less than 0.9 of its words, of its pixels or of the resources that it asks for are there."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add --live, --actions, --least and --json."""
        super().add_options(parser)
        parser.add_argument(
            "--live",
            action="store_true",
            help="compare with the live pages, which are fetched at once and without asking robots.txt",
        )
        parser.add_argument(
            "--actions", metavar="NAMES", default="none", help="the RENDER_ACTIONS of the crawl"
        )
        parser.add_argument(
            "--least",
            metavar="SHARE",
            default=str(MIN_SAME_SHARE),
            help=f"what must be the same, from 0 to 1 (default: {MIN_SAME_SHARE})",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object per page")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Compare all pages of the package, if the browser is installed."""
        if len(args) != 1:
            raise usage_error(f"one WACZ package: {program()} qa crawls/web/web.wacz")
        actions = _actions(opts.actions)
        min_share = _share(opts.least)
        if find_spec("playwright") is None:
            self._fail(missing("scrapy_playwright"), as_json=opts.json)
            return
        from playwright.async_api import Error as PlaywrightError  # noqa: PLC0415 - an extra

        from webcrawl.record.packaged_answers import NotReplayable, PackagedAnswers  # noqa: PLC0415

        try:
            package = PackagedAnswers(Path(args[0]))
            asyncio.run(self._compare(package, actions, min_share, opts))
        except (NotReplayable, PlaywrightError, OSError) as error:
            self._fail(str(error).partition("\n")[0], as_json=opts.json)

    async def _compare(
        self,
        package: PackagedAnswers,
        actions: tuple[str, ...],
        min_share: float,
        opts: argparse.Namespace,
    ) -> None:
        """Replay all pages, print those that differ, and set the exit status."""
        from webcrawl.adapter.replays import compare_pages  # noqa: PLC0415 - an extra

        pages = 0
        different = 0
        unseen = 0  # pages of which the crawl kept neither text nor screenshot
        async for page in compare_pages(package, actions, live=opts.live):
            differs = page.differs(min_share)
            has_view = page.text is not None or page.screenshot is not None
            pages += 1
            different += differs
            unseen += not has_view and not page.error
            if opts.json:
                print_line(json.dumps({**page.as_dict(), "differs": differs}))
            elif differs or page.missing:
                _print_comparison(page)
        if not opts.json:
            print_line(f"{count(pages, 'page')} replayed, {different} of them different")
        if unseen:
            print_error(
                f"{count(unseen, 'page')} compared by resources only: the crawl kept neither document nor"
                " screenshot (RENDER=all, RENDER_VIEWS=view)"
            )
        if different:
            self.exitcode = ExitStatus.FAILED

    def _fail(self, why: str, *, as_json: bool) -> None:
        print_error(why, as_json=as_json)
        self.exitcode = ExitStatus.FAILED


def _print_comparison(page: ReplayComparison) -> None:
    """Print how much of a page is the same, and the resources that its replay lacks."""
    shares = (("text", page.text), ("screenshot", page.screenshot), ("resources", page.resources))
    known = ", ".join(f"{name} {share:.1%}" for name, share in shares if share is not None)
    print_line(f"{page.url}: {page.error or known}")
    for url in page.missing:
        print_line(readable(f"  missing: {url}"))


def _actions(text: str) -> tuple[str, ...]:
    """Return the names in --actions. Raise UsageError if one is no name of RENDER_ACTIONS."""
    try:
        found: tuple[str, ...] | None = ACTIONS.read(text)
    except ValueError as error:
        raise usage_error(f"--actions {text}: must be {ACTIONS.allowed}") from error
    return found or ()


def _share(text: str) -> float:
    """Return the value of --least. Raise UsageError if it is no number from 0 to 1."""
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise usage_error(f"--least {text}: must be a number from 0 to 1")
    return share
