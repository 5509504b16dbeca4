"""Downloads over time, in bounded memory."""

from webcrawl.store.jobdir.stats_file import Series

NOW = 1_700_000_000_500


def test_slots_begin_with_the_first_download():
    """Each slot has the downloads, documents and bytes of its time."""
    series = Series(slots=8, width=1000)
    series.add(NOW, 1, 10)
    series.add(NOW + 400, 0, 5)
    series.add(NOW + 2500, 1, 1)

    assert series.start == 1_700_000_000_000
    assert (series.downloads, series.documents, series.sizes) == (
        [2, 0, 0, 1],
        [1, 0, 0, 1],
        [15, 0, 0, 1],
    )


def test_a_full_series_halves_its_resolution():
    """Two slots become one as often as needed, and no download is lost."""
    series = Series(slots=4, width=1000)
    for second in range(9):
        series.add(NOW + 1000 * second, 1, 1)

    assert (series.width, series.downloads) == (4000, [4, 4, 1])


def test_a_jump_of_the_clock():
    """A time far ahead needs no more memory, one before the first counts with the first."""
    series = Series(slots=4, width=1000)
    series.add(NOW, 1, 1)
    series.add(NOW + 10**12, 1, 1)
    series.add(NOW - 10**9, 1, 1)

    assert len(series.downloads) <= 4
    assert (series.downloads[0], sum(series.downloads)) == (2, 3)
