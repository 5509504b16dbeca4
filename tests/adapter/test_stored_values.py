"""Values of `meta` and `cb_kwargs` through the queues on disk, and from outside."""

import sys
from base64 import urlsafe_b64encode
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum, Flag
from pathlib import PosixPath, PurePosixPath
from types import ModuleType
from uuid import UUID
from zoneinfo import ZoneInfo

import attrs
import msgpack
import pytest
from scrapy import Field, FormRequest, Item, Request, Selector, Spider
from scrapy_playwright.page import PageMethod

from webcrawl.adapter.held_values import MAX_REQUESTS, HeldValues
from webcrawl.adapter.request_links import (
    CallbackCheck,
    CannotBeKept,
    CannotBeMade,
    to_link,
    to_refused_request,
    to_request,
)
from webcrawl.adapter.stored_values import WRITERS
from webcrawl.base.model import Outcome
from webcrawl.crawl import request_word
from webcrawl.crawl.request_word import (
    A_METHOD,
    A_REQUEST,
    AN_OBJECT,
    DEEPEST,
    IN_MEMORY,
    SIMPLE,
    UnfitRequest,
    check_word,
)
from webcrawl.crawl.trip import Trip

RAN = []


class Product(Item):
    name = Field()
    parts = Field()


@dataclass
class Price:
    amount: Decimal
    notes: list = field(default_factory=list)

    def __post_init__(self):
        RAN.append(self)


@dataclass(frozen=True, slots=True)
class Frozen:
    price: Price


@attrs.define
class Attrs:
    name: str
    when: datetime


@attrs.define(slots=False, frozen=True)
class Open:
    name: str


class Level(Enum):
    HIGH = object()


class Flags(Flag):
    A = 1
    B = 2


Point = namedtuple("Point", "x y")  # noqa: PYI024 - as users write it


class Asking(Spider):
    name = "asking"

    def parse(self, response):
        pass

    def later(self, response):
        pass


class Text(str):
    __slots__ = ()


AT = datetime(2026, 3, 29, 1, 30, 0, 5, tzinfo=ZoneInfo("Europe/Berlin"))
VALUES = [
    (1, ("a", [2, (3,)])),
    {1, (2,)},
    frozenset({(1, 2)}),
    1 << 200,
    -(1 << 70),
    AT,
    AT.replace(fold=1),
    datetime(2026, 1, 1, tzinfo=UTC),
    datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=-3, minutes=-30))),
    datetime(1, 1, 1),  # noqa: DTZ001 - as users write it
    date(9999, 12, 31),
    time(23, 59, 59, 1),
    time(1, tzinfo=UTC),
    timedelta(days=-5, microseconds=1),
    Decimal("1.10"),
    Decimal("NaN").copy_sign(Decimal(-1)),
    UUID(int=5),
    1 + 2j,
    PosixPath("/a/b"),
    PurePosixPath("a"),
    OrderedDict([("b", 1), ("a", (2,))]),
    Counter("abca"),
    defaultdict(list, {"a": [1]}),
    defaultdict(None, {(1, 2): {3}}),
    deque([1, (2,)], maxlen=3),
    Product(name="a", parts=[Product(name="b"), {"when": AT}]),
    Price(Decimal(1), ["a", {"b"}]),
    Frozen(Price(Decimal(2))),
    Attrs("a", AT),
    Open("a"),
    Level.HIGH,
    Flags.A,
    Point(1, (2, 3)),
    {"nested": {("a", 1): [Product(name=(1,))]}},
]


@pytest.fixture(name="spider")
def _spider():
    return Asking()


def again(spider, value, *, classes=True, held=None):
    """A value of `meta`, through the word of a request."""
    request = Request(
        "http://a.test/", spider.parse, meta={"value": value}, cb_kwargs={"value": value}
    )
    link = to_link(request, spider, allow_classes=classes, held_values=held)
    made = to_request(link, spider, Trip(), allow_classes=classes, held_values=held)
    assert type(made.cb_kwargs["value"]) is type(made.meta["value"])
    return made.meta["value"]


class TestKept:
    @pytest.mark.parametrize(
        "value", VALUES, ids=lambda value: f"{type(value).__name__} {value!s:.30}"
    )
    def test_a_value_comes_back(self, spider, value):
        """A value of one of the types comes back from disk as it was; it vanished from `meta`
        without a word.
        """
        for classes in (True, False):
            found = again(spider, value, classes=classes)

            assert type(found) is type(value)
            assert repr(found) == repr(value)

    def test_more_of_them(self, spider):
        """Factories, bounds and zones come back too; a subclass of a plain type comes back as that
        type.
        """
        assert again(spider, defaultdict(list)).default_factory is list
        assert again(spider, deque([1], maxlen=3)).maxlen == 3
        assert again(spider, (bytearray(b"a"),)) == (b"a",)
        assert again(spider, AT).tzinfo == ZoneInfo("Europe/Berlin")
        assert type(again(spider, Text("a"))) is str

    def test_no_constructor_runs(self, spider):
        """An object is made again without its constructor."""
        value = Price(Decimal(1))
        RAN.clear()

        assert again(spider, value) == value
        assert not RAN

    def test_requests_and_methods(self, spider):
        """A request in a value comes back with its methods, values and class; a method of the
        spider is one again.
        """
        given = {"formdata": {"a": "1"}, "meta": {"value": (1,)}, "cb_kwargs": {"b": AT}}
        inner = FormRequest("http://b.test/", spider.later, **given)
        found = again(spider, {"next": inner, "call": spider.later})

        assert found["call"] == spider.later
        assert type(found["next"]) is FormRequest
        assert found["next"].to_dict(spider=spider) == inner.to_dict(spider=spider)
        assert type(again(spider, inner, classes=False)) is Request

    def test_page_methods(self, spider):
        """scrapy-playwright's PageMethod comes back; one that calls a function is held in memory."""
        found = again(spider, [PageMethod("click", "#a", timeout=(1, 2))])[0]

        assert (found.method, found.args, found.kwargs, found.result) == (
            "click",
            ("#a",),
            {"timeout": (1, 2)},
            None,
        )
        with pytest.raises(CannotBeKept):
            again(spider, [PageMethod(lambda page: page)])

    def test_pydantic(self, spider):
        """A pydantic model comes back with what was set and what is private, unchecked."""
        pydantic = pytest.importorskip("pydantic")
        module = sys.modules[__name__]
        module.Model = pydantic.create_model(
            "Model", __module__=__name__, name=(str, "a"), when=(datetime, AT)
        )
        value = module.Model(name="b")
        found = again(spider, value)

        assert found == value
        assert found.model_fields_set == {"name"}

    def test_all_simple_types_have_a_place(self):
        """Each type that is written has its code."""
        assert {name for name, _ in WRITERS.values()} == {*SIMPLE} - {"integer"}

    @pytest.mark.parametrize("kind", [set, frozenset])
    def test_the_order_of_a_set(self, spider, kind):
        """Equal sets make equal requests, whatever their order in memory, which is another one in
        each run: a start request with `dont_filter` was sent once per run.
        """
        one, same = kind([0, 8]), kind([8, 0])

        assert [*one] != [*same]
        assert (
            to_link(Request("http://a.test/", meta={"value": one}), spider).request
            == to_link(Request("http://a.test/", meta={"value": same}), spider).request
        )


class Local:
    pass


class Undated(tzinfo):
    """A zone whose offset depends on the date: it was stored as UTC."""

    def utcoffset(self, at):
        return None if at is None else timedelta(hours=2)


@dataclass
class Cyclic:
    other: object = None


CYCLE = Cyclic()
CYCLE.other = CYCLE
NESTED = []
for _ in range(DEEPEST + 5):
    NESTED = [(NESTED,)]


@dataclass
class Renamed:
    pass


RENAMED, Renamed = Renamed, None  # as if a class had another name now


class TestHeld:
    UNPACKED = (
        Local(),
        Selector(text="<a>"),
        lambda: 1,
        CYCLE,
        NESTED,
        RENAMED(),
        Flags.A | Flags.B,
        object,
        "\ud800",
        time(1, tzinfo=Undated()),
    )

    @pytest.mark.parametrize("value", UNPACKED, ids=lambda value: f"{type(value).__name__}")
    def test_another_value_is_held_in_memory(self, spider, value, caplog):
        """What has no form on disk is the same object when the request is made, with one warning
        per key and type.
        """
        held = HeldValues([])

        assert again(spider, value, held=held) is value
        assert again(spider, value, held=held) is value
        assert len([line for line in caplog.messages if "meta 'value' has a" in line]) == 1
        assert len([line for line in caplog.messages if "cb_kwargs 'value' has a" in line]) == 1

    def test_the_next_run_says_that_it_is_gone(self, spider):
        """A request whose value was in the memory of another run is not sent without it. Its errback
        is called, with a request that lacks the value.
        """
        link = to_link(
            Request("http://a.test/", meta={"loader": Local(), "a": 1}),
            spider,
            held_values=HeldValues([]),
        )

        with pytest.raises(
            CannotBeMade, match="the meta 'loader' of a request, a Local, was only in the memory"
        ):
            to_request(link, spider, Trip(), held_values=HeldValues([]))
        refused = to_refused_request(link, spider, Trip(), held_values=HeldValues([]))
        assert ("loader" in refused.meta, refused.meta["a"]) == (False, 1)

    def test_it_is_released(self, spider):
        """Memory has a value until its URL has ended, or until its errback was called."""
        hearers = []
        held = HeldValues(hearers)
        made, refused, unheard = (
            to_link(
                Request("http://a.test/", errback=errback, meta={"a": Local()}),
                spider,
                held_values=held,
            )
            for errback in (spider.later, spider.later, None)
        )
        (hear,) = hearers
        to_request(made, spider, Trip(), held_values=held)
        assert len(held) == 3

        for link in (made, refused, unheard):
            hear(link, Outcome(200), None)
        assert len(held) == 1
        to_refused_request(refused, spider, Trip(), held_values=held)
        assert len(held) == 0

    def test_memory_is_bounded(self):
        """Beyond so many requests the oldest are given up."""
        held = HeldValues([])
        for number in range(MAX_REQUESTS + 5):
            held.store_values(str(number), {}, has_errback=False)

        assert len(held) == MAX_REQUESTS

    def test_for_another_drone_it_cannot_be_kept(self, spider):
        """Without memory to hold it, as for another drone, the request cannot be kept, and the line
        says why.
        """
        with pytest.raises(
            CannotBeKept, match="its meta 'a' has a Local, which cannot be sent to another drone"
        ):
            to_link(Request("http://a.test/", meta={"a": [Local()]}), spider)


def word(**given):
    return urlsafe_b64encode(msgpack.packb(given)).decode()


def ext(code, said):
    return msgpack.ExtType(code, msgpack.packb(said))


class TestFromOutside:
    @pytest.mark.parametrize("value", VALUES)
    def test_what_a_drone_sends_is_taken(self, spider, value):
        """Values of these types, of the spider's project, travel between drones."""
        link = to_link(
            Request("http://a.test/", spider.parse, meta={"value": value}),
            spider,
            allow_classes=False,
        )

        check_word(link.request, CallbackCheck(spider).takes)

    def test_requests_and_methods(self, spider):
        """So do requests and callbacks, within values."""
        inner = FormRequest(
            "http://b.test/", spider.later, formdata={"a": "1"}, meta={"value": (1,)}
        )
        meta = {"next": [inner], "call": spider.later}
        link = to_link(
            Request("http://a.test/", spider.parse, meta=meta), spider, allow_classes=False
        )

        check_word(link.request, CallbackCheck(spider).takes)

    @pytest.mark.parametrize(
        ("value", "why"),
        [
            (
                ext(AN_OBJECT, ["webcrawl.adapter.request_trip", "Trip", {}]),
                "a class that the spider does not use",
            ),
            (ext(AN_OBJECT, ["subprocess", "Popen", {}]), "a class that the spider does not use"),
            (ext(AN_OBJECT, [__name__, "Local", {}]), "a class that the spider does not use"),
            (ext(AN_OBJECT, [__name__, "Nothing", {}]), "a class that the spider does not use"),
            (ext(AN_OBJECT, [__name__, "Price"]), "an unknown type"),
            (ext(A_METHOD, "closed"), "no callback closed"),
            (ext(A_METHOD, "__init__"), "no callback __init__"),
            (ext(A_METHOD, ["later"]), "no callback"),
            (
                ext(A_REQUEST, {"url": "http://a.test/", "_class": "a.B"}),
                "field _class is not allowed in a request between drones",
            ),
            (
                ext(A_REQUEST, {"url": "http://a.test/", "meta": {"proxy": "http://b/"}}),
                "only the spider's own code",
            ),
            (ext(A_REQUEST, {}), "has no URL"),
            (ext(A_REQUEST, 1), "has no URL"),
            (ext(IN_MEMORY, [b"", 1, "a"]), "only in the memory of another process"),
            (ext(50, 1), "an unknown type (50)"),
            ([{"a": ext(SIMPLE.index("tuple"), [ext(A_METHOD, "closed")])}], "no callback closed"),
        ],
    )
    def test_what_nobody_may_send(self, spider, value, why):
        """A batch can name no class of other code, no other method, and no value in somebody's
        memory.
        """
        for name in ("meta", "cb_kwargs"):
            with pytest.raises(UnfitRequest) as raised:
                check_word(word(**{name: {"a": value}}), CallbackCheck(spider).takes)
            assert why in str(raised.value)

    def test_nesting_is_bounded(self, spider):
        """A value that is nested without end is refused."""
        value = 1
        for _ in range(3 * DEEPEST):
            value = ext(SIMPLE.index("tuple"), [value])

        with pytest.raises(UnfitRequest, match="nested too deeply"):
            check_word(word(meta={"a": value}), CallbackCheck(spider).takes)
        with pytest.raises(CannotBeMade, match="nested too deeply"):
            made(spider, value)

    @pytest.mark.parametrize(
        "value",
        [
            ext(AN_OBJECT, ["lazy", "Computed", {}]),
            ext(AN_OBJECT, ["os", "system", {}]),
            ext(AN_OBJECT, ["subprocess", "Popen", {}]),
            ext(AN_OBJECT, [__name__, "Product", {"unknown": 1}]),
            ext(AN_OBJECT, [__name__, "Level", "LOW"]),
            ext(AN_OBJECT, ["not.loaded", "Class", {}]),
            ext(AN_OBJECT, 5),
            ext(A_METHOD, "crawler"),
            ext(A_METHOD, "logger"),
            ext(SIMPLE.index("datetime"), ["x", 0, None]),
            ext(SIMPLE.index("Decimal"), "x"),
            ext(SIMPLE.index("defaultdict"), ["eval", []]),
            ext(SIMPLE.index("set"), [[1]]),
            ext(A_REQUEST, {"url": "no url"}),
            ext(A_REQUEST, {"url": "http://a.test/", "_class": "lazy.Computed"}),
            ext(99, 1),
            msgpack.ExtType(1, b"\xc1"),
        ],
    )
    def test_a_forged_state_runs_nothing(self, spider, value, monkeypatch):
        """A state of another machine can name a class: nothing is imported, computed or called for
        it.
        """
        lazy = ModuleType("lazy")
        lazy.__getattr__ = lambda name: pytest.fail(f"{name} was computed")
        monkeypatch.setitem(sys.modules, "lazy", lazy)
        before = {*sys.modules}

        with pytest.raises(CannotBeMade):
            made(spider, value)
        assert {*sys.modules} == before

    def test_fields_are_no_descriptors(self, spider):
        """A field that a class computes is not set through its class."""
        value = ext(AN_OBJECT, [__name__, "Price", {"amount": 1, "notes": 2, "__class__": 3}])

        found = made(spider, value)
        assert type(found) is Price
        assert found.amount == 1


def made(spider, value):
    """The value of a state that somebody has written."""
    link = to_link(Request("http://a.test/"), spider)
    link.request = word(meta={"a": value})
    return to_request(link, spider, Trip()).meta["a"]


def test_codes_stay():
    """The places of the types are in states on disk: new ones come last."""
    assert request_word.SIMPLE[:17] == (
        *(
            "integer",
            "tuple",
            "set",
            "frozenset",
            "datetime",
            "date",
            "time",
            "timedelta",
            "Decimal",
        ),
        *(
            "UUID",
            "complex",
            "PosixPath",
            "PurePosixPath",
            "OrderedDict",
            "Counter",
            "defaultdict",
            "deque",
        ),
    )
