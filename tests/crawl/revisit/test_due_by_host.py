"""How many more pages may become due, while some hosts have more of them than they can give."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from webcrawl.crawl.revisit.due_by_host import MANY, ROOM, SHARE, DueByHost

URLS = st.sampled_from([f"http://{host}.test/{number}" for host in "abc" for number in range(2)])


@given(st.lists(st.one_of(st.tuples(st.just("add"), st.lists(URLS, max_size=30)), st.tuples(st.just("drop"), URLS))))
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
        assert due.room == ROOM - sum(min(number, SHARE) for number in twin.values())
        assert due.hosts() == {host: number for host, number in twin.items() if number > SHARE}


def test_a_host_that_is_full():
    """Beyond so many pages a host has enough to do."""
    due = DueByHost()
    due.add(["http://a.test/"] * (MANY - 1))
    assert not due.is_full("a.test")
    due.add(["http://a.test/", "http://b.test/"])
    assert (due.is_full("a.test"), due.is_full("b.test"), due.is_full("c.test")) == (True, False, False)


def test_after_a_checkpoint():
    """Of hosts with many pages it is known how many; of others they count, and may end all the same."""
    due = DueByHost()
    due.add([f"http://a.test/{number}" for number in range(SHARE + 5)] + ["http://b.test/"])
    again = DueByHost(due.total, due.hosts())

    assert again.room == due.room
    for url in [f"http://a.test/{number}" for number in range(SHARE + 5)] + ["http://b.test/"]:
        again.drop(url)
    assert (again.total, again.room, again.hosts()) == (0, ROOM, {})


def test_pages_that_went_elsewhere():
    """Where fewer URLs are left than hosts are said to have, nothing is known of the hosts any more: all count."""
    due = DueByHost()
    due.add(["http://a.test/"] * 100)
    due.at_most(60)

    assert (due.total, due.room, due.is_full("a.test")) == (60, ROOM - 60, False)
