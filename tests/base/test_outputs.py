"""OUTPUTS names what a crawl writes, and stands for pipelines of the crawl's own."""

from importlib import import_module

import pytest
from scrapy.settings import Settings

from webcrawl import settings as defaults
from webcrawl.adapter.pipelines.outputs import LinkLogPipeline
from webcrawl.adapter.values import plain_values
from webcrawl.base.loading import load
from webcrawl.base.outputs import NAMES, PIPELINES
from webcrawl.crawl.checks import SettingError

LINKS, WARC = PIPELINES["links"][0], PIPELINES["warc"][0]


def written(**given):
    """What a crawl with these settings writes."""
    settings = Settings()
    settings.setmodule(defaults)
    settings.setdict(given, "cmdline")
    return plain_values(settings, "web")["OUTPUTS"]


def test_the_archive_and_its_index_unless_told_otherwise():
    """Nothing else costs a page time."""
    assert written() == ("warc", "cdxj")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("links WARC,cdxj", ("warc", "cdxj", "links")),
        (["links"], ("links",)),
        ("none", ()),
        ("", ()),
        ("warc warc", ("warc",)),
        ("index", ("text", "index")),
    ],
)
def test_some_or_none(value, found):
    """In any order and case, as text or as a list."""
    assert written(OUTPUTS=value) == found


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("warc texts", "unknown: 'texts'"),
        ("warc none", "unknown: 'none'"),
        ("cdxj", "cdxj needs warc as well"),
        (7, ""),
    ],
)
def test_what_cannot_be_is_refused(value, why):
    """In one line that says which outputs exist."""
    with pytest.raises(SettingError) as refused:
        written(OUTPUTS=value)

    line = f"OUTPUTS = {value!r}: must be some of {', '.join(NAMES)} and dotted paths of your own, or none"
    assert str(refused.value) == line + (f" ({why})" if why else "")


def test_changes_are_of_pages_that_are_fetched_again():
    """A crawl that fetches none again would write nothing, and says so before it starts."""
    assert written(OUTPUTS="changes", REVISIT_POLICY="fixed") == ("changes",)
    with pytest.raises(
        SettingError,
        match=r"changes.*REVISIT_POLICY must be set \(without REVISIT_POLICY no page is fetched again",
    ):
        written(OUTPUTS="changes")


def test_what_an_output_lacks_is_named(monkeypatch):
    """All of its libraries that are not installed, with the command that installs them."""
    # its package has a function of the same name
    checking = import_module("webcrawl.crawl.checks.check")
    monkeypatch.setattr(
        checking, "find_spec", lambda library: None if library != "pyarrow" else library
    )
    with pytest.raises(
        SettingError, match=r"\(trafilatura and resiliparse are not installed: pip .*resili.*'\)"
    ):
        written(OUTPUTS="documents")


@pytest.mark.parametrize("pipeline", [LINKS, LinkLogPipeline], ids=["by its path", "as a class"])
def test_item_pipelines_may_name_one(pipeline):
    """Its output is then written, whatever OUTPUTS says, and the pipeline stands in the list once."""
    assert written(ITEM_PIPELINES={pipeline: 300}) == ("warc", "cdxj", "links")
    assert written(ITEM_PIPELINES={pipeline: 300}, OUTPUTS="links") == ("links",)


@pytest.mark.parametrize("place", [100, 300])
def test_once_and_where_it_was_put(place):
    """Scrapy keeps the place that the user gave."""
    settings = Settings()
    settings.setmodule(defaults)
    settings.set("ITEM_PIPELINES", {LinkLogPipeline: place}, "cmdline")
    found = settings.get_component_priority_dict_with_base("ITEM_PIPELINES")

    assert [order for path, order in found.items() if path in (LINKS, LinkLogPipeline)] == [place]


def test_item_pipelines_may_switch_one_off():
    """With None its outputs are not written, nor those beside it."""
    assert written(OUTPUTS="warc cdxj links", ITEM_PIPELINES={WARC: None}) == ("links",)


def test_settings_repeat_the_table():
    """Each pipeline of the table exists and has its place in ITEM_PIPELINES_BASE."""
    others = {
        "webcrawl.adapter.pipelines.outputs.NewsPipeline": 200,
        "webcrawl.adapter.pipelines.outputs.OwnOutputsPipeline": 1000,
    }
    assert dict(PIPELINES.values()) | others == defaults.ITEM_PIPELINES_BASE
    for path in defaults.ITEM_PIPELINES_BASE:
        assert callable(load(path))
