"""Long tests of hives under fire: `python -m tests.hive_long --seed 1 --kills 20`. See docs/crashes.md."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from random import Random

from tests.crash_long import MIX, Command
from tests.support.crashes import warm
from tests.support.hive_campaign import STROKES, assert_survived, campaign
from tests.support.hives import shared
from webcrawl.lab.simweb import World, running

SETTINGS = {
    "CONCURRENT_REQUESTS": 60,
    "DNS_TIMEOUT": 5,
    "DOWNLOAD_TIMEOUT": 3,
    "HOST_PATIENCE": 120,  # strokes take their time: no host that answers is given up before all links to it are found
    "OUTAGE_END_WAIT": 15,
    "HIVE_LEASE": 5,  # for so long, those that were killed before they had the hive's key wait for one that has it
}
SIZES = ("join", "leave")
SLACK = 0.1  # seconds until server and client on a busy machine notice that an answer has ended


def run(options, folder, web):
    """Strikes one hive as often as asked for."""
    chance, begun = Random(options.seed), time.monotonic()
    strokes = [chance.choice(options.strokes) for _ in range(options.kills)]
    each = max(20, options.pages * 2 // (options.kills + 1))
    with campaign(
        folder, web, chance, _say, drones=options.drones, kind=Command,
        settings={**SETTINGS, "HIVE_PARTITION": options.partition},
    ) as struck:  # fmt: skip
        struck.run(strokes, (each // 6, each // 2))
        failing = assert_survived(struck, slack=SLACK, patience=600, patient=True)
    hits = struck.hive.hits()
    urls = {hit.url for hit in hits}
    assert shared(hits) == {} or {*SIZES} & {*strokes}
    assert len(struck.struck) == options.kills, f"only {len(struck.struck)} strokes: more pages are needed"
    _say(
        f"{len(strokes)} strokes ({_list(Counter(strokes))}), {len(hits)} requests for {len(urls)} URLs, "
        f"{len(failing)} of them still queued that fail always; {time.monotonic() - begun:.0f} s"
    )


def _list(counts):
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())


def _say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.hive_long", description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="strokes of all kinds")
    parser.add_argument("--drones", type=int, default=3)
    parser.add_argument("--hosts", type=int, default=150)
    parser.add_argument("--pages", type=int, default=2500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--partition", default="domain", help="HIVE_PARTITION")
    parser.add_argument("--strokes", nargs="+", choices=STROKES, default=[*STROKES], help="which kinds")
    options = parser.parse_args()
    _say(f"seed {options.seed}")
    warm()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hive-")))
        world = World(
            options.hosts, options.pages, seed=options.seed, mix=MIX, size=(2000, 3000), slow=0.02,
            port=0, tls_port=0, addresses=16,
        )  # fmt: skip
        run(options, folder, stack.enter_context(running(world)))


if __name__ == "__main__":
    main()
