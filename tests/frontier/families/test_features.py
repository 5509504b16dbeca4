"""What counts as news on a page."""

import pytest

from webcrawl.frontier.families.features import LOOKED_AT, Features


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

    @pytest.mark.parametrize("body", ["", "<", "<p>", "\0" * 100, "<" * 100_000, "<p " * 10_000, "src=" * 1000])
    def test_any_body_has_features(self, body):
        """Whatever a body holds, it is read."""
        assert len(parts(body)) <= 600

    def test_which_sentences_are_shown_is_no_news(self):
        """A choice of known cells tells parts apart; a choice of sentences is what adverts and teasers are."""
        rows = ["<p>one two three four</p>", "<p>five six seven eight</p>"]
        cells = ["<td>red</td>", "<td>blue</td>"]
        wholes = [[Features(one.encode(), set(), set()).whole for one in kind] for kind in (rows, cells)]

        assert wholes[0][0] == wholes[0][1]
        assert wholes[1][0] != wholes[1][1]


class TestTitles:
    FRAME = "<p>a frame of words</p><p>nothing yet</p><div>a quotation</div>"

    def page(self, title, heading, frame=FRAME):
        return Features(f"<title>{title}</title><h1>{heading}</h1>{frame}".encode(), {b"7"}, set())

    def test_a_new_title_alone_is_no_part(self):
        """Nor is a heading that says no more than the title; but it is noted that the title is another one."""
        one, other = self.page("red hats", "hats"), self.page("blue coats", "coats")

        assert one.parts == other.parts
        assert one.title not in (None, other.title)

    def test_other_words_are_parts(self):
        """A heading with a word that the title has not is as new as any text."""
        assert self.page("red hats", "hats").parts != self.page("red hats", "old hats").parts

    def test_a_page_of_few_runs_may_have_nothing_but_its_title(self):
        """It is a part then, as it is if the page was not seen whole, or the title has a word of the URL's."""
        few = self.page("red hats", "hats", "<p>a frame of words</p>")
        cut = self.page("red hats", "hats", f"{self.FRAME}<p>{'x' * LOOKED_AT}</p>")
        named = self.page("red hats 7", "hats")

        assert [few.title, cut.title] == [None, None]
        assert named.title is not None
        assert Features(b"<title>red hats</title>" + self.FRAME.encode(), {b"red"}, set()).title is None
