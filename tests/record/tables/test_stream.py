"""Batches of a stream, from columns."""

from hypothesis import example, given
from hypothesis import strategies as st

from webcrawl.record.tables.columns import SCHEMAS
from webcrawl.record.tables.parquet import Repeated, StreamWriter, read_stream

TEXTS = st.sampled_from(["http://a.test/", "é", "", "\ud800x"])


class Written:
    """An output that keeps what is written."""

    def __init__(self):
        self.data = b""

    def write(self, data):
        self.data += data


def written(urls, rows):
    output = Written()
    same = [["x"] * rows for _ in range(4)]
    StreamWriter(output, SCHEMAS["links"]).write([urls, *same, [True] * rows])
    return output.data


@given(pairs=st.lists(st.tuples(TEXTS, st.integers(0, 3)), max_size=5))
@example([("é", 2), ("", 0), ("\ud800x", 1)])
def test_repeated_texts_are_texts(pairs):
    """A column of repeated texts is written as the same texts one by one, byte for byte."""
    texts = [text for text, times in pairs for _ in range(times)]
    repeated = Repeated([text for text, _ in pairs], [times for _, times in pairs])

    data = written(repeated, len(texts))
    assert data == written(texts, len(texts))
    (batch,) = read_stream(data)
    assert batch.column("from_url").to_pylist() == [text.encode(errors="backslashreplace").decode() for text in texts]
