"""A crawl's archive as one file."""

import gzip
import hashlib
import json
import os
import shutil
import zipfile
from collections import Counter
from types import SimpleNamespace

import pytest

from tests.support.archive_files import gzipped, response
from tests.support.commands import command
from tests.support.warc_crawl import NOW, Archive, chunked, exchange, files, indexes
from webcrawl import __version__
from webcrawl.base.model import EarlierCapture, Link, PageView, WithheldBytes
from webcrawl.record.since.sources import FileSignature, write_indexed_files
from webcrawl.store.disk import Disk
from webcrawl.store.errors import StoreError
from webcrawl.tools.wacz import archive_index
from webcrawl.tools.wacz import pack as package
from webcrawl.tools.wacz.pack import pack
from webcrawl.tools.wacz.packable_archives import CannotPack

SEED = "http://a.test/"


@pytest.fixture(name="archive")
def _archive(tmp_path):
    archive = Archive(tmp_path / "job", max_size=3000)
    yield archive
    archive.close()


@pytest.fixture(name="job")
def _job(archive):
    """A crawl of two seeds, a page, a page shown in another, a copy, an image, an error and
    robots.txt.
    """
    image, text = (
        {
            "head": b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\n\r\n" % kind,
            "headers": [(b"Content-Type", kind)],
        }
        for kind in (b"image/png", b"text/plain")
    )
    missing = {
        "head": b"HTTP/1.1 404 No\r\nContent-Type: text/html\r\n\r\n",
        "status": 404,
        "body": b"<p>gone",
    }
    for url, path, more, title in (
        ("http://a.test/robots.txt", "P", text, ""),
        (SEED, "", {}, "The «title»"),
        ("http://b.test/", "R", {"body": b"<p>b"}, ""),
        ("http://a.test/page", "L", {"body": b"<p>page"}, "Page"),
        ("http://a.test/frame", "LE", {"body": b"<p>frame"}, "Frame"),
        ("http://a.test/copy", "L", {"body": b"<p>page"}, ""),
        ("http://a.test/i.png", "LE", image | {"body": b"png"}, ""),
        ("http://a.test/i2.png", "L", image | {"body": b"png"}, ""),
        ("http://a.test/gone", "L", missing, "Gone"),
    ):
        archive.write(
            exchange(url, **more),
            Link(url, path),
            duplicate=True,
            **({"title": title} if title else {}),
        )
    archive.stop()
    return archive.root


def packed(job, target=None, **more):
    """The package, open; what was said; the figures."""
    target = target or job / "job.wacz"
    found = Counter()
    said = list(pack(job, target, NOW, found, **more))
    assert {path.name for path in target.parent.glob("*.part*")} == set()
    return zipfile.ZipFile(target), said, found


def lines(data):
    return [json.loads(line) for line in data.decode().splitlines()]


class TestContent:
    def test_what_is_in_it(self, job):
        """The archive files byte for byte and not packed again, one index, two lists of pages, and
        their digests.
        """
        wacz, said, found = packed(job)

        assert said == []
        names = [f"archive/{path.name}" for path in files(job)]
        assert len(names) > 1
        assert wacz.namelist() == [
            *names,
            "indexes/index.cdx.gz",
            "indexes/index.idx",
            "pages/pages.jsonl",
            "pages/extraPages.jsonl",
            "datapackage.json",
            "datapackage-digest.json",
        ]
        assert [wacz.read(name) for name in names] == [path.read_bytes() for path in files(job)]
        stored = {
            entry.filename for entry in wacz.infolist() if entry.compress_type == zipfile.ZIP_STORED
        }
        assert stored == {*names, "indexes/index.cdx.gz"}
        assert wacz.testzip() is None
        assert found == {
            "files": len(names),
            "records": 9,
            "seeds": 2,
            "others": 2,
            "bytes": (job / "job.wacz").stat().st_size,
        }

    def test_it_says_whose_crawl_it_is(self, tmp_path):
        """datapackage.json repeats what the archive's first record says of owner and purpose."""
        info = {"description": "Elections", "operator": "a@b.test", "isPartOf": "News"}
        archive = Archive(tmp_path / "job", info={**info, "software": "x"})
        archive.write(exchange(SEED))
        archive.stop()
        wacz, *_ = packed(archive.root)
        says = json.loads(wacz.read("datapackage.json"))

        assert {name: says.get(name) for name in (*info, "hostname")} == {**info, "hostname": None}

    def test_it_says_what_is_in_it(self, job):
        """datapackage.json has the length and digest of each entry, and datapackage-digest.json
        that of itself.
        """
        wacz, *_ = packed(job)
        says = json.loads(wacz.read("datapackage.json"))

        for one in says.pop("resources"):
            data = wacz.read(one["path"])
            assert (one["bytes"], one["hash"]) == (
                len(data),
                f"sha256:{hashlib.sha256(data).hexdigest()}",
            )
            assert one["name"] == one["path"].split("/")[1].lower()
        assert says == {
            "profile": "data-package",
            "wacz_version": "1.1.1",
            "created": "2023-11-14T22:13:20Z",
            "software": f"webcrawl {__version__}",
            "title": "job",
            "mainPageUrl": SEED,
            "mainPageDate": "2023-11-14T22:13:20Z",
        }
        digest = hashlib.sha256(wacz.read("datapackage.json")).hexdigest()
        assert json.loads(wacz.read("datapackage-digest.json")) == {
            "path": "datapackage.json",
            "hash": f"sha256:{digest}",
        }

    def test_the_name_of_a_folder_that_is_no_text(self, job):
        """A name with bytes that are not UTF-8 is the title all the same, in JSON that everybody
        reads.
        """
        strange = job.rename(job.with_name(os.fsdecode(b"job\xff")))
        whole, _, _ = packed(strange, strange.parent / "a.wacz")
        data = whole.read("datapackage.json")

        assert (data.isascii(), json.loads(data)["title"]) == (True, "job\udcff")

    def test_pages_are_what_one_reads(self, job):
        """Seeds in the first list, other documents in the second, copies too; no errors, nothing
        that others show.
        """
        wacz, *_ = packed(job)
        seeds, others = (
            lines(wacz.read(f"pages/{name}.jsonl")) for name in ("pages", "extraPages")
        )

        assert [one["id"] for one in (seeds[0], others[0])] == ["pages", "extra-pages"]
        assert {one["format"] for one in (seeds[0], others[0])} == {"json-pages-1.0"}
        assert [(one["url"], one.get("title")) for one in seeds[1:]] == [
            (SEED, "The «title»"),
            ("http://b.test/", None),
        ]
        assert sorted((one["url"], one.get("title")) for one in others[1:]) == [
            ("http://a.test/copy", None),
            ("http://a.test/page", "Page"),
        ]
        assert {one["ts"] for one in seeds[1:] + others[1:]} == {"2023-11-14T22:13:20Z"}
        assert len({one["id"] for one in seeds + others}) == 6

    def test_the_index_is_that_of_all_archives(self, job, monkeypatch):
        """All lines, sorted, in blocks of gzip of their own; the second index has the first key and
        place of each.
        """
        monkeypatch.setattr(archive_index, "BLOCK_LINES", 4)
        wacz, *_ = packed(job)
        data, keys = (
            wacz.read("indexes/index.cdx.gz"),
            wacz.read("indexes/index.idx").decode().splitlines(),
        )

        wanted = sorted(
            line for path in indexes(job) for line in path.read_bytes().splitlines(keepends=True)
        )
        assert gzip.decompress(data) == b"".join(wanted)
        assert keys[0] == '!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}'
        at = 0
        for number, line in enumerate(keys[1:]):
            key, stamp, place = line.split(" ", 2)
            place = json.loads(place)
            block = data[place["offset"] : place["offset"] + place["length"]]
            assert place["digest"] == f"sha256:{hashlib.sha256(block).hexdigest()}"
            assert gzip.decompress(block) == b"".join(wanted[4 * number : 4 * number + 4])
            assert wanted[4 * number].startswith(f"{key} {stamp} {{".encode())
            assert place["offset"] == at
            at += place["length"]
        assert at == len(data)

    def test_many_files_are_merged_in_groups(self, job, monkeypatch):
        """However many archive files there are, few are open at a time."""
        whole, *_ = packed(job)
        monkeypatch.setattr(archive_index, "MAX_OPEN_FILES", 2)
        assert len(indexes(job)) > 2

        other, *_ = packed(job, job / "other.wacz")

        assert other.read("indexes/index.cdx.gz") == whole.read("indexes/index.cdx.gz")

    def test_large_files_are_copied_in_pieces(self, job, monkeypatch):
        """No file is read whole."""
        monkeypatch.setattr(package, "COPY_BYTES", 100)

        wacz, *_ = packed(job)

        assert wacz.testzip() is None

    def test_no_entry_has_more_fields_than_the_directory_says(self, job, monkeypatch):
        """wabac.js finds the bytes of an entry by the fields in the directory at the end of the
        file.
        """

        def fields(wacz, entry):
            wacz.fp.seek(entry.header_offset + 28)
            return int.from_bytes(wacz.fp.read(2), "little")

        wacz, *_ = packed(job)
        assert {fields(wacz, entry) for entry in wacz.infolist()} == {0}
        for where in (zipfile, package):
            monkeypatch.setattr(
                where, "ZIP64_LIMIT" if where is zipfile else "PLAIN_ENTRY_BYTES", 1000
            )
        large, *_ = packed(job, job / "large.wacz")
        longer = {entry.filename for entry in large.infolist() if fields(large, entry)}
        assert longer == {entry.filename for entry in large.infolist() if entry.file_size > 1000}
        assert longer
        assert large.testzip() is None


class TestWithoutAnIndex:
    def test_it_is_made_from_the_archive(self, job):
        """An archive file without an index gets the same lines, pages and titles."""
        whole, *_ = packed(job)
        for path in indexes(job):
            path.unlink()

        made, *_ = packed(job, job / "other.wacz")

        for name in ("pages/pages.jsonl", "pages/extraPages.jsonl"):
            assert made.read(name) == whole.read(name)
        before, after = (
            gzip.decompress(one.read("indexes/index.cdx.gz")).splitlines() for one in (whole, made)
        )
        assert after == before
        assert indexes(job) == []

    def test_what_only_other_records_say(self, tmp_path):
        """The method of a request, and the digest of a payload that came in chunks, are in its
        line, too.
        """
        archive, page = Archive(tmp_path / "job"), b"<p>hello " * 9
        redirect = {
            "head": b"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n",
            "headers": [(b"Location", b"/x")],
        }
        archive.write(chunked("http://a.test/chunks", page))
        archive.write(
            exchange(
                "http://a.test/form",
                b"<p>1",
                request=b"POST /form HTTP/1.1\r\nHost: a.test\r\n\r\n",
            )
        )
        same = {"status": 304, "head": b"HTTP/1.1 304 Not Modified\r\n\r\n", "same_since": NOW - 9}
        archive.write(exchange("http://a.test/same", b"", **same))
        archive.write(
            exchange(
                "http://a.test/away", b"", status=302, withheld=WithheldBytes(5, 5), **redirect
            ),
            withheld="body",
        )
        archive.write(exchange("http://a.test/shown", page, rendered=True))
        archive.write(exchange("ftp://a.test/x", b"file", head=b"", request=b"", headers=[]))
        archive.stop()
        (path,), (beside,) = files(archive.root), indexes(archive.root)
        archive_index.make_index(path, tmp_path / "made")

        assert (tmp_path / "made").read_text() == beside.read_text()
        assert '"method": "POST"' in beside.read_text()

    def test_what_came_of_a_form_is_no_page(self, tmp_path):
        """Its URL shows something else, or nothing; the index has it with its method."""
        archive = Archive(tmp_path / "job")
        archive.write(
            exchange(
                "http://a.test/form",
                b"<p>1",
                request=b"POST /form HTTP/1.1\r\nHost: a.test\r\n\r\n",
            )
        )
        archive.write(exchange("http://a.test/", b"<p>2"))
        archive.stop()

        made, *_ = packed(tmp_path / "job")

        assert b"/form" not in made.read("pages/pages.jsonl")
        assert b"/form" in gzip.decompress(made.read("indexes/index.cdx.gz"))

    def test_damage_is_told(self, job):
        """What cannot be read is named, and there is no package."""
        path, *_ = files(job)
        indexes(job)[0].unlink()
        path.write_bytes(path.read_bytes()[:-9])

        with pytest.raises(
            CannotPack, match=rf"{path.name}: is damaged \(.*\): `scrapy verify` shows where"
        ):
            packed(job)
        assert not list(job.glob("*.wacz*"))

    @pytest.mark.parametrize(
        "fields",
        [
            {"WARC_Payload_Digest": 'x", "offset": "0'},
            {"WARC_Date": "2026\n-01-02T03:04:05Z"},
        ],
    )
    def test_fields_that_would_forge_lines_of_the_index(self, job, fields):
        """A record of an archive of somebody else's cannot say where another one lies."""
        (job / "warc/z.warc.gz").write_bytes(gzipped([response(SEED, **fields)]))

        with pytest.raises(
            CannotPack,
            match=r"z\.warc\.gz: is damaged \(byte 0: the fields of this record do not fit in an index",
        ):
            packed(job)

    def test_a_line_end_within_a_field(self, job):
        """The field ends there: what follows is no line of the index."""
        forged = {"WARC_Payload_Digest": "x\ntest,bank)/ 20260102030405 {}"}
        (job / "warc/z.warc.gz").write_bytes(gzipped([response(SEED, **forged)]))

        made, *_ = packed(job)
        assert b"bank" not in gzip.decompress(made.read("indexes/index.cdx.gz"))

    def test_a_file_that_is_no_archive(self, job, tmp_path):
        """Whatever a link leads to, and though its index has no line: only archives are packed."""
        (tmp_path / "key").write_text("secret")
        (job / "warc/z.warc.gz").symlink_to(tmp_path / "key")
        (job / "warc/z.cdxj").touch()

        with pytest.raises(CannotPack) as refused:
            packed(job)
        assert "z.warc.gz: does not match its index (" in str(refused.value)


class TestRefusals:
    def test_a_file_that_exists(self, job):
        """Nothing is overwritten, not even a link that leads nowhere."""
        target = job / "job.wacz"
        target.symlink_to(job / "nowhere")

        with pytest.raises(
            CannotPack, match="already exists: remove it, or choose another name with -o"
        ):
            packed(job)

    def test_one_that_appears_meanwhile(self, job):
        """A file that somebody else makes while this one is written stays as it is."""
        target, work = job / "job.wacz", pack(job, job / "job.wacz", NOW, Counter())
        (job / "warc" / files(job)[0].name).unlink()
        next(work)
        target.write_text("mine")

        with pytest.raises(CannotPack, match="already exists"):
            list(work)
        assert target.read_text() == "mine"
        assert not list(job.glob("*.part"))

    def test_a_full_disk(self, job, monkeypatch):
        """The space that is needed is known beforehand."""
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=100))

        with pytest.raises(CannotPack, match=rf"{job}: 0 MiB are free, but 1 MiB are needed"):
            packed(job)
        assert not list(job.glob("*.wacz*"))

    def test_an_altered_byte(self, job):
        """An archive file that is not as the crawl wrote it is named, wherever it was changed."""
        path = files(job)[0]
        data = bytearray(path.read_bytes())
        data[-9] ^= 1
        path.write_bytes(data)

        with pytest.raises(
            CannotPack, match=rf"{path.name}: is not as the crawl wrote it: `scrapy"
        ):
            packed(job)
        assert not list(job.glob("*.wacz*"))

    def test_an_index_that_lacks_lines(self, job):
        """An index that has lost its end is named: the pages of its last lines would be missing."""
        index = next((job / "warc").glob("*.cdxj"))
        *lines, last = index.read_bytes().splitlines(keepends=True)
        index.write_bytes(b"".join(lines))

        with pytest.raises(
            CannotPack, match=rf"{index.name}: ends {len(last)} bytes early: `scrapy"
        ):
            packed(job)
        assert not list(job.glob("*.wacz*"))

    def test_a_damaged_page(self, job):
        """An archive file that does not hold what its index says is named."""
        path = files(job)[0]
        path.write_bytes(path.read_bytes()[:900])

        with pytest.raises(
            CannotPack,
            match=rf"{path.name}: does not match its index \(.*\): `scrapy verify` shows where",
        ):
            packed(job)
        assert not list(job.glob("*.wacz*"))

    def test_nothing_to_pack(self, tmp_path, job):
        """A folder that is none, one without an archive, and one whose archive is empty."""
        (tmp_path / "empty/warc").mkdir(parents=True)
        (tmp_path / "plain").mkdir()
        for folder, why in (
            ("none", "none: no such folder"),
            ("plain", "plain: not a crawl with an archive: warc/ is missing"),
            ("empty", "empty/warc: no finished archive file"),
        ):
            with pytest.raises(CannotPack, match=f"{why}$"):
                packed(tmp_path / folder, job / "job.wacz")

    def test_another_kind_of_archive(self, job):
        """What replay programs do not read from such a file is not left out silently."""
        (job / "warc/x.warc.zst").write_bytes(b"")

        with pytest.raises(
            CannotPack, match=r"x\.warc\.zst: replay programs read only \.warc\.gz from a WACZ file"
        ):
            packed(job)

    def test_a_file_whose_name_is_no_text(self, job):
        """No line of the index can name it."""
        (job / "warc" / os.fsdecode(b"x\xff.warc.gz")).write_bytes(b"")

        with pytest.raises(
            CannotPack, match=r"/x\\udcff\.warc\.gz: the name has control or invalid characters"
        ):
            packed(job)

    def test_the_file_of_a_killed_crawl(self, job):
        """What a killed crawl had not finished would be missing, and the next start finishes it."""
        (job / "warc/x.warc.gz.open").write_bytes(b"")

        with pytest.raises(CannotPack, match=r"x\.warc\.gz\.open: is not finished: start"):
            packed(job)

    def test_two_at_once(self, job):
        """Whoever comes second is told so."""
        files(job)[0].unlink()
        first = pack(job, job / "job.wacz", NOW, Counter())
        next(first)

        with pytest.raises((CannotPack, StoreError)) as caught:
            packed(job, job / "job.wacz")
        assert "another process is writing it" in str(caught.value)
        first.close()

    def test_what_a_killed_one_left(self, job):
        """The next one removes it."""
        (job / "job.wacz.part").mkdir()
        (job / "job.wacz.part/package").write_bytes(b"half")

        assert packed(job)[0].testzip() is None

    def test_a_link_in_the_place_of_its_folder(self, job, tmp_path):
        """What somebody's link leads to is neither emptied nor written to."""
        (tmp_path / "precious").mkdir()
        (tmp_path / "precious/file").write_bytes(b"precious")
        (job / "job.wacz.part").symlink_to(tmp_path / "precious")

        with pytest.raises(OSError, match="not a folder of this user"):
            packed(job)
        assert (tmp_path / "precious/file").read_bytes() == b"precious"


class TestLeftOut:
    def test_files_that_their_owner_took_away(self, job):
        """They are named, and the index has none of their lines."""
        path, *rest = files(job)
        path.unlink()

        wacz, said, _ = packed(job)

        assert said == [f"warc/{path.name}: left out, because it is no longer here"]
        named = {
            json.loads(line.split(b" ", 2)[2])["filename"]
            for line in gzip.decompress(wacz.read("indexes/index.cdx.gz")).splitlines()
        }
        assert named == {one.name for one in rest}

    def test_with_their_indexes(self, job):
        """The crawl's state knows them, too."""
        path = files(job)[0]
        path.unlink()
        indexes(job)[0].unlink()

        assert packed(job)[1] == [f"warc/{path.name}: left out, because it is no longer here"]

    def test_the_open_file_of_a_running_crawl(self, tmp_path):
        """The finished files of a running crawl are packed, and what is not finished is named."""
        archive = Archive(tmp_path / "job", max_size=500)
        archive.write(exchange(SEED))
        archive.checkpoint()
        archive.checkpoint()
        assert [path.name[-3:] for path in files(archive.root)] == [".gz"]
        open_file = archive.root / "warc/x.warc.gz.open"
        open_file.write_bytes(b"")

        _, said, found = packed(archive.root)

        archive.close()
        assert said[-1] == f"warc/{open_file.name}: left out, because it is not finished yet"
        assert found["files"] == 1


class TestCommand:
    def test_it_packs(self, job, tmp_path):
        """One line says what is in it; a second time one line says that it is there already."""
        done = command("scrapy", "export", "wacz", job, "-o", tmp_path / "a.wacz")

        size = (tmp_path / "a.wacz").stat().st_size
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == (
            f"{tmp_path}/a.wacz: archive files {len(files(job))}, records 9, seeds 2, other pages 2, bytes {size}\n"
        )
        again = command("scrapy", "export", "wacz", job, "-o", tmp_path / "a.wacz")
        assert (again.returncode, again.stdout) == (1, "")
        assert (
            again.stderr
            == f"{tmp_path}/a.wacz: already exists: remove it, or choose another name with -o\n"
        )

    def test_where_nothing_can_be_written(self, job, tmp_path):
        """The system's reason is the line."""
        done = command("scrapy", "export", "wacz", job, "-o", tmp_path / "none/a.wacz")

        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"{tmp_path}/none/a.wacz.part: No such file or directory\n"


@pytest.mark.parametrize("since", [True, False])
def test_what_earlier_archives_have(tmp_path, since):
    """Records that refer to an earlier archive are counted, in one line; those that refer to this
    one are not.
    """
    archive = Archive(tmp_path / "job")
    archive.write(exchange(SEED, b"<p>here"), Link(SEED))
    archive.write(
        exchange("http://a.test/same", b"<p>here"), Link("http://a.test/same"), duplicate=True
    )
    if since:
        for number in range(2):
            one = exchange(f"http://a.test/{number}", b"<p>%d" % number)
            one.state.refers = EarlierCapture(
                "<urn:uuid:1>", one.url, "2022-01-01T00:00:00Z", one.digest
            )
            archive.write(one, Link(one.url))
    archive.stop()
    said = list(pack(tmp_path / "job", tmp_path / "job.wacz", NOW, Counter()))

    assert said == (["2 records without a body, which is in earlier archives"] if since else [])


@pytest.mark.parametrize("address", ["", "cdx+http://a.test/"])
def test_it_says_which_archives_it_depends_on(tmp_path, address):
    """The folders of the indexes that the crawl compared with, and servers; the description has the
    number alone.
    """
    archive = Archive(tmp_path / "feb")
    one = exchange(SEED)
    one.state.refers = EarlierCapture("", SEED, "2022-01-01T00:00:00Z", one.digest)
    archive.write(one, Link(SEED))
    archive.stop()
    (tmp_path / "feb/state/since").mkdir(parents=True, exist_ok=True)
    paths = [address] if address else [f"{tmp_path}/jan/warc/{number}.cdxj" for number in range(3)]
    write_indexed_files(
        Disk(), tmp_path / "feb/state/since", [FileSignature(path, 0, 1) for path in paths], set()
    )
    wacz, said, _ = packed(archive.root)

    assert said == [
        f"1 record without a body, which is in earlier archives: {address or tmp_path / 'jan/warc'}"
    ]
    assert json.loads(wacz.read("datapackage.json"))["refersTo"] == [{"records": 1}]


def test_an_earlier_record_of_the_same_second(tmp_path):
    """What another archive has is counted also if the package begins in the second of its capture."""
    archive = Archive(tmp_path / "job")
    archive.write(exchange(SEED, b"<p>here"), Link(SEED))
    one = exchange("http://a.test/same", b"<p>there")
    one.state.refers = EarlierCapture("<urn:uuid:1>", one.url, "2023-11-14T22:13:20Z", one.digest)
    archive.write(one, Link(one.url))
    archive.stop()

    [said] = pack(tmp_path / "job", tmp_path / "job.wacz", NOW, Counter())
    assert said.startswith("1 record without")


def test_a_304_to_a_page_of_the_first_second(tmp_path):
    """The package has the page, so it refers to no other archive, although a 304 has no digest."""
    archive = Archive(tmp_path / "job")
    archive.write(exchange(SEED, b"<p>here"), Link(SEED))
    again = exchange(SEED, b"", head=b"HTTP/1.1 304 No\r\n\r\n", status=304, unmodified=True)
    again.state.refers = EarlierCapture("", SEED, "2023-11-14T22:13:20Z", "")
    archive.write(again, Link(SEED))
    archive.stop()

    assert list(pack(tmp_path / "job", tmp_path / "job.wacz", NOW, Counter())) == []


def test_pages_that_an_earlier_archive_has(tmp_path):
    """A 304 counts as a page where it says that it is a document, or has a title; not that of a
    page which is here.
    """
    earlier, own = "2022-01-01T00:00:00Z", "2023-11-14T22:13:21Z"
    html, plain = (
        {
            "head": b"HTTP/1.1 304 No\r\n%s\r\n" % said,
            "status": 304,
            "wire": b"",
            "unmodified": True,
        }
        for said in (b"Content-Type: text/html\r\n", b"")
    )
    archive = Archive(tmp_path / "job")
    for url, path, more, title, date in (
        (SEED, "", plain, "Seed", earlier),
        ("http://a.test/page", "L", html, "", earlier),
        ("http://a.test/titled", "L", plain, "Titled", earlier),
        ("http://a.test/i.png", "L", plain, "", earlier),
        ("http://a.test/frame", "LE", plain, "Frame", earlier),
        ("http://a.test/again", "L", html, "Again", own),
    ):
        one = exchange(url, **more)
        one.state.refers = EarlierCapture("<urn:uuid:1>", url, date, one.digest)
        archive.write(one, Link(url, path), **({"title": title} if title else {}))
    archive.write(
        exchange("http://a.test/odd", head=html["head"], status=304), Link("http://a.test/odd", "L")
    )
    archive.stop()

    wacz, *_ = packed(archive.root)
    seeds, others = (
        lines(wacz.read(f"pages/{name}.jsonl"))[1:] for name in ("pages", "extraPages")
    )
    assert [(one["url"], one["title"]) for one in seeds] == [(SEED, "Seed")]
    assert sorted(one["url"] for one in others) == ["http://a.test/page", "http://a.test/titled"]


def test_views_are_found_by_the_page_and_its_time(tmp_path):
    """As viewers look for them: in the index under urn:view: and the page's URL, in no list."""
    archive = Archive(tmp_path / "job")
    page = exchange(SEED, b"<p>page")
    page.state.views = (
        PageView("urn:view:", "image/png", b"PNG"),
        PageView("urn:pdf:", "application/pdf", b"PDF"),
    )
    archive.write(page)
    archive.stop()
    wacz, *_ = packed(archive.root)

    index_lines = gzip.decompress(wacz.read("indexes/index.cdx.gz")).decode().splitlines()
    keys = [tuple(line.split(" ")[:2]) for line in index_lines]
    when = "20231114221320"
    assert keys == [("test,a)/", when), (f"urn:pdf:{SEED}", when), (f"urn:view:{SEED}", when)]
    assert [one["url"] for one in lines(wacz.read("pages/pages.jsonl"))[1:]] == [SEED]
    assert "pages/extraPages.jsonl" not in wacz.namelist()

    for path in indexes(archive.root):
        path.unlink()
    made, *_ = packed(archive.root, tmp_path / "made.wacz")
    assert gzip.decompress(made.read("indexes/index.cdx.gz")).decode().splitlines() == index_lines
