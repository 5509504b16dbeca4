"""What code of the user's own must have and return, and names that are nearly right."""

from math import inf, nan
from typing import Protocol

import pytest

from webcrawl.base.errors import RulesError
from webcrawl.base.own_code import (
    OwnCodeError,
    amount,
    checked,
    made,
    members,
    misspelt,
    number,
    seconds,
    text,
)
from webcrawl.frontier.politeness import Politeness
from webcrawl.frontier.politeness.mercator import Mercator

HERE = __name__


class Thing(Protocol):
    label: str

    @property
    def size(self) -> int: ...

    def turn(self, by: int) -> int: ...


class Whole:
    size = 1

    def turn(self, by):
        return by


class Instance:
    """Has its method from its constructor."""

    size = 1

    def __init__(self):
        self.turn = str


class Turns:
    def turns(self, by): ...


class NotCallable:
    size, turn = 1, 2


class Starved:
    def __init__(self):
        raise MemoryError


def factory(*_):
    return Whole()


class TestMade:
    @pytest.mark.parametrize("name", ["Whole", "Instance", "factory"])
    def test_what_has_all_is_made(self, name):
        """A class, or a function that makes one, is taken by what the object has in the end."""
        assert made("FRONTIER", f"{HERE}.{name}", Thing).size == 1

    @pytest.mark.parametrize(
        ("name", "why"),
        [
            ("Turns", r"a method turn\(by\)\. It has turns; did you mean turn\?"),
            ("NotCallable", r"a method turn\(by\)"),
        ],
    )
    def test_what_lacks_something_is_refused(self, name, why):
        """The line has the setting, the class, and what it lacks."""
        with pytest.raises(
            RulesError, match=f"^FRONTIER: {HERE}.{name}: a frontier must have {why}$"
        ):
            made("FRONTIER", f"{HERE}.{name}", Thing)

    def test_a_lack_of_memory_is_no_fault_of_the_class(self):
        """It is raised as it is."""
        with pytest.raises(MemoryError):
            made("FRONTIER", f"{HERE}.Starved", Thing)

    def test_members_are_those_of_a_protocol(self):
        """Methods count; attributes and properties, which a constructor may set, and the
        constructor do not.
        """
        assert members(Thing) == ["turn"]
        assert members(Politeness) == ["wait"]


class TestAnswers:
    def test_our_own_is_not_wrapped(self):
        """A call of what ships with the crawl costs what it costs."""
        wait = Mercator(10, 1, 300).wait

        assert checked("POLITENESS_POLICY", wait, seconds, "seconds") is wait

    @pytest.mark.parametrize(
        ("sound", "wrong"),
        [
            (seconds, [None, "1", True, -1, inf, nan, [1]]),
            (amount, [None, "1", -0.1, nan]),
            (number, [None, "1", b"1", False]),
            (text, [None, b"x", ""]),
        ],
    )
    def test_a_wrong_answer_is_shown(self, sound, wrong):
        """The error has the setting, the function and the value."""
        for value in wrong:
            call = checked("SETTING", lambda value=value: value, sound, "something else")
            with pytest.raises(
                OwnCodeError,
                match=rf"^SETTING: {HERE}\..*lambda> returned .*: expected something else$",
            ):
                call()

    def test_what_it_raises_keeps_its_place(self):
        """The traceback leads to the line of the user's code."""

        def fails():
            raise KeyError("x")

        with pytest.raises(OwnCodeError, match=r"fails: KeyError\('x'\)$") as raised:
            checked("SETTING", fails, number, "a number")()

        assert raised.traceback[-1].name == "fails"


class TestMisspelt:
    HOOKS = ("open_spider", "process_item")

    @pytest.mark.parametrize(
        ("names", "found"),
        [
            ({"proces_item": len}, [("proces_item", "process_item")]),
            ({"process_items": len, "process_item": len}, []),  # a helper beside the hook
            ({"_proces_item": len}, []),
            ({"write": len}, []),
        ],
    )
    def test_a_name_near_a_hook(self, names, found):
        """It is named, unless it is private, or the class has the hook."""
        assert list(misspelt(type("Own", (), names), self.HOOKS)) == found

    def test_a_name_in_use(self):
        """What the class uses, under its name or by it, is left alone."""

        class Own:
            def run(self):
                return [self.proces_item(one) for one in (getattr(self, "open_spiders"),)]  # noqa: B009

            def proces_item(self, item): ...

            def open_spiders(self): ...

        assert not list(misspelt(Own, self.HOOKS))
