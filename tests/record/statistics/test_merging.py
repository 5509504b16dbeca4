"""Statistics of crawls that share the web: as if one crawl had all of it."""

import json

from hypothesis import given
from hypothesis import strategies as st

from webcrawl.record.statistics.statistics import Statistics, figures
from webcrawl.store.jobdir.stats_file import MOST, added_tables

KEY = b"0123456789abcdef"
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
        statistics.answered(status, f"http://{host}/", path, 1_700_000_000_000 + at, milliseconds, size, kind)
    return statistics


def as_kept(statistics):
    return json.loads(json.dumps(figures(statistics)))


class TestMerged:
    @given(st.lists(answers, max_size=40))
    def test_as_one_crawl(self, found):
        """With few names, all tables are those of one crawl that did everything; but for where slots of time begin."""
        parts = [[answer for answer in found if ord(answer[1][0]) % 3 == part] for part in range(3)]
        total, one = added_tables(figures(statistics_of(part)) for part in parts), as_kept(statistics_of(found))
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
        assert sum(row[0] for row in table.values()) == sum(1 + (n + p) % 7 for n in range(40) for p in range(2))

    def test_time(self):
        """Each download stays where it was in time, to the length of the longest slots."""
        early, late = Statistics(KEY), Statistics(KEY)
        early.answered(200, "http://a.org/", "", 1_700_000_000_000, 1, 10, "text/html")
        late.answered(200, "http://b.org/", "", 1_700_000_005_000, 1, 10, "text/html")

        series = added_tables([figures(late), figures(early)])["series"]

        assert (series["start"], series["seconds"]) == (1_700_000_000, 1)
        assert series["downloads"] == [1, 0, 0, 0, 0, 1]

    def test_of_one(self):
        """The figures of a single crawl come back."""
        one = as_kept(statistics_of([(200, "a.org", "", 0, 5, 100, "text/html")]))

        assert added_tables([one]) == one
