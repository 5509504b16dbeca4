"""The moments of a crawl (docs/design.md), and the features that take part at them."""

import pytest

from tests.crawl.test_assembly import values
from tests.support.places import ROOT
from tests.support.snippets import example
from webcrawl.crawl.assembly import assemble
from webcrawl.crawl.moments import MOMENTS, Moments

OF_FRONTIER = {"both.<locals>.heard": "Reputation"}  # with what prioritizers learn


def joined(folder):
    """Whoever is in the lists of a crawl, with the moments."""
    crawl, _ = assemble(values(folder), spider="web")
    found = {}
    for moment in MOMENTS:
        for call in getattr(crawl.parts.moments, moment):
            owner = getattr(call, "__self__", None)
            name = type(owner).__name__ if owner is not None else OF_FRONTIER[call.__qualname__]
            found.setdefault(name, set()).add(moment)
    crawl.close()
    return found


@pytest.mark.parametrize("name", sorted(set(MOMENTS) - {"heard"}))
def test_a_crawl_with_the_defaults_has_short_lists(tmp_path, name):
    """What is off is in no list: a page's way has the kernel's own parts, and what the defaults want."""
    always = {"RobotsAdmission", "Ending", "Statistics", "SavedStatistics", "Sitemaps", "ReadCopies"}
    assert {feature for feature, at in joined(tmp_path).items() if name in at} <= always


def test_every_moment_has_a_list():
    """`join` finds one for each name, and there is none that no method can be in."""
    assert {*vars(Moments())} == {*MOMENTS}


def test_the_example_is_the_one_in_its_folder():
    """docs/extending.md shows what docs/examples/feature has, which a test runs."""
    file = ROOT / "docs/examples/feature/ten_of_a_language.py"
    assert example("docs/extending.md", "TenOfALanguage") == file.read_text(encoding="utf-8")
