"""docs/design.md says which feature takes part at which moment, docs/extending.md which moments are for users' own."""

import re

import pytest

from tests.crawl.test_assembly import values
from tests.support.places import ROOT
from tests.support.snippets import example
from webcrawl.adapter.download_moments import DownloadMoments
from webcrawl.crawl.assembly import assemble
from webcrawl.crawl.moments import MOMENTS, Moments
from webcrawl.crawl.own_features import OWN

DESIGN = (ROOT / "docs/design.md").read_text(encoding="utf-8").partition("## Features and moments")[2]
TABLE = DESIGN.partition("\n## ")[0]
FEATURES, _, DOWNLOADS = TABLE.partition("| moment |")
EXTENDING = (ROOT / "docs/extending.md").read_text(encoding="utf-8").partition("## A feature of your own")[2]
ALL = {  # all features that need nothing but settings
    "REVISIT_POLICY": "webcrawl.crawl.revisit.optimal.Optimal",
    "SCORER": "tests.support.scorers.picky",
    "FRONTIER_PRIORITIZER": "webcrawl.frontier.prioritizers.focus.ByFocus",
    "URL_TRACE": True,
    "REQUISITES": True,
}
OF_FRONTIER = {"both.<locals>.heard": "Reputation"}  # with what prioritizers learn


def rows():
    """The table: the moments of each feature."""
    head, *lines = [re.split(r" ?\| ?", line)[1:-1] for line in FEATURES.splitlines() if line.startswith("| ")]
    names = [name.strip("`") for name in head[1:]]
    found = {}
    for feature, *cells in lines:
        took = dict(zip(names, cells, strict=True))
        found[re.sub(r".*:([\w.]+)`.*", r"\1", feature)] = {name for name, cell in took.items() if cell == "x"}
    return found


def joined(folder, **more):
    """Whoever is in the lists of a crawl, with the moments."""
    crawl, _ = assemble({**values(folder), **more}, spider="web")
    found = {}
    for moment in MOMENTS:
        for call in getattr(crawl.parts.moments, moment):
            owner = getattr(call, "__self__", None)
            name = type(owner).__name__ if owner is not None else OF_FRONTIER[call.__qualname__]
            found.setdefault(name, set()).add(moment)
    crawl.close()
    return found


def test_a_crawl_with_all_features_is_the_table(tmp_path):
    """Each class that takes part has its row, with the moments at which it does, and the other way round."""
    elsewhere = {"Post", "Storing"}  # join where there is a server, or a store
    assert joined(tmp_path, **ALL) == {name: at for name, at in rows().items() if name not in elsewhere}


@pytest.mark.parametrize("name", sorted(set(MOMENTS) - {"heard"}))
def test_a_crawl_with_the_defaults_has_short_lists(tmp_path, name):
    """What is off is in no list: a page's way has the kernel's own parts, and what the defaults want."""
    always = {"RobotsAdmission", "Ending", "Statistics", "SavedStatistics", "Sitemaps", "ReadCopies"}
    assert {feature for feature, at in joined(tmp_path).items() if name in at} <= always


def test_every_moment_has_a_list():
    """`join` finds one for each name, and there is none that no method can be in."""
    assert {*vars(Moments())} == {*MOMENTS}


def test_the_moments_of_a_download_are_told():
    """The second table has each of them."""
    named = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", DOWNLOADS, re.MULTILINE)))
    assert sorted(named) == sorted(vars(DownloadMoments()))


def test_the_moments_of_users_are_told():
    """The table of docs/extending.md has those that a feature of the user's own may have, and `state`."""
    table = EXTENDING.partition("| moment |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)\(", table, re.MULTILINE) == [*OWN, "state"]


def test_the_example_is_the_one_in_its_folder():
    """docs/extending.md shows what docs/examples/feature has, which a test runs."""
    file = ROOT / "docs/examples/feature/ten_of_a_language.py"
    assert example("docs/extending.md", "TenOfALanguage") == file.read_text(encoding="utf-8")
