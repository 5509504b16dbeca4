"""Private names of others are used in fastpath/ only, and none of their methods is replaced
elsewhere.
"""

import ast
import importlib
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from tests.support import house
from webcrawl.adapter.fastpath.names import PRIVATE, UNDOCUMENTED

# Documented though underscored (functions of sys and os), or the only names of classes for hints
# (lxml, google-re2).
DOCUMENTED = {"_getframe", "_current_frames", "_exit", "_Element", "_FeedParser", "_Regexp"}
OPTIONAL = {  # what a module needs that not everybody has installed
    "webcrawl.adapter.browser": "scrapy_playwright",
    "webcrawl.adapter.browser_page": "playwright",
}
OUTSIDE = [path for path in house.sources() if not house.is_fast_path(house.module_of(path))]
INSIDE = [path for path in house.sources() if house.is_fast_path(house.module_of(path))]
MODULES = [house.module_of(path) for path in OUTSIDE]
pytestmark = pytest.mark.xdist_group("house")  # one process reads the code, once


def broken(text):
    return ast.parse(text)


def by_module(rule):
    """What the rule finds in each module outside the fast path, if anything."""
    return {house.module_of(path): found for path in OUTSIDE if (found := rule(house.parsed(path)))}


class TestOutsideTheFastPath:
    def test_no_private_name_of_another(self):
        """No module touches an underscored attribute of an object whose class it does not define,
        or imports one.
        """

        def private(tree):
            return [
                (line, name) for line, name in house.foreign_private(tree) if name not in DOCUMENTED
            ]

        assert by_module(private) == {}

    def test_no_method_of_another_is_replaced(self):
        """No module assigns to a method of an object of Scrapy's."""
        methods = house.scrapys_methods()

        assert by_module(lambda tree: house.replaced_methods(tree, methods)) == {}

    def test_no_private_method_of_another_is_overridden(self):
        """No class overrides a private name of a Scrapy or Twisted class."""
        names = [name for name in MODULES if not name.endswith("__main__")]
        names = [
            name for name in names if name not in OPTIONAL or find_spec(OPTIONAL[name]) is not None
        ]

        assert {
            n: found
            for n in names
            if (found := house.overridden_private(importlib.import_module(n)))
        } == {}

    def test_no_class_in_a_function_overrides_either(self):
        """The same holds for classes that only exist while a function runs."""
        assert by_module(house.nested_overrides) == {}


def test_the_list_of_names_is_whole():
    """Each private name of Scrapy that the fast path uses is in its list, and no other is."""
    used = {name for path in INSIDE for _, name in house.foreign_private(house.parsed(path))}
    # of a base class: they look like its own
    inherited = {"_mw_methods_requiring_spider", "_spider"}

    private = {kind.__name__ for kind in UNDOCUMENTED if kind.__name__.startswith("_")}

    assert used | inherited == {name for names in PRIVATE.values() for name in names} | private


class TestRulesFail:
    """The rules above, broken."""

    @pytest.mark.parametrize(
        "text",
        [
            "crawler.engine._slot",
            "x = self.engine._slot.nextcall",
            "getattr(engine, '_slot')",
            "setattr(engine, '_slot', 1)",
            "scraper._scrape(1)",
            "e = engine\ne._slot",
            "import scrapy\nclass A:\n def __init__(self, engine):\n  self._slot = engine._slot",
            "def f(self):\n return self._check_if_closing",
            "class A(ExecutionEngine):\n def f(self):\n  return self._slot",
            "import scrapy\nvars(engine)['_slot']",
            "import scrapy\nattrgetter('engine._slot')",
            "import scrapy\nname = '_slot'\nsetattr(engine, name, 1)",
            "from scrapy.core.engine import _Slot",
        ],
    )
    def test_a_private_name(self, text):
        assert house.foreign_private(broken(text)) != []

    def test_own_names_are_free(self):
        """What a module's own classes define, other functions of the module may use."""
        assert (
            house.foreign_private(
                broken("class A:\n def __init__(self):\n  self._x = 1\ndef f(a):\n return a._x")
            )
            == []
        )

    @pytest.mark.parametrize(
        "text",
        [
            "engine.close_spider_async = f",
            "slot.close = f",
            "self.engine.scraper.call_spider_async = f",
            "a.crawl_async: object = f",
            "engine.close_spider_async, x = f, 1",
            "del engine.close_spider_async",
            "setattr(engine, 'close_spider_async', f)",
            "setattr(engine, name, f)",
            "engine.__dict__.update(close_spider_async=f)",
            "object.__setattr__(engine, 'close_spider_async', f)",
            "from scrapy.core.engine import ExecutionEngine\nExecutionEngine.crawl = f",
            "import scrapy.utils.defer\nscrapy.utils.defer.deferred_from_coro = f",
        ],
    )
    def test_a_replaced_method(self, text):
        assert house.replaced_methods(broken(text), house.scrapys_methods()) != []

    def test_an_overridden_method_of_a_class_in_a_function(self):
        """A class is found wherever it is defined."""
        text = "from scrapy.core.scraper import Scraper\ndef f():\n class A(Scraper):\n  def _scrape(self): ..."

        assert house.nested_overrides(broken(text)) == ["A._scrape"]

    def test_an_overridden_method(self):
        """A class with a private method of its Scrapy base is found."""
        from scrapy.commands.crawl import Command

        class Mine(Command):
            def _create_crawler(self, spidercls):
                return super()._create_crawler(spidercls)

        module = SimpleNamespace(__name__=Mine.__module__, Mine=Mine)

        assert house.overridden_private(module) == ["Mine._create_crawler"]
