"""Divides the seen store's memory, and says when it merges; calculations and measurements are in docs/seen.md."""

from __future__ import annotations

from dataclasses import dataclass

BLOOM_FILE = "seen.bloom"  # key in the table meta: the name of the file with a Bloom filter's bits
CACHE_SIZE = 65_536  # entries of the URL cache: Broder, Najork and Wiener find 50,000 enough for any crawl
CACHE_ENTRY = 250  # bytes per entry of the URL cache while its table grows: CLOCK 234, LRU 252, RANDOM 141


@dataclass(slots=True, frozen=True)
class Layout:
    """The sizes of the eliminator's parts."""

    chunk: int  # most keys of T in memory before they are spilled
    budget: int  # rows that a merge handles at once
    largest: int  # most records per merge: T grows with F up to here
    least: int = 1 << 18  # fewest keys of T per merge, however small F is: 2 MiB
    row: int = 8192  # records per row of U: half a megabyte of 70-byte URLs, compressed in 1 ms
    fresh: int = 1 << 17  # most keys of F in memory: a megabyte to write at a checkpoint
    at_once: int = 4096  # most records that an early merge handles in the caller's thread, if F is in memory: 1 ms
    share: float = 0.1  # T grows to this share of F
    growth: float = 1.0  # a merge rewrites runs up to this many times as large as what it writes anyway


def cache_size(memory: int) -> int:
    """Entries of the URL cache, which has half of the bytes for all seen stores at most."""
    return min(CACHE_SIZE, memory // 2 // CACHE_ENTRY)


def shares(memory: int) -> tuple[int, int]:
    """Splits the bytes for all seen stores into those of the URL store and the content store, after the URL cache."""
    content = memory // 8
    return max(memory // 8, memory - content - CACHE_ENTRY * cache_size(memory)), content


def layout(memory: int) -> Layout:
    """Five eighths of the bytes for T, a sixteenth for a merge's rows, an eighth for verdicts; the rest is reserve.

    In the worst case T has a filling chunk, one being spilled and the last one of T', the latter two with their sort
    order: 40 bytes per key. A row in a merge takes 128 bytes; a verdict two bits, for this merge and the next.
    """
    return Layout(chunk=max(1, memory // 64), budget=max(1, memory // 2048), largest=max(1, memory // 2))
