"""Looks at a key directory wherever it is: published, as a file, or in the folder that `scrapy identity` wrote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from webcrawl.identity import directory
from webcrawl.identity.checking import Finding, check_fields, check_response, keys_of
from webcrawl.identity.keys import thumbprint
from webcrawl.identity.published import FAR, LONGEST, Published, fetch
from webcrawl.store.regular import regular


def look(place: str, agent: str, now: float) -> tuple[dict[str, bytes], list[Finding]]:
    """The keys of the directory at a URL or path, and what is to say of it; NotPublished, Unreadable or OSError.

    `agent`: the origin at which files are to be published; without it their signatures are not checked.
    """
    published = fetch(place) if "://" in place else _of_files(Path(place))
    keys: dict[str, bytes] = {}
    findings: list[Finding] = []
    if published.fields:
        findings += check_fields(published.fields)
    for public, finding in keys_of(published.content):
        findings.append(finding)
        if public is not None:
            keys[thumbprint(public)] = public
    if authority := published.authority or directory.authority_of(agent):
        findings += check_response(published.content, published.fields, authority, keys, now)
    elif published.fields:
        findings.append(Finding("its signatures are not checked without --agent, the origin they are for"))
    findings += _clock(published.ahead)
    return keys, findings


def _of_files(path: Path) -> Published:
    if not path.is_dir():
        return Published(_read(path))
    content = _read(path / directory.PATH[1:])
    lines = _read(path / directory.HEADERS).decode().splitlines()
    parts = (line.strip().partition(": ") for line in lines if line.startswith(" "))
    return Published(content, {name.lower(): value for name, _, value in parts})


def _read(path: Path) -> bytes:
    with regular(path) as file:
        return file.read(LONGEST)


def _clock(ahead: float | None) -> Iterator[Finding]:
    if ahead is not None and abs(ahead) > FAR:
        which = "ahead of" if ahead > 0 else "behind"
        text = (
            f"this machine's clock is {abs(ahead):.0f} seconds {which} the server's: its signatures may not be accepted"
        )
        yield Finding(text, wrong=True)
