"""`scrapy verify` reads every line of the text files, and compares them with crawl.log and the
index.
"""

import gzip
import json
import shutil
import sqlite3
from collections import Counter
from contextlib import closing

import pytest
import tantivy

from tests.support.fulltext import Texts, page
from webcrawl.base.model import Link, Outcome
from webcrawl.base.page_values import Change
from webcrawl.record.fulltext import check_texts as checked
from webcrawl.record.fulltext.check_texts import check_fulltext
from webcrawl.record.fulltext.text_index import TextIndexWriter
from webcrawl.store import rowcrc
from webcrawl.store.jobdir.crawl_line import line
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.verify_crawl import check_outputs, verify

URLS = [f"http://a.test/{number}" for number in range(8)]


@pytest.fixture(name="job", scope="module")
def _job(tmp_path_factory):
    """A crawl of two runs, ended cleanly; its log also has what shows no text."""
    root = tmp_path_factory.mktemp("texts")
    for urls in (URLS[:5], URLS[5:]):
        texts = Texts(root)
        log = texts.outputs.open("logs/crawl.log")
        for url in urls:
            texts.add(page(url))
            for one in (url, f"{url}/image"):
                log.write(line(1.7e9, Link(one), Outcome(200), None, []))
        texts.stop()
    return root


@pytest.fixture(name="mine")
def _mine(job, tmp_path):
    """A copy to be damaged."""
    return shutil.copytree(job, tmp_path / "job")


def told(job):
    found = Counter()
    with Snapshot(job / "state") as snapshot:
        return [str(damage) for damage in check_outputs(snapshot, job, found)], found


def change(job, number, edit):
    """Changes the lines of a text file, and what crawl.db says of it."""
    path = job / f"text/text-0000{number}.jsonl.gz"
    values = [json.loads(one) for one in gzip.decompress(path.read_bytes()).splitlines()]
    edit(values)
    rewrite(
        job,
        path,
        gzip.compress(b"".join(json.dumps(one).encode() + b"\n" for one in values), mtime=0),
    )


def rewrite(job, path, data):
    path.write_bytes(data)
    name, mark = path.relative_to(job).as_posix(), (len(data), rowcrc.crc32_of_many(data, 0))
    with closing(sqlite3.connect(job / "state/crawl.db")) as db, db:
        db.execute(
            "REPLACE INTO output VALUES (?, ?, ?, ?)", (name, *mark, rowcrc.output(name, *mark))
        )
    db.close()


def test_what_a_crawl_leaves_agrees(job, monkeypatch):
    """Nothing is reported of a sound crawl, however few lines are compared at once."""
    for around in (10_000, 3):
        monkeypatch.setattr(checked, "MAX_LINES_APART", around)
        damages, found = told(job)

        assert damages == []
        assert (found["texts"], found["indexed"], found["unindexed"]) == (8, 8, 0)


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda lines: lines.pop(2), "expected page 2, found page 3"),
        (lambda lines: lines.insert(2, lines[1]), "expected page 2, found page 1"),
        (lambda lines: lines[2].pop("text"), "not a valid line of a page: text"),
        (lambda lines: lines[2].update(ordinal="2"), "not a valid line of a page: ordinal"),
        (lambda lines: lines.__setitem__(2, 7), "not a valid line of a page: not a JSON object"),
        (
            lambda lines: lines[2].update(url="http://b.test/"),
            "page 2, http://b.test/: is not in logs/crawl.log",
        ),
        (lambda lines: lines[2].update(url="http://b.test/"), "the index has http://a.test/2"),
    ],
)
def test_a_line_that_is_wrong(mine, edit, why):
    """Each is named, with its file and the place of its member."""
    change(mine, 0, edit)
    damages, _ = told(mine)

    assert any(why in damage for damage in damages), damages
    assert all("text-00000.jsonl.gz: damaged at byte 0: " in damage for damage in damages)


@pytest.mark.parametrize("data", [b"[\n", b'{"ordinal": 0', b"\xff\n"])
def test_what_is_no_line(mine, data):
    """So is a member that has other things in it."""
    rewrite(mine, mine / "text/text-00000.jsonl.gz", gzip.compress(data + b"\n"))

    assert "the lines of pages cannot be read" in told(mine)[0][0]


def test_damaged_bytes(mine):
    """A flipped bit is found, and the other files are still checked."""
    path = mine / "text/text-00000.jsonl.gz"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    damages, found = told(mine)

    assert len(damages) == 1
    assert found["texts"] == 3


def test_a_member_that_is_truncated(mine):
    """It is named, whatever crawl.db says of the length."""
    path = mine / "text/text-00000.jsonl.gz"
    rewrite(mine, path, path.read_bytes()[:-3])

    assert "the last member is truncated" in told(mine)[0][0]


def test_files_may_be_absent(mine):
    """Finished files may be taken away: those that are here are compared with the index."""
    (mine / "text/text-00000.jsonl.gz").unlink()
    damages, found = told(mine)

    assert damages == []
    assert (found["texts"], found["indexed"]) == (3, 3)


def delete_page(folder, ordinal):
    """Takes a page from an index, in a commit of its own."""
    index = tantivy.Index.open(str(folder))
    writer = index.writer(15_000_000, 1)
    writer.delete_documents_by_query(tantivy.Query.term_query(index.schema, "ordinal", ordinal))
    writer.commit()
    writer.wait_merging_threads()


class TestTheIndex:
    def test_it_may_be_behind(self, mine):
        """Pages that a crash kept from the index are counted: the next start adds them."""
        TextIndexWriter(mine / "index", end=6).close()
        damages, found = told(mine)

        assert damages == []
        assert (found["indexed"], found["unindexed"]) == (6, 2)

    def test_it_may_be_missing(self, mine):
        """Then it is made again."""
        shutil.rmtree(mine / "index")

        assert told(mine)[0] == []

    def test_a_page_that_it_lacks(self, mine):
        """A gap is named."""
        delete_page(mine / "index", 3)

        assert any(
            "page 3, http://a.test/3: the index has nothing" in damage for damage in told(mine)[0]
        )

    def test_pages_fetched_again(self, mine):
        """Of these it has the last state alone; an earlier one beside it is named."""
        texts = Texts(mine)
        log = texts.outputs.open("logs/crawl.log")
        for url in (URLS[2], URLS[2], URLS[7]):
            again = page(url)
            again.change = Change.CHANGED
            texts.add(again)
            log.write(line(1.7e9, Link(url), Outcome(200), None, []))
        texts.stop()
        damages, found = told(mine)

        assert damages == []
        assert (found["texts"], found["indexed"], found["replaced"]) == (11, 8, 3)
        index = TextIndexWriter(mine / "index", end=11)
        index.add({"ordinal": 8, "url": URLS[2]})
        index.commit(11)
        index.close()
        assert any(f"page 9, {URLS[2]}: the index has page 8 too" in one for one in told(mine)[0])

    def test_a_page_that_it_has_twice(self, mine):
        """So is a page that came a second time."""
        index = TextIndexWriter(mine / "index", end=8)
        index.add({"ordinal": 3, "url": URLS[3]})
        index.commit(9)
        index.close()

        assert any(
            "page 3, http://a.test/3: the index has http://a.test/3 http://a.test/3" in one
            for one in told(mine)[0]
        )

    def test_an_index_that_cannot_be_opened_is_one_damaged_place(self, mine):
        """An index that cannot be opened is one damaged place."""
        (mine / "index/meta.json").write_text("{")
        damages, _ = told(mine)

        assert len(damages) == 1
        assert "index/meta.json: damaged at byte 0: " in damages[0]

    @pytest.mark.parametrize("ending", ["fast", "fieldnorm", "idx", "pos", "store", "term"])
    @pytest.mark.parametrize(
        ("harm", "why"),
        [
            (lambda data: None, "missing"),
            (lambda data: data[:-1], "the end of the file is missing"),
            (lambda data: b"", "the end of the file is missing"),
            (lambda data: data[:9] + bytes([data[9] ^ 1]) + data[10:], "wrong checksum"),
        ],
    )
    def test_every_byte_of_the_index_is_looked_at(self, mine, ending, harm, why):
        """A file that is gone, truncated or changed is named, by the checksum at its end."""
        path = next((mine / "index").glob(f"*.{ending}"))
        data = harm(path.read_bytes())
        path.unlink()
        if data is not None:
            path.write_bytes(data)

        assert f"{path}: damaged at byte 0: {why}" in map(str, verify(mine, Counter()))

    def test_an_index_that_has_just_begun(self, mine):
        """A folder with nothing of an index is as none: so it is while a crawl makes one, and after
        a kill then.
        """
        for path in (mine / "index").iterdir():
            path.unlink()
        (mine / "index/.tantivy-writer.lock").touch()

        assert told(mine)[0] == []

    def test_an_index_without_its_list(self, mine):
        """Segments that nothing names are damage."""
        (mine / "index/meta.json").unlink()

        (damage,) = told(mine)[0]
        assert "index/meta.json: damaged at byte 0: " in damage

    def test_its_bytes_are_looked_at_without_tantivys_own_list_of_files(self, mine):
        """A copy may lack `.managed.json`, whose name begins with a dot: tantivy does without it."""
        (mine / "index/.managed.json").unlink()
        assert [*verify(mine, Counter())] == []

        path = next((mine / "index").glob("*.pos"))
        data = path.read_bytes()
        path.write_bytes(data[:9] + bytes([data[9] ^ 1]) + data[10:])
        assert [*map(str, verify(mine, Counter()))] == [
            f"{path}: damaged at byte 0: wrong checksum"
        ]

    def test_lists_of_deleted_pages_of_other_commits(self, mine):
        """Whoever is killed while he writes one leaves a part of it, and one whose removal is not
        noted may be gone.
        """
        delete_page(mine / "index", 3)
        (now,) = (mine / "index").glob("*.del")
        listed = mine / "index/.managed.json"
        number = now.name.partition(".")[0]
        half, gone = f"{number}.999.del", f"{number}.1.del"
        (mine / "index" / half).write_bytes(b"half")
        listed.write_text(json.dumps([*json.loads(listed.read_text()), half, gone]))

        assert [*check_fulltext(mine / "index")] == []
        now.write_bytes(now.read_bytes()[:-1])
        assert [*map(str, check_fulltext(mine / "index"))] == [
            f"{now}: damaged at byte 0: the end of the file is missing"
        ]
