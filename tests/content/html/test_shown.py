"""What a document says of itself and what it shows, of one tree."""

import gzip

import pytest

from tests.support.cases import cases
from webcrawl.content.html.encoding_sniffing import encoding_of
from webcrawl.content.html.self_description import AboutReader
from webcrawl.content.html.shown_text import ShownReader, visible_text
from webcrawl.content.html.trees import document

READER = ShownReader()


@pytest.mark.parametrize("kind", ["html", "xml"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html lang=de><title>t</title><h1>A <b>head</b></h1><p hidden>no</p><p>yes<script>no</script>",
        "<h1 hidden>heading</h1><p>text",
        "<template><h1>no</h1></template><select><option>no</select>yes",
        "<b>" * 13_000 + "deep",
        "\0<p>\xff",
    ],
)
def test_it_is_what_two_readings_find(text, kind):
    """Headings that are not displayed are read before they are taken out; heavy pages have both, too."""
    data = text.encode()

    assert READER.shown(data, kind) == (AboutReader().about(data, kind), visible_text(data, kind))


@pytest.mark.parametrize("name", ["html-readability", "html-newspaper"])
def test_real_pages(name):
    """It is the same of real pages."""
    for path in sorted((cases(name) / "pages").glob("*.gz"))[::5]:
        body = gzip.decompress(path.read_bytes())
        data, kind = document(body, "text/html", encoding_of(body, "text/html", "http://a.test/"))

        assert READER.shown(data, kind) == (AboutReader().about(data, kind), visible_text(data, kind)), path
