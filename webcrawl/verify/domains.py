"""Checks the rows of registered domains: the URLs over their budgets, and who links to whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgpack

from webcrawl.frontier.votes import MOST, TAG
from webcrawl.store import rowcrc
from webcrawl.store.errors import DamagedFile
from webcrawl.verify.queues import Queues, link_flaw
from webcrawl.verify.snapshot import Snapshot

RECORD = (bool, int, int, int, bytes | None)  # of a domain, packed


def check_domains(snapshot: Snapshot, queues: Queues, found: Counter[str]) -> Iterator[DamagedFile]:
    """Reads both tables; counts domains and the URLs that wait for budget."""
    for row in snapshot.rows("SELECT name, rank, waiting, data, crc FROM domain"):
        found["domains"] += 1
        name, _, waiting, data, _ = row
        what = f"table domain, {name}"
        try:
            count = _waiting(queues, row, what)
        except (ValueError, TypeError) as error:
            yield snapshot.damaged(f"{what}: {error}", value=data)
        except DamagedFile as damage:
            yield damage if damage.offset else snapshot.damaged(damage.why, value=data)
        else:
            found["queued"] += count
            found["over budget"] += count
            if count != waiting:
                yield snapshot.damaged(f"{what}: {waiting} URLs wait, its queue has {count}", value=data)
    for number, sources in snapshot.rows("SELECT domain, sources FROM linked"):
        found["linked"] += 1
        if not isinstance(sources, bytes) or not 0 < len(sources) <= MOST * TAG or len(sources) % TAG:
            yield snapshot.damaged(f"table linked, {number}: not the hashes of 1 to {MOST} domains")


def _waiting(queues: Queues, row: tuple[str, int, int, bytes, int], what: str) -> int:
    """The number of URLs in a domain's queue; ValueError if this is not a domain's row, DamagedFile for its queue."""
    if not rowcrc.agrees(rowcrc.domain, row):
        raise ValueError("checksum")
    name, rank, _, data, _ = row
    values = msgpack.unpackb(data)
    if len(values) != len(RECORD) or not all(map(isinstance, values, RECORD)):
        raise ValueError("no domain record")
    _, used, debt, old, queue = values
    if not name or min(rank, used, debt, old) < 0 or rank > MOST:
        raise ValueError("counts below nothing, or more links than are counted")
    count = 0
    for record in () if queue is None else queues.records(queue, what):
        count += 1
        flaw = link_flaw(record)
        if flaw:
            raise ValueError(flaw)
    return count
