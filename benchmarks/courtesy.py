"""What a crawl spends on the owners of the hosts that it asks: percent of its CPU time, and microseconds per page.

One crawl of the synthetic web with four pages per host, sampled: signatures on every request, requests.log, owners'
preferences recorded in the archive, rate limits read, and strain. A share hardly depends on what else the machine does.
What the reader of documents does for preferences is not in it: it is part of the reading of links.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from types import FrameType

from scrapy.cmdline import execute

from benchmarks.support.crawling import IMPOLITE, measured, served, webcrawl
from benchmarks.support.report import report
from webcrawl.crawl.profiling.profile import Sampler
from webcrawl.net.identity.signing_key import SigningKey

INSIDE = "--inside"
PER_HOST = 4
INTERVAL = 0.001  # seconds of CPU time between two samples, as far as the system's clock goes
PARTS = {  # a file of the package, and the functions of it that count if not all do
    "net/identity/request_signing.py": ("signatures", ()),
    "net/http_request.py": ("signatures", ("with_fields",)),
    "adapter/pipelines/requests.py": ("requests.log", ()),
    "net/retry_after.py": ("rate limits", ()),
    "frontier/booking.py": ("strain", ()),
    "crawl/withholding.py": ("preferences", ()),
    "items.py": ("preferences", ("_preferences", "said", "said_so_far")),
    "model.py": ("rate limits", ("names",)),  # of headers: found for them, and then known to preferences
}


def judge(frame: FrameType | None) -> str:
    """The part to which a stack belongs, wherever in it; `rest` for all else, and `start` for imports."""
    found = "rest"
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith("<frozen importlib"):
            return "start"
        part, functions = PARTS.get(code.co_filename.rpartition("/webcrawl/")[2], ("", ()))
        if part and (not functions or code.co_name in functions):
            found = part
        frame = frame.f_back
    return found


def inside(command: list[str]) -> None:
    """Runs the crawl in this process, and prints the parts' CPU seconds."""
    with Sampler(judge, interval=INTERVAL) as sampler:
        try:
            execute(["scrapy", *command])
        except SystemExit as end:
            if end.code:
                raise
    print(json.dumps(sampler.spent))


def measure(hosts: int) -> None:
    """Measures one crawl, and prints the line."""
    with served(hosts, hosts * PER_HOST), tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        SigningKey.new(folder / "bot.pem")
        on = ("OUTPUTS=warc requests", f"BOT_KEY={folder / 'bot.pem'}", "BOT_AGENT=https://bot.example.org")
        command = webcrawl(folder, hosts, *IMPOLITE, *on)
        command[command.index("scrapy")] = "benchmarks.courtesy"
        command.insert(command.index("crawl"), INSIDE)
        spent = json.loads(measured(command).said.splitlines()[-1])
        pages = json.loads((folder / "job/stats.json").read_text())["pages"]
    spent.pop("start", None)
    spent["rest"] += spent.pop("", 0.0)  # threads that have ended
    total = sum(spent.values())
    shares = {part: round(100 * seconds / total, 2) for part, seconds in sorted(spent.items()) if part != "rest"}
    each = {part: round(1e6 * seconds / pages, 1) for part, seconds in sorted(spent.items())}
    report("courtesy", pages=pages, percent=shares, together=sum(shares.values()), us_a_page=each)


def main() -> None:
    if sys.argv[1:2] == [INSIDE]:
        return inside(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m benchmarks.courtesy", description=__doc__)
    parser.add_argument("--hosts", type=int, default=2500, help="hosts of each crawl (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="crawls (default: %(default)s)")
    args = parser.parse_args()
    for _ in range(args.rounds):
        measure(args.hosts)
    return None


if __name__ == "__main__":
    main()
