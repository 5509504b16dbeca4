"""The protocol that outputs of the crawl's own and pipelines of users have in common."""

from importlib import import_module

import pytest

from webcrawl.crawl.outputs.output import Output
from webcrawl.crawl.outputs.output_protocol import (
    PIPELINE_NAMES,
    TakesPages,
    hooks_of,
    is_module,
    takes_part,
)
from webcrawl.crawl.standalone import OUTPUTS

BOTH = {"checkpoint": print, "restore": print}


def kind(names):
    return type("Kind", (), names)()


def own_outputs():
    for name, path in OUTPUTS.items():
        file, _, kind_name = path.partition(".")
        module = import_module(f"webcrawl.crawl.outputs.{file}")
        yield pytest.param(getattr(module, kind_name), id=name)


@pytest.mark.parametrize("output", [*own_outputs()])
def test_an_output_of_the_crawls_own(output):
    """It derives from Output, and has both hooks of the checkpoint or none; a module gets pages."""
    assert issubclass(output, Output)
    assert len(hooks_of(output)) in (0, 2)
    assert isinstance(output, TakesPages) or not hasattr(output, "content_types")


def test_a_module_names_types():
    """A pipeline without `content_types`, or without `process_item`, is none."""
    names = {"content_types": ("*/*",), "process_item": print}
    kinds = [
        names,
        {"content_types": ("*/*",)},
        {"process_item": print},
        {**names, "content_types": None},
    ]
    assert [is_module(kind(one)) for one in kinds] == [True, False, False, False]


@pytest.mark.parametrize(
    ("names", "has_part"),
    [(BOTH, True), ({}, False), ({"restore": print}, False), ({**BOTH, "restore": 1}, False)],
)
def test_a_place_in_checkpoints_takes_both_hooks(names, has_part):
    """With one hook alone a position could be saved and not restored, or the reverse."""
    assert takes_part(kind(names)) is has_part


def test_the_names_of_a_pipeline():
    """A name that is nearly one of these is reported, so each name of the protocols is there."""
    assert set(PIPELINE_NAMES) == {
        "from_crawler",
        "open_spider",
        "process_item",
        "close_spider",
        "content_types",
        "unchanged",
        "checkpoint",
        "restore",
    }
