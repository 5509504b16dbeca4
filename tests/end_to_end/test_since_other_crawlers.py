"""`scrapy crawl web -a since=…` and archives of other crawlers: they know payloads by SHA-256."""

import gzip
import hashlib
import json
import shutil
from collections import Counter
from itertools import count
from urllib.request import urlopen

import pytest

from tests.support.crawling import scrapy
from tests.support.named_sites import sites
from tests.support.warc_reader import members, read
from tests.support.wayback import collection, needs_pywb, wayback
from webcrawl.tools.verify_crawl import verify

PAGES = {
    "/": b"<title>root</title><a href=/a><a href=/b>",
    "/a": b"<p>same",
    "/b": b"<p>other",
    "/robots.txt": b"#",
}


def as_others_write(jobdir, folder):
    """An archive file and its index, as a crawler in a browser makes them of the same answers."""
    (archive,), (index,) = (jobdir / "warc").glob("*.warc.gz"), (jobdir / "warc").glob("*.cdxj")
    folder.mkdir()
    new, at, places = [], 0, {}
    for member in members(archive.read_bytes()):
        head, _, block = member.partition(b"\r\n\r\n")
        if b"WARC-Type: response" in head:
            digest = f"sha256:{hashlib.sha256(block.partition(bytes.fromhex('0d0a0d0a'))[2][:-4]).hexdigest()}"
            old = head.partition(b"WARC-Payload-Digest: ")[2].partition(b"\r\n")[0]
            places[
                old.decode(), head.partition(b"WARC-Target-URI: ")[2].partition(b"\r\n")[0].decode()
            ] = at, digest
            head = head.replace(b"Digest: " + old, b"Digest: " + digest.encode(), 1)
        new.append(gzip.compress(head + b"\r\n\r\n" + block, mtime=0))
        at += len(new[-1])
    (folder / "other.warc.gz").write_bytes(b"".join(new))
    lines = []
    for line in index.read_text().splitlines():
        key, stamp, values = line.split(" ", 2)
        said = json.loads(values)
        place, digest = places[said["digest"], said["url"]]
        said |= {"digest": digest, "offset": str(place), "filename": "other.warc.gz"}
        lines.append(f"{key} {stamp} {json.dumps(said)}\n")
    (folder / "other.cdxj").write_text("".join(lines))
    return folder


def of_kind(crawl, kind):
    found = (
        record
        for path in sorted((crawl.jobdir / "warc").glob("*.warc.gz"))
        for record in read(path)
    )
    return {
        record.fields["WARC-Target-URI"]: record.fields for record in found if record.kind == kind
    }


@pytest.fixture(name="months")
def _months(tmp_path):
    """A site, what another crawler has of it, and crawls of it since then."""
    with sites(lambda host, path, _: PAGES.get(path)) as served:

        def crawl(name, since=None):
            (tmp_path / name).mkdir()
            made = served.crawl(tmp_path / name, ["site.test"], OUTPUTS="warc cdxj tables")
            if since:
                made.arguments["since"] = since
            assert made.run() == 0, made.output.read_text()
            assert list(verify(made.jobdir, Counter())) == []
            return made

        crawl.other = as_others_write(crawl("other").jobdir, tmp_path / "archive")
        yield crawl


def test_payloads_are_known_by_their_sha256(months):
    """Nothing is stored again; each record has the digest of the one that it repeats, and says that
    it is the same.
    """
    crawl = months("feb", months.other)
    whole = {one["url"]: one for one in map(json.loads, _lines(months.other))}

    revisits = of_kind(crawl, "revisit")
    assert of_kind(crawl, "response") == {}
    assert revisits.keys() == whole.keys()
    for url, fields in revisits.items():
        assert fields["WARC-Payload-Digest"] == whole[url]["digest"]
        assert fields["WARC-Refers-To-Target-URI"] == url
        assert fields["WARC-Profile"].endswith("/identical-payload-digest")
    assert crawl.stats["since/identical"] == len(revisits)


def _lines(folder):
    return [line.split(" ", 2)[2] for line in (folder / "other.cdxj").read_text().splitlines()]


def test_what_refers_to_an_archive_that_is_not_named_is_used(months, tmp_path):
    """Of February's archive alone, March knows where the payloads are that February did not store."""
    february = months("feb", months.other)
    alone = tmp_path / "alone"
    shutil.copytree(february.jobdir / "warc", alone)
    march = months("mar", alone)

    references = {
        url: one["WARC-Refers-To-Date"] for url, one in of_kind(february, "revisit").items()
    }
    assert {
        url: one["WARC-Refers-To-Date"] for url, one in of_kind(march, "revisit").items()
    } == references
    assert of_kind(march, "response") == {}


def test_process_gives_its_pages_their_bodies(months, tmp_path):
    """Of both archives together: the second has each page's text once more."""
    crawl, again = months("feb", months.other), tmp_path / "again"
    settings = ["-s", f"JOBDIR={again}", "-s", "OUTPUTS=text", "-s", "CONTENT_SEEN=process"]
    assert (
        scrapy(
            ["process", str(months.other), str(crawl.jobdir), *settings],
            crawl.project,
            tmp_path / "out",
        )
        == 0
    )

    written = b"".join(gzip.decompress(path.read_bytes()) for path in (again / "text").glob("*.gz"))
    texts = Counter(json.loads(line)["text"] for line in written.splitlines())
    assert (texts["same"], texts["other"]) == (2, 2)


def test_verify_bears_tables_of_bodies_that_are_coded_anew_each_time(tmp_path):
    """A revisit record then names the payload that it refers to, and the table that which came."""
    times = count(1)

    def answer(host, path, _):
        return 200, [("Content-Encoding", "gzip")], gzip.compress(PAGES["/a"], mtime=next(times))

    with sites(answer) as served:
        for name, since in (("jan", {}), ("feb", {"since": tmp_path / "jan/job"})):
            (tmp_path / name).mkdir()
            crawl = served.crawl(tmp_path / name, ["site.test"], OUTPUTS="warc cdxj tables")
            crawl.arguments |= since
            assert crawl.run() == 0

    assert of_kind(crawl, "revisit")
    assert list(verify(crawl.jobdir, Counter())) == []


@needs_pywb
def test_pywb_replays_it(months, tmp_path):
    """Every page of February and of March has its body, which only the other crawler's archive
    holds.
    """
    february = months("feb", months.other)
    shutil.copytree(february.jobdir / "warc", tmp_path / "alone")
    march = months("mar", tmp_path / "alone")
    archives = [months.other / "other.warc.gz"]
    for number, crawl in enumerate((february, march)):
        written = (crawl.jobdir / "warc").glob("*.warc.gz")
        archives += [path.rename(path.with_name(f"{number}-{path.name}")) for path in [*written]]
    collection(tmp_path / "pywb", archives)
    with wayback(tmp_path / "pywb") as address:
        for crawl in (february, march):
            for url, fields in [*of_kind(crawl, "revisit").items()]:
                stamp = "".join(filter(str.isdecimal, fields["WARC-Date"]))[:14]
                with urlopen(f"{address}/{stamp}id_/{url}") as answer:  # noqa: S310 - of pywb, on loopback
                    assert answer.read() == PAGES["/" + url.split("/", 3)[3]]
                    assert answer.url.endswith(f"/{stamp}id_/{url}")
