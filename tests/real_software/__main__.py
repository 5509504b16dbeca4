"""Crawls software of Debian's packages on loopback, each beside an independent walk, and writes
what was missing: `python -m tests.real_software [NAME...] [--page FILE]`.

Exit status 1: a page of a walk is missing without a reason that `why` states, or a crawl did not
end by itself. `.ci/sites` installs the packages; software that is not installed is left out, with a
line.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tests.real_software.sites import SITES, Site, served
from tests.real_software.walk import Walked, walk
from webcrawl.tools.why.answer import why

MOST = 3000  # URLs that a walk fetches
SECONDS = 1200  # after which a crawl is stopped, which counts as not ended by itself
BEHIND = "linked only from pages that were not fetched"
BEHIND_ERRORS = "linked only from error pages with status 200"
HEAD = "| software | walk | fetched | missing | without a reason | beyond the walk | ended | seconds |\n"
Log = dict[str, tuple[str, str]]


@dataclass
class Result:
    """How a crawl compares with a walk."""

    name: str
    walked: int
    is_whole: bool
    fetched: int
    reasons: Counter[str]
    unexplained: list[str]
    extra: int
    is_ended: bool
    seconds: float
    examples: dict[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> int:
        return self.reasons.total() + len(self.unexplained)

    @property
    def is_good(self) -> bool:
        return self.is_ended and not self.unexplained

    def row(self) -> str:
        walked = f"{self.walked:,}" if self.is_whole else f"the first {self.walked:,}"
        cells = (self.name, walked, f"{self.fetched:,}", f"{self.missing:,}")
        cells += (f"{len(self.unexplained):,}", f"{self.extra:,}")
        cells += ("by itself" if self.is_ended else "no", f"{self.seconds:.0f}")
        return f"| {' | '.join(cells)} |\n"


def compare(site: Site, folder: Path) -> Result:
    """Serve, walk and crawl one software."""
    with served(site, folder) as start:
        walked = walk(start, MOST)
        begun = time.monotonic()
        is_ended = crawl(start, folder / "job")
        seconds = time.monotonic() - begun
    log = fetched_by(folder / "job")
    fetched = {url for url, (status, _) in log.items() if status == "200"}
    result = Result(
        name=site.name,
        walked=len(walked.pages),
        is_whole=walked.is_whole,
        fetched=len(fetched),
        reasons=Counter(),
        unexplained=[],
        extra=len(fetched - walked.pages.keys()),
        is_ended=is_ended,
        seconds=seconds,
    )
    explain(result, walked, log, folder / "job")
    return result


def crawl(start: str, job: Path) -> bool:
    """Crawl as README says, without delay; return whether the crawl has ended by itself."""
    given = ("PRIVATE_NETWORKS_ALLOWED=127.0.0.0/8", "PORTS_ALLOWED=1-65535", "POLITENESS_FACTOR=0")
    given += (f"CLOSESPIDER_TIMEOUT={SECONDS}", "OUTPUTS=")
    settings = [word for one in given for word in ("-s", one)]
    words = ["-m", "webcrawl", "crawl", start, "-o", str(job), "--delay", "0", *settings]
    with (job.parent / "crawl.log").open("wb") as log:
        subprocess.run([sys.executable, *words], check=True, stdout=log, stderr=log)
    stats = json.loads((job / "stats.json").read_text())
    return stats.get("reason") == "finished"


def fetched_by(job: Path) -> Log:
    """Return the URLs of crawl.log with their statuses, and what it notes about each."""
    lines = (line.split() for line in (job / "logs/crawl.log").read_text().splitlines())
    return {words[3]: (words[1], words[-1]) for words in lines if len(words) > 3}


def explain(result: Result, walked: Walked, log: Log, job: Path) -> None:
    """Ask `why` about each page of the walk that the crawl has not."""
    said = {url: why(job, url).to_json() for url in walked.statuses if url not in log}
    # what is fetched all the same has a canonical form that differs
    not_fetched = {url: one for url, one in said.items() if one["state"] != "fetched"}
    errors = {url for url, (_, notes) in log.items() if "soft404" in notes}
    for url, one in not_fetched.items():
        parents = set(walked.links[url])
        if url not in walked.pages:
            continue
        if one["state"] != "unknown":
            reason = one["kind"]
        elif parents and parents <= not_fetched.keys():
            reason = BEHIND
        elif parents and parents <= not_fetched.keys() | errors:
            reason = BEHIND_ERRORS
        else:
            result.unexplained.append(url)
            continue
        result.reasons[reason] += 1
        result.examples.setdefault(reason, url)


def page(results: list[Result]) -> str:
    """Return the table of a page of the documents."""
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    rows = "".join(one.row() for one in results)
    parts = [f"Crawled on {day}.\n\n{HEAD}|{'---|' * 8}\n{rows}"]
    for one in results:
        if one.reasons:
            lines = "".join(f"- {many:,}: {kind}\n" for kind, many in one.reasons.most_common())
            parts.append(f"### {one.name}\n\n{lines}")
    return "\n".join(parts)


def main() -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.real_software")
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of a software's name (all)")
    parser.add_argument("--page", type=Path, help="write the table between two comments of a page")
    parser.add_argument("--keep", type=Path, help="keep the folders of servers and crawls here")
    parser.add_argument("--packages", action="store_true", help="name Debian's packages and end")
    given = parser.parse_args()
    if given.packages:
        sys.stdout.write("\n".join(name for site in SITES for name in site.packages) + "\n")
        return 0
    chosen = [
        site
        for site in SITES
        if not given.names or any(name.lower() in site.name.lower() for name in given.names)
    ]
    results = []
    for site in chosen:
        if not site.needs.exists():
            _say(f"{site.name}: left out; it needs {' '.join(site.packages)}")
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = given.keep / site.name if given.keep else Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            result = compare(site, folder.resolve())
        results.append(result)
        _say(result.row().rstrip())
        for kind, url in result.examples.items():
            _say(f"    {result.reasons[kind]:,} {kind}, as {url}")
        for url in result.unexplained[:20]:
            _say(f"    without a reason: {url}")
    if given.page:
        write(given.page, page(results))
    return 0 if all(one.is_good for one in results) else 1


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def write(path: Path, table: str) -> None:
    """Write the table into a page, from its comment on."""
    before, mark, _ = path.read_text().partition("<!-- made by tests.real_software -->\n")
    path.write_text(f"{before}{mark}\n{table}")


if __name__ == "__main__":
    sys.exit(main())
