"""`webcrawl crawl URL|FILE…`: the commonest crawls need neither `-a` nor `-s`."""

import json

import pytest
from scrapy.exceptions import UsageError

from tests.support.commands import command
from tests.support.plain_site import Site, serving
from webcrawl.adapter.crawl_options import start_of

LOCAL = ("-s", "PRIVATE_NETWORKS_ALLOWED=127.0.0.0/8", "-s", "MIN_FREE_DISK=0", "--delay", "0")
PAGES = 5  # of a site
NOBODY = "nobody.invalid"  # refused crawls never ask for it


class Linked(Site):
    """A page that links to four others, and to the same on another host."""

    other = ""

    def answer(self):
        links = "".join(f"<a href=/{number}>x</a>" for number in range(1, PAGES))
        self.say(
            200, f"{self.path}{links}<a href={self.other}/>y</a>".encode(), content_type="text/html"
        )


@pytest.fixture(name="two", scope="module")
def _two():
    """The addresses of two sites, of which the first links to the second."""
    with (
        serving(Linked, "127.0.0.2") as second,
        serving(type("First", (Linked,), {"other": second})) as first,
    ):
        yield first, second


def crawl(folder, *args):
    return command("webcrawl", "crawl", *args, cwd=folder, environment={"HOME": str(folder)})


def requested(folder):
    """The hosts of the pages in a crawl's log, with their numbers."""
    rows = [line.split() for line in (folder / "logs/crawl.log").read_text().splitlines()]
    urls = [row[3] for row in rows if not row[3].endswith("/robots.txt")]
    return {
        host: sum(url.startswith(host) for url in urls)
        for host in {url.rpartition("/")[0] for url in urls}
    }


def folder_of(address):
    return address.removeprefix("http://").replace(":", "_")


class TestUrls:
    def test_one_site(self, two, tmp_path):
        """A URL is crawled with what is on its host, into a folder of its name."""
        run = crawl(tmp_path, f"{two[0]}/", *LOCAL)

        assert run.returncode == 0, run.stderr
        assert requested(tmp_path / "crawls" / folder_of(two[0])) == {two[0]: PAGES}

    def test_a_host_without_a_scheme(self, two, tmp_path):
        """It means http."""
        run = crawl(tmp_path, two[1].removeprefix("http://"), *LOCAL)

        assert run.returncode == 0, run.stderr
        assert requested(tmp_path / "crawls" / folder_of(two[1])) == {two[1]: PAGES}

    @pytest.mark.parametrize(
        "host", ["intranet:8000", "127.0.0.1:8000", "[::1]:8000/a", "localhost"]
    )
    def test_how_hosts_are_written(self, host):
        """A name without a dot is a host if a port follows."""
        start = start_of([host], lambda _: False)

        assert start is not None
        assert start.urls == [f"http://{host}"]

    @pytest.mark.parametrize("url", ["http:/a.test/", "https//a.test", "http:a.test"])
    def test_a_url_with_a_mistyped_scheme(self, url):
        """It is named as such: as the name of a spider, `-o DIR` would be refused in its place."""
        with pytest.raises(UsageError, match=f"^{url}: is not a URL: write :// behind its scheme$"):
            start_of([url], lambda _: False)

    def test_another_scope(self, two, tmp_path):
        """--scope any follows links to other hosts."""
        run = crawl(tmp_path, f"{two[0]}/", "--scope", "any", "-o", "here", *LOCAL)

        assert run.returncode == 0, run.stderr
        assert requested(tmp_path / "here") == {two[0]: PAGES, two[1]: PAGES}

    def test_a_scope_of_the_project(self, two, tmp_path):
        """What a setting says goes before the default."""
        crawl(tmp_path, f"{two[0]}/", "-s", "URL_SCOPE=any", "-o", "here", *LOCAL)

        assert requested(tmp_path / "here") == {two[0]: PAGES, two[1]: PAGES}

    def test_two_sites(self, two, tmp_path):
        """The folder has the name of the first, and says that there is another."""
        crawl(tmp_path, *two, *LOCAL)

        assert requested(tmp_path / "crawls" / f"{folder_of(two[0])}+1") == {
            two[0]: PAGES,
            two[1]: PAGES,
        }

    def test_limits_and_outputs(self, two, tmp_path):
        """--max-pages ends the crawl, and --outputs says what it writes; the same command goes on."""
        more = ("--max-pages", "2", "--outputs", "text", "--user-agent", "mine/1", "-o", "here")
        run = crawl(tmp_path, two[0], *more, *LOCAL)

        assert run.returncode == 0, run.stderr
        assert (
            json.loads((tmp_path / "here/stats.json").read_text())["reason"]
            == "closespider_pagecount"
        )
        assert (tmp_path / "here/text").is_dir()
        assert not (tmp_path / "here/warc").exists()

    def test_fresh(self, two, tmp_path):
        """--fresh begins anew, and keeps what was there."""
        for more in ((), ("--fresh",)):
            crawl(tmp_path, two[0], "-o", "here", *more, *LOCAL)

        assert requested(tmp_path / "here") == requested(tmp_path / "here.1") == {two[0]: PAGES}

    def test_a_file_of_items(self, two, tmp_path):
        """-o with the name of a feed is Scrapy's, as for any spider."""
        run = crawl(tmp_path, two[0], "-o", "items.jsonl", *LOCAL)

        assert run.returncode == 0, run.stderr
        assert len((tmp_path / "items.jsonl").read_text().splitlines()) == PAGES
        assert requested(tmp_path / "crawls" / folder_of(two[0])) == {two[0]: PAGES}


class TestFiles:
    def test_a_list(self, two, tmp_path):
        """A file is a list of seeds, whose links lead anywhere; the folder has its name. --limit
        takes the first.
        """
        (tmp_path / "some.txt").write_text(f"{two[0]}/\n{two[0]}/9\n")
        run = crawl(tmp_path, "some.txt", "--limit", "1", *LOCAL)

        assert run.returncode == 0, run.stderr
        assert requested(tmp_path / "crawls/some") == {two[0]: PAGES, two[1]: PAGES}

    def test_one_that_is_not_there(self, tmp_path):
        """Its name is said, and it is not taken for a host."""
        run = crawl(tmp_path, "missing.txt", *LOCAL)

        assert (run.returncode, run.stderr) == (1, "missing.txt: No such file or directory\n")


class TestRefused:
    @pytest.mark.parametrize(
        ("more", "line"),
        [
            (("--scope", "any", "-a", "scope=host"), "--scope and -a scope=: give it in one place"),
            (
                ("--outputs", "warc", "-s", "OUTPUTS=text"),
                "--outputs and -s OUTPUTS=: give it in one place",
            ),
            (("-o", "a", "-s", "JOBDIR=b"), "-o a and -s JOBDIR=: give the folder in one place"),
            (("-o", "a", "-o", "b"), "-o: one folder is needed, not a and b"),
            (("-a", "seeds=http://a.test/"), "give the seeds in one place"),
            (("--limit", "0"), "argument --limit: 0: must be a whole number from 1"),
            (("--delay", "soon"), "argument --delay: soon: must be a number of seconds"),
            (("walk",), "'walk' is neither a URL nor a file"),
        ],
    )
    def test_what_contradicts_itself(self, tmp_path, more, line):
        """One line says what is wrong, nothing is fetched, and no folder is made."""
        run = crawl(tmp_path, f"http://{NOBODY}/", *more)

        assert run.returncode == 2
        assert run.stderr.splitlines()[-1].endswith(line)
        assert not (tmp_path / "crawls").exists()

    @pytest.mark.parametrize("agent", [(), ("--user-agent", "mybot/1.0")])
    def test_a_crawl_that_nobody_can_be_asked_about(self, tmp_path, agent):
        """A crawl of the public web says where its operator can be reached."""
        run = crawl(tmp_path, f"http://{NOBODY}/", *agent)

        assert run.returncode == 1
        assert run.stderr.startswith("USER_AGENT = ")
        assert "must be one that says where you can be reached" in run.stderr
        assert not (tmp_path / "crawls").exists()

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "10.0.0.1", "[::1]"])
    def test_a_private_network(self, tmp_path, host):
        """Who crawls there is known: a crawl needs no contact, but the word that it may go there."""
        run = crawl(tmp_path, f"http://{host}/")

        assert run.returncode == 1
        assert "PRIVATE_NETWORKS_ALLOWED" in run.stderr
        assert "must be one that says" not in run.stderr

    def test_an_option_that_a_spider_does_not_know(self, tmp_path):
        """--scope says nothing to a spider without seeds."""
        (tmp_path / "mine.py").write_text(
            "import scrapy\nclass Mine(scrapy.Spider):\n    name = 'mine'\n"
        )
        run = crawl(tmp_path, "mine", "--scope", "host", "-s", "SPIDER_MODULES=mine")

        assert (run.returncode, run.stderr.splitlines()[-1]) == (
            2,
            "webcrawl: error: --scope: is for crawls from URLs or files",
        )
