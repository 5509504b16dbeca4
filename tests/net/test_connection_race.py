"""Which address of a host wins; connecting is simulated, and the gap between two attempts is short."""

import asyncio

import pytest

from webcrawl.net import connection_race
from webcrawl.net.connection_race import MOST, race
from webcrawl.net.errors import AddressRefused, ConnectFailed, ConnectTimeout, NoSocket, Sign

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
    monkeypatch.setattr(connection_race, "STAGGER", 0.02)


def test_a_quick_first_address_is_the_only_one_tried():
    """Nobody else is connected to, and no other family is asked for."""
    host = Host("a", "c", a=0.001, b=0, c=0)

    assert host.reach("a", "b") == "a"
    assert host.tried == ["a"]


def test_a_silent_address_is_overtaken():
    """The next one begins after the gap; the silent attempt is dropped, and it is told which one that was."""
    host = Host(a=NEVER, b=0)

    assert host.reach("a", "b") == "b"
    assert (host.dropped, host.late) == (["a"], ["a"])


def test_a_failed_address_is_followed_at_once(monkeypatch):
    """Without waiting for the gap."""
    monkeypatch.setattr(connection_race, "STAGGER", NEVER)
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


def test_no_more_than_four_addresses_are_tried():
    """Whatever the name server says."""
    names = [f"a{number}" for number in range(20)]
    host = Host(**dict.fromkeys(names, (0, ConnectFailed("x"))))

    with pytest.raises(ConnectFailed):
        host.reach(*names)
    assert len(host.tried) == MOST


def unreachable(sign):
    error = ConnectFailed("six")
    error.sign = sign
    return error


@pytest.mark.parametrize("other", [AddressRefused("inside"), unreachable(Sign.NOTHING), ConnectFailed("later")])
@pytest.mark.parametrize("seconds", [0, 0.05])
def test_the_error_is_the_one_that_says_most(other, seconds):
    """That of an address that does not answer, before what is said of one inside or without a route."""
    ours = ConnectTimeout("four")
    host = Host(four=(seconds, ours), six=(0, other))

    with pytest.raises(ConnectFailed) as caught:
        host.reach("four", "six")
    assert caught.value is ours


def test_a_lack_of_ours_is_not_the_hosts():
    """Where its second address could not be tried for want of a socket, nobody knows whether it is away."""
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
