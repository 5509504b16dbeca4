"""`webcrawl diff`: what differs between two crawls, told once, by kind."""

import json
import re
import shutil
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from tests.support.commands import command
from tests.support.warc_crawl import NOW, Archive, exchange, indexes
from webcrawl.base.digest import sha256_label
from webcrawl.store.crawldb import CrawlDB
from webcrawl.tools.crawl_diff import CrawlDiff

HOST = "http://a.test"
REDIRECT = b"HTTP/1.1 301 Moved\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n"


def answer(path, status, body=b"", head=None, **more):
    found = exchange(f"{HOST}{path}", body, head=head, status=status, **more)
    if head is None and status != 200:
        found = replace(found, head=found.head.replace(b"200 OK", b"%d No" % status))
    return found


def archived(folder, *answers):
    archive = Archive(folder, indexed=True)
    for number, one in enumerate(answers):
        archive.write(replace(one, started=NOW + number))
    archive.stop()
    return str(folder)


@pytest.fixture(name="told")
def _told(tmp_path):
    """What is told of two crawls with these answers, or of one."""

    def told(before, after):
        with TemporaryDirectory(dir=tmp_path) as folder:
            crawls = [archived(Path(folder) / "before", *before)]
            if after is not None:
                crawls.append(archived(Path(folder) / "after", *after))
            scratch = Path(folder) / "scratch"
            scratch.mkdir()
            with closing(CrawlDiff(crawls[:1], crawls[-1:], scratch)) as diff:
                found = [*diff]
                assert not diff.unread
        return found

    return told


def test_text(told):
    """A page with another text is told with the lines that differ, and their neighbours."""
    before = answer("/", 200, b"<p>Opening hours: 9 to 5<p>Closed on Sundays")
    after = answer("/", 200, b"<p>Opening hours: 10 to 4<p>Closed on Sundays")
    (change,) = told([before], [after])
    assert change.kind == "changed"
    assert change.text == (
        "-Opening hours: 9 to 5",
        "+Opening hours: 10 to 4",
        " Closed on Sundays",
    )


def test_markup(told):
    """Another markup of the same text is no change."""
    assert not told([answer("/", 200, b"<p>Text")], [answer("/", 200, b"<div>Text</div>")])


@pytest.mark.parametrize("kind", ["image/png", "application/pdf", ""])
def test_a_file_without_text(told, kind):
    """One with other bytes has changed, and there are no lines to show."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode()
    (change,) = told(
        [answer("/", 200, b"\x89one", head=head)], [answer("/", 200, b"\x89two", head=head)]
    )
    assert (change.kind, change.text) == ("changed", ("(the bytes differ)",))


def test_a_payload_of_the_other_crawl(tmp_path):
    """A page that now has the payload of another one is read where that payload lies."""
    first, second = answer("/1", 200, b"<p>One"), answer("/2", 200, b"<p>Two")
    before = archived(tmp_path / "before", first, second)
    archive = Archive(tmp_path / "after", indexed=True)
    archive.write(answer("/1", 200, b"<p>Two"), duplicate=True)
    archive.stop()
    with closing(CrawlDiff([before], [str(tmp_path / "after")], tmp_path)) as diff:
        found = {change.url: change for change in diff}
    assert found[f"{HOST}/1"].text == ("-One", "+Two")


def test_long_lines(told):
    """Of a line only its beginning is shown."""
    (change,) = told([answer("/", 200, b"<p>One")], [answer("/", 200, b"<p>" + b"x" * 1000)])
    assert max(map(len, change.text)) <= 301


def test_redirect(told):
    """A page that redirects has moved there, and what is there is not told as new."""
    page = answer("/here", 200, b"Page")
    after = [answer("/here", 301, head=REDIRECT), answer("/there", 200, b"Page, edited")]
    (change,) = told([page], after)
    assert (change.kind, change.status, change.target) == ("moved", 301, f"{HOST}/there")


def test_renamed(told):
    """A page whose payload has another URL has moved, though nothing redirects."""
    (change,) = told([answer("/old", 200, b"Page")], [answer("/new", 200, b"Page")])
    assert (change.kind, change.url, change.target) == (
        "moved",
        f"{HOST}/old",
        f"{HOST}/new",
    )


@pytest.mark.parametrize("status", [429, 503])
def test_error_that_passes(told, status):
    """A page that answered with an error that passes is neither gone nor changed."""
    assert not told([answer("/", 200, b"Page")], [answer("/", status, b"Later")])


def test_block_page(told):
    """Nor is one behind a block page, whatever its status."""
    block_page = exchange(f"{HOST}/", b"Are you human?", recognised="wall:unknown")
    assert not told([answer("/", 200, b"Page")], [block_page])


@pytest.mark.parametrize("kind", ["shell", "soft404", "parked", "default"])
def test_page_of_a_kind(told, kind):
    """A page that its scripts build, or that says that nothing is there, is compared like any other."""
    one, other = (exchange(f"{HOST}/", body, recognised=kind) for body in (b"<p>One", b"<p>Two"))
    (change,) = told([one], [other])
    assert change.text == ("-One", "+Two")


def test_one_crawl(told):
    """Of one crawl the first visit of each page is compared with its last."""
    visits = [answer("/", 200, b"One"), answer("/", 200, b"Two"), answer("/", 200, b"Three")]
    (change,) = told([*visits, answer("/once", 200, b"Once")], None)
    assert change.text == ("-One", "+Three")


@pytest.mark.parametrize("digests", [("-", "-"), ("sha1:", "sha256:")])
def test_digests_that_cannot_be_compared(tmp_path, digests):
    """Pages whose digests are unknown, or of two algorithms, are compared by their bodies."""
    same, head = b"\x89the same", b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n"
    crawls = []
    for folder, digest, text in zip(("before", "after"), digests, (b"One", b"Two"), strict=True):
        pages = answer("/1", 200, same, head), answer("/2", 200, text)
        crawls.append(archived(tmp_path / folder, *pages))
        shutil.rmtree(tmp_path / folder / "state")  # an archive of another program
        for index in indexes(tmp_path / folder):
            index.write_text(re.sub(r"sha1:(\w+)", partial(written_as, digest), index.read_text()))

    done = command("webcrawl", "diff", *crawls, "--brief")

    assert done.stdout.splitlines() == [
        "a.test",
        f"  ~ {HOST}/2",
        "0 added, 0 gone, 0 moved, 1 changed; 1 the same, 0 with the same text in another markup",
    ]


def written_as(kind, digest):
    """A digest of this kind in the place of a SHA-1."""
    return {"-": "-", "sha1:": digest[0], "sha256:": sha256_label(digest[0].encode())}[kind]


def test_one_host(tmp_path):
    """With --host the last line counts the pages of this host alone."""
    others = [exchange(f"http://b.test/{page}", b"<p>b") for page in range(3)]
    before = archived(tmp_path / "before", answer("/", 200, b"Same"), *others)
    after = archived(tmp_path / "after", answer("/", 200, b"Same"), answer("/new", 200, b"New"))

    done = command("webcrawl", "diff", before, after, "--host", "a.test")

    assert done.stdout.splitlines()[-1].startswith(
        "1 added, 0 gone, 0 moved, 0 changed; 1 the same,"
    )


def test_an_index_that_lacks_lines(tmp_path):
    """A page is not gone because the index of its archive has lost its end."""
    pages = [answer(f"/{page}", 200, b"Page %d" % page) for page in range(3)]
    before, after = (archived(tmp_path / name, *pages) for name in ("before", "after"))
    (index,) = indexes(tmp_path / "after")
    index.write_bytes(b"".join(index.read_bytes().splitlines(keepends=True)[:-1]))

    done = command("webcrawl", "diff", before, after)

    assert done.stdout.startswith("0 added, 0 gone, 0 moved, 0 changed; 3 the same,")


PAGES = st.dictionaries(
    st.sampled_from(["/a", "/b", "/c", "/d?x=1", "/e/f"]),
    st.one_of(st.integers(0, 3), st.sampled_from([404, 410])),
    min_size=1,
)


@given(PAGES, PAGES)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_kinds(told, before, after):
    """A page is added, gone or changed as two tables of pages say, unless its text has moved."""

    def crawl(pages):
        return [
            answer(path, 200, b"Text %d of %s" % (what, path.encode()))
            if what < 400
            else answer(path, what, b"No")
            for path, what in sorted(pages.items())
        ]

    def page(pages, path):
        return pages[path] if pages.get(path, 404) < 400 else None

    expected = {}
    for path in before | after:
        old, new = page(before, path), page(after, path)
        if old != new:
            kind = "added" if old is None else "gone" if new is None else "changed"
            expected[f"{HOST}{path}"] = kind
    told_of = told(crawl(before), crawl(after))
    assert {one.url: one.kind for one in told_of} == expected
    assert len(told_of) == len(expected)


def test_unfinished_file(tmp_path):
    """A file that is still being written is left out, and named."""
    before = archived(tmp_path / "before", answer("/", 200, b"Page"))
    archive = Archive(tmp_path / "after", indexed=True)
    archive.write(answer("/", 200, b"Page"))
    archive.checkpoint()
    archive.close()
    done = command("webcrawl", "diff", before, tmp_path / "after")
    assert ".open: not finished, and left out\n" in done.stderr


def test_unfinished_file_of_one_crawl(tmp_path):
    """Of a single crawl such a file is named once."""
    crawl = archived(tmp_path / "job", answer("/", 200, b"Page"))
    (path,) = (tmp_path / "job/warc").glob("*.warc.gz")
    (tmp_path / "job/warc/test-20261128000000-00001.warc.gz.open").write_bytes(path.read_bytes())
    done = command("webcrawl", "diff", crawl)
    assert done.stderr.count("not finished, and left out") == 1


def test_no_archive(tmp_path):
    """A folder without an archive is named, with status 1."""
    done = command("webcrawl", "diff", tmp_path, tmp_path)
    assert (done.returncode, done.stderr) == (1, f"{tmp_path}: no WARC files in this folder\n")


def test_lost_payload(tmp_path):
    """A change whose text cannot be read is told, with status 1: no change is lost silently."""
    before = archived(tmp_path / "before", answer("/", 200, b"One"))
    after = archived(tmp_path / "after", answer("/", 200, b"Two"))
    (path,) = (tmp_path / "after/warc").glob("*.warc.gz")
    path.write_bytes(bytes(path.stat().st_size))
    done = command("webcrawl", "diff", before, after)
    assert done.returncode == 1
    assert "~ http://a.test/\n" in done.stdout
    assert "1 page could not be read" in done.stderr


@pytest.mark.parametrize("is_crawl", [True, False])
def test_damage(tmp_path, is_crawl):
    """A damaged file is named, and `verify` only where there is a crawl that it can check."""
    before = archived(tmp_path / "before", answer("/", 200, b"One"))
    (path,) = (tmp_path / "before/warc").glob("*.warc.gz")
    path.write_bytes(path.read_bytes()[:-9])
    for index in indexes(tmp_path / "before"):
        index.unlink()
    if not is_crawl:
        shutil.rmtree(tmp_path / "before/state")

    done = command("webcrawl", "diff", before)

    assert done.returncode == 1
    assert done.stderr.startswith(f"{path}: ")
    assert ("webcrawl verify" in done.stderr) == is_crawl


def test_a_full_disk(tmp_path):
    """Changes that cannot be printed end the command with one line that names standard output."""
    before = archived(tmp_path / "before", answer("/", 200, b"One"))
    after = archived(tmp_path / "after", answer("/", 200, b"Two"))
    done = command("webcrawl", "diff", before, after, stdout="/dev/full")
    assert done.returncode == 1
    assert done.stderr == "standard output: No space left on device\n"


def test_shapes(tmp_path):
    """The same differences are a table, JSON lines, and a feed that is XML."""
    before = archived(tmp_path / "before", answer("/?a=1&b=<", 200, b"One & two"))
    after = archived(tmp_path / "after", answer("/?a=1&b=<", 200, b"One & three"))
    table, lines, feed = (
        command("webcrawl", "diff", before, after, *shape).stdout
        for shape in ((), ("--json",), ("--feed",))
    )
    url = json.loads(lines)["url"]
    assert f"  ~ {url}\n" in table
    entry = etree.fromstring(feed.encode())[-1]
    assert entry[0].text == f"changed: {url}"
    assert entry[-1].text == "-One & two\n+One & three"


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ({"reason": "finished", "queued": 0}, ""),
        ({"reason": "finished", "queued": 3}, "not complete, with 3 URLs queued"),
        ({"reason": "store_failed", "queued": 0}, "not complete"),
        ({"queued": 1}, "not complete, with 1 URL queued"),
    ],
)
def test_a_crawl_that_is_not_complete(tmp_path, figures, said):
    """A crawl that has ended with URLs of hosts that do not answer is named, and so is one that
    failed. Of a page without an answer nobody says that it was not found.
    """
    before = archived(tmp_path / "before", answer("/", 200, b"one"), answer("/x", 200, b"two"))
    after = archived(tmp_path / "after", answer("/", 200, b"one"))
    (tmp_path / "after/stats.json").write_text(json.dumps(figures))

    done = command("webcrawl", "diff", before, after)

    what = f"{after}: {said}; what it has not fetched is listed as gone\n" if said else ""
    assert done.stderr.startswith(what)
    assert ("not complete" in done.stderr) == bool(said)
    assert f"- {HOST}/x (the later crawl has no answer)" in done.stdout


def test_a_killed_crawl_without_stats(tmp_path):
    """A crawl that was killed is named by its state: its stats.json may be gone."""
    before = archived(tmp_path / "before", answer("/", 200, b"one"))
    after = archived(tmp_path / "after", answer("/", 200, b"one"))
    with closing(CrawlDB(tmp_path / "after/state")) as db:
        db.set("clean", b"")
        db.set("frontier", msgpack.packb({"queued": 38}))
        db.checkpoint()

    done = command("webcrawl", "diff", before, after)

    assert done.stderr.startswith(f"{after}: not complete, with 38 URLs queued; what it has not")
