"""What a start takes: medians of CPU and wall-clock seconds of commands that have next to nothing
to do.

The crawl has one page, and a robots.txt before it: without POLITENESS_MIN_DELAY=0 it waits a second
between the two. Bytecode is in a folder of its own, and each command's first run, which writes it,
does not count. `--tree` measures another checkout in turn with this one, each with the Python of
its own `.venv` if it has one. A command that fails ends the measurement: its time says nothing.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from threading import Thread

from benchmarks.support.processes import beside
from benchmarks.support.report import report

ROOT = Path(__file__).parent.parent
# 2 and 3 are those of `ctl` where no crawl is running, in older and newer trees
EXPECTED_STATUSES = (0, 2, 3)
ONE_PAGE = [
    "-a",
    "follow=0",
    "-s",
    "PRIVATE_NETWORKS_ALLOWED=127.0.0.0/8",
    "-s",
    "POLITENESS_MIN_DELAY=0",
]


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Nothing."""


def _serve(ready: Connection, folder: str) -> None:
    """Serve a folder, and send the port when it is ready."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        ready.send(server.server_port)
        ready.recv()


def seconds_of(tree: Path, words: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the CPU and wall-clock seconds of a Python process in a checkout.

    End this process if that one fails.
    """
    own = tree / ".venv/bin/python"
    python = str(own) if own.exists() else sys.executable
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [python, *words], cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in EXPECTED_STATUSES:
        sys.exit(f"{tree}: {words}: status {done.returncode}: {done.stderr[-500:]}")
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, seconds


def main() -> None:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="runs of each command (%(default)s)")
    parser.add_argument(
        "--tree", type=Path, help="another checkout, measured in turn with this one"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, site = Path(name), Path(name) / "site"
        site.mkdir()
        (site / "index.html").write_text("<title>One</title><p>One page.")
        (site / "robots.txt").write_text("User-agent: *\nDisallow:\n")
        environment = {
            key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"
        }
        environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        with beside(_serve, str(site)) as port:
            url, job = f"http://127.0.0.1:{port}/", folder / "job"
            crawl = ["-m", "webcrawl", "crawl", url, *ONE_PAGE, "-s"]
            seconds_of(ROOT, [*crawl, f"JOBDIR={job}"], environment)
            commands = {
                "python": ["-c", "pass"],
                "import scrapy.cmdline": ["-c", "import scrapy.cmdline"],
                "webcrawl ctl JOBDIR status": ["-m", "webcrawl", "ctl", str(job), "status"],
                "webcrawl why --help": ["-m", "webcrawl", "why", "--help"],
                "webcrawl why JOBDIR URL": ["-m", "webcrawl", "why", str(job), url],
                "webcrawl verify JOBDIR": ["-m", "webcrawl", "verify", str(job)],
                "webcrawl crawl, one page": [*crawl, f"JOBDIR={folder / 'new'}"],
            }
            for what, words in commands.items():
                _measure_command(what, words, environment, options, folder / "new")


def _measure_command(
    what: str, words: list[str], environment: dict[str, str], options: argparse.Namespace, job: Path
) -> None:
    """Run one command in turn in all checkouts, and report the medians."""
    trees = {"": ROOT} | ({"other_": options.tree} if options.tree else {})
    times: dict[str, list[tuple[float, float]]] = {of: [] for of in trees}
    for _ in range(options.rounds + 1):
        for of, tree in trees.items():
            shutil.rmtree(job, ignore_errors=True)
            times[of].append(seconds_of(tree, words, environment))
    figures: dict[str, object] = {}
    for of, found in times.items():
        cpu, seconds = zip(*found[1:], strict=True)
        figures |= {f"{of}cpu_seconds": median(cpu), f"{of}seconds": median(seconds)}
    report("start", what=what, **figures)


if __name__ == "__main__":
    main()
