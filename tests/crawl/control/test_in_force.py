"""What is in force by command: at once, after a restart, and until the command line says otherwise."""

import logging
from contextlib import closing

import pytest

from webcrawl.crawl.checks import check
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.in_force import InForce
from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.exclusion_rules import OptOut

NAMES = ("POLITENESS_MIN_DELAY", "POLITENESS_MAX_DELAY", "HOST_MAX_PAGES")


@pytest.fixture(name="run")
def _run(tmp_path):
    """Starts a run: what is in force in it, and what listeners have heard; `end` takes the last
    checkpoint.
    """
    opened = []

    def start(settings=None, fixed=()):
        db = CrawlDB(tmp_path)
        opened.append(db)
        in_force = InForce(db, check(settings or {}), fixed)
        heard = []
        in_force.listen(NAMES, lambda values: heard.append([values[name] for name in NAMES]))

        def end(*, saved=True):
            if saved:
                db.checkpoint()
            db.close()

        return in_force, heard, end

    yield start
    for db in opened:
        db.close()


class TestSet:
    def test_at_once(self, run):
        """Whoever listens hears the value at the start, and each other one."""
        in_force, heard, _ = run()

        assert in_force.set("POLITENESS_MIN_DELAY", "20") == 20.0
        assert in_force.values["POLITENESS_MIN_DELAY"] == 20.0
        assert heard == [[1.0, 300.0, 0], [20.0, 300.0, 0]]

    def test_after_a_restart(self, run, caplog):
        """All values are in force in the next run, which says so, whatever their order was."""
        caplog.set_level(logging.INFO)
        in_force, _, end = run()
        in_force.set("POLITENESS_MIN_DELAY", "20")
        in_force.set("POLITENESS_MAX_DELAY", "1000")
        in_force.set("POLITENESS_MIN_DELAY", "500")
        end()

        in_force, heard, _ = run()

        assert heard == [[500.0, 1000.0, 0]]
        assert "still in force by command: set POLITENESS_MIN_DELAY 500.0" in caplog.text

    def test_not_without_a_checkpoint(self, run):
        """A run that is killed before its next checkpoint forgets the command, as all else since
        the last one.
        """
        in_force, _, end = run()
        end()
        in_force, _, end = run()
        in_force.set("HOST_MAX_PAGES", "7")
        end(saved=False)

        assert run()[1] == [[1.0, 300.0, 0]]

    def test_the_command_line_goes_before(self, run, caplog):
        """A value on the command line ends what was set by command, and says so."""
        caplog.set_level(logging.INFO)
        in_force, _, end = run()
        in_force.set("HOST_MAX_PAGES", "7")
        end()

        in_force, heard, end = run({"HOST_MAX_PAGES": 9}, fixed={"HOST_MAX_PAGES"})
        end()

        assert heard == [[1.0, 300.0, 9]]
        assert (
            "HOST_MAX_PAGES = 9 from the command line is used; the value 7, set earlier by command, is discarded"
            in caplog.text
        )
        assert run()[1] == [[1.0, 300.0, 0]]

    def test_what_does_not_fit_any_more(self, run, caplog):
        """A value that is impossible with the settings of this run is said to be out of force; the
        run begins.
        """
        in_force, _, end = run()
        in_force.set("POLITENESS_MIN_DELAY", "200")
        end()

        _, heard, _ = run({"POLITENESS_MAX_DELAY": 100, "POLITENESS_MIN_DELAY": 2})

        assert heard == [[2.0, 100.0, 0]]
        assert "POLITENESS_MIN_DELAY = 200.0, set by command, is no longer in force" in caplog.text

    @pytest.mark.parametrize(
        ("name", "value", "why"),
        [
            (
                "SEEN_MEMORY",
                "5",
                "SEEN_MEMORY cannot change while the crawl runs, only when it is resumed; `get` lists",
            ),
            ("NONSENSE", "5", "NONSENSE is not a setting of the crawl; `get` lists all settings"),
            (
                "URL_FOLDINGS",
                "",
                "URL_FOLDINGS decides which URLs count as the same, so it cannot change within a crawl",
            ),
            (
                "DOWNLOAD_DELAY",
                "5",
                "DOWNLOAD_DELAY is called POLITENESS_MIN_DELAY here: set POLITENESS_MIN_DELAY",
            ),
            (
                "LOG_LEVEL",
                "INFO",
                "LOG_LEVEL cannot change in this crawl: the part that uses it is switched off",
            ),
            ("HOST_MAX_PAGES", "many", "HOST_MAX_PAGES = 'many': must be a whole number from 0"),
            ("POLITENESS_MIN_DELAY", "301", "must be no more than POLITENESS_MAX_DELAY = 300"),
        ],
    )
    def test_an_impossible_change_is_refused_and_nothing_changes(self, run, name, value, why):
        """What cannot change, is no setting, or is impossible is refused in a line, and nothing
        changes.
        """
        in_force, heard, _ = run()

        with pytest.raises(CommandError, match=why):
            in_force.set(name, value)

        assert (heard, in_force.set_values) == ([[1.0, 300.0, 0]], {})


class TestExclude:
    def test_after_a_restart(self, run):
        """Rules hold for links and for queued URLs, in the next run too, until they are taken back."""
        in_force, _, end = run()
        assert in_force.exclude(OptOut("example.com"))
        assert in_force.exclude(OptOut("example.org/a/"))
        assert not in_force.exclude(OptOut("example.com"))
        end()

        in_force, _, end = run()
        excluded = in_force.excluded
        urls = ["http://www.example.com/", "http://example.org/a/b", "http://example.org/"]
        assert (excluded.keep(urls, None), excluded.reject(urls[0])) == (urls[2:], True)
        in_force.include("example.com")
        assert (excluded.keep(urls, None), excluded.reject(urls[0])) == ([urls[0], urls[2]], False)
        in_force.include("example.org/a/")
        end()

        assert [*run()[0].order_lines()] == []

    @pytest.mark.parametrize(
        "rule", ["#x", " ", "a b", "http://", "a.org\nb.org", "user@a.org", "a.org:x/"]
    )
    def test_what_is_no_rule_is_refused_and_the_rules_before_stay(self, run, rule):
        """What is neither a domain nor a prefix is refused, and the rules before stay."""
        in_force, _, _ = run()
        in_force.exclude(OptOut("example.com"))

        with pytest.raises(CommandError, match="neither a domain nor a URL prefix"):
            in_force.exclude(OptOut(rule))

        assert in_force.excluded.rules == ["example.com"]

    def test_what_is_not_excluded(self, run):
        """Only what was excluded by command can be included."""
        in_force, _, _ = run()
        with pytest.raises(CommandError, match=r"x\.org is not excluded by command; no rule is"):
            in_force.include("x.org")
        in_force.exclude(OptOut("example.com"))

        with pytest.raises(
            CommandError,
            match=r"x\.org is not excluded by command; the latest rules that are: example\.com",
        ):
            in_force.include("x.org")


def test_a_pause_lasts(run):
    """A paused crawl is paused in its next run."""
    in_force, _, end = run()
    in_force.paused = True
    end()

    assert [*run()[0].order_lines()] == ["pause"]


def test_nothing_is_kept_of_nothing(run, tmp_path):
    """A crawl that was never commanded has no such state."""
    *_, end = run()
    end()

    with closing(CrawlDB(tmp_path)) as db:
        assert db.get("commands in force") is None
