"""Documentation that cannot rot: what it says of settings, benchmarks and files is compared with
the code.
"""

import re
from pathlib import Path

import pytest

from docs import make_commands
from docs.make_inside import PAGES as INSIDE
from docs.make_lists import pages
from docs.make_pictures import PICTURES
from docs.make_settings import made, stub
from tests.campaign.page import page as campaign_page
from tests.campaign.page import plot_of_kills
from tests.campaign.results import Results
from tests.support.commands import command
from tests.support.places import ROOT

PAGES = [
    page
    for page in (
        *sorted(ROOT.glob("*.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
        ROOT / "seeds/README.md",
    )
    if page.exists()
]


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


BENCHMARKS = sorted(
    path.stem
    for path in (ROOT / "benchmarks").glob("*.py")
    if "__main__" in path.read_text(encoding="utf-8")
)


class TestSettings:
    def test_the_page_is_what_the_table_makes(self):
        """`python docs/make_settings.py` has been run since the table of settings was changed."""
        page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")

        assert page == made(page)
        assert (ROOT / "webcrawl/settings.pyi").read_text(encoding="utf-8") == stub()


class TestReference:
    @pytest.mark.parametrize("name", ["commands", "metrics"])
    def test_the_page_is_what_the_code_makes(self, name):
        """`python docs/make_commands.py` has been run since commands or metrics were changed."""
        page = (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")

        assert page == getattr(make_commands, name)(page)

    @pytest.mark.parametrize("page", INSIDE)
    def test_pages_made_from_code_are_current(self, page):
        """`python docs/make_inside.py` has been run since the code that the page is made of changed."""
        assert (ROOT / "docs" / page).read_text(encoding="utf-8") == INSIDE[page]()

    @pytest.mark.parametrize("page", pages())
    def test_lists_are_what_the_code_says(self, page):
        """`python docs/make_lists.py` has been run since the code was changed."""
        assert (ROOT / "docs" / page).read_text(encoding="utf-8") == pages()[page]


class TestPictures:
    @pytest.mark.parametrize("name", PICTURES)
    def test_the_picture_is_what_its_program_draws(self, name):
        """`python docs/make_pictures.py` has been run since what the picture shows was changed."""
        picture = ROOT / f"docs/pictures/{name}.svg"

        assert picture.read_text(encoding="utf-8") == PICTURES[name]()

    def test_the_campaign_is_what_its_results_make(self):
        """docs/campaign.md and its picture show docs/campaign.jsonl."""
        results = [*Results(ROOT / "docs/campaign.jsonl").last.values()]

        assert (ROOT / "docs/campaign.md").read_text(encoding="utf-8") == campaign_page(results)
        assert (ROOT / "docs/campaign.svg").read_text(encoding="utf-8") == plot_of_kills(results)

    def test_every_picture_has_a_program(self):
        """No picture of docs/pictures/ is left without the module that drew it."""
        drawn = {path.stem for path in (ROOT / "docs/pictures").glob("*.svg")}

        assert drawn == {*PICTURES}


class TestBenchmarks:
    @pytest.mark.campaign
    @pytest.mark.parametrize("name", BENCHMARKS)
    def test_every_benchmark_helps(self, name):
        """Each benchmark says by `--help` what it measures and what it can be told."""
        done = command(f"benchmarks.{name}", "--help")

        said = done.stdout
        assert done.returncode == 0
        assert f"benchmarks.{name}" in said or f"{name}.py" in said

    @pytest.mark.parametrize("page", PAGES, ids=_name)
    def test_named_benchmarks_exist(self, page):
        """A page names no benchmark that is gone."""
        named = set(re.findall(r"-m benchmarks\.(\w+)", page.read_text(encoding="utf-8")))

        assert named <= {*BENCHMARKS, "peers"}

    def test_the_suite_helps(self):
        """`python -m benchmarks` runs them as one."""
        done = command("benchmarks", "--help")

        assert done.returncode == 0
        assert "usage: python -m benchmarks " in done.stdout


class TestTables:
    def test_rows_stand_below_a_head(self):
        """Rows after a blank line, without a head, are shown as text with bars in it."""
        blocks = [
            (_name(page), block)
            for page in PAGES
            for block in page.read_text(encoding="utf-8").split("\n\n")
            if block.startswith("|")
        ]

        assert [
            (page, block) for page, block in blocks if not re.match(r"\|.*\n\|[-:| ]+(\n|$)", block)
        ] == []


class TestLinks:
    @pytest.mark.parametrize("page", PAGES, ids=_name)
    def test_links_lead_to_files(self, page):
        """A relative link of a page leads to a file, and to a heading of it where it names one."""
        text = re.sub(
            r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
        )
        links = re.findall(r"\[[^]]*\]\(([^)\s]+)\)", text)

        missing = [link for link in links if "://" not in link and not _leads_somewhere(page, link)]

        assert missing == []

    def test_pages_that_code_names_exist(self):
        """A docstring or message that sends its reader to a page of docs/ sends them to one that is
        there.
        """
        files = [
            file
            for room in ("webcrawl", "tests", "benchmarks")
            for file in sorted((ROOT / room).rglob("*.py"))
        ]
        named = {
            (page, file)
            for file in files
            for page in re.findall(r"\bdocs/[\w/-]+\.md\b", file.read_text("utf-8"))
        }

        assert [
            f"{page}, of {_name(file)}"
            for page, file in sorted(named)
            if not (ROOT / page).exists()
        ] == []


def _leads_somewhere(page: Path, link: str) -> bool:
    path, _, heading = link.partition("#")
    target = page.parent / path if path else page
    if not target.exists():
        return False
    titles = (
        re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
        if heading
        else []
    )
    return not heading or heading in [
        re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles
    ]
