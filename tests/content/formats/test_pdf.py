"""Links and text of PDFs, read in a process that may die."""

import re
import signal
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest

from tests.support.crawling import wait_until
from tests.support.pdfs import bomb, pdf, with_content
from webcrawl.content import worker
from webcrawl.content.formats.pdf import PdfProcess

pytest.importorskip("pypdfium2")
URL = "http://a.test/x.pdf"
LOOP = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[2 0 R 2 0 R]"
    b"/Count 1000000000>>endobj trailer<</Root 1 0 R>>"
)
WORDS = b"BT /F1 9 Tf " + b"(http://a.test/x ) Tj " * 20_000 + b"ET"


@pytest.fixture(name="reader")
def _reader():
    reader = PdfProcess()
    yield reader
    reader.close()


@pytest.fixture(name="started")
def _started(monkeypatch):
    """The processes that were started since the test began."""
    found, start = [], subprocess.Popen

    def started(*args, **options):
        found.append(start(*args, **options))
        return found[-1]

    monkeypatch.setattr(subprocess, "Popen", started)
    return found


def fake(code):
    """A worker that says it is ready, and then does something else."""
    start = "import socket, struct, os, signal, time; wire = socket.socket(fileno=0); wire.sendall(b'R'); "
    return PdfProcess((sys.executable, "-c", f"{start}wire.recv(8); {code}"))


def addresses(found):
    return [link[1] for link in found.links]


class TestWhatIsRead:
    def test_links(self, reader):
        """Those of annotations, as written, and addresses that stand in the text, each once."""
        found = reader.read(
            pdf("http://a.test/1", "../2", "http://a.test/1", text="see http://a.test/3 there"), URL
        )

        assert addresses(found) == ["http://a.test/1", "../2", "http://a.test/3"]
        assert (found.base, found.note, {link[0] for link in found.links}) == (URL, "", {"pdf"})

    def test_text(self):
        """A function of its own gives the text, page by page."""
        from webcrawl.content.formats.pdf import text

        assert text(pdf(text="Hello", pages=2)) == "Hello\nHello"

    def test_only_what_is_wanted(self):
        """Where links are not followed there are none, and no text where no output wants it; the
        title is there.
        """
        body = pdf("http://a.test/1", text="Hello")
        body = body.replace(
            b"trailer<<", b"5 0 obj<</Title(A  lamp)>>endobj trailer<</Info 5 0 R"
        ).replace(b"R/Root", b"R /Root")
        for links, texts in ((True, False), (False, True)):
            reader = PdfProcess(links=links, text=texts)
            found = reader.read(body, URL)
            reader.close()
            assert (bool(found.links), bool(found.text), found.title, found.note) == (
                links,
                texts,
                "A lamp",
                "",
            )

    @pytest.mark.parametrize(
        ("written", "title"), [("0041D83D", "A\ufffd"), ("DC000041", "\ufffdA")]
    )
    def test_a_title_with_half_a_character(self, reader, written, title):
        """Where a program has truncated it between the halves of a surrogate pair, the rest is read
        all the same.
        """
        about = f"5 0 obj<</Title<FEFF{written}>>>endobj trailer<</Info 5 0 R /Root".encode()
        found = reader.read(pdf("http://a.test/1").replace(b"trailer<</Root", about), URL)

        assert (found.title, addresses(found), found.note) == (title, ["http://a.test/1"], "")

    def test_an_address_in_another_encoding(self, reader):
        """Bytes that are not UTF-8 are asked for as they stand there."""
        found = reader.read(pdf("http://a.test/caf\\351", "http://a.test/caf\xe9"), URL)

        assert addresses(found) == ["http://a.test/caf%E9", "http://a.test/caf\xe9"]

    def test_a_long_text(self, monkeypatch):
        """It is read up to a bound, and known not to be whole."""
        from webcrawl.content.formats import pdf as module

        monkeypatch.setattr(module, "TEXT", 8)
        assert module.contents(pdf(text="Hello", pages=9), links=False)[2:] == ("Hello\nHe", False)

    def test_a_word_over_two_lines(self):
        """The mark for a hyphen at the end of a line goes, and the word is one."""
        from webcrawl.content.formats.pdf import text

        body = with_content(b"BT /F1 12 Tf 72 700 Td (light-) Tj 0 -14 Td (house keeper) Tj ET")
        assert text(body) == "lighthouse keeper"

    @pytest.mark.parametrize(
        "body", [b"", b"%PDF-1.4", b"%PDF-" + bytes(range(256)), b"<html>", pdf()[:60]]
    )
    def test_what_is_no_pdf_has_no_links_and_a_note(self, reader, body):
        """It has no links, and a note."""
        found = reader.read(body, URL)

        assert (found.links, found.note) == ([], "pdf:unreadable")

    @pytest.mark.parametrize("length", range(100, len(pdf("http://a.test/1")), 90))
    def test_one_that_is_truncated(self, reader, length):
        """It is read as far as that is possible; the reader lives on."""
        assert addresses(reader.read(pdf("http://a.test/1")[:length], URL)) in (
            [],
            ["http://a.test/1"],
        )
        assert addresses(reader.read(pdf("http://a.test/1"), URL)) == ["http://a.test/1"]

    def test_a_page_that_cannot_be_read(self, reader):
        """The others are, and a note says that not all was."""
        body = pdf("http://a.test/1", pages=3).replace(
            b"11 0 obj\n<</Type/Page/", b"11 0 obj\n<</Type/Font/"
        )
        found = reader.read(body, URL)

        assert (addresses(found), found.note) == (["http://a.test/1"], "pdf:cut")

    def test_a_page_whose_text_cannot_be_read(self, monkeypatch):
        """So is one that pdfium opens, and finds no text in for an error of its own."""
        from pypdfium2 import PdfiumError, PdfPage

        from webcrawl.content.formats.pdf import contents

        whole, asked = PdfPage.get_textpage, iter((False, True, False))

        def of_page(page):
            if next(asked):
                raise PdfiumError("Failed to load text page.")
            return whole(page)

        monkeypatch.setattr(PdfPage, "get_textpage", of_page)

        assert contents(pdf(text="Hello", pages=3)) == ([], "", "Hello\nHello", False)

    def test_bounds(self, reader):
        """Of very many addresses, and of very long ones, the first are kept."""
        from webcrawl.content.formats.pdf import MOST

        found = reader.read(pdf(*[f"http://a.test/{at}" for at in range(MOST + 100)]), URL)

        assert (len(found.links), addresses(found)[-1]) == (MOST, f"http://a.test/{MOST - 1}")
        assert reader.read(pdf("http://a.test/" + "x" * 100_000), URL).links == []


class TestWhatItSurvives:
    @pytest.mark.campaign
    def test_a_pdf_that_unpacks_to_very_much_ends_its_process(self, reader):
        """One that unpacks to very much ends the process at its limit of memory; the next one has
        another.
        """
        found = reader.read(bomb(), URL)

        assert (found.links, found.note) == ([], "pdf:died")
        assert addresses(reader.read(pdf("/1"), URL)) == ["/1"]

    @pytest.mark.parametrize(
        "body",
        [
            b"%PDF-1.4\n1 0 obj\n" + b"[" * 500_000,
            b"%PDF-1.4\n1 0 obj\n" + b"<</A " * 200_000,
            b"%PDF-1.4\n" + b"1 0 obj\n" * 100_000,
            LOOP,
            with_content(b"q " * 500_000),
            with_content(zlib.compress(WORDS), "/Filter/FlateDecode"),
        ],
        ids=range(6),
    )
    def test_other_shapes(self, reader, body):
        """However it is made, there is an answer, and the next PDF is read."""
        assert reader.read(body, URL).note in ("", "pdf:unreadable", "pdf:died", "pdf:cut")
        assert addresses(reader.read(pdf("/1"), URL)) == ["/1"]

    @pytest.mark.parametrize(
        "code",
        [
            "os.abort()",
            "os._exit(0)",
            "wire.sendall(struct.pack('<Q', 1 << 60) + b'x'); time.sleep(9)",
            "wire.sendall(struct.pack('<Q', 4) + b'none')",
            "wire.sendall(struct.pack('<Q', 2) + b'[]')",
            "wire.sendall(b'half'); os._exit(1)",
        ],
    )
    def test_a_worker_that_lost_its_mind(self, code):
        """Whatever it does or says, the PDF has no links and a note."""
        reader = fake(code)

        assert reader.read(pdf(), URL).note == "pdf:died"
        reader.close()

    def test_a_worker_that_says_nothing(self, monkeypatch, started):
        """It is given a while, and then ended."""
        monkeypatch.setattr(worker, "PROCESSOR_SHARES", 0.05)
        reader = fake("signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)")

        assert reader.read(pdf(), URL).note == "pdf:died"
        assert [process.returncode for process in started] == [-signal.SIGKILL]
        reader.close()

    def test_it_can_open_nothing(self, reader, started):
        """A PDF that gets the better of its reader finds no file and no socket: its process may
        open none.
        """
        reader.read(pdf("http://a.test/"), URL)
        limits = Path(f"/proc/{started[0].pid}/limits").read_text()

        assert re.search(r"Max open files +0 +0 ", limits)

    def test_killed_by_somebody_else(self, tmp_path):
        """The PDF is read once more by a new process, and only once: it is not its fault, as far as
        one can see.
        """
        reader = fake(
            f"open({str(tmp_path / 'tries')!r}, 'a').write('x'); os.kill(os.getpid(), signal.SIGKILL)"
        )

        assert reader.read(pdf(), URL).note == "pdf:died"
        assert (tmp_path / "tries").read_text() == "xx"
        reader.close()

    def test_killed_between_two(self, reader, started):
        """Then nothing is noticed."""
        assert addresses(reader.read(pdf("/1"), URL)) == ["/1"]
        started[0].kill()

        assert addresses(reader.read(pdf("/2"), URL)) == ["/2"]


class TestOurOwnLack:
    def test_no_process(self, monkeypatch):
        """It is waited for a while, and then told: no PDF is charged with it."""
        monkeypatch.setattr(worker, "PAUSE_SECONDS", 0.001)
        reader = PdfProcess(("/no/such/program",))

        with pytest.raises(
            OSError, match=r"no process could be started to read PDFs: .*No such file"
        ):
            reader.read(pdf(), URL)
        reader.close()

    def test_how_long_it_is_waited_for(self, monkeypatch, caplog):
        """The line says for how many seconds it is tried again: all pauses between two tries."""
        waits = []
        monkeypatch.setattr(worker.time, "sleep", waits.append)
        reader = PdfProcess(("/no/such/program",))

        with pytest.raises(OSError, match="no process"):
            reader.read(pdf(), URL)
        assert caplog.messages[0].endswith(f"; retrying for {sum(waits):g} s")
        reader.close()

    def test_a_process_that_ends_at_once(self, monkeypatch):
        """So is a library that cannot be loaded."""
        monkeypatch.setattr(worker, "PAUSE_SECONDS", 0.001)
        monkeypatch.setattr(worker, "START_TRIES", 2)
        reader = PdfProcess((sys.executable, "-c", "import no_such_library"))

        with pytest.raises(OSError, match="ended as soon as it was started"):
            reader.read(pdf(), URL)
        reader.close()

    def test_a_passing_lack(self, monkeypatch, caplog):
        """What is there again after a moment was only waited for."""
        monkeypatch.setattr(worker, "PAUSE_SECONDS", 0.001)
        reader, tries, start = PdfProcess(), [], subprocess.Popen

        def first_fails(*args, **options):
            tries.append(1)
            if len(tries) < 3:
                raise BlockingIOError(11, "Resource temporarily unavailable")
            return start(*args, **options)

        monkeypatch.setattr(subprocess, "Popen", first_fails)

        assert addresses(reader.read(pdf("/1"), URL)) == ["/1"]
        assert len(caplog.records) == 1
        reader.close()


class TestTheEnd:
    def test_killed_under_way(self, tmp_path, started):
        """The end of the crawl ends the process, whatever it is reading, and starts no other."""
        reading = tmp_path / "reading"
        reader = fake(f"open({str(reading)!r}, 'x'); time.sleep(60)")

        def kill():
            wait_until(reading.exists)
            reader.kill()

        killer = threading.Thread(target=kill)
        killer.start()
        reader.read(pdf(), URL)
        killer.join()
        reader.close()

        assert [process.returncode for process in started] == [-signal.SIGKILL]

    def test_killed_while_its_process_starts(self, reader, monkeypatch, started):
        """There is no process yet that could be killed; the one that comes up reads nothing any
        more.
        """
        start = subprocess.Popen

        def killed_before(*args, **options):
            reader.kill()
            return start(*args, **options)

        monkeypatch.setattr(subprocess, "Popen", killed_before)

        with pytest.raises(OSError, match="closed"):
            reader.read(pdf("/1"), URL)
        assert [process.poll() is None for process in started] == [False]

    def test_closed_twice(self, reader):
        """Nothing happens then, nor if nothing was read."""
        reader.close()
        reader.close()
