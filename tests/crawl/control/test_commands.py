"""The table of commands: what each asks of a crawl, and which words it takes."""

import asyncio
from inspect import isawaitable

import pytest

from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.commands import COMMANDS, obey
from webcrawl.crawl.control.exclusions import ROWS as OF_LEAVING
from webcrawl.crawl.control.host_commands import ROWS as OF_HOSTS
from webcrawl.crawl.control.sheets import ROWS as OF_SHEETS


class Obedient:
    """A crawl that notes what it is told."""

    stopped_by = ""

    def __init__(self):
        self.told = []

    def __getattr__(self, name):
        def note(*words):
            self.told.append((name, *words))
            return done() if name == "checkpoint" else True

        return note


async def done():
    """A checkpoint that is taken."""


class TestObey:
    @pytest.mark.parametrize(
        ("line", "answer"),
        [
            ("stop", "stopping: downloads under way have a few seconds, the rest stays for the next run"),
            ("pause", "paused, after a restart too, until you resume it; downloads under way go on to their ends"),
            ("resume", "resumed"),
            ("checkpoint", "a checkpoint was taken"),
            ("seeds a.txt", "seeds will be read from a.txt"),
            ("get LOG_LEVEL", True),
            ("set LOG_LEVEL INFO", "LOG_LEVEL is True"),
            ("status", True),
            ("about http://a.test/", {"http://a.test/": True}),
        ],
    )
    def test_each(self, line, answer):
        """Every command is passed on with its words, and answers in a line or with figures."""
        crawl = Obedient()

        said = obey(crawl, *line.split())

        assert (asyncio.run(said) if isawaitable(said) else said) == answer
        assert crawl.told == [tuple(line.split())]

    def test_all_are_here(self):
        """The test above has every command of the table."""
        lines = self.test_each.pytestmark[0].args[1]

        elsewhere = {row.name for row in (*OF_HOSTS, *OF_SHEETS, *OF_LEAVING)}  # test_host_commands.py and so on

        assert [line.split()[0] for line, _ in lines] == [name for name in COMMANDS if name not in elsewhere]

    def test_several_sources(self):
        """Several sources of seeds are given at once, so that all are read or none."""
        crawl = Obedient()
        obey(crawl, "seeds", "a", "b c")
        obey(crawl, "seeds", "add", "c", "add")

        assert crawl.told == [("seeds", "a", "b c"), ("seeds", "c", "add")]

    @pytest.mark.parametrize(("was_paused", "said"), [(True, "resumed"), (False, "it is not paused")])
    def test_resumed_while_something_else_holds_it(self, was_paused, said):
        """Where a crawl fetches nothing for another reason, the answer to `resume` has that."""
        crawl = Obedient()
        crawl.resume, crawl.stopped_by = lambda: was_paused, "disk nearly full"

        assert obey(crawl, "resume") == f"{said}; but nothing is fetched (disk nearly full)"

    @pytest.mark.parametrize("name", ["pause", "resume", "exclude"])
    def test_nothing_changes(self, name):
        """What is so already is said to be so."""
        crawl = Obedient()
        crawl.pause = crawl.resume = crawl.exclude = lambda *_: False

        assert "already" in obey(crawl, name, *["x"] * COMMANDS[name].least) or name == "resume"

    @pytest.mark.parametrize(
        ("words", "why"),
        [
            (["jump"], "'jump' is no command; there are: stop, pause"),
            (["x" * 1000], "is no command"),
            (["exclude"], "usage: exclude RULE"),
            (["stop", "now"], "usage: stop"),
            (["set", "X"], "usage: set NAME VALUE"),
            (["set", "X", ""], "a word is empty, or not one line of text"),
            (["seeds"], "usage: seeds add SRC"),
            (["seeds", "add"], "usage: seeds add SRC"),
            (["exclude", "#x"], "'#x' is neither a domain nor a URL prefix"),
            (
                ["set", "SEEN_MEMORY", "5"],
                "SEEN_MEMORY cannot change while the crawl runs, only in a resumed one; ",
            ),
            (["set", "HOST_MAX_PAGES", "x"], "HOST_MAX_PAGES = 'x': must be a whole number from 0"),
            (["exclude", "a\nb"], "a word is empty, or not one line of text"),
        ],
    )
    def test_other_words_are_refused_and_the_crawl_is_told_nothing(self, words, why):
        """Other words are refused in one short line, and the crawl is told nothing."""
        crawl = Obedient()

        with pytest.raises(CommandError) as refusal:
            obey(crawl, *words)

        assert why in str(refusal.value)
        assert (len(str(refusal.value)) < 300, "\n" in str(refusal.value), crawl.told) == (True, False, [])

    def test_what_lasts(self):
        """These commands are in force after a restart."""
        lasting = {name for name, command in COMMANDS.items() if command.lasting}

        assert lasting == {"pause", "resume", "exclude", "include", "seeds", "set", "host", "set --for"}
