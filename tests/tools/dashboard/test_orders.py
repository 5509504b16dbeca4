"""Commands as forms: which fields they have, and which words a crawl gets."""

from types import SimpleNamespace

import pytest

from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.commands import COMMANDS
from webcrawl.tools.dashboard.pages.command_pages import LONGEST, MOST_WORDS, Order, fields, read, sent


def test_every_command_has_a_form():
    """A command has a field for each of its words and options, one for any number of them, or none."""
    for command in COMMANDS.values():
        names = fields(command)
        assert bool(names) == (command.most != 0), command.name
        assert len(names) in (0, 1, command.most) or any(name.startswith("--") for name in names)


def row(words, least, most):
    """A row of the table."""
    return SimpleNamespace(name="try", words=words, says="", least=least, most=most)


def test_fields():
    """Words that must all be there have fields of their own."""
    assert fields(row("NAME VALUE", 2, 2)) == ["NAME", "VALUE"]
    assert fields(row("[--for DOMAIN] NAME VALUE", 2, 4)) == ["[--for DOMAIN] NAME VALUE"]
    assert fields(row("SRC…", 1, None)) == ["SRC…"]
    assert fields(row("", 0, 0)) == []


def test_words_of_their_own(monkeypatch):
    """A field of its own is a word, whatever is in it."""
    monkeypatch.setitem(COMMANDS, "try", row("NAME VALUE", 2, 2))

    assert read({"command": "try", "word0": "LOG_LEVEL", "word1": "a b"}) == Order("try", ("LOG_LEVEL", "a b"))
    assert read({"command": "try", "word0": "LOG_LEVEL", "word1": " "}) == Order("try", ("LOG_LEVEL",))


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"command": "pause", "word0": "left out"}, ()),
        ({"command": "exclude", "word0": " example.com "}, ("example.com",)),
        ({"command": "exclude", "word0": "a b"}, ("a b",)),
        (
            {"command": "exclude", "word0": "a.b", "word1": "the owner", "word3": "2030-01-01", "word4": "on"},
            ("a.b", "--by=the owner", "--until=2030-01-01", "--forget"),
        ),
        ({"command": "seeds", "word0": "add 'my seeds.txt' b.csv"}, ("add", "my seeds.txt", "b.csv")),
    ],
)
def test_words(form, words):
    """Each field is a word, or an option with its value; a field for many words is read as a shell reads it."""
    assert read(form) == Order(form["command"], words)


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"command": "shutdown"},
        {"command": "__class__"},
        {"command": "seeds", "word0": "'"},
        {"command": "exclude", "word0": "x" * (LONGEST + 1)},
        {"command": "seeds", "word0": "a " * (MOST_WORDS + 1)},
    ],
)
def test_what_is_no_order(form):
    """Unknown commands, open quotes, too many words and too long ones are refused."""
    with pytest.raises(CommandError):
        read(form)


@pytest.mark.parametrize(
    ("order", "destroys"),
    [
        (Order("stop", ()), True),
        (Order("exclude", ("a.example",)), True),
        (Order("host", ("a.example", "drop")), True),
        (Order("host", ("a.example", "pause")), False),
        (Order("include", ("a.example",)), False),
        (Order("set", ("LOG_LEVEL", "INFO")), False),
        (Order("seeds", ("add", "drop")), False),
    ],
)
def test_what_destroys(order, destroys):
    """What ends a run or drops URLs must be said twice."""
    assert order.destroys is destroys


def test_the_fields_of_an_order():
    """Whoever is asked once more whether an order is meant sends the same order again."""
    form = {"command": "exclude", "word0": "a.b", "word2": "a letter", "word4": "on"}
    order = read(form)

    assert read({"command": "exclude", **{f"word{at}": word for at, word in sent(order)}}) == order
