"""Checks a random walk: every walker is in one place, and where walks begin is there, row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import msgpack

from webcrawl.base.url_text import host_of
from webcrawl.lab.walks.walkers import HOST, KEPT, META, NUMBER, SEED, START
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.snapshot import Snapshot

ROWS = "SELECT name, value FROM meta WHERE name >= ? AND name < ? ORDER BY name"
END = "\x7f"  # after every character of a host's name


def check_walk(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Counts walkers, and the hosts to which they may jump. A crawl that is no walk has none."""
    value = snapshot.get(META)
    if value is None:
        return
    try:
        state: dict[str, Any] = msgpack.unpackb(value)
        seeds, hosts = state["starts"]
        found["walkers"] = len(state["at"])
        flaw = _flaw(state)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        yield snapshot.damaged(f"table meta, {META}: {error!r}", value=value)
        return
    if flaw:
        yield snapshot.damaged(f"table meta, {META}: {flaw}", value=value)
    found["walked hosts"] = hosts
    yield from _starts(snapshot, SEED, seeds, _seed)
    yield from _starts(snapshot, HOST, hosts, lambda number, row: _pages(snapshot, number, row))
    numbered = sum(1 for _ in snapshot.rows(ROWS, (NUMBER, NUMBER + END)))
    if numbered != hosts:  # each host's row has its number, so that these are all
        yield snapshot.damaged(f"table meta, {META}: {hosts} hosts are counted, {numbered} have a number")


def _flaw(state: dict[str, Any]) -> str:
    walkers, restart, jump = state["rules"]
    version, words, gauss = state["random"]
    Random().setstate((version, tuple(words), gauss))
    if sorted(number for _, number, _, _ in state["at"]) != [*range(walkers)]:
        return f"the walkers are not those from 0 to {walkers - 1}, each in one place"
    if not 0 <= restart <= 1 or not isinstance(jump, str) or state["visits"] < 0:
        return "not rules, and a number of visits"
    wrong = [number for url, number, step, how in state["at"] if not url and how == START and step]
    return f"walker {wrong[0]} starts, after steps" if wrong else ""


def _starts(snapshot: Snapshot, prefix: str, count: int, flaw: Callable[[str, bytes], str]) -> Iterator[DamagedFile]:
    """The rows are numbered from 0. Nothing is kept of them: there may be millions."""
    rows = 0
    for name, value in snapshot.rows(ROWS, (prefix, prefix + END)):
        number = name[len(prefix) :]
        try:
            why = flaw(number, value) if number == str(int(number)) and int(number) < count else "not counted"
        except (ValueError, TypeError) as error:
            why = repr(error)
        if why:
            yield snapshot.damaged(f"table meta, {name}: {why}", value=value)
        rows += 1
    if rows != count:
        yield snapshot.damaged(f"table meta, {META}: {count} rows {prefix}N are counted, there are {rows}")


def _seed(_: str, row: bytes) -> str:
    return "" if row.decode() else "no URL"


def _pages(snapshot: Snapshot, number: str, row: bytes) -> str:
    """Of one host, which has this number."""
    pages = msgpack.unpackb(row)
    hosts = {host_of(url) for _, url in pages}
    if not 0 < len(pages) <= KEPT or len(hosts) != 1:
        return f"{len(pages)} pages of {len(hosts)} hosts"
    host = hosts.pop()
    return "" if snapshot.get(NUMBER + host) == number.encode() else f"{host} has another number"
