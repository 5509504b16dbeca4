"""Settings for one domain or host: which holds where, at once, after a restart, and until it is
taken back.
"""

import logging

import msgpack
import pytest

from tests.support.steered import steered
from webcrawl.base.model import Link
from webcrawl.crawl.control import sheets
from webcrawl.crawl.control.command import CommandError
from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.filters.filter_protocol import Origin

BUDGET = {"DOMAIN_BUDGET": "webcrawl.frontier.allowances.unlimited.Unlimited"}
FIXED = {"DOMAIN_BUDGET": "webcrawl.frontier.allowances.fixed.Fixed", "DOMAIN_BUDGET_PAGES": 3}


@pytest.fixture(name="crawl")
def _crawl(tmp_path):
    with steered(tmp_path, **BUDGET) as crawl:
        yield crawl


def waits(crawl, *hosts):
    return [crawl.order(f"host {host}")["delay"]["seconds"] for host in hosts]


def connections(crawl, *hosts):
    """How many requests each may have at once."""
    return [
        crawl.order(f"host {host}").get("connections", {"at_once": 1})["at_once"] for host in hosts
    ]


class TestWhere:
    def test_the_most_specific_holds(self, crawl):
        """A sheet is for a name and all below it; the nearest one that has the setting says what it
        is.
        """
        crawl.order("set --for example.com POLITENESS_MIN_DELAY 20")
        crawl.order("set --for www.example.com POLITENESS_MIN_DELAY 5")
        crawl.order("set --for com POLITENESS_MIN_DELAY 3")
        crawl.order("host example.com delay 50")

        hosts = (
            "example.com",
            "a.example.com",
            "www.example.com",
            "b.www.example.com",
            "other.com",
            "example.org",
        )
        assert waits(crawl, *hosts) == [50.0, 20.0, 5.0, 5.0, 3.0, 1.0]
        assert waits(crawl, "notexample.com") == [3.0]

    def test_who_says_so(self, crawl):
        """`get --for` lists every setting that may be set for a domain, with its value there and
        its origin.
        """
        crawl.order("set --for example.com HOST_MAX_PAGES 7")
        crawl.order("host www.example.com delay 9")
        found = {
            row["name"]: (row["value"], row["from"])
            for row in crawl.order("get --for www.example.com")["settings"]
        }

        assert found["HOST_MAX_PAGES"] == (7, "example.com")
        assert found["POLITENESS_MAX_DELAY"] == (9.0, "host www.example.com alone")
        assert found["CRAWL_DELAY_MAX"] == (300.0, "all")
        assert crawl.order("host www.example.com")["sheets"] == {
            "HOST_MAX_PAGES": 7,
            "POLITENESS_MIN_DELAY": 9.0,
            "POLITENESS_MAX_DELAY": 9.0,
        }

    def test_taken_back(self, crawl):
        """Then what is below it in rank holds again, and for all hosts nothing is looked up any
        more.
        """
        crawl.order("set --for example.com POLITENESS_MIN_DELAY 20")
        crawl.order("set --for example.com HOST_MAX_PAGES 20")
        assert crawl.crawl.parts.frontier.core.book.host_terms is not None
        crawl.order("set --for EXAMPLE.com POLITENESS_MIN_DELAY default")
        crawl.order("set --for example.com HOST_MAX_PAGES default")

        assert waits(crawl, "example.com") == [1.0]
        assert crawl.crawl.parts.frontier.core.book.host_terms is None
        with pytest.raises(
            CommandError,
            match=r"POLITENESS_MIN_DELAY has no value of its own for example\.com",
        ):
            crawl.order("set --for example.com POLITENESS_MIN_DELAY default")

    def test_after_a_restart(self, crawl):
        """Sheets are part of the checkpoint."""
        crawl.order("set --for example.com POLITENESS_MIN_DELAY 20")
        crawl.order("set --for [::1] POLITENESS_MIN_DELAY 21")
        crawl.again()

        assert waits(crawl, "example.com", "[::1]") == [20.0, 21.0]
        assert [*crawl.hosts.order_lines()] == [
            "set --for example.com POLITENESS_MIN_DELAY 20.0",
            "set --for [::1] POLITENESS_MIN_DELAY 21.0",
        ]

    def test_what_another_version_could_set(self, crawl, caplog):
        """A sheet that this version does not know is said to be out of force, with the reason and
        whose it was.
        """
        crawl.end()
        db = CrawlDB(crawl.folder / "job/state")
        ours, other = {"HOST_MAX_PAGES": 7}, {"POLITENESS_MIN_DELAY": -9}
        db.set("sheets", msgpack.packb({"a.org": {"HOST_MAX_BYTES": 5, **ours}, "=b.org": other}))
        db.checkpoint()
        db.close()
        crawl.open()

        assert [*crawl.hosts.order_lines()] == ["set --for a.org HOST_MAX_PAGES 7"]
        unknown, out = (
            record.getMessage() for record in caplog.records if record.levelname == "WARNING"
        )
        assert (
            unknown
            == "HOST_MAX_BYTES = 5, set by command for a.org, is no longer in force: this version has no such setting"
        )
        assert out.startswith(
            "POLITENESS_MIN_DELAY = -9, set by command for host b.org alone, is no longer in force: "
        )

    def test_what_nobody_heeds(self, crawl, caplog):
        """A sheet that has no effect with the settings of a later run stays, and each line on it
        says so.
        """
        caplog.set_level(logging.INFO)
        crawl.order("set --for example.com HOST_CONNECTIONS 4")
        crawl.again(POLITENESS_PER_IP=True)
        assert caplog.messages[-1].endswith(
            ": set --for example.com HOST_CONNECTIONS 4 (no effect in this run)"
        )

        crawl.again(POLITENESS_PER_IP=False)
        assert [*crawl.hosts.order_lines()] == ["set --for example.com HOST_CONNECTIONS 4"]

    def test_what_is_set_for_all(self, crawl):
        """What a sheet does not say follows the crawl's setting, whenever that changes."""
        crawl.order("set --for example.com HOST_MAX_PAGES 20")
        crawl.order("set POLITENESS_MIN_DELAY 4")

        assert waits(crawl, "example.com", "example.org") == [4.0, 4.0]

    def test_a_host_that_is_being_crawled(self, crawl):
        """So it is for a host that has its place among those that are crawled at that moment."""
        crawl.order("set --for example.com HOST_MAX_PAGES 20")
        crawl.add("example.com", 3)
        crawl.run(0.5)
        crawl.order("set POLITENESS_MIN_DELAY 4")

        assert waits(crawl, "example.com") == [4.0]

    def test_contradictions(self, crawl):
        """A minimum of one sheet that is more than a maximum of another is what holds: the longer
        wait.
        """
        crawl.order("set --for example.com POLITENESS_MIN_DELAY 200")
        crawl.order("set --for www.example.com POLITENESS_MAX_DELAY 10")
        crawl.order("set POLITENESS_MAX_DELAY 100")

        assert waits(crawl, "www.example.com", "example.com") == [200.0, 200.0]

    def test_so_many(self, crawl, monkeypatch):
        """There is a limit, which is said."""
        monkeypatch.setattr(sheets, "MOST_SHEETS", 2)
        for name in ("a.org", "b.org", "a.org"):
            crawl.order(f"set --for {name} HOST_MAX_PAGES 5")

        with pytest.raises(
            CommandError,
            match="settings are already set for 2 names, which is the maximum: undo one first",
        ):
            crawl.order("set --for c.org HOST_MAX_PAGES 5")

    def test_many_hosts(self, crawl, monkeypatch):
        """Of which hosts it is remembered what holds is bounded."""
        monkeypatch.setattr(sheets, "HOSTS_REMEMBERED", 10)
        crawl.order("set --for a.org POLITENESS_MIN_DELAY 5")
        assert {waits(crawl, f"h{number}.a.org")[0] for number in range(25)} == {5.0}
        assert len(crawl.crawl.parts.frontier.core.book.host_terms) <= 10

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            (
                "set --for a.org SEEN_MEMORY 5",
                "SEEN_MEMORY cannot be set for a domain; these can: POLITENESS_FACTOR, ",
            ),
            (
                "set --for a.org HOST_MAX_PAGES many",
                "HOST_MAX_PAGES = 'many': must be a whole number",
            ),
            (
                "set --for a.org HOST_CONNECTIONS a.org=4",
                "HOST_CONNECTIONS = 'a.org=4': must be a whole number from 1 to",
            ),
            (
                "set --for a.org HOST_CONNECTIONS 0",
                "HOST_CONNECTIONS = '0': must be a whole number from 1 to 64",
            ),
            ("set --for a.org HOST_MAX_PAGES", "usage: set --for DOMAIN NAME VALUE"),
            ("set a.org HOST_MAX_PAGES 5", "usage: set NAME VALUE"),
            ("set --for a.org/x HOST_MAX_PAGES 5", "a.org/x is neither a host nor a URL"),
            (
                "set --for a.org:80 HOST_MAX_PAGES 5",
                "a.org:80: give a domain or host without scheme and port",
            ),
            (
                "set --for http://a.org HOST_MAX_PAGES 5",
                "http://a.org: give a domain or host without scheme and port",
            ),
            ("set --for =a.org URL_MAX_DEPTH 5", "=a.org: a domain or host cannot begin with ="),
            (
                "set --for a.org DOMAIN_BUDGET_PAGES 5",
                "DOMAIN_BUDGET_PAGES has no effect in this crawl",
            ),
            (
                "set --for a.org URL_SCOPE seeds",
                "URL_SCOPE = seeds can be set for a domain only in a crawl that has this",
            ),
            ("get --for", "usage: get --for DOMAIN"),
            ("get LOG_LEVEL --for", "usage: get [NAME]"),
        ],
    )
    def test_an_impossible_sheet_is_refused_and_changes_nothing(self, crawl, line, why):
        """What cannot be is refused in a line, and nothing changes."""
        with pytest.raises(CommandError) as error:
            crawl.order(line)
        assert str(error.value).startswith(why)
        assert [*crawl.hosts.order_lines()] == []


class TestEffect:
    def test_the_connections_of_a_domain(self, crawl):
        """HOST_CONNECTIONS of one domain are for each of its hosts, from now on; a sheet goes
        before the setting.
        """
        for host in ("a.org", "www.a.org", "b.org"):
            crawl.add(host, 9)
        crawl.order("set HOST_CONNECTIONS www.a.org=3,b.org=2")
        assert connections(crawl, "a.org", "www.a.org", "b.org", "c.org") == [1, 3, 2, 1]

        crawl.order("set --for a.org HOST_CONNECTIONS 4")
        assert connections(crawl, "a.org", "www.a.org", "b.org", "c.org") == [4, 4, 2, 1]
        rows = {row["name"]: row for row in crawl.order("get --for b.org")["settings"]}
        assert rows["HOST_CONNECTIONS"] == {"name": "HOST_CONNECTIONS", "value": 2, "from": "all"}

        crawl.again()
        assert connections(crawl, "a.org", "www.a.org", "b.org", "c.org") == [4, 4, 2, 1]
        crawl.order("set --for a.org HOST_CONNECTIONS default")
        crawl.order("set HOST_CONNECTIONS none")
        assert connections(crawl, "a.org", "www.a.org", "b.org", "c.org") == [1, 1, 1, 1]

    def test_connections_and_addresses(self, tmp_path):
        """Where an address has one request at a time, no host may have more."""
        with steered(tmp_path, **BUDGET, POLITENESS_PER_IP=True) as crawl:
            with pytest.raises(CommandError, match="HOST_CONNECTIONS has no effect in this crawl"):
                crawl.order("set --for a.org HOST_CONNECTIONS 4")
            with pytest.raises(
                CommandError, match=r"HOST_CONNECTIONS = .*: must be none with POLITENESS_PER_IP"
            ):
                crawl.order("set HOST_CONNECTIONS a.org=4")

    def test_the_pages_of_a_host(self, crawl):
        """HOST_MAX_PAGES of one domain ends the URLs of its hosts that are beyond."""
        crawl.order("set --for a.org HOST_MAX_PAGES 2")
        crawl.add("a.org", 5)
        crawl.add("b.org", 5)
        crawl.run(100)

        assert sorted(host for host, *_ in crawl.requested) == ["a.org"] * 2 + ["b.org"] * 5
        assert crawl.order("host a.org")["state"] == "spent"
        crawl.order("set --for a.org HOST_MAX_PAGES 4")
        crawl.order("host a.org retry")
        crawl.add("a.org", 5, 5)
        assert len(crawl.run(100)) == 2

    def test_the_budget_of_a_domain(self, tmp_path):
        """DOMAIN_BUDGET_PAGES of one domain; what waits beyond its budget goes on when it is
        raised.
        """
        with steered(tmp_path, **FIXED) as crawl:
            crawl.order("set --for b.org DOMAIN_BUDGET_PAGES 1")
            for host in ("a.org", "b.org"):
                crawl.crawl.parts.discovery.submit(Link(f"http://{host}/"))
                for number in range(9):
                    crawl.crawl.parts.discovery.submit(
                        Link(f"http://{host}/{number}", "L", f"http://{host}/")
                    )
            crawl.run(100)
            assert sorted(host for host, *_ in crawl.requested) == ["a.org"] * 3 + ["b.org"]
            assert crawl.order("host b.org")["budget"]["over_budget"] == 9

            crawl.order("set --for b.org DOMAIN_BUDGET_PAGES 6")
            assert len(crawl.run(100)) == 5
            crawl.order("set --for b.org DOMAIN_BUDGET_PAGES default")
            assert crawl.order("host b.org")["budget"]["budget"] == 3
            with pytest.raises(
                CommandError, match=r"budgets apply to registered domains: use --for b\.org"
            ):
                crawl.order("set --for www.b.org DOMAIN_BUDGET_PAGES 6")

    def test_the_depth_of_a_site(self, crawl):
        """URL_MAX_DEPTH of one domain is for links within it, and may be more or less than that of
        all.
        """
        keep = crawl.crawl.parts.pipeline.chain.keep
        deep = "http://a.org/x/y"

        def kept(page, path, *links):
            return keep(
                [*links], Origin(page, len(path), path), crawl.crawl.parts.pipeline.filtered
            )

        crawl.order("set --for a.org URL_MAX_DEPTH 2")
        crawl.order("set --for b.org URL_MAX_DEPTH 90")
        assert kept("http://a.org/", "LL", deep, "http://b.org/") == [deep, "http://b.org/"]
        assert kept("http://a.org/", "LLL", deep, "http://b.org/") == ["http://b.org/"]
        assert kept("http://b.org/", "LLL", deep, "http://b.org/") == [deep, "http://b.org/"]
        assert kept("http://b.org/", "L" * 85, "http://b.org/a") == ["http://b.org/a"]
        assert kept("http://c.org/", "L" * 85, "http://c.org/a") == []
        crawl.order("set --for a.org URL_MAX_DEPTH 0")
        assert kept("http://a.org/", "L", deep, "http://b.org/") == ["http://b.org/"]
        assert kept("", "", deep) == [deep]

    @pytest.mark.parametrize("scope", ["any", "domain"])
    def test_the_scope_of_a_site(self, tmp_path, scope):
        """URL_SCOPE of one domain is for the links on its pages, and may be wider or narrower than
        that of all.
        """
        links = ["http://a.org/", "http://www.a.org/", "http://b.org/"]
        with steered(tmp_path, **BUDGET, URL_SCOPE=scope) as crawl:
            chain = crawl.crawl.parts.pipeline.chain

            def kept(page):
                return chain.keep(links, Origin(page, 1, "L"), crawl.crawl.parts.pipeline.filtered)

            crawl.order("set --for a.org URL_SCOPE host")
            assert kept("http://a.org/x") == links[:1]
            crawl.order("set --for www.a.org URL_SCOPE any")
            assert (kept("http://www.a.org/"), kept("http://a.org/")) == (links, links[:1])
            crawl.order("set --for a.org URL_SCOPE default")
            assert kept("http://a.org/x") == (links if scope == "any" else links[:2])

    def test_other_filters(self, tmp_path):
        """Sheets hold for filters that a changed setting has made anew, and what they leave open
        follows the change.
        """
        links = ["http://a.org/", "http://b.org/"]
        with steered(tmp_path, **BUDGET) as crawl:

            def kept(page, path):
                chain = crawl.crawl.parts.pipeline.chain
                return chain.keep(
                    links, Origin(page, len(path), path), crawl.crawl.parts.pipeline.filtered
                )

            crawl.order("set --for a.org URL_SCOPE host")
            crawl.order("set --for a.org URL_MAX_DEPTH 1")
            crawl.order("set URL_MAX_DEPTH 2")
            assert kept("http://a.org/x", "L") == ["http://a.org/"]
            assert kept("http://a.org/x", "LL") == []
            assert (kept("http://b.org/x", "LL"), kept("http://b.org/x", "LLL")) == (
                links,
                ["http://a.org/"],
            )
