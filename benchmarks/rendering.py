"""Text that a crawl finds of pages made by scripts, and the browser's time: never, on need, always.

The web has sites that need scripts for all, some or none of their text
(tests/support/scripted_sites.py). Runs in a network namespace that has nothing but loopback, as
benchmarks.replay does. `--cost` needs no browser: what knowing shells takes of a crawl's CPU time.
CPU time is that of all processes, the browser's and the start of all included.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.support.descendants import cpu_of_all
from benchmarks.support.report import report
from benchmarks.support.shell_cost import shell_cost
from tests.support.plain_site import serving
from tests.support.scripted_sites import Scripted, made, sent
from webcrawl.adapter.rendering_check import chromium

INSIDE = "WEBCRAWL_RENDERING_NAMESPACE"  # in the environment of the run in the namespace
ALONE = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c"]
ALWAYS = """from webcrawl.settings import *
class Always:
    def process_request(self, request):
        request.meta["playwright"] = True
DOWNLOAD_HANDLERS = dict.fromkeys(("http", "https"), "webcrawl.adapter.browser.BrowserHandler")
DOWNLOADER_MIDDLEWARES = {Always: 500}
PLAYWRIGHT_LAUNCH_OPTIONS = {"executable_path": %r}
"""
SETTINGS = {
    "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/8",
    "MIN_FREE_DISK": 0,
    "OUTPUTS": "warc text",
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0.1,
}
WAYS = {
    "never": {"RENDER": "off"},
    "auto": {"RENDER": "auto"},
    "always": {"SCRAPY_SETTINGS_MODULE": "always"},
}


def crawl(folder: Path, way: str, port: int) -> dict[str, Any]:
    """Crawl the web in one way. Return its statistics, and the share of the web's words in the
    text.
    """
    (folder / "hosts").write_text("".join(f"127.0.0.1 {name}\n" for name in Scripted.pages))
    (folder / "seeds.txt").write_text(
        "".join(f"http://{name}:{port}/\n" for name in Scripted.pages)
    )
    (folder / "always.py").write_text(ALWAYS % chromium())
    given = {**SETTINGS, **WAYS[way], "HOSTS_FILE": folder / "hosts", "JOBDIR": folder / way}
    module = str(given.pop("SCRAPY_SETTINGS_MODULE", "webcrawl.settings"))
    words = [word for name, value in given.items() for word in ("-s", f"{name}={value}")]
    Scripted.requested.clear()
    with cpu_of_all() as cpu:
        subprocess.run(
            [sys.executable, "-m", "scrapy", "crawl", "web", "-a", "seeds=seeds.txt", *words],
            cwd=folder,
            env={
                **os.environ,
                "SCRAPY_SETTINGS_MODULE": module,
                "PYTHONPATH": f"{folder}:{Path.cwd()}",
            },
            check=True,
            capture_output=True,
        )
    found = {word for text in _texts(folder / way) for word in text.split()}
    pages = [(name, number) for name, last in Scripted.pages.items() for number in range(last + 1)]
    words = [word for page in pages for word in f"{sent(*page)} {made(*page)}".split()]
    stats = json.loads((folder / way / "stats.json").read_text())
    return {
        "text": sum(word in found for word in words) / len(words),
        "pages": len(pages),
        "rendered": stats.get("browser/pages", 0),
        "browser_seconds": stats.get("browser/milliseconds", 0) / 1000,
        "seconds": stats["seconds"],
        "requests_per_page": sum(Scripted.requested.values()) / len(pages),
        "cpu_per_page": cpu[0] / len(pages),
    }


def _texts(jobdir: Path) -> Iterator[str]:
    for path in jobdir.glob("text/*.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield from (json.loads(line)["text"] for line in file)


def main() -> int:
    """Run the benchmark with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rendering", description=__doc__)
    parser.add_argument("--pages", type=int, default=20, help="of each site")
    parser.add_argument("--site", choices=Scripted.pages, help="only this one")
    parser.add_argument(
        "--cost", type=int, default=0, metavar="PAGES", help="only the cost of knowing shells"
    )
    given = parser.parse_args()
    if given.cost:
        shell_cost(given.cost)
        return 0
    pages = given.pages
    missing = [
        name
        for name, there in (("Chromium", chromium()), ("unshare", shutil.which("unshare")))
        if not there
    ]
    if missing:
        print(f"not measured without {', '.join(missing)}")
        return 0
    if INSIDE not in os.environ:
        command = [sys.executable, "-m", "benchmarks.rendering", *sys.argv[1:]]
        up = [*ALONE, 'ip link set lo up && exec "$@"', "sh", *command]
        return subprocess.run(up, env={**os.environ, INSIDE: "1"}, check=False).returncode
    Scripted.pages = {**dict.fromkeys(Scripted.pages, pages), "plain.test": 3 * pages}
    if given.site:
        Scripted.pages = {given.site: Scripted.pages[given.site]}
    with tempfile.TemporaryDirectory() as folder, serving(Scripted) as site:
        for way in WAYS:
            report("rendering", way=way, **crawl(Path(folder), way, int(site.rpartition(":")[2])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
