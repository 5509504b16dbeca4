"""The bounded memory of what a domain's pages have had."""

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.frontier.families.memory import ENTRY, FIRST, LARGEST, Memory

NUMBERS = st.lists(st.integers(0, 2**32 - 1), max_size=50)
ROOM = LARGEST // ENTRY


def number(at):
    return at * 2654435761 & 0xFFFFFFFF


def filled(entries):
    memory = Memory()
    for at in range(entries):
        memory.add(number(at))
    return memory


class TestMemory:
    @given(NUMBERS)
    def test_what_was_added_is_known(self, numbers):
        """No number is new twice."""
        memory = Memory()
        for number in numbers:
            memory.add(number)

        assert not any(map(memory.add, numbers))

    @given(NUMBERS, NUMBERS)
    def test_what_is_in_it_can_be_asked_for(self, numbers, others):
        """`has` says what `add` would, and adds nothing."""
        memory = Memory()
        for one in numbers:
            memory.add(one)
        assert all(map(memory.has, numbers))
        assert memory.count == sum(map(Memory().add, numbers))
        assert not any(memory.has(one) is memory.add(one) for one in others)

    def test_it_grows(self):
        """A domain of few pages takes as little as before; each further filter has twice the room, up to LARGEST."""
        sizes = [filled(entries * FIRST // ENTRY).size for entries in (1, 2, 4, 8, 16, 100)]

        assert sizes == [2 * FIRST, 3 * FIRST, 6 * FIRST, 8 * FIRST, 8 * FIRST, 2 * LARGEST]

    def test_the_oldest_are_forgotten(self):
        """Of more numbers than it has room for, the last are known, one filter's full, and of the first nearly none."""
        memory = filled(6 * ROOM)

        assert all(map(memory.has, map(number, range(5 * ROOM, 6 * ROOM))))
        assert sum(map(memory.has, map(number, range(100)))) < 10

    def test_new_numbers_are_rarely_taken_for_known(self):
        """Of a hundred numbers that were never added, hardly one is known when the memory is full."""
        memory = filled(4 * ROOM)

        assert sum(memory.has((at * 40503 + 17) * 97 & 0xFFFFFFFF) for at in range(2**20, 2**20 + 100)) < 10

    @given(NUMBERS)
    def test_it_is_restored(self, numbers):
        """A packed memory knows the same, and nothing of it is unsaved."""
        memory = filled(2 * FIRST)
        for one in numbers:
            memory.add(one)
        again = Memory.unpack(memory.pack())

        assert (again.pack(), again.unsaved, memory.unsaved) == (memory.pack(), 0, 0)
        assert all(map(again.has, numbers))

    @pytest.mark.parametrize(
        "sizes", [(0, FIRST), (FIRST, 0), (FIRST, 2 * FIRST), (FIRST + 1, FIRST), (2 * LARGEST, FIRST)]
    )
    def test_a_memory_of_no_possible_size_is_refused(self, sizes):
        """What is no memory is an error that its reader expects."""
        with pytest.raises(ValueError, match="size"):
            Memory.unpack(msgpack.packb([b"\0" * sizes[0], b"\0" * sizes[1], 0]))
