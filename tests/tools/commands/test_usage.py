"""Arguments that a command does not take."""

import subprocess
import sys
from itertools import pairwise

import pytest
from scrapy.cmdline import ScrapyArgumentParser, _get_commands_from_module
from scrapy.commands import ScrapyHelpFormatter
from scrapy.settings import Settings

from tests.support.commands import command
from tests.support.places import ROOT
from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.crawl.control.commands import COMMANDS

HEADINGS = {
    "Usage",
    "Commands",
    "Options",
    "Global Options",  # of commands that crawl
    "The Crawl",
    "Arguments Of The Spider Web",
}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["verify"], "one folder: scrapy verify JOBDIR"),
        (["verify", "a", "b"], "one folder: scrapy verify JOBDIR"),
        (["verify", ""], "one folder: scrapy verify JOBDIR"),
        (["export", "wacz"], "one folder: scrapy export wacz JOBDIR"),
        (["export", "wacz", "a", "b"], "one folder: scrapy export wacz JOBDIR"),
        (["verify", "a", "--bogus"], "unknown option --bogus"),
        (["export", "wacz", "a", "--bogus"], "unknown option --bogus"),
        (["demo", "extra"], "unexpected argument: extra"),
        (["lab", "simweb", "extra"], "unexpected argument: extra"),
    ],
)
def test_wrong_arguments_end_with_one_line(words, line):
    """The usage comes first, what is wrong last, on standard error, and the exit status is 2."""
    done = command("scrapy", *words)

    assert (done.returncode, done.stdout) == (2, "")
    first, *_, last = done.stderr.splitlines()
    assert first == "Usage"
    assert last.endswith(f": error: {line}")


@pytest.mark.parametrize("name", ["crawl", "demo", "fetch", "hive", "process", "runspider", "why"])
def test_usage_names_the_program(name):
    """Usage says `webcrawl`, if that is what the user has run, for commands that Scrapy runs too."""
    done = command("webcrawl", name, "-h")

    assert (done.returncode, done.stdout.splitlines()[2][: len(name) + 11]) == (
        0,
        f"  webcrawl {name}",
    )


def test_the_arguments_of_the_spider_are_in_its_help():
    """`scrapy crawl -h` says what may follow -a."""
    done = command("scrapy", "crawl", "-h")

    said = " ".join(done.stdout.split())
    assert done.returncode == 0
    assert all(f"-a {name}=" in said for name in WebSpider.known_arguments())


@pytest.mark.parametrize(
    "name", sorted(_get_commands_from_module("webcrawl.commands", inproject=True))
)
def test_only_headings_are_underlined(name, monkeypatch):
    """Scrapy's formatter takes each line that ends with a colon for one, so no text may break
    there.
    """
    monkeypatch.setenv("COLUMNS", "80")
    parser = ScrapyArgumentParser(
        prog="scrapy", formatter_class=ScrapyHelpFormatter, conflict_handler="resolve"
    )
    made = _get_commands_from_module("webcrawl.commands", inproject=True)[name]
    made.settings = Settings()
    made.add_options(parser)

    lines = parser.format_help().splitlines()
    headings = {before for before, line in pairwise(lines) if line and not line.strip("=-")}
    assert {line for line in headings if line.startswith(" ") or line not in HEADINGS} == set()


def test_the_commands_of_ctl_are_in_columns():
    """`scrapy ctl -h` explains all commands in one column, whatever is before it."""
    done = command("scrapy", "ctl", "-h")

    explained = {line[35:] for line in done.stdout.splitlines() if line[34:35] == " "}
    assert done.returncode == 0
    assert {one.says for one in COMMANDS.values()} <= explained


def test_a_command_loads_no_crawl():
    """What only a crawl needs is not loaded for other commands: Scrapy imports the module of each
    of them.
    """
    code = "import atexit, sys, scrapy.cmdline; atexit.register(lambda: print(*sys.modules)); scrapy.cmdline.execute()"
    done = subprocess.run(
        [sys.executable, "-c", code, "version"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = set(done.stdout.splitlines()[-1].split())
    assert "webcrawl.tools.commands.crawl" in loaded
    assert (
        loaded
        & {
            "webcrawl.adapter.scheduler",
            "webcrawl.crawl.assembly",
            "webcrawl.adapter.spiders.web",
            "numpy",
        }
        == set()
    )


@pytest.mark.parametrize(
    "words",
    ["ctl {} status", "dashboard {} --port 0", "export documents {}", "why {} http://a.test/"],
)
def test_a_folder_that_cannot_be_looked_at(tmp_path, words):
    """What the system says of it is the one line, whoever asks it."""
    done = command("webcrawl", *words.format(tmp_path / ("x" * 300)).split())

    assert (done.returncode > 0, done.stdout) == (True, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(str(tmp_path))
    assert line.endswith(": File name too long")


@pytest.mark.parametrize("words", ["report {}", "export wacz {}"])
def test_a_link_to_itself(tmp_path, words):
    """What the system says of it is the one line, with each release of Python."""
    link = tmp_path / "link"
    link.symlink_to(link)
    done = command("webcrawl", *words.format(link).split())

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{link}/hive.json: Too many levels of symbolic links\n"
