"""`webcrawl` runs the commands that are no crawl without Scrapy, whose import takes longer than
they do.
"""

import argparse
import json
import os
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from scrapy.cmdline import ScrapyArgumentParser, _get_commands_from_module
from scrapy.commands import ScrapyCommand, ScrapyHelpFormatter
from scrapy.settings import Settings

from tests.house.test_start import OTHERS
from tests.support.jobs import stopped
from tests.support.places import ROOT
from webcrawl.tools.tool_command import ToolCommand, run_tool

FRAMEWORKS = {"scrapy", "twisted", "parsel", "itemadapter"}
HEAVY = {"numpy", "asyncio", "sqlite3", "lxml", "cryptography", "webcrawl.settings"}
CODE = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from webcrawl.__main__ import main
main()
"""
TOOLS = {
    name: kind
    for name, kind in _get_commands_from_module("webcrawl.commands", inproject=True).items()
    if isinstance(kind, ToolCommand)
}


def webcrawl(*words, cwd=ROOT):
    """The process of a command that has ended, and the modules that it has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *map(str, words)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done, set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["why", "--help"], 0),
        (["ctl", "none", "status"], 3),
        (["segments", "-h"], 0),
        (["search", "none", "word"], 1),
    ],
)
def test_a_question_loads_no_framework(words, status, tmp_path):
    """Help, and the question to a crawl that runs, load neither Scrapy nor Twisted, and no library
    that takes long.
    """
    done, loaded = webcrawl(*words, cwd=tmp_path)

    assert done.returncode == status
    assert loaded & FRAMEWORKS == set()
    assert words[0] == "search" or loaded & HEAVY == set()


def test_an_answer_about_a_url_loads_none_either(tmp_path):
    """`why` reads a crawl's state, logs and archive by webcrawl's own rooms."""
    job = stopped(tmp_path / "job")
    url = (job / "logs/crawl.log").read_text().split()[3]

    done, loaded = webcrawl("why", job, url, "--json")

    assert json.loads(done.stdout)["state"] == "fetched"
    assert loaded & (FRAMEWORKS | {"requests", "cryptography", "tldextract"}) == set()


def test_a_crawl_loads_no_library_that_it_does_not_need(tmp_path):
    """From its start to its end: the public suffix list without its package, and no output that is
    not wanted.
    """
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=tmp_path)
    ) as server:
        Thread(target=server.serve_forever).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        settings = (
            "PRIVATE_NETWORKS_ALLOWED=127.0.0.0/8",
            "POLITENESS_MIN_DELAY=0",
            "LOG_LEVEL=ERROR",
            "JOBDIR=job",
        )
        done, loaded = webcrawl(
            "crawl", url, *(word for one in settings for word in ("-s", one)), cwd=tmp_path
        )
        server.shutdown()

    assert done.returncode == 0
    assert " 200 " in (tmp_path / "job/logs/crawl.log").read_text()
    assert loaded & OTHERS == set()


def test_settings_on_the_command_line_are_heeded():
    """What needs settings reads them by Scrapy, those of the command line included."""
    done, loaded = webcrawl("identity", "page", "-s", "USER_AGENT=mine/1.0 (+https://mine.test/)")

    assert "https://mine.test/" in done.stdout
    assert "scrapy.settings" in loaded


def test_a_wrong_command_line_is_refused_as_by_scrapy():
    """The usage comes first, what is wrong last, and the exit status is 2."""
    done, _ = webcrawl("why")

    lines = [line for line in done.stderr.splitlines()[:-1] if line]
    assert done.returncode == 2
    assert lines[:2] == ["Usage", "====="]
    assert lines[-1].endswith(
        ": error: give a folder and a URL: webcrawl why JOBDIR URL, or --file URLS"
    )


def test_what_crawls_or_is_profiled_is_left_to_scrapy():
    """Scrapy's own commands, unknown ones and --profile are not run here."""
    assert run_tool(["crawl", "web"]) is None
    assert run_tool(["nosuch"]) is None
    assert run_tool(["no/such"]) is None
    assert run_tool(["why", "a", "b", "--profile", "file"]) is None


@pytest.mark.parametrize("name", sorted(TOOLS.keys() - {"hive"}))  # which has a parser of its own
def test_help_is_scrapys(name, monkeypatch, capsys):
    """Scrapy's parser and formatter print the same help of a command as is printed without them."""
    monkeypatch.setenv("COLUMNS", "80")
    theirs = ScrapyArgumentParser(
        formatter_class=ScrapyHelpFormatter,
        usage=f"scrapy {name} {TOOLS[name].syntax()}",
        conflict_handler="resolve",
        description=TOOLS[name].long_desc(),
    )
    TOOLS[name].add_options(theirs)

    with pytest.raises(SystemExit):
        run_tool([name, "--help"])
    assert capsys.readouterr().out == theirs.format_help()


def test_the_options_of_all_commands_are_scrapys():
    """Each has Scrapy's names, default and number of words."""

    def options(kind):
        parser, command = argparse.ArgumentParser(), kind()
        command.settings = Settings()
        kind.add_options(command, parser)
        return {
            (*one.option_strings, one.dest, str(one.default), one.nargs, type(one).__name__)
            for one in parser._actions
        }

    class Theirs(ScrapyCommand):
        def short_desc(self):
            return ""

        def run(self, args, opts):
            """Never."""

    assert options(ToolCommand) == options(Theirs)
