"""The spider and the settings that a crawl was begun with, as later runs are compared with them."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from scrapy.settings import Settings

from tests.support.examples_of_docs import module_of
from webcrawl.adapter.values import plain_values
from webcrawl.crawl.last_run import (
    OtherTerms,
    changes,
    keep_terms,
    late_outputs,
    more_pages,
    refuse,
    terms_of,
)
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.meta_row import TERMS as META

FOLDINGS = "webcrawl.urls.foldings"
JOB = Path("crawls/web")


def terms(spider="web", arguments=None, **settings):
    """Those of a crawl with these settings."""
    values = Settings()
    values.setmodule("webcrawl.settings")
    values.setdict(settings, "cmdline")
    return terms_of(spider, arguments or {}, plain_values(values, spider))


def told(before, now):
    return [*changes(before, now)]


class TestRefused:
    def test_another_spider(self):
        """A crawl belongs to the spider that began it."""
        with pytest.raises(OtherTerms) as caught:
            refuse(JOB, terms(), terms("follow"))

        assert (
            str(caught.value)
            == "crawls/web: belongs to the spider web, not follow: use another JOBDIR"
        )

    def test_another_frontier(self):
        """What waits lies in a form of each frontier's own; a crawl of which nothing is noted has
        ours.
        """
        fifo = f"{module_of('frontier/fifo_frontier.py').__name__}.FifoFrontier"
        before = {name: value for name, value in terms().items() if name != "FRONTIER"}

        refuse(JOB, before, terms())
        for old in (before, terms()):
            with pytest.raises(
                OtherTerms,
                match=f"FRONTIER was webcrawl.frontier.state.open_frontier, now {fifo}: ",
            ):
                refuse(JOB, old, terms(FRONTIER=fifo))

    @pytest.mark.parametrize(
        ("before", "now"),
        [
            pytest.param("none", f"{FOLDINGS}.no_index", id="one more"),
            pytest.param(f"{FOLDINGS}.no_index", "none", id="one less"),
            pytest.param(
                f"{FOLDINGS}.no_index, {FOLDINGS}.lower_path",
                f"{FOLDINGS}.no_index",
                id="one of two",
            ),
            pytest.param(
                f"{FOLDINGS}.no_index, {FOLDINGS}.lower_path",
                f"{FOLDINGS}.lower_path, {FOLDINGS}.no_index",
                id="order",
            ),
        ],
    )
    def test_other_foldings(self, before, now):
        """The line has the setting, both values and the two ways out."""
        with pytest.raises(OtherTerms) as caught:
            refuse(JOB, terms(URL_FOLDINGS=before), terms(URL_FOLDINGS=now))

        assert str(caught.value) == (
            f"URL_FOLDINGS was {before}, now {now}: it decides which URLs count as the same, so "
            "it cannot change within a crawl; change it back, or use another JOBDIR than crawls/web"
        )

    def test_other_host_rules(self, tmp_path):
        """Rules are compared, not the names of their files, nor comments, nor the order of lines."""
        files = {
            "one": "# mirrors\nstartsWith(www.)=\nsynonym(a.test)=b.test\n",
            "same": "synonym(a.test)=b.test\n\nstartsWith(www.)=",
            "less": "startsWith(www.)=\n",
            "empty": "# nothing yet\n",
        }
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        of = {name: terms(URL_HOST_RULES=str(tmp_path / name)) for name in files} | {
            "no file": terms()
        }

        refuse(JOB, of["one"], of["same"])
        refuse(JOB, of["empty"], of["no file"])
        for other in ("less", "empty", "no file"):
            with pytest.raises(
                OtherTerms, match=r"URL_HOST_RULES was .*/one \([0-9a-f]{12}\), now "
            ):
                refuse(JOB, of["one"], of[other])

    @pytest.mark.parametrize(("before", "now"), [(True, False), (False, True)])
    def test_another_follow(self, before, now):
        """Links that one kind of crawl has found are not where the other looks for them."""
        with pytest.raises(
            OtherTerms,
            match=r"URL_FOLLOW was o[nf]+, now o[nf]+: links that were found would be lost",
        ):
            refuse(JOB, terms(URL_FOLLOW=before), terms(URL_FOLLOW=now))

    def test_a_crawl_of_before_follows(self):
        """One that was begun when there was no such setting has followed links."""
        before = {name: value for name, value in terms().items() if name != "URL_FOLLOW"}

        refuse(JOB, before, terms())
        with pytest.raises(OtherTerms):
            refuse(JOB, before, terms(URL_FOLLOW=False))

    @pytest.mark.parametrize("before", ["any", "domain", "host"])
    def test_the_scope_seeds_later(self, before):
        """Domains of seeds are noted only with the scope `seeds`: without them all links would be
        dropped.
        """
        with pytest.raises(OtherTerms) as caught:
            refuse(JOB, terms(URL_SCOPE=before), terms(URL_SCOPE="seeds"))

        assert str(caught.value) == (
            f"URL_SCOPE was {before}, now seeds: the seeds' domains were not recorded, so links "
            "would be dropped; "
            "change it back, or use another JOBDIR than crawls/web"
        )
        for now in ("any", "domain", "host", "seeds"):
            refuse(JOB, terms(URL_SCOPE="seeds"), terms(URL_SCOPE=now))

    @pytest.mark.parametrize(
        ("before", "scope"),
        [("off", "host"), ("off", "domain"), ("on", "host")],
        ids=["host", "domain", "another scope"],
    )
    def test_requisites_later(self, before, scope):
        """Within a host or a domain, those of the seeds are noted only while requisites are
        fetched.
        """
        earlier = terms(URL_SCOPE="domain" if before == "on" else scope, REQUISITES=before == "on")
        with pytest.raises(OtherTerms) as caught:
            refuse(JOB, earlier, terms(URL_SCOPE=scope, REQUISITES=True))

        assert str(caught.value) == (
            f"REQUISITES is on with URL_SCOPE = {scope}: the seeds' {scope}s were not recorded, "
            "so links would be "
            "dropped; change it back, or use another JOBDIR than crawls/web"
        )

    @pytest.mark.parametrize(
        ("before", "now"),
        [
            ({"URL_SCOPE": "host", "REQUISITES": True}, {"URL_SCOPE": "host", "REQUISITES": True}),
            ({"URL_SCOPE": "host", "REQUISITES": True}, {"URL_SCOPE": "host", "REQUISITES": False}),
            ({"URL_SCOPE": "any"}, {"URL_SCOPE": "any", "REQUISITES": True}),
            ({"URL_SCOPE": "seeds"}, {"URL_SCOPE": "domain", "REQUISITES": True}),
        ],
    )
    def test_requisites_as_before(self, before, now):
        """They may be switched off, and on where nothing had to be noted, or was."""
        refuse(JOB, terms(**before), terms(**now))

    @pytest.mark.parametrize("name", ["URL_FOLDINGS", "URL_HOST_RULES"])
    def test_a_setting_that_did_not_exist_then(self, tmp_path, name):
        """What is not in the notes of the last run was not set."""
        (tmp_path / "rules").write_text("startsWith(www.)=\n")
        before, now = (
            terms(),
            terms(URL_FOLDINGS=f"{FOLDINGS}.no_index", URL_HOST_RULES=tmp_path / "rules"),
        )
        del before[name]
        both = {
            other: before[other] if other in before and other != name else text
            for other, text in now.items()
        }

        with pytest.raises(OtherTerms, match=f"^{name} was none"):
            refuse(JOB, before, both)


class TestTold:
    @pytest.mark.parametrize(
        ("name", "before", "now", "line"),
        [
            ("URL_SCOPE", "any", "seeds", "URL_SCOPE was any, now seeds"),
            ("POLITENESS_FACTOR", 10, "2.5", "POLITENESS_FACTOR was 10, now 2.5"),
            ("OUTPUTS", "warc cdxj", "warc", "OUTPUTS was warc, cdxj, now warc"),
            ("URL_INCLUDE", [], "/a", "URL_INCLUDE was none, now /a"),
            (
                "DNS_NAMESERVERS",
                "127.0.0.1:53",
                "[::1]:54",
                "DNS_NAMESERVERS was 127.0.0.1:53, now ::1:54",
            ),
            ("PORTS_ALLOWED", [], [81, "8000-8099"], "PORTS_ALLOWED was none, now 81, 8000-8099"),
            ("HOSTS_FILE", None, "/etc/hosts", "HOSTS_FILE was none, now /etc/hosts"),
            (
                "TOP1M_URL",
                "http://a.test/",
                "http://me:secret@a.test/x",
                "TOP1M_URL was http://a.test/, now http://a.test/x",
            ),
            (
                "ITEM_PIPELINES",
                {},
                {"webcrawl.items.Page": 3},
                "ITEM_PIPELINES webcrawl.items.Page was none, now 3",
            ),
            ("USER_AGENT", "a" * 119, "b" * 121, f"USER_AGENT was {'a' * 119}, now {'b' * 120}..."),
        ],
    )
    def test_another_value(self, name, before, now, line):
        """A setting that has changed is one line with both values; of a mapping one line for each
        entry.
        """
        assert told(terms(**{name: before}), terms(**{name: now})) == [line]

    def test_other_arguments(self):
        """The lists of seeds and their limit are told too."""
        before, now = (
            terms(arguments={"seeds": "a.txt", "limit": None}),
            terms(arguments={"seeds": "b.txt", "limit": 3}),
        )

        assert told(before, now) == ["-a seeds was a.txt, now b.txt", "-a limit was none, now 3"]

    @pytest.mark.parametrize(
        "settings",
        [
            {"JOBDIR": "elsewhere"},
            {"LOG_LEVEL": "DEBUG"},
            {"CLOSESPIDER_PAGECOUNT": 3},
            {"LINK_SOURCES": ["a", "area", "frame", "iframe", "refresh", "canonical"]},
            {"POLITENESS_FACTOR": "10.0"},
        ],
    )
    def test_nothing_to_tell(self, settings):
        """A run's length, its log and the folder's place are its own affair, and another spelling
        is no change.
        """
        assert told(terms(), terms(**settings)) == []


class TestLateOutputs:
    def test_one_that_a_crawl_did_not_write_before(self, tmp_path):
        """A line says that it begins now, and which command makes it of the pages before, if one
        can.
        """
        before = {"OUTPUTS": "warc, cdxj"}

        said = late_outputs(
            before, {"spider": "web", "OUTPUTS": "warc, cdxj, text, skipped"}, tmp_path / "my job"
        )

        begins = "OUTPUTS: text, skipped begin now, with the next page"
        command = f"scrapy process '{tmp_path}/my job' -s OUTPUTS='text'"
        assert said == f"{begins}; for earlier pages run `{command}`"

    def test_pages_without_an_archive(self, tmp_path):
        """No command makes an output of pages that no archive has."""
        said = late_outputs(
            {"OUTPUTS": "text"}, {"spider": "web", "OUTPUTS": "warc, tags"}, tmp_path
        )

        assert said == "OUTPUTS: warc, tags begin now, with the next page"

    @pytest.mark.parametrize(
        ("before", "now"), [("warc, text", "warc"), ("warc", "warc"), ("warc", "none")]
    )
    def test_no_new_one(self, tmp_path, before, now):
        """Nothing is said of outputs that stay, or are left out from now on."""
        assert late_outputs({"OUTPUTS": before}, {"spider": "web", "OUTPUTS": now}, tmp_path) == ""

    def test_of_all_pages(self, tmp_path):
        """What reads archives begins with the first page."""
        assert (
            late_outputs(
                {"OUTPUTS": "text"}, {"spider": "process", "OUTPUTS": "text, index"}, tmp_path
            )
            == ""
        )


class TestMorePages:
    def test_a_higher_limit(self, tmp_path):
        """A line names what lets hosts go on that have given as many as they might before."""
        said = more_pages(
            {"HOST_MAX_PAGES": "10"}, {"spider": "web", "HOST_MAX_PAGES": "0"}, tmp_path
        )

        assert (
            f"a host that has given 10 pages continues with links found from now on, after "
            f"`scrapy ctl {tmp_path}" in said
        )
        assert said.endswith(
            "URLs that were left out are fetched only with another JOBDIR, or --fresh"
        )

    def test_a_limit_of_one(self, tmp_path):
        """One page is one page."""
        said = more_pages(
            {"HOST_MAX_PAGES": "1"}, {"spider": "web", "HOST_MAX_PAGES": "2"}, tmp_path
        )

        assert "a host that has given 1 page continues" in said

    @pytest.mark.parametrize(
        ("before", "now"), [("10", "10"), ("10", "5"), ("0", "10"), ("0", "0")]
    )
    def test_no_higher_one(self, tmp_path, before, now):
        """Nothing is said of a limit that stays, gets lower or is the first."""
        assert (
            more_pages(
                {"HOST_MAX_PAGES": before}, {"spider": "web", "HOST_MAX_PAGES": now}, tmp_path
            )
            == ""
        )


class TestKept:
    def test_of_the_last_run(self, tmp_path, caplog):
        """Each run is compared with the one before it."""
        caplog.set_level("INFO", "webcrawl.crawl.last_run")
        said = []
        for depth in (50, 9, 9, 50):
            with closing(CrawlDB(tmp_path)) as db:
                keep_terms(db, terms(URL_MAX_DEPTH=depth))
                db.checkpoint()
            said.append(caplog.messages)
            caplog.clear()

        assert said == [[], ["URL_MAX_DEPTH was 50, now 9"], [], ["URL_MAX_DEPTH was 9, now 50"]]

    def test_a_crawl_from_before_they_were_kept(self, tmp_path):
        """A crawl without them takes those of its first run that has them."""
        with closing(CrawlDB(tmp_path)) as db:
            db.set("clean", b"1")
            keep_terms(db, terms("follow", URL_FOLDINGS=f"{FOLDINGS}.no_index"))

            assert json.loads(db.get(META))["spider"] == "follow"
            with pytest.raises(OtherTerms):
                keep_terms(db, terms("web"))
