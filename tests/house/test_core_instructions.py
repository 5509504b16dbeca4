"""The weight of a page's way through the crawl's core, so that no feature makes all pages dearer
unseen.
"""

import pytest

from benchmarks.core import by_room, counted, expected

SHARE, LEAST = 0.05, 10  # of a room's instructions; and instructions, for the rooms that have few


def test_a_page_takes_as_many_instructions_as_are_written_down(tmp_path):
    """No room takes more of Python's instructions per page than `python -m benchmarks.core --write`
    noted, or fewer.
    """
    known = expected()
    if known is None:
        pytest.skip("noted with another version of Python")
    found = by_room(counted(tmp_path))

    changed = {
        room: (known.get(room, 0), found.get(room, 0)) for room in known.keys() | found.keys()
    }
    assert {
        room: pair
        for room, pair in changed.items()
        if abs(pair[1] - pair[0]) > max(SHARE * pair[0], LEAST)
    } == {}
