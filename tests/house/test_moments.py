"""The moments of a crawl (docs/architecture.md), and the features that take part at them."""

import pytest

from tests.crawl.test_assembly import values
from tests.support.places import ROOT
from tests.support.snippets import example
from webcrawl.base.errors import RulesError
from webcrawl.crawl.assembly import assemble
from webcrawl.crawl.moments import MOMENTS, Feature, Moments

OF_FRONTIER = {"both.<locals>.call_both": "Reputation"}  # with what prioritizers learn


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


@pytest.mark.parametrize("name", sorted(set(MOMENTS) - {"on_links"}))
def test_a_crawl_with_the_defaults_has_short_lists(tmp_path, name):
    """What is off is in no list: a page's way has the kernel's own parts, and what the defaults
    want.
    """
    always = {
        "RobotsAdmission",
        "CrawlEnd",
        "Statistics",
        "SavedStatistics",
        "Sitemaps",
        "ReadCopies",
    }
    assert {feature for feature, at in joined(tmp_path).items() if name in at} <= always


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_feature_is_called_at_the_moments_whose_methods_it_overrides(moment):
    """And at no other: what nobody overrides is in no list."""
    feature = type("One", (Feature,), {moment: lambda self: self})()
    moments = Moments()
    moments.join(feature)

    assert {name: [call() for call in calls] for name, calls in vars(moments).items() if calls} == {
        moment: [feature]
    }


def test_every_method_of_a_feature_is_a_moment():
    """There is none that `join` would leave out."""
    assert {name for name in dir(Feature) if name[0] != "_"} == {*MOMENTS}


@pytest.mark.parametrize(
    ("name", "meant"), [("on_end", "on_ended"), ("next_headings", "next_headers")]
)
def test_a_misspelt_moment_is_refused(name, meant):
    """A method that is named like a moment's would never be called, and nothing else would say so."""
    feature = type("One", (Feature,), {name: lambda self: self})()

    with pytest.raises(
        RulesError, match=rf"^One\.{name} is never called: .* Did you mean {meant}\?$"
    ):
        Moments().join(feature)


def test_the_example_is_the_one_in_its_folder():
    """docs/features.md shows what docs/examples/feature has, which a test runs."""
    file = ROOT / "docs/examples/feature/ten_of_a_language.py"
    assert example("docs/features.md", "TenOfALanguage") == file.read_text(encoding="utf-8")
