"""Documentation that cannot rot: what it says of settings, benchmarks and files is compared with the code."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.make_settings import made, stub
from tests.support.commands import command
from tests.support.places import ROOT
from webcrawl.base import settings
from webcrawl.crawl.control import in_force, sheets

SETTINGS = {name: one.default for name, one in settings.SETTINGS.items()}
PAGES = [
    page
    for page in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "seeds/README.md")
    if page.exists()
]


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


BENCHMARKS = sorted(
    path.stem for path in (ROOT / "benchmarks").glob("*.py") if "__main__" in path.read_text(encoding="utf-8")
)


def _documented() -> dict[str, list[str]]:
    """The rows of docs/settings.md: default, meaning and what is allowed, by name."""
    text = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z_0-9]+)` \| (.*) \|$", text, re.MULTILINE)
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    longer = {node.targets[0].id: ast.unparse(node.value) for block in blocks for node in ast.parse(block).body}
    cells = {name: row.split(" | ") for name, row in rows}
    return {name: [longer.get(name, row[0].strip("`")), *row[1:]] for name, row in cells.items()}


class TestSettings:
    def test_the_page_is_what_the_table_makes(self):
        """`python docs/make_settings.py` has been run since the table of settings was changed."""
        page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")

        assert page == made(page)
        assert (ROOT / "webcrawl/settings.pyi").read_text(encoding="utf-8") == stub()

    def test_every_setting_has_its_line(self):
        """docs/settings.md has the settings of the table with their defaults, no other, in the same order."""
        rows = _documented()

        assert {name: ast.literal_eval(row[0]) for name, row in rows.items()} == SETTINGS
        assert list(rows) == list(SETTINGS)
        assert all(meaning.endswith(".") and allowed for _, meaning, allowed in rows.values())

    @pytest.mark.parametrize(("heading", "names"), [("## set", in_force.CHANGEABLE), ("### Sheets", sheets.SETTINGS)])
    def test_settings_that_a_command_changes(self, heading, names):
        """docs/control.md has a row for each setting that `set`, and `set --for`, may change, and for no other."""
        page = (ROOT / "docs/control.md").read_text(encoding="utf-8")
        table = page.partition(f"\n{heading}\n")[2].partition("\n##")[0]
        cells = "\n".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE))

        assert sorted(re.findall(r"`([A-Z_]+)`", cells)) == sorted(names)


class TestFiles:
    def test_every_small_value_is_named(self):
        """docs/files.md names each small value that the program keeps in crawl.db, or how such names begin."""
        page = (ROOT / "docs/files.md").read_text(encoding="utf-8")
        table = page.partition("\n### Small values\n")[2].partition("\n##")[0]
        told = re.findall(r"`([^`]+)`", table + "".join(re.findall(r"^\| `segments/state/.*", page, re.MULTILINE)))
        begun = tuple(name.removesuffix("…") for name in told if name.endswith("…"))

        kept = set(_small_values())

        assert len(kept) > 50
        assert sorted(name for name in kept if name not in told and not name.startswith(begun)) == []


def _small_values() -> Iterator[str]:
    """What is given to `CrawlDB.set`, if it is a literal or a constant, or begins with one."""
    for file in sorted((ROOT / "webcrawl").rglob("*.py")):
        for name, literal in re.findall(r"db\.set\((?:f?\"\{)?(?:([A-Z_]+)\b|\"(\w+)\")", file.read_text("utf-8")):
            module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
            yield literal or getattr(importlib.import_module(module), name)


class TestBenchmarks:
    @pytest.mark.parametrize("name", BENCHMARKS)
    def test_every_benchmark_is_documented(self, name):
        """docs/performance.md names the command of each benchmark."""
        assert f"benchmarks.{name}" in (ROOT / "docs/performance.md").read_text(encoding="utf-8")

    @pytest.mark.campaign
    @pytest.mark.parametrize("name", BENCHMARKS)
    def test_every_benchmark_helps(self, name):
        """Each benchmark says by `--help` what it measures and what it can be told."""
        done = command(f"benchmarks.{name}", "--help")

        said = done.stdout
        assert done.returncode == 0
        assert f"benchmarks.{name}" in said or f"{name}.py" in said

    @pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name != "decisions"], ids=_name)
    def test_named_benchmarks_exist(self, page):
        """A page names no benchmark that is gone; decisions do, for their figures are of their time."""
        named = set(re.findall(r"-m benchmarks\.(\w+)", page.read_text(encoding="utf-8")))

        assert page.name == "CHANGELOG.md" or named <= {*BENCHMARKS, "peers"}

    def test_the_suite_is_documented(self):
        """`python -m benchmarks` runs them as one; docs/performance.md and the README name it, and it helps."""
        done = command("benchmarks", "--help")

        said = done.stdout
        assert done.returncode == 0
        assert "usage: python -m benchmarks " in said
        for page in ("docs/performance.md", "README.md"):
            assert "`python -m benchmarks`" in (ROOT / page).read_text(encoding="utf-8")


class TestLinks:
    @pytest.mark.parametrize("page", PAGES, ids=_name)
    def test_links_lead_to_files(self, page):
        """A relative link of a page leads to a file, and to a heading of it where it names one."""
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        links = re.findall(r"\[[^]]*\]\(([^)\s]+)\)", text)

        missing = [link for link in links if "://" not in link and not _leads_somewhere(page, link)]

        assert missing == []

    def test_pages_that_code_names_exist(self):
        """A docstring or message that sends its reader to a page of docs/ sends them to one that is there."""
        files = [file for room in ("webcrawl", "tests", "benchmarks") for file in sorted((ROOT / room).rglob("*.py"))]
        named = {
            (page, file) for file in files for page in re.findall(r"\bdocs/[\w/-]+\.md\b", file.read_text("utf-8"))
        }

        assert [f"{page}, of {_name(file)}" for page, file in sorted(named) if not (ROOT / page).exists()] == []


def _leads_somewhere(page: Path, link: str) -> bool:
    path, _, heading = link.partition("#")
    target = page.parent / path if path else page
    if not target.exists():
        return False
    titles = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE) if heading else []
    return not heading or heading in [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
