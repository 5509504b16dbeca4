"""Scorers for tests: some work, some do not."""

import os
import time


def lamps(documents):
    return [float("lamp" in f"{one.title} {one.text}".lower()) for one in documents]


def slow(documents):
    time.sleep(0.3 * sum(not one.is_anchor for one in documents))
    return [0.5] * len(documents)


def no_words(documents):
    """Has nothing to say of the words of links."""
    return [None if one.is_anchor else 0.25 for one in documents]


def picky(documents):
    if any("bread" in one.text for one in documents):
        raise ValueError("no\nbread")
    return lamps(documents)


def strange(documents):
    return [{"lamp": 0.5, "nan": float("nan"), "much": 1.5}.get(one.text, 0) for one in documents]


def few(documents):
    return [1.0] * (len(documents) - 1)


def words(documents):
    return ["good" for _ in documents]


def dies(documents):
    if any("dies" in one.text for one in documents):
        os._exit(3)
    return lamps(documents)


def hangs(documents):
    if any("hangs" in one.text for one in documents):
        time.sleep(1000)
    return lamps(documents)


class Loaded:
    """Is made once."""

    def __init__(self):
        self.words = ("lamp",)

    def __call__(self, documents):
        return [float(any(word in one.text for word in self.words)) for one in documents]


class Broken:
    def __init__(self):
        raise FileNotFoundError("no model.bin")
