"""GNU Wget and Wget2, as their Debian packages have them."""

from __future__ import annotations

from pathlib import Path

from benchmarks.peers.peer import Does, Peer, Web, need

FOUND = " URL:"  # in the log's line of a file, by Wget; Wget2 writes none in `-nv`, and has files instead
LINKS = ["--recursive", "--level=inf", "--follow-tags=a,area", "--span-hosts", "--domains=test"]  # no pictures
RECURSIVE = [*LINKS, "--tries=1", "--no-verbose"]


def _wget(_: Path, work: Path, web: Web) -> list[str]:
    log, warc = f"--output-file={work / 'log'}", f"--warc-file={work / 'warc'}"
    return _lenient("wget", *RECURSIVE, log, warc, f"--directory-prefix={work / 'files'}", f"--input-file={web.seeds}")


def _wget2(_: Path, work: Path, web: Web) -> list[str]:
    log, threads = f"--output-file={work / 'log'}", "--max-threads=32"
    return _lenient(
        "wget2", *RECURSIVE, log, threads, f"--directory-prefix={work / 'files'}", f"--input-file={web.seeds}"
    )


def _lenient(*command: str) -> list[str]:
    """8 is the status if any page was a 404."""
    return ["sh", "-c", '"$@"; [ $? -eq 0 ] || [ $? -le 8 ]', "sh", *command]


def _lines(_: str, work: Path) -> int:
    text = (work / "log").read_text(errors="replace")
    return sum(FOUND in line and "/robots.txt" not in line for line in text.splitlines())


def _files(_: str, work: Path) -> int:
    return sum(path.is_file() and path.name != "robots.txt" for path in (work / "files").rglob("*"))


PEERS = (
    Peer(
        "wget",
        Does("yes", "WARC, gzip, and files", "followed", "no", "one at a time"),
        lambda _: need("wget"),
        _wget,
        _lines,
        fewer=4,
    ),
    Peer("wget2", Does("yes", "files", "followed", "no", "none"), lambda _: need("wget2"), _wget2, _files),
)
