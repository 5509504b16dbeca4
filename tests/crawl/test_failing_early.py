"""Pages that cannot be fetched, where the queue runs ahead of the clock because pages are taken
before they are due.
"""

from itertools import pairwise

import pytest

from tests.support.changing_site import Document
from tests.support.examples import in_campaign
from tests.support.revisiting import Web

PAGES, BAD = 200, 3


@pytest.mark.parametrize(
    "failing", [Document(status=404), *in_campaign(Document(status=403), Document(always=True))]
)
def test_they_wait_by_the_clock(tmp_path, failing):
    """However far the next page of the queue is ahead, one that failed is not requested again
    within a minute.
    """
    urls = [f"http://h{number}.test/" for number in range(PAGES)]
    web = Web(tmp_path / "crawl", {url: Document(b"<p>a") for url in urls}, REVISIT_AGE=1)
    web.seed(*urls)
    web.run(60)
    web.stop()
    web.documents |= dict.fromkeys(urls[:BAD], failing)
    began = web.now
    web.open(REVISIT_POLICY="proportional", REVISIT_RATE=2, REVISIT_AGE=86_400)
    web.run(900)

    for url in urls[:BAD]:
        times = [at for at, requested, _ in web.requested if requested == url and at >= began]
        assert len(times) > 1
        assert min(after - before for before, after in pairwise(times)) >= 59
    assert len({requested for at, requested, _ in web.requested if at >= began}) == PAGES
    assert web.damage() == []
