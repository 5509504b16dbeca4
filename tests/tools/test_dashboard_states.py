"""What the dashboard says of crawls in each state, and of questions and orders that nobody takes:
over HTTP.

The tests look for figures, names and states in what is said, whatever the words around them are.
"""

import fcntl
import json
import re

import pytest
from lxml import html

from tests.support.dashboards import FIGURES, Crawls, dashboard, made
from webcrawl.crawl.control.command import CommandError, NoAnswer, NotRunning

HIVE = {"version": 1, "name": "web", "drones": [0, 1]}


def text_of(page):
    return " ".join(html.document_fromstring(page).text_content().split())


def shown(folder, answers=(), tab="", **state):
    """The text of a page of the only crawl there."""
    made(folder / "web", **state)
    with dashboard(folder, Crawls(dict(answers))) as visitor:
        return text_of(visitor.page(f"c/{visitor.id}{tab}"))


def ordered(folder, answer, **form):
    """What the page says to whoever sends a form whose order has this end."""
    answers = {"status": FIGURES, form["command"]: answer}
    with dashboard(folder, Crawls(answers)) as visitor:
        said = visitor.send(f"c/{visitor.id}/commands", form)
        while said.status == 303:
            said = visitor.ask(said.headers["Location"])
        return text_of(said.text), visitor.crawls.told


class TestStates:
    @pytest.mark.parametrize(
        ("reason", "queued", "words"),
        [
            ("finished", 0, ["Finished", "nothing is left"]),
            ("finished", 3, ["Finished", "3 URLs", "deferred"]),
            ("stopped", 3, ["command", "the same command"]),
            ("shutdown", 3, ["signal", "the same command"]),
            ("closespider_timeout", 3, ["CLOSESPIDER_TIMEOUT", "the same command"]),
            ("something_else", 3, ["something_else"]),
            (None, 3, ["killed", "the same command", "checkpoint"]),
        ],
    )
    def test_how_it_ended(self, tmp_path, reason, queued, words):
        """Why the last run ended, what is left, and that the same command goes on."""
        text = shown(tmp_path, stats={"reason": reason, "queued": queued, "pages": 7})

        assert [word for word in words if word not in text] == []

    def test_folded_urls_are_left(self, tmp_path):
        """They are named as a reason why some are left."""
        left = {"reason": "finished", "queued": 3, "over_budget": 3, "over_budget/folded": 3}

        assert "folded" in shown(tmp_path, stats=left).partition("URLs queued")[0]

    def test_how_a_hive_ended(self, tmp_path):
        """A hive has finished if all drones have; else what ended another drone is told."""
        for drone, reason in enumerate(("finished", "store_failed")):
            made(tmp_path / f"hive/drone-{drone}", stats={"reason": reason, "queued": 0})
        (tmp_path / "hive/hive.json").write_text(json.dumps(HIVE))
        with dashboard(tmp_path) as visitor:
            text = text_of(visitor.page(f"c/{visitor.id}"))

        assert "store_failed" in text
        assert "nothing is left" not in text

    def test_figures_of_an_earlier_version(self, tmp_path):
        """Figures are found under the names that an earlier version wrote."""
        text = shown(
            tmp_path, stats={"reason": "stopped", "queued": 9, "aside": 7, "hosts_aside": 2}
        )

        assert "deferred hosts2" in text
        assert "7 of them deferred" in text

    def test_no_figures_yet(self, tmp_path):
        """A crawl that has saved nothing is new, and not one that was killed."""
        text = shown(tmp_path)

        assert "saved no figures" in text
        assert "killed" not in text

    def test_it_runs_and_does_not_listen(self, tmp_path):
        """A crawl whose state is locked runs, though nobody answers: its figures are those that it
        saved last.
        """
        folder = made(tmp_path / "web", stats={"reason": None, "pages": 7})
        with (folder / "state/lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            with dashboard(tmp_path) as visitor:
                text = text_of(visitor.page(f"c/{visitor.id}"))
                orders = text_of(visitor.page(f"c/{visitor.id}/commands"))

        assert "does not accept commands" in text
        assert "saved" in text
        assert "killed" not in text
        assert "The crawl is not running, or does not accept commands" in orders

    @pytest.mark.parametrize(
        ("due", "words"), [(0, "until they are resumed"), (9.0, "which are retried")]
    )
    def test_it_waits(self, tmp_path, due, words):
        """All URLs left are of deferred hosts: those that were paused by command wait for
        somebody.
        """
        text = shown(
            tmp_path, {"status": {**FIGURES, "queued": 7, "in_flight": 0, "deferred_due": due}}
        )

        assert "7 URLs queued, all of deferred hosts" in text
        assert words in text

    def test_hosts_with_several_connections(self, tmp_path):
        """Hosts are counted, and not the requests to them: four requests to one host ask one host."""
        text = shown(tmp_path, {"status": {**FIGURES, "in_flight": 4, "in_flight/more": 3}})

        assert "1 active 2 ready 27 waiting" in text

    def test_what_is_in_force(self, tmp_path):
        """Orders that hold are listed, a few of many; a pause is the crawl's state, and stands
        there.
        """
        text = shown(
            tmp_path, {"status": {**FIGURES, "state": "paused", "in_force": ["pause", *"abcdefg"]}}
        )

        assert "a; b; c; d; e and 2 more" in text

    def test_failures(self, tmp_path):
        """The share of URLs that failed is of all that ended."""
        mix = {"ok": 3, "unreachable": 1}
        text = shown(
            tmp_path, {"status": {**FIGURES, "mix": {**dict.fromkeys(FIGURES["mix"], 0), **mix}}}
        )

        assert "25.0 % of URLs failed" in text

    def test_little_room(self, tmp_path, monkeypatch):
        """If the disk has little room left, it is said how much."""
        usage = type("Usage", (), {"free": 5_000_000})
        monkeypatch.setattr("shutil.disk_usage", lambda _: usage)

        assert "The disk has 5 MB left" in shown(tmp_path, {"status": FIGURES}).replace("\xa0", " ")


class TestList:
    def test_several_crawls(self, tmp_path):
        """How many run, of how many; a hive says how many drones it has."""
        made(tmp_path / "web")
        made(tmp_path / "old", stats={"reason": "finished"})
        for drone in (0, 1):
            made(tmp_path / f"hive/drone-{drone}", stats={"reason": "finished"})
        (tmp_path / "hive/hive.json").write_text(json.dumps(HIVE))
        with dashboard(tmp_path, Crawls({("web", "status"): FIGURES})) as visitor:
            text = text_of(visitor.page())

        assert "1 of 3 crawls running" in text
        assert "hive of 2 drones" in text


class TestAnswers:
    @pytest.mark.parametrize("name", ["web", "hive"])
    def test_a_question_that_comes_too_late(self, tmp_path, name):
        """A crawl that ends meanwhile has ended; of a hive it may be the server that is away."""
        folders = ("web",) if name == "web" else ("hive/drone-0", "hive/drone-1")
        for folder in folders:
            made(tmp_path / folder)
        if name == "hive":
            (tmp_path / "hive/hive.json").write_text(json.dumps(HIVE))
        with dashboard(
            tmp_path, Crawls({"status": FIGURES, "hosts": NotRunning("none")})
        ) as visitor:
            text = text_of(visitor.page(f"c/{visitor.id}/hosts"))

        assert ("just ended" in text, "server" in text) == (True, name == "hive")

    def test_a_question_that_is_refused(self, tmp_path):
        """The crawl's own words are shown."""
        assert "not while it ends" in shown(
            tmp_path, {"status": FIGURES, "hosts": CommandError("not while it ends")}, tab="/hosts"
        )

    @pytest.mark.parametrize(
        ("answer", "heading"),
        [
            (CommandError("no"), "Refused"),
            (NoAnswer("it has it, but"), "Perhaps done"),
            ("done by it", "done by it"),
        ],
    )
    def test_an_order(self, tmp_path, answer, heading):
        """An order is done, refused, or perhaps done: whoever gave it reads which, with the crawl's
        own words.
        """
        made(tmp_path / "web")
        text, _ = ordered(tmp_path, answer, command="pause")

        assert heading in text
        assert str(answer) in text

    @pytest.mark.parametrize(
        ("form", "words"),
        [
            ({"command": "stop"}, ["downloads in progress", "the same command"]),
            ({"command": "exclude", "words": "a.test"}, ["a.test", "include"]),
            ({"command": "host", "words": "a.test drop"}, ["a.test", "given up"]),
        ],
    )
    def test_what_destroys_says_what_it_costs(self, tmp_path, form, words):
        """Before it is done the page says what is lost, and the crawl is told nothing."""
        made(tmp_path / "web")
        text, told = ordered(tmp_path, "done", **form)

        assert [word for word in words if word not in text] == []
        assert told == []


def test_a_log_and_seeds(tmp_path):
    """The tab on seeds counts those that were read and those that could not be; an empty log says
    so.
    """
    answers = {"status": {**FIGURES, "seeds": 5, "bad_seeds": 2}}
    made(tmp_path / "web")
    with dashboard(tmp_path, Crawls(answers)) as visitor:
        seeds = text_of(visitor.page(f"c/{visitor.id}/seeds"))
        log = text_of(visitor.page(f"c/{visitor.id}/log"))

    assert "5 seeds read" in seeds
    assert re.search(r"\b2 (lines )?could not be read", seeds)
    assert "No such line" in log
