"""Whether a page's text is new to its site."""

import pytest

from webcrawl.frontier.budgets import Texts

SENTENCE = "The quick brown fox jumps over the lazy dog, again and again."


def page(
    text, *, title="A title that is different on every page of the site", link="A link text of any length, new too"
):
    return f"<title>{title}</title><script>{title}</script><p>{text}</p><a href='{title}'>{link}</a>".encode()


class TestTexts:
    def test_the_same_sentences_again(self):
        """A page whose titles, links and scripts alone are new has no new text."""
        texts = Texts(1 << 10)

        assert texts.new("a.test", page(SENTENCE))
        assert not texts.new("a.test", page(SENTENCE, title="x" * 50, link="y" * 50))
        assert texts.new("a.test", page(SENTENCE + "!"))

    def test_sites_are_apart(self):
        """What one site has said is new on another one."""
        texts = Texts(1 << 10)

        assert texts.new("a.test", page(SENTENCE))
        assert texts.new("b.test", page(SENTENCE))

    @pytest.mark.parametrize("body", [b"", b"<p>Page 17</p>", b"\xff\x00" * 100, b"<" * 100_000, b"plain " * 100])
    def test_without_sentences_there_is_nothing_to_compare(self, body):
        """A page without a sentence counts as new: then only its whole body is compared."""
        texts = Texts(1 << 10)

        assert texts.new("a.test", body)
        assert texts.new("a.test", body)

    def test_memory_is_fixed(self):
        """The oldest sentences are forgotten."""
        texts = Texts(16 * 8)
        for number in range(1000):
            assert texts.new("a.test", page(SENTENCE + str(number)))

        assert len(texts._places) == 16
        assert texts.new("a.test", page(SENTENCE + "0"))
