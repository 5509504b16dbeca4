"""Checks the links of large pages that wait for their turns: the table `portion` (docs/files.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import zstandard

from webcrawl.frontier.blocks import LARGEST
from webcrawl.seen.portions import Portion
from webcrawl.store import rowcrc
from webcrawl.store.errors import DamagedFile
from webcrawl.verify.queues import link_flaw
from webcrawl.verify.snapshot import Snapshot


def check_portions(snapshot: Snapshot, found: Counter[str]) -> Iterator[DamagedFile]:
    """Reads everything once; counts the links among those that are not yet looked up."""
    unpack = zstandard.ZstdDecompressor().decompress
    for number, *row in snapshot.rows("SELECT id, turn, site, count, data, crc FROM portion"):
        what = f"table portion, {number}"
        count, data = row[2], row[3]
        if not rowcrc.agrees(rowcrc.portion, row):
            yield snapshot.damaged(f"{what}: checksum", value=data)
            continue
        if zstandard.frame_content_size(data) > LARGEST:
            yield snapshot.damaged(f"{what}: impossibly large", value=data)
            continue
        try:
            portion = Portion.unpack(unpack(data))
            flaw = link_flaw(portion.page.pack())
        except (zstandard.ZstdError, ValueError, TypeError, AttributeError) as error:
            yield snapshot.damaged(f"{what}: {error}", value=data)
            continue
        if flaw or len(portion.links) != count:
            yield snapshot.damaged(f"{what}: {flaw or f'{len(portion.links)} links, not {count}'}", value=data)
        found["waiting"] += len(portion.links)
