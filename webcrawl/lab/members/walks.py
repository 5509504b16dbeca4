"""`scrapy lab walks`: what a random walk says of the web."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.base.program import program
from webcrawl.base.readable import readable
from webcrawl.store.errors import StoreError
from webcrawl.tools.commands.console import say_all, whole
from webcrawl.tools.tool_command import ToolCommand, usage_error

if TYPE_CHECKING:
    from webcrawl.lab.studies.random_walks import Walked

SAMPLES = ("near-pagerank", "near-uniform")
MOST = 10**9


class Command(ToolCommand):
    """Exit status 0, 1 if a file cannot be read, 2 for a wrong command line."""

    says = "Sample pages, or judge an index, by a random walk (Henzinger)"

    def syntax(self) -> str:
        return "JOBDIR [options]"

    def long_desc(self) -> str:
        return (
            f"JOBDIR: of a {program()} crawl walk, which may be under way. Says what was visited, or prints a sample of"
            " the pages, one URL per line, or estimates which part of the web's PageRank an index has."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--sample", metavar="KIND", help=f"print pages: {' or '.join(SAMPLES)}")
        parser.add_argument("-n", dest="most", metavar="N", default="1000", help="so many at most (default: 1000)")
        parser.add_argument("--index", metavar="FILE", help="judge this set of URLs, one per line, also .gz or .zst")
        parser.add_argument("--burn-in", metavar="N", default="21", help="leave out each walker's first steps (21)")
        parser.add_argument("--seed", metavar="N", default="0", help="another seed makes another sample (0)")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise usage_error(f"one JOBDIR: {program()} lab walks JOBDIR")
        if opts.sample is not None and opts.sample not in SAMPLES:
            raise usage_error(f"--sample {opts.sample}: must be {' or '.join(SAMPLES)}")
        if opts.sample is not None and opts.index is not None:
            raise usage_error("--sample and --index: one of them at a time")
        most, burn_in, seed = (
            whole(name, getattr(opts, place), least, MOST)
            for name, place, least in (("-n", "most", 1), ("--burn-in", "burn_in", 0), ("--seed", "seed", 0))
        )
        from webcrawl.lab.studies.random_walks import read_index, read_walk  # noqa: PLC0415 - numpy: 0.1 s of every command

        try:
            walked = read_walk(Path(args[0]), burn_in)
            if opts.sample is not None:
                found: dict[str, Any] = {"sample": opts.sample, "urls": _sample(walked, opts.sample, most, seed)}
            elif opts.index is not None:
                found = _quality(walked, read_index(Path(opts.index)))
            else:
                found = _about(walked)
            say_all(f"{json.dumps(found)}\n" if opts.json else _as_text(found))
        except (StoreError, OSError) as error:
            self.fail(error)


def _sample(walked: Walked, kind: str, most: int, seed: int) -> list[str]:
    import numpy as np  # noqa: PLC0415 - as above

    random = np.random.default_rng(seed)
    return walked.near_pagerank(most, random) if kind == SAMPLES[0] else walked.near_uniform(most, random)


def _quality(walked: Walked, index: set[str]) -> dict[str, Any]:
    share, error = walked.quality(index)
    return {
        "quality": share,
        "error": error if error == error else None,  # noqa: PLR0124 - no number, of a single walker
        "urls": len(index),
        **_counts(walked),
    }


def _about(walked: Walked) -> dict[str, Any]:
    visits = walked.visits
    order = visits.argsort(kind="stable")[::-1][:10]
    return {
        "lines": walked.lines,
        "failed": walked.failed,
        "came": dict(walked.came),
        **_counts(walked),
        "pages": len(walked.urls),
        "most_visited": [[walked.urls[page], int(visits[page])] for page in order],
    }


def _counts(walked: Walked) -> dict[str, Any]:
    made = Counter(walked.walkers.tolist()).values()
    return {"visits": len(walked.pages), "walkers": len(made), "each": [min(made), max(made)]}


def _as_text(found: dict[str, Any]) -> str:
    if "sample" in found:
        return "".join(f"{readable(url)}\n" for url in found["urls"])
    if "quality" in found:
        error = "of one walker" if found["error"] is None else f"standard error {100 * found['error']:.2f}"
        return f"{100 * found['quality']:.2f} % of the PageRank, {error}: {_made(found)}\n"
    came = ", ".join(f"{count:,} by {how}" for how, count in sorted(found["came"].items(), key=lambda one: -one[1]))
    lines = [
        f"{found['lines']:,} URLs: {came}; {found['failed']:,} failed or were refused",
        f"after the burn-in: {_made(found)}, {found['pages']:,} pages; most often",
        *(f"{count:>10,}  {readable(url)}" for url, count in found["most_visited"]),
    ]
    return "\n".join([*lines, ""])


def _made(found: dict[str, Any]) -> str:
    least, most = found["each"]
    each = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return f"{found['visits']:,} visits of {found['walkers']:,} walkers, {each} each"
