"""The profiler behind `benchmarks.stages`: which code used the time, and to which stage it belongs."""

import json
import subprocess
import sys
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest

import webcrawl
from benchmarks.support import profile
from benchmarks.support.profile import Profile, Sampler, judge
from webcrawl.record.warc import warc_record

PACKAGE = Path(webcrawl.__file__).parent
ENOUGH = 30  # samples


COLLECTING = f"""
import gc, random, sys, threading, time
from benchmarks.support.profile import Sampler
def naps():
    while True:
        list(map(lambda _: time.sleep(0.0001), range(2)))
for _ in range(5):
    threading.Thread(target=naps, daemon=True).start()
def slowly(phase, _):
    if sys._getframe(1).f_code.co_filename == sampler_file:  # two of the kernel's ticks, and so a signal
        end = time.thread_time() + 0.02
        while time.thread_time() < end:
            pass
sampler_file = sys.modules[Sampler.__module__].__file__
gc.callbacks.append(slowly)
gc.set_threshold(1)
kept = []
def judge(frame):  # so that a collection may fall anywhere
    kept.extend([] for _ in range(random.randrange(3)))
    return ""
with Sampler(judge, interval=0.001) as sampler:
    while sampler.samples < {ENOUGH}:
        [[] for _ in range(100)]
print(sampler.samples)
"""


def function(frame):
    """The innermost of this file's functions."""
    while frame is not None and frame.f_code.co_filename != __file__:
        frame = frame.f_back
    return frame.f_code.co_name if frame is not None else ""


def in_python(done):
    while not done():
        for number in range(1000):
            number + 1


def in_c(done):
    while not done():
        sha1(bytes(10_000_000), usedforsecurity=False).digest()


def before_a_callback(done):
    text = '{"a": [' + "0," * 100_000 + "0]}"
    while not done():
        json.loads(text, object_hook=called_back)


def called_back(found):
    return found


def named(sampler):
    """Seconds of what has a name: a thread that another test left has none."""
    return sum(seconds for name, seconds in sampler.spent.items() if name)


class TestSampler:
    @pytest.mark.parametrize("work", [in_python, in_c, before_a_callback])
    def test_work(self, work):
        """The time belongs to the function at work: in Python, or in C code that it calls, until
        that calls back.
        """
        with Sampler(function, interval=0.002) as sampler:
            work(lambda: sampler.samples >= ENOUGH)

        assert sampler.spent[work.__name__] > 0.8 * named(sampler)

    def test_threads(self):
        """Each thread gets its own time, although only the main thread is interrupted."""
        with Sampler(function, interval=0.002) as sampler:
            worker = threading.Thread(target=in_c, args=(lambda: sampler.samples >= ENOUGH,))
            worker.start()
            while worker.is_alive():
                worker.join(0.01)  # each time costs the main thread some of its own

        assert sampler.spent["in_c"] > 0.8 * named(sampler)

    def test_finalizers(self):
        """Garbage collected during a sample, with a slow finalizer, does not block it."""
        done = subprocess.run(
            [sys.executable, "-c", COLLECTING], timeout=120, check=True, stdout=subprocess.PIPE
        )

        assert int(done.stdout) >= ENOUGH

    def test_all_of_it(self):
        """The parts add up to all CPU time of the process, including ended threads."""
        before = time.process_time()
        with Sampler(function) as sampler:
            gone = threading.Thread(target=in_c, args=(lambda: time.process_time() > before + 0.1,))
            gone.start()
            gone.join()
        after = time.process_time()

        assert 0.09 < sum(sampler.spent.values()) <= after - before


@dataclass(frozen=True)
class Code:
    co_filename: str
    co_name: str = "work"


@dataclass
class Frame:
    """The parts of a frame that a judge looks at."""

    f_code: Code
    f_lineno: int = 1
    f_back: Any = None


def stack(*frames):
    """A stack, innermost frame first."""
    inner, *rest = frames
    inner.f_back = stack(*rest) if rest else None
    return inner


def ours(name, line=1):
    return Frame(Code(str(PACKAGE / name)), line)


def theirs(name):
    return Frame(Code(f"/usr/lib/python3.13/site-packages/{name}"))


class TestStages:
    @pytest.mark.parametrize("name", profile.FILES)
    def test_the_table_names_files_that_are_there(self, name):
        """Every entry is the beginning of a file's name, in this project, in an installed package
        or in Python.
        """
        folders = [PACKAGE.parent, *map(Path, sys.path)]

        assert any(next(folder.glob(f"{name}*"), None) for folder in folders)

    @pytest.mark.parametrize(
        ("frames", "stage"),
        [
            (
                [theirs("twisted/internet/asyncioreactor.py"), theirs("scrapy/crawler.py")],
                profile.LOOP,
            ),
            (
                [
                    theirs("selectolax/helper.py"),
                    ours("content/html/link_reader.py"),
                    ours("visit.py"),
                ],
                profile.PARSING,
            ),
            (
                [ours("urls/host_names.py"), ours("frontier/frontier.py"), ours("crawl.py")],
                profile.FRONTIER,
            ),
            ([ours("store/runs.py"), ours("frontier/seen/known_keys.py")], profile.SEEN),
            ([ours("store/crawldb.py"), ours("frontier/seen/disk.py")], profile.DISK),
            ([ours("net/robots_book.py"), ours("robots.py")], profile.ROBOTS),
            ([theirs("scrapy/http/request.py"), ours("requests.py")], profile.ENGINE),
            (
                [
                    theirs("scrapy/core/engine.py"),
                    Frame(Code("<frozen importlib._bootstrap>")),
                    ours("crawl.py"),
                ],
                profile.START,
            ),
            (
                [
                    Frame(
                        Code(
                            f"{PACKAGE.parent}/.venv/lib/python3.11/site-packages/scrapy/core/engine.py"
                        )
                    )
                ],
                profile.ENGINE,
            ),
            ([Frame(Code("/home/somebody/pipeline.py"))], ""),
        ],
    )
    def test_stage(self, frames, stage):
        """The innermost frame with a stage decides; helpers count for their callers; imports are
        the start.
        """
        assert judge()(stack(*frames)) == stage

    def test_compression(self):
        """Compressing a record is a stage of its own."""
        source = Path(warc_record.__file__).read_text().splitlines()
        line = next(
            number for number, text in enumerate(source, 1) if "isal_zlib.compress(" in text
        )

        assert judge()(ours("record/warc/warc_record.py", line)) == profile.COMPRESSION
        assert judge()(ours("record/warc/warc_record.py", line - 1)) == profile.WARC

    def test_what_has_no_line(self):
        """An instruction without a source line still belongs to its file."""
        assert judge()(ours("record/warc/warc_record.py", None)) == profile.WARC


class TestProfile:
    def profile(self, seconds=4.0):
        return Profile(
            1.0, defaultdict(float, {profile.PARSING: 2.0, profile.DISK: 1.0}), 0.5, seconds, 300
        )

    def test_shares(self):
        """The shares are of all CPU time, including that before the samples, largest first; their
        sum is 1.
        """
        assert [*self.profile().shares().items()] == [
            (profile.PARSING, 0.5),
            (profile.DISK, 0.25),
            (profile.START, 0.25),
        ]

    def test_verdict(self):
        """The rate is that of a fully used core, without the start; the bottleneck is the largest
        stage.
        """
        assert self.profile(seconds=3.0).verdict(600) == (
            "this machine can do 200 pages per second per core; the bottleneck is: parsing"
        )
        assert self.profile(seconds=6.0).verdict(600) == (
            "the crawl used 50 % of a core; "
            "this machine can do 200 pages per second per core; the bottleneck is: parsing"
        )

    def test_nothing_to_judge(self):
        """Without a page, or with a handful of samples, there is no verdict."""
        short = self.profile()
        short.samples = 10

        assert self.profile().verdict(0) == "too short for a verdict: run it longer"
        assert short.verdict(600) == "too short for a verdict: run it longer"
