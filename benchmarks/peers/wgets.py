"""GNU Wget and Wget2, as their Debian packages have them."""

from __future__ import annotations

from pathlib import Path

from benchmarks.peers.peer import Does, Peer, Web, need

RECURSIVE = ["--recursive", "--level=inf", "--span-hosts", "--domains=test", "--tries=1", "--quiet"]


def _wget(_: Path, work: Path, web: Web) -> list[str]:
    # no pictures, and no links in scripts
    only = ["--follow-tags=a,area", "--reject-regex=/never/"]
    return ["wget", *RECURSIVE, *only, f"--warc-file={work / 'warc'}", *_from_to(web, work)]


def _wget2(_: Path, work: Path, web: Web) -> list[str]:
    """Return the command; status 8 only says that some page was a 404."""
    only = ["--ignore-tags=img,link,script,form", "--max-threads=32"]
    # 8: a 404
    return [
        "sh",
        "-c",
        '"$@" || [ $? -eq 8 ]',
        "sh",
        "wget2",
        *RECURSIVE,
        *only,
        *_from_to(web, work),
    ]


def _from_to(web: Web, work: Path) -> list[str]:
    """Return where to write, and the first host, which leads to all others.

    Wget would start anew with each of several seeds.
    """
    return [f"--directory-prefix={work / 'files'}", web.seeds.read_text().split()[0]]


PEERS = (
    Peer(
        "wget",
        Does("yes", "WARC, gzip, and files", "followed", "no", "one at a time"),
        lambda _: need("wget"),
        _wget,
        fewer=4,
    ),
    Peer(
        "wget2",
        Does("yes", "files", "followed", "no", "none"),
        lambda _: need("wget2"),
        _wget2,
        misses="&amp; in links is not read as & by 1.99",
    ),
)
