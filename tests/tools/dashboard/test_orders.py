"""Commands as forms: which words a crawl gets, and which must be said twice."""

import pytest

from webcrawl.crawl.control.command import CommandError
from webcrawl.tools.dashboard.commands import MAX_ORDER_CHARS, MAX_WORDS, CommandOrder, read_order


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        (" example.com ", ("example.com",)),
        ("a.b --by='the owner' --forget", ("a.b", "--by=the owner", "--forget")),
        ("add 'my seeds.txt' b.csv", ("add", "my seeds.txt", "b.csv")),
    ],
)
def test_words(text, words):
    """The words of a form are read as a shell reads them, without its other powers."""
    assert read_order({"command": "exclude", "words": text}) == CommandOrder("exclude", words)


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"command": "shutdown"},
        {"command": "__class__"},
        {"command": "seeds", "words": "'"},
        {"command": "exclude", "words": "x" * (MAX_ORDER_CHARS + 1)},
        {"command": "seeds", "words": "a " * (MAX_WORDS + 1)},
    ],
)
def test_what_is_no_order(form):
    """Unknown commands, open quotes, too many words and too long ones are refused."""
    with pytest.raises(CommandError):
        read_order(form)


@pytest.mark.parametrize(
    ("order", "destroys"),
    [
        (CommandOrder("stop", ()), True),
        (CommandOrder("exclude", ("a.example",)), True),
        (CommandOrder("host", ("a.example", "drop")), True),
        (CommandOrder("host", ("a.example", "pause")), False),
        (CommandOrder("include", ("a.example",)), False),
        (CommandOrder("set", ("LOG_LEVEL", "INFO")), False),
        (CommandOrder("seeds", ("add", "drop")), False),
    ],
)
def test_what_destroys(order, destroys):
    """What ends a run or drops URLs must be said twice."""
    assert bool(order.consequence) is destroys
