"""Whatever words follow a command on hosts, there is an answer that JSON can say, or a refusal in a line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.steered import steered
from webcrawl.crawl.control.command import CommandError

WORDS = st.one_of(
    st.sampled_from(
        ["a.org", "A.org", "[::1]", "http://a.org:80/x", "pause", "resume", "retry", "drop", "delay", "default"]
    ),
    st.sampled_from(
        ["--for", "--by", "-n", "--by=bytes", "queue", "5", "-1", "1e9", "nan", "HOST_MAX_PAGES", "URL_SCOPE"]
    ),
    st.sampled_from(["com", "URL_MAX_DEPTH", "DOMAIN_BUDGET_PAGES", "host", "POLITENESS_MIN_DELAY", "0.5"]),
    st.text(max_size=12),
    st.text(".:/@[]%-xn", max_size=12),
)
COMMANDS = ("host", "hosts", "queue", "robots", "set", "get", "set --for", "get --for")


@pytest.fixture(name="crawl", scope="module")
def _crawl(tmp_path_factory):
    with steered(tmp_path_factory.mktemp("words")) as crawl:
        crawl.add("a.org", 5)
        crawl.run(1)
        yield crawl


def said(crawl, *words):
    """The answer, or the refusal."""
    try:
        return crawl.given(*words)
    except CommandError as error:
        return error


@given(name=st.sampled_from(COMMANDS), words=st.lists(WORDS, max_size=4))
def test_any_words(crawl, name, words):
    """Nothing else is raised, so nothing that comes through the socket ends a crawl."""
    answer = said(crawl, name, *words)
    if isinstance(answer, CommandError):
        assert ("\n" in str(answer), len(str(answer)) < 1000) == (False, True)
    else:
        json.dumps(answer)
    crawl.run(1, most=20)
