"""Which registered domains link to which: counted once, in bounded memory and bounded rows."""

import pytest

from benchmarks.support.zoo import domain_of
from webcrawl.frontier.reputation import SLICE, Reputation
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.domain_row import MOST, TAG


def made(db, memory=1 << 16):
    return Reputation(db, domain_of, bytes(16), memory)


def links_to(found, domain):
    found.save()
    return found.links_to(domain)


class TestLinks:
    def test_domains_are_counted_not_links(self, db):
        """Any number of links from the hosts of one domain to those of another count once."""
        found = made(db)
        for host in ("www.a.test", "m.a.test", "a.test:81"):
            found.record_links(
                f"http://{host}/page", [f"https://{at}.b.test/{at}" for at in range(5)]
            )
        found.record_links("https://c.test/", ["http://b.test/"])

        assert links_to(found, "b.test") == 2

    def test_a_domain_does_not_link_to_itself(self, db):
        """Links within a domain do not count, whatever their hosts, schemes and ports are."""
        found = made(db)
        found.record_links(
            "http://www.a.test/",
            ["http://www.a.test/x", "https://www.a.test/", "http://m.a.test:8/x"],
        )

        assert links_to(found, "a.test") == 0

    @pytest.mark.parametrize(
        "target", ["http://b.t/", "https://b.t/x", "ftp://b.t/", "gopher://b.t/", "http://b.t:8/"]
    )
    def test_any_scheme(self, db, target):
        """The scheme and the port of a URL make no difference, nor does the length of its host's
        name.
        """
        found = made(db)
        found.record_links("gopher://a.t/1/", [target])
        found.record_links("ftp://c.t/", [target, "ftp://c.t/x"])

        assert links_to(found, "b.t") == 2

    def test_what_another_drone_takes_is_not_counted_here(self, db):
        """Each new pair of domains is offered with an address of the host linked to, but never a
        domain's own.
        """
        found, offered = made(db), []

        def elsewhere(source, url):
            offered.append((source, url))
            return "b.test" in url

        found.elsewhere = elsewhere
        for _ in range(2):
            found.record_links(
                "http://www.a.test/",
                ["http://a.test/", "http://b.test/x", "http://b.test/y", "http://c.test/x"],
            )

        # Twice, if two pairs have the same place in the table of known ones, which is by chance
        assert set(offered) == {("a.test", "http://b.test/"), ("a.test", "http://c.test/")}
        assert (links_to(found, "b.test"), links_to(found, "c.test")) == (0, 1)

    def test_no_more_are_counted_than_fit(self, db):
        """A domain has 64 others in its row at most, however many link to it."""
        found = made(db)
        for number in range(MOST + 20):
            found.record_links(f"http://s{number}.test/", ["http://b.test/"])

        assert links_to(found, "b.test") == MOST

    def test_what_the_filter_forgets_is_not_counted_twice(self, db):
        """The row knows the domains in it: after a restart, or when the filter is too small, pairs
        come again.
        """
        for _ in range(2):
            found = made(db, memory=1)
            for number in (*range(40), *range(40)):
                found.record_links(f"http://s{number}.test/", ["http://b.test/", "http://c.test/"])

        assert links_to(found, "b.test") == links_to(found, "c.test") == 40

    def test_a_crash_forgets_what_was_not_saved(self, tmp_path):
        """Links are part of the checkpoint; those since then are heard again with their pages."""
        for source in ("a", "b"):
            db = CrawlDB(tmp_path)
            found = made(db)
            found.record_links(f"http://{source}.test/", ["http://x.test/"])
            if source == "a":
                found.save()
                db.checkpoint()
            db.close()

        db = CrawlDB(tmp_path)
        assert links_to(made(db), "x.test") == 1
        db.close()


class TestCost:
    def test_a_pair_costs_its_row_once(self, db, monkeypatch):
        """Links to domains that were just counted, and those within a host, write nothing."""
        found = made(db)
        urls = ["http://b.test/", "http://a.test/x"]
        found.record_links("http://a.test/", urls)
        found.save()
        monkeypatch.setattr(db, "executemany", lambda *_: pytest.fail("nothing is new"))
        for page in range(100):
            found.record_links(f"http://a.test/{page}", urls)
        found.save()

    def test_what_waits_is_bounded(self, db, monkeypatch):
        """Links wait in a fixed room until they are written, a few at a time."""
        most = 0
        executemany = db.executemany

        def counted(sql, rows):
            nonlocal most
            most = max(most, len(rows))
            executemany(sql, rows)

        monkeypatch.setattr(db, "executemany", counted)
        found = made(db, memory=64 << 10)
        for number in range(5000):
            found.record_links("http://a.test/", [f"http://t{number}.test/"])
            ((written,),) = db.query("SELECT count(*) FROM linked")
            assert number + 1 - written < 1000

        assert 0 < most <= SLICE
        found.save()
        assert db.query("SELECT count(*) FROM linked")[0][0] == 5000

    def test_links_to_a_domain_that_has_all_that_count_cost_nothing(self, db, monkeypatch):
        """Once a domain's row is full, further links to it are neither kept nor written; a moved
        row begins anew.
        """
        found = made(db)
        for number in range(MOST):
            found.record_links(f"http://s{number}.test/", ["http://b.test/"])
        found.save()
        with monkeypatch.context() as patched:
            patched.setattr(db, "executemany", lambda *_: pytest.fail("no more count"))
            found.record_links("http://a.test/", ["http://b.test/"])
            assert not found.waits
            found.save()
        assert len(found.pop_linkers("b.test")) == MOST * TAG
        found.record_links("http://c.test/", ["http://b.test/"])

        assert links_to(found, "b.test") == 1

    def test_who_asks_again_and_again_is_remembered(self, db, monkeypatch):
        """A prioritizer's questions are answered from memory until something new is written."""
        found = made(db)
        assert found.remembered("b.test") == 0
        monkeypatch.setattr(db, "query", lambda *_: pytest.fail("asked before"))
        assert found.remembered("b.test") == 0
        monkeypatch.undo()
        found.record_links("http://a.test/", ["http://b.test/"])
        found.save()

        assert found.remembered("b.test") == 1
