"""What `pip install` brings to other projects on the machine: a few commands that cost them
nothing.
"""

import subprocess
import sys
import tomllib
from importlib import import_module

import pytest
from scrapy.utils.misc import walk_modules_iter

import webcrawl
from tests.support.places import ROOT
from webcrawl import settings

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
COMMANDS = PROJECT["entry-points"]["scrapy.commands"]
HEAVY = {
    "numpy",
    "ada_url",
    "selectolax",
    "pycares",
    "webcrawl.crawl.crawl",
    "webcrawl.store.crawldb",
    "twisted.internet.reactor",
}


def test_few_commands_are_brought():
    """Every project on the machine gets at most eight commands, of names that Scrapy does not have.

    They are those that a project with the add-on needs: all others are commands of `webcrawl`.
    """
    assert len(COMMANDS) <= 8
    assert COMMANDS.keys() <= commands("webcrawl.commands") - commands("scrapy.commands")
    assert not any(command.requires_project for command in map(loaded, COMMANDS.values()))


def test_commands_are_named_after_their_modules():
    """So that they have one name in webcrawl's own project and elsewhere."""
    rooms = ("tools", "lab")
    assert all(
        path in [f"webcrawl.{room}.commands.{name}:Command" for room in rooms]
        for name, path in COMMANDS.items()
    )


def test_commands_are_light():
    """Scrapy imports all of them for each command of any project: they load no reactor, and nothing
    that takes long.
    """
    modules = [path.partition(":")[0] for path in COMMANDS.values()]
    code = f"import sys, scrapy.cmdline, {', '.join(modules)}; sys.exit(str({HEAVY!r} & set(sys.modules) or ''))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )

    assert (run.returncode, run.stderr.strip()) == (1, "")


@pytest.mark.parametrize(
    "words", [["-c", "from webcrawl.__main__ import main; main()"], ["-m", "webcrawl"]]
)
def test_the_version_has_one_place(words):
    """It is the package's; the command says it, and the crawler's name begins with it."""
    words = [sys.executable, *words, "--version"]
    said = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT).stdout

    assert said == f"webcrawl {webcrawl.__version__}\n"
    assert f"{webcrawl.__version__}.".startswith(
        settings.USER_AGENT.removeprefix("webcrawl/") + "."
    )
    assert "version" in PROJECT["dynamic"]


def test_the_command_has_webcrawls_settings_in_any_folder(tmp_path):
    """`webcrawl` crawls as webcrawl's own project does, in an empty folder and in another
    project's.
    """
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = nowhere.settings\n")
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from webcrawl.__main__ import main; main()"
    )
    words = [sys.executable, "-c", code, "list"]
    run = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (run.returncode, run.stdout, run.stderr) == (0, "walk\nweb\n", "")


def test_an_unknown_name_of_the_package():
    """Only what is imported on demand is there on demand."""
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        webcrawl.Nothing  # noqa: B018


def commands(package):
    """The names of the commands of a package's modules."""
    modules = [module for module in walk_modules_iter(package) if hasattr(module, "Command")]
    return {module.__name__.rpartition(".")[2] for module in modules}


def loaded(path):
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
