"""Runs a campaign, or goes on with it: `python -m tests.campaign FOLDER` (docs/campaign.md)."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import deque
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


class Piece:
    """A piece that runs. What it has started ends with it."""

    def __init__(self, name, folder):
        self.name, self._words, self._commit = name, words_of(name), commit()
        self._begun = time.monotonic()
        self._date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._said = folder / "said" / f"{name.replace('/', '-')}.txt"
        self._said.parent.mkdir(exist_ok=True)
        with self._said.open("wb") as file, default_signal(signal.SIGINT):
            self._program = subprocess.Popen(
                [sys.executable, "-m", *self._words],
                cwd=ROOT,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    def is_over(self):
        """Return whether it has ended, or its time is over."""
        return self._program.poll() is not None or time.monotonic() - self._begun > MAX_SECONDS

    def stop(self):
        """Kill it if it still runs."""
        if self._program.poll() is None:
            os.killpg(self._program.pid, signal.SIGKILL)
            self._program.wait()

    def result(self):
        """Stop it, and return what came of it."""
        self.stop()
        status, output = self._program.returncode, self._said.read_text(errors="replace")
        return Result(
            self.name,
            status,
            self._date,
            round(time.monotonic() - self._begun, 1),
            self._commit,
            " ".join(self._words),
            figures_of(output),
            why(output) if status else "",
        )


def run(names, folder, *, at_once, hours):
    """Run these pieces, and yield the result of each; begin none after so many hours."""
    undone, begun, running = deque(names), time.monotonic(), []
    try:
        while True:
            while undone and len(running) < at_once and time.monotonic() - begun <= 3600 * hours:
                running.append(Piece(undone.popleft(), folder))
            if not running:
                return
            for piece in [piece for piece in running if piece.is_over()]:
                running.remove(piece)
                yield piece.result()
            time.sleep(0.1)
    finally:
        for piece in running:
            piece.stop()


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
    parser.add_argument(
        "--at-once",
        type=int,
        default=1,
        help="pieces that run beside each other: kills and hives mostly wait (default: 1)",
    )
    parser.add_argument("--piece", help="one, whether it is done or not, as kills/17")
    parser.add_argument(
        "--page", type=Path, help=f"where the page goes (default: {PAGE} in the folder)"
    )
    return parser.parse_args()


def main():
    """Run the pieces that are not done yet, and publish after each."""
    options = parsed()
    options.folder.mkdir(parents=True, exist_ok=True)
    results = Results(options.folder / "results.jsonl")
    target = options.page or options.folder / PAGE
    families = [
        family for family in FAMILIES if options.only is None or family.name in options.only
    ]
    undone = [name for name in in_turns(families) if name not in results.last]
    names = [options.piece] if options.piece else undone
    for result in run(names, options.folder, at_once=options.at_once, hours=options.hours):
        results.add(result)
        publish(results, target)
        held = f"does not hold: {result.why}" if result.status else json.dumps(result.figures)
        say(f"{result.piece}: {result.seconds:.0f} s, {held}")
    publish(results, target)
    return any(result.status for result in results.last.values())


if __name__ == "__main__":
    sys.exit(main())
