"""Records the dashboard as docs/pictures/dashboard.png, and docs/example-report.html: `python docs/record_screens.py`.

Both show a crawl of a synthetic web of 2,000 hosts on loopback. It needs Chromium, and takes five minutes.
"""  # noqa: INP001 - a script beside the pages that show its pictures

from __future__ import annotations

import asyncio
import base64
import re
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

import aiohttp

DOCS = Path(__file__).parent
PICTURE, REPORT = DOCS / "pictures/dashboard.png", DOCS / "example-report.html"
PROGRAM = [sys.executable, "-m", "webcrawl"]
BROWSER = [
    "chromium-headless-shell",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
]
SIZE = "1120,1240"  # pixels of the window
SECONDS = 240  # of the crawl
SHOWN_AT = 30  # seconds after its beginning, when its charts show something


class Tab:
    """The one page of a browser, by the DevTools protocol."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = count(1)

    async def call(self, method: str, **params: object) -> dict[str, str]:
        """Return the result of a call; events in between are not looked at."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        while True:
            answer = await self._socket.receive_json()
            if answer.get("id") == number:
                return answer.get("result", {})


def listening(process: subprocess.Popen[str], pattern: str) -> str:
    """Return what a program says of where it listens."""
    for line in process.stdout or ():
        if found := re.search(pattern, line):
            return found[1]
    raise SystemExit(f"{process.args}: ended without a word that matches {pattern}")


def photograph(address: str) -> None:
    """Open the dashboard with its token, then its crawl's page, and keep what that looks like."""
    command = [*BROWSER, f"--window-size={SIZE}", "about:blank"]
    with subprocess.Popen(  # noqa: S603 - as above
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as browser:
        port = listening(browser, r"ws://127\.0\.0\.1:(\d+)/")
        PICTURE.write_bytes(asyncio.run(_picture(f"http://127.0.0.1:{port}", address)))
        browser.terminate()


async def _picture(browser: str, address: str) -> bytes:
    base, _, token = address.partition("?token=")
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{base}api/crawls", headers=headers) as listed:
            crawl = (await listed.json())[0]["id"]
        async with session.get(f"{browser}/json/list") as listed:
            pages = [one for one in await listed.json() if one["type"] == "page"]
        async with session.ws_connect(
            pages[0]["webSocketDebuggerUrl"], max_msg_size=0
        ) as connected:
            tab = Tab(connected)
            for url in (address, f"{base}c/{crawl}"):
                await tab.call("Page.navigate", url=url)
                await asyncio.sleep(15)  # its charts are drawn from events
            picture = await tab.call("Page.captureScreenshot")
    return base64.b64decode(picture["data"])


def main() -> None:
    """Crawl, and look at the crawl meanwhile and afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        jobdir = Path(folder) / "crawls/web"
        words = ["--hosts", "2000", "--seconds", str(SECONDS), "-s", f"JOBDIR={jobdir}"]
        with subprocess.Popen(  # noqa: S603 - a program of ours
            [*PROGRAM, "demo", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as crawling:
            time.sleep(SHOWN_AT)
            with subprocess.Popen(  # noqa: S603 - as above
                [*PROGRAM, "dashboard", jobdir], stdout=subprocess.PIPE, text=True
            ) as dashboard:
                photograph(listening(dashboard, r"(http://\S+)"))
                dashboard.terminate()
            crawling.wait()
        subprocess.run([*PROGRAM, "report", jobdir, "-o", REPORT], check=True)  # noqa: S603 - as above
    sys.stdout.write(f"{PICTURE}\n{REPORT}\n")


if __name__ == "__main__":
    main()
