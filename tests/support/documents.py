"""The command blocks of README and the tutorials, and how to run them as they stand there: without
any library.

In a copy of the checkout, with a site on loopback in place of example.org, without waits between
requests.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[2]
DOCUMENTS = (
    "README.md",
    "docs/first-crawl.md",
    "docs/archive-that-replays.md",
    "docs/monthly-archive.md",
    "docs/search-engine.md",
    "docs/study-the-web.md",
    "docs/corpus-and-focus.md",
    "docs/sites-made-by-scripts.md",
    "docs/in-your-scrapy-project.md",
    "docs/coming-from.md",
)
FENCE = re.compile(
    r"(?:`(?P<file>[\w./-]+)`:\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
# What stands directly below commands is what they print. A block of `text` shows what another site
# gives, and is not compared
SHOWN = re.compile(r"^```sh\n(?:(?!```).*\n)*```\n\n```\n((?:(?!```).*\n)*)```$", re.MULTILINE)
ADDRESS = re.compile(r"https?://(?:www\.)?example\.org/")
CRAWL = re.compile(r"\b((?:webcrawl|scrapy) (?:crawl|runspider|hive))(?= )")
# Lines that are not run, and why.
LEFT_OUT = {
    "-m pytest": "the first thing that CI does",
    "pywb/bin/wayback   ": "serves until it is ended",
}
if not any(
    map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))
):
    LEFT_OUT["RENDER=auto"] = "there is no browser here"
PATIENCE = 1200  # seconds: a busy machine is no fault of the document


class Section(NamedTuple):
    """A document whose blocks are run one after the other."""

    document: str
    script: str
    shown: tuple[str, ...]  # lines of what the commands print, as the document has it

    def commands(self) -> int:
        """How many lines are commands, about."""
        return sum(bool(line.strip()) for line in self.script.splitlines())


def section(document: str) -> Section:
    """The commands of a document."""
    text = (ROOT / document).read_text(encoding="utf-8")
    shown = [line for block in SHOWN.findall(text) for line in block.splitlines()]
    return Section(document, "".join(map(_step, FENCE.finditer(text))), tuple(shown))


def unprinted(section: Section, output: str) -> list[str]:
    """The lines that the document shows and that no command has printed, whatever the numbers and
    the addresses in them. An ellipsis stands for what is not shown of a line.
    """
    printed = [_shape(line) for line in output.splitlines()]

    def is_printed(line: str) -> bool:
        pattern = re.compile(".*".join(re.escape(_shape(part)) for part in line.split("…")))
        return any(map(pattern.search, printed))

    return [line for line in section.shown if not is_printed(line)]


def _shape(line: str) -> str:
    """A line without its numbers, addresses and plurals."""
    line = re.sub(r"(?:https?://)?(?:(?:www\.)?example\.org|127\.0\.0\.1(?::\d+)?)", "HOST", line)
    line = re.sub(r"\d[\d.,:T-]*Z?", "0", line)
    return " ".join(re.sub(r"\b(0 \w+?)s\b", r"\1", line).split())


def local(script: str, site: str) -> str:
    """The script with the address of a site on loopback, and without what is left out."""
    lines = (line for line in script.splitlines() if not any(word in line for word in LEFT_OUT))
    port = urlsplit(site).port
    given = {
        "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/8",
        "PORTS_ALLOWED": port,
        "POLITENESS_FACTOR": 0,
    }
    given |= {"POLITENESS_MIN_DELAY": 0, "MIN_FREE_DISK": 0}
    settings = "".join(f" -s {name}={value}" for name, value in given.items())
    script = CRAWL.sub(rf"\1{settings}", ADDRESS.sub(f"{site}/", "\n".join(lines)))
    script = script.replace("webcrawl demo", "webcrawl demo --hosts 20 --seconds 3")
    with socket.create_server(("127.0.0.1", 0)) as free:  # documents are run side by side
        return script.replace("8090", str(free.getsockname()[1]))


def checkout(folder: Path, site: str) -> Path:
    """A copy of what the repository has, with a list of the top million that is as long as the
    site.
    """
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    folder.mkdir(parents=True)
    subprocess.run(
        ["xargs", "-0", "cp", "--parents", "-t", folder], cwd=ROOT, input=names, check=True
    )
    (folder / "seeds/top1m.csv").write_text(f"1,{urlsplit(site).netloc}\n")
    return folder


def run(section: Section, folder: Path, site: str, path: str) -> tuple[int, str, float]:
    """Exit status, output and seconds of a section's commands, by one shell that stops at the first
    failure.
    """
    script = f"set -eux\n{local(section.script, site)}\n"
    environment = {"PATH": path, "HOME": str(folder), "PIP_CACHE_DIR": _cache(), "LANG": "C.UTF-8"}
    environment |= {
        name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))
    }
    environment |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"}
    start = time.monotonic()
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stdout, time.monotonic() - start


def _step(block: re.Match[str]) -> str:
    """A block as lines for the shell: commands as they stand, a named file written."""
    if block["kind"] == "sh":
        return block["text"]
    if block["file"]:
        return f"cat > {block['file']} <<'FILE'\n{block['text']}FILE\n"
    return ""


def _cache() -> str:
    """The user's own, though HOME is another."""
    return os.environ.get("PIP_CACHE_DIR") or str(Path("~/.cache/pip").expanduser())
