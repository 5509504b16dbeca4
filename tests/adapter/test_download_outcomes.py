"""What the end of a download says of our own network."""

import pytest
from scrapy import Request

from tests.support.warc_crawl import exchange
from webcrawl.adapter.download_moments import DownloadMoments
from webcrawl.adapter.download_outcomes import Outcomes
from webcrawl.adapter.trip import Trip

URL = "http://a.test/"


class Network:
    """Hears of answers in place of an Uplink."""

    def __init__(self):
        self.answers = []

    def answered(self, url, ended):
        del ended
        self.answers.append(url)


@pytest.mark.parametrize(
    ("truncated", "is_well"),
    [("", True), ("length", True), ("unspecified", True), ("time", False), ("disconnect", False)],
)
def test_an_answer_that_is_cut(truncated, is_well):
    """An answer is a sign that the network is well, unless the rest of it was to come and did not.

    DOWNLOAD_TRUNCATE and broken chunks are no such reasons: in a crawl that keeps little of each page, all are cut.
    """
    outcomes = Outcomes(DownloadMoments(), whole=False)
    outcomes.uplink = network = Network()

    outcomes.note_answer(Request(URL), Trip(exchange=exchange(URL, truncated=truncated)), 200)

    assert network.answers == [URL] * is_well
