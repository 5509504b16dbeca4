"""LARM's page files, and the log that says what is in them."""

from collections import Counter

import pytest

from tests.support.outputs import Crawl
from webcrawl.base.model import Link
from webcrawl.record.pagefiles import PageFileFacts, PageFiles, page_file_name
from webcrawl.tools.verify_crawl import verify


class Stored(Crawl):
    """Page files of 10 bytes."""

    def __init__(self, root):
        super().__init__(root)
        self.files = PageFiles(self.db, self.outputs, 10)

    def write(self, name, body, **about):
        about = {
            "normalised": name.lower(),
            "status": 200,
            "mime": "text/html",
            "title": "",
            **about,
        }
        self.files.write(
            Link(f"http://a.test/{name}", "LR", "http://a.test/"), PageFileFacts(**about), body
        )

    def bodies(self):
        """The stored bodies by URL, as the log says."""
        found = {}
        for line in (self.root / "logs/store.log").read_text().splitlines():
            _, url, _, _, _, _, size, _, number, offset = line.split("\t")
            path = self.root / page_file_name(int(number))
            path = path if path.exists() else path.with_suffix(".pfl.open")
            found[url.rpartition("/")[2]] = path.read_bytes()[int(offset) :][: int(size)]
        return found


@pytest.fixture(name="stored")
def _stored(tmp_path):
    crawl = Stored(tmp_path)
    yield crawl
    crawl.close()


def damages(root):
    return [str(damage).replace(str(root), "") for damage in verify(root, Counter())]


def test_a_line_has_larm_s_fields(stored):
    """From page, URL, its comparison form, way, status, type, size, title, page file and offset."""
    stored.write("A", b"body", title="A\ttitle\n", mime="text/plain", status=203)
    stored.checkpoint()

    line = "http://a.test/ http://a.test/A a R 203 text/plain 4 A\\ttitle\\n 0 0\n".replace(
        " ", "\t"
    )
    assert (stored.root / "logs/store.log").read_text() == line.replace("A\ttitle", "A title")


def test_files_are_full_and_then_finished(stored):
    """No page is split; only one that is longer than a file may be makes it longer."""
    for name, size in (("a", 6), ("b", 4), ("c", 1), ("d", 30), ("e", 0), ("f", 10)):
        stored.write(name, name.encode() * size)
    for _ in range(2):  # the second one gives the files their names
        stored.checkpoint()

    files = {path.name: path.stat().st_size for path in (stored.root / "pages").iterdir()}
    names = [page_file_name(number).removeprefix("pages/") for number in range(3)]
    assert files == {names[0]: 10, names[1]: 1, names[2]: 30, "pagefile_00003.pfl.open": 10}
    assert stored.bodies() == {
        "a": b"a" * 6,
        "b": b"bbbb",
        "c": b"c",
        "d": b"d" * 30,
        "e": b"",
        "f": b"f" * 10,
    }
    assert damages(stored.root) == []


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "\t0\t3\n",
            "\t0\t4\n",
            "store.log: damaged at byte 56: page file 0, offset 4: does not begin where the previous page ends",
        ),
        (
            "\t5\t\t0\t3\n",
            "\t4\t\t0\t3\n",
            ".pfl: damaged at byte 7: its length differs from what logs/store.log says",
        ),
    ],
)
def test_verify_compares_log_and_files(stored, old, new, why):
    """A row that does not tell where its page lies is found, although both files are as long as
    they were.
    """
    stored.write("a", b"aaa")
    stored.write("b", b"bbbbb")
    stored.checkpoint()
    log = stored.root / "logs/store.log"
    log.write_text(log.read_text().replace(old, new))

    assert any(damage.endswith(why) for damage in damages(stored.root))
