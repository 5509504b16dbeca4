"""`webcrawl qa`: what a package holds for a replay, and why one cannot be made.

What a browser makes of it is tried where there is one: tests/end_to_end/test_browser.py.
"""

import json
import zipfile
from collections import Counter

import pytest

from tests.support.commands import command
from tests.support.warc_crawl import NOW, Archive, exchange
from webcrawl.base.model import Link, PageView
from webcrawl.record.packaged_answers import ListedPage, NotReplayable, PackagedAnswers
from webcrawl.tools.wacz.pack import pack

URL = "http://a.test/"
STAMP = "20231114221320"


def redirect(url, location):
    head = b"HTTP/1.1 301 Moved\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % location.encode()
    return exchange(url, b"", status=301, head=head, headers=[(b"Location", location.encode())])


@pytest.fixture(name="package")
def _package(tmp_path):
    """A page twice and its copy, a redirect to it, and one that leads out of the package."""
    archive = Archive(tmp_path / "job")
    made = exchange(URL, b"<script>", rendered=True)
    made.body = b"<p>made"
    made.state.views = (PageView("urn:view:", "image/png", b"PNG"),)
    later = exchange(URL, b"<p>later")
    later.started = NOW + 86_400
    for one in (
        made,
        later,
        exchange(f"{URL}copy", b"<p>later"),
        redirect(f"{URL}old", "/"),
        redirect(f"{URL}away", "http://b.test/"),
    ):
        archive.write(one, Link(one.url), duplicate=one.url.endswith("copy"))
    archive.stop()
    target = tmp_path / "job.wacz"
    list(pack(archive.root, target, NOW, Counter()))
    return target


class TestAnswers:
    def test_an_answer_is_as_it_was_sent(self, package):
        """Not as a browser made it: in a replay the scripts run again."""
        assert PackagedAnswers(package).answer(URL, STAMP).body == b"<script>"

    def test_of_several_the_nearest_in_time_is_taken(self, package):
        """A page that was fetched again has what it had at the time of the page that shows it."""
        answers = PackagedAnswers(package)

        assert answers.answer(URL, "20231114230000").body == b"<script>"
        assert answers.answer(URL, "20231115220000").body == b"<p>later"

    def test_a_revisit_has_the_payload_that_it_refers_to(self, package):
        """Wherever in the package that is."""
        assert PackagedAnswers(package).answer(f"{URL}copy", STAMP).body == b"<p>later"

    def test_a_redirect_is_followed(self, package):
        """To its target in the package; what leads out of it is missing."""
        answers = PackagedAnswers(package)

        assert answers.answer(f"{URL}old", STAMP).body == b"<script>"
        assert answers.answer(f"{URL}away", STAMP) is None
        assert answers.answer(f"{URL}never", STAMP) is None

    def test_what_the_crawls_browser_saw(self, package):
        """The document and the screenshot of the page's time."""
        answers = PackagedAnswers(package)
        page = answers.pages[0]

        assert page == ListedPage(URL, STAMP)
        assert (answers.document(page), answers.view(page)) == (b"<p>made", b"PNG")
        assert answers.view(ListedPage(f"{URL}copy", STAMP)) == b""


class TestRefusals:
    @pytest.mark.parametrize("entry", ["indexes/index.cdx.gz", "pages/pages.jsonl"])
    def test_a_package_that_lacks_a_part(self, package, tmp_path, entry):
        """It is named, and no page is called the same."""
        other = tmp_path / "other.wacz"
        with zipfile.ZipFile(package) as whole, zipfile.ZipFile(other, "w") as part:
            for info in whole.infolist():
                if info.filename != entry and "extra" not in info.filename:
                    part.writestr(info, whole.read(info))

        with pytest.raises(NotReplayable, match=r"other[.]wacz: has no (index|list)"):
            PackagedAnswers(other)

    @pytest.mark.parametrize("content", [None, b"", b"words", b"PK\3\4 and no more"])
    def test_a_file_that_is_no_package(self, tmp_path, content):
        """One line says so, with exit status 1; with --json in JSON too."""
        path = tmp_path / "x.wacz"
        if content is not None:
            path.write_bytes(content)

        for more in ((), ("--json",)):
            done = command("webcrawl", "qa", path, *more)
            assert done.returncode == 1
            assert done.stderr.count("\n") == 1
            assert str(path) in done.stderr
            if more:
                assert json.loads(done.stdout) == {"error": done.stderr.strip()}

    @pytest.mark.parametrize(
        "words",
        [
            (),
            ("a.wacz", "b.wacz"),
            ("a.wacz", "--least", "2"),
            ("a.wacz", "--least", "nan"),
            ("a.wacz", "--actions", "jump"),
        ],
    )
    def test_a_wrong_command_line(self, words):
        """It is refused before anything is read, with exit status 2."""
        assert command("webcrawl", "qa", *words).returncode == 2
