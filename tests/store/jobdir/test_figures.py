"""Figures of drones, as those of one crawl."""

import pytest

from tests.crawl.hive.test_coordinator import report
from webcrawl.crawl.hive.coordinator import DroneState
from webcrawl.store.jobdir.figures import merged


class TestMerged:
    def test_sums(self):
        """Counters and sizes are added, whatever their names."""
        total = merged(
            [{"pages": 3, "status/200": 3, "queued": 1}, {"pages": 4, "status/404": 4, "queued": 0}]
        )

        assert total == {
            "pages": 7,
            "status/200": 3,
            "queued": 1,
            "status/404": 4,
            "drones": [{"pages": 3, "queued": 1}, {"pages": 4, "queued": 0}],
        }

    def test_words(self):
        """What is no number, such as a figure of another version, has no sum."""
        assert (
            merged([{"pages": 3, "waits": "for x"}, {"pages": 4, "waits": None, "more": [1]}])[
                "pages"
            ]
            == 7
        )

    @pytest.mark.parametrize(
        ("key", "one", "other", "both"),
        [
            ("at", "2026-11-21T10:00:00Z", 9.0, "2026-11-21T10:00:00Z"),
            ("seconds", 9.0, "long", 9.0),
            ("started", "2026-11-21T10:00:00Z", None, "2026-11-21T10:00:00Z"),
            ("deferred_due", 9.0, "soon", 9.0),
            ("in_force", ["pause"], 3, ["pause"]),
            ("milliseconds", [1, 2], "3", [1, 2]),
        ],
    )
    def test_of_two_kinds(self, key, one, other, both):
        """A figure that is of another kind in one drone counts as missing there."""
        assert merged([{key: one}, {key: other}])[key] == both

    @pytest.mark.parametrize(
        ("drones", "hive"),
        [([False, False], False), ([False, True], True), ([False, None], True)],
    )
    def test_whether_work_is_left(self, drones, hive):
        """Something is left if a drone says so, or says nothing, because it was killed."""
        figures = [{} if said is None else {"work_left": said} for said in drones]

        assert merged(figures)["work_left"] is hive

    def test_what_all_have_together(self):
        """All drones read the same seeds, in the same seconds, and each hears of every host that is
        paused.
        """
        one = {
            "seeds": 100,
            "bad_seeds": 2,
            "hosts_paused": 1,
            "seconds": 60.5,
            "started": "2026-11-21T10:00:00Z",
        }
        two = {
            "seeds": 90,
            "bad_seeds": 1,
            "hosts_paused": 1,
            "seconds": 60.0,
            "started": "2026-11-21T10:00:01Z",
        }

        assert {
            name: value for name, value in merged([one, two]).items() if name != "drones"
        } == one

    def test_what_is_due_next(self):
        """The earliest time of those that have any."""
        assert (
            merged([{"deferred_due": 0.0}, {"deferred_due": 9.0}, {"deferred_due": 7.0}])[
                "deferred_due"
            ]
            == 7.0
        )
        assert merged([{"deferred_due": 0.0}])["deferred_due"] == 0.0

    @pytest.mark.parametrize(
        ("reasons", "reason"),
        [
            (["shutdown", "closespider_pagecount"], "closespider_pagecount"),
            (["finished", "shutdown", "store_failed"], "store_failed"),
            (["finished", "shutdown"], "shutdown"),
            (["finished", "finished"], "finished"),
            (["closespider_pagecount", None], None),
        ],
    )
    def test_why_all_have_ended(self, reasons, reason):
        """It is what ended the first drone, and not the signal that ended the others therefore."""
        assert merged([{"reason": one} for one in reasons])["reason"] == reason

    def test_rates(self):
        """A rate is that of the sums."""
        hit = {
            "seen/submitted": 50,
            "seen/cache_hits": 40,
            "links/known": 50,
            "seen/cache_hit_rate": 0.9,
        }
        miss = {
            "seen/submitted": 300,
            "seen/cache_hits": 0,
            "links/known": 0,
            "seen/cache_hit_rate": 0.0,
        }

        assert merged([hit, miss])["seen/cache_hit_rate"] == 90 / 400
        assert merged([{"seen/cache_hit_rate": 0.0}])["seen/cache_hit_rate"] == 0.0

    def test_revisits(self):
        """Freshness and age are means by the pages of each drone that has estimated any, all else
        of revisits sums.
        """
        one = {
            "revisit/records": 100,
            "revisit/freshness": 0.5,
            "revisit/age": 10.0,
            "revisit/taken": 1,
        }
        two = {
            "revisit/records": 300,
            "revisit/freshness": 0.9,
            "revisit/age": 30.0,
            "revisit/taken": 2,
        }
        sampled = {"revisit/sampled": 9}
        total = merged([{**one, **sampled}, {**two, **sampled}, {"pages": 1}])

        assert (total["revisit/records"], total["revisit/taken"]) == (400, 3)
        assert (total["revisit/freshness"], total["revisit/age"]) == (0.8, 25.0)
        assert not any(name.startswith("revisit/") for name in merged([{"pages": 1}]))

    def test_the_reason(self):
        """None while a drone runs; then what is not the plain end, if a drone has ended otherwise."""
        assert merged([{"reason": None}, {"reason": "finished"}])["reason"] is None
        assert merged([{"reason": "finished"}, {"reason": "finished"}])["reason"] == "finished"
        assert merged([{"reason": "finished"}, {"reason": "disk_full"}])["reason"] == "disk_full"

    def test_of_reports(self):
        """What a heartbeat says is merged by the same names, and says which drone it is of."""
        total = merged(
            report(
                drone=number,
                figures={"pages": number},
                state=DroneState.PAUSED,
                trouble="no uplink",
                host="kiwi",
            ).stats()
            for number in (1, 2)
        )

        assert (total["pages"], total["trouble"]) == (3, "no uplink (2 of 2 drones)")
        assert total["drones"][1] == {
            "drone": 2,
            "state": "paused",
            "pages": 2,
            "seconds": 0.0,
            "host": "kiwi",
            "jobdir": "",
            "trouble": "no uplink",
        }

    def test_trouble_of_a_hive_that_shrank(self):
        """A drone that has left, of which only its file speaks, is not among those that may be in
        trouble.
        """
        there = [report(drone=number, trouble="paused").stats() for number in (0, 1)]

        assert merged([*there, {"drone": 2, "pages": 9}])["trouble"] == "paused (2 of 2 drones)"

    def test_of_one(self):
        """The figures of one drone are its own."""
        one = {"reason": None, "pages": 5, "seconds": 2.0, "deferred_due": 0.0, "seen/keys": 9}

        assert merged([one]) == one | {"drones": [{"reason": None, "pages": 5, "seconds": 2.0}]}
