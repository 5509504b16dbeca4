"""`scrapy search`, as a user calls it."""

import json
import os
import pty
import subprocess
import sys

import pytest

from tests.support.commands import command
from tests.support.crawling import scrapy
from tests.support.fulltext import Texts, page
from tests.support.places import ROOT

EVIL = "<p>hello \x1b[31mred \u202egnp.exe \u009b2J world"


@pytest.fixture(name="job", scope="module")
def _job(tmp_path_factory):
    root = tmp_path_factory.mktemp("command")
    texts = Texts(root)
    evil = page("http://evil.test/", EVIL)
    evil.title = "Title\x1b]0;owned\x07"
    texts.add(evil)
    for number in range(12):
        one = page(f"http://a.test/{number}", f"<p>hello {'hello ' * number}")
        one.title = f"Page {number}"
        texts.add(one)
    texts.stop()
    return root


def search(*words):
    return command("scrapy", "search", *words)


def test_what_is_printed(job):
    """Number, title, address and a piece of text of each page, then how many there are."""
    done = search(job, "hello", "-n", 2)
    lines = done.stdout.splitlines()

    assert (done.returncode, done.stderr) == (0, "")
    assert (lines[0], lines[1]) == ("1. Page 11", "   http://a.test/11")
    assert lines[2].startswith("   hello hello")
    assert lines[-1] == "2 of 13 pages"


def test_ten_unless_told_otherwise(job):
    """The default of -n."""
    assert search(job, "hello").stdout.endswith("10 of 13 pages\n")


def test_json_is_one_object_a_page(job):
    """One object per page and line."""
    done = search(job, "--json", "-n", "3", "hello")
    answers = [json.loads(line) for line in done.stdout.splitlines()]

    assert len(answers) == 3
    assert list(answers[0]) == [
        "url",
        "title",
        "snippet",
        "highlights",
        "score",
        "language",
        "fetched_at",
        "similar",
    ]
    assert answers[0]["url"] == "http://a.test/11"


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_nothing_dangerous_reaches_a_terminal(job, option):
    """Control characters and marks that change the direction of a text are spelled out."""
    done = search(job, "world", *option)

    assert done.returncode == 0
    assert "gnp" in done.stdout
    assert not set(done.stdout) & set("\x1b\x07\u202e\u009b")


def test_on_a_terminal_words_are_bold(job):
    """There, and nowhere else."""
    controller, terminal = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "scrapy", "search", job, "world"],
        stdout=terminal,
        check=True,
        cwd=ROOT,
    )
    os.close(terminal)
    said = os.read(controller, 4096)
    os.close(controller)

    assert b"\x1b[1mworld\x1b[0m" in said
    assert said.count(b"\x1b") == 2
    assert "\x1b" not in search(job, "world").stdout


def test_nothing_is_found(job):
    """That is no failure."""
    done = search(job, "nosuchword")

    assert (done.returncode, done.stdout) == (0, "0 pages\n")
    assert search(job, "nosuchword", "--json").stdout == ""


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["nosuchfield:x"], 0, "nosuchfield:x: searched as plain words\n"),
        (["--", "-hello"], 0, "-hello: searched as plain words\n"),
        (["after:x"], 0, "searched as plain words: x: expected a day, month or year"),
        (["-"], 0, "-: no word, so no page is searched for\n"),
        (["hello", "--", "-hello"], 0, ""),
        (["hello", "-without"], 0, ""),
        (["bell\x07:"], 0, "bell\\x07:: searched as plain words\n"),
        ([], 2, "a folder and words"),
        ([" "], 2, "a folder and words"),
        (["hello", "-n", "0"], 2, "-n 0: must be a whole number from 1 to 10000"),
        (["hello", "-n", "x"], 2, "-n x: must be a whole number"),
    ],
)
def test_what_is_said_of_words_in_a_line(job, words, status, said):
    """Any words are searched for, with a remark if operators do not count as such; a word that
    looks like an option is a word behind --. Exit status 2 is for no words at all.
    """
    done = search(job, *words)

    assert done.returncode == status
    assert said in done.stderr


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_without_an_index(tmp_path, there):
    """One line, which says how to get one, and exit status 1."""
    folder = tmp_path if there else tmp_path / "nowhere"
    (tmp_path / "a.wacz").touch()
    done = search(folder, "hello")
    made = f"`scrapy process {folder} -s OUTPUTS=index -s JOBDIR={folder}-read` builds one in {folder}-read"

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"{folder}/index: no index: {made}\n" if there else f"{folder}: no such folder\n"
    )


@pytest.mark.parametrize(("words", "status"), [(["nowhere", "hello"], 1), ([".", "hello"], 1)])
def test_what_a_program_reads_of_it(job, words, status):
    """With --json the reason is an object on standard output, as of other commands."""
    done = search(*(job if word == "JOB" else word for word in words), "--json")

    assert (done.returncode, json.loads(done.stdout)) == (
        status,
        {"error": done.stderr.removesuffix("\n")},
    )


def test_without_tantivy(job, tmp_path):
    """One line says what to install; a crawl that wants an index does not start, and says so too."""
    done = command("tests.support.without", "tantivy", "scrapy", "search", job, "hello")

    assert (done.returncode, done.stderr) == (
        1,
        "tantivy is not installed: pip install 'tantivy>=0.27,<0.28'\n",
    )

    words = [
        "-a",
        "seeds=http://127.0.0.1:9/",
        "-s",
        "OUTPUTS=index",
        "-s",
        f"JOBDIR={tmp_path}/job",
    ]
    done = command("tests.support.without", "tantivy", "scrapy", "crawl", "web", *words)
    assert done.returncode == 1
    assert "tantivy is not installed: pip install 'tantivy>=0.27,<0.28'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_help(tmp_path):
    """Says how to ask."""
    assert scrapy(["search", "--help"], ROOT, tmp_path / "help") == 0
    assert "site:example.com" in (tmp_path / "help").read_text()
