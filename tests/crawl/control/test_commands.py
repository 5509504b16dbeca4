"""The table of commands: what each asks of a crawl, and which words it takes."""

import asyncio
import json
from inspect import isawaitable
from unittest.mock import AsyncMock, MagicMock, call

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.steered import steered
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.commands import COMMANDS, obey

OF_OTHERS = {  # test_host_commands.py, test_sheets.py, test_exclusions.py
    *("host", "hosts", "queue", "robots", "errors", "threads", "set --for", "get --for"),
    *("exclude", "include", "excluded"),
}


@pytest.fixture(name="order")
def _order():
    """A crawl that notes what it is told, and where nothing but a pause keeps it from fetching."""
    order = MagicMock(
        checkpoint=AsyncMock(), status=lambda: {"pages": 1}, get=lambda name: {"name": name}
    )
    order.crawl.outlook.stopped_by = ""
    order.crawl.parts.in_force.set.return_value = "INFO"
    order.crawl.parts.about.return_value = {"known": True}
    return order


class TestObey:
    @pytest.mark.parametrize(
        ("line", "answer", "told"),
        [
            (
                "stop",
                (
                    "stopping: downloads in progress have a few seconds to finish; the rest is kept "
                    "for the next run"
                ),
                [call.stop()],
            ),
            (
                "pause",
                "paused until you resume it, even after a restart; downloads in progress will finish",
                [call.crawl.pause()],
            ),
            ("resume", "resumed", [call.crawl.resume(), call.wake()]),
            ("checkpoint", "a checkpoint was taken", [call.checkpoint()]),
            (
                "seeds a.txt",
                "seeds will be read from a.txt",
                [call.crawl.parts.seeding.add("a.txt"), call.wake()],
            ),
            ("get LOG_LEVEL", {"name": "LOG_LEVEL"}, []),
            (
                "set LOG_LEVEL INFO",
                "LOG_LEVEL is INFO",
                [call.crawl.parts.in_force.set("LOG_LEVEL", "INFO")],
            ),
            ("status", {"pages": 1}, []),
            (
                "about http://a.test/",
                {"http://a.test/": {"known": True}},
                [call.crawl.parts.about("http://a.test/")],
            ),
        ],
    )
    def test_each(self, order, line, answer, told):
        """Every command is passed on with its words, and answers in a line or with figures."""
        said = obey(order, *line.split())

        assert (asyncio.run(said) if isawaitable(said) else said) == answer
        assert [one for one in order.mock_calls if one in told] == told

    def test_all_are_here(self):
        """The test above has every command of the table."""
        lines = self.test_each.pytestmark[0].args[1]

        assert [line.split()[0] for line, *_ in lines] == [
            name for name in COMMANDS if name not in OF_OTHERS
        ]

    def test_several_sources(self, order):
        """Several sources of seeds are given at once, so that all are read or none."""
        obey(order, "seeds", "a", "b c")
        obey(order, "seeds", "add", "c", "add")

        assert order.crawl.parts.seeding.add.mock_calls == [call("a", "b c"), call("c", "add")]

    @pytest.mark.parametrize(
        ("was_paused", "said"), [(True, "resumed"), (False, "the crawl is not paused")]
    )
    def test_resumed_while_something_else_holds_it(self, order, was_paused, said):
        """Where a crawl fetches nothing for another reason, the answer to `resume` has that."""
        order.crawl.resume.return_value = was_paused
        order.crawl.outlook.stopped_by = "disk nearly full"

        assert obey(order, "resume") == f"{said}; but nothing is fetched (disk nearly full)"

    def test_nothing_changes(self, order):
        """What is so already is said to be so."""
        order.crawl.pause.return_value = order.crawl.parts.in_force.exclude.return_value = False

        assert obey(order, "pause") == "the crawl is already paused"
        assert obey(order, "exclude", "x") == "x is already excluded"

    @pytest.mark.parametrize(
        ("words", "why"),
        [
            (["jump"], "'jump' is not a command; the commands are stop, pause"),
            (["x" * 1000], "is not a command"),
            (["exclude"], "usage: exclude RULE"),
            (["stop", "now"], "usage: stop"),
            (["set", "X"], "usage: set NAME VALUE"),
            (["set", "X", ""], "no word may be empty or contain a line break"),
            (["seeds"], "usage: seeds add SRC"),
            (["seeds", "add"], "usage: seeds add SRC"),
            (["exclude", "#x"], "'#x' is neither a domain nor a URL prefix"),
            (
                ["set", "SEEN_MEMORY", "5"],
                "SEEN_MEMORY cannot change while the crawl runs, only when it is resumed; ",
            ),
            (["set", "HOST_MAX_PAGES", "x"], "HOST_MAX_PAGES = 'x': must be a whole number from 0"),
            (["exclude", "a\nb"], "no word may be empty or contain a line break"),
        ],
    )
    def test_other_words_are_refused_and_the_crawl_is_told_nothing(self, order, words, why):
        """Other words are refused in one short line, and the crawl is told nothing."""
        with pytest.raises(CommandError) as refusal:
            obey(order, *words)

        assert why in str(refusal.value)
        assert (len(str(refusal.value)) < 300, "\n" in str(refusal.value), order.mock_calls) == (
            True,
            False,
            [],
        )

    def test_what_lasts(self):
        """These commands are in force after a restart."""
        lasting = {name for name, command in COMMANDS.items() if command.lasting}

        assert lasting == {
            "pause",
            "resume",
            "exclude",
            "include",
            "seeds",
            "set",
            "host",
            "set --for",
        }


# Whatever words follow a command on hosts, there is an answer that JSON can say, or a refusal in a
# line.
WORDS = st.one_of(
    st.sampled_from(
        [
            "a.org",
            "A.org",
            "[::1]",
            "http://a.org:80/x",
            "pause",
            "resume",
            "retry",
            "drop",
            "delay",
            "default",
        ]
    ),
    st.sampled_from(
        [
            "--for",
            "--by",
            "-n",
            "--by=bytes",
            "queue",
            "5",
            "-1",
            "1e9",
            "nan",
            "HOST_MAX_PAGES",
            "URL_SCOPE",
        ]
    ),
    st.sampled_from(
        ["com", "URL_MAX_DEPTH", "DOMAIN_BUDGET_PAGES", "host", "POLITENESS_MIN_DELAY", "0.5"]
    ),
    st.text(max_size=12),
    st.text(".:/@[]%-xn", max_size=12),
)
ON_HOSTS = ("host", "hosts", "queue", "robots", "set", "get", "set --for", "get --for")


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


@given(name=st.sampled_from(ON_HOSTS), words=st.lists(WORDS, max_size=4))
def test_any_words(crawl, name, words):
    """Nothing else is raised, so nothing that comes through the socket ends a crawl."""
    answer = said(crawl, name, *words)
    if isinstance(answer, CommandError):
        assert ("\n" in str(answer), len(str(answer)) < 1000) == (False, True)
    else:
        json.dumps(answer)
    crawl.run(1, most=20)
