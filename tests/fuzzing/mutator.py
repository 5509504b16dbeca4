"""Mutates inputs: cuts, repeats, splices, and inserts tokens of their format."""

from collections.abc import Callable, Sequence
from random import Random

LONGEST = 65_536
ODD = [
    b"\0",
    b"\xff",
    b"\x80",
    b"\r",
    b"\n",
    b"\r\n",
    b" ",
    b"\t",
    b"\x1b$B",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xfe\xff",
]
NUMBERS = [
    b"0",
    b"-1",
    b"1",
    b"255",
    b"65536",
    b"4294967296",
    b"18446744073709551616",
    b"9" * 40,
    b"0x7f",
    b"1e400",
]


class Mutator:
    """Makes inputs from a corpus; the same seed makes the same inputs."""

    def __init__(self, corpus: Sequence[bytes], tokens: Sequence[bytes], random: Random) -> None:
        self._corpus, self._random = corpus, random
        self._tokens = [*tokens, *tokens, *ODD, *NUMBERS]
        self._ways: list[Callable[[bytearray], None]] = [
            self._flip, self._insert, self._insert, self._overwrite, self._delete, self._repeat, self._splice,
            self._move,
        ]  # fmt: skip

    def __call__(self) -> bytes:
        random = self._random
        data = bytearray(
            random.choice(self._corpus) if random.random() < 0.95 else random.choice(self._tokens)
        )
        for _ in range(1 << random.randrange(5)):
            random.choice(self._ways)(data)
        if random.random() < 0.1:
            del data[random.randrange(len(data) + 1) :]
        return bytes(data[:LONGEST])

    def _place(self, data: bytearray) -> tuple[int, int]:
        start = self._random.randrange(len(data) + 1)
        return start, min(len(data), start + (1 << self._random.randrange(8)))

    def _flip(self, data: bytearray) -> None:
        if data:
            data[self._random.randrange(len(data))] ^= 1 << self._random.randrange(8)

    def _insert(self, data: bytearray) -> None:
        start, _ = self._place(data)
        data[start:start] = self._random.choice(self._tokens)

    def _overwrite(self, data: bytearray) -> None:
        start, end = self._place(data)
        data[start:end] = self._random.choice(self._tokens)

    def _delete(self, data: bytearray) -> None:
        start, end = self._place(data)
        del data[start:end]

    def _repeat(self, data: bytearray) -> None:
        start, end = self._place(data)
        data[start:start] = data[start:end] * (1 << self._random.randrange(7))

    def _splice(self, data: bytearray) -> None:
        start, end = self._place(data)
        other = self._random.choice(self._corpus)
        at = self._random.randrange(len(other) + 1)
        data[start:end] = other[at : at + (1 << self._random.randrange(10))]

    def _move(self, data: bytearray) -> None:
        start, end = self._place(data)
        moved = data[start:end]
        del data[start:end]
        at = self._random.randrange(len(data) + 1)
        data[at:at] = moved
