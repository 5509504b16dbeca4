"""Runs a campaign, or goes on with it: `python -m tests.campaign FOLDER` (docs/campaign.md)."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from tests.campaign.page import page, plot_of_kills
from tests.campaign.pieces import BY_NAME, FAMILIES, in_turns, words_of
from tests.campaign.programs import say
from tests.campaign.results import Result, Results, figures_of, why
from tests.support.commands import default_signal
from tests.support.places import ROOT

MAX_SECONDS = 4 * 3600.0  # of one piece
PAGE = "campaign.md"


def commit():
    """Return the tree's commit, with a + if files were changed since."""
    head, changed = (
        subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
        ).stdout.strip()
        for words in (
            ("rev-parse", "--short", "HEAD"),
            ("status", "--porcelain", "--untracked-files=no"),
        )
    )
    return head + "+" * bool(changed)


def run(name, folder):
    """Run one piece to its end, and return its result; what it starts ends with it."""
    words, said = words_of(name), folder / "said" / f"{name.replace('/', '-')}.txt"
    said.parent.mkdir(exist_ok=True)
    at, begun, date = commit(), time.monotonic(), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with said.open("wb") as file:
        with default_signal(signal.SIGINT):
            command = [sys.executable, "-m", *words]
            program = subprocess.Popen(
                command, cwd=ROOT, stdout=file, stderr=file, start_new_session=True
            )
        try:
            status = program.wait(MAX_SECONDS)
        except subprocess.TimeoutExpired:
            status = -signal.SIGKILL
        finally:
            if program.poll() is None:
                os.killpg(program.pid, signal.SIGKILL)
                program.wait()
    output, seconds = said.read_text(errors="replace"), round(time.monotonic() - begun, 1)
    wrong = why(output) if status else ""
    return Result(name, status, date, seconds, at, " ".join(words), figures_of(output), wrong)


def publish(results, target):
    """Write the page, and beside it a plot of the kills and all that both are made of."""
    last = [*results.last.values()]
    target.write_text(page(last))
    if plot := plot_of_kills(last):
        target.with_suffix(".svg").write_text(plot)
    target.with_suffix(".jsonl").write_text("".join(f"{json.dumps(asdict(one))}\n" for one in last))


def parsed():
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("folder", type=Path, help="for results, and for what programs say")
    parser.add_argument("--only", nargs="+", choices=BY_NAME, help="families")
    parser.add_argument("--hours", type=float, default=1e6, help="begin no piece after so many")
    parser.add_argument("--piece", help="one, whether it is done or not, as kills/17")
    parser.add_argument(
        "--page", type=Path, help=f"where the page goes (default: {PAGE} in the folder)"
    )
    return parser.parse_args()


def main():
    """Run the pieces that are not done yet, one after the other, and publish after each."""
    options, begun = parsed(), time.monotonic()
    options.folder.mkdir(parents=True, exist_ok=True)
    results = Results(options.folder / "results.jsonl")
    target = options.page or options.folder / PAGE
    families = [
        family for family in FAMILIES if options.only is None or family.name in options.only
    ]
    undone = [name for name in in_turns(families) if name not in results.last]
    names = [options.piece] if options.piece else undone
    for name in names:
        if time.monotonic() - begun > 3600 * options.hours:
            break
        result = run(name, options.folder)
        results.add(result)
        publish(results, target)
        held = f"does not hold: {result.why}" if result.status else json.dumps(result.figures)
        say(f"{name}: {result.seconds:.0f} s, {held}")
    publish(results, target)
    return any(result.status for result in results.last.values())


if __name__ == "__main__":
    sys.exit(main())
