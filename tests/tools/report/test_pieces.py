"""The pieces that the report is made of."""

import os
from types import SimpleNamespace

import pytest

from tests.support.reports import Report
from webcrawl.base import numbers
from webcrawl.record.statistics import Statistics
from webcrawl.store.jobdir import counter_words
from webcrawl.store.jobdir.stats_file import Series
from webcrawl.tools.report import charts
from webcrawl.tools.report.elements import TableColumn, table
from webcrawl.tools.report.hosts import servers
from webcrawl.tools.report.log_summary import BATCH_BYTES, LogFindings, SeedTable
from webcrawl.tools.report.overview import rate


def read(path, end=9_000_000, **more):
    log = LogFindings()
    log.read(path, end, **more)
    return log


class TestNumbers:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0, "0"),
            (999, "999"),
            (1234567, "1,234,567"),
            (-9998, "-9,998"),
            (0.5, "0.5"),
            (1234.5, "1,234"),
            (3.0, "3"),
        ],
    )
    def test_numbers(self, value, text):
        assert numbers.number(value) == text

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1 kB"),
            (39_240_000, "39.2 MB"),
            (999_600, "1 MB"),
            (123e9, "123 GB"),
        ],
    )
    def test_sizes(self, value, text):
        assert numbers.size(value).split() == text.split()

    @pytest.mark.parametrize(
        ("part", "text"),
        [
            (0, "0.0 %"),
            (1, "< 0.1 %"),
            (50_000, "50.0 %"),
            (99_999, "99.9 %"),
            (100_000, "100.0 %"),
        ],
    )
    def test_shares(self, part, text):
        """What is little is not nothing, and nearly all is not all."""
        assert numbers.percent(part, 100_000) == text

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0.0123, "12 ms"),
            (1.5, "1.5 s"),
            (119, "119 s"),
            (600, "10 min"),
            (7200, "2 h"),
            (864_000, "10.0 days"),
        ],
    )
    def test_durations(self, value, text):
        assert numbers.seconds(value) == text

    @pytest.mark.parametrize(
        ("value", "text"), [(0, "0"), (512, "512"), (2048, "2K"), (1 << 20, "1M"), (1 << 40, "1T")]
    )
    def test_powers_of_two(self, value, text):
        assert numbers.binary(value) == text

    def test_a_time_that_no_calendar_has(self):
        assert numbers.when(1e300) == "-"


class TestWords:
    @pytest.mark.parametrize(
        ("status", "text"),
        [
            (200, "OK"),
            (-4, "no answer in time"),
            (999, "not a registered status"),
            (-77, "not a reg"),
        ],
    )
    def test_every_status_has_words(self, status, text):
        assert counter_words.status(status).startswith(text)


class TestRates:
    def test_pauses_do_not_count(self):
        """Time in which nothing came, as between two runs, slows no crawl down."""
        series = Series()
        for second in (0, 0, 0, 500):
            series.add(1_700_000_000_000 + 1000 * second, 1, 10)

        assert (series.width, rate(series)) == (1000, "2 per second")


class TestAxes:
    @pytest.mark.parametrize("high", [0, 1e-6, 0.3, 1, 7, 99, 100, 12_345, 1e12])
    def test_a_linear_axis(self, high):
        """It begins at 0, ends at or above the highest value, and has few labels at round steps."""
        axis = charts.linear(high, numbers.number)

        assert (axis.low, axis.place(0)) == (0, 0)
        assert axis.high >= high
        assert 2 <= len(axis.labels) <= charts.TICKS + 2

    @pytest.mark.parametrize(
        ("low", "high"), [(1, 1), (1, 10), (3, 12_345), (10, 1e12), (0, 0), (100, 100)]
    )
    def test_a_logarithmic_axis(self, low, high):
        """It spans whole powers of ten, at least one."""
        axis = charts.powers(low, high, numbers.number)

        assert axis.low <= max(low, 1) <= max(high, 1) <= axis.high
        assert axis.low < axis.high
        assert axis.place(axis.low) == 0
        assert axis.place(axis.high) == 1

    def test_charts_have_names(self):
        """A drawing says its title and its description, and is the same each time, as open pages
        compare them.
        """
        axis = charts.linear(3, numbers.number)
        made = [
            charts.area([1, 2, 3], axis, axis, ("Pages", "Three."), ("x", "y")) for _ in range(2)
        ]

        assert Report(made[0]).tree.xpath("//svg[@role='img']/@aria-label") == ["Pages: Three."]
        assert made[0] == made[1]

    def test_there_is_no_inline_style(self):
        """The dashboard's pages do not allow it."""
        axis = charts.linear(3, numbers.number)
        about, units = ("a", "b"), ("x", "y")
        made = (
            charts.area([1], axis, axis, about, units),
            charts.dots([(1, 1)], axis, axis, about, units),
            charts.columns([charts.StackColumn("1", [3], "one")], about, units),
            table("some", [TableColumn("Share", "share")], [[0.5]], "A table"),
        )

        assert "style=" not in "".join(made)

    def test_columns_say_what_they_are(self):
        """Each column has a tooltip, and parts that are nothing are not drawn."""
        stacks = [
            charts.StackColumn("1", [3, 0], "one: 3"),
            charts.StackColumn("2", [1, 2], "two: 3"),
        ]
        page = Report(charts.columns(stacks, ("a", "b"), ("x", "y")))

        assert page.tree.xpath("//g/title/text()") == ["one: 3", "two: 3"]
        assert page.tree.xpath("//g/rect[@class!='hit']/@class") == ["c0", "c0", "c1"]


class TestTables:
    def test_numbers_are_aligned_and_sortable(self):
        """What is no text is aligned to the right; where the text does not sort, the cell has its
        value.
        """
        head = [
            TableColumn("Name"),
            TableColumn("Many", "number"),
            TableColumn("Bytes", "size"),
            TableColumn("Share", "share"),
        ]
        page = Report(
            table("some", head, [["a<b", 1234, 1_500_000, 0.5], ["c", None, 0, 0.0]], "A table")
        )

        assert page.rows("some") == [
            ["a<b", "1,234", "1.5 MB", "50.0 %"],
            ["c", "-", "0 B", "0.0 %"],
        ]
        assert page.tree.xpath("//tr[1]/td/@class") == ["n", "n", "n share"]
        assert page.tree.xpath("//tbody/tr[1]/td/@data-v") == ["1500000", "0.5"]


class TestSeeds:
    def test_room_for_few(self):
        """Seeds for which there is no room are counted by their lines."""
        seeds = SeedTable(max_seeds=1)
        for seed in (b"http://a/", b"http://b/", b"http://a/", b"http://c/"):
            seeds.add(seed, b"-", 200, 5)

        assert (len(seeds), seeds.lines_without_room) == (1, 2)
        assert seeds.rows(9)[0][3:] == (2, 2, 0, 10)

    def test_redirects_decide(self):
        """A seed that redirects has the status of where its redirects ended; links from there do
        not count.
        """
        seeds = SeedTable()
        for path, status in [(b"-", 301), (b"R", 302), (b"RR", 404), (b"RRL", 200)]:
            seeds.add(b"http://a/", path, status, 0)

        (row,) = seeds.rows(9)
        assert (row.status, row.redirected) == (404, True)

    def test_what_the_crawl_asks_of_itself_does_not_count(self, tmp_path):
        """robots.txt and probes are no URLs that were found from a seed, and no failures of its
        site.
        """
        row = "2026-01-02T03:04:05.006Z {} 9 http://a.test/{} {} - - #001 20260102030405000+1 - http://a.test/ -\n"
        ends = [
            (200, "", "-"),
            (404, "robots.txt", "P"),
            (404, "kxwqzjvh", "LLS"),
            (200, "page", "L"),
        ]
        (tmp_path / "crawl.log").write_text("".join(row.format(*end) for end in ends))

        (seed,) = read(tmp_path / "crawl.log").seeds.rows(9)
        assert (seed.found, seed.fetched, seed.failed) == (2, 2, 0)

    def test_a_url_behind_a_block_page_counts_once(self, tmp_path):
        """Each block page has its line, but a URL has one end: its last.

        One whose host is blocked has none yet.
        """
        row = "2026-01-02T03:04:05.006Z {} 9 http://{} L - - #001 20260102030405000+1 - http://a.test/ {}\n"
        block_page = "wall:cloudflare"
        ends = [
            (403, "a.test/1", block_page),
            (503, "a.test/2", block_page),
            (403, "a.test/1", f"price:1,{block_page}"),
        ]
        ends += [
            (200, "a.test/1", "-"),
            (403, "a.test/alone", block_page),
            (403, "shut.test/1", block_page),
            (404, "a.test/2", "-"),
        ]
        (tmp_path / "crawl.log").write_text("".join(row.format(*end) for end in ends))

        log = read(tmp_path / "crawl.log")
        log.take_back_blocked({"shut.test"})
        (seed,) = log.seeds.rows(9)
        assert (seed.found, seed.fetched, seed.failed) == (3, 1, 2)
        assert log.retried_block_pages == {403: 3, 503: 1}

    def test_failures_come_first(self):
        """Then seeds that gave nothing, then the others."""
        seeds = SeedTable()
        for seed, status in [(b"good", 200), (b"moved", 301), (b"dead", -1), (b"gone", 404)]:
            seeds.add(seed, b"-", status, 0)

        assert [row.url for row in seeds.rows(3)] == ["dead", "gone", "moved"]

    def test_those_without_a_line(self, tmp_path):
        """Seeds of the lists that the log does not have, as far as the lists were read."""
        lists = tmp_path / "seeds.txt"
        lists.write_text("http://a.test/\nb.test\nhttp://c.test/\nhttp://d.test/\n")
        seeds = SeedTable()
        seeds.add(b"http://a.test/", b"-", 200, 0)

        assert [*seeds.seeds_without_line(str(lists), 3)] == ["http://b.test/", "http://c.test/"]
        assert [*seeds.seeds_without_line(str(tmp_path / "gone.txt"), 3)] == []

    def test_a_pipe_is_not_read(self, tmp_path):
        """Seeds that came through a pipe are not there to be read again; nobody waits for them."""
        os.mkfifo(tmp_path / "pipe.txt")

        assert [*SeedTable().seeds_without_line(str(tmp_path / "pipe.txt"), 3)] == []


def test_hosts_whose_documents_are_empty():
    """There is no plot of their bytes, and all else is there."""
    statistics = Statistics(bytes(16))
    statistics.count_answer(200, "http://a.test/", "", 1_700_000_000_000, 5, 0, "text/html")

    found = Report(servers(SimpleNamespace(statistics=statistics)))
    assert [one.text_content() for one in found.tree.xpath("//figcaption/b")] == [
        "Documents per server"
    ]
    assert found.rows("host-table")


class TestTheLog:
    def test_a_damaged_url_behind_a_block_page(self, tmp_path):
        """Its host is none that waits, whatever bytes it has."""
        line = b"2026-01-02T03:04:05.006Z 403 9 http://\xff/ L - - #001 20260102030405000+1 - - wall:cloudflare\n"
        (tmp_path / "crawl.log").write_bytes(line)
        log = read(tmp_path / "crawl.log", len(line))
        log.take_back_blocked({"a.test"})

        assert len(log.blocked_urls) == 1

    def test_a_document_that_was_fetched_again(self, tmp_path):
        """It is among the largest ones once, as large as it ever was."""
        row = "2026-01-02T03:04:05.006Z 200 {} http://a.test/{} L - - #001 20260102030405000+1 - - -\n"
        visits = [(5, "x"), (9, "x"), (7, "x"), (6, "y")]
        (tmp_path / "crawl.log").write_text("".join(row.format(*visit) for visit in visits))

        largest = sorted(read(tmp_path / "crawl.log").largest)
        assert largest == [(6, b"http://a.test/y"), (9, b"http://a.test/x")]

    def test_a_line_without_end(self, tmp_path):
        """A file of one endless line is read in pieces, each of which is damaged."""
        path = tmp_path / "crawl.log"
        path.write_bytes(b"x" * 9_000_000)

        log = LogFindings()
        assert log.read(path, 9_000_000, statistics=Statistics(bytes(16))) == 2 * BATCH_BYTES
        assert (log.lines, log.damaged) == (2, 2)

    def test_no_log(self, tmp_path):
        """Of a file that is not there, nothing is read."""
        assert LogFindings().read(tmp_path / "crawl.log", 77) == 0
