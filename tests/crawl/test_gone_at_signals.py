"""A page that was gone, and is again what it was, where signals have it fetched: who heard the one hears the other."""

from collections import Counter

import pytest

from tests.support.changing_site import Document
from tests.support.revisiting import Web
from webcrawl.verify.whole import verify

HOUR = 3600
GONE = Document(status=404)


@pytest.fixture(name="web", params=["", '"1"'], ids=["bare", "etag"])
def _web(request, tmp_path):
    """A crawl that fetches each page once a day, and knows a page."""
    one = Web(tmp_path / "crawl", {"/a": Document(b"<p>a", etag=request.param)}, REVISIT_AGE=24 * HOUR)
    one.here = one.documents["/a"]
    one.seed("/a")
    one.run(2 * HOUR)
    yield one
    one.checkpoint()
    one.crawl.close()
    assert list(verify(one.folder, Counter())) == []


def told(web, document):
    """A signal comes."""
    web.documents["/a"] = document
    web.crawl.revisiting.tell(web.url("/a"), web.now)
    web.run(HOUR)


def passed(web, document):
    """The page has its turn."""
    web.documents["/a"] = document
    web.run(30 * HOUR)


@pytest.mark.parametrize("first", [None, told, passed], ids=["new", "told", "passed"])
@pytest.mark.parametrize("going", [told, passed])
@pytest.mark.parametrize("coming", [told, passed])
def test_it_is_gone_and_comes_back(web, first, going, coming):
    """It counts as changed once, asked for without a condition, and is then as it was."""
    if first is not None:
        first(web, web.here)
    known = len(web.changes("/a"))
    going(web, GONE)
    coming(web, web.here)
    assert web.changes("/a")[known] == "gone"
    back = web.changes("/a").index("changed")
    assert set(web.changes("/a")[known:back]) == {"gone"}
    assert web.conditions("/a")[back] == {}
    passed(web, web.here)
    passed(web, web.here)
    assert set(web.changes("/a")[back + 1 :]) == {"unchanged"}


def test_after_a_kill(web):
    """What is known of a page that is gone is part of each checkpoint."""
    told(web, GONE)
    web.checkpoint()
    web.kill()
    passed(web, web.here)
    assert web.changes("/a") == ["new", "gone", "changed"]
