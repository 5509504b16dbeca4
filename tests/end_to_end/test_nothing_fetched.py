"""A crawl that gets nothing says why in words, and ends where no waiting can mend it, with exit
status 1.
"""

import json

import pytest

from tests.support.commands import command
from tests.support.crawling import SETTINGS, Crawl, wait_until
from tests.support.plain_site import Site, serving
from tests.support.ports import free_port
from webcrawl import settings

# nothing ends soon by itself
OPEN = {"HOST_RETRY_WAIT": 60, "OUTAGE_END_WAIT": 900, "HOST_PATIENCE": 3600}


class Forbidding(Site):
    """robots.txt forbids all."""

    def answer(self):
        self.say(200, b"User-agent: *\nDisallow: /" if self.path == "/robots.txt" else b"secret")


class Leading(Site):
    """robots.txt leads to where nothing listens."""

    elsewhere = f"127.0.0.2:{free_port()}"

    def answer(self):
        self.say(302, b"", location=f"http://{self.elsewhere}/robots.txt")


class Moved(Site):
    """Each page has moved to another host, by way of another page."""

    def answer(self):
        there = f"http://127.0.0.2:{self.server.server_address[1]}/there"
        status = 404 if self.path == "/robots.txt" else 301
        self.say(status, b"", location=there if self.path == "/way" else "/way")


class Away(Site):
    """Its page is at a port where nothing listens, it says."""

    gone = f"127.0.0.1:{free_port()}"

    def answer(self):
        self.say(
            404 if self.path == "/robots.txt" else 301,
            b"",
            location=f"http://{self.gone}{self.path}/",
        )


class Numbered(Site):
    """Its first page links to five others."""

    def answer(self):
        links = (
            "".join(f"<a href=/{at}>{at}</a>" for at in range(5)) if self.path == "/" else self.path
        )
        self.say(
            404 if self.path == "/robots.txt" else 200, links.encode(), content_type="text/html"
        )


def crawl_of(tmp_path, *seeds, **settings):
    return Crawl(tmp_path / "job", {"seeds": ",".join(seeds)}, {**OPEN, **settings})


def why(tmp_path, url):
    return command("webcrawl", "why", tmp_path / "job", url).stdout.splitlines()[0]


def ended(crawl):
    """The exit status, and the lines that say why there is nothing."""
    status = crawl.run()  # whose settings would have it wait far beyond the patience of tests
    said = crawl.output.read_text().splitlines()
    return status, [
        line.partition("nothing was fetched: ")[2]
        for line in said
        if "nothing was fetched: " in line
    ]


def test_an_address_that_the_guard_refuses(tmp_path):
    """The address and the setting are named, in the log, by `why` and in the report; nothing else
    "helps".
    """
    line = "127.0.0.1 is loopback: -s PRIVATE_NETWORKS_ALLOWED=127.0.0.0/8 lets the crawl in"
    with serving() as site:
        crawl = crawl_of(tmp_path, f"{site}/", PRIVATE_NETWORKS_ALLOWED="")
        assert ended(crawl) == (1, [line])

    assert "what helps" not in crawl.output.read_text()
    assert why(tmp_path, f"{site}/").startswith(f"refused: {line}")
    command("webcrawl", "report", tmp_path / "job")
    assert line in (tmp_path / "job/report.html").read_text()


def test_a_seed_that_leads_out_of_the_scope(tmp_path):
    """The target is named, which may be the seed that was meant; with a wider scope the next run
    begins anew.
    """
    with (
        serving(Moved) as site,
        serving(address="127.0.0.2", port=int(site.rpartition(":")[2])) as target,
    ):
        crawl = crawl_of(tmp_path, f"{site}/")
        crawl.arguments["scope"] = "host"
        line = f"{site}/way redirects to {target}/there, which is out of scope: use that as a seed"
        assert ended(crawl) == (
            1,
            [
                line,
                "1 URL left out by the filter scope: a wider scope (--scope, -a scope=) allows it",
            ],
        )

        crawl.arguments["scope"] = "any"
        assert ended(crawl) == (0, [])

    assert crawl.stats["status/200"] == 2  # it has a robots.txt, too


def test_a_seed_that_leads_to_what_is_not_there(tmp_path):
    """Redirects alone are no pages: why there is none is said of where they lead."""
    with serving(Away) as site:
        status, (line,) = ended(
            crawl_of(tmp_path, f"{site}/", HOST_PATIENCE=2, HOST_RETRY_WAIT=0.5)
        )

    assert (status, line) == (1, f"{Away.gone}: connection refused: no server is listening there")


def test_more_redirects_than_are_followed(tmp_path):
    """The setting is named that ends them."""
    with serving(Moved) as site:
        status, (line,) = ended(crawl_of(tmp_path, f"{site}/", REDIRECT_MAX_HOPS=1))

    there = f"http://127.0.0.2:{site.rpartition(':')[2]}/there"
    assert (status, line) == (
        1,
        f"{site}/way redirects to {there}: that is one redirect more than REDIRECT_MAX_HOPS=1 allows",
    )


@pytest.mark.parametrize("settings", [{"REDIRECT_MAX_HOPS": 0}, {"URL_FOLLOW": False}])
def test_redirects_that_nobody_follows(tmp_path, settings):
    """They are what was wanted."""
    with serving(Moved) as site:
        assert ended(crawl_of(tmp_path, f"{site}/", **settings)) == (0, [])


def test_this_machines_own_name(tmp_path):
    """`localhost` is crawled like 127.0.0.1, once that is allowed, whatever name servers say of it."""
    with serving() as site:
        seed = site.replace("127.0.0.1", "localhost")
        status, (line,) = ended(crawl_of(tmp_path, f"{seed}/", PRIVATE_NETWORKS_ALLOWED=""))
        assert (status, line.partition(": ")[0]) == (
            1,
            "localhost resolves to 127.0.0.1, which is loopback",
        )
        assert crawl_of(tmp_path, f"{seed}/").run() == 0

    assert json.loads((tmp_path / "job/stats.json").read_text())["status/200"] == 2


def test_a_name_that_does_not_exist(tmp_path, simweb):
    """It is asked for twice, and a name that is nearly the same is guessed from the other seeds."""
    server = simweb(1, 2)
    settings = {"DNS_NAMESERVERS": server.nameserver, **OPEN}
    crawl = crawl_of(tmp_path, "http://site0.tset/", "http://nowhere.ogr/", **settings)

    status, lines = ended(crawl)

    assert status == 1
    assert lines == ["site0.tset: no host of that name (and 1 more of this kind)"]
    assert (
        "nowhere.ogr: no host of that name; did you mean nowhere.org?" in crawl.output.read_text()
    )
    assert "no address" in why(tmp_path, "http://nowhere.ogr/")


def test_robots_txt_that_forbids_all(tmp_path):
    """A seed that its robots.txt forbids is named, also by `why`."""
    with serving(Forbidding) as site:
        status, lines = ended(crawl_of(tmp_path, f"{site}/"))

    assert (status, lines) == (1, [f"127.0.0.1: its robots.txt forbids {site}/"])
    assert "robots.txt forbids it" in why(tmp_path, f"{site}/")


def test_a_port_that_is_not_allowed(tmp_path):
    """The filter that drops the seed is named, with the setting."""
    status, lines = ended(crawl_of(tmp_path, "http://127.0.0.1:25/"))

    assert (status, lines) == (
        1,
        ["1 URL left out by the filter port: add its port to PORTS_ALLOWED to allow it"],
    )


def test_filters(tmp_path):
    """Each filter that drops a seed is named with the setting that lets it in; a filter of the
    user's own by itself.
    """
    (tmp_path / "excluded").write_text("excluded.test\n")
    seeds = [f"http://127.0.0.1/{name}" for name in ("x.exe", "private", "other")]
    crawl = crawl_of(
        tmp_path,
        "http://excluded.test/",
        "http://127.0.0.1:25/",
        *seeds,
        URL_EXCLUDE_FILE=tmp_path / "excluded",
        URL_EXCLUDE="private",
        URL_FILTERS=json.dumps({**settings.URL_FILTERS, "os.path.isabs": 950}),
    )
    status, lines = ended(crawl)

    assert status == 1
    for words in (
        ("excluded", "URL_EXCLUDE_FILE"),
        ("port", "PORTS_ALLOWED"),
        ("extension", "URL_EXCLUDE_EXTENSIONS"),
        ("expression", "URL_EXCLUDE"),
        ("isabs", "URL_FILTERS"),
    ):
        assert [line for line in lines if all(word in line for word in words)], (words, lines)
    assert len(lines) == 5


class Nowhere(Site):
    """Its page has moved to what is not a URL."""

    def answer(self):
        self.say(404 if self.path == "/robots.txt" else 302, b"", location="http://")


def test_a_seed_that_leads_to_no_url(tmp_path):
    """The seed is named, and that it leads nowhere."""
    with serving(Nowhere) as site:
        status, lines = ended(crawl_of(tmp_path, f"{site}/"))

    assert status == 1
    assert f"{site}/ redirects, but not to a valid URL" in lines[0]


def test_one_line_per_kind(tmp_path):
    """Seeds that give nothing for the same reason share a line."""
    with serving(Forbidding) as site:
        seeds = ["http://10.0.0.1/", "http://10.0.0.2/", "http://127.0.0.1:25/", f"{site}/"]
        status, lines = ended(crawl_of(tmp_path, *seeds, PRIVATE_NETWORKS_ALLOWED="127.0.0.0/8"))

    assert status == 1
    assert sorted(line.partition(" ")[2][:30] for line in lines) == sorted(
        [
            "is private: -s PRIVATE_NETWORK",
            "its robots.txt forbids http://",
            "URL left out by the filter por",
        ]
    )
    assert sum(line.endswith("(and 1 more of this kind)") for line in lines) == 1


def test_a_connection_that_is_refused(tmp_path):
    """It is told at once, and waited for: somebody may start the server."""
    port = free_port()
    running = crawl_of(tmp_path, f"http://127.0.0.1:{port}/").start()

    said = f"127.0.0.1:{port}: connection refused: no server is listening there"
    wait_until(lambda: running.crawl.output.exists() and said in running.crawl.output.read_text())
    wait_until(
        lambda: f"INFO: no seed has answered: {said}; waits " in running.crawl.output.read_text()
    )
    running.interrupt()
    assert running.wait() == 0


def test_a_robots_txt_elsewhere(tmp_path):
    """What keeps a robots.txt from being fetched is said of where the seed's has led to, and is no
    politeness.
    """
    with serving(Leading) as site:
        running = crawl_of(tmp_path, f"{site}/").start()
        said = f"{site}/robots.txt redirects to {Leading.elsewhere}: connection refused: no server is listening there"
        wait_until(
            lambda: (
                running.crawl.output.exists() and "no seed has" in running.crawl.output.read_text()
            )
        )
        running.interrupt()
        assert running.wait() == 0

    output = running.crawl.output.read_text()
    assert f"no seed has answered: {said}" in output
    assert f"for {site}/robots.txt, which must be read before any page" in output
    assert "politeness" not in output


def test_one_seed_that_answers(tmp_path):
    """If any page comes, the others are told of in the log, and the crawl ends well."""
    with serving() as site:
        crawl = crawl_of(tmp_path, "http://10.0.0.1/", f"{site}/")
        status, lines = ended(crawl)

    assert (status, lines) == (0, [])
    networks = "127.0.0.0/16,10.0.0.0/8"  # with the one that is allowed already
    assert (
        f"10.0.0.1 is private: -s PRIVATE_NETWORKS_ALLOWED={networks} lets"
        in crawl.output.read_text()
    )


def test_the_next_run_begins_anew(tmp_path):
    """Once the setting is made, the same command fetches what the first run could not."""
    with serving() as site:
        crawl = crawl_of(tmp_path, f"{site}/page", OUTPUTS="warc cdxj tables text links skipped")
        assert crawl.run(PRIVATE_NETWORKS_ALLOWED="") == 1
        assert crawl.run() == 0

    assert json.loads((tmp_path / "job/stats.json").read_text())["status/200"] == 2
    assert command("webcrawl", "verify", tmp_path / "job").returncode == 0


def test_other_seeds_after_a_run_without_an_answer(tmp_path):
    """The first line does not say when the crawl began, because no answer has come."""
    crawl = crawl_of(tmp_path, f"http://127.0.0.1:{free_port()}/", OUTAGE_END_WAIT=0.1)
    assert crawl.run() == 0
    with serving() as site:
        crawl.arguments["seeds"] = f"{site}/"
        assert crawl.run() == 0

    assert (
        "resumed with 0 pages and 1 URL queued of a crawl, last run with the seeds http://127."
        in crawl.output.read_text()
    )


class Huge(Site):
    """Its page is larger than may be."""

    def answer(self):
        self.say(404 if self.path == "/robots.txt" else 200, b"x" * 9000)


def test_a_seed_whose_answer_is_too_large(tmp_path):
    """The last lines count it, though another seed has given a page."""
    with serving(Huge) as huge, serving() as site:
        crawl = crawl_of(tmp_path, f"{huge}/", f"{site}/", DOWNLOAD_MAXSIZE=5000)
        assert crawl.run() == 0

    assert (
        "1 URL ended without a usable answer (-5001: 1; see crawl.log)" in crawl.output.read_text()
    )


class TestComplete:
    def test_a_run_that_has_tried_something(self, tmp_path):
        """A new request of a spider that fails is not said to have been nothing."""
        with serving() as site:
            then = json.dumps([[f"{site}/", {}]])
            crawl = Crawl(
                tmp_path / "job",
                {"then": then, "notes": tmp_path / "notes"},
                {"SPIDER_MODULES": "tests.support.option_spiders", "RETRY_TIMES": 0},
                "choosing",
            )
            assert crawl.run() == 0
        crawl.arguments["then"] = then.replace('/"', '/other"')
        assert crawl.run() == 0

        assert "1 URL ended without a usable answer" in crawl.output.read_text()
        assert "already complete" not in crawl.output.read_text()

    def test_a_feed_stays_as_it_is(self, tmp_path):
        """A crawl that is complete says so, exits 0, and overwrites nothing."""
        with serving() as site:
            words = ["crawl", f"{site}/page", "-O", "pages.jsonl"]
            words += [
                word for name, value in SETTINGS.items() for word in ("-s", f"{name}={value}")
            ]
            first = command("webcrawl", *words, cwd=tmp_path)
            feed = (tmp_path / "pages.jsonl").read_text()
            folder = site.removeprefix("http://").replace(":", "_")
            second = command("webcrawl", *words, cwd=tmp_path)
            again = command("webcrawl", *words, "--fresh", cwd=tmp_path)

        assert (first.returncode, second.returncode, again.returncode) == (0, 0, 0)
        assert second.stderr == (
            f"crawls/{folder}: already complete, with 1 page; nothing left to do. To crawl again, "
            "use another JOBDIR, or --fresh\n"
        )
        assert (tmp_path / "pages.jsonl").read_text().partition("fetched_at")[0] == feed.partition(
            "fetched_at"
        )[0]
        assert sorted(path.name for path in (tmp_path / "crawls").iterdir()) == [
            folder,
            f"{folder}.1",
        ]

    def test_what_is_over_the_budget_may_wait(self, tmp_path):
        """A crawl of which only such URLs are left is complete, until its budget is larger."""
        with serving(Numbered) as site:
            crawl = Crawl(
                tmp_path / "job",
                {"seeds": f"{site}/"},
                {
                    **OPEN,
                    "DOMAIN_BUDGET": "webcrawl.frontier.allowances.fixed.Fixed",
                    "DOMAIN_BUDGET_PAGES": 2,
                },
            )
            assert (crawl.run(), crawl.run()) == (0, 0)
            assert (
                "job: already complete, with 2 pages; only 4 URLs over the budgets of domains "
                "(DOMAIN_BUDGET_PAGES) left to do. To crawl again, use another JOBDIR"
                in crawl.output.read_text()
            )
            assert crawl.run(DOMAIN_BUDGET_PAGES=10) == 0

        assert crawl.stats["pages"] == 6

    def test_new_seeds_are_crawled(self, tmp_path):
        """More lines in the list, or another list, are work to do."""
        (tmp_path / "seeds.txt").write_text("")
        with serving() as site:
            crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, OPEN)
            for name in ("one", "two"):
                with (tmp_path / "seeds.txt").open("a") as file:
                    file.write(f"{site}/{name}\n")
                assert crawl.run() == 0

        assert crawl.stats["pages"] == 2

    def test_files_may_be_left_to_copy(self, tmp_path):
        """With a store a complete crawl is run all the same: what could not be copied before is
        copied now.
        """
        (tmp_path / "store").mkdir()
        with serving() as site:
            crawl = crawl_of(tmp_path, f"{site}/page")
            assert crawl.run() == 0
            assert crawl.run(OUTPUT_STORE=(tmp_path / "store").as_uri()) == 0

        assert "complete, with" not in crawl.output.read_text()
        assert list((tmp_path / "store").rglob("*.warc.gz"))

    @pytest.mark.parametrize("spider", ["shop", "own"])
    def test_a_spider_of_a_project(self, tmp_path, spider):
        """With the add-on a complete crawl begins anew, and its folder is kept aside."""
        with serving() as site:
            (tmp_path / "spiders.py").write_text(PROJECT.format(site))
            (tmp_path / "settings.py").write_text(f"{SPIDERS}\nglobals().update({SETTINGS!r})\n")
            (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = settings\n")
            for _ in range(2):
                done = command("scrapy", "crawl", spider, "-O", "items.jsonl", cwd=tmp_path)
                assert done.returncode == 0, done.stderr

        assert (tmp_path / "items.jsonl").read_text() == f'{{"found": "{site}/page"}}\n'
        assert {path.name for path in (tmp_path / "crawls").iterdir()} == {spider, f"{spider}.1"}


SPIDERS = 'SPIDER_MODULES = ["spiders"]\nADDONS = {"webcrawl.WebcrawlAddon": 300}'
PROJECT = """
import scrapy

class Shop(scrapy.Spider):
    name = "shop"
    start_urls = ["{}/page"]

    def parse(self, response):
        yield {{"found": response.url}}

class Own(Shop):
    name = "own"

    async def start(self):
        yield scrapy.Request(self.start_urls[0])
"""
