"""How many pages are fetched again, and what waits for hosts."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.crawl.revisit.budget import (
    COUNTED_OF_HOST,
    EVERY,
    HOUR,
    MAX_OF_HOST,
    MAX_WAITING,
    TOKENS_KEPT_SECONDS,
    DueByHost,
    Split,
    Tokens,
    Unused,
)


def test_it_begins_with_one():
    """The first page needs no wait, at whatever time the clock begins."""
    assert [Tokens(lambda: 10.0).whole(now) for now in (0.0, 1.8e9)] == [1, 1]


def test_tokens_come_at_the_rate_in_force():
    """A changed rate counts from the next look on."""
    rate = [2.0]
    tokens = Tokens(lambda: rate[0])
    tokens.spend(tokens.whole(0.0))
    assert tokens.whole(1.0) == 2
    rate[0] = 0.0
    assert tokens.whole(2.0) == 1  # as many as may be kept without a rate
    tokens.spend(1)
    assert (tokens.whole(100.0), tokens.next(100.0)) == (0, None)
    rate[0] = -1.0
    assert (tokens.whole(200.0), tokens.next(200.0)) == (0, None)


def test_few_are_saved():
    """After a pause there are some seconds' worth."""
    tokens = Tokens(lambda: 10.0)
    tokens.whole(0.0)
    assert tokens.whole(3600.0) == 10 * TOKENS_KEPT_SECONDS


def test_a_clock_that_goes_back_gives_nothing():
    """Tokens of a time are given once."""
    tokens = Tokens(lambda: 1.0)
    tokens.spend(tokens.whole(100.0))
    tokens.spend(tokens.whole(102.0))
    assert [tokens.whole(now) for now in (50.0, 101.0, 102.0, 103.0)] == [0, 0, 0, 1]


def test_when_there_is_one_again():
    """`next` says when."""
    tokens = Tokens(lambda: 10.0)
    tokens.spend(tokens.whole(0.0))
    assert tokens.next(0.0) == pytest.approx(0.1)
    assert (tokens.whole(0.099), tokens.whole(0.101)) == (0, 1)


def test_a_rate_that_wavers_takes_back_little():
    """What was saved while the rate was higher is forgotten slowly; nothing is added meanwhile."""
    rate = [10.0]
    tokens = Tokens(lambda: rate[0])
    for now in range(60):
        tokens.whole(float(now))
    rate[0] = 0.0
    assert 40 < tokens.whole(60.0) < 50
    assert tokens.whole(120.0) == 1


URLS = st.sampled_from([f"http://{host}.test/{number}" for host in "abc" for number in range(2)])


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("add"), st.lists(URLS, max_size=30)), st.tuples(st.just("drop"), URLS)
        )
    )
)
def test_a_few_of_each_host_count(steps):
    """The room is for so many of each host; what a host has beyond is counted in the total only."""
    due, twin = DueByHost(), Counter()
    for step, what in steps:
        if step == "add":
            due.add(what)
            twin.update(url.split("/")[2] for url in what)
        elif twin[what.split("/")[2]]:
            due.drop(what)
            twin[what.split("/")[2]] -= 1
        assert due.total == twin.total()
        assert due.room == MAX_WAITING - sum(
            min(number, COUNTED_OF_HOST) for number in twin.values()
        )
        assert due.hosts() == {
            host: number for host, number in twin.items() if number > COUNTED_OF_HOST
        }


def test_a_host_that_is_full():
    """Beyond so many pages a host has enough to do."""
    due = DueByHost()
    due.add(["http://a.test/"] * (MAX_OF_HOST - 1))
    assert not due.is_full("a.test")
    due.add(["http://a.test/", "http://b.test/"])
    assert (due.is_full("a.test"), due.is_full("b.test"), due.is_full("c.test")) == (
        True,
        False,
        False,
    )


def test_after_a_checkpoint():
    """Of hosts with many pages it is known how many; of others they count, and may end all the
    same.
    """
    due = DueByHost()
    due.add(
        [f"http://a.test/{number}" for number in range(COUNTED_OF_HOST + 5)] + ["http://b.test/"]
    )
    again = DueByHost(due.total, due.hosts())

    assert again.room == due.room
    for url in [f"http://a.test/{number}" for number in range(COUNTED_OF_HOST + 5)] + [
        "http://b.test/"
    ]:
        again.drop(url)
    assert (again.total, again.room, again.hosts()) == (0, MAX_WAITING, {})


def test_pages_that_went_elsewhere():
    """Where fewer URLs are left than hosts are said to have, nothing is known of the hosts any
    more: all count.
    """
    due = DueByHost()
    due.add(["http://a.test/"] * 100)
    due.at_most(60)

    assert (due.total, due.room, due.is_full("a.test")) == (60, MAX_WAITING - 60, False)


class Told:
    """A look every ten seconds at so many pages; `lines` are what the log says."""

    def __init__(self, caplog, *, pages=100, rate=10.0, early=True):
        self.now, self._log = 1e9, caplog
        self.split = Split(lambda: self.now)
        self.split.change(age=86_400.0, rate=rate, share=0.5)
        self.split.early = early
        self.unused = Unused(self.split, lambda: pages, lambda: 60.0)

    def look(self, seconds):
        for _ in range(int(seconds / 10)):
            self.unused.look(self.now)
            self.now += 10
        return [record.getMessage() for record in self._log.records]


def test_more_than_the_pages_allow(caplog):
    """No page is fetched twice within a minute: of a hundred pages fewer than two a second can be
    fetched.
    """
    (line,) = Told(caplog).look(2 * EVERY)
    assert line.startswith(
        "REVISIT_RATE allows 10 revisits per second, but only 1.6667 can be used: there are 100 pages, and"
    )
    assert line.endswith("and none is fetched again within 60 s")


def test_a_policy_that_is_never_early(caplog):
    """It has no use for more than one fetch of each page in REVISIT_AGE."""
    (line,) = Told(caplog, rate=0.01, early=False).look(2 * EVERY)
    assert line.endswith(
        "and none is fetched again before it is as old as REVISIT_AGE, 86400 s, unless a change is announced"
    )


def test_once_an_hour(caplog):
    """It is said again as long as it is so, but not more often."""
    told = Told(caplog)
    assert len(told.look(HOUR)) == 1
    assert len(told.look(2 * HOUR)) == 3


def test_the_clock_is_set_back(caplog):
    """That keeps nobody silent for longer than a look."""
    told = Told(caplog)
    told.look(2 * EVERY)
    told.now -= 86_400
    assert len(told.look(2 * EVERY)) == 2


@pytest.mark.parametrize("more", [{"rate": 1.5}, {"rate": 0.0}, {"pages": 0}])
def test_nothing_to_tell(caplog, more):
    """A budget that can be used, a share of all fetches, and a crawl that has no pages yet."""
    assert Told(caplog, **more).look(HOUR) == []
