"""Reports come back as they were packed, from later versions too, and what is no report is refused."""

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.crawl.hive.drone_report import LARGEST, REFUSALS, Report, State
from webcrawl.crawl.hive.errors import ForeignMessage


def report(**values):
    """A drone that has nothing to do, but for these."""
    quiet = {"drone": 1, "identity": "a", "run": 1, "beat": 1, "generation": 1, "idle": True, "saved": True}
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
            state=State.PAUSED,
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
        """Each of several commands between two heartbeats has its own answer; what is not told counts as refused."""
        assert [report(refusals=((3, "a"), (5, "b"))).refusal(number) for number in (2, 3, 4, 5)] == ["", "a", "", "b"]
        full = Report.unpack(report(refusals=tuple((number, "c") for number in range(1, REFUSALS + 5))).pack())

        assert len(full.refusals) == REFUSALS
        assert "not known" in full.refusal(1)
        assert (full.refusal(REFUSALS), full.refusal(REFUSALS + 5)) == ("c", "")

    def test_of_a_later_version(self):
        """A field that this version does not know is left out; one that an earlier version lacked has its default."""
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
        "data", [b"", b"\xc1", b"hello", msgpack.packb([1]), msgpack.packb({}), bytes(LARGEST + 1)]
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

    def test_a_long_trouble_is_cut(self):
        """What is in trouble may quote a page: a report stays small."""
        assert len(report(trouble="x" * 10_000).pack()) < 1000


class TestQuiet:
    def test_nothing_to_do(self):
        """A drone is quiet that has nothing to do, as its checkpoint knows."""
        assert report().quiet

    @pytest.mark.parametrize(
        "busy",
        [
            {"idle": False},
            {"saved": False},
            {"moving": (2,)},
            {"unacknowledged": 1},
            {"state": State.PAUSED},
            {"state": State.STOPPING},
        ],
    )
    def test_something_to_do(self, busy):
        """Each of these keeps it from being quiet; a crawl that is paused or stopped has not ended."""
        assert not report(**busy).quiet
