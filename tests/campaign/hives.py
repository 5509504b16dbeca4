"""Hives under fire: `python -m tests.campaign.hives --seed 1 --kills 10`.

See docs/checkpoints-and-crashes.md.
"""

import argparse
import time
from collections import Counter
from random import Random

from tests.campaign.programs import SETTINGS, SLACK, Command, hostile_web, say, tell, workshop
from tests.support.crashes import warm
from tests.support.hive_campaign import STROKES, assert_survived, campaign
from tests.support.hives import shared

PATIENT = {
    # strokes take their time: no host that answers is given up before all links to it are found
    "HOST_PATIENCE": 120,
    "OUTAGE_END_WAIT": 15,
    # for so long, those that were killed before they had the hive's key wait for one that has it
    "HIVE_LEASE": 5,
}
SIZES = ("join", "leave")


def run(options, folder, simweb):
    """Strikes one hive as often as asked for."""
    chance, begun = Random(options.seed), time.monotonic()
    drones = options.drones or chance.choice((2, 3, 4))
    strokes = [chance.choice(options.strokes) for _ in range(options.kills)]
    each = max(20, options.pages * 2 // (options.kills + 1))
    with campaign(
        folder, hostile_web(simweb, options), chance, say, drones=drones, kind=Command,
        settings={**SETTINGS, **PATIENT, "HIVE_PARTITION": options.partition},
    ) as struck:  # fmt: skip
        struck.run(strokes, (each // 6, each // 2))
        failing = assert_survived(struck, slack=SLACK, patience=600, patient=True)
    hits = struck.hive.hits()
    assert shared(hits) == {} or {*SIZES} & {*strokes}
    # a busy machine takes so long for a stroke that the crawl may end before the last of them
    tell(
        strokes=len(struck.struck), drones=drones, of_each=dict(Counter(struck.struck)), requests=len(hits),
        urls=len({hit.url for hit in hits}), still_failing=len(failing), seconds=round(time.monotonic() - begun),
    )  # fmt: skip


def main():
    """Run the program with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.hives", description=__doc__)
    parser.add_argument("--kills", type=int, default=10, help="strokes of all kinds")
    parser.add_argument("--drones", type=int, default=0, help="0: two to four, by chance")
    parser.add_argument("--hosts", type=int, default=80)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--partition", default="domain", help="HIVE_PARTITION")
    parser.add_argument(
        "--strokes", nargs="+", choices=STROKES, default=[*STROKES], help="which kinds"
    )
    options = parser.parse_args()
    warm()
    with workshop("hive") as (folder, simweb):
        run(options, folder, simweb)


if __name__ == "__main__":
    main()
