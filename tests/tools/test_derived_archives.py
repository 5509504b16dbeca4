"""`webcrawl export wet` and `wat`: texts and metadata of archives, as Common Crawl's readers expect them."""

import io
import json

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.support.commands import command
from tests.support.warc_crawl import Archive, exchange, files

PAGE = b"""<title>Tea</title><meta name=description content="All about tea"><link rel=icon href=/i.png>
<p>Green tea is <a href=/green>green</a>."""


def answer(path, body, kind="text/html; charset=utf-8", status=200):
    head = f"HTTP/1.1 {status} Said\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    headers = [(b"Content-Type", kind.encode())]
    return exchange(
        f"http://a.test{path}", body, head=head.encode(), headers=headers, status=status
    )


@pytest.fixture
def archive(tmp_path):
    """An archive of a page, another address with the same page, a picture and a missing page."""
    crawl = Archive(tmp_path / "job")
    crawl.write(answer("/tea", PAGE))
    crawl.write(answer("/same", PAGE), duplicate=True)
    crawl.write(answer("/i.png", b"\x89PNG", "image/png"))
    crawl.write(answer("/no", b"<p>Nothing", status=404))
    crawl.stop()
    return tmp_path / "job"


def records(folder):
    """The records of the one file in a folder, whose digests are checked: kind, fields, block."""
    (path,) = folder.iterdir()
    reader = ArchiveIterator(io.BytesIO(path.read_bytes()), check_digests="raise")
    return [(one.rec_type, one.rec_headers, one.content_stream().read()) for one in reader]


def exported(kind, archive):
    done = command("webcrawl", "export", kind, archive)
    assert (done.returncode, done.stderr) == (0, "")
    return records(archive / kind)


def test_texts(archive):
    """A page's title and visible text, once; neither a picture nor a missing page."""
    (info, _, about), (kind, fields, text) = exported("wet", archive)
    assert (info, kind) == ("warcinfo", "conversion")
    assert b"WET of" in about
    assert fields["WARC-Target-URI"] == "http://a.test/tea"
    assert fields["Content-Type"] == "text/plain"
    assert text == b"Tea\nGreen tea is green."
    (path,) = files(archive)
    answers = {
        one.rec_headers["WARC-Record-ID"]: one.rec_headers["WARC-Target-URI"]
        for one in ArchiveIterator(io.BytesIO(path.read_bytes()))
        if one.rec_type == "response"
    }
    assert answers[fields["WARC-Refers-To"]] == "http://a.test/tea"


def test_metadata(archive):
    """Each answer's status, headers, title and links, at the place of its record."""
    _, *answers = exported("wat", archive)
    found = {fields["WARC-Target-URI"]: json.loads(block) for _, fields, block in answers}
    assert {*found} == {"http://a.test/tea", "http://a.test/i.png", "http://a.test/no"}
    payload = found["http://a.test/tea"]["Envelope"]["Payload-Metadata"]["HTTP-Response-Metadata"]
    assert payload["Response-Message"]["Status"] == "200"
    assert payload["Headers"]["Content-Type"] == "text/html; charset=utf-8"
    assert payload["HTML-Metadata"] == {
        "Head": {
            "Title": "Tea",
            "Metas": [{"name": "description", "content": "All about tea"}],
            "Link": [{"path": "LINK@/href", "url": "/i.png", "rel": "icon"}],
        },
        "Links": [{"path": "A@/href", "url": "/green", "text": "green"}],
    }
    (path,) = files(archive)
    container = found["http://a.test/no"]["Container"]
    assert container["Filename"] == path.name
    reader = ArchiveIterator(io.BytesIO(path.read_bytes()[int(container["Offset"]) :]))
    assert next(iter(reader)).rec_headers["WARC-Target-URI"] == "http://a.test/no"


def test_damage(archive):
    """What can be read is written, the rest is said, and the status is 1."""
    (path,) = files(archive)
    data = bytearray(path.read_bytes())
    data[-60:-50] = bytes(10)
    path.write_bytes(data)
    done = command("webcrawl", "export", "wat", archive)
    assert done.returncode == 1
    assert "could not be read" in done.stderr
    assert len(records(archive / "wat")) > 2


def test_damage_behind_a_revisit(tmp_path):
    """It is said, though nothing is written of the revisit record before it."""
    crawl = Archive(tmp_path / "job")
    crawl.write(answer("/tea", PAGE))
    crawl.write(answer("/same", PAGE), duplicate=True)
    crawl.write(answer("/i.png", b"\x89PNG", "image/png"))
    crawl.write(answer("/no", b"<p>Nothing", status=404))
    crawl.stop()
    (path,) = files(tmp_path / "job")
    with path.open("rb") as file:
        reader = ArchiveIterator(file)
        places = {
            (one.rec_type, one.rec_headers["WARC-Target-URI"]): reader.get_record_offset()
            for one in reader
        }
    data = bytearray(path.read_bytes())
    at = places["response", "http://a.test/i.png"] + 40
    data[at : at + 10] = bytes(10)
    path.write_bytes(data)

    done = command("webcrawl", "export", "wet", tmp_path / "job")

    assert done.returncode == 1
    assert "could not be read" in done.stderr


def test_revisits_of_another_archive(archive, tmp_path):
    """Their answer is elsewhere, as with --since: nothing of this archive is lost."""
    (path,) = files(archive)
    with path.open("rb") as file:
        reader = ArchiveIterator(file)
        begin = next(reader.get_record_offset() for one in reader if one.rec_type == "revisit")
    later = tmp_path / "later.warc.gz"
    later.write_bytes(path.read_bytes()[begin:])

    done = command("webcrawl", "export", "wat", later)

    assert (done.returncode, done.stderr) == (0, "")
    assert [fields["WARC-Target-URI"] for _, fields, _ in records(tmp_path / "wat")[1:]] == [
        "http://a.test/i.png",
        "http://a.test/no",
    ]


def test_files_of_one_name(archive, tmp_path):
    """Drones' files may have one name: then both are made, under the names of their folders."""
    other = tmp_path / "other"
    archive.rename(tmp_path / "one")
    (path,) = files(tmp_path / "one")
    (other / "warc").mkdir(parents=True)
    (other / "warc" / path.name).write_bytes(path.read_bytes())
    done = command(
        "webcrawl", "export", "wet", path, other / "warc" / path.name, "-o", tmp_path / "wet"
    )
    assert (done.returncode, done.stderr) == (0, "")
    stem = path.name.removesuffix(".warc.gz")
    names = {one.name for one in (tmp_path / "wet").iterdir()}
    assert names == {f"one-{stem}.warc.wet.gz", f"other-{stem}.warc.wet.gz"}


def test_no_archive(tmp_path):
    """One line names it."""
    done = command("webcrawl", "export", "wet", tmp_path / "none")
    assert (done.returncode, done.stderr) == (1, f"{tmp_path / 'none'}: no such file\n")
