"""Paths that moved: old imports and old states keep working."""

import subprocess
import sys
from importlib import import_module

import pytest
from scrapy.settings import Settings

from tests.support.places import ROOT
from webcrawl import settings
from webcrawl.base import names

COMPONENTS = [
    "webcrawl.addon.WebcrawlAddon",
    "webcrawl.pipelines.warc.WarcPipeline",
    "webcrawl.pipelines.output.open_output",
    "webcrawl.spiders.web.WebSpider",
    "webcrawl.extensions.progress.Progress",
    "webcrawl.fastpath.items.ItemProcessor",
    "webcrawl.seen.disk.DiskSeen",
    "webcrawl.seen.bloom.BloomSeen",
    "webcrawl.seen.caches.clock.ClockCache",
    "webcrawl.revisit.policies.uniform.Uniform",
    "webcrawl.revisit.record.PageRecord",
    "webcrawl.model.Link",
    "webcrawl.html.found.PageLink",
    "webcrawl.neardup.fingerprint.fingerprint",
    "webcrawl.neardup.search.near_duplicates",
    "webcrawl.urls.assembly.build_filters",
    "webcrawl.urls.filters.calendar.CalendarFilter",
    "webcrawl.urls.filters.extension.ExtensionFilter",
    "webcrawl.urls.filters.families.FamiliesFilter",
    "webcrawl.urls.filters.growth.GrowthFilter",
    "webcrawl.urls.filters.known.KnownPathsFilter",
    "webcrawl.urls.filters.length.LengthFilter",
    "webcrawl.urls.filters.port.PortFilter",
    "webcrawl.urls.filters.protocol.UrlFilter",
    "webcrawl.urls.filters.repeats.RepeatsFilter",
    "webcrawl.urls.filters.scheme.SchemeFilter",
    "webcrawl.control.errors.CommandError",
    "webcrawl.commands.verify.Command",
    "webcrawl.commands.demo.Command",
]


@pytest.mark.parametrize("path", COMPONENTS)
def test_an_old_path_names_the_same_object(path):
    """What was documented under an old path is the very object of the new one, not a copy."""
    (old, name), new = path.rsplit(".", 1), names.current(path)

    assert new != path
    assert getattr(import_module(old), name) is getattr(import_module(new.rsplit(".", 1)[0]), name)


@pytest.mark.parametrize("path", ["webcrawl.items.Page", "webcrawl.WebcrawlAddon", "webcrawl.settings.JOBDIR"])
def test_a_path_that_stays(path):
    """The modules beside the rooms keep their paths."""
    module, name = path.rsplit(".", 1)

    assert names.current(path) == path
    assert hasattr(import_module(module), name)


FRESH = """
import os, sys
from importlib import import_module
import scrapy.cmdline  # once for all of them
from webcrawl.base import names
for old, new in names.MOVED.items():
    if child := os.fork():
        status = os.waitpid(child, 0)[1]
        if status:
            print(old)
    else:
        try:
            same = import_module(old) is import_module(new)
            os._exit(not (same or old in names.STAY))
        except Exception:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(1)
"""


def test_every_row_leads_to_a_module():
    """Each new path of the table can be imported, and so can the old one, in a process that has imported neither."""
    run = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=False, cwd=ROOT)

    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_names_go_both_ways():
    """A state keeps the former name, and what reads it has the current one."""
    old, new = "webcrawl.pipelines.tags.TagsPipeline", "webcrawl.adapter.pipelines.tags.TagsPipeline"

    assert (names.current(old), names.former(new)) == (new, old)
    assert names.current(new) == new
    assert names.former(old) == old


def test_a_merged_module_has_no_former_name():
    """Of several modules that became one, none is the former name of the one."""
    merged = "webcrawl.urls.filters.traps.RepeatsFilter"

    assert names.former(merged) == merged
    assert names.current("webcrawl.urls.filters.repeats.RepeatsFilter") == merged


def test_only_whole_words_are_names():
    """Longer words, and names of other packages, stay as they are."""
    for text in ("webcrawl.seeds_of", "mywebcrawl.seen", "other.webcrawl.seen", "webcrawl.unknown"):
        assert names.current(text) == text


def test_a_moved_module_keeps_its_own_spec():
    """Resources are found by the place where a module is, whatever name imported it first."""
    code = (
        "import webcrawl.pipelines.warc, sys; module = sys.modules['webcrawl.adapter.pipelines.warc']; "
        "assert module.__spec__.name == module.__name__ == 'webcrawl.adapter.pipelines.warc'"
    )

    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.parametrize("setting", ["EXTENSIONS", "ITEM_PIPELINES"])
def test_a_component_is_switched_off_by_its_old_path(setting):
    """A project that has None for a component under the path of before is without it."""
    given = Settings()
    given.setmodule(settings)
    path = max(path for path, order in given[f"{setting}_BASE"].items() if order and path.startswith("webcrawl."))
    given.set(setting, {names.former(path): None}, "cmdline")

    found = given.get_component_priority_dict_with_base(setting)

    kinds = [one if isinstance(one, str) else names.path_of(one) for one, order in found.items() if order is not None]
    assert names.former(path) != path
    assert path not in kinds
