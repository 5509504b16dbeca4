"""A page that is as it was, in another content coding than the answer that the archive has."""

import gzip

import pytest

from tests.support.warc_crawl import exchange
from webcrawl.base.page_values import By, Change
from webcrawl.crawl.revisit.page_judgement import judged
from webcrawl.crawl.revisit.record import PageRecord

BODY, STORED = b"<p>text", 1.7e9


def answer(*, plain):
    found = exchange("http://a.test/", BODY)
    if not plain:
        found.payload = gzip.compress(BODY)
    return found


@pytest.mark.parametrize(
    ("was_plain", "is_plain", "stored"),
    [(True, True, STORED), (False, False, STORED), (True, False, STORED), (False, True, 0.0)],
)
def test_it_is_archived_anew_where_nobody_could_read_it(was_plain, is_plain, stored):
    """The head of a plain answer would go with a coded payload. Else the earlier answer is referred to."""
    record = PageRecord("http://a.test/", digest=7, stored=STORED, copy_of="http://b.test/", plain=was_plain)
    found = judged(record, answer(plain=is_plain), 7, lambda: None)

    assert (found.change, found.by) == (Change.UNCHANGED, By.DIGEST)
    assert (found.stored, found.copy_of) == (stored, "http://b.test/" if stored else "")
