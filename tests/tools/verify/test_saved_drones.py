"""What the drones of a hive say of each other: who they are, what is on its way between them, and
whose a host is.
"""

import json
import shutil
from array import array
from collections import Counter
from dataclasses import replace

import msgpack
import pytest

from tests.support.hive_jobs import hive, named
from tests.support.saving import prepared
from webcrawl.base.model import Link
from webcrawl.crawl.hive import member as module
from webcrawl.crawl.hive.batch import Inbox, Kind
from webcrawl.crawl.hive.drone_check import check_channels, saved_drone_of
from webcrawl.crawl.hive.outbox import Outbox
from webcrawl.crawl.hive.partition import SLOTS, SlotMap, partition_of
from webcrawl.store.crawldb import CrawlDB
from webcrawl.tools.verify_hive import verify_hive
from webcrawl.urls.host_names import RegisteredDomains

pytestmark = pytest.mark.xdist_group("verify standing")
HIVE, KEY = bytes(16), bytes(range(16))


class Drone:
    """The state of a drone that sends and gets batches, and nothing else."""

    def __init__(self, root, number, **about):
        self.number, self.folder = number, root / f"drone-{number}"
        self.db = CrawlDB(self.folder / "state")
        who = {"id": f"{number:016x}", "name": "web", "drone": number, "run": 1, **about}
        self.db.set(module.IDENTITY, module.Identity(**who).pack())
        self.db.set(module.KEY, KEY)
        self.outbox = Outbox(self.db, number, HIVE)
        self.inbox = Inbox(self.db, HIVE, lambda _: None)
        self.checkpoint()

    def checkpoint(self):
        prepared(self.db)
        self.db.checkpoint()
        self.outbox.committed()
        self.inbox.committed()

    def write(self, other, many=1):
        """So many exact batches, in a checkpoint."""
        for number in range(many):
            self.outbox.put(other, Kind.QUEUED, [Link(f"http://a.test/{number}").pack()])
            self.outbox.close_all()
        self.checkpoint()

    def send(self, other, many):
        """The next so many batches, as the other gets them; it has taken no checkpoint yet."""
        for batch in self.outbox.due_batches(other.number, many):
            place = f"1-{batch.number}"
            self.outbox.note_sent(other.number, batch, place)
            other.inbox.receive(place, batch.data)

    def heard(self, other):
        """What the other has acknowledged is forgotten, and the next checkpoint knows."""
        self.outbox.acknowledge(other.number, other.inbox.committed_place)
        self.checkpoint()

    @property
    def standing(self):
        return saved_drone_of(self.folder)


@pytest.fixture(name="pair")
def _pair(tmp_path):
    """Two drones; the first has written five batches, of which the second has three and has
    acknowledged two.
    """
    one, other = Drone(tmp_path, 0), Drone(tmp_path, 1)
    one.write(1, 5)
    one.send(other, 2)
    other.checkpoint()
    one.heard(other)
    one.send(other, 1)
    other.checkpoint()
    named(tmp_path, range(2))
    yield one, other
    one.db.close()
    other.db.close()


def told(before, after=None):
    """What is wrong between these standings, without paths."""
    read = ({one.drone: one for one in each} for each in (before, after or before))
    return [damage.why for damage in check_channels(*read)]


@pytest.fixture(name="sound", scope="module")
def _sound(tmp_path_factory):
    """A hive whose map gives each drone the hosts that it has crawled."""
    slot = partition_of("domain", RegisteredDomains()).slot
    mine = {slot(f"h{number}.test") for number in range(30)}
    other = next(
        name
        for name in "ijklmnopqrst"
        if mine.isdisjoint(slot(f"{name}{number}.test") for number in range(30))
    )
    root = hive(tmp_path_factory.mktemp("owners") / "web", ("h", other))
    slots = SlotMap(1, (0, 1), array("H", (0 if number in mine else 1 for number in range(SLOTS))))
    for drone in range(2):
        member(root, drone, slots)
    return root


class TestPost:
    def test_batches_on_their_way(self, pair):
        """A batch may be with its sender, with its receiver, or with both."""
        one, other = (drone.standing for drone in pair)

        assert (one.sent[1][1], one.kept[1], other.received[0][1]) == (5, 3, 3)
        assert told([one, other]) == []

    def test_lost_batches(self, pair):
        """A batch that the sender has forgotten and the receiver does not have is lost."""
        one, other = (drone.standing for drone in pair)

        assert told([replace(one, kept={}), other]) == [
            "table meta, hive/inbox: batches 4 to 5 of drone 0 are lost: neither sender nor receiver has them"
        ]
        assert told([one, replace(other, received={})]) == [
            "table meta, hive/inbox: batches 1 to 2 of drone 0 are lost: neither sender nor receiver has them"
        ]

    def test_an_older_copy_of_the_sender(self, pair):
        """A batch that has come and was never sent shows that a drone's folder was replaced by an
        older one.
        """
        one, other = (drone.standing for drone in pair)
        older = replace(one, sent={1: (one.sent[1][0], 2)}, kept={1: 2})

        assert told([older, other]) == [
            (
                "table meta, hive/inbox: batch 3 of drone 0 has arrived, but it has sent only 2: one "
                "of the two is an older copy"
            )
        ]

    def test_while_they_work(self, pair):
        """What the drones do between two looks is no damage, whichever is looked at first."""
        one, other = pair
        before = one.standing, other.standing
        one.send(other, 2)
        other.checkpoint()
        one.heard(other)
        one.write(1, 3)
        one.send(other, 3)
        other.checkpoint()
        after = one.standing, other.standing

        for first in (before[0], after[0]), (before[1], after[1]):
            assert first[0] != first[1]
        assert told(before, after) == []
        assert told([before[0], after[1]]) != []  # had each been looked at once

    def test_a_lost_drone(self, pair):
        """Batches for a drone that is not here, or that began anew, say nothing."""
        one, other = (drone.standing for drone in pair)

        assert told([replace(one, kept={})]) == []
        assert told([replace(one, kept={})], [one, other]) == told([one, other], [one]) == []
        assert (
            told([one, other], [replace(one, sent={1: (7, 1)}), replace(other, received={})]) == []
        )


class TestIdentities:
    def test_as_verify_sees_them(self, pair, tmp_path):
        """Sound drones are sound together."""
        assert [*verify_hive(tmp_path, Counter())] == []

    @pytest.mark.parametrize(
        ("about", "why"),
        [
            ({"drone": 2}, "table meta, hive/identity: this is the state of drone 2"),
            (
                {"name": "other"},
                "table meta, hive/identity: belongs to the hive other, but drone-0 belongs to web",
            ),
        ],
    )
    def test_a_strange_drone(self, tmp_path, about, why):
        """A drone in another's folder, or of another hive, is damage."""
        for drone in (Drone(tmp_path, 0), Drone(tmp_path, 1, **about)):
            drone.db.close()
        named(tmp_path, range(2))

        assert [str(damage) for damage in verify_hive(tmp_path, Counter())] == [
            f"{tmp_path}/drone-1/state/crawl.db: damaged at byte 0: {why}"
        ]

    def test_another_key(self, pair, tmp_path):
        """All drones of a hive have one key, so that fingerprints can move."""
        pair[1].db.set(module.KEY, bytes(16))
        pair[1].checkpoint()

        assert [damage.why for damage in verify_hive(tmp_path, Counter())] == [
            "table meta, key: differs from that of drone-0"
        ]

    def test_one_that_was_never_let_in(self, pair, tmp_path):
        """What a drone leaves that was refused before it had a key, in the place of a lost one, is
        no damage.
        """
        late = Drone(tmp_path, 2)
        late.db.execute("DELETE FROM meta WHERE name = ?", (module.KEY,))
        late.checkpoint()

        assert late.standing is None
        assert [*verify_hive(tmp_path, Counter())] == []
        late.db.close()

    def test_what_cannot_be_read(self, pair):
        """It is no standing: what is wrong is reported with the drone itself."""
        pair[0].db.set(module.IDENTITY, b"\x01")
        pair[0].checkpoint()

        assert pair[0].standing is None


class TestOwners:
    def test_each_has_its_own(self, sound):
        """Drones that have asked for their own hosts only are sound."""
        assert [*verify_hive(sound, Counter())] == []

    def test_a_host_of_another(self, sound, tmp_path):
        """A URL that a drone has ended, and another owns, is told; robots.txt too."""
        root = shutil.copytree(sound, tmp_path / "web")
        for drone in range(2):
            member(root, drone, SlotMap(1, (0, 1), array("H", [0] * SLOTS)))
        lines = [str(damage) for damage in verify_hive(root, Counter())]

        assert lines[0].startswith(f"{root}/drone-1/logs/crawl.log: damaged at byte 0: http://")
        assert lines[0].endswith("/some/where/0.html belongs to drone 0")
        assert len(lines) == 21
        assert lines[-1].endswith("more of this kind")

    def test_a_url_of_no_text(self, sound, tmp_path):
        """Of a damaged line nobody knows whose it is: it is told once."""
        root = shutil.copytree(sound, tmp_path / "web")
        log = root / "drone-1/logs/crawl.log"
        data = log.read_bytes()
        at = data.index(b"http://") + len(b"http://")
        log.write_bytes(data[:at] + b"\xec" + data[at + 1 :])

        (line,) = (str(damage) for damage in verify_hive(root, Counter()))
        assert line.startswith(f"{log}: damaged at byte 0: not a line of this log")

    @pytest.mark.parametrize(("generation", "partition"), [(2, "domain"), (1, "regions.txt")])
    def test_after_a_move(self, sound, tmp_path, generation, partition):
        """Once hosts have changed hands, or where a file says whose they are, the log does not
        tell.
        """
        root = shutil.copytree(sound, tmp_path / "web")
        for drone in range(2):
            member(root, drone, SlotMap(generation, (0, 1), array("H", [0] * SLOTS)), partition)

        assert [*verify_hive(root, Counter())] == []


def member(root, drone, slots, partition="domain"):
    """Makes a hand-made crawl a drone, with this map."""
    db = CrawlDB(root / f"drone-{drone}/state")
    db.set(module.IDENTITY, msgpack.packb((f"{drone:016x}", "web", drone, 1)))
    db.set(module.MAP, slots.pack())
    db.set("terms", json.dumps({"spider": "web", "HIVE_PARTITION": partition}).encode())
    db.checkpoint()
    db.close()
