"""Slots over drones: all agree, each has its share, and few slots move when a drone joins or
leaves.

Fingerprints of a hive have the slot in front, and the hash behind it.
"""

from collections import Counter
from itertools import pairwise

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.partition import (
    EARLIER_SLOTS,
    SLOTS,
    Partition,
    SlotFingerprints,
    SlotMap,
    partition_of,
    range_of,
    read_regions,
)
from webcrawl.urls.filters.filter_protocol import Chain
from webcrawl.urls.foldings import HostRules
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.link_pipeline import LinkPipeline
from webcrawl.urls.url_fingerprint import Fingerprints

members = st.sets(st.integers(0, 20), min_size=1, max_size=8)


class TestSlotMap:
    @given(members)
    def test_every_slot_has_an_owner(self, drones):
        """Each slot belongs to a member, and the members' shares differ by one slot at most."""
        slots = SlotMap.fair(drones)

        assert set(slots.owners) <= set(drones)
        assert sum(len(slots.owned(drone)) for drone in drones) == SLOTS
        shares = [len(slots.owned(drone)) for drone in drones]
        assert max(shares) - min(shares) <= 1

    @given(members, st.integers(0, 20))
    def test_only_the_share_of_one_moves(self, drones, other):
        """A drone that joins takes only what it will own; one that leaves gives only what it had."""
        before = SlotMap.fair(drones - {other} or {21})
        after = before.resized({*before.drones, other})

        assert all(new == other for _, _, new in before.moved(after))
        assert all(old == other for _, old, _ in after.moved(after.resized(before.drones)))
        assert after.generation == before.generation + 1

    @given(st.lists(members, min_size=1, max_size=6))
    def test_equal_shares_after_any_changes(self, changes):
        """However often members change, shares stay equal, and no more slots move than the shares
        demand.
        """
        slots = SlotMap.fair(changes[0])
        for drones in changes[1:]:
            after = slots.resized(drones)
            shares = {drone: len(after.owned(drone)) for drone in drones}
            gone = sum(len(slots.owned(drone)) for drone in {*slots.drones} - drones)
            over = sum(max(0, len(slots.owned(drone)) - shares[drone]) for drone in drones)

            assert max(shares.values()) - min(shares.values()) <= 1
            assert len(slots.moved(after)) == gone + over
            slots = after

    def test_many_drones(self):
        """The fullest of 1,000 drones has at most 1.06 times the mean, and the map stays short."""
        slots = SlotMap.fair(range(1000))
        shares = Counter(slots.owners)

        assert len(shares) == 1000
        assert max(shares.values()) <= 1.06 * SLOTS / 1000
        assert len(slots.pack()) < 16 << 10

    def test_more_drones_than_slots(self):
        """Of more drones than slots some have none, and the others one each."""
        shares = Counter(SlotMap.fair(range(65_535)).owners)

        assert len(shares) == SLOTS

    @given(members)
    def test_a_hive_keeps_its_number_of_slots(self, drones):
        """A hive that was founded with fewer slots has as many after each change of its members."""
        slots = SlotMap.fair((0, 1), ((), (1,)), slots=EARLIER_SLOTS).resized(drones, ((), (1,)))

        assert len(slots.owners) == 2 * EARLIER_SLOTS
        assert slots.slots_of(((), (1,))) == EARLIER_SLOTS

    @given(members)
    def test_packed(self, drones):
        """A map comes back as it was packed."""
        slots = SlotMap.fair(drones, ((), (3,)), 7)

        assert SlotMap.unpack(slots.pack()) == slots

    def test_who_leaves(self):
        """Who is no member any more leaves until it has left, comes back, or is lost."""
        slots = SlotMap.fair((0, 1, 2, 3)).resized((0, 1))

        assert slots.leaving == SlotMap.unpack(slots.pack()).leaving == (2, 3)
        assert slots.without((2,)).leaving == (3,)
        assert slots.resized((0, 2), lost=(3,)).leaving == (1,)
        assert slots.without((2,)).generation == slots.generation + 1

    def test_a_map_of_an_earlier_version(self):
        """A map that does not say who leaves, and whose owners are not compressed, can be read."""
        slots = SlotMap.fair((0, 1), slots=EARLIER_SLOTS)
        earlier = (slots.generation, slots.drones, slots.owners.tobytes())

        assert SlotMap.unpack(msgpack.packb(earlier)) == slots
        assert SlotMap.unpack(msgpack.packb((*earlier, (2,)))).leaving == (2,)

    def test_a_region_prefers_its_drones(self):
        """A group's slots are shared by the members that it prefers, or by all if none of them is a
        member.
        """
        slots = SlotMap.fair((0, 1, 2), ((), (1, 9), (9,)))

        assert set(slots.owners[SLOTS : 2 * SLOTS]) == {1}
        assert set(slots.owners[2 * SLOTS :]) == {0, 1, 2}

    @pytest.mark.parametrize("drones", [(), (-1,), (65_535,)])
    def test_impossible_members(self, drones):
        """No members, or numbers out of bounds, are refused."""
        with pytest.raises(ValueError, match="must be one or more numbers"):
            SlotMap.fair(drones)


class TestPartition:
    @pytest.mark.parametrize(
        ("way", "together", "apart"),
        [
            ("domain", ("a.example.com", "b.example.com"), ("example.com", "example.org")),
            ("host", ("a.example.com", "a.example.com"), ("a.example.com", "b.example.com")),
            ("tld", ("example.com", "another.com"), ("example.com", "example.org")),
        ],
    )
    def test_what_stays_together(self, way, together, apart):
        """Hosts with the same part of their names have the same slot."""
        slot = partition_of(way, RegisteredDomains()).slot

        assert slot(together[0]) == slot(together[1])
        assert slot(apart[0]) != slot(apart[1])

    @pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost"])
    def test_an_address_is_its_own(self, host):
        """A host without a top-level domain has a slot, by its whole name."""
        assert 0 <= partition_of("tld", RegisteredDomains()).slot(host) < SLOTS

    def test_regions(self, tmp_path):
        """The longest suffix of a file decides which group a domain is in, the domain which slot of
        it.
        """
        path = tmp_path / "regions"
        path.write_text("# near Frankfurt\nde 0,1\nco.uk 2\n")

        parts = partition_of(str(path), RegisteredDomains())

        assert parts.groups == ((), (0, 1), (2,))
        assert parts.slot("www.example.de") == parts.slot("example.de")
        assert [
            parts.slot(host) // SLOTS for host in ("example.de", "a.example.co.uk", "example.com")
        ] == [1, 2, 0]

    @pytest.mark.parametrize("line", ["de", "de x", "de 0 1", "de 65535", "de -1"])
    def test_a_bad_line(self, tmp_path, line):
        """A line that is no region is named."""
        path = tmp_path / "regions"
        path.write_text(f"fr 0\n{line}\n")

        with pytest.raises(HiveError, match="line 2: expected a domain ending"):
            read_regions(path)

    def test_the_same_in_every_process(self):
        """The slots of hosts are part of what drones agree on: these must never change."""
        earlier = Partition("domain", RegisteredDomains(), slots=EARLIER_SLOTS)
        hosts = ["example.com", "www.example.org", "127.0.0.1"]

        assert [*map(earlier.slot, hosts)] == [92, 903, 115]
        assert [*map(Partition("domain", RegisteredDomains()).slot, hosts)] == [4188, 9095, 10355]

    def test_as_the_hive_was_founded(self):
        """A hive divides hosts among as many slots as its map has."""
        partition = Partition("domain", RegisteredDomains(), {"de": (0,)})
        earlier = partition.with_slots_of(SlotMap.fair((0,), partition.groups, slots=EARLIER_SLOTS))

        assert earlier.slots == EARLIER_SLOTS
        assert EARLIER_SLOTS <= earlier.slot("example.de") < 2 * EARLIER_SLOTS
        assert partition.with_slots_of(SlotMap.fair((0,), partition.groups)) is partition

    @pytest.mark.parametrize("slots", [0, 4, EARLIER_SLOTS - 1, EARLIER_SLOTS + SLOTS, 3 * SLOTS])
    def test_a_map_of_another_partition(self, slots):
        """A map whose slots are not those of the partition's groups is refused."""
        with pytest.raises(HiveError, match="HIVE_PARTITION = domain: the hive was founded with"):
            partition_of("domain", RegisteredDomains()).with_slots_of(
                SlotMap.fair((0,), slots=slots)
            )


KEY = bytes(range(16))
HOSTS = ["a.test", "b.test", "[::1]", "127.0.0.1", "xn--bcher-kva.test"]
SLOT = {host: number * 5000 for number, host in enumerate(HOSTS)}


def slot_by_name(host):
    return SLOT[host]


class TestSlotFingerprints:
    @pytest.mark.parametrize("scheme", ["http", "https", "ftp", "gopher"])
    @pytest.mark.parametrize("rest", ["/", ":8080/", "/a", "/a/b/c?d=/e"])
    @pytest.mark.parametrize("host", HOSTS)
    def test_the_slot_is_in_the_top_bits(self, scheme, rest, host):
        """Whatever the scheme, the port and the path, the top 14 bits are those of the host's
        slot.
        """
        url = f"{scheme}://{host}{rest}"
        (number,) = SlotFingerprints(KEY, slot_by_name)([url], [url])

        low, high = range_of(SLOT[host])
        assert low <= number <= high
        assert number >> 50 == SLOT[host] % SLOTS

    @given(st.text("abc", max_size=5), st.text("abc", max_size=5))
    def test_the_rest_is_the_hash(self, one, other):
        """The lower bits are the upper ones of the ordinary fingerprint, so that distinct URLs
        differ.
        """
        urls = [f"http://a.test/{one}", f"http://a.test/{other}"]
        numbers = SlotFingerprints(KEY, slot_by_name)(urls, urls)

        assert [number & (1 << 50) - 1 for number in numbers] == [
            one >> 14 for one in Fingerprints(KEY)(urls)
        ]

    def test_fingerprints_of_an_earlier_hive(self):
        """With fewer slots fewer bits are those of the slot: the fingerprints of a hive stay."""
        urls = ["http://b.test/x"]
        (number,) = SlotFingerprints(KEY, slot_by_name, EARLIER_SLOTS)(urls, urls)

        low, high = range_of(SLOT["b.test"], EARLIER_SLOTS)
        assert low <= number <= high
        assert number >> 54 == SLOT["b.test"] % EARLIER_SLOTS
        assert number & (1 << 54) - 1 == Fingerprints(KEY)(urls)[0] >> 10

    @pytest.mark.parametrize("slots", [EARLIER_SLOTS, SLOTS])
    def test_ranges_follow_each_other(self, slots):
        """The ranges of all slots make up all fingerprints."""
        bounds = [range_of(slot, slots) for slot in range(slots)]

        assert bounds[0][0] == 0
        assert bounds[-1][1] == (1 << 64) - 1
        assert all(after[0] == before[1] + 1 for before, after in pairwise(bounds))
        assert range_of(slots + 3, slots) == range_of(3, slots)

    def test_variants_and_comparison_forms_have_the_slot_of_the_url(self):
        """A variant of a URL, and one that counts as another host's, have the slot of the host that
        is asked.
        """
        folding = HostRules({}, {}, {"b.test": "a.test"})
        pipeline = LinkPipeline(Chain([]), folding, SlotFingerprints(KEY, slot_by_name))
        (number,) = pipeline.process("http://a.test/", 1, ["http://b.test/x"]).keys

        assert number == pipeline.key("http://b.test/x")
        assert number >> 50 == SLOT["b.test"]
        assert pipeline.key("http://b.test/x", "POST abc") >> 50 == SLOT["b.test"]
        assert pipeline.key("http://b.test/x", "POST abc") != number
        assert pipeline.key("http://a.test/x") & (1 << 50) - 1 == number & (1 << 50) - 1
