"""`scrapy process`: modules run over archives as they run in a crawl."""

import json
import signal
from collections import Counter

import pytest

from tests.support.archive_files import gzipped, response
from tests.support.crawling import Crawl, scrapy
from tests.support.endless_pipelines import Impatient
from tests.support.examples import in_campaign
from tests.support.plain_site import Site, serving
from tests.support.warc_crawl import Archive, exchange, files
from webcrawl.base.model import Link
from webcrawl.tools.verify_crawl import verify

PIPELINES = "tests.support.process_pipelines"
PAGES = 60


class Linked(Site):
    """Pages that link to each other, a redirect, a duplicate, a plain text, and one that is not
    there.
    """

    def answer(self):
        name = self.path[1:]
        if name == "moved":
            return self.say(301, b"", location="/t")
        if name == "gone":
            return self.say(404, b"<a href=/x>")
        if name == "t":
            return self.say(200, b"text", content_type="text/plain")
        links = b"".join(
            b"<a href=/%s>to <b>%s</b></a>" % (n, n)
            for n in (b"a", b"b", b"c", b"moved", b"gone", b"t")
        )
        body = b"same" if name in ("b", "c") else name.encode()
        return self.say(200, b"<title>%s</title>%s" % (body, links), content_type="text/html")


class Job:
    """A JOBDIR of `scrapy process`."""

    def __init__(self, folder):
        self.folder, self.said = folder / "job", folder / "said.txt"

    def run(self, *archives, pipelines=(), **settings):
        """The exit status."""
        named = {f"{PIPELINES}.{name}": 300 + at for at, name in enumerate(pipelines)}
        given = {
            "JOBDIR": self.folder,
            "ITEM_PIPELINES": json.dumps(named),
            "MIN_FREE_DISK": 0,
            **settings,
        }
        words = [word for name, value in given.items() for word in ("-s", f"{name}={value}")]
        return scrapy(["process", *map(str, archives), *words], self.folder.parent, self.said)

    def lines(self, name="lines.txt"):
        return sorted((self.folder / name).read_text().splitlines())

    @property
    def log(self):
        return self.said.read_text()


@pytest.fixture(name="job")
def _job(tmp_path):
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = webcrawl.settings\n")
    return Job(tmp_path)


@pytest.fixture(name="pages")
def _pages(tmp_path):
    """An archive of many pages, in several files."""
    archive = Archive(tmp_path / "made", max_size=6000)
    for number in range(PAGES):
        body = b"<p>page %d" % (number - number % 2)  # every other one is a duplicate
        archive.write(
            exchange(f"http://a.test/{number}", body),
            Link(f"http://a.test/{number}"),
            duplicate=True,
        )
    archive.stop()
    assert len(files(tmp_path / "made")) > 3
    return tmp_path / "made"


URLS = sorted(f"http://a.test/{number}" for number in range(0, PAGES, 2))


@pytest.fixture(name="crawled", scope="module")
def _crawled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crawled")
    with serving(Linked) as here:
        (folder / "seeds.txt").write_text(f"{here}/\n")
        pipelines = {f"{PIPELINES}.Fields": 150}  # duplicates and robots.txt too
        settings = {"ITEM_PIPELINES": json.dumps(pipelines), "OUTPUTS": "warc cdxj links"}
        crawl = Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)
        assert crawl.run() == 0
    return crawl.jobdir


class TestAsInTheCrawl:
    def test_pages_and_outputs_are_those_of_the_crawl(self, crawled, job):
        """Every pipeline gets the pages that it got in the crawl, field by field, and writes the
        same.
        """
        wanted = {"ITEM_PIPELINES": json.dumps({f"{PIPELINES}.Fields": 150})}
        status = job.run(*files(crawled), OUTPUTS="links", **wanted)

        assert status == 0, job.log
        for name in ("lines.txt", "logs/links.log"):
            assert job.lines(name) == sorted((crawled / name).read_text().splitlines())

    def test_the_log_is_that_of_the_crawl(self, crawled, job):
        """crawl.log has a line for each answer, as in the crawl but for the time at its beginning."""
        assert job.run(crawled) == 0

        ours, theirs = (
            [line.split(None, 1)[1] for line in text.splitlines()]
            for text in self._logs(job, crawled)
        )
        assert sorted(ours) == sorted(theirs)

    def _logs(self, job, crawled):
        return ((folder / "logs/crawl.log").read_text() for folder in (job.folder, crawled))

    def test_verify_is_content(self, crawled, job):
        """The JOBDIR is checked as a crawl's."""
        job.run(crawled, OUTPUTS="links")

        assert scrapy(["verify", str(job.folder)], job.folder.parent, job.said) == 0, job.log

    def test_an_error_of_a_module_costs_nothing_else(self, pages, job):
        """It is in errors.log, the page goes on, and too many of them stop the run."""
        assert job.run(pages, pipelines=("Broken", "Lines"), ERROR_BREAKER="1000/60") == 0
        assert job.lines() == URLS
        assert (job.folder / "logs/errors.log").read_text().count("ValueError: http://") == len(
            URLS
        )

    def test_too_many_errors_stop_the_run(self, pages, job):
        """ERROR_BREAKER works as in a crawl, and the same command resumes."""
        assert job.run(pages, pipelines=("Broken", "Lines"), ERROR_BREAKER="3/60") == 1
        assert job.run(pages, pipelines=("Lines",)) == 0
        assert job.lines() == URLS

    def test_what_is_said_of_too_many_errors(self, pages, job):
        """The screen has three of the tracebacks; the last lines say how many there were, and what
        stopped the run.
        """
        assert job.run(pages, pipelines=("Broken",), ERROR_BREAKER="5/60") == 1

        assert job.log.count("Traceback") == 3
        assert (job.folder / "logs/errors.log").read_text().count("Traceback") >= 5
        assert "unexpected errors: see logs/errors.log" in job.log
        assert "stopped by ERROR_BREAKER" in job.log
        assert "use another JOBDIR to process all pages again" in job.log

    def test_content_seen(self, pages, job):
        """With CONTENT_SEEN=process duplicates reach all pipelines, with their bodies."""
        assert job.run(pages, pipelines=("Lines",), CONTENT_SEEN="process") == 0
        assert len(job.lines()) == PAGES

    def test_few_pages_at_once(self, pages, job):
        """No more than CONCURRENT_REQUESTS are in memory, and wait for a checkpoint to pass."""
        assert (
            job.run(pages, pipelines=("Counts",), CONCURRENT_REQUESTS=3, CONTENT_SEEN="process")
            == 0
        )
        assert max(map(int, job.lines())) == 3

    def test_nobody_is_asked(self, pages, job):
        """What a pipeline wants to download is refused: not even a name is looked up."""
        assert job.run(pages, pipelines=("Downloads",)) == 0
        assert job.lines()[0].startswith("IgnoreRequest http://a.test/0: nothing is fetched")


class TestResuming:
    @pytest.mark.campaign
    @pytest.mark.parametrize("at", ["/4", "/30", "/58"])
    def test_after_kill_nine(self, pages, job, at):
        """Whenever it is killed, the same command resumes, and each page is in an output once."""
        pipelines = ("Dies", "Hooks")
        status = job.run(pages, pipelines=pipelines, DIES_AT=at, CONCURRENT_REQUESTS=3)
        assert status == -9, job.log
        assert job.run(pages, pipelines=pipelines, DIES_AT=at) == 0

        assert job.lines() == URLS
        assert (job.folder.parent / "position").read_text() == str(len(URLS))
        assert at == "/4" or "resumed" in job.log

    def test_after_an_interrupt(self, pages, job):
        """Ctrl-C ends it with status 0 and a checkpoint; nothing comes twice."""
        assert job.run(pages, pipelines=("Interrupts",), DIES_AT="/20", CONCURRENT_REQUESTS=2) == 0
        assert "run the same command to resume" in job.log
        assert len(job.lines()) < len(URLS)

        assert job.run(pages, pipelines=("Lines",)) == 0
        assert job.lines() == URLS

    @pytest.mark.parametrize(
        ("number", "status"), in_campaign((signal.SIGKILL, -9), (signal.SIGINT, 0))
    )
    def test_a_page_that_does_not_come_back(self, pages, job, number, status):
        """Checkpoints go on without it, and the next run processes it, though its place in the
        archive is behind.
        """
        patience = {
            "EXTENSIONS": json.dumps({f"{Impatient.__module__}.Impatient": 1}),
            "CHECKPOINT_INTERVAL": 0.3,
        }
        assert job.run(pages, pipelines=("Hangs",), SIGNAL=int(number), **patience) == status
        assert "checkpoints leave out 1 page" in job.log
        assert (
            "if the run is killed, they are processed again (the first is http://a.test/20)"
            in job.log
        )
        assert ("the next run processes them; the first is http://a.test/20" in job.log) == (
            status == 0
        )
        assert ("1 page cancelled in the pipelines; run the same command" in job.log) == (
            status == 0
        )

        assert job.run(pages, pipelines=("Lines",)) == 0
        assert job.lines() == URLS
        assert job.run(pages, pipelines=("Lines",)) == 0
        assert job.lines() == URLS

    def test_a_page_that_is_cancelled(self, pages, job):
        """A run that has read everything but could not process a page ends with 1; the next one
        does, and with 0.
        """
        assert job.run(pages, pipelines=("Cancels",)) == 1
        assert (
            "http://a.test/20: processing was cancelled in a pipeline; the next run processes it again"
            in job.log
        )

        assert job.run(pages, pipelines=("Lines",)) == 0
        assert job.lines() == URLS

    def test_an_unfinished_page_that_is_gone(self, pages, job):
        """Where an archive no longer has what a run did not finish, it is lost, and the status says
        so for good.
        """
        assert job.run(pages, pipelines=("Cancels",)) == 1
        first, *others = files(pages)
        for path in (first, *others):
            path.rename(path.with_name(f"moved-{path.name}"))

        assert job.run(first.with_name(f"moved-{first.name}"), pipelines=("Lines",)) == 1
        assert "the record that an earlier run did not finish is missing" in job.log
        assert "could not be read: again 1" in job.log

    @pytest.mark.campaign
    def test_code_that_blocks(self, pages, job):
        """It is named, and the run ends when it is told to."""
        patience = {"EXTENSIONS": json.dumps({f"{Impatient.__module__}.Impatient": 1})}

        assert job.run(pages, pipelines=("Blocks",), **patience) == 1
        assert "the crawl is blocked: process_item (" in job.log
        assert "does not return, so the crawl ends as if killed: nothing " in job.log

    def test_once_more(self, pages, job):
        """A run that has nothing left to do says so, and a new file is read alone."""
        *first, last = files(pages)
        job.run(*first, pipelines=("Lines",))
        before = job.lines()
        assert job.run(*first, pipelines=("Lines",)) == 0
        assert "0 pages in" in job.log
        assert "all was read by earlier runs" in job.log
        assert job.lines() == before

        assert job.run(pages, pipelines=("Lines",)) == 0
        assert job.lines() == URLS
        assert last.name.endswith(".warc.gz")

    def test_a_new_file_without_a_page(self, job, tmp_path):
        """It is not said to have been read by an earlier run."""
        one, two = tmp_path / "one.warc.gz", tmp_path / "two.warc.gz"
        one.write_bytes(gzipped([response("http://a.test/")]))
        two.write_bytes(gzipped([response("http://a.test/gone", status=404)]))
        for archives, is_said in (((one,), False), ((one, two), False), ((one, two), True)):
            assert job.run(*archives, pipelines=("Lines",)) == 0
            assert ("all was read by earlier runs" in job.log) == is_said


class TestLosses:
    def test_damage_is_told_by_the_exit_status(self, pages, job):
        """What can be read is processed; the exit status is 1, of every further run, too."""
        path = files(pages)[1]
        data = bytearray(path.read_bytes())
        data[-20] ^= 255
        path.write_bytes(data)

        assert job.run(pages, pipelines=("Lines",)) == 1
        assert "could not be read: damaged 1" in job.log
        assert set(URLS) - set(job.lines()) <= set(URLS)
        assert job.run(pages, pipelines=("Lines",)) == 1

    def test_a_revisit_without_its_original(self, pages, job):
        """A page whose body is in another file is no page: the status is 1, and the line names the
        record.
        """
        lone = job.folder.parent / "lone.warc.gz"
        made = response("http://a.test/x", b"", WARC_Refers_To="<urn:x>").replace(
            b"response", b"revisit", 1
        )
        lone.write_bytes(gzipped([response("http://a.test/y"), made]))

        assert job.run(lone, pipelines=("Lines",)) == 1
        assert job.lines() == ["http://a.test/y"]
        assert "revisit http://a.test/x: its payload is in none of the files read so far" in job.log

    def test_places_of_payloads(self, pages, job):
        """`verify` names the database of payloads if it is damaged or missing: later archives would
        lose the bodies of their revisit records.
        """
        assert job.run(pages, pipelines=("Lines",)) == 0
        assert list(verify(job.folder, Counter())) == []
        path = job.folder / "state/originals.db"
        path.write_bytes(path.read_bytes()[:5000])
        (damage,) = verify(job.folder, Counter())
        path.unlink()
        (absence,) = verify(job.folder, Counter())

        assert (damage.path, absence.path) == (path, path)
        assert absence.why == "missing, though archives were read"

    def test_a_new_file_without_pages(self, pages, job):
        """What was read just now is not said to have been read by earlier runs."""
        missing = job.folder.parent / "missing.warc.gz"
        missing.write_bytes(gzipped([response("http://a.test/missing", status=404)]))
        said = "all was read by earlier runs"
        assert job.run(pages, pipelines=("Lines",)) == 0

        assert job.run(pages, missing, pipelines=("Lines",)) == 0
        assert said not in job.log
        assert job.run(pages, missing, pipelines=("Lines",)) == 0
        assert said in job.log

    def test_stats_that_cannot_be_made(self, pages, job):
        """The error of STATS_CLASS is told, and no other."""
        assert job.run(pages, STATS_CLASS="decimal.Decimal") == 1
        assert job.log.count("Traceback") == 1


class TestRecaptures:
    """A page that an archive has more than once, and a robots.txt of which the archive says nothing
    else.
    """

    def made(self, folder, *months):
        """An archive per month, of any program: {path: body} of each."""
        for number, month in enumerate(months, 1):
            records = [
                response(f"http://a.test/{path}", body, WARC_Date=f"2026-{number:02}-01T00:00:00Z")
                for path, body in month.items()
            ]
            (folder / f"month-{number}.warc.gz").write_bytes(gzipped(records))
        return sorted(folder.glob("month-*.warc.gz"))

    def test_only_what_has_changed_comes_again(self, job, tmp_path):
        """Each state of a page is processed once, however often it was captured; one that returns
        is a change.

        Two response records of one URL with one body gave two documents, the second of them marked
        as changed.
        """
        first, second = {"a": b"<p>one", "b": b"<p>two"}, {"a": b"<p>one", "b": b"<p>three"}

        assert (
            job.run(*self.made(tmp_path, first, second, first, first), pipelines=("Changes",)) == 0
        )
        assert job.lines() == ["a new", "b changed", "b changed", "b new"]

    def test_a_page_that_was_gone_has_changed(self, job, tmp_path):
        """A page that comes back as it was is news, because its pages were told that it has gone."""
        archive = self.made(tmp_path, {"a": b"<p>one"}, {}, {"a": b"<p>one"})
        archive[1].write_bytes(gzipped([response("http://a.test/a", b"", status=404)]))

        assert job.run(*archive, pipelines=("Changes",)) == 0
        assert job.lines() == ["a changed", "a gone", "a new"]

    def test_a_recapture_that_a_run_did_not_finish(self, job, tmp_path):
        """A page is processed by the next run if this one did not get it back: it is not taken for
        a recapture.
        """
        archive = self.made(tmp_path, {"a": b"<p>one"}, {"a": b"<p>one"})

        assert job.run(*archive, pipelines=("CancelsAll", "Changes")) == 1
        assert job.run(*archive, pipelines=("Changes",)) == 0
        assert job.lines() == ["a new"]

    def test_a_recapture_that_ends_after_what_a_run_did_not_finish(self, job, tmp_path):
        """The page is not taken for a recapture of itself, though a later capture of its URL ended.

        It was known by its URL, which the end of the later capture took from the note: the next run
        ended with 0, without the page.
        """
        archive = self.made(tmp_path, {"a": b"<p>one"}, {"a": b"<p>one"})

        assert job.run(*archive, pipelines=("CancelsAll", "Changes"), CONCURRENT_REQUESTS=1) == 1
        assert job.run(*archive, pipelines=("Changes",)) == 0
        assert job.lines() == ["a new"]

    def test_others_robots_txt_is_no_page(self, job, tmp_path):
        """Programs that do not write how they came to a URL have robots.txt like any answer: it
        becomes no page.
        """
        archive = self.made(
            tmp_path, {"a": b"<p>one", "robots.txt": b"User-agent: *\n", "b/robots.txt": b"a page"}
        )

        assert job.run(*archive, pipelines=("Changes",)) == 0
        assert job.lines() == ["a new", "b/robots.txt new"]


class TestArguments:
    @pytest.mark.parametrize(
        ("words", "line"),
        [
            (["none.warc.gz"], "none.warc.gz: no such file"),
            (["*.warc"], "*.warc: no such file"),
            (["empty"], "empty: no WARC files in this folder"),
            (
                ["-"],
                (
                    "-: archives cannot be read from standard input, as reading could not be "
                    "resumed: give a file"
                ),
            ),
            (
                ["made", "-a", "x=y"],
                "-a x=…: archives have no arguments; settings are -s NAME=VALUE",
            ),
            (["made", "-s", "OUTPUTS=nonsense"], "OUTPUTS = ['nonsense']: must be some of"),
            (
                [
                    "made",
                    "-s",
                    'ITEM_PIPELINES={"webcrawl.adapter.pipelines.outputs.WarcPipeline": 9}',
                ],
                (
                    "ITEM_PIPELINES = 'webcrawl.adapter.pipelines.outputs.WarcPipeline': must be "
                    "pipelines that work without a crawl; this one writes only what is being fetched"
                ),
            ),
        ],
    )
    def test_a_wrong_argument_is_one_line_before_a_file_is_touched(self, pages, job, words, line):
        """A wrong argument is one line with exit status 1, before a file is touched."""
        (job.folder.parent / "empty").mkdir()
        assert scrapy(["process", *words], job.folder.parent, job.said) == 1
        assert len(job.log.splitlines()) == 1
        assert job.log.startswith(line)
        assert pages.is_dir()

    def test_a_crawls_own_folder(self, crawled, job):
        """A JOBDIR belongs to the spider that made it."""
        assert job.run(crawled, JOBDIR=crawled) == 1
        assert "belongs to the spider web, not process" in job.log

    def test_a_file_named_twice(self, pages, job):
        """It is read once, and a line says so; a folder and a pattern name files too."""
        assert job.run(pages, pages / "warc" / "*.warc.gz", pipelines=("Lines",)) == 0
        assert job.log.count("named more than once: read once") == len(files(pages))
        assert job.lines() == URLS

    def test_outputs_of_a_crawl_alone(self, pages, job):
        """What only a crawl can write is left out, with a line if the command line names it."""
        assert job.run(pages, OUTPUTS="warc links") == 0
        assert job.log.startswith("OUTPUTS: warc: only a crawl can write that: left out")
        assert (job.folder / "logs/links.log").exists()
        assert not (job.folder / "warc").exists()

    def test_in_any_project(self, pages, job):
        """A project that does not name the add-on gets it for this command; its downloader
        middlewares have no say.
        """
        (job.folder.parent / "scrapy.cfg").write_text("[settings]\ndefault = plain\n")
        plain = f"COMMANDS_MODULE = 'webcrawl.commands'\nDOWNLOADER_MIDDLEWARES = {{'{PIPELINES}.Refuses': 5}}\n"
        (job.folder.parent / "plain.py").write_text(plain)

        assert job.run(pages, pipelines=("Lines",)) == 0, job.log
        assert job.lines() == URLS
