"""The statistics of a hive are those that one crawl of all its hosts would have kept."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import in_campaign
from webcrawl.record.statistics import Statistics, figures, join_statistics
from webcrawl.record.tally import HostTally, NameTally
from webcrawl.store.jobdir.stats_file import MAX_SLOTS, MOST, Series, added_tables

KEY = bytes(range(16))
KINDS = ("text/html", "text/plain; charset=x", "image/png", "application/pdf")


def told(statistics, random, host):
    """A URL of this host ends somehow."""
    url, path = f"http://{host}/{random.random()}", random.choice(("", "L", "LLR", "P"))
    if random.random() < 0.2:
        statistics.count_unanswered(random.choice((-1, -9998)), url, path)
        return
    size, status = random.randrange(5000), random.choice((200, 200, 404, 503))
    at = 1_700_000_000_000 + random.randrange(600_000)
    statistics.count_answer(
        status, url, path, at, random.randrange(3000), size, random.choice(KINDS)
    )
    if random.random() < 0.1:
        statistics.count_duplicate(size)
        statistics.truncated.add("length", size)


@pytest.mark.parametrize("drones", [1, 2, 5])
def test_as_one_crawl(drones):
    """All figures but those over time are the same, and over time the sums are."""
    whole, parts = Statistics(KEY), [Statistics(KEY) for _ in range(drones)]
    for number in range(2000):
        own = number % 200
        for statistics in (whole, parts[own % drones]):
            told(statistics, Random(number), f"h{own}.{'com' if own % 3 else 'org'}")

    both = join_statistics(parts, KEY)
    mine, theirs = figures(both), figures(whole)
    for name in ("downloads", "documents", "bytes"):
        assert sum(mine["series"][name]) == sum(theirs["series"][name])
    for name in ("series", "hosts"):
        del mine[name], theirs[name]
    assert mine == theirs
    assert both.hosts.rows == whole.hosts.rows


def test_drones_stay_as_they_are():
    """Merging changes none of the parts, nor what is made of them later."""
    parts = [Statistics(KEY), Statistics(KEY)]
    for statistics in parts:
        told(statistics, Random(7), "a.test")
    before = [repr(part.save()) for part in parts]
    whole = join_statistics(parts, KEY)
    whole.hosts.row_of("a.test")[0] += 100
    whole.types.add("text/html", 5)

    assert [repr(part.save()) for part in parts] == before


def test_nothing():
    """Drones that have done nothing are a crawl that has done nothing."""
    assert figures(join_statistics([Statistics(KEY), Statistics(KEY)], KEY)) == figures(
        Statistics(KEY)
    )


class TestHosts:
    def fed(self, names, room=64):
        hosts = HostTally(KEY, room, 4)
        for name, many in names.items():
            for _ in range(many):
                row = hosts.row_of(name)
                row[0] += 1
                row[1] += 10
        return hosts

    def test_one_that_changed_hands(self):
        """What a host gave to several drones is one row."""
        one, other = self.fed({"a.test": 3}), self.fed({"a.test": 4, "b.test": 1})
        one.join(other)

        assert {row.name: (row.documents, row.size) for row in one} == {
            "a.test": (7, 70),
            "b.test": (1, 10),
        }

    @pytest.mark.parametrize("sizes", [(30, 3000), *in_campaign(((3000, 30),), ((2000, 3000),))])
    def test_samples_of_different_levels(self, sizes):
        """The sample of many stands for all, bounds hold, and the heavy ones are exact."""
        has = [
            {f"h{number}.{drone}": 1 + number % 3 for number in range(size)}
            for drone, size in enumerate(sizes)
        ]
        for drone, names in enumerate(has):
            names[f"h0.{drone}"] = 500
        parts = [self.fed(names) for names in has]
        whole = self.fed({})
        for part in parts:
            whole.join(part)

        true = has[0] | has[1]
        estimate = sum(weight for _, weight in whole.weighted_rows(0))
        assert 0.6 * len(true) < estimate < 1.6 * len(true)
        rows = {row.name: row.documents for row in whole}
        assert rows["h0.0"] == rows["h0.1"] == 500
        assert all(true[name] - rows.get(name, 0) <= whole.max_missed[0] for name in true)


class TestSeries:
    def fed(self, start, seconds, step=1000):
        series = Series()
        for at in range(start, start + seconds * 1000, step):
            series.add(at, 1, 10)
        return series

    def test_different_beginnings_and_widths(self):
        """Slots are as wide as the widest, begin with the earliest, and none gets lost."""
        early, late = self.fed(1_000_000, 5000), self.fed(3_000_500, 100)
        assert (early.width, late.width) == (8000, 1000)
        whole = Series.joined((late, early))

        assert (whole.start, whole.width) == (1_000_000, 8000)
        assert sum(whole.downloads) == sum(whole.documents) == 5100
        assert sum(whole.sizes) == 51_000
        assert set(whole.downloads[252:260]) <= {15, 16, 17}

    def test_days_between_them(self):
        """When there are too many slots they become wider."""
        whole = Series.joined((self.fed(1_000_000, 10), self.fed(1_000_000 + 86_400_000, 10)))

        assert len(whole.downloads) <= MAX_SLOTS
        assert sum(whole.downloads) == 20

    def test_one_that_has_not_begun(self):
        """A drone without a download changes nothing."""
        one = self.fed(5_000_000, 30)

        assert Series.joined((Series(), one)).save() == one.save()
        assert Series.joined((Series(), Series())).save() == Series().save()


def test_tallies_add_up():
    """Sums are exact, those that are counted together included; so is what a name may lack at most."""
    parts = [NameTally(4), NameTally(4)]
    for number, tally in enumerate(parts):
        for name in range(20):
            for _ in range(name + number + 1):
                tally.add(f"n{name}", 2)
    whole = NameTally(4)
    for part in parts:
        whole.join(part)

    assert sum(row[1] for row in whole.rows()) + whole.others[0] == 2 * 210 + 20
    assert sum(row[2] for row in whole.rows()) + whole.others[1] == 2 * (2 * 210 + 20)
    assert whole.max_missing == sum(part.max_missing for part in parts)


HOSTS = st.sampled_from([f"{name}.{tld}" for name in "abcdefgh" for tld in ("org", "de")])
answers = st.tuples(
    st.sampled_from([200, 200, 404, 503]),
    HOSTS,
    st.sampled_from(["", "L", "LL", "P"]),
    st.integers(0, 5_000_000),
    st.integers(0, 5000),
    st.integers(0, 100_000),
    st.sampled_from(["text/html", "image/png", "x/y"]),
)


def statistics_of(found):
    statistics = Statistics(KEY)
    for status, host, path, at, milliseconds, size, kind in found:
        statistics.count_answer(
            status, f"http://{host}/", path, 1_700_000_000_000 + at, milliseconds, size, kind
        )
    return statistics


def as_kept(statistics):
    return json.loads(json.dumps(figures(statistics)))


class TestTables:
    """The tables of stats.json, of which a few names are known."""

    @given(st.lists(answers, max_size=40))
    def test_as_one_crawl(self, found):
        """With few names, all tables are those of one crawl that did everything; but for where
        slots of time begin.
        """
        parts = [[answer for answer in found if ord(answer[1][0]) % 3 == part] for part in range(3)]
        total, one = (
            added_tables(figures(statistics_of(part)) for part in parts),
            as_kept(statistics_of(found)),
        )
        series, expected = total.pop("series"), one.pop("series")

        assert total == one
        for name in ("downloads", "documents", "bytes"):
            assert sum(series[name]) == sum(expected[name])

    def test_others(self):
        """Of many names the first are kept; the sums stay exact."""
        parts = [Statistics(KEY), Statistics(KEY)]
        for number, part in enumerate(parts):
            for name in range(40):
                for _ in range(1 + (name + number) % 7):
                    part.types.add(f"x/{name}", 10)
        table = added_tables(map(figures, parts))["content_types"]

        assert len(table) == MOST + 1
        assert sum(row[0] for row in table.values()) == sum(
            1 + (n + p) % 7 for n in range(40) for p in range(2)
        )

    def test_time(self):
        """Each download stays where it was in time, to the length of the longest slots."""
        early, late = Statistics(KEY), Statistics(KEY)
        early.count_answer(200, "http://a.org/", "", 1_700_000_000_000, 1, 10, "text/html")
        late.count_answer(200, "http://b.org/", "", 1_700_000_005_000, 1, 10, "text/html")

        series = added_tables([figures(late), figures(early)])["series"]

        assert (series["start"], series["seconds"]) == (1_700_000_000, 1)
        assert series["downloads"] == [1, 0, 0, 0, 0, 1]

    def test_of_one(self):
        """The figures of a single crawl come back."""
        one = as_kept(statistics_of([(200, "a.org", "", 0, 5, 100, "text/html")]))

        assert added_tables([one]) == one
