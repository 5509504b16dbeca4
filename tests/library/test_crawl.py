"""`webcrawl.crawl` in a program: pages one at a time, however it runs, and nothing lost when it
stops.
"""

import asyncio
import importlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from itertools import chain, count
from types import SimpleNamespace

import pytest

import webcrawl
from tests.support.net_proxy import Proxy, proxying
from tests.support.places import ROOT
from tests.support.plain_site import Site, serving
from webcrawl.crawl import disk_space
from webcrawl.crawl.checks import SettingError
from webcrawl.library import Crawling, NothingFetched
from webcrawl.store.errors import StateLocked, StoreError
from webcrawl.store.jobdir import stats_file
from webcrawl.urls.seeds.seed_source import SeedError

PAGES = 12  # of the site
LONG = 32  # of another: what they have beyond 2 MiB is more than there is room for
QUICK = {
    "user_agent": "mybot/1.0 (+https://example.org/bot)",
    "private_networks_allowed": ["127.0.0.0/8"],
    "politeness_min_delay": 0,
    "politeness_factor": 0,
    "min_free_disk": 0,
}


class Tree(Site):
    """Each page links to two others."""

    def answer(self):
        number = int(self.path[1:] or 1) if self.path[1:].isdecimal() or self.path == "/" else 0
        if not 0 < number <= PAGES:
            self.say(HTTPStatus.NOT_FOUND, b"", content_type="text/html")
            return
        links = "".join(
            f"<a href=/{to}>{to}</a>" for to in (2 * number, 2 * number + 1) if to <= PAGES
        )
        self.say(
            HTTPStatus.OK, f"<title>Page {number}</title>{links}".encode(), content_type="text/html"
        )


class Twin(Tree):
    """The same tree with other bodies."""

    def say(self, status, body, **more):
        super().say(status, b"%b<p>twin" % body, **more)


class Long(Site):
    """A page that links to long ones."""

    def answer(self):
        if self.path == "/":
            self.say(
                HTTPStatus.OK,
                b"".join(b"<a href=/%d>x</a>" % n for n in range(LONG)),
                content_type="text/html",
            )
        else:
            body = self.path.encode() + bytes(4_500_000)
            self.say(HTTPStatus.OK, body, content_type="application/octet-stream")


@pytest.fixture(name="site", scope="module")
def _site():
    with serving(Tree) as address:
        yield f"{address}/"


def crawl(site, jobdir=None, **more):
    port = str(site).rstrip("/").rpartition(":")[2]
    return webcrawl.crawl(site, jobdir, **{**QUICK, "ports_allowed": [port], **more})


def _raise_keyboard_interrupt(*_):
    raise KeyboardInterrupt


def numbers(pages):
    return sorted(int(page.title.removeprefix("Page ")) for page in pages)


ALL = [*range(1, PAGES + 1)]


class TestPages:
    def test_for(self, site):
        """Where no event loop runs, `for` has all pages, and says why it ended."""
        one = crawl(site)

        assert numbers(one) == ALL
        assert one.reason == "finished"
        assert one.stats["pages"] == PAGES

    def test_async_for(self, site):
        """In a loop that runs already, `async for` has them."""

        async def main():
            return [page async for page in crawl(site)]

        assert numbers(asyncio.run(main())) == ALL

    def test_for_in_a_loop_that_runs(self, site):
        """A plain `for` would hold up the event loop: it is refused."""

        async def main():
            iter(crawl(site))

        with pytest.raises(TypeError, match="use `async for`"):
            asyncio.run(main())

    def test_without_a_folder_nothing_is_left(self, site):
        """The temporary folder is gone when the loop ends."""
        one = crawl(site)
        for _ in one:
            assert one.jobdir.is_dir()

        assert not one.jobdir.exists()

    def test_a_folder_among_the_settings(self, site, tmp_path):
        """It is kept as one that is given by itself."""
        one = crawl(site, settings={"JOBDIR": str(tmp_path / "job")})

        assert numbers(one) == ALL
        assert one.jobdir == tmp_path / "job"
        assert numbers(webcrawl.pages(tmp_path / "job")) == ALL

    def test_pages_that_are_kept(self):
        """However many long pages a program keeps, the next one comes: only those under way share
        room in memory.
        """
        with serving(Long) as address:
            pages = list(crawl(f"{address}/", scope="host"))  # whose long bodies are kept whole

        assert sum(len(page.body) > 4_000_000 for page in pages) == LONG

    def test_several_threads(self, site):
        """Threads that share one iterator get each page once, and all of them get to its end."""
        pages, got = iter(crawl(site)), []
        threads = [
            threading.Thread(target=lambda: got.extend(pages), daemon=True) for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

        assert numbers(got) == ALL
        assert not any(thread.is_alive() for thread in threads)

    def test_several_threads_with_a_page_each(self):
        """A page that one thread has is finished too if another takes the next one meanwhile."""
        with serving(Tree) as site, serving(Twin, "127.0.0.2") as other:
            seeds = [f"{site}/", f"{other}/"]
            ports = [url.rstrip("/").rpartition(":")[2] for url in seeds]
            pages, got = iter(webcrawl.crawl(seeds, ports_allowed=ports, **QUICK)), []
            both = threading.Barrier(2)

            def read():
                got.append(next(pages))
                both.wait(60)  # now each has one
                got.extend(pages)

            threads = [threading.Thread(target=read, daemon=True) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)

        assert numbers(got) == sorted(ALL * 2)

    def test_several_tasks(self, site):
        """So do tasks of one event loop: the end wakes all that wait for a page."""

        async def main():
            pages, got = aiter(crawl(site)), []

            async def read():
                got.extend([page async for page in pages])

            await asyncio.wait_for(asyncio.gather(read(), read(), read()), 60)
            return got

        assert numbers(asyncio.run(main())) == ALL

    def test_another_process(self, site):
        """A page can be pickled, for a pool of processes."""
        for page in crawl(site, closespider_itemcount=1):
            copy = pickle.loads(pickle.dumps(page))  # noqa: S301 - our own
            assert (copy.url, copy.body, copy.links) == (page.url, page.body, page.links)

    def test_another_folder(self, site, tmp_path, monkeypatch):
        """A folder is where it was when the crawl was made, wherever the program goes meanwhile."""
        monkeypatch.chdir(tmp_path)
        pages = []
        for page in crawl(site, "job"):
            pages.append(page)
            os.chdir("/")

        assert numbers(pages) == ALL
        assert numbers(webcrawl.pages(tmp_path / "job")) == ALL

    def test_several_at_once(self, site):
        """Crawls of one program do not know each other."""

        async def main():
            return await asyncio.gather(*(asyncio.to_thread(list, crawl(site)) for _ in range(3)))

        assert [numbers(pages) for pages in asyncio.run(main())] == [ALL] * 3

    def test_one_folder_for_two(self, site, tmp_path):
        """The second crawl in a folder is refused, and the first one goes on."""
        pages = iter(crawl(site, tmp_path))
        first = next(pages)
        with pytest.raises(StateLocked):
            list(crawl(site, tmp_path))

        assert numbers([first, *pages]) == ALL

    def test_no_scrapy(self, site):
        """Neither Scrapy nor Twisted is loaded."""
        port = site.rstrip("/").rpartition(":")[2]
        code = (
            "import sys, webcrawl\n"
            f"pages = list(webcrawl.crawl({site!r}, **{ ({**QUICK, 'ports_allowed': [port]})!r}))\n"
            "print(len(pages), {'scrapy', 'twisted'} & set(sys.modules))"
        )
        run = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
        )

        assert run.stdout == f"{PAGES} set()\n", run.stderr

    def test_in_a_forked_process(self, site):
        """It is told that the crawl is its parent's, whose pages all come: it waited for ever."""
        port = site.rstrip("/").rpartition(":")[2]
        code = (
            "import os, warnings, webcrawl\n"
            "warnings.simplefilter('ignore', DeprecationWarning)  # of threads at a fork\n"
            f"pages = iter(webcrawl.crawl({site!r}, **{ ({**QUICK, 'ports_allowed': [port]})!r}))\n"
            "next(pages)\n"
            "child = os.fork()\n"
            "try:\n"
            "    rest = list(pages)\n"
            "except RuntimeError as error:\n"
            "    os.write(1, str(error).encode())\n"
            "    os._exit(0)\n"
            "os.waitpid(child, 0)\n"
            "print('', 1 + len(rest))"
        )
        run = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
        )

        words = "this crawl runs in the process from which this one was forked"
        assert run.stdout == f"{words} {PAGES}\n", run.stderr

    def test_without_standard_streams(self, site, tmp_path):
        """A daemon that has closed them has its pages: uvloop aborted the process."""
        port = site.rstrip("/").rpartition(":")[2]
        code = (
            "import os, pathlib, webcrawl\n"
            "os.closerange(0, 3)\n"
            f"pages = list(webcrawl.crawl({site!r}, **{ ({**QUICK, 'ports_allowed': [port]})!r}))\n"
            f"pathlib.Path({str(tmp_path / 'pages')!r}).write_text(str(len(pages)))"
        )
        run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)

        assert run.returncode == 0
        assert (tmp_path / "pages").read_text() == str(PAGES)


class TestNames:
    @pytest.mark.parametrize(
        "name", ["Page", "WebSpider", "WebcrawlAddon", "crawl", "open_output", "pages"]
    )
    def test_what_the_package_has(self, name):
        """Programs need no more than `import webcrawl` for what they use most."""
        assert callable(getattr(webcrawl, name))

    def test_a_room_of_the_same_name(self):
        """`webcrawl.crawl` can be called whether or not a program has imported modules below it."""
        assert importlib.import_module("webcrawl.crawl.driver").Driver
        assert isinstance(webcrawl.crawl("http://a.test/", **QUICK), Crawling)

    def test_another_name(self):
        """What the package lacks is an AttributeError, as for any module."""
        with pytest.raises(AttributeError, match="no attribute 'crowl'"):
            webcrawl.crowl  # noqa: B018


class TestSeeds:
    def test_any_iterable(self, site):
        """URLs of a generator are seeds, and no more of them are taken than asked for."""
        seeds = (f"{site}{number}" for number in (5, 9, 10))
        port = site.rstrip("/").rpartition(":")[2]
        pages = webcrawl.crawl(seeds, limit=2, follow=False, ports_allowed=[port], **QUICK)

        assert numbers(pages) == [5, 9]

    def test_an_endless_iterable(self, site):
        """So are those of a generator that has no last one; a line without a seed does not count."""
        seeds = chain(["# comment", f"{site}5", ""], (f"{site}{number}" for number in count(9)))
        port = site.rstrip("/").rpartition(":")[2]
        pages = webcrawl.crawl(seeds, limit=2, follow=False, ports_allowed=[port], **QUICK)

        assert numbers(pages) == [5, 9]

    def test_stopped_while_they_are_listed(self, tmp_path):
        """A crawl can be stopped before the last seed is there, and keeps no part of the list."""
        seeds = (f"http://a.test/{number}" for number in count())
        one = webcrawl.crawl(seeds, tmp_path, **QUICK)
        with one:
            waiting = threading.Thread(target=list, args=(one,))
            waiting.start()
            while not any(tmp_path.glob("seeds/*")):
                time.sleep(0.01)
        waiting.join()

        assert one.reason == "stopped"
        assert [*tmp_path.glob("seeds/*")] == []

    def test_another_list_meanwhile(self, site, tmp_path):
        """A crawl whose seeds are still being listed keeps them all if another begins in its folder."""

        def seeds():
            yield f"{site}5"
            other = crawl([f"{site}7"], tmp_path, ports_allowed=ports, follow=False)
            with ThreadPoolExecutor(1) as pool:
                assert numbers(pool.submit(list, other).result(60)) == [7]
            yield f"{site}9"

        ports = [site.rstrip("/").rpartition(":")[2]]

        assert numbers(crawl(seeds(), tmp_path, ports_allowed=ports, follow=False)) == [5, 9]

    def test_a_comma_in_a_url(self, site):
        """A URL is one seed, whatever is in it."""
        port = site.rstrip("/").rpartition(":")[2]
        pages = list(webcrawl.crawl(f"{site}1,2", ports_allowed=[port], **QUICK))

        assert [(page.url, page.status) for page in pages] == [(f"{site}1,2", HTTPStatus.NOT_FOUND)]

    @pytest.mark.parametrize("seeds", [b"http://a.test/", 7, None, [b"http://a.test/"], [None]])
    def test_what_is_no_url(self, seeds):
        """Other values are refused: as text they would be other URLs."""
        with pytest.raises(TypeError, match="seeds: "):
            list(webcrawl.crawl(seeds, **QUICK))

    def test_line_ends_in_a_url(self, site):
        """They are no part of a URL, as the URL Standard has it, and begin no other."""
        port = site.rstrip("/").rpartition(":")[2]

        assert numbers(webcrawl.crawl([f" {site}\n1\n2"], ports_allowed=[port], **QUICK)) == [12]

    @pytest.mark.parametrize("limit", ["2", 1.5])
    def test_a_limit_that_is_no_number(self, limit):
        """It is refused before anything is read."""
        with pytest.raises(TypeError, match="limit: must be a whole number"):
            webcrawl.crawl("http://a.test/", limit=limit)

    def test_a_host_alone(self):
        """What is no file, and looks like a host, lacks its scheme: the line says so."""
        with pytest.raises(SeedError, match=r"http://127\.0\.0\.1:80"):
            list(webcrawl.crawl("127.0.0.1:80", **QUICK))

    def test_a_file(self, site, tmp_path):
        """A path is a list of them."""
        (tmp_path / "seeds.txt").write_text(f"{site}7\n")
        port = site.rstrip("/").rpartition(":")[2]

        assert numbers(webcrawl.crawl(tmp_path / "seeds.txt", ports_allowed=[port], **QUICK)) == [7]

    def test_a_list_that_cannot_be_read(self, site, tmp_path):
        """It is told of by its name, and nothing is fetched: its seeds would be missing."""
        (tmp_path / "seeds.txt").write_text(f"{site}7\n")

        with pytest.raises(SeedError, match=r"missing\.txt: No such file"):
            list(webcrawl.crawl(f"{tmp_path}/seeds.txt,{tmp_path}/missing.txt", **QUICK))

    def test_no_seed_has_an_answer(self):
        """The loop says why, and does not just end."""
        more = {"host_patience": 1, "host_retry_wait": 0.2, "outage_end_wait": 1}
        with pytest.raises(NothingFetched, match=r"127\.0\.0\.1:1: connection refused"):
            list(crawl("http://127.0.0.1:1/", **more))

    def test_lines_that_are_no_seeds(self):
        """So if there is none that could be read."""
        with pytest.raises(NothingFetched, match="lines that are not seeds: 1"):
            list(webcrawl.crawl(["not a url"], **QUICK))


class TestSettings:
    @pytest.mark.parametrize(
        ("more", "line"),
        [
            ({"user_agnt": "x"}, "user_agnt: unknown setting; did you mean user_agent?"),
            ({"settings": {"FEEDS": {}}}, "feeds: unknown setting"),
            (
                {"scope": "host", "settings": {"URL_SCOPE": "any"}},
                "scope: URL_SCOPE is given twice",
            ),
            ({"render": "auto"}, "RENDER: works only in Scrapy's process"),
            ({"settings": ["OUTPUTS"]}, "settings: must be a dict, not list"),
            ({"jobdir": 5}, "not int"),
        ],
    )
    def test_that_have_no_effect(self, more, line):
        """They are refused before anything is fetched."""
        with pytest.raises(TypeError, match=line):
            webcrawl.crawl("http://a.test/", **more)

    @pytest.mark.parametrize(
        "more", [{"concurrent_requests": "many"}, {"scope": "moon"}, {"outputs": "moons"}]
    )
    def test_that_are_impossible(self, more):
        """So are values that cannot be."""
        with pytest.raises(SettingError):
            webcrawl.crawl("http://a.test/", **{**QUICK, **more})

    @pytest.mark.parametrize("agent", [{}, {"user_agent": "mybot/1.0"}])
    def test_a_crawl_that_nobody_can_be_asked_about(self, agent):
        """A crawl of the public web says where its operator can be reached."""
        with pytest.raises(
            SettingError, match=r"USER_AGENT = .*: must be one that says where you can be reached"
        ):
            webcrawl.crawl("http://192.0.2.1/", **agent)

    def test_scope(self, site):
        """From a URL a crawl stays on its host, unless the caller says otherwise."""

        class Linked(Site):
            def answer(self):
                self.say(HTTPStatus.OK, f"<a href={site}>x</a>".encode(), content_type="text/html")

        with serving(Linked, "127.0.0.2") as other:
            ports = [address.rstrip("/").rpartition(":")[2] for address in (site, other)]
            found = [
                {
                    page.url
                    for page in webcrawl.crawl(f"{other}/", ports_allowed=ports, **scope, **QUICK)
                }
                for scope in ({}, {"scope": "any"})
            ]

        assert found[0] == {f"{other}/"}
        assert len(found[1]) == 1 + PAGES

    def test_limits(self, site, tmp_path):
        """CLOSESPIDER_ITEMCOUNT hands over so many pages, and the next run the others."""
        one = crawl(site, tmp_path, closespider_itemcount=5)
        first = numbers(one)

        assert (len(first), one.reason) == (5, "closespider_itemcount")
        assert sorted(first + numbers(crawl(site, tmp_path))) == ALL

    def test_bytes(self, site, tmp_path):
        """CLOSESPIDER_BYTES counts those of all runs, as in a crawl by command."""
        first = crawl(site, tmp_path, closespider_itemcount=2)
        numbers(first)
        limit = stats_file.read(tmp_path)["bytes"]
        again = crawl(site, tmp_path, closespider_bytes=limit, politeness_min_delay=0.5)

        assert len(numbers(again)) < len(ALL) - 2
        assert again.reason == "closespider_bytes"


class TestStopping:
    def test_break(self, site, tmp_path):
        """The page in hand is not finished: the next loop has it again, and all others once."""
        one, before = crawl(site, tmp_path), []
        for page in one:
            before.append(page)
            if len(before) == 4:
                break

        assert (one.reason, stats_file.read(tmp_path)["reason"]) == ("stopped", "stopped")
        assert sorted(numbers(before[:-1]) + numbers(crawl(site, tmp_path))) == ALL

    def test_an_exception(self, site, tmp_path):
        """It comes out of the loop as it was, and the crawl has stopped."""
        one = crawl(site, tmp_path)

        def loop():
            for _ in one:
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            loop()

        assert one.reason == "stopped"
        assert numbers(crawl(site, tmp_path)) == ALL

    def test_a_cancelled_task(self, site, tmp_path):
        """So has that of a task that is cancelled."""
        one = crawl(site, tmp_path)

        async def forever():
            async for _ in one:
                await asyncio.sleep(60)

        async def main():
            task = asyncio.create_task(forever())
            while not one.stats.get("pages"):
                await asyncio.sleep(0.01)
                if one.stats.get("answers", 0) > 0:
                    break
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        assert one.reason == "stopped"
        assert numbers(crawl(site, tmp_path)) == ALL

    def test_a_cancelled_task_that_is_kept(self, site):
        """So has that of a task that waited for a page, even if the program keeps the task."""
        one = crawl(site, politeness_min_delay=1)

        async def all_pages(first):
            async for _ in one:
                first.set()

        async def main():
            first = asyncio.Event()
            task = asyncio.create_task(all_pages(first))
            await first.wait()
            await asyncio.sleep(0)  # it waits for the next page, which is a second away
            task.cancel()
            await asyncio.wait([task])
            assert one.reason == "stopped"

        asyncio.run(main())

    def test_a_signal(self, site):
        """So has one whose wait for a page a signal ends, even where the error is handled."""
        one = crawl(site, politeness_min_delay=1)
        previous = signal.signal(signal.SIGALRM, _raise_keyboard_interrupt)
        reasons = []

        try:
            for _ in one:
                signal.setitimer(signal.ITIMER_REAL, 0.5)
        except KeyboardInterrupt:
            reasons.append(one.reason)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)

        assert reasons == ["stopped"]

    def test_a_context(self, site):
        """At its end the crawl has stopped."""

        async def main():
            async with crawl(site) as one:
                pages = aiter(one)
                await anext(pages)
            return one.reason

        assert asyncio.run(main()) == "stopped"

    def test_the_end_of_the_program(self, site, tmp_path):
        """A program that ends with a loop in hand takes a checkpoint."""
        port = site.rstrip("/").rpartition(":")[2]
        given = {**QUICK, "ports_allowed": [port]}
        code = f"import webcrawl; pages = iter(webcrawl.crawl({site!r}, {str(tmp_path)!r}, **{given!r})); next(pages)"
        run = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
        )

        assert (run.returncode, run.stderr) == (0, "")
        assert stats_file.read(tmp_path)["reason"] == "stopped"

    def test_no_thread_is_left(self, site):
        """The crawl's threads end with it."""

        def threads():
            # Without the site's, which has one for each connection
            names = [thread.name for thread in threading.enumerate()]
            return len([name for name in names if "process_request_thread" not in name])

        before = threads()
        for _ in crawl(site):
            break

        assert threads() <= before

    def test_a_kill(self, site, tmp_path):
        """Whatever a killed program had not finished comes again; what it had finished at a
        checkpoint does not.
        """
        port = site.rstrip("/").rpartition(":")[2]
        given = {**QUICK, "ports_allowed": [port], "checkpoint_interval": 0.1}
        code = (
            "import os, time, webcrawl\n"
            f"for number, page in enumerate(webcrawl.crawl({site!r}, {str(tmp_path)!r}, **{given!r})):\n"
            "    print(page.title, flush=True)\n"
            "    time.sleep(0.2)\n"
            "    if number == 5: os.kill(os.getpid(), 9)"
        )
        run = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
        )
        killed = [int(line.removeprefix("Page ")) for line in run.stdout.splitlines()]
        rest = numbers(crawl(site, tmp_path))

        assert len(killed) == 6, run.stderr
        assert sorted({*killed, *rest}) == ALL
        assert killed[0] not in rest
        assert killed[-1] in rest


class TestFiles:
    def test_an_output_has_each_page_once(self, site, tmp_path):
        """A line that was written with a page that was not finished is not in the file, and comes
        with the page.
        """
        for most in (3, 100):
            one = crawl(site, tmp_path)
            titles = one.open_output("titles.txt")
            for number, page in enumerate(one):
                titles.write(f"{page.title}\n".encode())
                if number == most:
                    break

        lines = (tmp_path / "titles.txt").read_text().splitlines()
        assert sorted(lines) == sorted(f"Page {number}" for number in ALL)

    @pytest.mark.parametrize("path", ["../x", "stats.json", "state/crawl.db"])
    def test_no_output_elsewhere(self, site, tmp_path, path):
        """It may be neither outside of the folder nor one of the crawl's own files."""
        one = crawl(site, tmp_path)
        next(pages := iter(one))
        with pytest.raises(ValueError, match="an output must be a file below JOBDIR"):
            one.open_output(path).write(b"x")
        del pages

    def test_no_output_of_text(self, site, tmp_path):
        """What is no bytes is refused where it is written: the crawl and its other lines go on."""
        one = crawl(site, tmp_path)
        lines = one.open_output("lines")
        for _ in one:
            with pytest.raises(TypeError, match="an output takes bytes, not str"):
                lines.write("text\n")
            lines.write(b"bytes\n")

        assert (tmp_path / "lines").read_bytes() == b"bytes\n" * PAGES

    def test_a_buffer_that_is_used_again(self, site, tmp_path):
        """What is written is what the buffer had then, although the file gets it later."""
        one, line = crawl(site, tmp_path), bytearray()
        lines = one.open_output("lines")
        for page in one:
            line[:] = f"{page.title}\n".encode()
            lines.write(line)
            line.clear()

        assert len((tmp_path / "lines").read_text().splitlines()) == PAGES

    def test_nothing_is_written_without_a_crawl(self, site, tmp_path):
        """Before the first page there is no file."""
        with pytest.raises(RuntimeError, match="can be written to only"):
            crawl(site, tmp_path).open_output("x").write(b"x")

    def test_no_output_that_would_be_removed(self, site):
        """Without a folder that stays, the file would be gone after the last page."""
        with pytest.raises(ValueError, match="x: a crawl keeps a file only with `jobdir`"):
            crawl(site).open_output("x")

    def test_pages_of_an_archive(self, site, tmp_path):
        """`pages` has what the crawl has archived, as it was handed over."""
        found = {
            page.url: (page.title, page.body, len(page.links)) for page in crawl(site, tmp_path)
        }

        assert {
            page.url: (page.title, page.body, len(page.links)) for page in webcrawl.pages(tmp_path)
        } == found

    def test_no_archive(self, tmp_path):
        """A folder without one is an error."""
        with pytest.raises(FileNotFoundError, match="no WARC files"):
            list(webcrawl.pages(tmp_path))

    def test_a_truncated_archive(self, site, tmp_path):
        """Of a damaged archive `pages` has what can be read, and then does not just end."""
        list(crawl(site, tmp_path))
        (archive,) = tmp_path.glob("warc/*.warc.gz")
        os.truncate(archive, archive.stat().st_size // 2)
        read = []

        with pytest.raises(StoreError, match="1 place could not be read"):
            read.extend(webcrawl.pages(tmp_path))
        assert 0 < len(read) < PAGES

    def test_text_and_documents(self, site, tmp_path):
        """OUTPUTS writes what it writes in Scrapy's process."""
        list(
            crawl(
                site,
                tmp_path,
                outputs="warc cdxj links text skipped tags neardup pagefiles images requests",
            )
        )

        assert (tmp_path / "tags.tsv").read_text().startswith(f"title\t{PAGES}\t")
        assert (tmp_path / "logs/links.log").read_text().count("\n") == PAGES - 1
        assert len(list((tmp_path / "text").iterdir())) == 1
        requests = (tmp_path / "logs/requests.log").read_text().splitlines()
        assert len(requests) == PAGES + 1  # and robots.txt


def test_proxy_of_the_environment(site, monkeypatch):
    """What the environment names as the proxy carries every request, robots.txt included."""
    proxy = Proxy()
    with proxying(proxy) as address:
        monkeypatch.setenv("http_proxy", f"http://{address}")
        monkeypatch.setenv("no_proxy", "")
        assert numbers(crawl(site)) == list(range(1, PAGES + 1))
    assert b"GET %srobots.txt HTTP/1.1" % site.encode() in proxy.lines
    assert len(proxy.lines) == PAGES + 1


def test_proxy_that_cannot_be_used(site, monkeypatch):
    """A crawl that would go past the proxy does not begin."""
    monkeypatch.setenv("ALL_PROXY", "socks4://127.0.0.1:9")
    with pytest.raises(SettingError, match="ALL_PROXY in the environment"):
        crawl(site)


def test_disk_that_is_nearly_full(site, monkeypatch):
    """Nothing is fetched while the disk has too little room, and all once it has more."""
    free, fetched = [0] * 8 + [1 << 40], []
    pages = []

    def usage(_):
        fetched.append(len(pages))
        return SimpleNamespace(free=free.pop(0) if len(free) > 1 else free[0])

    monkeypatch.setattr(disk_space, "INTERVAL", 0.05)
    monkeypatch.setattr("shutil.disk_usage", usage)
    for page in crawl(site, min_free_disk=1):
        pages.append(page)  # noqa: PERF402 - `usage` looks at it meanwhile
    assert numbers(pages) == list(range(1, PAGES + 1))
    # one page of the host may have been under way at the first look
    assert fetched[8] <= 1
