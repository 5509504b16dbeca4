"""The addresses of a host: families that work, and the race among addresses."""

import asyncio
import errno
import logging

import pytest

from tests.support.clocks import SetByHand
from webcrawl.base.model import Timings
from webcrawl.net import addresses, connection_reach
from webcrawl.net.addresses import (
    FAILURES_UNTIL_BROKEN,
    FIRST_RETRY_WAIT,
    HOSTS,
    LONGEST_RETRY_WAIT,
    AddressFamilies,
    race,
)
from webcrawl.net.connection_reach import Reach
from webcrawl.net.errors import (
    AddressRefused,
    ConnectFailed,
    ConnectTimeout,
    NoFamily,
    NoSocket,
    Sign,
)
from webcrawl.net.protocols import Access

FOUR, SIX = "192.0.2.1", "2001:db8:1::1"


@pytest.fixture(name="clock")
def _clock():
    return SetByHand(100.0)


@pytest.fixture(name="families")
def _families(clock):
    return AddressFamilies(clock)


def fail(families, count, *, four=False, works=True):
    """So many unrelated addresses of a family fail, while the other one works."""
    for number in range(count):
        if works:
            families.connected(SIX if four else FOUR)
        families.failed(f"10.0.{number}.1" if four else f"2001:db8:{number:x}::1", no_route=False)


class TestWhatIsBroken:
    def test_a_family_whose_addresses_all_fail(self, families, caplog):
        """Ten unrelated addresses in a row while the other family works; it is said once."""
        fail(families, FAILURES_UNTIL_BROKEN[6] - 1)
        assert families.order([SIX]) == [SIX]

        fail(families, 2 * FAILURES_UNTIL_BROKEN[6])

        assert families.order([SIX, FOUR]) == [FOUR, SIX]
        with pytest.raises(NoFamily):
            families.order([SIX])
        assert len(caplog.messages) == 1
        assert caplog.text.count("IPv6 is not working (10 networks in a row did not answer)") == 1

    def test_one_network(self, families):
        """Addresses of one network count once."""
        for number in range(100):
            families.connected(FOUR)
            families.failed(f"2001:db8:1:{number:x}::1", no_route=False)

        assert families.order([SIX]) == [SIX]

    def test_a_connection_in_between(self, families):
        """Where one address of the family accepts a connection, the family works."""
        for _ in range(10):
            fail(families, FAILURES_UNTIL_BROKEN[6] - 1)
            families.connected(SIX)

        assert families.order([SIX]) == [SIX]

    def test_both_families(self, families):
        """If the other one is not working either, it is no matter of families."""
        fail(families, 250, works=False)
        fail(families, 250, four=True, works=False)

        assert families.order([SIX, FOUR]) == [SIX, FOUR]

    def test_ipv4(self, families):
        """Of IPv4 it takes more: nearly all hosts have it, and dead ones come together."""
        fail(families, FAILURES_UNTIL_BROKEN[4] - 1, four=True)
        assert families.order([FOUR, SIX]) == [FOUR, SIX]

        fail(families, FAILURES_UNTIL_BROKEN[4], four=True)

        assert families.order([FOUR, SIX]) == [SIX, FOUR]

    def test_silent_ones(self, families):
        """An address that another one has overtaken counts as one that has failed: nobody waits for
        its time-out.
        """
        for number in range(FAILURES_UNTIL_BROKEN[6]):
            families.connected(FOUR)
            families.silent(f"2001:db8:{number:x}::1")

        assert families.order([SIX, FOUR]) == [FOUR, SIX]

    def test_no_route_where_ipv6_connects(self, families):
        """A machine with IPv6 alone says so of IPv4, once IPv6 has connected."""
        families.failed(FOUR, no_route=True)
        assert families.order([FOUR, SIX]) == [FOUR, SIX]

        families.connected(SIX)
        families.failed(FOUR, no_route=True)

        assert families.order([FOUR, SIX]) == [SIX, FOUR]

    def test_no_route(self, families):
        """A machine without IPv6 says so at once; without a route for IPv4 there is no network at
        all.
        """
        families.failed(FOUR, no_route=True)
        assert families.order([FOUR]) == [FOUR]

        families.failed(SIX, no_route=True)

        assert families.order([SIX, FOUR]) == [FOUR, SIX]


class TestItsReturn:
    def test_one_address_is_tried_now_and_then(self, families, clock):
        """After 5 seconds one, then after 10, and so on; in between hosts wait as long as that
        takes, uncharged.
        """
        families.failed(SIX, no_route=True)
        waits = []
        for _ in range(12):
            with pytest.raises(NoFamily) as caught:
                families.order([SIX, "2001:db8:2::1"])
            waits.append(caught.value.wait)
            clock.now += caught.value.wait
            assert families.order([SIX, "2001:db8:2::1"]) == [SIX]
            families.failed(SIX, no_route=True)

        assert waits[:3] == [FIRST_RETRY_WAIT, 2 * FIRST_RETRY_WAIT, 4 * FIRST_RETRY_WAIT]
        assert waits[-1] == LONGEST_RETRY_WAIT

    def test_it_works_again(self, families, caplog):
        """The first connection ends it, and the next outage begins anew."""
        caplog.set_level(logging.INFO)
        families.failed(SIX, no_route=True)
        families.connected(SIX)

        assert families.order([SIX, FOUR]) == [SIX, FOUR]
        assert caplog.messages[-1] == "IPv6 works again"


class TestOfOneHost:
    def test_the_address_that_accepted_goes_first(self, families):
        """Where one before it did not; other hosts are not concerned."""
        families.prefer("a.test", SIX)

        assert families.order([FOUR, SIX], "a.test") == [SIX, FOUR]
        assert families.order([FOUR, SIX], "b.test") == [FOUR, SIX]

    def test_one_that_the_name_has_no_more(self, families):
        """It is not tried."""
        families.prefer("a.test", SIX)

        assert families.order([FOUR], "a.test") == [FOUR]

    def test_a_family_that_is_broken_here_goes_last_all_the_same(self, families):
        """What is wrong with us says nothing of the host."""
        families.prefer("a.test", SIX)
        families.failed(SIX, no_route=True)

        assert families.order([FOUR, SIX], "a.test") == [FOUR, SIX]

    def test_the_address_that_gave_no_answer_goes_last(self, families):
        """Though it accepts; if the other one does no better, they take turns."""
        families.prefer("a.test", SIX)

        families.avoid("a.test", SIX)
        assert families.order([FOUR, SIX], "a.test") == [FOUR, SIX]
        families.avoid("a.test", FOUR)
        assert families.order([FOUR, SIX], "a.test") == [SIX, FOUR]
        assert families.order([FOUR], "a.test") == [FOUR]

    def test_an_answer_that_is_lacking_is_better_than_no_connection(self, families):
        """The only address that accepts goes first again."""
        families.avoid("a.test", FOUR)
        families.prefer("a.test", FOUR)

        assert families.order([FOUR, SIX], "a.test") == [FOUR, SIX]

    def test_so_many_hosts_are_remembered(self, families):
        """The one that was told longest ago is forgotten."""
        for number in [*range(HOSTS), 0, HOSTS]:
            families.prefer(str(number), SIX)

        assert families.order([FOUR, SIX], "0") == [SIX, FOUR]
        assert families.order([FOUR, SIX], "1") == [FOUR, SIX]


def test_addresses_of_a_broken_family_are_asked_for_now_and_then(families, clock):
    """Whenever one may be tried, for a single host."""
    assert families.is_worth_asking(6)
    families.failed(SIX, no_route=True)
    assert not families.is_worth_asking(6)

    clock.now += FIRST_RETRY_WAIT

    assert [families.is_worth_asking(6) for _ in range(2)] == [True, False]


def test_a_host_that_has_an_address_of_the_other_family(families):
    """It is away for another reason, and is charged."""
    families.failed(SIX, no_route=True)
    error = ConnectFailed("away")

    assert families.blame([FOUR, SIX], error) is error


class Names:
    async def resolve(self, _):
        return [SIX]

    async def others(self, _):
        return []


class Anything:
    def check(self, address, port):
        pass


class Never(asyncio.Protocol):
    """A connection that does not come about."""

    def __init__(self, *_):
        pass

    def abort(self):
        pass


def test_a_connection_to_a_broken_family(monkeypatch, clock):
    """The first host without a route tells us that; it is not charged, and those after it are not
    even tried.
    """
    families, tried = AddressFamilies(clock), []

    async def connect(*place, **_):
        tried.append(place[1])
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    async def scenario():
        monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", connect)
        monkeypatch.setattr(connection_reach, "lacks_route", lambda *_: True)
        reach = Reach(Access(Names(), Anything(), families=families), Never, "http")
        for _ in range(3):
            with pytest.raises(NoFamily):
                await reach.open("six.test", 80, Timings())

    asyncio.run(scenario())

    assert tried == [SIX]


NEVER = 60.0


class Opened:
    def __init__(self, address):
        self.address, self.aborted = address, False

    def abort(self):
        self.aborted = True


class Host:
    """Each address accepts after so many seconds, or raises this error then."""

    def __init__(self, *more, **ways):
        self.ways = {name.replace("_", ":"): way for name, way in ways.items()}
        self.more, self.tried, self.dropped, self.late, self.opened = list(more), [], [], [], []

    async def connect(self, address):
        self.tried.append(address)
        way = self.ways[address]
        seconds, error = way if isinstance(way, tuple) else (way, None)
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self.dropped.append(address)
            raise
        if error is not None:
            raise error
        self.opened.append(Opened(address))
        return self.opened[-1]

    async def others(self):
        self.tried.append("?")
        return self.more

    def reach(self, *addresses):
        """The address that is reached."""

        async def go():
            more = self.others if self.more else None
            try:
                return (await race([*addresses], self.connect, self.late.append, more)).address
            finally:
                await asyncio.sleep(0.01)  # what was dropped ends
                assert asyncio.all_tasks() == {asyncio.current_task()}

        return asyncio.run(go())


@pytest.fixture(autouse=True)
def _stagger(monkeypatch):
    monkeypatch.setattr(addresses, "STAGGER", 0.02)


def test_a_quick_first_address_is_the_only_one_tried():
    """Nobody else is connected to, and no other family is asked for."""
    host = Host("a", "c", a=0.001, b=0, c=0)

    assert host.reach("a", "b") == "a"
    assert host.tried == ["a"]


def test_a_failed_address_is_followed_at_once(monkeypatch):
    """Without waiting for the gap."""
    monkeypatch.setattr(addresses, "STAGGER", NEVER)
    host = Host(a=(0, ConnectFailed("a")), b=(0, AddressRefused("b")), c=0)

    assert host.reach("a", "b", "c") == "c"
    assert host.late == []


def test_a_slow_first_address_may_still_win():
    """The others are dropped then."""
    host = Host(a=0.1, b=NEVER)

    assert host.reach("a", "b") == "a"
    assert (host.tried, host.dropped, host.late) == (["a", "b"], ["b"], [])


def test_other_addresses_are_asked_for_when_the_first_is_silent():
    """They come in the order in which they were told, without the one that is being tried."""
    host = Host("a", "six", "b", a=NEVER, six=0, b=NEVER)

    assert host.reach("a", "b") == "six"
    assert host.tried == ["a", "?", "six"]


def test_whose_only_address_leads_inside_is_not_asked_for_others():
    """The guard has said what there is to say."""
    host = Host("a", "six", a=(0, AddressRefused("a")), six=0)

    with pytest.raises(AddressRefused):
        host.reach("a")
    assert host.tried == ["a"]


def unreachable(sign):
    error = ConnectFailed("six")
    error.sign = sign
    return error


@pytest.mark.parametrize(
    "other", [AddressRefused("inside"), unreachable(Sign.NOTHING), ConnectFailed("later")]
)
@pytest.mark.parametrize("seconds", [0, 0.05])
def test_the_error_is_the_one_that_says_most(other, seconds):
    """That of an address that does not answer, before what is said of one inside or without a
    route.
    """
    ours = ConnectTimeout("four")
    host = Host(four=(seconds, ours), six=(0, other))

    with pytest.raises(ConnectFailed) as caught:
        host.reach("four", "six")
    assert caught.value is ours


def test_a_lack_of_ours_is_not_the_hosts():
    """Where its second address could not be tried for want of a socket, nobody knows whether it is
    away.
    """
    host = Host(a=(0, ConnectFailed("a")), b=(0, NoSocket("none")))

    with pytest.raises(NoSocket):
        host.reach("a", "b")


@pytest.mark.parametrize("seconds", [0.0, 0.005, 0.019, 0.0199, 0.02, 0.0201, 0.021, 0.03])
def test_nothing_that_was_opened_is_forgotten(seconds):
    """Both at nearly the same time: one connection is handed out, any other is closed."""
    host = Host(a=0.02 + seconds, b=seconds)

    won = host.reach("a", "b")

    assert [one.address for one in host.opened if not one.aborted] == [won]


def test_a_race_that_nobody_waits_for_ends():
    """A download that is cancelled drops all its attempts."""
    host = Host(a=NEVER, b=NEVER)

    async def go():
        task = asyncio.create_task(race(["a", "b"], host.connect, host.late.append))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)

    asyncio.run(go())

    assert sorted(host.dropped) == ["a", "b"]
