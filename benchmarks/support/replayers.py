"""Programs that replay an archive, served on loopback."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from heapq import merge
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

Address = Callable[[str], str]
"""Where a replayed page is, by its URL."""

NO_FRAME = "framed_replay: false\ntemplates_dir: templates\nenable_memento: false\n"
VIEWER = """<!doctype html><style>body {{ margin: 0 }} replay-web-page {{ position: absolute; inset: 0 }}</style>
<script src=ui.js></script>
<replay-web-page embed=replayonly source=/site.wacz url="{url}" replayBase=/></replay-web-page>"""


@contextmanager
def pywb(program: Path, job: Path, folder: Path) -> Iterator[Address]:
    """Run pywb with our archive files and our index of them; yield where it has a page."""
    collection = folder / "collections/site"
    for name in ("archive", "indexes"):
        (collection / name).mkdir(parents=True)
    for path in (job / "warc").glob("*.warc.gz"):
        shutil.copy(path, collection / "archive")
    indexes = [
        path.read_bytes().splitlines(keepends=True)
        for path in sorted((job / "warc").glob("*.cdxj"))
    ]
    (collection / "indexes/index.cdxj").write_bytes(b"".join(merge(*indexes)))
    (folder / "templates").mkdir()
    (folder / "templates/banner.html").write_text("")
    (folder / "config.yaml").write_text(NO_FRAME)
    port = _free_port()
    with subprocess.Popen(
        [str(program), "-b", "127.0.0.1", "-p", str(port), "-d", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=(folder / "log").open("wb"),
    ) as process:
        try:
            _wait_for(f"http://127.0.0.1:{port}/")
            yield lambda url: f"http://127.0.0.1:{port}/site/{url}"
        finally:
            process.terminate()


@contextmanager
def replayweb(package: Path, wacz: Path, folder: Path) -> Iterator[Address]:
    """Serve replayweb.page with wabac.js and our WACZ file; yield where it has a page."""
    shutil.copy(package / "ui.js", folder)
    shutil.copy(package / "sw.js", folder)
    shutil.copy(wacz, folder / "site.wacz")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Ranges, directory=str(folder)))
    port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()

    def address(url: str) -> str:
        name = f"view{len(list(folder.iterdir()))}.html"
        (folder / name).write_text(VIEWER.format(url=url))
        return f"http://127.0.0.1:{port}/{name}"

    try:
        yield address
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Ranges(SimpleHTTPRequestHandler):
    """Serves files, and parts of them: a viewer loads no more than it needs."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the range of the file that is requested, or with the whole file."""
        requested = self.headers.get("Range", "")
        path = Path(self.translate_path(self.path))
        if not requested.startswith("bytes=") or not path.is_file():
            super().do_GET()
            return
        data = path.read_bytes()
        first, _, last = requested.removeprefix("bytes=").partition("-")
        start = int(first) if first else len(data) - int(last)
        end = min(int(last) if last and first else len(data) - 1, len(data) - 1)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{end}/{len(data)}")
        self.send_header("Content-Length", str(end + 1 - start))
        self.end_headers()
        self.wfile.write(data[start : end + 1])

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait_for(url: str, patience: float = 60.0) -> None:
    """Wait until a URL answers. Raise OSError if it does not in time."""
    end = time.monotonic() + patience
    while True:
        try:
            with urlopen(url, timeout=5):  # noqa: S310 - our own server's
                return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
