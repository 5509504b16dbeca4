"""What is stored of those who want to be forgotten: where it lies, and from which outputs it is
left out.
"""

import gzip
import json
import zipfile
from collections import Counter

import pytest

from tests.support.commands import command
from tests.support.warc_crawl import NOW, Archive, exchange, files
from webcrawl.base.model import Link, PageView
from webcrawl.crawl.checks import check
from webcrawl.crawl.control.in_force import InForce
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile, StoreError
from webcrawl.tools.account_page import page
from webcrawl.tools.optout_records import RecordFinder, crawls_with, records_in, records_of
from webcrawl.tools.site_account import account_of, site_of
from webcrawl.tools.wacz.pack import pack
from webcrawl.urls.exclusion_rules import Forgotten, OptOut

WISH = OptOut("b.test", NOW + 10, by="joe", forget=True)


@pytest.fixture(name="job")
def _job(tmp_path):
    """An archive of several files with pages of three sites, and a wish to be forgotten of one of
    them.
    """
    archive = Archive(tmp_path / "job", max_size=3000)
    for number in range(6):
        for host in ("a.test", "www.b.test", "c.test"):
            url = f"http://{host}/{number}"
            archive.write(exchange(url, f"<p>{url}".encode()), Link(url, "L"))
    archive.stop()
    db = CrawlDB(archive.root / "state")
    InForce(db, check({}), clock=lambda: NOW).exclude(WISH)
    db.checkpoint()
    db.close()
    return archive.root


class TestForgotten:
    def test_only_who_wants_to(self):
        """A wish to be left alone is not one to be forgotten."""
        assert not Forgotten([OptOut("a.test")])
        assert not Forgotten([OptOut("a.test"), WISH]).has("http://a.test/", NOW)

    def test_a_wish_that_is_over(self):
        """It is about what was stored before its end."""
        forgotten = Forgotten([OptOut("a.test", until=NOW, forget=True)])

        assert forgotten.has("http://a.test/", NOW - 1)
        assert not forgotten.has("http://a.test/", NOW)


class TestOffsets:
    def test_every_record(self, job):
        """Each record of the site is listed with its file, place, length and URL, and none of
        another site.
        """
        places = [*RecordFinder(job, "b.test")]

        assert len(places) == 18
        assert Counter(one.kind for one in places) == {"response": 6, "request": 6, "metadata": 6}
        assert len({one.file for one in places}) > 1
        for one in places:
            data = one.file.read_bytes()[one.offset : one.offset + one.length]
            assert f"WARC-Target-URI: {one.url}\r\n".encode() in gzip.decompress(data)
            assert one.url.startswith("http://www.b.test/")

    def test_a_prefix(self, job):
        """What lies below a URL prefix is listed alone."""
        assert {one.url for one in RecordFinder(job, "www.b.test/3")} == {"http://www.b.test/3"}

    def test_views_of_its_pages(self, job, tmp_path):
        """A screenshot is listed with its page, and left out of a package with it."""
        archive = Archive(tmp_path / "seen")
        for host in ("a.test", "b.test"):
            page = exchange(f"http://{host}/", b"<p>words")
            page.state.views = (PageView("urn:view:", "image/png", b"PNG"),)
            archive.write(page)
        archive.stop()
        found = {one.url for one in RecordFinder(archive.root, "b.test")}
        assert found == {"http://b.test/", "urn:view:http://b.test/"}

        target = tmp_path / "seen.wacz"
        list(pack(archive.root, target, NOW, Counter(), Forgotten([WISH])))
        index = gzip.decompress(zipfile.ZipFile(target).read("indexes/index.cdx.gz"))
        assert b"urn:view:http://a.test/" in index
        assert b"b.test" not in index

    def test_nothing_is_written(self, job):
        """The archives stay as they are, and so does all else."""
        before = {path: path.read_bytes() for path in job.rglob("*") if path.is_file()}

        assert [*RecordFinder(job, "b.test")]
        assert {path: path.read_bytes() for path in job.rglob("*") if path.is_file()} == before

    def test_what_cannot_be_read_is_said(self, job):
        """An archive that is not finished, or not here, is named; a damaged one ends the list with
        its place.
        """
        first, second, third, *_ = files(job)
        second.rename(f"{second}.open")
        third.unlink()
        offsets = RecordFinder(job, "b.test")
        assert [*offsets]
        named = {line.partition(": ")[0] for line in offsets.unread}
        assert named == {f"warc/{third.name}", f"warc/{second.name}.open"}

        first.write_bytes(b"\0" * 100)
        with pytest.raises(DamagedFile):
            list(RecordFinder(job, "b.test"))

    def test_an_archive_that_is_elsewhere(self, job):
        """A folder without its archives is no crawl that has nothing of the site."""
        for path in files(job):
            path.unlink()

        done = command("scrapy", "account", job, "b.test", "--list-records")

        assert (done.returncode, done.stdout) == (1, "")
        assert "no finished archive file" in done.stderr

    def test_no_rule(self, job):
        """What is neither a domain nor a prefix is refused."""
        with pytest.raises(StoreError, match="neither a domain nor a URL prefix"):
            RecordFinder(job, "a b")

    def test_as_a_command(self, job):
        """`scrapy account JOBDIR RULE --list-records` prints one record per line, with tabs."""
        done = command("scrapy", "account", job, "b.test", "--list-records")

        assert done.returncode == 0
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        assert [row[1:] for row in rows] == [
            [str(one.offset), str(one.length), one.kind, one.url]
            for one in RecordFinder(job, "b.test")
        ]


class TestRecords:
    def test_of_a_crawl(self, job):
        """They are read from its state, which nothing is changed in."""
        assert records_in(job) == [WISH]

    def test_of_archives(self, job, tmp_path):
        """Archives in a crawl's folder have its records; those elsewhere have none."""
        assert records_of(crawls_with(files(job))) == [WISH]
        assert (
            records_of(crawls_with([tmp_path / "warc" / "x.warc.gz", tmp_path / "y.warc.gz"])) == []
        )


class TestAccount:
    @pytest.mark.parametrize("site", ["b.test", "www.b.test", "x.www.b.test"])
    def test_the_record_is_in_it(self, job, site):
        """The owner's account has the records that name the site, or what is above or below it."""
        account = account_of(job, site_of(site))

        assert account.optouts == [WISH]
        assert "joe" in page(account, NOW)

    def test_until_when(self, job):
        """Whether it is for good, or until a day, and whether that is over."""
        account = account_of(job, site_of("b.test"))
        now = f"{page(account, NOW)}"
        account.optouts[:] = [OptOut("b.test", NOW - 20, until=NOW - 10)]
        later = f"{page(account, NOW)}"

        assert ("permanently" in now, "this has expired" in now) == (True, False)
        assert ("permanently" in later, "this has expired" in later) == (False, True)

    def test_no_other_is(self, job):
        """Other sites' records are not an owner's business."""
        account = account_of(job, site_of("a.test"))

        assert account.optouts == []
        assert "Excluded from the crawl" not in page(account, NOW)


class TestPackages:
    def test_they_have_no_line_of_it(self, job, tmp_path):
        """A package's index and lists leave it out; that its bytes are still in the archive files
        is said.
        """
        target, found = tmp_path / "x.wacz", Counter()
        said = list(pack(job, target, NOW, found, Forgotten([WISH])))

        stay = "are in no index and no list of this package; their bytes are still in its archive files"
        assert said == [
            f"6 records of sites that asked to be forgotten {stay}: scrapy account --list-records"
        ]
        wacz = zipfile.ZipFile(target)
        index = gzip.decompress(wacz.read("indexes/index.cdx.gz"))
        pages = [json.loads(line) for line in wacz.read("pages/extraPages.jsonl").splitlines()[1:]]
        assert (index.count(b"a.test"), index.count(b"b.test"), len(pages)) == (6, 0, 12)
        assert not any("b.test" in page["url"] for page in pages)


class TestProcess:
    def test_no_page_is_made_of_it(self, job, tmp_path):
        """`scrapy process` passes over it, and says how much that is."""
        done = command(
            "scrapy", "process", job, "-s", f"JOBDIR={tmp_path / 'new'}", "-s", "OUTPUTS=text"
        )

        assert done.returncode == 0
        stats = json.loads((tmp_path / "new/stats.json").read_text())
        assert stats["archive/forgotten"] == 6
        assert "6 answers left out of sites that asked to be forgotten" in done.stderr
        texts = "".join(
            gzip.decompress(path.read_bytes()).decode()
            for path in (tmp_path / "new/text").iterdir()
        )
        assert "http://a.test/1" in texts
        assert "b.test" not in texts
