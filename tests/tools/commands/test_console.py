"""What commands print, answers that cannot be printed, and numbers on a command line."""

import os
import subprocess
import sys

import pytest
from scrapy.exceptions import UsageError

from tests.support.commands import command
from tests.support.jobs import stopped
from webcrawl.base.errors import CannotStart
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder
from webcrawl.tools.tool_command import port_of, print_error, whole_number

FULL = "standard output: No space left on device"
NOTE = "the answer is from the last checkpoint\n"
LINE = "1.0\t0\t30\thttp://a/{}\tlink\t1\t200\n"


def said_to(output, words):
    """The exit status and what is on standard error, but for the note that the crawl is not running."""
    done = command("scrapy", *words, stdout=output)
    return done.returncode, without_note(done.stderr)


def without_note(said):
    return "".join(line for line in said.splitlines(True) if not line.endswith(NOTE))


OF_A_CRAWL = {  # before and after its folder
    "verify": (["verify"], []),
    "ctl": (["ctl"], ["excluded", "--json"]),
    "report": (["report"], ["-o", "-"]),
    "account": (["account"], ["site.test", "-o", "-"]),
    "why": (["why"], ["http://site.test/"]),
}
OTHERS = ["lab walks", "lab orderings", *(name for name in OF_A_CRAWL if name != "verify")]


@pytest.fixture(
    name="words",
    params=["verify", *(pytest.param(name, marks=pytest.mark.campaign) for name in OTHERS)],
)
def _words(request, tmp_path):
    if request.param in OF_A_CRAWL:
        before, after = OF_A_CRAWL[request.param]
        return *before, stopped(tmp_path / "job"), *after
    if request.param == "lab walks":
        (tmp_path / "walk.log").write_text("".join(map(LINE.format, range(9000))))
        return "lab", "walks", tmp_path / "walk.log", "--sample", "near-pagerank", "-n", 9000
    (tmp_path / "edges").write_text("a b\nb a\n")
    return "lab", "orderings", tmp_path / "edges", "--orders", "breadth"


def test_a_full_disk_is_no_traceback(words):
    """What does not fit on the disk ends a command with a line and a status that is not 0."""
    status, error = said_to("/dev/full", words)

    assert status != 0
    assert error.splitlines()[0] == FULL
    assert "Traceback" not in error


def test_a_file_that_may_not_be_read(tmp_path, capsys):
    """An error of the system names the file first, as all other messages do."""
    with pytest.raises(OSError, match="Errno 2") as refusal:
        (tmp_path / "crawl.db").read_bytes()
    print_error(refusal.value)

    assert capsys.readouterr().err == f"{tmp_path}/crawl.db: No such file or directory\n"


@pytest.mark.parametrize("name", ["wacz", "hive", "dashboard"])
def test_a_full_disk_is_not_that_of_the_crawl(tmp_path, name):
    """What cannot be said of something that is done, or to be done, is no failure of that: standard
    output is named.
    """
    words = {
        "wacz": ["export", "wacz", tmp_path / "job", "-o", tmp_path / "a.wacz"],
        "hive": ["hive", "status", tmp_path / "hive"],
        "dashboard": ["dashboard", tmp_path / "job", "--port", 0],
    }
    stopped(tmp_path / "job")
    (tmp_path / "hive").mkdir()
    HiveFolder(tmp_path / "hive").write(Founding("web", "web", "domain", 1, (0,)))

    assert said_to("/dev/full", words[name]) == (1, f"{FULL}\n")


@pytest.mark.parametrize("name", ["account", "report"])
def test_a_full_disk_is_named(tmp_path, name):
    """A page that cannot be written is named, with the reason."""
    page = tmp_path / "page.html"
    page.symlink_to("/dev/full")
    site = ["site.test"] if name == "account" else []

    status, error = said_to(os.devnull, [name, stopped(tmp_path / "job"), *site, "-o", page])
    assert (status, error) == (1, f"{page}: No space left on device\n")


@pytest.mark.campaign
def test_a_reader_may_have_read_enough(words):
    """A pipe that is closed before all is written is no error: `scrapy lab walks … | head`."""
    with subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE, text=True) as reader:
        reader.wait()
        run = [sys.executable, "-m", "scrapy", *map(str, words)]
        done = subprocess.run(
            run, stdout=reader.stdin, stderr=subprocess.PIPE, text=True, check=False
        )

    assert (done.returncode, without_note(done.stderr)) == (0, "")


@pytest.mark.campaign
def test_nobody_may_want_to_read(words):
    """A standard output that is closed from the start (`>&-`) is no error."""
    line = " ".join(f"'{word}'" for word in (sys.executable, "-m", "scrapy", *words))
    done = subprocess.run(
        ["/bin/sh", "-c", f"{line} >&-"], stderr=subprocess.PIPE, text=True, check=False
    )

    assert (done.returncode, "Traceback" in done.stderr) == (0, False)


@pytest.mark.parametrize("text", ["1", "007", "1000"])
def test_within_bounds(text):
    """Both bounds are within, and leading zeros do no harm."""
    assert whole_number("-n", text, 1, 1000) == int(text)


@pytest.mark.parametrize(
    "text",
    ["", "0", "1001", "-1", "1.5", "1_0", "\u00b2", "\uff11", "9" * 5000, "0" * 20 + "9" * 30],
)
def test_what_is_no_number_is_refused_with_its_option(text):
    """Anything else is refused in a line that names the option, however long it is."""
    with pytest.raises(UsageError, match=r"^-n .*: must be a whole number from 1 to 1000$"):
        whole_number("-n", text, 1, 1000)


@pytest.mark.parametrize("text", ["65536", "00000080000", "-1", "x", "9" * 5000])
def test_what_is_no_port_is_refused(text):
    """However many zeros it begins with."""
    with pytest.raises(CannotStart, match=r"^--port .*: must be a whole number from 0 to 65535$"):
        port_of(text)
