"""Makes of the settings the part of a crawl that fetches pages again, if there is to be one."""

from __future__ import annotations

import logging
from random import Random

import msgpack

from webcrawl.base.loading import load
from webcrawl.base.own_code import made
from webcrawl.base.readable import count
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.crawl.checks.names import NONE
from webcrawl.crawl.control.in_force import OF_REVISITS
from webcrawl.crawl.ground import Ground
from webcrawl.crawl.revisit.budget import Split
from webcrawl.crawl.revisit.change_rate import Sample
from webcrawl.crawl.revisit.policies import POLICIES, Policy, PolicyOptions, Weighed, by_depth
from webcrawl.crawl.revisit.revisits import FLOOR, Revisits
from webcrawl.crawl.revisit.signals import Signals
from webcrawl.crawl.revisit_counts import RevisitCounts
from webcrawl.crawl.revisiting import Revisiting
from webcrawl.crawl.signalling import Signalling
from webcrawl.frontier.frontier import Frontier
from webcrawl.store.jobdir.meta_row import REVISITING
from webcrawl.urls.url_fingerprint import Fingerprints

logger = logging.getLogger(__name__)


def open_revisiting(ground: Ground, frontier: Frontier) -> tuple[Revisiting, Signalling | None]:
    """Return the part that fetches pages again, or did formerly, and the one that hears of signals.

    Records of a former run stay if this one fetches nothing again: what waits in the frontier comes
    back to them.
    """
    values, db, counters, clock = ground.values, ground.db, ground.counters, ground.clock
    path = values["REVISIT_POLICY"]
    on = path != NONE
    data = db.get(REVISITING)
    former_path = msgpack.unpackb(data)["policy"] if data is not None else NONE
    if not on:
        path = _former(former_path)
    random = Random(values["RANDOM_SEED"])
    split = Split(clock)
    sample = Sample(ground.key)
    options = PolicyOptions(values["REVISIT_AGE"], split.rate, split.known, random, sample)
    policy: Policy = made("REVISIT_POLICY", path, Policy, options)
    signals = Signals(db, Fingerprints(ground.key), random, counters, clock.wall) if on else None
    revisits = Revisits(
        db,
        policy,
        rate=split.rate,
        random=random,
        key=ground.key,
        counters=counters,
        resumes=path == former_path,
    )
    importance = Weighed(getattr(policy, "importance", by_depth))
    counts = RevisitCounts(db, sample, counters, clock)
    revisiting = Revisiting(
        db,
        clock,
        revisits,
        frontier,
        policy=(path, policy),
        split=split,
        importance=importance,
        counts=counts,
        random=random,
        excluded=ground.excludes,
        signals=signals,
        on=on,
        new=not counters["answers"],
    )
    counts.now = revisiting.now
    ground.moments.join(revisiting)
    ground.moments.on_ended.append(counts.record_end)
    split.pages = revisiting.__len__
    split.early = policy.early

    def change(now: CheckedSettings) -> None:
        age, rate, share = now["REVISIT_AGE"], now["REVISIT_RATE"], now["REVISIT_SHARE"]
        split.change(age=age, rate=rate, share=share)
        options.age = age
        revisits.floor = min(age, FLOOR)
        frontier.revisits.set_share(share)

    ground.in_force.listen(OF_REVISITS, change)
    if ground.drone_parts is not None:
        split.part = ground.drone_parts.share_of_slots
    _tell(len(revisits), on=on, late=data is None and counters["answers"] > 0)
    if revisiting.signals is None:
        return revisiting, None
    is_ours = ground.drone.is_ours if ground.drone is not None else lambda _: True
    signalling = Signalling(
        revisiting.signals, revisiting.tell, ground.pipeline, ground.site_of, is_ours
    )
    ground.moments.join(signalling)
    return revisiting, signalling


def _tell(records: int, *, on: bool, late: bool) -> None:
    """Log that records are left as they are, or that pages have none.

    `late`: pages were fetched before anything was kept of them.
    """
    if not on and records:
        logger.info(
            "REVISIT_POLICY = none: %s will not be fetched again; their records stay",
            count(records, "page"),
        )
    elif on and late:
        logger.warning(
            "REVISIT_POLICY: pages that were fetched before it was set have no record, so they "
            "are not fetched again"
        )


def _former(path: str) -> str:
    """Return a former run's policy, or any other if its code is gone: it decides nothing."""
    try:
        load(path)
    except ValueError:
        return POLICIES["fixed"]
    return path
