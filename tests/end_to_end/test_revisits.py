"""Pages that are fetched again by `scrapy crawl web`, from the first fetch to the last."""

import json
from collections import Counter

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.support.changing_site import Document, changing_site, log_of
from tests.support.crawling import wait_until
from tests.support.fulltext import written
from tests.support.warc_crawl import files
from tests.support.warc_reader import read
from webcrawl.tools.verify_crawl import verify


def sound(crawl):
    return list(verify(crawl.jobdir, Counter())) == []


def test_a_page_is_fetched_again_and_again(tmp_path):
    """Its first fetch is as ever; each later one sends the validators, and may be answered by 304."""
    documents = {
        "/": Document(b"<a href=/a>a</a>", etag='"1"'),
        "/a": Document(b"<p>A", modified="Sun, 06 Nov 1994 08:49:37 GMT"),
    }
    with changing_site(documents) as site:
        crawl = site.crawl(tmp_path)
        assert site.until("/a", 4, crawl.start()) == 0

    first, *again = site.of("/")
    assert not first.conditional
    assert {one.headers["If-None-Match"] for one in again} == {'"1"'}
    assert {one.headers.get("If-Modified-Since") for one in site.of("/a")[1:]} == {
        "Sun, 06 Nov 1994 08:49:37 GMT"
    }
    log = log_of(crawl)
    for path in documents:
        first, *later = [row for row in log if row[1] == path]
        assert first[2] == ["-"]
        assert all(row[0] == 304 and row[2][:2] == ["revisit", "unchanged"] for row in later)
    assert sound(crawl)


def test_links_of_a_changed_page_are_followed(tmp_path):
    """A page that has changed is processed anew."""
    documents = {"/": Document(b"<p>nothing yet", etag='"1"'), "/new": Document(b"<p>N")}
    with changing_site(documents) as site:
        crawl = site.crawl(tmp_path)
        running = crawl.start()
        wait_until(lambda: len(site.of("/")) >= 2)
        documents["/"] = Document(b"<a href=/new>new</a>", etag='"2"')
        assert site.until("/new", 2, running) == 0

    assert "changed" in {
        note
        for status, path, notes in log_of(crawl)
        for note in notes
        if path == "/" and status == 200
    }
    assert sound(crawl)


def records(crawl):
    """The records of the archive with these fields, robots.txt left out: type, path of the URL,
    fields.
    """
    found = []
    for path in sorted((crawl.jobdir / "warc").glob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                url = record.rec_headers.get_header("WARC-Target-URI") or ""
                if record.rec_type in ("response", "revisit") and not url.endswith("robots.txt"):
                    found.append(
                        (
                            record.rec_type,
                            "/" + url.split("/", 3)[3],
                            dict(record.rec_headers.headers),
                        )
                    )
    return found


def test_the_archive(tmp_path):
    """An unchanged page is a revisit record that refers to the answer that is kept, with a profile
    that says why.
    """
    documents = {
        "/": Document(b"<a href=/same><a href=/restless>", etag='"1"'),
        "/same": Document(b"<p>the same"),
        "/restless": Document(b"<p>R", restless=True),
    }
    with changing_site(documents) as site:
        crawl = site.crawl(tmp_path, CHECKPOINT_INTERVAL=0.3)
        assert site.until("/same", 4, crawl.start()) == 0
        documents["/"] = Document(b"<a href=/same><a href=/restless>more", etag='"2"')
        assert site.until("/same", 8, crawl.start()) == 0

    found, dates = records(crawl), {}
    for kind, path, fields in found:
        if kind == "response":
            dates.setdefault(path, []).append(fields["WARC-Date"])
        else:
            assert fields["WARC-Refers-To-Target-URI"] == site.url(path)
            assert fields["WARC-Refers-To-Date"] == dates[path][-1]
            profile = fields["WARC-Profile"].rpartition("/")[2]
            assert profile == ("server-not-modified" if path == "/" else "identical-payload-digest")
            assert ("WARC-Payload-Digest" in fields) is (path != "/")
    assert {path: len(all_) for path, all_ in dates.items()} == {"/": 2, "/same": 1, "/restless": 1}
    assert len(found) == len(site.requested)
    assert sound(crawl)
    texts = [path.read_text() for path in (crawl.jobdir / "warc").glob("*.cdxj")]
    lines = [line.split(" ", 2) for text in texts for line in text.splitlines()]
    kinds = Counter(
        (json.loads(line[2])["mime"], json.loads(line[2]).get("status")) for line in lines
    )
    assert kinds["warc/revisit", "304"] == sum(one.status == 304 for one in site.requested)


@pytest.mark.campaign
def test_ctrl_c_and_kill(tmp_path):
    """Each page is fetched again once a round, however its crawl ended; nothing is in the archive
    twice.
    """
    documents = {"/": Document(b"".join(b"<a href=/%d>" % n for n in range(20)), etag='"1"')}
    documents |= {f"/{n}": Document(b"<p>%d" % n, etag='"1"') for n in range(20)}
    with changing_site(documents) as site:
        crawl = site.crawl(tmp_path, CHECKPOINT_INTERVAL=0.2, REVISIT_AGE=1)
        for _ in range(2):
            seen = len(site.requested)
            running = crawl.start()
            wait_until(lambda seen=seen: len(site.requested) >= seen + 30)
            running.kill()
        assert site.until("/19", len(site.of("/19")) + 2, crawl.start()) == 0

    assert sound(crawl)
    log = log_of(crawl)
    assert {path for _, path, _ in log} == set(documents)
    assert all(
        sum(path == one and "revisit" not in notes for _, path, notes in log) == 1
        for one in documents
    )
    assert all(Counter(path for _, path, _ in log)[one] >= 3 for one in documents)


def test_it_ends_by_a_limit(tmp_path):
    """A crawl that fetches pages again ends by CLOSESPIDER_PAGECOUNT and its like."""
    with changing_site({"/": Document(b"<p>1")}) as site:
        crawl = site.crawl(tmp_path, CLOSESPIDER_PAGECOUNT=4)
        assert crawl.run() == 0

    assert "closespider_pagecount" in crawl.output.read_text()
    assert len(site.requested) >= 3


def _stored(crawl):
    return (crawl.jobdir / "logs/store.log").read_text().splitlines()


@pytest.mark.parametrize("asking", [True, False])
def test_what_pipelines_get(tmp_path, asking):
    """Changed pages and those that are gone are pages like new ones; unchanged ones are for who
    asks for them.
    """
    names = ["Module", "Plain", *(["Asking"] if asking else [])]
    pipelines = {
        f"tests.support.changing_pipelines.{name}": 300 + at for at, name in enumerate(names)
    }
    documents = {
        "/": Document(b"<p>1", etag='"1"'),
        "/typed": Document(b"<p>2"),
        "/gone": Document(b"<p>3"),
    }
    with changing_site(documents) as site:
        more = {
            "OUTPUTS": "text pagefiles",
            "ITEM_PIPELINES": json.dumps(pipelines),
            "NOTES": tmp_path,
        }
        crawl = site.crawl(tmp_path, *documents, **more)
        running = crawl.start()
        wait_until(lambda: all(len(site.of(path)) >= 3 for path in documents))
        documents["/"] = Document(b"<p>one", etag='"2"')
        del documents["/gone"]
        wait_until(
            lambda: (
                {("/", 200), ("/gone", 404)}
                <= {(one.path, one.status) for one in site.requested[9:]}
            )
        )
        assert site.until("/typed", len(site.of("/typed")) + 2, running) == 0

    found = {name: (tmp_path / name).read_text().splitlines() for name in names}
    stored = Counter("/" + line.split()[1].split("/", 3)[3] for line in _stored(crawl))
    assert stored == Counter(
        "/" + one["url"].split("/", 3)[3] for one in written(crawl.jobdir) if one["text"]
    )
    # an output has each state once, whoever asks for more
    assert (stored["/"], stored["/typed"]) == (2, 1)
    changes = {name: {tuple(line.split()[:2]) for line in lines} for name, lines in found.items()}
    known = {("/", "new"), ("/typed", "new"), ("/gone", "new"), ("/", "changed")}
    everything = {
        *known,
        ("/gone", "gone"),
        *((path, "unchanged") for path in ("/", "/typed", "/gone")),
    }
    assert known <= changes["Module"] <= {*known, ("/gone", "gone")}
    assert changes["Plain"] == (everything if asking else {*known, ("/gone", "gone")})
    if asking:
        assert changes["Asking"] >= everything - {("/gone", "gone")}
        assert "/typed unchanged 1" in found["Asking"]
        assert "/typed unchanged 2" in found["Asking"]


def test_a_copy_that_is_not_modified(tmp_path):
    """A page that the archive has as another URL's copy is a revisit record after a 304, also after
    kill -9.
    """
    documents = {"/a": Document(b"<p>same", etag='"1"'), "/b": Document(b"<p>same", etag='"2"')}
    with changing_site(documents) as site:
        crawl = site.crawl(tmp_path, *documents, OUTPUTS="warc cdxj", CHECKPOINT_INTERVAL=0.3)
        running = crawl.start()
        wait_until(lambda: all(len(site.of(path)) >= 4 for path in documents))
        running.kill()
        running = crawl.start()
        before = {path: len(site.of(path)) for path in documents}
        wait_until(lambda: all(len(site.of(path)) >= many + 3 for path, many in before.items()))
        assert site.until("/b", len(site.of("/b")) + 3, running) == 0

    found = [record for path in files(crawl.jobdir) for record in read(path)]
    answers = [
        one
        for one in found
        if one.kind == "response" and one.fields["WARC-Target-URI"].endswith(("/a", "/b"))
    ]
    (original,) = [one for one in answers if one.block.endswith(b"same")]
    assert answers == [original]
    revisits = [one.fields for one in found if one.kind == "revisit"]
    assert len([one for one in revisits if one["WARC-Profile"].endswith("not-modified")]) >= 6
    names = ("WARC-Target-URI", "WARC-Date")
    assert {(one["WARC-Refers-To-Target-URI"], one["WARC-Refers-To-Date"]) for one in revisits} == {
        tuple(original.fields[name] for name in names)
    }
    assert list(verify(crawl.jobdir, Counter())) == []
