"""The rules for a crawl that has stopped, whatever it was sent; each broken one is reported in one
line.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import msgpack
import numpy as np
from fastwarc.warc import ArchiveIterator, WarcRecordType

from webcrawl.base.model import Link, Status, unpack
from webcrawl.frontier.seen.protocol import STATE as SEEN
from webcrawl.frontier.seen.sorted_keys import marked
from webcrawl.frontier.seen.waiting_records import COUNT
from webcrawl.frontier.seen.waiting_records import VERDICTS as NEW
from webcrawl.lab.simweb import overlaps, robots_first
from webcrawl.lab.simweb.host_kinds import is_robots
from webcrawl.lab.simweb.request_log import read
from webcrawl.store.jobdir import domain_row
from webcrawl.store.jobdir.host_row import host_rows
from webcrawl.store.jobdir.host_row import read as read_host
from webcrawl.store.jobdir.meta_row import FRONTIER
from webcrawl.store.jobdir.queue_row import SavedQueues
from webcrawl.store.jobdir.snapshot import Snapshot

MAX_ERROR_CHARS = 4000  # characters of unexpected errors
MAX_GROWTH = 1.05  # of the last third against the second
Figure = Callable[[Iterable[float]], float]
FIGURES: Mapping[str, Figure] = {"mean": fmean, "maximum": max}
# ends of paths of what is no link: a robots.txt, fetched again at times, and a soft 404's probe
ASIDES = ("P", "S")
INTERNAL_ERROR = re.compile(
    r"\b(ERROR|CRITICAL|Traceback|never retrieved|never awaited|ResourceWarning)\b"
)


def thirds(samples: Sequence[float], done: Sequence[int]) -> tuple[Sequence[float], ...]:
    """Return the samples of each third of the work.

    Thirds of the time would depend on the machine's other load.
    """
    one, two = (bisect_left(done, max(done, default=0) * part / 3) for part in (1, 2))
    return samples[:one], samples[one:two], samples[two:]


def flat(
    name: str,
    parts: Sequence[Sequence[float]],
    figures: Mapping[str, Figure] = FIGURES,
    *,
    spare: int = 0,
) -> Iterator[str]:
    """Yield a line for each figure that has grown in the last third.

    It may exceed that of the second third by a twentieth, and by `spare`.
    """
    _, second, last = parts
    if not second or not last:
        yield f"{name}: too few samples"
        return
    for what, figure in figures.items():
        if figure(last) > figure(second) * MAX_GROWTH + spare:
            yield f"{name}: {what} of the last third {figure(last):.1f}, before {figure(second):.1f}"


def said(output: Path, jobdir: Path) -> Iterator[str]:
    """Yield a line for each internal error that was printed, logged or counted."""
    for line in output.read_text(errors="replace").splitlines():
        if INTERNAL_ERROR.search(line):
            yield f"it said: {line[:300]!r}"
    errors = jobdir / "logs/errors.log"
    if errors.exists() and errors.stat().st_size:
        yield f"{errors}: {errors.read_text(errors='replace')[:MAX_ERROR_CHARS]}"
    stats = json.loads((jobdir / "stats.json").read_text())
    for name in ("errors", "outcome/unexpected", f"status/{int(Status.UNEXPECTED)}"):
        if stats.get(name):
            yield f"stats.json: {name} is {stats[name]}"


def accounted(jobdir: Path, requested: Path) -> Iterator[str]:
    """Yield a line for each URL that is not accounted for.

    Every known URL is queued or has one log line. Every requested URL is known, and requested one
    at a time.
    """
    stats = json.loads((jobdir / "stats.json").read_text())
    lines, asides = Counter[str](), set()
    for line in (jobdir / "logs/crawl.log").read_text().splitlines():
        url, way = line.split()[3:5]
        if way.endswith(ASIDES):
            asides.add(url)
        else:
            lines[url] += 1
    with Snapshot(jobdir / "state") as snapshot:
        queued = Counter(link.url for link in _queued(snapshot) if not link.path.endswith(ASIDES))
        kept = _kept(snapshot)
    yield from (f"{count} lines in crawl.log: {url}" for url, count in lines.items() if count > 1)
    yield from (f"queued {count} times: {url}" for url, count in queued.items() if count > 1)
    yield from (f"queued, and has a line: {url}" for url in lines.keys() & queued.keys())
    known = lines.total() + queued.total() + kept
    if known != stats["seen/new"]:
        yield f"{lines.total()} lines, {queued.total()} queued, {kept} on their way, of {stats['seen/new']} new URLs"
    hits = list(read(requested))
    unknown = {hit.url for hit in hits} - lines.keys() - queued.keys() - asides
    yield from (
        f"asked for, with no line and not queued: {url}" for url in unknown if not _is_rules(url)
    )
    yield from (f"two at once: {first.url} and {second.url}" for first, second in overlaps(hits))
    yield from (f"asked before its robots.txt: {hit.url}" for hit in robots_first(hits))


def _is_rules(url: str) -> bool:
    """Return whether a URL in the server's log is a robots.txt."""
    return is_robots("/" + url.split("/", 3)[3])


def _queued(snapshot: Snapshot) -> Iterator[Link]:
    """Yield the links in all queues at the last checkpoint.

    They are those of hosts, of the front-end, and over domains' budgets.
    """
    queues = SavedQueues(snapshot)
    for host in map(read_host, host_rows(snapshot)):
        yield from (unpack(record) for _, record in host.later)
        for queue in host.queues:
            yield from map(unpack, queues.records(queue, "host"))
    for row in snapshot.rows(f"{domain_row.ALL} WHERE waiting > 0"):
        yield from map(unpack, queues.records(domain_row.read(row).queue, "domain"))
    state = msgpack.unpackb(snapshot.get(FRONTIER) or b"")
    for saved in (*state["front"], *state["lines"].values()):
        yield from (unpack(record) for record in queues.records(saved, FRONTIER) if b" " in record)


def _kept(snapshot: Snapshot) -> int:
    """Return how many new URLs the seen store has judged and the frontier has not taken yet."""
    begin, kept = json.loads(snapshot.get(SEEN) or b"")["begin"], 0
    for name, value in snapshot.rows(
        "SELECT name, value FROM meta WHERE name GLOB ?", (f"{NEW}*",)
    ):
        count = COUNT.unpack_from(value)[0]
        skipped = max(0, begin - int(name.removeprefix(NEW)))
        bits = np.frombuffer(value, np.uint8, offset=COUNT.size)
        kept += int(np.count_nonzero(marked(bits, min(skipped, count), count)))
    return kept


def sound(jobdir: Path) -> Iterator[str]:
    """Yield a line for each damage that `webcrawl verify` or another reader of archives finds."""
    command = [sys.executable, "-m", "scrapy", "verify", str(jobdir)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        yield from (
            f"webcrawl verify: {line}" for line in (done.stdout + done.stderr).splitlines()[:20]
        )
    for path in sorted((jobdir / "warc").glob("*.warc.gz*")):
        try:
            with path.open("rb") as file:
                for record in ArchiveIterator(file, parse_http=False):
                    has_digest = record.record_type != WarcRecordType.warcinfo
                    if has_digest and not record.verify_block_digest():
                        yield f"{path.name}: {record.record_id}: block digest"
        except OSError as error:  # damaged compression
            yield f"{path.name}: {error}"
