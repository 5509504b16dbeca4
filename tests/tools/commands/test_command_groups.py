"""Few commands in the list, in groups."""

import json
import subprocess
import sys
from subprocess import PIPE

import pytest
from scrapy.cmdline import _get_commands_from_module

from tests.support.commands import command
from tests.support.places import ROOT

LISTED = {
    "demo",
    "diff",
    "hive",
    "ctl",
    "why",
    "verify",
    "report",
    "search",
    "process",
    "export",
    "segments",
    "identity",
}
LISTED |= {"account", "dashboard", "lab", "mcp", "qa"}
SCRAPYS = {"bench", "check", "crawl", "fetch", "parse", "runspider", "shell", "view"}
COMMANDS = _get_commands_from_module("webcrawl.commands", inproject=True)


def test_every_command_is_listed():
    """Beside Scrapy's own there are these commands."""
    assert COMMANDS.keys() == LISTED | SCRAPYS


def test_a_reader_of_the_list_who_has_read_enough():
    """`webcrawl --help | head -n 1` is no error."""
    words = [sys.executable, "-m", "webcrawl", "--help"]
    with subprocess.Popen(words, stdout=PIPE, stderr=PIPE, cwd=ROOT) as process:
        first = process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()

    assert (process.returncode, said) == (0, b"")
    assert first.startswith(b"webcrawl ")


def test_options_of_a_member_stand_behind_its_name(tmp_path):
    """A member takes its own options and Scrapy's."""
    trace = tmp_path / "trace.txt"
    trace.write_text("1\n2\n1\n")

    done = command(
        "webcrawl",
        "lab",
        "caches",
        str(trace),
        "--sizes",
        "1",
        "--json",
        "-s",
        "LOG_LEVEL=INFO",
        cwd=tmp_path,
    )

    assert done.returncode == 0
    assert {row["size"] for row in json.loads(done.stdout)["rows"] if row["size"]} >= {1}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["export"], "the following arguments are required: wacz|store|documents|graph"),
        (["export", "zip", "a"], "invalid choice: 'zip'"),
        (["export", "-s", "A=b", "wacz", "a"], "invalid choice: 'A=b'"),
        (["lab"], "the following arguments are required: caches|orderings|walks|simweb"),
    ],
)
def test_a_wrong_member(words, why, tmp_path):
    """What is no member, or does not fit together, is a wrong command line: status 2 and a line
    that says so.
    """
    done = command("webcrawl", *words, cwd=tmp_path)

    assert done.returncode == 2
    assert why in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"]])
def test_webcrawl_lists_its_commands_in_groups(words, tmp_path):
    """Without a command, `webcrawl` describes the listed ones, each once."""
    done = command("webcrawl", *words, cwd=tmp_path)

    described = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")]
    assert done.returncode == 0
    assert sorted(described) == sorted({*LISTED, "crawl"})
