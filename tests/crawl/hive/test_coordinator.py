"""Reports of drones, and what the coordinator decides from them: it never ends a crawl too early, and
always ends it.
"""

from dataclasses import replace
from random import Random

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.crawl.hive.small_hive import SmallHive
from webcrawl.crawl.hive.coordinator import (
    GRACE_SECONDS,
    LATER_BEATS,
    MAX_REFUSALS,
    MAX_REPORT_BYTES,
    Coordinator,
    DroneState,
    Report,
)
from webcrawl.crawl.hive.errors import ForeignMessage
from webcrawl.crawl.hive.partition import SlotMap, WantedMembers


def report(**values):
    """A drone that has nothing to do, but for these."""
    quiet = {
        "drone": 1,
        "identity": "a",
        "run": 1,
        "beat": 1,
        "generation": 1,
        "idle": True,
        "saved": True,
    }
    return Report(**quiet | values)


class TestReport:
    def test_packed(self):
        """Every field comes back."""
        full = Report(
            drone=3,
            identity="f00d",
            run=2,
            beat=77,
            generation=5,
            state=DroneState.PAUSED,
            applied=4,
            refusals=((2, "no"), (4, "not that")),
            idle=True,
            saved=True,
            moving=(1, 2),
            activity=123456789,
            unacknowledged=7,
            towards=(0, 2),
            seconds=1.5,
            jobdir="/crawls/drone-3",
            host="kiwi",
            pid=42,
            trouble="no uplink",
            figures={"pages": 5, "seen/cache_hit_rate": 0.5},
        )

        assert Report.unpack(full.pack()) == full

    def test_refusals(self):
        """Each of several commands between two heartbeats has its own answer; what is not told
        counts as refused.
        """
        assert [
            report(refusals=((3, "a"), (5, "b"))).refusal(number) for number in (2, 3, 4, 5)
        ] == ["", "a", "", "b"]
        full = Report.unpack(
            report(refusals=tuple((number, "c") for number in range(1, MAX_REFUSALS + 5))).pack()
        )

        assert len(full.refusals) == MAX_REFUSALS
        assert "not known" in full.refusal(1)
        assert (full.refusal(MAX_REFUSALS), full.refusal(MAX_REFUSALS + 5)) == ("c", "")

    def test_of_a_later_version(self):
        """A field that this version does not know is left out; one that an earlier version lacked
        has its default.
        """
        values = msgpack.unpackb(report().pack()) | {"mood": "fine"}
        del values["moving"]

        assert Report.unpack(msgpack.packb(values)) == report()

    def test_says_why(self):
        """The line has a reason also where msgpack gives no words."""
        with pytest.raises(ForeignMessage, match=r"cannot be read: \w"):
            Report.unpack(b"\x81\xa1a\xc1")

    @pytest.mark.parametrize(
        "wrong",
        [
            {"drone": "1"},
            {"beat": True},
            {"state": "asleep"},
            {"moving": 3},
            {"moving": [None]},
            {"refusals": [3]},
            {"refusals": 3},
            {"figures": [1]},
            {"idle": 1},
            {"identity": None},
        ],
    )
    def test_wrong_values(self, wrong):
        """A field of another type makes it foreign."""
        values = msgpack.unpackb(report().pack()) | wrong

        with pytest.raises(ForeignMessage, match="a drone's report cannot be read"):
            Report.unpack(msgpack.packb(values))

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"\xc1",
            b"hello",
            msgpack.packb([1]),
            msgpack.packb({}),
            bytes(MAX_REPORT_BYTES + 1),
        ],
    )
    def test_no_report(self, data):
        """Other bytes, or too many, are foreign."""
        with pytest.raises(ForeignMessage):
            Report.unpack(data)

    @given(st.binary(max_size=200))
    def test_any_bytes_raise_nothing_but_foreign_message(self, data):
        """No bytes raise anything but ForeignMessage."""
        with pytest.raises(ForeignMessage):
            Report.unpack(data)

    def test_a_long_trouble_is_truncated(self):
        """What is in trouble may quote a page: a report stays small."""
        assert len(report(trouble="x" * 10_000).pack()) < 1000


class TestQuiet:
    @pytest.mark.parametrize(
        "busy",
        [
            {"idle": False},
            {"saved": False},
            {"moving": (2,)},
            {"unacknowledged": 1},
            {"state": DroneState.PAUSED},
            {"state": DroneState.STOPPING},
        ],
    )
    def test_something_to_do(self, busy):
        """Each of these keeps it from being quiet; a crawl that is paused or stopped has not ended."""
        assert not report(**busy).quiet


MAP = SlotMap.fair((0, 1))


def reports(*numbers, **values):
    return {drone: report(drone=drone, **values) for drone in numbers}


def later(before, **values):
    """The same drones, when enough beats have passed."""
    return {
        drone: replace(one, beat=one.beat + LATER_BEATS, **values) for drone, one in before.items()
    }


class Test_the_end:
    def test_one_drains(self):
        """A drone that leaves is waited for until it has retired, away or not."""
        coordinator, first = (
            Coordinator(),
            reports(0, 1) | reports(2, state=DroneState.DRAINING, idle=False),
        )
        coordinator.decide(0, first, {0, 1}, MAP)
        second = later(first)

        assert not coordinator.decide(1, second, {0, 1}, MAP).over
        retired = second | {2: replace(second[2], state=DroneState.RETIRED)}
        coordinator.decide(2, retired, {0, 1}, MAP)
        assert coordinator.decide(3, later(retired), {0, 1}, MAP).over

    @pytest.mark.parametrize(
        ("more", "slots", "nothing"),
        [
            ({}, MAP, False),  # of an earlier version, too
            ({"got": False}, MAP, False),  # without seeds
            ({"got": False, "figures": {"seeds": 6}}, MAP, True),
            # a host that is away may answer the next run
            ({"got": False, "figures": {"seeds": 6, "queued": 1}}, MAP, False),
            # a drone that has left may have got something
            ({"got": False, "figures": {"seeds": 6}}, replace(MAP, generation=2), False),
        ],
    )
    def test_no_drone_has_got_anything(self, more, slots, nothing):
        """A hive that had seeds, and has ended without a page, has given nothing."""
        coordinator, first = Coordinator(), reports(0, 1, generation=slots.generation, **more)
        assert not coordinator.decide(0, first, {0, 1}, slots).gave_nothing

        decided = coordinator.decide(1, later(first), {0, 1}, slots)
        assert (decided.over, decided.gave_nothing) == (True, nothing)

    def test_one_drone_has_got_something(self):
        """Then the hive has."""
        coordinator, none = Coordinator(), reports(0, got=False, figures={"seeds": 6})
        first = none | reports(1, got=True, figures={"seeds": 6})
        coordinator.decide(0, first, {0, 1}, MAP)

        assert not coordinator.decide(1, later(first), {0, 1}, MAP).gave_nothing

    def test_one_leaves_that_the_server_has_forgotten(self):
        """One that has to give everything away is waited for by the map, whatever has become of its
        reports.
        """
        slots = MAP.resized((0,))
        coordinator, first = Coordinator(), reports(0, generation=slots.generation)
        coordinator.decide(0, first, {0}, slots)

        assert not coordinator.decide(1, later(first), {0}, slots).over
        slots = slots.without((1,))
        last = later(first, generation=slots.generation)
        coordinator.decide(2, last, {0}, slots)
        assert coordinator.decide(3, later(last), {0}, slots).over

    def test_another_coordinator(self):
        """A new coordinator looks twice itself."""
        first = reports(0, 1)
        Coordinator().decide(0, first, {0, 1}, MAP)
        coordinator = Coordinator()

        assert not coordinator.decide(1, later(first), {0, 1}, MAP).over
        assert coordinator.decide(2, later(later(first)), {0, 1}, MAP).over


class Test_the_map:
    def wanted(self, *members, lost=()):
        return WantedMembers(frozenset(members), frozenset(lost))

    def test_nothing_wanted(self):
        """Nobody wants a change: no map."""
        decisions = Coordinator().decide(0, reports(0, 1), {0, 1}, MAP)

        assert (decisions.map, decisions.waits) == (None, "")

    def test_a_drone_joins(self):
        """A wanted drone that is there gets its share."""
        decisions = Coordinator().decide(0, reports(0, 1, 2), {0, 1, 2}, MAP, self.wanted(0, 1, 2))

        assert decisions.map == MAP.resized((0, 1, 2))

    def test_a_drone_leaves(self):
        """A drone that is no longer wanted gives its share away; it is not lost."""
        decisions = Coordinator().decide(0, reports(0, 1), {0, 1}, MAP, self.wanted(0))

        assert (decisions.map, decisions.lost) == (MAP.resized((0,)), frozenset())

    @pytest.mark.parametrize("change", [{"moving": (1,)}, {"generation": 0}])
    def test_one_change_at_a_time(self, change):
        """The next map waits until the last one is in force everywhere."""
        decisions = Coordinator().decide(
            0, reports(0, **change) | reports(1, 2), {0, 1, 2}, MAP, self.wanted(0, 1, 2)
        )

        assert (decisions.map, decisions.waits) == (
            None,
            "drone 0, which is still exchanging slots",
        )

    def test_a_member_that_is_not_there(self):
        """Slots are not given to, nor taken from, a drone that does not run."""
        joins = Coordinator().decide(0, reports(0, 1), {0, 1}, MAP, self.wanted(0, 1, 2))
        assert joins.waits == "drone 2, which is not running"
        leaves = Coordinator().decide(0, reports(0, 1), {0}, MAP, self.wanted(0))

        assert (joins.map, leaves.map) == (None, None)

    def test_a_lost_drone(self):
        """The slots of a drone that was given up go to the others, with nothing in them."""
        decisions = Coordinator().decide(
            0, reports(0, moving=(1,)) | reports(1), {0}, MAP, self.wanted(0, 1, lost=(1,))
        )

        assert (decisions.map, decisions.lost) == (MAP.resized((0,), lost=(1,)), {1})

    def test_the_number_of_a_lost_drone(self):
        """It may be used again once all work by a map without it: then nobody sends to it any more."""
        wanted, slots = self.wanted(0, lost=(1,)), MAP.resized((0,))

        assert Coordinator().decide(0, reports(0), {0}, slots, wanted).forgotten == set()
        assert Coordinator().decide(
            0, reports(0, generation=slots.generation), {0}, slots, wanted
        ).forgotten == {1}
        assert (
            Coordinator()
            .decide(0, reports(0, generation=slots.generation), set(), slots, wanted)
            .forgotten
            == set()
        )
        assert Coordinator().decide(0, reports(0), {0}, MAP, wanted).forgotten == set()

    def test_a_lost_drone_that_was_leaving(self):
        """Those who wait for slots of a drone that was given up are told, though the members stay
        the same.
        """
        seen = reports(0, moving=(2,)) | reports(1) | reports(2, state=DroneState.DRAINING)
        decisions = Coordinator().decide(0, seen, {0, 1}, MAP, self.wanted(0, 1, lost=(2,)))

        assert (decisions.map, decisions.lost) == (MAP.resized((0, 1)), {2})

    def test_a_lost_drone_that_lives(self):
        """A drone that beats keeps its slots, whatever somebody said of it: no host is asked by
        two.
        """
        decisions = Coordinator().decide(0, reports(0, 1), {0, 1}, MAP, self.wanted(0, lost=(1,)))

        assert (decisions.map, decisions.waits) == (
            None,
            "drone 1, which was given up but is running",
        )

    def test_nobody_left(self):
        """The last drone cannot leave."""
        decisions = Coordinator().decide(0, reports(0, 1), {0, 1}, MAP, self.wanted())

        assert decisions.map is None

    def test_a_lost_member_before_the_end(self):
        """It is not over while slots of a lost drone have no new owner: seeds are read for them
        again.
        """
        coordinator, first, wanted = Coordinator(), reports(0), self.wanted(0, lost=(1,))
        coordinator.decide(0, first, {0}, MAP, wanted)

        assert not coordinator.decide(1, later(first), {0}, MAP, wanted).over


class Test_resting:
    def test_all_rest(self):
        """Deferred hosts are tried no more when no drone has anything else left."""
        assert Coordinator().decide(0, reports(0, 1, idle=False, rests=True), {0, 1}, MAP).rest

    def test_one_does_not(self):
        """Nor may it be so while a drone has, or is not heard of."""
        rest = reports(0, 1, rests=True)

        assert not Coordinator().decide(0, rest | reports(1, rests=False), {0, 1}, MAP).rest
        assert not Coordinator().decide(0, rest, {0}, MAP).rest


class Test_drones_that_go:
    def test_away_and_back(self):
        """One line when a drone is not heard of any more, one when it is back."""
        coordinator, seen = Coordinator(), reports(0, 1, jobdir="/crawl", host="kiwi")

        first = coordinator.decide(10, seen, {0}, MAP)
        away = coordinator.decide(10 + GRACE_SECONDS, seen, {0}, MAP)
        again = coordinator.decide(21 + GRACE_SECONDS, seen, {0}, MAP)
        back = coordinator.decide(31, seen, {0, 1}, MAP)

        assert (first.away, first.notices) == ({1: 10}, ())
        assert away.notices == (
            "drone 1 (kiwi:/crawl) has sent no sign of life; its hosts, and links to them, wait until it is back",
        )
        assert (away.away, again.away, again.notices) == ({1: 10}, {1: 10}, ())
        assert (back.away, back.notices) == ({}, ("drone 1 (kiwi:/crawl) is back after 21 s",))

    def test_late(self):
        """Nothing is said of a drone that comes a little later than the others, or was away for a
        moment.
        """
        coordinator, seen = Coordinator(), reports(0, 1)

        looks = [
            coordinator.decide(now, seen, alive, MAP)
            for now, alive in [(0, {0}), (GRACE_SECONDS - 1, {0}), (GRACE_SECONDS, {0, 1})]
        ]

        assert [look.notices for look in looks] == [()] * 3

    def test_stopped(self):
        """Of a drone that said so before it went it is said that it was stopped."""
        coordinator, seen = Coordinator(), reports(0) | reports(1, state=DroneState.STOPPING)
        coordinator.decide(0, seen, {0}, MAP)
        (notice,) = coordinator.decide(GRACE_SECONDS, seen, {0}, MAP).notices

        assert notice.startswith("drone 1 was stopped;")

    def test_given_up(self):
        """A drone that is given up while it is away is not said to be back."""
        coordinator, seen = Coordinator(), reports(0, 1)
        coordinator.decide(0, seen, {0}, MAP)

        gone = coordinator.decide(
            1, seen, {0}, MAP, WantedMembers(frozenset((0,)), frozenset((1,)))
        )

        assert (gone.away, gone.notices) == ({}, ())

    def test_released(self):
        """A retired drone goes when all work by the map without it, and none has batches for it,
        even after kills.
        """
        retired = reports(2, state=DroneState.RETIRED)

        assert Coordinator().decide(0, reports(0, 1) | retired, {0, 1, 2}, MAP).released == {2}
        assert (
            Coordinator().decide(0, reports(0, 1, towards=(2,)) | retired, {0, 1, 2}, MAP).released
            == set()
        )
        assert (
            Coordinator().decide(0, reports(0, 1, kept=(2,)) | retired, {0, 1, 2}, MAP).released
            == set()
        )
        assert (
            Coordinator().decide(0, reports(0, 1, generation=0) | retired, {0, 1, 2}, MAP).released
            == set()
        )
        assert Coordinator().decide(0, reports(0, 1) | retired, {0, 2}, MAP).released == set()


seeds = st.integers(0, 1 << 32).map(Random)  # drawing thousands of choices one by one takes minutes
hives = st.builds(SmallHive, seeds, st.integers(1, 4), st.integers(1, 12))
# a round hands over one batch of each drone; the longest chain is 12 batches, each resent a few
# times
ROUNDS = 200


class TestOver:
    @given(hives, st.integers(0, 1500))
    def test_never_while_anything_is_left(self, hive, steps):
        """Whatever is killed, slow, or restarted empty: it is over only when checkpoints have all
        URLs as crawled.
        """
        for _ in range(steps):
            hive.step()
            if hive.over:
                assert (hive.left(), hive.unread()) == (set(), [])
                break

    @given(hives, st.integers(0, 400))
    def test_always_when_nothing_is_left(self, hive, steps):
        """Once all drones live and beat, it is over after all is crawled."""
        for _ in range(steps):
            hive.step()

        for _ in range(ROUNDS):
            if hive.over:
                break
            hive.calm_round()

        assert hive.over
        assert hive.left() == set()
