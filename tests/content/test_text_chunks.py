"""Chunks of a document's Markdown: by headings, then by paragraphs, lines and sentences."""

from hypothesis import given
from hypothesis import strategies as st

from webcrawl.content.text_chunks import MOST, chunks

SENTENCE = "A lamp is a thing that gives light. "


def paths(text, size=1000):
    return [(chunk.headings, chunk.text) for chunk in chunks(text, size)]


def test_a_chunk_has_its_heading_path():
    """A heading begins a chunk; deeper headings stand under it, an equal one replaces it."""
    text = "Before\n\n# Lamps\n\nAll\n\n## Oil\n\nOld\n\n## Gas\n\nNew\n\n# End\n\nNo more"

    assert paths(text) == [
        ([], "Before"),
        (["Lamps"], "# Lamps\n\nAll"),
        (["Lamps", "Oil"], "## Oil\n\nOld"),
        (["Lamps", "Gas"], "## Gas\n\nNew"),
        (["End"], "# End\n\nNo more"),
    ]


def test_a_heading_without_text_stays_with_what_follows():
    """No chunk consists of headings alone, but the last one."""
    assert paths("# A\n\n## B\n\n### C\n\ntext\n\n## D") == [
        (["A", "B", "C"], "# A\n\n## B\n\n### C\n\ntext"),
        (["A", "D"], "## D"),
    ]


def test_code_has_no_headings():
    """A comment in a block of code is no heading, whatever its fence."""
    text = "# A\n\n````\n# x\n```\n# y\n````\n\n  ```sh\n# z\n  ```\n\n# B\n\nb"

    assert [headings for headings, _ in paths(text)] == [["A"], ["B"]]


def test_long_sections_are_split_at_the_best_place():
    """Between paragraphs, or else lines, sentences, words, of the second half, or else anywhere."""
    half = "x" * 60
    text = f"{half}\n{half} {half}.\n\n{half}"

    assert [chunk.text for chunk in chunks(text, 200)] == [f"{half}\n{half} {half}.", half]
    assert [len(chunk.text) for chunk in chunks(SENTENCE * 10, 100)] == [71] * 5
    assert [len(chunk.text) for chunk in chunks("日本。" * 100, 200)] == [198, 102]
    assert [len(chunk.text) for chunk in chunks("y" * 450, 200)] == [200, 200, 50]


def test_a_page_of_headings():
    """After the first 10,000 headings a page is split by its size alone."""
    assert len([*chunks("# a\nb\n" * 100_000, 2000)]) < 2 * MOST


@given(
    st.lists(
        st.sampled_from(
            ["# a\n", "## b\n", "\n", "word ", "x" * 90, ". ", "```\n", "\u3000", "文。"]
        ),
        max_size=60,
    ),
    st.integers(20, 120),
)
def test_nothing_is_lost(parts, size):
    """Chunks are parts of the text, in order, within the size; between them is white space only."""
    text = "".join(parts)
    end = 0

    for chunk in chunks(text, size):
        assert 0 < len(chunk.text) <= size
        assert not text[end : chunk.start].strip()
        end = chunk.start + len(chunk.text)
        assert text[chunk.start : end] == chunk.text
    assert not text[end:].strip()
