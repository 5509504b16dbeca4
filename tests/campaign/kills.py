"""Kills of one crawl with settings drawn by chance: `python -m tests.campaign.kills --kills 10
--seed 3`.

See docs/checkpoints-and-crashes.md.
"""

import argparse
import time
from itertools import islice, repeat
from random import Random

from tests.campaign.agreement import unlike, untruths
from tests.campaign.makeup import Makeup, in_words
from tests.campaign.makeup import drawn as drawn_makeup
from tests.campaign.programs import (
    IN_FLIGHT,
    SETTINGS,
    SLACK,
    Command,
    hostile_web,
    say,
    tell,
    workshop,
)
from tests.support.crashes import assert_as_untouched, crash, crawl_of, warm
from tests.support.restarts import drawn

PATIENCE = 150  # seconds, a quarter of what a crawl may take that is left alone


def kill(options, folder, simweb):
    """Kill one crawl as often as asked for, and compare it with an untouched crawl of the same
    web.
    """
    warm()
    begun = time.monotonic()
    chance = Random(options.seed)
    server, quiet = (hostile_web(simweb, options) for _ in range(2))
    killed_folder, whole_folder = folder / "killed", folder / "whole"
    makeup = Makeup() if options.settings == "same" else drawn_makeup(Random(options.seed))
    say(f"in all runs: {makeup}")
    crawl, other = (
        crawl_of(each, web, {"CHECKPOINT_INTERVAL": 0.1, **SETTINGS}, Command)
        for each, web in ((killed_folder, server), (whole_folder, quiet))
    )
    mine, others = (makeup.made(each) for each in (crawl, other))
    # Three requests per page, and nearly as many lost ones
    each = max(20, options.pages * 5 // (options.kills + 1))
    runs = repeat(mine)
    if options.settings != "same":
        runs = _told({**values, **mine} for values in drawn(chance))
    killed = crash(
        crawl, server, chance, kills=options.kills, requests=(each // 6, each // 2), settings=runs, patience=PATIENCE,
        pause=0.3, stopped=True,
    )  # fmt: skip
    whole = crash(other, quiet, chance, settings=repeat(others), patience=PATIENCE, stopped=True)
    beside = assert_as_untouched(
        server,
        killed,
        whole,
        IN_FLIGHT,
        slack=SLACK,
        beyond=not {"REQUISITES", "RENDER"}.isdisjoint(mine),
    )
    outputs = unlike(crawl, other, killed, beside) if makeup.outputs else ()
    for found in (outputs, untruths(crawl, killed), untruths(other, whole)):
        first = [*islice(found, 10)]
        assert first == [], first
    tell(
        kills=len(killed.deaths),
        requests=len(killed.hits),
        requests_untouched=len(whole.hits),
        urls=len(killed.snapshot.logged),
        captures=killed.snapshot.archived.total(),
        at_kills=[len(death.snapshot.logged) for death in killed.deaths],
        in_transit=max((len(death.missing) for death in killed.deaths), default=0),
        seconds=round(time.monotonic() - begun),
    )


def _told(settings):
    """Yield the settings of each run, which are printed before it begins."""
    for number, values in enumerate(settings, 1):
        say(f"run {number}: {in_words(values)}")
        yield values


def main():
    """Run the program with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--hosts", type=int, default=40)
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--settings",
        choices=("same", "random"),
        default="random",
        help="of the crawl and of each run",
    )
    options = parser.parse_args()
    with workshop("kills") as (folder, simweb):
        kill(options, folder, simweb)


if __name__ == "__main__":
    main()
