"""What a package depends on, and the records of earlier archives that are packed with it."""

import gzip
import json
import re
import zipfile
from collections import Counter
from dataclasses import replace

import pytest

from tests.support.archive_files import response
from tests.support.cdxj import placed
from tests.support.commands import command
from tests.support.warc_crawl import NOW, Archive, exchange, files, indexes
from webcrawl.base.model import Link, Referred
from webcrawl.base.url_text import visible
from webcrawl.record.since.sources import Sign, sign, write_kept
from webcrawl.store.disk import Disk
from webcrawl.tools.wacz.pack import pack
from webcrawl.urls.exclusion_rules import Forgotten
from webcrawl.urls.optout import OptOut

PAGES = [exchange(f"http://a.test/{number}", b"<p>%d" % number) for number in range(6)]
NOT_HERE = "without a body, which earlier archives have"
ADVICE = "; --with JOBDIR packs it"


@pytest.fixture(name="months")
def _months(tmp_path):
    """January has six pages, in two files; in February, four of them are unchanged, one of these at another URL."""
    january = Archive(tmp_path / "jan", max_size=3000)
    for one in PAGES:
        january.write(one, Link(one.url))
    january.stop()
    february = Archive(tmp_path / "feb", seed=2)
    for number, url in ((0, "0"), (2, "2"), (2, "copy"), (5, "5")):
        one, whole = replace(PAGES[number], url=f"http://a.test/{url}", started=NOW + 9e6), PAGES[number]
        one.refers = Referred("", whole.url, "2023-11-14T22:13:20Z", whole.digest)
        february.write(one, Link(one.url))
    february.stop()
    assert len(files(january.root)) > 1
    note(february.root, [sign(path) for path in indexes(january.root)])
    return january.root, february.root


def note(job, signs):
    folder = job / "state/since"
    folder.mkdir(parents=True, exist_ok=True)
    write_kept(Disk(), folder, signs, set())


def packed(job, earlier=(), **more):
    """The package, open; what was said; its description."""
    found = Counter()
    said = list(pack(job, job / "job.wacz", NOW, found, earlier=earlier, **more))
    wacz = zipfile.ZipFile(job / "job.wacz")
    return wacz, said, json.loads(wacz.read("datapackage.json"))


def lines(wacz):
    data = gzip.decompress(wacz.read("indexes/index.cdx.gz")).splitlines()
    assert data == sorted(data)
    return [json.loads(line.split(b" ", 2)[2]) for line in data]


def test_it_lists_what_it_depends_on(months):
    """The earlier archive files, with the number of records that refer to each; in its description, too."""
    january, february = months
    wacz, said, about = packed(february)

    assert said[0] == f"4 records {NOT_HERE}{ADVICE}"
    assert {line.partition(" in ")[2] for line in said[1:]} <= {str(path) for path in files(january)}
    assert sum(int(line.split()[0]) for line in said[1:]) == 4
    assert sum(one["records"] for one in about["refersTo"]) == 4
    assert {one["filename"] for one in about["refersTo"]} <= {path.name for path in files(january)}
    assert "archive/earlier.warc.gz" not in wacz.namelist()


def test_what_is_needed_is_packed(months):
    """Each record once, byte for byte, with a line in the index; nothing else of the earlier archive."""
    january, february = months
    wacz, said, about = packed(february, indexes(january))

    assert said == []
    assert "refersTo" not in about
    data = wacz.read("archive/earlier.warc.gz")
    copies = {record.fields["WARC-Target-URI"]: (at, length) for record, at, length in placed(data)}
    assert sorted(copies) == [f"http://a.test/{number}" for number in (0, 2, 5)]
    assert all(
        any(data[at : at + length] in path.read_bytes() for path in files(january)) for at, length in copies.values()
    )
    here = {one["url"]: one for one in lines(wacz) if one["filename"] == "earlier.warc.gz"}
    assert {url: (int(one["offset"]), int(one["length"])) for url, one in here.items()} == copies
    assert here["http://a.test/2"]["digest"] == PAGES[2].digest
    assert len(lines(wacz)) == 7
    assert all("earlier" not in line for line in wacz.read("pages/pages.jsonl").decode().splitlines())


def test_members_with_a_time_are_packed(months):
    """Other programs note in each gzip member when it was made: their records are packed like our own."""
    january, february = months
    for path in files(january):
        data = bytearray(path.read_bytes())
        for _, at, _ in placed(bytes(data)):
            data[at + 4 : at + 8] = b"time"
        path.write_bytes(data)
    wacz, said, about = packed(february, indexes(january))

    assert (said, "refersTo" in about) == ([], False)
    assert len(list(placed(wacz.read("archive/earlier.warc.gz")))) == 3


def test_what_is_missing_is_still_listed(months):
    """A file that was moved, and a record that is damaged, are named; the package has the others."""
    january, february = months
    gone, *others = files(january)
    gone.rename(january / "away")
    wacz, said, about = packed(february, indexes(january))

    assert said[0] == f"{gone.name}: not found beside {indexes(january)[0]}"
    assert said[1].endswith(NOT_HERE)
    assert said[2].endswith(f" in {january}/warc/{gone.name}")
    assert [one["filename"] for one in about["refersTo"]] == [gone.name]
    assert others
    assert "archive/earlier.warc.gz" in wacz.namelist()


def test_a_damaged_record_is_not_packed(months):
    """Nor one that is not what the index says."""
    january, february = months
    for path in files(january):
        path.write_bytes(path.read_bytes()[:700])
    _, said, _ = packed(february, indexes(january))

    assert any(", byte " in line for line in said)
    assert any(NOT_HERE in line for line in said)


def test_an_index_that_is_wrong(months):
    """A record that is another one than the index says is not packed, and the file is named."""
    january, february = months
    for path in indexes(january):
        first = re.search(rb'"offset": "\d+"', path.read_bytes())
        path.write_bytes(re.sub(rb'"offset": "\d+"', first[0], path.read_bytes()))
    _, said, _ = packed(february, indexes(january))

    assert any(
        re.fullmatch(f"{january}/warc/.*, byte [0-9]+: not the record that its index names", one) for one in said
    )


def test_a_damaged_index(months, tmp_path):
    """What stands before the damage counts; what is behind it is left out, and somebody hears of it."""
    january, february = months
    whole, torn = gzip.compress(b"".join(path.read_bytes() for path in indexes(january))), tmp_path / "torn.cdxj.gz"
    torn.write_bytes(whole[:-9])
    _, said, _ = packed(february, [torn])

    assert said[0].startswith(f"{torn}: ")
    assert said[0].endswith(": nothing more of it is read")


def test_references_without_a_date(tmp_path):
    """Of WARC 1.0, which names no date, the payload's digest says what is needed, and what the package itself has."""
    january, february = Archive(tmp_path / "jan"), Archive(tmp_path / "feb", seed=2, version="1.0")
    for one in PAGES[:2]:
        january.write(one)
    january.stop()
    again = replace(PAGES[0], started=NOW + 9e6)
    gone = replace(again, url=PAGES[1].url, status=304, head=b"HTTP/1.1 304 Not Modified\r\n\r\n", unmodified=True)
    for one, whole in ((again, PAGES[0]), (gone, PAGES[1])):
        one.refers = Referred("<urn:uuid:1>", whole.url, "2023-11-14T22:13:20Z", whole.digest)
        february.write(one, title="of a document")
    lost = b"HTTP/1.1 404 Not Found\r\n\r\n"
    for copy in ("own", "copy"):  # the second refers to the first
        own = replace(PAGES[5], url=f"http://a.test/{copy}", started=NOW + 9e6, status=404, head=lost)
        february.write(own, duplicate=True)
    february.stop()
    note(february.root, [sign(path) for path in indexes(january.root)])
    _, said, about = packed(february.root)
    (february.root / "job.wacz").unlink()
    wacz, nothing, _ = packed(february.root, indexes(january.root))

    assert (said[0], about["refersTo"]) == (
        f"2 records {NOT_HERE}{ADVICE}",
        [{"filename": files(january.root)[0].name, "records": 2}],
    )
    assert nothing == []
    assert {one["url"] for one in lines(wacz) if one["filename"] == "earlier.warc.gz"} == {
        "http://a.test/0",
        "http://a.test/1",
    }
    assert PAGES[1].url in wacz.read("pages/pages.jsonl").decode()


def test_what_a_server_knows_is_counted(months):
    """Where no file does."""
    _, february = months
    note(february, [Sign("cdx+http://a.test/", 0, 1)])
    _, said, about = packed(february)

    assert said == [f"4 records {NOT_HERE}{ADVICE}", "  4 in archives that are not known here, by cdx+http://a.test/"]
    assert about["refersTo"] == [{"records": 4}]


def test_what_is_to_be_forgotten_is_not_packed(months):
    """Although it was crawled earlier."""
    january, february = months
    forgotten = Forgotten([OptOut("http://a.test/2", forget=True)])
    wacz, _, _ = packed(february, indexes(january), forgotten=forgotten)

    assert sorted(one["url"] for one in lines(wacz)) == [f"http://a.test/{one}" for one in ("0", "0", "5", "5", "copy")]


def test_a_date_that_is_none_may_be_forgotten(tmp_path):
    """An index of somebody else's may have any digits in the place of a time."""
    february, page = Archive(tmp_path / "feb"), PAGES[2]
    refers = Referred("", page.url, "2022-13-99T99:99:99Z", page.digest)
    february.write(replace(page, url="http://a.test/copy", refers=refers), Link("http://a.test/copy"))
    february.stop()
    about = {"url": page.url, "status": "200", "digest": page.digest, "offset": "0", "filename": "x.warc.gz"}
    (tmp_path / "jan.cdxj").write_text(f"test,a)/2 20221399999999 {json.dumps(about)}\n")
    forgotten = Forgotten([OptOut(page.url, forget=True)])
    _, said, _ = packed(february.root, [tmp_path / "jan.cdxj"], forgotten=forgotten)

    assert f"1 record {NOT_HERE}" in said


@pytest.mark.parametrize("address", ["http://a.test/\xfc", "http://a.test/a b", "http://a.test/\u20ac%20"])
def test_an_address_as_another_program_has_written_it(tmp_path, address):
    """A URL that is not encoded is encoded in the index of the copies, as in references to it."""
    said, wacz = february_since(tmp_path, address, "2022-01-02T03:04:05Z")

    assert said == []
    assert visible(address) in {one["url"] for one in lines(wacz)}


def test_a_date_in_another_form(tmp_path):
    """A record whose date would fit in no index is not packed, and is named."""
    said, _ = february_since(tmp_path, "http://a.test/", "20220102030405")

    assert said[0] == f"{tmp_path}/jan/x.warc.gz, byte 0: not the record that its index names"
    assert said[1] == f"1 record {NOT_HERE}"


def february_since(tmp_path, address, date):
    """What was said, and the package of a crawl with a reference to the one record of another program's archive."""
    page, january = PAGES[2], tmp_path / "jan"
    january.mkdir()
    (january / "x.warc.gz").write_bytes(
        gzip.compress(response(address, page.body, WARC_Date=date, WARC_Payload_Digest=page.digest))
    )
    about = {"url": address, "status": "200", "digest": page.digest, "offset": "0", "filename": "x.warc.gz"}
    (january / "x.cdxj").write_text(f"test,a)/x 20220102030405 {json.dumps(about)}\n")
    february = Archive(tmp_path / "feb")
    refers = Referred("", visible(address), "2022-01-02T03:04:05Z", page.digest)
    february.write(replace(page, url="http://a.test/copy", refers=refers))
    february.stop()
    wacz, said, _ = packed(february.root, [january / "x.cdxj"])
    return said, wacz


def test_the_command(months):
    """`--with` takes what `-a since=` takes, but for servers; one line says how many were packed."""
    january, february = months
    done = command("scrapy", "export", "wacz", february, "--with", january)

    assert (done.returncode, done.stderr) == (0, "")
    assert ", records of earlier archives 3, bytes " in done.stdout
    for name, why in (
        ("none", "--with=none: no such file or folder"),
        ("cdx+http://a.test/", "--with=cdx+http://a.test/: a server has no records: name the archive's own index"),
        (february, f"--with={february}: holds this crawl's own JOBDIR: name an earlier crawl"),
    ):
        done = command("scrapy", "export", "wacz", february, "-o", february / "other.wacz", "--with", name)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{why}\n")
