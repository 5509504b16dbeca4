"""Processing modules: pipelines that name content types are called for these, and an error of
theirs costs nothing.
"""

import asyncio
import logging
import re

import pytest

from webcrawl.base.errors import RulesError
from webcrawl.base.model import Exchange, Link, Timings
from webcrawl.content.page import Page
from webcrawl.crawl.outputs.modules import module
from webcrawl.crawl.outputs.output import Dropped


def page(content_type="text/html"):
    headers = [(b"Content-Type", content_type.encode())]
    answer = Exchange("http://a.test/", b"", 200, b"", headers, b"", b"", b"", "", 0.0, Timings())
    return Page.of(Link("http://a.test/"), answer)


def called(content_types, content_type):
    """Whether a module of these types is called for a page of this one."""
    calls = []
    module("m", calls.append, content_types)(page(content_type))
    return len(calls) == 1


class TestTypes:
    @pytest.mark.parametrize(
        ("patterns", "content_type", "wanted"),
        [
            (("text/html",), "text/html", True),
            (("text/html",), "Text/HTML; charset=utf-8", True),
            (("TEXT/HTML",), "text/html", True),
            ("text/html", "text/html", True),
            (("text/html",), "text/plain", False),
            (("text/html", "image/*"), "image/svg+xml", True),
            (["application/*+xml"], "application/atom+xml", True),
            (("*/*",), "x/y", True),
            (("text/*",), "", False),
            ((), "text/html", False),
        ],
    )
    def test_it_is_called_for_its_types(self, patterns, content_type, wanted):
        """A type is compared without parameters and case; `*` stands for anything."""
        assert called(patterns, content_type) is wanted

    @pytest.mark.parametrize("patterns", ["html", ("text/html", "png"), (1,), 5])
    def test_what_is_no_type_is_refused(self, patterns):
        """A pipeline that names something else is refused at the start."""
        line = "m: content_types must be types such as text/html or image/*, not "
        with pytest.raises(RulesError, match=re.escape(line)):
            module("m", print, patterns)

    def test_other_items_pass(self):
        """Only pages have a content type: a spider's own items go by."""
        assert module("m", pytest.fail, ("*/*",))({"a": 1}) == {"a": 1}


async def _late(page):
    await asyncio.sleep(0)
    if page.url == "http://broken.test/":
        raise ValueError(page.url)


class TestResults:
    def test_what_it_returns_goes_on(self):
        """A module may return another item; if it returns nothing, the page goes on."""
        made = page()
        assert module("m", lambda _: None, ("*/*",))(made) is made
        assert module("m", lambda _: {"b": 2}, ("*/*",))(made) == {"b": 2}

    def test_an_error_is_logged_and_the_page_goes_on(self, caplog):
        """The module, the page and the traceback are in the log."""
        made = page()
        assert module("my.Module", lambda _: 1 / 0, ("*/*",))(made) is made
        (record,) = caplog.records
        assert (record.levelno, record.getMessage()) == (logging.ERROR, "my.Module: http://a.test/")
        assert record.exc_info[0] is ZeroDivisionError

    @pytest.mark.parametrize("error", [Dropped("no"), MemoryError()])
    def test_what_means_more_is_raised(self, error):
        """A module may drop a page; and that memory is gone concerns all."""

        def process(_):
            raise error

        with pytest.raises(type(error)):
            module("m", process, ("*/*",))(page())

    def test_it_may_be_a_coroutine(self, caplog):
        """The same holds for an asynchronous module."""
        process, made, broken = module("m", _late, ("*/*",)), page(), page()
        broken.url = "http://broken.test/"
        assert asyncio.run(process(made)) is made
        assert asyncio.run(process(broken)) is broken
        assert [record.exc_info[0] for record in caplog.records] == [ValueError]
