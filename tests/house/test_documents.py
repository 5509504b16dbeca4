"""Which commands of the documents CI runs (`.ci/commands`), and how."""

import re

import pytest

from tests.support.documents import DOCUMENTS, LEFT_OUT, Section, local, section, unprinted
from tests.support.places import ROOT

TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in DOCUMENTS}
INDENTED = re.compile(r"^ {4,}(?:webcrawl|scrapy|pip|python3?|\.venv|cat|cd) ", re.MULTILINE)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands_stand_in_blocks_that_are_run(name):
    """Each of these documents has commands, all in fenced blocks."""
    text = re.sub(r"^```\w*\n.*?^```$", "", TEXTS[name], flags=re.MULTILINE | re.DOTALL)

    assert section(name).commands()
    assert INDENTED.findall(text) == []


def test_what_is_left_out_stands_somewhere():
    """Each line that is not run is in a document."""
    assert [word for word in LEFT_OUT if word not in "".join(TEXTS.values())] == []


def test_readmes_first_command_installs_the_project():
    """README begins with the project itself, from the checkout."""
    first = section("README.md").script.splitlines()[0]

    assert first.startswith("python3 -m venv .venv && .venv/bin/pip install -q -e . ")


def test_ci_runs_readmes_test_command():
    """The line of README that runs the tests is the one that CI runs, word for word."""
    command = next(line for line in TEXTS["README.md"].splitlines() if "-m pytest" in line)

    assert command in (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()


def test_addresses_are_local():
    """Commands ask a site on loopback, without waits; the demo is short; what CI runs elsewhere is
    left out.
    """
    script = "webcrawl crawl web -a seeds=https://www.example.org/ -s A=1\nwebcrawl demo\npython -m pytest\n"

    crawl, demo = local(script, "http://127.0.0.1:8110").splitlines()
    assert "example.org" not in crawl
    assert crawl.endswith(" web -a seeds=http://127.0.0.1:8110/ -s A=1")
    assert " -s PRIVATE_NETWORKS_ALLOWED=127.0.0.0/8 -s PORTS_ALLOWED=8110 " in crawl
    assert demo == "webcrawl demo --hosts 20 --seconds 3"


def test_what_is_shown_is_printed():
    """A line that a document shows below a command is compared with what CI's run has printed: not
    its numbers, dates and addresses, but its words.
    """
    page = Section("a.md", "", ("1 page in 2.5 s from 1 host", "title: Lamps, which …", "gone"))
    printed = "INFO: 20 pages in 1,300 s from 3 hosts\ntitle: Lamps, which burn oil\n"

    assert unprinted(page, printed) == ["gone"]
    assert unprinted(page, f"{printed}gone 2026-11-29") == []


ROOMS = {
    "architecture": "webcrawl",
    "on-disk": "webcrawl/store",
    "checkpoints-and-crashes": "webcrawl/store",
    "frontier-inside": "webcrawl/frontier",
    "seen-store": "webcrawl/frontier/seen",
    "network-inside": "webcrawl/net",
    "hive-protocol": "webcrawl/crawl/hive",
    "hostile-and-secure": "webcrawl/net",
    "testing": "tests",
}


@pytest.mark.parametrize("name", ROOMS)
def test_files_that_are_named_are_there(name):
    """A file that a room's document names lies in that room, or wherever its path says."""
    named = re.findall(r"`([\w/]+\.py)[:`]", (ROOT / f"docs/{name}.md").read_text(encoding="utf-8"))
    places = (ROOT, ROOT / "webcrawl", ROOT / ROOMS[name])

    assert named
    assert [one for one in named if not any((place / one).exists() for place in places)] == []
