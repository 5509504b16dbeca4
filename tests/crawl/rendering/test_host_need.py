"""Which pages of a host are rendered, by what rendering has shown."""

from hypothesis import given
from hypothesis import strategies as st

from webcrawl.crawl.rendering.deciding import Need, Pace


def rendered(pace, pages, *, same):
    """The numbers of those pages that are rendered; of each it turns out that it is the same, or is not."""
    found = []
    for number in range(1, pages + 1):
        if pace.comes():
            found.append(number)
            pace.rendered(same=same(number) if callable(same) else same)
    return found


def test_pages_that_need_scripts_are_all_rendered():
    """As long as rendering changes them."""
    assert rendered(Pace(), 50, same=False) == [*range(1, 51)]


def test_pages_that_do_not_are_looked_at_less_and_less_often():
    """After four in a row one in two, then one in four, and so on."""
    assert rendered(Pace(), 70, same=True) == [1, 2, 3, 4, 6, 10, 18, 34, 66]


def test_they_are_looked_at_now_and_then_however_many_there_are():
    """One in 1024: a site may change."""
    found = rendered(Pace(), 10_000, same=True)

    assert {after - before for before, after in zip(found[-6:], found[-5:], strict=False)} == {1024}


def test_one_page_that_needs_them_begins_anew():
    """The pages behind it are rendered again, until four in a row are the same."""
    assert rendered(Pace(), 20, same=lambda number: number != 10) == [1, 2, 3, 4, 6, 10, 11, 12, 13, 14, 16, 20]


def test_a_page_that_could_not_be_rendered_is_made_up_for():
    """The next one is rendered in its place."""
    pace = Pace(same=7)
    assert [pace.comes() for _ in range(18)] == [False] * 15 + [True] * 3


def test_shells_and_other_pages_are_learnt_of_apart():
    """A site may have text on some pages and an application on others."""
    need = Need()
    for _ in range(6):
        need.learn(500, 100, is_shell=True, same=False)
        need.learn(0, 100, is_shell=False, same=True)

    assert (need.shells.gap, need.others.gap) == (1, 8)
    assert need.told() == (
        "all shells, one in 8 of the others; 6 of 12 had more text or links than the server sent, in 1.2 s of the "
        "browser's time"
    )


@given(st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**40), st.booleans(), st.booleans()), max_size=30))
def test_it_is_packed(pages):
    """All of it comes back."""
    need = Need()
    for gained, milliseconds, is_shell, same in pages:
        need.pace(is_shell=not is_shell).comes()
        need.learn(gained, milliseconds, is_shell=is_shell, same=same)

    assert Need.unpack(need.pack()) == need
