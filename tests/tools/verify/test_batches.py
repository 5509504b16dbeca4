"""`scrapy verify` reads the batches that a drone keeps for others, and what it has read of theirs."""

from collections import Counter
from contextlib import closing

import msgpack
import pytest

from tests.support.commands import command
from webcrawl.crawl.hive.batch import Batch, Inbox, Kind, pack_batch
from webcrawl.crawl.hive.outbox import Outbox
from webcrawl.store.crawldb import CrawlDB
from webcrawl.tools.verify_crawl import verify

HIVE = b"sixteen bytes 16"
LINK = b"http://a.test/ L   0   "
PLAIN, EXACT = (f"hive/out/1/{queue}/{{:015}}".format for queue in ("plain", "exact"))

pytestmark = pytest.mark.xdist_group("verify damage")  # one stopped crawl for all tests


@pytest.fixture(name="drone")
def _drone(copy):
    """A stopped drone with six ordinary and two exact batches for another one."""
    with closing(CrawlDB(copy / "state")) as db:
        outbox, inbox = Outbox(db, 0, HIVE), Inbox(db, HIVE, lambda message: None)
        for kind in (*6 * [Kind.LINKS], Kind.QUEUED, Kind.QUEUED):
            outbox.put(1, kind, [LINK, LINK])
            outbox.close_all()
        inbox.new_epoch("run:1")
        inbox.receive("3-0", pack_batch(Batch(Kind.SLOT, 1, 1, 1, ["piece"], 5), HIVE))
        db.checkpoint()
    return copy


def told(drone, changes):
    """What is said of a drone with these changes of its small values; None removes one."""
    with closing(CrawlDB(drone / "state")) as db:
        for name, value in changes.items():
            if value is None:
                db.delete(name, f"{name} ")
            else:
                db.set(name, value)
        db.checkpoint()
    return [str(damage).partition("table meta, ")[2] for damage in verify(drone, Counter())]


def batch(kind=Kind.LINKS, sender=0, number=0, channel=0, items=(LINK,), hive=HIVE):
    return pack_batch(Batch(kind, sender, 1, number, list(items), channel), hive)


def test_a_sound_drone(drone):
    """Batches and their items are counted, and the summary says so."""
    found = Counter()

    assert list(verify(drone, found)) == []
    assert (found["batches"], found["items"]) == (8, 16)
    said = command("scrapy", "verify", str(drone)).stdout
    assert "hive: 8 batches for other drones not acknowledged, 16 items" in said


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        (
            PLAIN(2),
            b"batch",
            f"{PLAIN(2)}: it does not begin like a batch of a hive",
        ),
        (PLAIN(2), batch()[:-1], f"{PLAIN(2)}: it is damaged: its checksum is wrong"),
        (PLAIN(2), batch(sender=3), f"{PLAIN(2)}: it is a batch of another drone"),
        (PLAIN(2), batch(hive=b"another"), f"{PLAIN(2)}: it is a batch of another drone"),
        (PLAIN(2), batch(items=[b"none L   0   "]), f"{PLAIN(2)}: not a link: b'none L   0   '"),
        (
            PLAIN(2),
            batch(Kind.SLOT, number=1, channel=1),
            f"{PLAIN(2)}: a batch of kind SLOT is in the wrong queue",
        ),
        (PLAIN(2), None, f"{PLAIN(3)}: follows batch 1"),
        (
            EXACT(1),
            batch(Kind.SLOT, number=2, channel=7),
            f"{EXACT(1)}: has number 2 of channel 7, but belongs to channel ",
        ),
        (EXACT(2), None, "hive/outbox: the last exact batch for drone 1 should be 2, but is not"),
        ("hive/out/one", batch(), "hive/out/one: not a valid name of a batch"),
        ("hive/outbox", b"\xc1", "hive/outbox: "),
        ("hive/outbox", msgpack.packb([[1, 2]]), "hive/outbox: ValueError"),
        ("hive/inbox", b"", "hive/inbox: "),
        ("hive/inbox", msgpack.packb(["run:1", "3", []]), "hive/inbox: ValueError"),
        ("hive/inbox", msgpack.packb([1, "3-0", []]), "hive/inbox: ValidationError("),
        (
            "hive/inbox",
            msgpack.packb(["run:1", "3-0", [[1, 5, 0]]]),
            "hive/inbox: ValidationError(",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_row_that_no_outbox_or_inbox_wrote_is_named_once(drone, name, value, why):
    """A row that no outbox or inbox wrote is named, once, and so is one that is missing."""
    (said,) = told(drone, {name: value})

    assert said.startswith(why)
