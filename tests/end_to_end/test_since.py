"""`scrapy crawl web -a since=…`: the crawl of this month asks as that of the last one did, and
stores what changed.
"""

import gzip
import re
import zlib
from collections import Counter
from urllib.request import urlopen

import pytest

from tests.support.cdx_server import columns
from tests.support.commands import command
from tests.support.crawling import Crawl, scrapy, wait_until
from tests.support.examples import in_campaign
from tests.support.named_sites import sites
from tests.support.reports import Report
from tests.support.warc_reader import read
from tests.support.wayback import collection, needs_pywb, wayback
from webcrawl.crawl.earlier_pages import FAILURES_UNTIL_SURE
from webcrawl.lab.simweb import even, truth, wait_until_idle
from webcrawl.tools.verify_crawl import verify

KINDS = ["etag", "modified", "duplicate", "redirect_elsewhere", "refresh"]
PAGES = 30


class Tree:
    """Thirty pages, each reached only through its parent; every fifth changes with the month."""

    def __init__(self):
        self.month, self.conditions, self.refusal, self.lies = 1, [], 0, False

    def __call__(self, host, path, headers):
        if path == "/robots.txt":
            return b""
        number = int(path.strip("/") or 0)
        links = "".join(
            f"<a href=/{child}>" for child in (2 * number + 1, 2 * number + 2) if child < PAGES
        )
        text = f"changed {self.month}" if number % 5 == 4 else "same"
        body = f"<title>{number}</title>{links}<p>{text}".encode()
        sent = []
        if number % 3 == 0:
            sent = [("ETag", f'"{zlib.crc32(body)}"')]
        elif number % 3 == 1:
            sent = [
                (
                    "Last-Modified",
                    f"Mon, 0{self.month if number % 5 == 4 else 1} Jun 2020 00:00:00 GMT",
                )
            ]
        requested = headers.get("If-None-Match") or headers.get("If-Modified-Since")
        if requested:
            self.conditions.append(path)
            if self.refusal:
                return self.refusal, [], b"no"
        same = sent and requested == sent[0][1]
        return (304, sent, b"") if same or (requested and self.lies) else (200, sent, body)


def logged(crawl):
    """URL and status, and the annotations of each line of the log, by path."""
    lines = [
        line.split() for line in (crawl.jobdir / "logs" / "crawl.log").read_text().splitlines()
    ]
    return {re.sub(r"^http://[^/]*", "", line[3]): (line[1], line[11]) for line in lines}


def records(crawl):
    return [
        record
        for path in sorted((crawl.jobdir / "warc").glob("*.warc.gz"))
        for record in read(path)
    ]


@pytest.fixture(name="months")
def _months(tmp_path):
    """A site, and crawls of it: the first of nothing, each later one since what it is given."""
    tree = Tree()
    with sites(tree, all_headers=True) as served:

        def crawl(name, since=None, **settings):
            (tmp_path / name).mkdir()
            made = served.crawl(
                tmp_path / name, ["site.test"], **{"OUTPUTS": "warc cdxj text", **settings}
            )
            if since:
                made.arguments["since"] = since
            tree.conditions.clear()
            assert made.run() == 0, made.output.read_text()
            assert list(verify(made.jobdir, Counter())) == []
            return made

        crawl.tree = tree
        yield crawl


def test_a_monthly_crawl_asks_for_the_same_urls_and_stores_what_changed(months):
    """An unchanged page leads on as if it had come; its record refers to the earlier one; the texts
    are all there.
    """
    first = months("jan")
    months.tree.month = 2
    second = months("feb", first.jobdir)

    assert logged(second).keys() == logged(first).keys()
    now = logged(second)
    assert now["/"] == ("304", "since:304")
    assert now["/2"] == ("200", "since:digest")
    assert now["/4"] == ("200", "-")
    assert {path for path, (status, _) in now.items() if status == "304"} < {
        *months.tree.conditions
    }
    assert second.stats["since/unmodified"] == sum(status == "304" for status, _ in now.values())

    whole = {
        record.fields["WARC-Target-URI"]: record
        for record in records(first)
        if record.kind == "response"
    }
    revisits = [record for record in records(second) if record.kind == "revisit"]
    assert len(revisits) == second.stats["since/unmodified"] + second.stats["since/identical"]
    for revisit in revisits:
        original = whole[revisit.fields["WARC-Refers-To-Target-URI"]]
        assert revisit.fields["WARC-Refers-To"] == original.id
        assert revisit.fields["WARC-Refers-To-Date"] == original.fields["WARC-Date"]
        assert revisit.fields["WARC-Payload-Digest"] == original.fields["WARC-Payload-Digest"]


def test_the_report_says_how_much_was_not_stored(months, tmp_path):
    """With the outcomes: pages that were unmodified are there with their status, and no documents."""
    second = months("feb", months("jan").jobdir)
    assert (
        scrapy(
            ["report", str(second.jobdir), "-o", str(tmp_path / "r.html")],
            second.project,
            tmp_path / "out",
        )
        == 0
    )

    same, again = (second.stats[f"since/{name}"] for name in ("unmodified", "identical"))
    said = Report((tmp_path / "r.html").read_text()).section("outcomes")
    assert (
        f"{same} pages unchanged since the earlier crawl (status 304), {again} answers sent again unchanged"
        in said
    )


def test_the_last_lines_name_what_its_pages_are_in(months):
    """The command for the texts names the earlier archives first: the crawl's own has only
    references to them.
    """
    first = months("jan")
    second = months("feb", first.jobdir, OUTPUTS="warc cdxj")

    said = re.search(r" of these pages: \S+ process (.*) -s OUTPUTS", second.output.read_text())
    assert said is not None
    assert said[1].split() == [str((first.jobdir / "warc").resolve()), str(second.jobdir)]


@needs_pywb
def test_pywb_shows_unchanged_pages(months, tmp_path):
    """By the index of docs/monthly-archive.md, without captures of status 304, it shows the page as it was
    before.
    """
    crawls = [first := months("jan"), months("feb", first.jobdir)]
    urls = (
        record.fields["WARC-Target-URI"] for record in records(first) if record.kind == "response"
    )
    root = min((url for url in urls if not url.endswith("robots.txt")), key=len)
    archives, indexes = ([*tmp_path.glob(f"*/**/warc/*{kind}")] for kind in (".warc.gz", ".cdxj"))
    assert len(archives) == len(indexes) == len(crawls)
    collection(tmp_path / "pywb", archives)
    lines = [line for path in indexes for line in path.read_text().splitlines(keepends=True)]
    kept = sorted(line for line in lines if '"status": "304"' not in line)
    assert len(kept) < len(lines)
    (tmp_path / "pywb/collections/months/indexes/index.cdxj").write_text("".join(kept))

    with wayback(tmp_path / "pywb") as address, urlopen(f"{address}/2100id_/{root}") as answer:  # noqa: S310 - loopback
        assert answer.read().startswith(b"<title>0</title>")


@pytest.mark.campaign
def test_the_third_crawl_knows_the_first_two(months):
    """What was unchanged in the second is read from the first, which need not be named: as much is
    stored again.
    """
    first = months("jan")
    months.tree.month = 2
    second = months("feb", first.jobdir)
    months.tree.month = 3
    third = months("mar", second.jobdir)

    assert logged(third) == logged(second)


@pytest.mark.parametrize(
    "way", ["warc moved away", "500", *in_campaign("only an index file", "400", "412", "416")]
)
def test_where_nothing_can_be_made_of_a_304_pages_are_fetched_whole(months, tmp_path, way):
    """The set of URLs is the same, and what is the same is stored once all the same."""
    first = months("jan")
    since = first.jobdir
    if way == "warc moved away":
        for path in (first.jobdir / "warc").glob("*.warc.gz"):
            path.rename(tmp_path / path.name)
    elif way == "only an index file":
        (since,) = (
            path.rename(tmp_path / path.name) for path in (first.jobdir / "warc").glob("*.cdxj")
        )
    else:
        months.tree.refusal = int(way)
    months.tree.month = 2
    second = months("feb", since)

    assert logged(second).keys() == logged(first).keys()
    assert {status for status, _ in logged(second).values()} == {"200"}
    assert logged(second)["/1"][1].startswith("since:digest")
    assert len(months.tree.conditions) <= {"5": 2 * FAILURES_UNTIL_SURE, "4": 1}.get(way[0], 0)


@pytest.mark.parametrize("ending", [*in_campaign(".cdxj.gz"), ".cdx"])
def test_an_index_of_another_form_serves_as_well(months, ending):
    """Packed, or in CDX: beside it lie the archive files, which are asked for with conditions."""
    first = months("jan")
    (path,) = (first.jobdir / "warc").glob("*.cdxj")
    lines = path.read_bytes().splitlines(keepends=True)
    path.unlink()
    data = (
        gzip.compress(b"".join(lines)) if ending.endswith(".gz") else b"".join(map(columns, lines))
    )
    path.with_suffix(ending).write_bytes(data)
    months.tree.month = 2
    second = months("feb", first.jobdir / "warc")

    assert logged(second)["/"] == ("304", "since:304")
    assert logged(second)["/2"] == ("200", "since:digest")
    assert logged(second).keys() == logged(first).keys()


def test_a_server_that_never_sees_a_change_loses_no_links(months):
    """One that answers 304 to every condition is believed; its pages lead where they led a month
    ago.
    """
    first = months("jan")
    months.tree.month, months.tree.lies = 2, True
    second = months("feb", first.jobdir)

    assert logged(second).keys() == logged(first).keys()
    assert [path for path, (status, _) in logged(second).items() if status == "304"] == [
        *months.tree.conditions
    ]
    assert "/4" in months.tree.conditions


def test_it_is_kept_when_the_crawl_is_resumed(months, tmp_path):
    """A crawl that was stopped goes on with the same index, and no URL is lost between the two
    runs.
    """
    first = months("jan")
    second = months("feb", first.jobdir, CLOSESPIDER_PAGECOUNT=5)
    assert len(logged(second)) < len(logged(first))
    del second.settings["CLOSESPIDER_PAGECOUNT"]
    assert second.run() == 0

    assert logged(second).keys() == logged(first).keys()
    assert "reading" not in second.output.read_text()
    assert list(verify(second.jobdir, Counter())) == []


@pytest.mark.campaign
def test_kill_9_loses_nothing(months, tmp_path):
    """Killed among its pages, it goes on from the last checkpoint, with the same index; each page
    is stored once.
    """
    first = months("jan")
    second = months("feb", first.jobdir, CLOSESPIDER_PAGECOUNT=3)
    second.settings.pop("CLOSESPIDER_PAGECOUNT")
    log = second.jobdir / "logs" / "crawl.log"
    before = log.read_bytes().count(b"\n")
    running = second.start(CHECKPOINT_INTERVAL=1, POLITENESS_MIN_DELAY=0.1)
    wait_until(lambda: log.read_bytes().count(b"\n") > before + 3)
    running.kill()
    assert second.run() == 0

    assert logged(second).keys() == logged(first).keys()
    urls = [
        record.fields["WARC-Target-URI"]
        for record in records(second)
        if record.kind in ("response", "revisit")
    ]
    assert len(urls) == len(set(urls)) == len(logged(first))
    assert list(verify(second.jobdir, Counter())) == []


def test_damage_of_the_index_is_found(months):
    """`scrapy verify` reads all of it; a crawl that is resumed makes it anew only if it cannot be
    opened.
    """
    second = months("feb", months("jan").jobdir)
    path = second.jobdir / "state" / "since" / "captures.run"
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)

    assert [damage.path for damage in verify(second.jobdir, Counter())] == [path]


def test_an_earlier_archive_that_is_gone(months):
    """`scrapy verify` names its folder, for revisit records refer to what was there."""
    first = months("jan")
    second = months("feb", first.jobdir)
    assert "no longer here" not in command("scrapy", "verify", second.jobdir).stdout
    first.jobdir.rename(first.jobdir.with_name("elsewhere"))

    done = command("scrapy", "verify", second.jobdir)
    assert done.returncode == 0
    assert f"{(first.jobdir / 'warc').resolve()}: no longer here; 1 archive of an" in done.stdout


def test_nothing_to_compare_with_is_one_line_and_status_1(months, tmp_path):
    """Found before the first request, and again when the index is made."""
    (tmp_path / "bad.cdxj").write_text("garbage\n")
    (tmp_path / "seeds.txt").write_text("http://127.0.0.1/")
    for since, why in (
        (tmp_path / "none", "no such file"),
        (tmp_path / "bad.cdxj", "nothing to compare with"),
    ):
        crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt", "since": since})

        assert crawl.run() == 1
        assert why in crawl.output.read_text()
        assert "Traceback" not in crawl.output.read_text()


@pytest.mark.campaign
def test_on_the_synthetic_web_nothing_is_lost(simweb, tmp_path):
    """A crawl since another one requests each required URL, politely conditional or not, and no
    other.
    """
    server = simweb(40, 200, mix=even(KINDS), size=(500, 800))
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver}
    first = Crawl(tmp_path / "jan", {"seeds": tmp_path / "seeds.txt"}, settings)
    assert first.run() == 0
    wait_until_idle(server)
    before = len(server.log.hits)
    second = Crawl(
        tmp_path / "feb", {"seeds": tmp_path / "seeds.txt", "since": first.jobdir}, settings
    )
    assert second.run() == 0
    wait_until_idle(server)

    expected = truth(server.world, server.world.seeds())
    assert [*expected.complaints(server.log.hits[:before])] == []
    assert [*expected.complaints(server.log.hits[before:])] == []
    assert second.stats["since/unmodified"] > 0
    assert list(verify(second.jobdir, Counter())) == []
