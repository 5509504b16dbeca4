"""A long crawl of a web with every known fault, checked at its end.

The web has every kind of the synthetic web at once, TLS, FTP and gopher hosts, and attackers; times
are a tenth of the defaults or less, and memory limits are small enough to be reached. Before it,
two short crawls of good hosts show what attackers cost them (`soak_fair`). The exit status is 1 if
a rule of `soak_judge` or `soak_fair` is broken.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import fmean
from threading import Event, Thread
from typing import Self

from benchmarks.support.report import report
from benchmarks.support.soak_fair import fair, rates
from benchmarks.support.soak_judge import accounted, flat, said, sound, thirds
from benchmarks.support.soak_web import served

SETTINGS = {
    "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/16",
    "PORTS_ALLOWED": "1024-65535",  # its gopher servers listen anywhere
    "CONCURRENT_REQUESTS": 100,
    "DOWNLOAD_TIMEOUT": 3,
    "DNS_TIMEOUT": 2,
    "HOST_RETRY_WAIT": 2,
    "POLITENESS_FACTOR": 1,
    "POLITENESS_MIN_DELAY": 0.02,
    "POLITENESS_MAX_DELAY": 30,
    "CRAWL_DELAY_MAX": 1,
    "RETRY_AFTER_MAX": 1,
    "CHECKPOINT_INTERVAL": 10,
    "HOST_MAX_FAILURES": 6,
    "HOST_PATIENCE": 60,
    "OUTAGE_END_WAIT": 10,
    "DOWNLOAD_TRUNCATE": 2**16,
    "FRONTIER_MEMORY": 8,
    "SEEN_MEMORY": 16,
    "WARC_MAX_SIZE": 200,
    "ITEM_PIPELINES": json.dumps({"webcrawl.adapter.pipelines.outputs.LinkLogPipeline": 300}),
}
SAMPLE_SECONDS = 2.0
LAST_SAMPLES = 4  # which may be of a crawl that is ending
KEPT_SOCKETS = 20  # connections that may be kept for the hosts' next turn
SEEN_STORE_FILES = 6  # which come and go
MAX_PRINTED = 50  # broken rules


@dataclass
class Sampler:
    """Samples memory and descriptors of a process, and the size of its log."""

    pid: int
    log: Path
    mib: list[float] = field(default_factory=list)
    sockets: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    _stop: Event = field(default_factory=Event)

    def __enter__(self) -> Self:
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        """Take a sample every SAMPLE_SECONDS until the process ends."""
        folder = Path(f"/proc/{self.pid}")
        while not self._stop.wait(SAMPLE_SECONDS):
            try:
                status = (folder / "status").read_text()
                size = self.log.stat().st_size if self.log.exists() else 0
                kinds = [_kind(path) for path in (folder / "fd").iterdir()]
            except OSError:  # the process has ended
                return
            if "VmRSS:" in status:
                self.mib.append(int(status.partition("VmRSS:")[2].split()[0]) / 1024)
                self.sockets.append(kinds.count("socket"))
                self.done.append(size)
                self.files.append(len(kinds) - kinds.count("socket") - kinds.count(""))


def _kind(descriptor: Path) -> str:
    """Return the kind of an open file, or "" if it was closed in the meantime."""
    try:
        return str(descriptor.readlink()).partition(":")[0]
    except OSError:  # closed in the meantime
        return ""


def crawl(
    folder: Path, nameserver: str, requests: int, settings: list[str]
) -> tuple[Sampler, int, float]:
    """Crawl up to so many answers, and return the samples, the exit status and the seconds."""
    values = {
        **SETTINGS,
        "JOBDIR": folder / "job",
        "HOSTS_FILE": folder / "hosts",
        "DNS_NAMESERVERS": nameserver,
    }
    values["CLOSESPIDER_PAGECOUNT"] = requests
    command = [
        sys.executable,
        "-m",
        "scrapy",
        "crawl",
        "web",
        "-a",
        f"seeds={folder / 'seeds.txt'}",
    ]
    for value in [*(f"{name}={value}" for name, value in values.items()), *settings]:
        command += ["-s", value]
    begun = time.monotonic()
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            with Sampler(process.pid, folder / "job/logs/crawl.log") as samples:
                status = process.wait()
            for figures in (samples.mib, samples.sockets, samples.files, samples.done):
                del figures[-LAST_SAMPLES:]
        finally:
            process.kill()
    return samples, status, time.monotonic() - begun


def broken_rules(folder: Path, samples: Sampler, status: int) -> Iterator[str]:
    """Yield a line for each rule that the crawl has broken."""
    if status:
        yield f"exit status {status}"
    yield from flat("MiB", thirds(samples.mib, samples.done))
    yield from flat("open files", thirds(samples.files, samples.done), spare=SEEN_STORE_FILES)
    # Their number depends on how slowly the web answers just then, from the first minute on; leaked
    # ones are more than ever before.
    first, second, last = thirds(samples.sockets, samples.done)
    yield from flat(
        "sockets", (first, [*first, *second], last), {"maximum": max}, spare=KEPT_SOCKETS
    )
    yield from said(folder / "output", folder / "job")
    yield from accounted(folder / "job", folder / "asked.jsonl")
    yield from sound(folder / "job")


def run(folder: Path, options: argparse.Namespace) -> int:
    """Run the short crawls and the long one, and return 1 if a rule is broken."""
    broken: list[str] = []
    figures: dict[str, object] = {}
    if options.phase:
        alone, beside = rates(folder, options.phase, SETTINGS)
        figures = {"good": alone, "good_beside_attackers": beside}
        broken += fair(alone, beside)
    if options.requests:
        figures |= soak(folder, options, broken)
    for line in broken:
        print(line, file=sys.stderr)
    report("soak", **figures, broken=len(broken))
    return bool(broken)


def soak(folder: Path, options: argparse.Namespace, broken: list[str]) -> dict[str, object]:
    """Run the long crawl, add the rules that it breaks to `broken`, and return its figures."""
    pages = max(options.requests, options.hosts)
    with served(folder, options.hosts, pages, attacked=not options.without_attackers) as nameserver:
        samples, status, seconds = crawl(folder, nameserver, options.requests, options.setting)
    (folder / "samples.json").write_text(
        json.dumps([samples.mib, samples.sockets, samples.files, samples.done])
    )
    broken += islice(broken_rules(folder, samples, status), MAX_PRINTED)
    stats = json.loads((folder / "job/stats.json").read_text())
    mib, sockets, files = (
        thirds(part, samples.done) for part in (samples.mib, samples.sockets, samples.files)
    )
    names = ("pages", "failures", "queued", "hosts", "bytes", "links", "seen/keys", "errors")
    return {
        **{name: stats[name] for name in names},
        "outcomes": sum(name.startswith(("outcome/", "truncated/", "flaw/")) for name in stats),
        "seconds": seconds,
        "mib": [round(fmean(part or [0]), 1) for part in mib],
        "mib_max": [round(max(part, default=0), 1) for part in mib],
        "sockets_min": [min(part, default=0) for part in sockets],
        "sockets_max": [max(part, default=0) for part in sockets],
        "files_max": [max(part, default=0) for part in files],
    }


def main() -> int:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument(
        "--requests", type=int, default=300_000, help="answers that end the long crawl; 0: none"
    )
    parser.add_argument("--hosts", type=int, default=4000, help="hosts of the synthetic web")
    parser.add_argument(
        "--without-attackers", action="store_true", help="no attackers in the long crawl"
    )
    parser.add_argument(
        "--phase", type=float, default=40, help="seconds of each of the two short crawls; 0: none"
    )
    parser.add_argument(
        "--keep", type=Path, help="new folder for all files (default: a temporary one)"
    )
    parser.add_argument(
        "-s", "--setting", action="append", default=[], help="setting NAME=VALUE for the long crawl"
    )
    args = parser.parse_args()
    if args.keep:
        args.keep.mkdir(parents=True)
        return run(args.keep.absolute(), args)
    with tempfile.TemporaryDirectory() as folder:
        return run(Path(folder), args)


if __name__ == "__main__":
    sys.exit(main())
