"""Settings that change while a crawl runs reach the parts that hold them."""

from contextlib import contextmanager

import pytest

from webcrawl.base.model import Link
from webcrawl.crawl.assembly import assemble
from webcrawl.crawl.checks import check
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.in_force import META
from webcrawl.crawl.ground import Surroundings
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.urls.exclusion_rules import OptOut


@contextmanager
def crawl(folder, fixed=(), *, keep=True, **settings):
    """A run; its last checkpoint is taken if all went well."""
    values = {
        **check(settings),
        "JOBDIR": str(folder),
        "LINK_LOG": False,
        "ROBOTSTXT_USER_AGENT": None,
    }
    opened, _ = assemble(values, Surroundings(fixed=fixed), spider="web")
    try:
        yield opened
        if keep:
            opened.checkpoint(last=True)
    finally:
        opened.close()


def dropped(opened, *urls):
    """Which of these links of a page do not pass the filters."""
    page = Link("http://a.test/", seed="http://a.test/")
    return set(urls) - opened.parts.discovery.passing(page, urls, "")


LONG, IMAGE, OTHER = "http://a.test/" + "x" * 200, "http://a.test/x.png", "http://b.test/"


class TestFilters:
    @pytest.mark.parametrize(
        ("name", "value", "out"),
        [
            ("URL_MAX_LENGTH", "100", LONG),
            ("URL_EXCLUDE_EXTENSIONS", "png", IMAGE),
            ("URL_EXCLUDE", "b[.]test", OTHER),
            ("URL_INCLUDE", "a[.]test", OTHER),
            ("URL_SCOPE", "host", OTHER),
            ("URL_MAX_DEPTH", "0", LONG),
        ],
    )
    def test_at_once_and_later(self, tmp_path, name, value, out):
        """Links are filtered anew at once, and in the next run."""
        with crawl(tmp_path) as opened:
            assert dropped(opened, LONG, IMAGE, OTHER) == set()
            opened.parts.in_force.set(name, value)
            assert out in dropped(opened, LONG, IMAGE, OTHER)
        with crawl(tmp_path) as opened:
            assert out in dropped(opened, LONG, IMAGE, OTHER)

    def test_queued_urls(self, tmp_path):
        """A file of exclusions that is named now holds for URLs that are queued, as one named at
        the start does.
        """
        (tmp_path / "out.txt").write_text("a.test\n")
        with crawl(tmp_path / "job", ROBOTSTXT_OBEY=False) as opened:
            opened.parts.discovery.submit(Link("http://a.test/", seed="http://a.test/"))
            opened.parts.in_force.set("URL_EXCLUDE_FILE", str(tmp_path / "out.txt"))
            for moment in range(20):
                assert opened.next_link(opened.parts.clock() + moment) is None
            assert opened.stats()["frontier/dropped/-5001"] == 1

    def test_what_was_excluded_stays(self, tmp_path):
        """Rules by command hold under other filters too."""
        with crawl(tmp_path) as opened:
            opened.parts.in_force.exclude(OptOut("b.test"))
            opened.parts.in_force.set("URL_MAX_LENGTH", "100")

            assert dropped(opened, LONG, IMAGE, OTHER) == {LONG, OTHER}

    def test_a_file_that_is_no_list(self, tmp_path):
        """Rules that cannot be read are refused, and those before stay."""
        (tmp_path / "bad.txt").write_text("http://\n")
        with crawl(tmp_path / "job", URL_MAX_LENGTH=100) as opened:
            with pytest.raises(CommandError, match=r"bad\.txt"):
                opened.parts.in_force.set("URL_EXCLUDE_FILE", str(tmp_path / "bad.txt"))

            assert dropped(opened, LONG, OTHER) == {LONG}
            assert opened.parts.in_force.set_values == {}

    def test_a_file_that_is_gone(self, tmp_path):
        """A crawl does not begin without the exclusions that it was ordered, unless the command
        line says otherwise.
        """
        file = tmp_path / "out.txt"
        file.write_text("a.test\n")
        with crawl(tmp_path / "job") as opened:
            opened.parts.in_force.set("URL_EXCLUDE_FILE", str(file))
        file.unlink()

        with (
            pytest.raises(ValueError, match=r"URL_EXCLUDE_FILE = .*there is no such file"),
            crawl(tmp_path / "job"),
        ):
            pass
        with crawl(tmp_path / "job", fixed={"URL_EXCLUDE_FILE"}) as opened:
            assert opened.parts.in_force.set_values == {}


class TestScope:
    def test_seeds_were_not_noted(self, tmp_path):
        """The scope `seeds` cannot be had later, neither by command nor on the command line."""
        with crawl(tmp_path, URL_SCOPE="seeds") as opened:
            opened.parts.in_force.set("URL_SCOPE", "any")
            assert dropped(opened, OTHER) == set()
            with pytest.raises(CommandError, match="the seeds' domains were not recorded"):
                opened.parts.in_force.set("URL_SCOPE", "seeds")
            assert dropped(opened, OTHER) == set()

        # as at the start: the command goes before it
        with crawl(tmp_path, URL_SCOPE="seeds") as opened:
            assert dropped(opened, OTHER) == set()
        with (
            pytest.raises(StoreError, match="the seeds' domains were not recorded"),
            crawl(tmp_path, URL_SCOPE="seeds", fixed={"URL_SCOPE"}),
        ):
            pass

    def test_a_kill(self, tmp_path):
        """Without a checkpoint after it, a change has never been."""
        with crawl(tmp_path, URL_SCOPE="seeds") as opened:
            opened.begin()
        with crawl(tmp_path, URL_SCOPE="seeds", keep=False) as opened:
            opened.parts.in_force.set("URL_SCOPE", "any")
        with crawl(tmp_path, URL_SCOPE="seeds", fixed={"URL_SCOPE"}) as opened:
            assert dropped(opened, OTHER) == {OTHER}


def test_an_unknown_setting_of_another_version(tmp_path, caplog):
    """What another version could set, and this one does not know, is said to be out of force; the
    crawl begins.
    """
    with crawl(tmp_path) as opened:
        opened.parts.in_force.set("URL_MAX_LENGTH", "100")
    db = CrawlDB(tmp_path / "state")
    db.set(META, (db.get(META) or b"").replace(b"URL_MAX_LENGTH", b"URL_MAX_WEIGHT"))
    db.checkpoint()
    db.close()

    with crawl(tmp_path, fixed={"URL_MAX_WEIGHT"}, keep=False) as opened:
        assert opened.parts.in_force.set_values == {}
    with crawl(tmp_path) as opened:
        assert opened.parts.in_force.set_values == {}
    assert (
        "URL_MAX_WEIGHT = 100, set by command, is no longer in force: this version has no such setting"
        in caplog.text
    )


def test_budgets(tmp_path):
    """With a larger budget, the URLs that waited for it go on."""
    with crawl(tmp_path, DOMAIN_BUDGET_PAGES=1, ROBOTSTXT_OBEY=False) as opened:
        budgets = opened.parts.frontier.core.queues.budgets
        records = [Link(f"http://a.test/{number}").pack() for number in range(10)]
        assert [budgets.admits("a.test", record) for record in records].count(True) == 1

        opened.parts.in_force.set("DOMAIN_BUDGET_PAGES", "5")
        while budgets.unsettled:
            budgets.look()

        assert sum(budgets.pop() is not None for _ in range(10)) == 4


def test_the_health_of_hosts(tmp_path):
    """When hosts count as failing follows the settings, in all parts that ask."""
    with crawl(tmp_path) as opened:
        opened.parts.in_force.set("HOST_MAX_FAILURES", "2")
        opened.parts.in_force.set("HOST_RETRY_WAIT", "7")
        opened.parts.in_force.set("HOST_PATIENCE", "100")

        frontier, book = opened.parts.frontier, opened.parts.robots.book
        health = frontier.core.book.health
        assert (health.failures, health.retry_wait, health.patience) == (2, 7.0, 100.0)
        assert frontier.core.deferred.failures == 2
        tries = [0.0]
        for _ in range(4):
            book.record_answer("http://a.test", 503, b"", tries[-1])
            tries.append(book.row("http://a.test")[0])
        assert tries == [0.0, 7.0, 21.0, 49.0, 100.0]
