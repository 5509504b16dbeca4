"""Features of the user's own: when they are called, what their answers mean, and what their
mistakes cost.
"""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from tests.crawl.test_assembly import values
from webcrawl.base.errors import RulesError
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.crawl.assembly import assemble
from webcrawl.crawl.failures import as_failure
from webcrawl.crawl.moments import Feature, Moments
from webcrawl.crawl.own_features import PREFIX, open_features
from webcrawl.crawl.rules import hearing_of, prioritizer_of
from webcrawl.crawl.saved_state import FilterStates
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.urls.filters.filter_protocol import Chain

HERE = "tests.crawl.test_own_features"
URL = "http://a.test/"


class Gate:
    """Lets in what it says."""

    answer = None

    def next_decision(self, link, now):
        return self.answer


class Counting:
    """Counts ends, and keeps the number."""

    def __init__(self):
        self.number = 0

    def on_ended(self, *_):
        self.number += 1

    def next_figures(self):
        return {"mine": self.number}

    def state(self):
        return self.number

    def restore(self, state):
        self.number = state + 0


class Unpackable(Counting):
    """Has a state that nobody can keep."""

    def state(self):
        return object()


class Failing:
    """Raises at each moment."""

    def _fail(self, *_):
        raise ZeroDivisionError

    next_decision = on_page = on_links = on_ended = next_headers = next_figures = _fail


class Panicking:
    """The same, as a library in Rust raises it."""

    def _fail(self, *_):
        raise type("Panic", (BaseException,), {})

    next_decision = on_page = on_links = on_ended = next_headers = next_figures = _fail


class Misspelt(Gate):
    """Has a good method, one that is nearly another, and a helper."""

    def figure(self):
        return {}

    def helper(self):
        return None


class Former:
    """Has the names that moments had before."""

    def admit(self, link, now):
        return False

    def request(self, link):
        return [(b"X", b"y")]

    def answered(self, page):
        raise ZeroDivisionError

    def heard(self, url, urls):
        raise ZeroDivisionError

    def ended(self, link, outcome, exchange):
        raise ZeroDivisionError

    def figures(self):
        return {"a": 1}


class Both(Former):
    """Has one of them, too, that its new method uses."""

    def on_page(self, page):
        self.answered(page)


class Unknown(Gate):
    """Has a method that is named like a moment's, and is none."""

    def on_idle(self, now):
        return now


class Derived(Feature):
    """Derives from what the crawl's own features derive from."""

    def next_figures(self):
        return {"a": 1}


class Levels:
    """Has levels, and says none."""

    def __init__(self, levels):
        pass


class Awaiting:
    """Wants to be awaited."""

    async def next_decision(self, link, now):
        return False


class Generating:
    """Wants to be iterated."""

    def on_page(self, page):
        yield page


class Keeping(Gate):
    """Has a state that it would not take back."""

    def state(self):
        return 1


class ByName:
    """Is made of the settings."""

    def __init__(self, agent):
        self.agent = agent

    @classmethod
    def from_settings(cls, settings):
        return cls(settings["USER_AGENT"])

    def next_headers(self, link):
        return [(b"X-Agent", self.agent.encode())]


class Nothing:
    """Has no moment."""


@pytest.fixture(name="db")
def _db(tmp_path):
    db = CrawlDB(tmp_path / "state")
    yield db
    db.close()


@pytest.fixture(name="opened")
def _opened(db):
    def opened(*names, **given):
        values = {**given, "FEATURES": [f"{HERE}.{name}" for name in names]}
        ground = SimpleNamespace(values=values, db=db, moments=Moments())
        open_features(ground)
        return ground.moments

    return opened


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (None, None),
        (True, None),
        (False, Status.REFUSED),
        (100.0, 100.0),
        (3.0, 11.0),
        (100, 100.0),
        (0, 11.0),
        (math.inf, Status.REFUSED),
    ],
)
def test_an_answer_is_a_decision(opened, monkeypatch, answer, decision):
    """False ends a URL, a later time has it wait, one that is over for a second; nothing lets it
    in.
    """
    monkeypatch.setattr(Gate, "answer", answer)
    (decide,) = opened("Gate").next_decision

    assert decide(Link(URL), 10.0) == decision


def test_what_the_crawl_needs_is_not_asked_about(opened, monkeypatch):
    """No feature can keep a robots.txt or a probe from being fetched."""
    monkeypatch.setattr(Gate, "answer", False)
    (decide,) = opened("Gate").next_decision

    assert [decide(Link(URL, path), 0.0) for path in ("LP", "LS", "L")] == [
        None,
        None,
        Status.REFUSED,
    ]


@pytest.mark.parametrize("name", ["Failing", "Panicking"])
def test_a_feature_that_raises_is_as_one_that_says_nothing(opened, caplog, name):
    """Each error is logged with the feature and the moment, though it is no Exception."""
    moments = opened(name)

    assert moments.next_decision[0](Link(URL), 0.0) is None
    assert [*moments.next_headers[0](Link(URL))] == []
    assert moments.next_figures[0]() == {}
    moments.on_ended[0](Link(URL), Outcome(200), None)
    assert [record.message for record in caplog.records] == [
        f"{HERE}.{name}.{moment}"
        for moment in ("next_decision", "next_headers", "next_figures", "on_ended")
    ]


@pytest.mark.parametrize("answer", ["no", [], -math.inf, math.nan, object()])
def test_an_answer_of_another_kind_is_an_error(opened, monkeypatch, caplog, answer):
    """It is logged as one, and counts as nothing said."""
    monkeypatch.setattr(Gate, "answer", answer)

    assert opened("Gate").next_decision[0](Link(URL), 0.0) is None
    assert [record.message for record in caplog.records] == [f"{HERE}.Gate.next_decision"]


def test_numpys_answers_are_answers(opened, monkeypatch):
    """Its False is False, and its numbers are times."""
    found = []
    for answer in (np.False_, np.int64(100)):
        monkeypatch.setattr(Gate, "answer", answer)
        found += [opened("Gate").next_decision[0](Link(URL), 0.0)]

    assert found == [Status.REFUSED, 100.0]


@pytest.mark.parametrize(
    ("moment", "answer"),
    [
        ("next_headers", "X"),
        ("next_headers", [("X", "y")]),
        ("next_headers", [(b"X:", b"y")]),
        ("next_headers", [(b"X", b"y\r\nZ: z")]),
        ("next_figures", {"a": "b"}),
        ("next_figures", [1]),
    ],
)
def test_wrong_headers_and_figures_are_errors(opened, monkeypatch, caplog, moment, answer):
    """They would end the crawl at a request or a checkpoint, far from whoever is to blame."""
    monkeypatch.setattr(Failing, moment, lambda *_: answer)

    asked = () if moment == "next_figures" else (Link(URL),)
    assert not getattr(opened("Failing"), moment)[0](*asked)
    assert [record.message for record in caplog.records] == [f"{HERE}.Failing.{moment}"]


@pytest.mark.parametrize("name", ["Awaiting", "Generating", "Keeping"])
def test_methods_that_nobody_could_use_are_refused(opened, name):
    """What is to be awaited, or iterated, would say nothing; a state that nobody takes back ends
    the next run.
    """
    with pytest.raises(RulesError, match=rf"^FEATURES: {HERE}\.{name}"):
        opened(name)


def test_a_method_with_nearly_a_moments_name_is_told(opened, caplog):
    """Nobody calls it, and nothing else would say so."""
    opened("Misspelt")

    assert [record.message for record in caplog.records] == [
        f"FEATURES: {HERE}.Misspelt.figure is never called; did you mean figures?"
    ]


def test_former_names_of_methods_are_called(opened, caplog):
    """A feature that was written for them takes part as before; errors have the name that it uses."""
    moments = opened("Former")

    assert moments.next_decision[0](Link(URL), 0.0) == Status.REFUSED
    assert moments.next_headers[0](Link(URL)) == [(b"X", b"y")]
    assert moments.next_figures[0]() == {"a": 1}
    moments.on_page[0](None)
    moments.on_links[0](URL, [])
    moments.on_ended[0](Link(URL), Outcome(200), None)
    assert [record.message for record in caplog.records] == [
        f"{HERE}.Former.{name}" for name in ("answered", "heard", "ended")
    ]


def test_a_method_with_a_former_name_is_not_called_beside_the_new_one(opened, caplog):
    """The new one may use it."""
    (on_page,) = opened("Both").on_page

    on_page(None)
    assert [record.message for record in caplog.records] == [f"{HERE}.Both.on_page"]


def test_a_method_that_is_named_like_a_moments_is_refused(opened):
    """It would never be called."""
    with pytest.raises(
        RulesError,
        match=rf"^FEATURES: {HERE}\.Unknown\.on_idle is never called: .* Did you mean on_",
    ):
        opened("Unknown")


def test_a_feature_may_derive_from_the_crawls_own_kind(opened):
    """What it only inherits is not called."""
    assert {name: len(calls) for name, calls in vars(opened("Derived")).items() if calls} == {
        "next_figures": 1
    }


def test_its_state_is_that_of_the_checkpoint(tmp_path):
    """What came after the last checkpoint is forgotten with it."""
    settings = {**values(tmp_path), "FEATURES": (f"{HERE}.Counting",)}
    for before, more in ((0, 2), (2, 0)):
        crawl, _ = assemble(settings, spider="web")
        assert crawl.stats()["mine"] == before
        for _ in range(more):
            crawl.parts.log.finished(Link(URL), Outcome(200), None, [])
        crawl.checkpoint()
        crawl.parts.log.finished(Link(URL), Outcome(200), None, [])
        crawl.close()


def test_a_state_that_cannot_be_kept_ends_the_crawl(db, opened):
    """The checkpoint is not made: it would have pages without what the feature knows of them."""
    opened("Unpackable")

    with pytest.raises(StoreError, match=r"Unpackable\.state failed: .*object"):
        db.checkpoint()


def test_a_state_that_it_does_not_take_back_ends_the_start(db, opened):
    """The line names the feature and the method."""
    db.set(f"{PREFIX}{HERE}.Counting", b"\xa1x")

    with pytest.raises(StoreError, match=r"Counting\.restore failed: .*str"):
        opened("Counting")


def test_it_is_made_of_settings_if_it_wants(opened):
    """By `from_settings`."""
    (headers,) = opened("ByName", USER_AGENT="me").next_headers

    assert headers(Link(URL)) == [(b"X-Agent", b"me")]


def test_a_class_without_a_moment_is_no_feature(opened):
    """The line says what one would have."""
    with pytest.raises(
        RulesError,
        match=r"FEATURES: .*Nothing: a feature needs a method for at least one moment: "
        "next_decision, next_headers",
    ):
        opened("Nothing")


def test_one_that_cannot_be_made_is_named(opened, monkeypatch):
    """With its error."""
    monkeypatch.setattr(Gate, "__init__", lambda self: 1 / 0)

    with pytest.raises(RulesError, match=r"FEATURES: .*Gate cannot be created: ZeroDivisionError"):
        opened("Gate")


def test_it_has_the_first_word(tmp_path, monkeypatch):
    """A URL that it refuses needs no robots.txt."""
    monkeypatch.setattr(Gate, "answer", False)
    crawl, _ = assemble({**values(tmp_path), "FEATURES": (f"{HERE}.Gate",)}, spider="web")
    crawl.parts.frontier.add([Link(URL).pack()])

    assert crawl.next_link(crawl.parts.clock()) is None
    assert crawl.parts.frontier.counters[f"dropped/{Status.REFUSED}"] == 1
    crawl.close()


class Deaf:
    """A prioritizer whose hearing raises."""

    def __init__(self, levels):
        self.levels = levels

    def level(self, link):
        return 0

    def learn(self, table):
        pass

    def heard(self, page, urls):
        raise ZeroDivisionError


def test_a_prioritizer_that_raises_costs_no_links(caplog):
    """What it does not hear is an error in the log; the page's links go on."""
    heard = hearing_of(f"{HERE}.Deaf", Deaf(1))

    heard(URL, [])

    assert [record.message for record in caplog.records] == [f"{HERE}.Deaf.heard"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Gate", "cannot be created: TypeError"),
        ("Levels", r"a prioritizer must have a method level\(link\)"),
    ],
)
def test_what_is_no_prioritizer_is_named(name, why):
    """The start says which class it is, and what it lacks."""
    with pytest.raises(RulesError, match=rf"^FRONTIER_PRIORITIZER: {HERE}\.{name}:? {why}"):
        prioritizer_of({"FRONTIER_PRIORITIZER": f"{HERE}.{name}", "FRONTIER_LEVELS": 1}, str)


def test_a_filters_state_that_cannot_be_kept_ends_the_crawl(db, caplog):
    """The line says whose it is, and the log where it failed."""
    forgets = Unpackable()
    forgets.name, forgets.keep = "forgets", list
    FilterStates(db, Chain([forgets]))

    with pytest.raises(StoreError, match=r"^the state of URL_FILTERS: TypeError.*object"):
        db.checkpoint()
    assert [record.message for record in caplog.records] == ["the state of URL_FILTERS"]


def test_an_error_of_the_users_own_code_is_placed():
    """What else ends a crawl as a bug says in which of the user's files it is."""
    own: dict = {}
    exec(compile("def level(link):\n    return link.nothing", "/project/mine.py", "exec"), own)  # noqa: S102
    try:
        Chain([own["level"](1)])
    except AttributeError as error:
        failure, _ = as_failure(error, "")

    assert str(failure).endswith(" in level (/project/mine.py, line 2)")


def test_figures_of_numpy_are_numbers(opened, monkeypatch):
    """stats.json has them as Python's."""
    monkeypatch.setattr(
        Failing, "next_figures", lambda *_: {"a": np.int64(1), "b": np.float32(0.5)}
    )

    assert json.dumps(opened("Failing").next_figures[0]()) == '{"a": 1, "b": 0.5}'
