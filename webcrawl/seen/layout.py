"""How the seen store divides its memory, and when it merges; docs/seen.md has the sums and the measurements."""

from __future__ import annotations

from dataclasses import dataclass

CACHE_ENTRY = 250  # bytes of an entry of the URL cache while its table grows: CLOCK 234, LRU 252, RANDOM 141


@dataclass(slots=True, frozen=True)
class Layout:
    """The sizes of the eliminator's parts."""

    chunk: int  # keys of T in memory, at the most, before they are spilled
    budget: int  # rows that a merge handles at once
    largest: int  # records that one merge judges: T grows with F up to here
    least: int = 1 << 18  # keys of T that are worth a merge, however small F is: 2 MiB
    row: int = 8192  # records in a row of U: 70-byte URLs make half a megabyte, compressed in 1 ms
    fresh: int = 1 << 17  # keys of F in memory: a megabyte to be written at a checkpoint
    at_once: int = 4096  # records that an early merge judges in the caller's thread, while F is in memory: 1 ms
    share: float = 0.1  # the share of F that T grows to
    growth: float = 1.0  # runs up to this many times what is to be written are written anew with it


def shares(memory: int, cache_size: int) -> tuple[int, int]:
    """Of all bytes for the seen stores: the URL store's and the content store's, after the URL cache's."""
    content = memory // 8
    return max(memory // 8, memory - content - CACHE_ENTRY * cache_size), content


def layout(memory: int) -> Layout:
    """Five eighths of the bytes for T, a sixteenth for a merge's rows, an eighth for verdicts; the rest to breathe.

    T is, at the worst, a chunk that fills, one being spilled and the last one of T' with the order of their keys:
    five times eight bytes a key. A row in a merge takes 128 bytes, a verdict two bits: one merge's and the next's.
    """
    return Layout(chunk=max(1, memory // 64), budget=max(1, memory // 2048), largest=max(1, memory // 2))
