"""Optional libraries: what to install for each, and nothing of a stranger's."""

import re
import subprocess
import tomllib

import pytest

from tests.support.places import ROOT
from webcrawl.base.loading import BOUNDS, MissingLibraryError, install, missing

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]
# An install line that would fetch the package that has this project's name on a package index.
STRANGER = re.compile(
    r"(?:pip|pipx|uv add|uv tool) install\b[^\n`|&;]*[ '\"]webcrawl(?:-mercator)?(?:\[[\w,-]+\])?(?=['\"`\s]|$)"
)


def test_the_table_is_that_of_the_extras():
    """Each extra of pyproject.toml installs what the table says, with the same bounds; h2 is
    required by all.
    """
    required = (ROOT / "requirements.txt").read_text(encoding="utf-8").split()

    assert sorted([*(tuple(extra) for extra in EXTRAS.values()), BOUNDS["h2"]]) == sorted(
        BOUNDS.values()
    )
    assert BOUNDS["h2"][0] in required


def test_the_extras_are_documented():
    """docs/commands.md has a row for each extra, and no other."""
    table = (ROOT / "docs/commands.md").read_text(encoding="utf-8").partition("## Extras\n")[2]

    assert {
        *re.findall(r"`([\w-]+)`", "".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)))
    } == {*EXTRAS}


def test_a_missing_library_is_named_with_its_bounds():
    """The line names the library, and the command that installs it."""
    assert missing("tantivy") == "tantivy is not installed: pip install 'tantivy>=0.27,<0.28'"
    assert install("fsspec") == "pip install 'fsspec>=2025.3' 's3fs>=2025.3'"
    assert install("other") == "pip install 'other'"


def test_what_is_missing_inside_a_library_is_named_as_itself():
    """A library that is there, and lacks one of its own, is not called missing."""
    inside = MissingLibraryError("trafilatura", ModuleNotFoundError("no", name="lxml_html_clean"))

    assert str(inside) == "lxml_html_clean is not installed: pip install 'lxml_html_clean'"
    assert str(MissingLibraryError("trafilatura")).startswith("trafilatura is not installed: ")


@pytest.mark.parametrize(
    "line",
    [
        "pip install webcrawl",
        "pip install 'webcrawl[tables]' duckdb",
        'pip install "webcrawl[index]"',
        "`pip install webcrawl[pdf]`",
        "pip install -U webcrawl\n",
        "pip install webcrawl-mercator",  # until it is published
    ],
)
def test_such_a_line_is_found(line):
    """The rule below finds each of these."""
    assert STRANGER.search(line)


def test_no_line_installs_a_strangers_package():
    """Neither a document nor a message tells anybody to install this project by its name."""
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    texts = {name: (ROOT / name).read_text(encoding="utf-8", errors="replace") for name in files}

    found = {name: one[0] for name, text in texts.items() if (one := STRANGER.search(text))}
    del found["tests/base/test_libraries.py"]
    assert found == {}
