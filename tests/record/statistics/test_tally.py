"""Counts by name, and what each host gave, in bounded memory."""

from collections import Counter
from random import Random

import msgpack

from webcrawl.record.tally import HostTally, NameTally


def fed(tally, names):
    for name in names:
        tally.add(name, 10)
    return tally


def test_few_names_are_exact():
    """The rows are sorted by their numbers."""
    assert fed(NameTally(3), ["b", "a", "b", "c"]).rows() == [
        ("b", 2, 20),
        ("a", 1, 10),
        ("c", 1, 10),
    ]


def test_hostile_names_are_counted_together():
    """However many names there are, the sum is exact, the memory bounded, and a frequent name
    exact.
    """
    chance = Random(1)
    names = ["text/html"] * 500 + [f"x/{number}" for number in range(5000)]
    chance.shuffle(names)
    tally = fed(NameTally(16), ["text/html"] * 3 + names)

    rows = tally.rows()
    assert len(rows) <= 16
    assert rows[0] == ("text/html", 503, 5030)
    assert sum(row[1] for row in rows) + tally.others[0] == len(names) + 3
    assert sum(row[2] for row in rows) + tally.others[1] == 10 * (len(names) + 3)


def test_the_error_is_bounded():
    """No name has more than its row and `most` together."""
    chance = Random(2)
    names = [f"x/{int(chance.paretovariate(0.8)) % 300}" for _ in range(5000)]
    tally = fed(NameTally(32), names)

    for name, number in Counter(names).items():
        assert (
            tally.names.get(name, [0])[0]
            <= number
            <= tally.names.get(name, [0])[0] + tally.max_missing
        )


def test_room_for_one():
    """Even with room for a single name nothing is lost."""
    tally = fed(NameTally(1), ["a", "b", "c"])

    assert (tally.rows(), tally.others) == ([("c", 1, 10)], [2, 20])


KEY = bytes(16)


def fed_hosts(hosts, pages):
    """Adds one document of 10 bytes for each name."""
    for name in pages:
        row = hosts.row_of(name)
        row[0] += 1
        row[1] += 10
    return hosts


def test_few_hosts_are_exact():
    """While there is room, each host has its own exact row."""
    hosts = fed_hosts(HostTally(KEY, 4, 1), ["a", "b", "a", "c", "d"])

    assert {row.name: (row.documents, row.size, row.missed) for row in hosts} == {
        "a": (2, 20, 0),
        "b": (1, 10, 0),
        "c": (1, 10, 0),
        "d": (1, 10, 0),
    }
    assert hosts.level == 0


def test_memory_is_bounded():
    """There are never more rows than there is room for."""
    hosts = HostTally(KEY, 64, 2)
    for number in range(10_000):
        fed_hosts(hosts, [f"h{number}"])
        assert len(hosts.rows) <= 64


def test_a_heavy_host_stays_exact():
    """A host that is among the heaviest whenever rows give way never loses a document."""
    pages = [f"h{number}" for number in range(5000)] + ["heavy"] * 3000
    Random(1).shuffle(pages)
    hosts = fed_hosts(HostTally(KEY, 64, 2), ["heavy"] * 10 + pages)

    (heavy,) = [row for row in hosts if row.name == "heavy"]
    assert (heavy.documents, heavy.missed) == (3010, 0)


def test_what_a_row_lacks_is_bounded():
    """No row says more than the truth, nor less than the truth without what it may have missed;
    others have no more.
    """
    chance = Random(2)
    pages = [f"h{int(chance.paretovariate(0.7)) % 2000}" for _ in range(20_000)]
    hosts, truth = fed_hosts(HostTally(KEY, 128, 4), pages), Counter(pages)

    for row in hosts:
        assert row.documents <= truth[row.name] <= row.documents + row.missed
        assert row.size <= 10 * truth[row.name] <= row.size + row.missed_size
    unlisted = truth.keys() - hosts.rows.keys()
    assert max(truth[name] for name in unlisted) <= hosts.max_missed[0]


def test_the_sample_stands_for_all():
    """Weighed rows give the number of hosts within a few of their standard deviations, at any size."""
    chance = Random(3)
    names = [f"h{number}" for number in range(20_000)]
    pages = names + [name for name in names if chance.random() < 0.5]
    chance.shuffle(pages)
    hosts = fed_hosts(HostTally(KEY, 4096, 64), pages)

    weighed = [*hosts.weighted_rows(0)]
    assert hosts.level > 0
    assert abs(sum(weight for _, weight in weighed) - 20_000) < 1500
    assert abs(sum(weight for row, weight in weighed if row.documents > 1) - 10_000) < 1500


def test_restored_hosts_go_on():
    """What was saved and restored behaves as if it had never been away."""
    chance = Random(4)
    pages = [f"h{chance.randrange(500)}" for _ in range(4000)]
    one, two = fed_hosts(HostTally(KEY, 64, 2), pages[:2000]), HostTally(KEY, 64, 2)
    two.restore(msgpack.unpackb(msgpack.packb(one.save())))

    assert fed_hosts(one, pages[2000:]).save() == fed_hosts(two, pages[2000:]).save()
