"""Checks the rows of robots.txt rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from webcrawl.net.robots_packed import split
from webcrawl.store import rowcrc
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.queue_row import SavedQueues
from webcrawl.store.jobdir.snapshot import Snapshot

RULES = re.compile(
    r"User-agent: [^\n]+\nCrawl-delay: [-+.0-9a-z]+(\n(Allow|Disallow): [^\n]*)*"
    r"(\ncontent-(usage|signal): [0-9a-f]{1,4} [^\n]*)*(\nlicense: [^\n]+)*"
)
AWAY = re.compile(rb"!\d+ \d+\.\d+(e[-+]\d+)?(?P<rules>;?)")  # failures, when the first was, whether rules follow


def check_robots(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Reads each row once; counts them."""
    queues = SavedQueues(snapshot)
    for row in snapshot.rows("SELECT origin, until, rules, crc FROM robots"):
        found["robots"] += 1
        origin, until, rules, _ = row
        what = f"table robots, {origin}"
        if not rowcrc.agrees(rowcrc.robots, row):
            yield snapshot.damaged(f"{what}: checksum", value=rules)
            continue
        try:
            if not isinstance(until, float) or "://" not in origin or not _are_rules(queues, rules, what):
                yield snapshot.damaged(f"{what}: not the rules of an origin", value=rules)
        except (ValueError, TypeError) as error:
            yield snapshot.damaged(f"{what}: {error}", value=rules)
        except DamagedFile as damage:
            yield damage


def _are_rules(queues: SavedQueues, rules: bytes, what: str) -> bool:
    """Valid are: nothing, or a packed robots.txt with one group, alone or with when it is looked at again; before
    either, since when robots.txt is away.
    """
    if rules.startswith(b"!"):
        away = AWAY.match(rules)
        if away is None or (not away["rules"] and away.end() < len(rules)):
            return False
        rules = rules[away.end() :]
    rules = split(rules).rules or b""
    return not rules or RULES.fullmatch(queues.unpack(rules, what).decode()) is not None
