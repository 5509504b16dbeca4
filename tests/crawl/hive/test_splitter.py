"""What a page links to is divided by owner, and a link of somebody else is sent once."""

from webcrawl.crawl.hive.letter import Kind
from webcrawl.crawl.hive.partition import Partition, SlotMap
from webcrawl.crawl.hive.splitter import Splitter
from webcrawl.frontier.seen.caches.clock import ClockCache

URLS = [f"http://site{number}.test/{page}" for number in range(40) for page in ("", "a")]
RECORDS = [f"{url} L   0   ".encode() for url in URLS]
KEYS = list(range(len(URLS)))


class Owners:
    """A map that does not change; notes what is sent to others."""

    def __init__(self, me, slots):
        self.me, self.slots, self.sent = me, slots, []
        self.owned = bytearray(owner == me for owner in slots.owners)

    def owner(self, slot):
        return self.slots.owners[slot]

    def had(self, slot):
        return bool(self.owned[slot])

    def send(self, kind, slot, items):
        self.sent += [(self.owner(slot), kind, item) for item in items]


def splitter(me=0, drones=range(3), size=1000):
    return Splitter(Partition("domain", str).slot, Owners(me, SlotMap.fair(drones)), lambda: ClockCache(size))


def test_every_link_has_one_owner():
    """Ours stay with their keys and records; every other one goes to the drone that counts it as its own."""
    drones = [splitter(me) for me in range(3)]

    keys, records = drones[0].keep_ours(KEYS, URLS, RECORDS)

    ours = [at for at, url in enumerate(URLS) if drones[0].is_ours(url)]
    assert list(keys) == ours
    assert list(records) == [RECORDS[at] for at in ours]
    others = [
        (number, Kind.LINKS, RECORDS[at])
        for at, url in enumerate(URLS)
        for number in (1, 2)
        if drones[number].is_ours(url)
    ]
    assert sorted(drones[0]._owners.sent) == sorted(others)
    assert len(ours) + len(others) == len(URLS)


def test_a_host_is_never_divided():
    """All URLs of a host have the same owner, whatever their port, scheme and path."""
    one = splitter()

    for host in range(40):
        urls = (f"http://site{host}.test/", f"https://site{host}.test/x?y", f"http://site{host}.test:8080/z")
        assert len({one.slot(url) for url in urls}) == 1


def test_sent_once():
    """What was sent lately is not sent again, as long as the owners stay the same."""
    one = splitter()
    one.keep_ours(KEYS, URLS, RECORDS)
    before = list(one._owners.sent)

    one.keep_ours(KEYS, URLS, RECORDS)
    assert one._owners.sent == before
    assert (one.foreign, one.sent) == (2 * len(before), len(before))

    one.forget()
    one.keep_ours(KEYS, URLS, RECORDS)
    assert one._owners.sent == before * 2


def test_all_ours():
    """A drone that is alone keeps the batch as it is."""
    keys, records = splitter(drones=(0,)).keep_ours(KEYS, URLS, RECORDS)

    assert keys is KEYS
    assert records is RECORDS


def test_each_drone_keeps_its_own_seeds():
    """All drones read the seeds, and each keeps its own; the others are nobody's to send."""
    one = splitter()

    keys, _ = one.keep_seeds(KEYS, URLS, RECORDS)

    assert keys == [at for at, url in enumerate(URLS) if one.is_ours(url)]
    assert one._owners.sent == []
