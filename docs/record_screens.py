"""Records pictures of what users see, from the checkout's folder: `python -m docs.record_screens`.

docs/pictures/dashboard.png and docs/example-report.html show a crawl of a synthetic web of 2,000 hosts, and
docs/pictures/replay.png shows a page of build/site (`.ci/docs` makes it) beside its replay by pywb. It needs Chromium,
and pywb (`--pywb FILE`, see benchmarks/README.md); it asks only loopback, and takes five minutes.
"""  # noqa: INP001 - a script beside the pages that show its pictures

from __future__ import annotations

import argparse
import base64
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen

from benchmarks.support.chromium import ARCHIVE, browser
from benchmarks.support.replayers import pywb

DOCS = Path(__file__).parent
SITE = DOCS.parent / "build/site"
PAGE = "docs/politeness.html"  # of the site: it has a picture
PROGRAM = [sys.executable, "-m", "webcrawl"]
HIGH = {"width": 1120, "height": 1240, "mobile": False}
HALF = {"width": 900, "height": 900, "mobile": False}
BESIDE = """<!doctype html><style>
body {{ margin: 0; display: flex; gap: 12px; background: #888; font: 20px sans-serif }}
figure {{ margin: 0; background: #fff }} img {{ width: 554px; display: block }} figcaption {{ padding: 8px }}</style>
{}"""
FIGURE = "<figure><figcaption>{}</figcaption><img src='data:image/png;base64,{}'></figure>"
SECONDS = 240  # of the crawl
SHOWN_AT = 30  # seconds after its beginning, when its charts show something


def photographed(url: str, size: dict[str, object], folder: Path, first: str = "") -> bytes:
    """Return a picture of a page; `first` is an address that lets the browser in."""
    with browser(folder, ARCHIVE) as page:
        for address in filter(None, (first, url)):
            page.show(address, 1, size)
            time.sleep(10)  # charts are drawn from events
        return page.screenshot()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback."""
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


def record_replay(wayback: Path, folder: Path) -> bytes:
    """Crawl the site, switch it off, and return the live page and the replayed one, side by side."""
    job = folder / "crawls/site"
    settings = ["PRIVATE_NETWORKS_ALLOWED=127.0.0.0/8", "REQUISITES=1", "POLITENESS_MIN_DELAY=0"]
    with served(SITE) as site:
        words = [word for setting in settings for word in ("-s", setting)]
        subprocess.run([*PROGRAM, "crawl", site, "-o", job, *words], check=True)  # noqa: S603 - a program of ours
        live = photographed(site + PAGE, HALF, folder / "live")
    (folder / "served").mkdir()
    with pywb(wayback, job, folder / "served") as address:
        again = photographed(address(site + PAGE), HALF, folder / "replay")
    shown = {"the live page": live, "replayed from the archive by pywb": again}
    figures = [
        FIGURE.format(name, base64.b64encode(picture).decode()) for name, picture in shown.items()
    ]
    (folder / "both.html").write_text(BESIDE.format("".join(figures)))
    return photographed(
        (folder / "both.html").as_uri(),
        {"width": 1120, "height": 594, "mobile": False},
        folder / "both",
    )


def record_dashboard(folder: Path) -> bytes:
    """Crawl the synthetic web; return the dashboard's picture, and leave the report in the documents."""
    job = folder / "crawls/web"
    demo = [*PROGRAM, "demo", "--hosts", "2000", "--seconds", str(SECONDS), "-s", f"JOBDIR={job}"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(demo, **quiet) as crawling:  # noqa: S603 - a program of ours
        time.sleep(SHOWN_AT)
        shown = [*PROGRAM, "dashboard", job]
        with subprocess.Popen(shown, stdout=subprocess.PIPE, text=True) as dashboard:  # noqa: S603 - as above
            address = re.search(r"http://\S+", next(iter(dashboard.stdout or ())))
            base, _, token = address[0].partition("?token=") if address else ("", "", "")
            request = Request(f"{base}api/crawls", headers={"Authorization": f"Bearer {token}"})  # noqa: S310 - loopback
            with urlopen(request) as answer:  # noqa: S310 - loopback
                crawl = json.load(answer)[0]["id"]
            picture = photographed(
                f"{base}c/{crawl}", HIGH, folder / "dashboard", f"{base}?token={token}"
            )
            dashboard.terminate()
        crawling.wait()
    subprocess.run([*PROGRAM, "report", job, "-o", DOCS / "example-report.html"], check=True)  # noqa: S603 - as above
    return picture


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--pywb", type=Path, required=True, metavar="FILE", help="pywb's program wayback"
    )
    wayback = parser.parse_args().pywb
    with tempfile.TemporaryDirectory() as folder:
        (DOCS / "pictures/replay.png").write_bytes(record_replay(wayback, Path(folder)))
        (DOCS / "pictures/dashboard.png").write_bytes(record_dashboard(Path(folder)))


if __name__ == "__main__":
    main()
