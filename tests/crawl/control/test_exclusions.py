"""Owners' wishes by command: what the words mean, what is kept, when it ends."""

from types import SimpleNamespace

import msgpack
import pytest

from webcrawl.crawl.checks import check
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.commands import obey
from webcrawl.crawl.control.exclusions import COMMANDED, FileOptOuts, dated, saved_optouts, wish_of
from webcrawl.crawl.control.in_force import META, InForce
from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.exclusion_rules import OptOut, read_date, said
from webcrawl.urls.filters.exclusion import ExclusionFilter

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z


class Time:
    now = NOW

    def __call__(self):
        return self.now


def crawl_of(in_force):
    """What `exclude`, `include` and `excluded` need."""
    parts = SimpleNamespace(in_force=in_force, file_optouts=SimpleNamespace(records=list))
    return SimpleNamespace(crawl=SimpleNamespace(parts=parts))


@pytest.fixture(name="run")
def _run(tmp_path):
    """Starts a run; `end` takes its last checkpoint, unless it is killed."""
    opened, clock = [], Time()

    def start():
        db = CrawlDB(tmp_path)
        opened.append(db)
        in_force = InForce(db, check({}), clock=clock)
        return in_force, db

    start.clock = clock
    yield start
    for db in opened:
        db.close()


def end(db):
    db.checkpoint()
    db.close()


class TestTakenBack:
    @pytest.mark.parametrize(
        ("other", "still"),
        [
            ("example.com", True),
            ("http://www.example.com/", True),
            ("www.example.com/a/", True),
            ("example.org", False),
            ("www.example.com/a/b/c", False),
        ],
    )
    def test_what_another_record_still_names(self, run, other, still):
        """A rule that is taken back is not said to be crawled again: a wider one may name the same
        pages.
        """
        crawl = crawl_of(run()[0])
        rule = "www.example.com/a/b/"
        obey(crawl, "exclude", rule)
        obey(crawl, "exclude", other)

        said = obey(crawl, "include", rule)

        assert ("another rule still excludes it" in said) is still
        assert said.startswith(
            f"{rule} is no longer excluded; URLs that were dropped meanwhile do not come back"
        )

    def test_a_domain(self, run):
        """A domain may be named by the one above it."""
        crawl = crawl_of(run()[0])
        for rule in ("*.a.test", "b.a.test"):
            obey(crawl, "exclude", rule)

        assert "another rule still excludes it: `excluded b.a.test` shows" in obey(
            crawl, "include", "b.a.test"
        )
        assert "another rule" not in obey(crawl, "include", "*.a.test")

    @pytest.mark.parametrize("rule", ["example.com # a letter", "example.com/a/ # a letter"])
    def test_a_rule_with_a_comment(self, run, rule):
        """A line of a file can be given as it is, and is taken back by the same words."""
        crawl = crawl_of(run()[0])
        obey(crawl, "exclude", rule)
        obey(crawl, "exclude", "example.com/a/")

        said = obey(crawl, "include", rule)

        assert said.endswith(f"another rule still excludes it: `excluded {rule}` shows which") is (
            "/" in rule
        )
        assert [one["rule"] for one in obey(crawl, "excluded")["excluded"]] == ["example.com/a/"]


class TestWords:
    def test_all(self):
        """By whom, why, until when and what is to be forgotten; the options may stand anywhere, as
        two words or one.
        """
        words = [
            "--by",
            "joe",
            "example.com",
            "--reason=a letter",
            "--until",
            "2027-01-31",
            "--forget",
        ]

        assert wish_of(words, NOW) == OptOut(
            "example.com", NOW, "joe", "a letter", 1801440000.0, forget=True
        )

    def test_a_rule_alone(self):
        """It holds from now on, for good."""
        assert wish_of(["example.com"], NOW) == OptOut("example.com", NOW)

    def test_a_day_is_meant_to_its_end(self):
        """Until a day is until the day after it begins, in UTC; a time is meant as it is."""
        assert wish_of(["a.b", "--until", "2027-01-15"], NOW).until == NOW + 16 * 3600
        assert wish_of(["a.b", "--until", "2027-01-15T09:00+01:00"], NOW - 1).until == NOW

    @pytest.mark.parametrize("day", ["20270115", "2027-W02-5", "2027W025"])
    def test_a_day_as_others_write_it(self, day):
        """However ISO 8601 writes a day, it is meant to its end; a week is meant to the end of its
        Sunday.
        """
        assert wish_of(["a.b", "--until", day], NOW).until == NOW + 16 * 3600
        assert wish_of(["a.b", "--until", "2027-W02"], NOW).until == NOW + (48 + 16) * 3600

    @pytest.mark.parametrize(
        ("words", "why"),
        [
            (["a.b", "--until", "soon"], "--until soon: must be a date or time"),
            (["a.b", "--until", "9999-12-31T23:59-12:00"], "a date or time"),
            (["a.b", "--since", "0001-01-01T00:00+14:00"], "a date or time"),
            (["a.b", "--until", "2020-01-01"], "--until 2020-01-01: is in the past"),
            (["a.b", "--by"], "--by needs a value"),
            (["a.b", "--bye", "x"], "--bye: unknown option; usage"),
            (["a.b", "c.d"], "give exactly one rule"),
            (["--forget"], "give exactly one rule"),
            (["a b"], "'a b' is neither a domain nor a URL prefix"),
            (["127.0.2.3:8085"], "with a port, give a URL: http://127.0.2.3:8085/$"),
            (["a.*"], r"'a.\*': \* is not a wildcard here"),
        ],
    )
    def test_what_is_not_understood(self, run, words, why):
        """It is refused before anything changes, with the reason."""
        in_force, _ = run()

        with pytest.raises(CommandError, match=why):
            obey(crawl_of(in_force), "exclude", *words)
        assert not in_force.excluded.records

    @pytest.mark.parametrize(
        "date", ["0001-01-01T00:00:00Z", "0999-12-31T12:00:00Z", "9999-12-31T23:59:59Z"]
    )
    def test_what_is_said_can_be_read(self, date):
        """A date is written as it is read, in whatever year: programs read the list of records."""
        assert said(read_date(date)) == date

    def test_a_wish_of_the_past(self, run):
        """One that is said to have been over when it is told is kept, and nobody is told that it is
        in force.
        """
        in_force, _ = run()
        words = ("a.b", "--since", "2020-01-01", "--until", "2021-01-01", "--forget")

        assert obey(crawl_of(in_force), "exclude", *words).startswith(
            "a.b was excluded until 2021-01-02T00:00:00Z; "
        )
        assert not in_force.excluded.rules

    def test_an_order_to_many_is_dated_once(self):
        """Whoever hears of it later, a drone that joins for instance, dates the record by the
        order.
        """
        words = dated(["a.b"], NOW)

        assert wish_of(words, NOW + 3600).since == NOW
        assert dated(words, NOW + 9) == words


class TestRecords:
    def test_they_last(self, run):
        """A record is the same after a restart, and what a killed run said last is as of its
        checkpoint.
        """
        wish = OptOut("example.com", NOW, "joe", "a letter", NOW + 60, forget=True)
        in_force, db = run()
        in_force.exclude(wish)
        end(db)

        in_force, db = run()
        assert in_force.excluded.records == [wish]
        in_force.exclude(OptOut("b.test", NOW))
        db.close()  # killed

        assert run()[0].excluded.records == [wish]

    def test_an_end(self, run):
        """A rule ends by itself at its time, for links and queued URLs alike; its record stays."""
        in_force, _ = run()
        in_force.exclude(OptOut("example.com", NOW, until=NOW + 60))
        in_force.exclude(OptOut("b.test", NOW))
        one, url = in_force.excluded, "http://www.example.com/"

        run.clock.now += 59
        assert one.reject(url)
        run.clock.now += 1
        assert (one.reject(url), one.keep([url], None), one.reject("http://b.test/")) == (
            False,
            [url],
            True,
        )
        assert list(in_force.order_lines()) == ["exclude b.test"]
        assert [row.rule for row in one.records] == ["example.com", "b.test"]

    def test_what_is_over_does_not_come_back_with_a_restart(self, run):
        """A rule that ended while nothing ran is not in force in the next run."""
        in_force, db = run()
        in_force.exclude(OptOut("example.com", NOW, until=NOW + 60))
        end(db)
        run.clock.now += 61

        assert not run()[0].excluded.reject("http://example.com/")

    def test_again(self, run):
        """The same rule alone says nothing new; with more words the record says more, and when it
        began stays.
        """
        in_force, _ = run()
        in_force.exclude(OptOut("example.com", NOW, by="joe", until=NOW + 60))

        assert not in_force.exclude(OptOut("example.com", NOW + 5))
        assert in_force.exclude(OptOut("example.com", NOW + 5, why="for good", forget=True))
        assert in_force.excluded.records == [
            OptOut("example.com", NOW, "joe", "for good", forget=True)
        ]

    def test_again_after_its_end(self, run):
        """A rule that is over begins anew."""
        in_force, _ = run()
        in_force.exclude(OptOut("example.com", NOW, until=NOW + 60))
        run.clock.now += 61

        assert in_force.exclude(OptOut("example.com", NOW + 61))
        assert in_force.excluded.records == [OptOut("example.com", NOW + 61)]

    def test_status_says_more_than_the_rule(self, run):
        """What is in force is told with by whom, until when and why, if that is known."""
        in_force, _ = run()
        in_force.exclude(OptOut("example.com", NOW, by="joe", why="a letter"))

        assert list(in_force.order_lines()) == [
            "exclude example.com (since 2027-01-15T08:00:00Z, by joe, a letter)"
        ]

    def test_a_state_without_records(self, run):
        """Rules of a version that kept no records are in force, their date is not known; what it
        took back is gone.
        """
        in_force, db = run()
        in_force.exclude(OptOut("gone.test", NOW))
        in_force.exclude(OptOut("kept.test", NOW))
        end(db)
        db = CrawlDB(db.folder)
        db.set(
            META, msgpack.packb({"paused": False, "excluded": ["kept.test", "new.test"], "set": {}})
        )
        end(db)

        assert run()[0].excluded.records == [OptOut("kept.test", NOW), OptOut("new.test")]


class TestExcluded:
    def test_all_or_those_of_a_host(self, run):
        """The records as figures; with a host or URL those that name it."""
        in_force, _ = run()
        crawl = crawl_of(in_force)
        obey(crawl, "exclude", "example.com", "--by", "joe", "--since", "2026-01-02T03:04:05Z")
        obey(crawl, "exclude", "http://b.test/x/")

        all_, one, none = (
            obey(crawl, "excluded", *words) for words in ((), ("www.example.com",), ("b.test",))
        )

        assert (all_["records"], one["records"], none) == (2, 1, {"records": 0, "excluded": []})
        assert one["excluded"] == [
            {
                "rule": "example.com",
                "since": "2026-01-02T03:04:05Z",
                "by": "joe",
                "why": "",
                "until": None,
                "forget": False,
                "source": "command",
                "holds": True,
            }
        ]
        assert obey(crawl, "excluded", "http://b.test/x/y")["records"] == 1


class TestFile:
    def test_its_lines_are_records_in_the_state(self, tmp_path, run):
        """Each line is dated when it was read first, after a restart too; a line that is gone has
        no record.
        """
        path = tmp_path / "out.txt"
        path.write_text("a.test\nb.test # by: joe since: 2026-01-02\n")
        clock, (_, db) = run.clock, run()
        filters = [ExclusionFilter(path, 1, clock)]
        records = FileOptOuts(db, lambda: filters)
        known = [
            OptOut("a.test", NOW, source="file"),
            OptOut("b.test", 1767312000.0, by="joe", source="file"),
        ]
        assert records.records() == known
        end(db)
        clock.now += 100
        path.write_text("c.test\na.test\n")

        db = run()[1]
        filters[0].reject("http://x.test/")
        records = FileOptOuts(db, lambda: filters)
        end(db)

        db = run()[1]
        assert saved_optouts(db, []) == [OptOut("c.test", NOW + 100, source="file"), known[0]]
        assert db.get(COMMANDED) is None
