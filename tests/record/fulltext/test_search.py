"""Searching: queries, their errors, and what is shown of a page."""

import gzip
import os
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.fulltext import Texts, page
from tests.support.prepared import bound_by_permissions
from webcrawl.record.fulltext import text_search
from webcrawl.record.fulltext.text_index import IndexContents
from webcrawl.record.fulltext.text_search import MAX_PARENTHESES, IndexSearch
from webcrawl.store.errors import StoreError

PAGES = {
    "http://www.a.test/1": "<html lang=en-GB><title>Lighthouses</title><h1>Tall towers</h1>The keeper's lamp is bright",
    "http://b.test/2": "<title>Lamps</title><p>A bright lamp and a dim lamp. "
    + "<p>filler words " * 200
    + "<p>zebra at last",
    "http://b.test/3": "<html lang=ja><p>私は昨日、東京タワーに行った。きれいだった。",
    "http://c.test/4": "<p>Η Ελλάδα είναι ωραία",  # noqa: RUF001
}


@pytest.fixture(name="job", scope="module")
def _job(tmp_path_factory):
    root = tmp_path_factory.mktemp("search")
    texts = Texts(root)
    for url, body in PAGES.items():
        one = page(url, body)
        one.title = body.partition("<title>")[2].partition("<")[0]
        texts.add(one)
    texts.stop()
    return root


def urls(job, query, most=10):
    """The numbers at the ends of the URLs that are found."""
    total, answers = IndexSearch(job).find(query, most)
    return total, [int(answer.url[-1]) for answer in answers]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("bright lamp", {1, 2}),
        ("lamp OR 東京", {1, 2, 3}),
        ('"bright lamp"', {2}),
        ("lamp -dim", {1}),
        ("keeping lamps brightly", {1}),
        ("lighthouse lamps", {1}),
        ('"bright lamps"', set()),
        ("bright lamp dim zebra filler", {2}),
        ("+keeper bright lamp dim", {1}),
        ("bright lamp dim -keeper", {2}),
        ("bright lamp dim ?", {1, 2}),
        ("\xab bright lamp dim \xbb", {1, 2}),
        ("bright & lamp - dim zebra _", {2}),
        ("bright lamp dim *", {1, 2}),
        ("b.test", {2, 3}),
        ("lamp::is bright()", {1}),
        ("lamp[is] site:b.test", set()),
        ("site:test", {1, 2, 3, 4}),
        ("site:a.test", {1}),
        ("site:http://www.A.test:8080/", {1}),
        ("site:*.b.test", {2, 3}),
        ("-site:b.test *", {1, 4}),
        ("bright lamp site:b.test", {2}),
        ("(bright OR Ελλάδα) -site:b.test", {1, 4}),
        ("site:bücher.test", set()),
        ("after:2020 before:2200-06-30", {1, 2, 3, 4}),
        ("lamp after:2200-02", set()),
        ("lamp before:2000-01-01", set()),
        ("title:lighthouses", {1}),
        ("headings:towers", {1}),
        ("lighthouses", {1}),
        ("keeper's", {1}),
        ("host:b.test", {2, 3}),
        ("domain:a.test", {1}),
        ('url:"http://b.test/2"', {2}),
        ("language:en", {1}),
        ("language:en-gb", {1}),
        ("language:ja 東京タワー", {3}),
        ("京東", set()),
        ("ελλαδα", {4}),
        ("fetched_at:[2020-01-01T00:00:00Z TO *]", {1, 2, 3, 4}),
        ("ordinal:[1 TO 2]", {2, 3}),
        ("nothing of the kind", set()),
        ("*", {1, 2, 3, 4}),
    ],
)
def test_queries(job, query, found):
    """Two words have to be there, or their stems; of more, more than half.

    The rest is tantivy's, and three filters.
    """
    total, numbers = urls(job, query)

    assert (total, set(numbers)) == (len(found), found)


def test_the_best_are_first(job):
    """A word in the title weighs more; no more than asked for are given, and all are counted."""
    assert urls(job, "lighthouses OR zebra", 1) == (2, [1])


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Bright: lamp", {1, 2}),
        ("C++: templates", set()),
        ("title:*", set()),
        ('"bright lamp', {1, 2}),
        ("lamp AND", {1, 2}),
        ("lamp AND AND bright", {1, 2}),
        ("-lamp", {1, 2}),
        ("lamp )", {1, 2}),
        ("keeper lamp (bright", {1, 2}),
        ("/bright.*lamp/", {1, 2}),
        ("ordinal:x", set()),
        ("site:a.test/path", set()),
        ("site:" + "x" * 3000, set()),
        ("lamp after:yesterday", set()),
        ("before:2026-13 bright lamp", set()),
        ("(" * (MAX_PARENTHESES + 1) + "keeper" + ")" * (MAX_PARENTHESES + 1), {1}),
        ("lamp bright " * 900, {1, 2}),
        ("AND", {2}),
        ("keeper \udcff", {1}),
        ("keeper \U0001f600 '", {1}),
        *((query, set()) for query in ("", " ", "?", "-", "'", '""', "()", "\u200b", "\U0001f600")),
    ],
)
def test_any_text_is_a_query(job, query, found):
    """Text that is no query of fields and operators is searched as its words, and a remark of
    bounded length says so.
    """
    total, numbers = urls(job, query)
    remark = IndexSearch(job).read(query).remark

    assert (total, set(numbers)) == (len(found), found)
    assert len(remark) < 400
    assert "stems" not in remark


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("lamp", ""),
        ("lamp AND", "lamp AND: searched as plain words"),
        ("before:2026-13", "before:2026-13: searched as plain words: 2026-13: expected a day"),
        ("-", "-: no word, so no page is searched for"),
        ("lamp " * 900, "only the first 4096 characters are searched for"),
    ],
)
def test_a_remark_says_how_a_query_was_read(job, query, said):
    """It is empty if the query counts as typed, and quotes nothing but what was typed."""
    remark = IndexSearch(job).read(query).remark

    assert remark.startswith(said)
    assert bool(remark) == bool(said)


@pytest.mark.parametrize(
    "query", ["http://b.test/2", "https://b.test/2#part", " b.test/2 ", "HTTP://B.test:80/2"]
)
def test_an_address_finds_its_page(job, query):
    """The page with the URL is the first, with or without its scheme."""
    assert urls(job, query)[1][0] == 2


def test_a_snippet(job):
    """The part of the text with the words, and where they are in it."""
    answer = next(IndexSearch(job).find("zebra", 1)[1])
    text, ranges = answer.snippet

    assert text.endswith("zebra at last")
    assert [text[start:end] for start, end in ranges] == ["zebra"]
    assert (answer.title, answer.language) == ("Lamps", "")


@pytest.mark.parametrize(
    ("query", "marked"), [("東京タワー", ["東京タワー"]), ("ΕΛΛΑΔΑ", ["Ελλάδα"])]
)
def test_a_snippet_is_as_the_page_has_it(job, query, marked):
    """Accents are kept, and characters that stand alone are marked together."""
    text, ranges = next(IndexSearch(job).find(query, 1)[1]).snippet

    assert [text[start:end] for start, end in ranges] == marked


def test_a_snippet_shows_stems(job):
    """Another form of a word is marked, too."""
    text, ranges = next(IndexSearch(job).find("lighthouse lamps", 1)[1]).snippet

    assert [text[start:end] for start, end in ranges] == ["lamp"]


def test_an_index_of_another_version(tmp_path, monkeypatch):
    """It is refused in one line, which names the command that makes another."""
    Texts(tmp_path).stop()
    (tmp_path / "a.wacz").touch()
    monkeypatch.setattr(text_search, "schema", lambda: None)

    with pytest.raises(
        StoreError,
        match=r"^\S*/index: this index was built by another version: `scrapy process \S* -s OUTPUTS=index ",
    ):
        IndexSearch(tmp_path)


def test_a_snippet_without_words(job):
    """Where no word of the query is in the text, it is the text's beginning."""
    text, ranges = next(IndexSearch(job).find("title:lighthouses", 1)[1]).snippet

    assert text.startswith("Tall towers The keeper")
    assert ranges == []


def test_without_the_text_files(tmp_path):
    """If a text file was taken away, its pages are still found, by their addresses alone."""
    texts = Texts(tmp_path)
    texts.add(page())
    texts.stop()
    (tmp_path / "text/text-00000.jsonl.gz").unlink()
    total, answers = IndexSearch(tmp_path).find("hello", 10)

    assert total == 1
    assert [(one.url, one.title, one.snippet) for one in answers] == [
        ("http://a.test/", "", ("", []))
    ]


def test_beside_a_running_crawl(tmp_path):
    """What the last commit has is found, in a file that is still being written."""
    texts = Texts(tmp_path)
    try:
        texts.add(page())
        texts.checkpoint()
        texts.wait()
        texts.add(page())

        assert [one.snippet[0] for one in IndexSearch(tmp_path).find("hello", 10)[1]] == ["hello"]
    finally:
        texts.close()


def test_damaged_text(job, tmp_path):
    """What cannot be read is an error, not a page without text."""
    texts = Texts(tmp_path)
    texts.add(page())
    texts.stop()
    (tmp_path / "text/text-00000.jsonl.gz").write_bytes(gzip.compress(b"[no line\n"))

    with pytest.raises(StoreError, match="the lines of pages cannot be read"):
        list(IndexSearch(tmp_path).find("hello", 10)[1])


@pytest.mark.parametrize("name", ["", "index"])
def test_no_index(tmp_path, name):
    """A folder without one is named, and how to get one: of its archive, if it has one."""
    (tmp_path / name).mkdir(exist_ok=True)
    with pytest.raises(StoreError, match="no index: there is no archive"):
        IndexSearch(tmp_path)

    (tmp_path / "warc").mkdir()
    (tmp_path / "warc/a.warc.gz").touch()
    with pytest.raises(StoreError, match="no index: `scrapy process"):
        IndexSearch(tmp_path)


def test_no_index_beside_an_archive_that_may_not_be_read(tmp_path):
    """It is not said that there is no archive."""
    (tmp_path / "warc").mkdir(mode=0)

    def search():
        bound_by_permissions()  # of this thread alone
        IndexSearch(tmp_path)

    with ThreadPoolExecutor(1) as thread, pytest.raises(StoreError, match="Permission denied"):
        thread.submit(search).result()


def test_a_folder_that_cannot_be_written(job, tmp_path, monkeypatch):
    """An index on a read-only file system is found whole and searched, and nothing is written
    there.
    """
    copy = tmp_path / "job"
    shutil.copytree(job, copy)
    for lock in (copy / "index").glob(".*.lock"):
        lock.unlink()
    before = sorted((copy / "index").iterdir())
    monkeypatch.setattr(os, "access", lambda *_: False)

    assert urls(copy, "lamp") == urls(job, "lamp")
    assert IndexContents(copy / "index").count == len(PAGES)
    assert sorted((copy / "index").iterdir()) == before
