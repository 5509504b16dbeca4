"""What only a running crawl knows of URLs. It is asked over its control socket, if it has one and answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from webcrawl.control.client import Client
from webcrawl.control.errors import CommandError, NotRunning
from webcrawl.why.source import Source

PATIENCE = 5.0  # seconds: without the crawl's answer there is still the checkpoint's
ROOM = 1 << 15  # characters of URLs in one question, of 65,536
MOST = 500  # URLs in one question: some milliseconds of the crawl's time
Live = Mapping[str, Mapping[str, Any]]


def ask(source: Source, urls: Sequence[str]) -> Live | None:
    """By canonical URL; None if the crawl does not run. If it does not answer, a note says so."""
    client = Client(source.jobdir, PATIENCE)
    found: dict[str, dict[str, Any]] = {}
    try:
        for some in _questions(list(dict.fromkeys(urls))):
            answer = client.ask("about", *some)
            if isinstance(answer, Mapping):
                found |= {url: dict(said) for url, said in answer.items() if isinstance(said, Mapping)}
        if any(said.get("in_flight") for said in found.values()):
            _add_downloads(found, client.ask("threads"))
    except NotRunning:
        return None
    except CommandError as error:
        source.odd.append(f"the running crawl could not be asked: {error}")
    return found


def _add_downloads(found: Mapping[str, dict[str, Any]], threads: Mapping[str, Any]) -> None:
    """For how long they are in flight, and what is waited for."""
    for row in threads["downloads"]:
        if row["url"] in found:
            found[row["url"]] |= {"seconds": row["seconds"], "phase": row["phase"]}


def _questions(urls: Sequence[str]) -> Iterator[Sequence[str]]:
    some: list[str] = []
    size = 0
    for url in urls:
        if len(url) > ROOM:
            continue
        if some and (size + len(url) > ROOM or len(some) >= MOST):
            yield some
            some, size = [], 0
        some.append(url)
        size += len(url)
    yield some or ["http://nobody.invalid/"]  # to know whether it runs
