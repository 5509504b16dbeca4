"""The bounded memory of what a domain's pages have had."""

from hypothesis import given
from hypothesis import strategies as st

from webcrawl.frontier.families.memory import MANY, Memory

NUMBERS = st.lists(st.integers(0, 2**32 - 1), max_size=50)


class TestMemory:
    @given(NUMBERS)
    def test_what_was_added_is_known(self, numbers):
        """No number is new twice."""
        memory = Memory()
        for number in numbers:
            memory.add(number)

        assert not any(map(memory.add, numbers))

    def test_the_oldest_are_forgotten(self):
        """Of more numbers than it has room for, the last MANY are known, and nearly all of the first are new again."""
        memory = Memory()
        for number in range(3 * MANY):
            memory.add(number * 2654435761 & 0xFFFFFFFF)

        assert not any(memory.add(number * 2654435761 & 0xFFFFFFFF) for number in range(2 * MANY, 3 * MANY))
        assert sum(memory.add(number * 2654435761 & 0xFFFFFFFF) for number in range(100)) > 90

    def test_new_numbers_are_rarely_taken_for_known(self):
        """Of a hundred numbers that were never added, hardly one is known when the memory is full."""
        memory = Memory()
        for number in range(2 * MANY):
            memory.add(number * 2654435761 & 0xFFFFFFFF)

        assert sum(memory.add((number * 40503 + 17) * 97 & 0xFFFFFFFF) for number in range(2**20, 2**20 + 100)) > 90
