"""`sys.exit` in code of the user's own: an end before the end, which is never a success."""

import pytest

from tests.support.crawling import Crawl
from tests.support.examples import in_campaign

FAST = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0}
WHERE = "tests.support.exiting"


def crawl_of(tmp_path, server, **settings):
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
    return Crawl(
        tmp_path / "job",
        {"seeds": tmp_path / "seeds.txt"},
        {"DNS_NAMESERVERS": server.nameserver, **FAST, **settings},
    )


class TestWhileItRuns:
    @pytest.mark.parametrize("kind", ["OnPages", *in_campaign("Awaiting", "AtItsEnd")])
    def test_a_pipeline(self, tmp_path, simweb, kind):
        """The exit status is 1, one line names the code that ended the crawl, and the next run
        loses nothing.
        """
        server = simweb(2, 10)
        crawl = crawl_of(tmp_path, server)

        assert crawl.run(ITEM_PIPELINES=f'{{"{WHERE}.{kind}": 300}}') == 1
        said = " ended the crawl at once: it will resume from its last checkpoint"
        (line,) = [line for line in crawl.output.read_text().splitlines() if line.endswith(said)]
        assert "exiting.py, line" in line

        assert crawl.run() == 0
        assert {hit.url for hit in server.log.hits if not hit.url.endswith("/robots.txt")} >= set(
            server.world.seeds()
        )
        assert crawl.stats["reason"] == "finished"

    def test_a_status_of_its_own(self, tmp_path, simweb):
        """Any status but 0 stays."""
        crawl = crawl_of(tmp_path, simweb(2, 10), FEATURES=f"{WHERE}.Feature")

        assert crawl.run() == 7
        assert "sys.exit(7) in heard (" in crawl.output.read_text()

    def test_after_its_end(self, tmp_path, simweb):
        """A crawl that was closed already is not said to resume from a checkpoint."""
        server = simweb(2, 10)
        crawl = crawl_of(tmp_path, server)

        assert crawl.run(EXTENSIONS=f'{{"{WHERE}.Closed": 500}}') == 3
        assert crawl.output.read_text().endswith(" ended the process after the crawl was closed\n")
        fetched = len(server.log.hits)
        assert crawl.run() == 0
        assert len(server.log.hits) == fetched


class TestBeforeItRuns:
    @pytest.mark.parametrize(
        "settings",
        [{"FEATURES": f"{WHERE}.Made"}, {"ITEM_PIPELINES": f'{{"{WHERE}.Made": 300}}'}],
        ids=str,
    )
    def test_a_class_that_is_made(self, tmp_path, simweb, settings):
        """A crawl whose feature or pipeline exits while it is made cannot start, in one line that
        says where.
        """
        crawl = crawl_of(tmp_path, simweb(2, 10), **settings)

        assert crawl.run() == 1
        assert "the crawl cannot start: sys.exit(0) in __init__ (" in crawl.output.read_text()
