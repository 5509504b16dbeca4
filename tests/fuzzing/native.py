"""Compares the native reader of links with Python's way: `python -m tests.fuzzing.native DOCUMENTS [SEED] [FOLDER]`.

FOLDER: real pages, which are mutated as well.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import fields
from pathlib import Path
from random import Random
from typing import Any

from tests.support.odd_pages import any_page, mutated
from webcrawl.base.native import NATIVE
from webcrawl.content.html.link_kinds import DocumentLinks
from webcrawl.content.html.link_reader import LinkReader
from webcrawl.urls.canonical import MAX_LENGTH, canonical_links
from webcrawl.urls.native_targets import resolved
from webcrawl.urls.recent_urls import RecentUrls

BY_PYTHON, BY_BOTH = LinkReader(), LinkReader()
BY_PYTHON.leave_native()
TYPES = (
    "text/html; charset=utf-8",
    "text/html; charset=utf-8",
    "text/html; charset=windows-1252",
    "text/html; charset=shift_jis",
)
URLS = (
    "http://a.test/b/c?d",
    "http://a.test/",
    "https://www.b.example.org:8080/x/y/z/",
    "ftp://f.test/a",
    "http://a.test/b/../c",
)


def differences(body: bytes, media: str, url: str) -> list[str] | None:
    """What the native reader has otherwise; None if it leaves the page to Python."""
    found, expected = BY_BOTH.links(body, media, url), BY_PYTHON.links(body, media, url)
    if found.reading is None:
        return None
    wrong = of_targets(found, expected, url)
    for one in fields(DocumentLinks):
        had, wanted = getattr(found, one.name), getattr(expected, one.name)
        if had != wanted:
            wrong.append(f"{one.name}: {had!r}, not {wanted!r}")
    return wrong


def of_targets(found: DocumentLinks, expected: DocumentLinks, url: str) -> list[str]:
    """Differences of the canonical URLs, of which every third was met lately."""
    invalid: Counter[str] = Counter()
    targets = canonical_links(expected.base, [one[1] for one in expected.links], invalid, MAX_LENGTH)
    distinct = [one for one in dict.fromkeys(targets.values()) if one is not None]
    lately = RecentUrls(1024)
    lately.add(distinct[::3])
    wanted = [one for one in distinct if one not in lately]
    counted: Counter[str] = Counter()
    had = resolved(found, found.base, counted, MAX_LENGTH, lately)
    wrong = []
    every = resolved(found, found.base, Counter(), MAX_LENGTH, lately, every=True)
    if every != distinct:
        wrong.append(f"every: {every}, not {distinct}")
    if had != wanted:
        wrong.append(f"targets: {had}, not {wanted}")
    if lately.absorbed != len(distinct) - len(wanted):
        wrong.append(f"absorbed: {lately.absorbed}, not {len(distinct) - len(wanted)}")
    if counted != invalid:
        wrong.append(f"invalid: {counted}, not {invalid}")
    return wrong


def reason(body: bytes) -> str:
    """Why a page is left to Python."""
    found: Any = NATIVE.read(body, [])
    return found if isinstance(found, str) else "a refresh, or the guard"


def main(count: int, seed: int, folder: str = "") -> int:
    random = Random(seed)
    real = [path.read_bytes().decode("utf-8", "replace") for path in sorted(Path(folder).iterdir())] if folder else []
    doubts: Counter[str] = Counter()
    wrong = 0
    for number in range(count):
        text = mutated(random, random.choice(real)) if real else any_page(random)
        body = text.encode("utf-8", "surrogatepass")
        media, url = random.choice(TYPES), random.choice(URLS)
        found = differences(body, media, url)
        if found is None:
            doubts[reason(body)] += 1
        elif found:
            wrong += 1
            print(number, media, url, repr(text), *found, sep="\n  ")
            if wrong >= 10:
                break
    print(f"{count} documents, {sum(doubts.values())} left to Python, {wrong} wrong: {doubts.most_common(12)}")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, *sys.argv[3:4]))
