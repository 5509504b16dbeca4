"""What the pages show of crawls in each state, and what their forms do."""

import json
import shutil
import time

import pytest
from lxml import html

from tests.support.dashboards import FIGURES, Crawls, dashboard, made
from tests.support.fulltext import Texts, page
from tests.support.reports import Report
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.commands import COMMANDS
from webcrawl.tools.dashboard.crawls import MAX_SAMPLE_AGE

LEVELS = "Front-end: URLs by level, each picked twice as often as the next"
LINE = (
    "2026-11-21T10:11:12.000Z 200 5 http://a.example/x L http://a.example/ text/html #001 20261121101112000+5 "
    "- http://a.example/ -\n"
)


@pytest.fixture(name="visitor")
def _visitor(tmp_path):
    made(
        tmp_path / "web",
        stats={"reason": None},
        history=[(1_700_000_000.0 + at, FIGURES) for at in range(9)],
    )
    (tmp_path / "web/logs/crawl.log").write_text(LINE)
    with dashboard(
        tmp_path, Crawls({"status": FIGURES, "seeds": "seeds will be read from there"})
    ) as visitor:
        visitor.jobdir = tmp_path / "web"
        yield visitor


def tree_of(visitor, tab=""):
    return html.document_fromstring(visitor.page(f"c/{visitor.id}{tab}"))


def said_of(visitor, answer):
    """What a form's answer says on the page that follows."""
    assert answer.status == 303
    tree = html.document_fromstring(visitor.ask(answer.headers["Location"]).text)
    return tree.xpath("//div[@class='answered']")[0].text_content()


class TestFigures:
    def test_the_first_second(self, visitor):
        """The header says whether a crawl runs and what it waits for; six figures follow."""
        tree = tree_of(visitor)

        assert tree.xpath("//h1/text()") == ["web"]
        assert tree.xpath("//span[@class='badge running']")[0].text_content() == "Running"
        assert (
            "Hosts: 4 active 2 ready 24 waiting"
            in tree.xpath("//p[@class='lead']")[0].text_content()
        )
        assert tree.xpath("//dl[@class='tiles']/div/dd[1]/text()")[:2] == ["120", "4,000"]
        assert (
            "The figures of the last checkpoint cannot be read"
            in tree.xpath("//div[@id='report']")[0].text_content()
        )

    def test_what_bounds_it(self, tmp_path):
        """Below what it does stands what bounds it: as it says itself, or by its counters."""
        said = {
            "web": {"bound": "politeness <b>"},
            "sums": {"bound/slots": 5},
            "odd": {"bound": [1], "bound/slots": "x"},
        }
        for name, more in said.items():
            made(tmp_path / name, stats={"reason": "finished", "pages": 7, **more})
        with dashboard(tmp_path, Crawls()) as visitor:
            visitor.page()
            found = {}
            for known in visitor.finder.find():
                visitor.id = known.id
                tree = tree_of(visitor)
                notes = tree.xpath("//div[@class='state']/p[@class='note']")
                found[known.name] = [note.text_content() for note in notes]
        assert found == {
            "web": ["Bound by politeness <b>."],
            "sums": ["Bound by CONCURRENT_REQUESTS 100 %."],
            "odd": [],
        }

    @pytest.mark.parametrize(
        ("more", "then"),
        [
            ({"work_left": True}, ": run the same command to resume."),
            ({"work_left": False}, ", with nothing left to do."),
            ({}, ": run the same command to resume."),
        ],
    )
    def test_whether_anything_is_left(self, tmp_path, more, then):
        """A crawl that was stopped is said to be resumed, unless it says that nothing is left."""
        made(tmp_path / "web", stats={"reason": "stopped", "pages": 7, **more})
        with dashboard(tmp_path, Crawls()) as visitor:
            visitor.page()
            (known,) = visitor.finder.find()

            assert f"Stopped by command{then}" in visitor.page(f"c/{known.id}")

    @pytest.mark.parametrize("wrong", ["x", None, [], 1e400])
    def test_revisits_that_are_no_numbers(self, tmp_path, wrong):
        """What another program says in a crawl's place breaks no page."""
        made(tmp_path / "web")
        with dashboard(
            tmp_path,
            Crawls({"status": {**FIGURES, "revisit/records": wrong, "revisit/sampled": 1}}),
        ) as visitor:
            assert tree_of(visitor).xpath("//h1/text()") == ["web"]

    def test_a_page_without_script(self, visitor):
        """A page that changes loads itself again where there is no script; one with forms to fill
        does not.
        """
        assert tree_of(visitor).xpath("//noscript/meta/@content") == ["10"]
        for tab in ("/commands", "/why"):
            assert tree_of(visitor, tab).xpath("//noscript") == []

    def test_a_crawl_that_does_not_answer(self, tmp_path):
        """Then the history may know more than stats.json, which is of the last checkpoint; or less."""
        old, new = 1_700_000_000.0, 1_700_000_100.0
        for name, at in (("newer", new), ("older", old - 9)):
            stats = {"reason": None, "at": "2023-11-14T22:13:20Z", "pages": 7}
            made(tmp_path / name, stats=stats, history=[(at, FIGURES)])
        answers = {"status": CommandError("its event loop is blocked")}
        with dashboard(tmp_path, Crawls(answers)) as visitor:
            visitor.page()
            pages = []
            for known in visitor.finder.find():
                visitor.id = known.id
                pages += tree_of(visitor).xpath("//dl[@class='tiles']/div[1]/dd[1]/text()")
        assert pages == ["120", "7"]

    def test_without_a_crawl_the_page_says_where_it_looks(self, tmp_path):
        """Where there is none, the page says where it looks."""
        with dashboard(tmp_path / "crawls") as visitor:
            assert f"{tmp_path}/crawls" in visitor.page()

    def test_a_hive_is_a_page_with_a_row_for_each_drone(self, tmp_path):
        """A hive is a page with the sums and a row for each drone, which has pages of its own."""
        for number in (0, 1):
            made(
                tmp_path / f"hive/drone-{number}",
                history=[(1_700_000_000.0 + at, FIGURES) for at in range(9)],
            )
        (tmp_path / "hive/hive.json").write_text(
            json.dumps({"version": 1, "name": "web", "drones": [0, 1]})
        )
        with dashboard(tmp_path, Crawls({"status": FIGURES})) as visitor:
            tree = tree_of(visitor)
            assert tree.xpath("//dl[@class='tiles']/div/dd[1]/text()")[:2] == ["240", "8,000"]
            (first, second) = tree.xpath("//div[@id='now']//tbody//a/@href")
            assert first != second
            assert ">drone-1</h1>" in visitor.ask(second).text
            for tab in ("/hosts", "/errors", "/seeds", "/log", "/commands", "/why"):
                tree_of(visitor, tab)

    def test_a_hive_that_gets_another_drone(self, tmp_path):
        """Its pages show the drone from then on."""
        for number in (0, 1):
            made(tmp_path / f"hive/drone-{number}")
        hive = {"version": 1, "name": "web", "drones": [0]}
        (tmp_path / "hive/hive.json").write_text(json.dumps(hive))
        (tmp_path / "hive/drone-1").rename(tmp_path / "later")
        with dashboard(tmp_path, Crawls({"status": FIGURES})) as visitor:
            assert len(tree_of(visitor).xpath("//div[@id='now']//tbody//a/@href")) == 1

            (tmp_path / "later").rename(tmp_path / "hive/drone-1")
            (tmp_path / "hive/hive.json").write_text(json.dumps({**hive, "drones": [0, 1]}))
            time.sleep(MAX_SAMPLE_AGE + 0.1)
            assert len(tree_of(visitor).xpath("//div[@id='now']//tbody//a/@href")) == 2


class TestTabs:
    def test_hosts_of_a_crawl_that_does_not_know_the_command(self, visitor):
        """Then the page says so; levels are shown as they are."""
        text = tree_of(visitor, "/hosts").text_content()

        assert "does not know the command hosts" in text
        assert "Level 0" in text
        assert "3,000" in text

    def test_hosts_that_are_answered(self, tmp_path):
        """An answer is a table, whose hosts lead to their commands."""
        made(tmp_path / "web")
        answers = {
            "status": FIGURES,
            "hosts": {"by": "errors", "hosts": [{"host": "b.example", "queued": 5, "bytes": 2000}]},
        }
        with dashboard(tmp_path, Crawls(answers)) as visitor:
            tree = tree_of(visitor, "/hosts?by=errors")
            assert tree.xpath("//td/a[text()='b.example']/@href")[0].endswith(
                "/hosts?host=b.example"
            )
            assert "2\xa0kB" in tree.text_content()
            assert ("web", "hosts", "--by", "errors") in visitor.crawls.told

    def test_hosts_of_a_hive(self, tmp_path):
        """What each drone answers is under its name."""
        for number in (0, 1):
            made(tmp_path / f"hive/drone-{number}")
        (tmp_path / "hive/hive.json").write_text(
            json.dumps({"version": 1, "name": "web", "drones": [0, 1]})
        )
        said = [
            {"drone": number, "answer": {"hosts": [{"host": f"{number}.example"}]}}
            for number in (0, 1)
        ]
        with dashboard(tmp_path, Crawls({"status": FIGURES, "hosts": {"drones": said}})) as visitor:
            tree = tree_of(visitor, "/hosts")
            assert tree.xpath("//div[@id='now']//h3/text()") == [
                "Drone 0",
                "Hosts",
                "Drone 1",
                "Hosts",
                LEVELS,
            ]
            assert tree.xpath("//div[@id='now']//td/a/text()") == ["0.example", "1.example"]

    def test_one_host(self, tmp_path):
        """A host's page has its record, its next URLs, and forms for what it can be told."""
        made(tmp_path / "web")
        answers = {
            "status": FIGURES,
            "host": {"host": "b.example", "health": "healthy"},
            "queue": {"urls": ["http://b.example/1"]},
        }
        with dashboard(tmp_path, Crawls(answers)) as visitor:
            tree = tree_of(visitor, "/hosts?host=b.example")
            assert "healthy" in tree.text_content()
            assert "http://b.example/1" in tree.text_content()
            assert tree.xpath("//input[@name='words']/@value") == [
                f"b.example {verb}" for verb in ("pause", "resume", "retry", "drop")
            ]
            assert tree_of(visitor, "/hosts?host=--by").text_content()
            assert visitor.crawls.told[:2] == [
                ("web", "host", "b.example"),
                ("web", "queue", "b.example"),
            ]

    def test_a_host_that_is_not_known(self, visitor):
        """Where the crawl cannot say anything of a host, the page says so."""
        assert (
            "does not know the command host"
            in tree_of(visitor, "/hosts?host=a.example").text_content()
        )

    def test_the_reports_sections(self, crawled):
        """Each tab has its sections of the report on the last checkpoint, whose charts need no
        style of their own.
        """
        with dashboard(crawled.root.parent, given=[crawled.root]) as visitor:
            found = {tab: tree_of(visitor, tab) for tab in ("", "/hosts", "/errors", "/seeds")}
        sections = {
            tab: tree.xpath("//div[@id='report']/section/@id") for tab, tree in found.items()
        }

        assert sections == {
            "": ["time", "bound", "outcomes", "types", "sizes", "depth", "disk", "settings"],
            "/hosts": ["hosts", "domains", "waiting"],
            "/errors": ["wrong", "skipped"],
            "/seeds": ["seeds", "extremes"],
        }
        assert "As of the last checkpoint, at 20" in found[""].text_content()
        assert len(found[""].xpath("//svg[@role='img']")) == 5
        assert all(tree.xpath("//@style") == [] for tree in found.values())
        rows = [
            tuple(row.xpath("td/text()")[:2])
            for row in found["/seeds"].xpath("//table[@id='seed-table']/tbody/tr")
        ]
        assert rows == [tuple(row[:2]) for row in crawled.page.rows("seed-table")]

    def test_the_report_on_a_hive(self, crawled, tmp_path):
        """Its sections are of all drones."""
        for number in (0, 1):
            shutil.copytree(crawled.root, tmp_path / f"hive/drone-{number}")
        (tmp_path / "hive/hive.json").write_text(
            json.dumps({"version": 1, "name": "web", "drones": [0, 1]})
        )
        with dashboard(tmp_path) as visitor:
            report = Report(visitor.page(f"c/{visitor.id}"))
        one, both = (
            [row[1] for row in page.numbers("type-table")] for page in (crawled.page, report)
        )

        assert both == [2 * many for many in one]

    def test_the_log(self, visitor):
        """Lines of crawl.log are a table, whose URLs lead to why; a word chooses among them."""
        tree = tree_of(visitor, "/log?find=a.example")

        assert "/why?url=http%3A%2F%2Fa.example%2Fx" in tree.xpath("//tbody/tr/td/a/@href")[0]
        assert tree_of(visitor, "/log?find=b.example").xpath("//tbody/tr") == []

    def test_a_log_that_cannot_be_read(self, visitor):
        """It is not said to be empty."""
        (visitor.jobdir / "logs/errors.log").mkdir()

        assert "cannot be read: [Errno 21]" in tree_of(visitor, "/errors").text_content()

    def test_every_command_has_its_form(self, visitor):
        """The table of commands is the page of commands."""
        assert tree_of(visitor, "/commands").xpath("//div[@class='forms']//button/@value") == [
            *COMMANDS
        ]

    def test_why_fails(self, tmp_path):
        """What cannot be answered is said in a line."""

        def why(jobdir, url):
            raise ValueError("damaged")

        made(tmp_path / "web")
        with dashboard(tmp_path, why=why) as visitor:
            assert (
                "No answer: damaged"
                in tree_of(visitor, "/why?url=http://a.example/").text_content()
            )
            assert "more than 4096" in tree_of(visitor, f"/why?url={'x' * 4097}").text_content()


class TestSeeds:
    def test_seeds_as_text(self, visitor):
        """What is written becomes a file of the crawl's, which the crawl is told of."""
        answer = visitor.send(
            f"c/{visitor.id}/seeds", {"seeds": " http://a.example/\r\nb.example \r\n"}
        )

        assert "seeds will be read from there" in said_of(visitor, answer)
        (written,) = (visitor.jobdir / "seeds").iterdir()
        assert written.read_text().split() == ["http://a.example/", "b.example"]
        assert [told[:3] for told in visitor.crawls.told] == [("web", "seeds", "add")]

    def test_nothing_written(self, visitor):
        """No text, no seeds, no file."""
        assert "Refused" in said_of(
            visitor, visitor.send(f"c/{visitor.id}/seeds", {"seeds": " \r\n"})
        )
        assert visitor.crawls.told == []

    @pytest.mark.parametrize("name", ["status", "seeds"])
    def test_a_crawl_that_does_not_want_them(self, visitor, name):
        """Nothing is left of seeds that a crawl refuses, or that nobody was there for."""
        visitor.crawls.answers[name] = CommandError("not now")
        answer = visitor.send(f"c/{visitor.id}/seeds", {"seeds": "a.example"})

        assert "not now" in said_of(visitor, answer)
        assert [*visitor.jobdir.glob("seeds/*")] == []

    def test_a_hive_itself_gets_what_is_written(self, tmp_path):
        """A hive gets what is written itself: it knows where its drones are."""
        for number in (0, 1):
            made(tmp_path / f"hive/drone-{number}")
        (tmp_path / "hive/hive.json").write_text(
            json.dumps({"version": 1, "name": "web", "drones": [0, 1]})
        )
        with dashboard(
            tmp_path, Crawls({"status": FIGURES, "seeds": "done by 2 drones"})
        ) as visitor:
            assert "done by 2" in said_of(
                visitor, visitor.send(f"c/{visitor.id}/seeds", {"seeds": "a.example\r\n"})
            )
            assert visitor.crawls.told == [("hive", "seeds", "add", "-", b"a.example")]


class TestSearch:
    @pytest.fixture(name="indexed")
    def _indexed(self, tmp_path):
        pytest.importorskip("tantivy")
        texts = Texts(tmp_path / "web")
        one = page("http://a.example/lamp", "<p>a <b>lamp</b> &lt;script&gt; beside")
        one.title = "Lamps & shades"
        texts.add(one)
        texts.stop()
        with dashboard(tmp_path, Crawls({"status": FIGURES})) as visitor:
            yield visitor

    def test_pages_are_listed(self, indexed):
        """With title, URL and the text around the words."""
        tree = tree_of(indexed, "/search?find=lamp")
        item = tree.xpath("//ol/li")[0]

        assert item.xpath("b/text()") == ["Lamps & shades"]
        assert item.xpath("p[1]/text()") == ["http://a.example/lamp"]
        assert item.xpath("p[2]")[0].text_content() == "a lamp <script> beside"
        assert item.xpath("p[2]/b/text()") == ["lamp"]
        assert tree.xpath("//input[@name='find']/@value") == ["lamp"]

    @pytest.mark.parametrize(
        ("query", "said"),
        [
            ("%27", "': no word"),
            ("lamp+AND", "lamp AND: searched as plain words"),
            ("%F0%9F%98%80", "no word"),
            ("lamp+" * 800, "1 page."),
        ],
    )
    def test_any_text(self, indexed, query, said):
        """Whatever is pasted is searched for, and a remark says how it was read."""
        assert said in tree_of(indexed, f"/search?find={query}").text_content()

    def test_no_index(self, tmp_path):
        """The page says so, and how to get one; without words it only asks for them."""
        Texts(tmp_path / "web", index=False).stop()
        (tmp_path / "web/a.wacz").touch()
        with dashboard(tmp_path, Crawls({"status": FIGURES})) as visitor:
            asking, answer = tree_of(visitor, "/search"), tree_of(visitor, "/search?find=lamp")

        assert asking.xpath("//p[@class='refused']") == []
        said = answer.xpath("//p[@class='refused']/text()")[0]
        assert "no index" in said
        assert "OUTPUTS=index" in said
