"""Screenshots by Chromium, which is told by a pipe what to do (the DevTools protocol)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
SIZE = {"width": 900, "height": 700, "mobile": False}
QUIET = (
    *(
        "background-networking",
        "sync",
        "component-update",
        "default-apps",
        "extensions",
        "gpu",
        "dev-shm-usage",
    ),
    *("domain-reliability", "client-side-phishing-detection"),
)
FLAGS = (
    *(
        "--headless=new",
        "--no-sandbox",
        "--remote-debugging-pipe",
        "--no-first-run",
        "--hide-scrollbars",
    ),
    *("--no-proxy-server", *(f"--disable-{name}" for name in QUIET)),
    # A frame of another site is drawn by a process of its own, and its pictures come out a shade
    # different. In a replay all frames are of one site.
    *("--disable-site-isolation-trials", "--disable-features=IsolateOrigins,site-per-process"),
)
LOOPBACK = "MAP *.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
ARCHIVE = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"  # nothing live is found


def program() -> str | None:
    """Return the path of Chromium, or None if it is not installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a browser with an empty profile."""

    def __init__(self, process: subprocess.Popen[bytes], out: int, back: int) -> None:
        """Open a page in a browser that reads from `out` and answers on `back`."""
        self._process = process
        self._out = out
        self._back = back
        self._number = 0  # of the last command
        self._rest = b""  # what was read after the last message
        target = self._send_command("Target.createTarget", url="about:blank")["targetId"]
        self._session = ""
        self._session = self._send_command("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        self._send_command("Page.enable")

    def show(self, url: str, scale: int, size: Mapping[str, Any] = SIZE) -> None:
        """Open this URL with so many pixels per point."""
        self._send_command("Emulation.setDeviceMetricsOverride", deviceScaleFactor=scale, **size)
        self._send_command("Page.navigate", url=url)

    def screenshot(self) -> bytes:
        """Return what the page shows now as PNG, or nothing between two pages."""
        try:
            return b64decode(self._send_command("Page.captureScreenshot", format="png")["data"])
        except RuntimeError as error:
            if "active page" not in str(error):
                raise
            return b""

    def steady(self, patience: float = 30.0) -> bytes:
        """Return what the page shows once that stays the same for two seconds."""
        end, last, since = time.monotonic() + patience, b"", time.monotonic()
        while time.monotonic() < end:
            shot = self.screenshot()
            if shot != last:
                last, since = shot, time.monotonic()
            elif time.monotonic() - since > 2:
                break
            time.sleep(0.3)
        return last

    def shows(self, wanted: bytes, patience: float = 30.0) -> bytes:
        """Return the wanted screenshot as soon as the page shows it, or the last one when patience
        ends.
        """
        end = time.monotonic() + patience
        while (shot := self.screenshot()) != wanted and time.monotonic() < end:
            time.sleep(0.5)
        return shot

    def _send_command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command, and return its result. Raise RuntimeError if the browser refuses it."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if getattr(self, "_session", ""):
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read_message()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])

    def _read_message(self) -> dict[str, Any]:
        """Return the next message. Raise RuntimeError if the browser has ended."""
        while b"\0" not in self._rest:
            data = os.read(self._back, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            self._rest += data
        one, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(one))


@contextmanager
def browser(profile: Path, rules: str) -> Iterator[Browser]:
    """Run a browser that finds only the hosts of `rules`, for the block."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    command = [
        str(program()),
        *FLAGS,
        f"--user-data-dir={profile}",
        f"--host-resolver-rules={rules}",
        "about:blank",
    ]
    redirected = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'  # it reads from 3 and writes to 4
    process = subprocess.Popen(
        ["bash", "-c", redirected, "bash", *command],
        pass_fds=(theirs_in, theirs_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Browser(process, ours_out, ours_in)
    finally:
        process.terminate()
        process.wait()
        os.close(ours_out)
        os.close(ours_in)
