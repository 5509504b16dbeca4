"""What outputs cost a crawl: CPU microseconds per page beside those of the archive alone.

Whole crawls of the synthetic web, in turn with each choice of outputs, start and end included. One
pair of runs on a busy machine says little: the medians of the ratios count. `feed` is Scrapy's
export of URL and title as JSON lines.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from benchmarks.support.crawling import IMPOLITE, measured, served, webcrawl
from benchmarks.support.report import report

ALONE = "OUTPUTS=warc"


def choices(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the settings of each crawl; the first is the baseline."""
    feed = {str(folder / "pages.jsonl"): {"format": "jsonlines", "fields": ["url", "title"]}}
    return {
        "warc": (ALONE,),
        "warc cdxj links tables": ("OUTPUTS=warc cdxj links tables",),
        "warc, feed": (ALONE, f"FEEDS={json.dumps(feed)}"),
    }


def cost(name: str, hosts: int) -> float:
    """Return the microseconds per page of one crawl."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        spent = measured(webcrawl(folder, hosts, *IMPOLITE, *choices(folder)[name])).cpu
        pages = json.loads((folder / "job/stats.json").read_text())["pages"]
    return 1e6 * spent / int(pages)


def main() -> None:
    """Crawl in turn with each choice of outputs, and report the medians."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.outputs", description=__doc__)
    parser.add_argument(
        "--pages", type=int, default=12_000, help="pages of each crawl (default: %(default)s)"
    )
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument(
        "--rounds", type=int, default=5, help="crawls with each choice (default: %(default)s)"
    )
    args = parser.parse_args()
    names = list(choices(Path()))
    with served(args.hosts, args.pages):
        rounds = [{name: cost(name, args.hosts) for name in names} for _ in range(args.rounds)]
    for name in names:
        costs = [one[name] for one in rounds]
        times = statistics.median(one[name] / one["warc"] for one in rounds)
        report(
            f"outputs/{name}",
            us_a_page=statistics.median(costs),
            least_us=min(costs),
            times_warc=times,
        )


if __name__ == "__main__":
    main()
