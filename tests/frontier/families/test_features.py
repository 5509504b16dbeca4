"""What counts as news on a page, the families of a URL, and how much of it is remembered."""

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.frontier.families.features import LOOKED_AT, Features
from webcrawl.frontier.families.memory import ENTRY, FIRST, LARGEST, Memory
from webcrawl.frontier.families.shapes import shape_of


def parts(body, address=(), echo=()):
    return Features(body.encode(), set(address), set(echo)).parts


class TestFeatures:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("<p>made at 12:05 in 0.013 s</p>", "<p>made at 23:59 in 0.2 s</p>"),
            ("<p>session 5f3ac1b2</p>", "<p>session 91bc77de</p>"),
            ("<p>red and blue</p>", "<p>blue and red</p>"),
            ("<p>text</p><a href=/1>one</a>", "<p>text</p><a href=/2>two</a>"),
            ("<p>text</p><script>one()</script>", "<p>text</p><script>two()</script>"),
        ],
    )
    def test_what_costs_a_server_nothing_is_no_news(self, one, other):
        """Numbers, hashes, the order of words, links' texts and scripts make no difference."""
        assert parts(one) == parts(other)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("<p>a red hat</p>", "<p>a blue hat</p>"),
            ("<img src=/1.jpg>", "<img src=/2.jpg>"),
            ("<p>Ein Hut f\u00fcr dich</p>", "<p>Ein Hut f\u00fcr mich</p>"),
            ("<p>\u65e5\u672c\u8a9e</p>", "<p>\u4e2d\u56fd\u8a9e</p>"),
            ("a plain text", "another plain text"),
        ],
    )
    def test_other_words_and_pictures_are(self, one, other):
        """One other word is, and one other picture."""
        assert parts(one) != parts(other)

    def test_words_in_quotation_marks_are_the_same_words(self):
        """Those of Unicode are no letters."""
        assert parts("<p>no \u201cred hat\u201d here</p>") == parts("<p>no red hat here</p>")

    def test_what_stands_before_a_run_takes_no_room_in_it(self):
        """A template's indentation, however deep, leaves as many words to tell one page from
        another.
        """
        indent = "\n" + " " * 300

        assert (
            parts(f"<p>{indent}a red hat</p>")
            == parts("<p>a red hat</p>")
            != parts(f"<p>{indent}a blue hat</p>")
        )

    def test_a_table_of_numbers_is_news(self):
        """Many numbers are content; few are a date or a counter."""
        tables = ["".join(f"<td>{at * step}</td>" for at in range(1000, 1100)) for step in (1, 3)]

        assert parts(tables[0]) != parts(tables[1])

    def test_words_of_the_address_are_left_out(self):
        """A page that only repeats what it was asked for says nothing."""
        echoing = Features(b"<p>No results for hats</p>", set(), {b"hats"}).echoing

        assert [left for _, left in echoing] == parts("<p>No results for</p>")

    def test_a_run_that_echoes_the_address_is_known_with_its_words_too(self):
        """Another page may have had it before its address had these words."""
        echoing = Features(b"<p>Hats for all</p>", set(), {b"hats"}).echoing

        assert [run for run, _ in echoing] == parts("<p>Hats for all</p>")

    @pytest.mark.parametrize(
        "body", ["", "<", "<p>", "\0" * 100, "<" * 100_000, "<p " * 10_000, "src=" * 1000]
    )
    def test_any_body_has_features(self, body):
        """Whatever a body holds, it is read."""
        assert len(parts(body)) <= 600

    def test_which_sentences_are_shown_is_no_news(self):
        """A choice of known cells tells parts apart; a choice of sentences is what adverts and
        teasers are.
        """
        rows = ["<p>one two three four</p>", "<p>five six seven eight</p>"]
        cells = ["<td>red</td>", "<td>blue</td>"]
        wholes = [
            [Features(one.encode(), set(), set()).whole for one in kind] for kind in (rows, cells)
        ]

        assert wholes[0][0] == wholes[0][1]
        assert wholes[1][0] != wholes[1][1]


class TestTitles:
    FRAME = "<p>a frame of words</p><p>nothing yet</p><div>a quotation</div>"

    def page(self, title, heading, frame=FRAME):
        return Features(f"<title>{title}</title><h1>{heading}</h1>{frame}".encode(), {b"7"}, set())

    def test_a_new_title_alone_is_no_part(self):
        """Nor is a heading that says no more than the title; but it is noted that the title is
        another one.
        """
        one, other = self.page("red hats", "hats"), self.page("blue coats", "coats")

        assert one.parts == other.parts
        assert one.title not in (None, other.title)

    def test_other_words_are_parts(self):
        """A heading with a word that the title has not is as new as any text."""
        assert self.page("red hats", "hats").parts != self.page("red hats", "old hats").parts

    def test_a_page_of_few_runs_may_have_nothing_but_its_title(self):
        """It is a part then, as it is if the page was not seen whole, or the title has a word of
        the URL's.
        """
        few = self.page("red hats", "hats", "<p>a frame of words</p>")
        truncated = self.page("red hats", "hats", f"{self.FRAME}<p>{'x' * LOOKED_AT}</p>")
        named = self.page("red hats 7", "hats")

        assert [few.title, truncated.title] == [None, None]
        assert named.title is not None
        assert (
            Features(b"<title>red hats</title>" + self.FRAME.encode(), {b"red"}, set()).title
            is None
        )


HOST = "http://a.test"


def close(tail):
    return shape_of(HOST + tail).families[0]


class TestShapes:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("/item/1", "/item/2"),
            ("/view?id=1", "/view?id=2"),
            ("/view?id=1&sid=x", "/view?sid=y&id=2"),
            ("/list?f[0]=a", "/list?f[1]=b"),
            ("/list;size=s;colour=red", "/list;colour=blue;size=l"),
            ("/s/8f3a/page", "/s/91bc/other"),
            ("/2024/03/05/some-news", "/2023/11/30/other-news"),
            ("/wiki/Apple", "/wiki/Pear"),
        ],
    )
    def test_urls_that_differ_in_values_are_one_family(self, one, other):
        """Values of parameters, the last segment, and segments that look like one of many are
        masked.
        """
        assert close(one) == close(other)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("/item/1", "/list/1"),
            ("/view?id=1", "/view?page=1"),
            ("/a/b", "/a/b/"),
            ("/a.html", "/a.txt"),
            ("/a", "/a/b"),
            ("/list;size=s/a", "/list;colour=red/a"),
        ],
    )
    def test_urls_of_other_forms_are_another_family(self, one, other):
        """Other names, parameters, endings and depths make other families."""
        assert close(one) != close(other)

    def test_wider_families_are_of_all_hosts(self):
        """Only the closest family is a single host's; the widest has every URL of a domain."""
        one, other = shape_of("http://x.a.test/item/1"), shape_of("http://y.a.test/item/2")

        assert one.families[0] != other.families[0]
        assert one.families[1:] == other.families[1:]

    @pytest.mark.parametrize(
        "tail", ["/", "", "//", "/?", "/?&&", "/?=", "/%", "/a?b?c", "/" + "x/" * 500]
    )
    def test_every_url_has_families(self, tail):
        """Whatever a URL looks like, it has a shape."""
        assert len(shape_of(HOST + tail).families) == 4


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

    def test_the_oldest_are_forgotten(self):
        """Of more numbers than it has room for, the last are known, one filter's full, and of the
        first nearly none.
        """
        memory = filled(6 * ROOM)

        assert all(map(memory.has, map(number, range(5 * ROOM, 6 * ROOM))))
        assert sum(map(memory.has, map(number, range(100)))) < 10

    def test_new_numbers_are_rarely_taken_for_known(self):
        """Of a hundred numbers that were never added, hardly one is known when the memory is full."""
        memory = filled(4 * ROOM)

        assert (
            sum(memory.has((at * 40503 + 17) * 97 & 0xFFFFFFFF) for at in range(2**20, 2**20 + 100))
            < 10
        )

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
        "sizes",
        [(0, FIRST), (FIRST, 0), (FIRST, 2 * FIRST), (FIRST + 1, FIRST), (2 * LARGEST, FIRST)],
    )
    def test_a_memory_of_no_possible_size_is_refused(self, sizes):
        """What is no memory is an error that its reader expects."""
        with pytest.raises(ValueError, match="size"):
            Memory.unpack(msgpack.packb([b"\0" * sizes[0], b"\0" * sizes[1], 0]))
