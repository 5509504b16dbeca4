"""The state of a crawl that fetched pages again for a week, without having done so."""

import json
from collections import Counter
from math import exp
from random import Random

from webcrawl.crawl.revisit.change_rate import Sample, observe
from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.crawl.revisit.signals import Announcers
from webcrawl.crawl.revisit_counts import SIGNALS, RevisitCounts
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.history_line import PATH, line, moment
from webcrawl.store.jobdir.revisit_figures import DAY, HOUR, PREFIX, RevisitFigures
from webcrawl.store.outputs import Outputs

BEGUN, WEEK = 1_700_000_000.0, 7 * DAY
COUNTS = {
    "unchanged_304": 41_200,
    "unchanged_digest": 18_300,
    "changed_digest": 2_100,
    "changed_text": 9_400,
    "gone": 640,
    "forgotten": 12,
    "moved": 55,
    "signals_true": 1_200,
    "signals_false": 90,
    "signals_ignored": 400,
}
HOSTS = {"news.example": 0.97, "blog.example": 0.8, "shop.example": 0.06}  # how often each is right


def sample(random, pages=2000):
    """Pages of all rates of change, fetched now and then."""
    found = Sample()
    for number in range(pages):
        every, changes = random.lognormvariate(13.0, 2.2), random.randint(1, 6)
        interval = min(max(every * random.uniform(0.4, 1.5), HOUR), 40 * DAY)
        fetched = BEGUN + WEEK - interval * random.random()
        page = PageRecord(str(number), fetched=fetched, weight=random.paretovariate(1.5))
        for visit in range(2 * changes):
            observe(page, every / 2, found.prior, changed=visit % 2 > 0)
        found.put(page, interval)
    return found


def figures_at(share):
    """The figures when so much of the week is over."""
    counts = {name: round(value * share) for name, value in COUNTS.items()}
    found = RevisitFigures(
        records=25_000, taken=round(71_700 * share), waiting=310, budget=0.125, used=0.119, **counts
    )
    found.freshness, found.age, found.sampled = 0.83 - 0.45 * exp(-8 * share), DAY / 2, 2000
    return found


def announced(db):
    """Hosts that announce changes, each right in its own way."""
    announcers = Announcers(db)
    for host, precision in HOSTS.items():
        announcer = announcers.change(host)
        announcer.true, announcer.false = 40 * precision, 40 * (1 - precision)


def revisited(root, lines=400, share=1.0):
    """A JOBDIR with figures, their past, and hosts that announce changes; `share`: so much of the
    week is over.
    """
    db = CrawlDB(root / "state")
    outputs = Outputs(db, root)
    outputs.open("logs/crawl.log")
    history = outputs.open(PATH)
    for number in range(lines):
        part = number / (lines - 1) * share
        stats = {PREFIX + name: value for name, value in figures_at(part).numbers().items()}
        history.write(
            line(moment({**stats, "pages": 25_000 + stats["revisit/taken"]}, BEGUN + part * WEEK))
        )
    whole, random = figures_at(share), Random(3)
    counters = Counter({PREFIX + name: getattr(whole, name) for name in ("taken", *COUNTS)})
    counters.update({theirs: getattr(whole, name) for name, theirs in SIGNALS.items()})
    RevisitCounts(db, sample(random), counters, lambda: BEGUN + WEEK).now = lambda: whole
    announced(db)
    db.set("clean", b"1")
    db.set("key", bytes(16))
    db.checkpoint()
    outputs.close()
    db.close()
    (root / "stats.json").write_text(
        json.dumps({"reason": "finished", "at": "2023-11-21T22:13:20Z", **counters})
    )
    return root
