"""Start tags, and their counts over a crawl."""

import gzip
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from tests.support.cases import cases
from webcrawl.crawl.outputs.tags import KNOWN, OTHER, TagCounts, start_tags


@pytest.mark.parametrize(
    ("html", "names"),
    [
        (b"<P>one<p class=x>two</p><Br/>", "p p br"),
        (b"a<b <i>c < d <3 </u>", "b i"),
        (b"<!-- <p> --><a><!-- <p>", "a"),
        (b"<script>'<p>'</SCRIPT><a>", "script a"),
        (b"<title><p></title><style><b></style ><a>", "title style a"),
        (b"<scripts><p>", "scripts p"),
        (b"<script><p>", "script"),
        (b"", ""),
    ],
)
def test_start_tags(html, names):
    """Names in lower case; none from comments, scripts and other raw text, nor end tags."""
    assert b" ".join(start_tags(html)).decode() == names


@given(
    st.lists(
        st.sampled_from(
            [b"<p>", b"<!--", b"-->", b"<script>", b"</script>", b"<", b">", b"a", b"<title "]
        )
    )
)
def test_any_bytes_have_tags_in_linear_time(pieces):
    """Each tag found begins at a place of its own, whatever is left open."""
    html = b"".join(pieces)

    assert len(start_tags(html)) <= html.count(b"<")


@pytest.mark.parametrize("name", ["html-newspaper", "html-readability"])
def test_real_pages_have_the_elements_of_their_trees(name):
    """The counts differ from those of lexbor's trees by less than one in three hundred."""
    written, parsed = Counter(), Counter()
    for path in sorted((cases(name) / "pages").glob("*.gz")):
        html = gzip.decompress(path.read_bytes())
        written.update(tag.decode("latin-1") for tag in start_tags(html))
        parsed.update(node.tag.lower() for node in LexborHTMLParser(html).css("*"))

    assert ((written - parsed) + (parsed - written)).total() < parsed.total() / 300


class TestCounts:
    def test_elements_and_pages(self):
        """A page counts once for each of its names, an element each time."""
        counts = TagCounts()
        counts.add([b"p", b"p", b"a"])
        counts.add([b"p"])

        assert counts.rows() == [("p", 3, 2), ("a", 1, 1)]

    def test_invented_names_are_bounded(self):
        """So many names beside HTML's own have a row; all others share one, in which a page counts
        once.
        """
        counts = TagCounts(others=2)
        counts.add([b"x-%d" % number for number in range(5)])
        counts.add([b"x-1", b"x-9", b"marquee", b"\xe9", b"a\x22", b"a" * 99])

        assert counts.rows() == [(OTHER, 7, 2), ("x-1", 2, 2), ("marquee", 1, 1), ("x-0", 1, 1)]

    def test_a_checkpoint_goes_on(self):
        """Restored counts take up what is added, and no more new names than before."""
        first = TagCounts(others=1)
        first.add([b"x-a", b"x-b", b"p"])
        again = TagCounts(first.rows(), others=1)
        for counts in (first, again):
            counts.add([b"x-a", b"x-c", b"p"])

        assert again.rows() == first.rows()

    def test_html_s_own_names_are_known(self):
        """Old and new ones."""
        assert {"a", "marquee", "article", "template", "svg", "dialog"} <= KNOWN
