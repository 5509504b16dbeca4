"""Every problem that can be known before the first request is one line on standard error and exit
status 1.
"""

import fcntl
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from scrapy.settings import Settings

from tests.support.commands import command
from tests.support.crawling import Crawl
from tests.support.jobs import tree
from tests.support.prepared import bound_by_permissions, start
from tests.support.tampering import tampered
from webcrawl.adapter.preflight import preflight, spider_named
from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.base.errors import CannotStart
from webcrawl.base.readable import readable

GOOD = b"http://site0.test/\n"


def refused(crawl, **settings):
    """The only line that the crawl printed."""
    status = crawl.run(**settings)
    lines = crawl.output.read_text().splitlines()

    assert len(lines) == 1, lines
    assert status == 1
    return lines[0]


def told(arguments, *, again=False, **settings):
    """The line of the check before a crawl: the same as from `refused`, in a tenth of the time."""
    with pytest.raises(CannotStart) as error:
        preflight(settings_of(settings), WebSpider, arguments, again=again)
    return str(error.value)


def begin(job, seeds):
    """Leaves an empty crawl there."""
    preflight(settings_of({"JOBDIR": str(job)}), WebSpider, {"seeds": str(seeds)})


def settings_of(given):
    values = Settings()
    values.setmodule("webcrawl.settings")
    values.setdict({"USER_AGENT": "tests/1 (+http://tests.test/)", **given}, "cmdline")
    return values


def overwrite(path, start):
    """Noise from this byte on."""
    data = path.read_bytes()
    path.write_bytes(data[:start] + Random(1).randbytes(len(data) - start))


@pytest.fixture(name="seeds")
def _seeds(tmp_path):
    path = tmp_path / "seeds.txt"
    path.write_bytes(GOOD)
    return path


class TestSeeds:
    @pytest.mark.parametrize(
        ("name", "content", "why"),
        [
            ("random.txt", bytes(range(256)) * 20, "is binary; a list of seeds must be text"),
            (
                "bad.txt",
                b"two words\n???\n",
                "contains no seed (bad lines: 2; line 1 contains a space or a control character)",
            ),
            ("comments.txt", b"# nothing yet\n\n", "no seed"),
            ("seeds.doc", GOOD, "must end in .csv or .txt, optionally followed by .gz or .zip"),
            (
                "truncated.txt.gz",
                b"\x1f\x8b\x08\x00",
                "Compressed file ended before the end-of-stream marker was reached",
            ),
        ],
    )
    def test_a_list_that_gives_no_seed(self, tmp_path, caplog, name, content, why):
        """A seed list that is binary, truncated, bad in all lines or of unknown kind is named with
        the reason.
        """
        path = tmp_path / name
        path.write_bytes(content)

        line = told({"seeds": str(path)}, JOBDIR=str(tmp_path / "job"))

        assert line.startswith(f"{path}: ")
        assert why in line
        assert caplog.messages == []

    def test_one_of_several(self, tmp_path, seeds):
        """One missing list among several stops the crawl too."""
        line = told({"seeds": f"{seeds},{tmp_path}/more.txt"})

        assert line == f"{tmp_path}/more.txt: No such file or directory"


class TestFeeds:
    @pytest.mark.parametrize(
        ("feed", "why"),
        [
            ("{here}/seeds.txt/x.json", "{here}/seeds.txt: File exists"),
            ("{here}/seeds.txt/%(name)s/x.json", "{here}/seeds.txt: File exists"),
            ("{here}/", "it is a directory"),
            ("other://bucket/x.json", "Unknown feed storage scheme: other"),
        ],
    )
    def test_what_cannot_be_stored(self, tmp_path, seeds, feed, why):
        """A feed that cannot be stored is named before the start."""
        feed = feed.format(here=tmp_path)
        settings = {"JOBDIR": str(tmp_path / "job"), "FEEDS": {feed: {"format": "json"}}}

        said = told({"seeds": str(seeds)}, **settings)

        assert said == f"FEEDS: {feed}: cannot be stored: {why.format(here=tmp_path)}"

    def test_an_unknown_encoding(self, tmp_path, seeds):
        """So is one whose items could not be written in its encoding."""
        settings = {
            "JOBDIR": str(tmp_path / "job"),
            "FEEDS": {f"{tmp_path}/x": {"format": "json", "encoding": "utf-9"}},
        }
        said = told({"seeds": str(seeds)}, **settings)

        assert said == f"FEEDS: {tmp_path}/x: cannot be stored: unknown encoding utf-9"


class TestSpiders:
    @pytest.mark.parametrize("spider", ["webb", "Web", "web\n"])
    def test_an_unknown_spider(self, tmp_path, seeds, spider):
        """A spider that the project does not have is one line with those that it has, and how to
        name where it is.
        """
        line = refused(Crawl(tmp_path / "job", {"seeds": seeds}, spider=spider))

        hint = "for one of yours, name its module or package in -s SPIDER_MODULES="
        assert line.endswith(f": no such spider (this project has walk, web); {hint}")


class TestSettings:
    @pytest.mark.parametrize(
        ("name", "value", "allowed"),
        [
            ("FRONTIER_LEVELS", "eight", "a whole number from 1 to 1000"),
            ("POLITENESS_MIN_DELAY", "400", "no more than POLITENESS_MAX_DELAY = 300"),
            ("DOWNLOAD_TIMEOUT", "-1", "a number from 0.1 to 86400"),
            ("CLOSESPIDER_PAGECOUNT", "many", "a whole number from 0 to 1000000000"),
            ("LOG_LEVEL", "LOUD", "one of DEBUG, INFO, WARNING, ERROR, CRITICAL"),
            ("USER_AGENT", "", "one line of text"),
            (
                "URL_EXCLUDE_FILE",
                "/no/such/file",
                "the path of a readable file, or none (there is no such file)",
            ),
        ],
    )
    def test_an_impossible_value(self, seeds, name, value, allowed):
        """An impossible value, of Scrapy's settings too, is reported with the setting's name and
        what is allowed.
        """
        line = told({"seeds": str(seeds)}, **{name: value})

        assert line.startswith(f"{name} = ")
        assert line.endswith(f": must be {allowed}")

    @pytest.mark.parametrize(
        ("setting", "text", "why"),
        [
            ("URL_EXCLUDE_FILE", "two words\n", "line 1"),
            ("URL_HOST_RULES", "nonsense\n", "line 1"),
            ("URL_EXCLUDE_FILE", "\udcff", "is not UTF-8 text"),
        ],
    )
    def test_bad_rules(self, tmp_path, seeds, setting, text, why):
        """A file of rules with a bad line is named with the line, before anything else of JOBDIR is
        used.
        """
        path = tmp_path / "rules"
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        line = told({"seeds": str(seeds)}, JOBDIR=str(tmp_path / "job"), **{setting: str(path)})

        assert line.startswith(str(path))
        assert why in line

    def test_filters_of_one_name(self, tmp_path, seeds):
        """Two filters with the same name, which would count as one, are refused."""
        filters = {
            "webcrawl.urls.filters.url_parts.LengthFilter": 1,
            "tests.support.cli_components.AnotherLength": 2,
        }
        line = told({"seeds": str(seeds)}, JOBDIR=str(tmp_path / "job"), URL_FILTERS=filters)

        assert line == "URL_FILTERS: more than one filter is named length"

    def test_a_name_server_that_does_not_answer(self, tmp_path, seeds):
        """If none of the name servers answers, the line names them."""
        line = refused(Crawl(tmp_path / "job", {"seeds": seeds}), DNS_NAMESERVERS="127.0.0.1:9")

        assert line == "no name server answers: 127.0.0.1:9"


class TestJobdir:
    @pytest.mark.parametrize("path", ["file", "file/below"])
    def test_a_file_in_the_way(self, tmp_path, seeds, path):
        """A JOBDIR that is a file, or below one, is refused."""
        (tmp_path / "file").touch()

        line = refused(Crawl(tmp_path / "job", {"seeds": seeds}, {"JOBDIR": tmp_path / path}))

        assert line.endswith(f"({tmp_path}/file is not a folder)")

    @pytest.mark.parametrize("name", ["bad\udcff", "esc\x1b[31m", "new\nline"])
    def test_a_strange_name(self, tmp_path, seeds, name):
        """Control characters, or bytes that are no UTF-8, are refused: no file, table or line could
        name the folder.
        """
        line = refused(Crawl(tmp_path / "job", {"seeds": seeds}, {"JOBDIR": tmp_path / name}))

        why = "must not contain control characters or invalid UTF-8"
        assert line == f"JOBDIR = {tmp_path}/{readable(name)}: {why}"

    @pytest.mark.skipif(
        not Path("/proc/self").exists(), reason="needs a file system that takes no folder"
    )
    def test_a_folder_that_cannot_be_made(self, tmp_path, seeds):
        """A JOBDIR that cannot be created is refused."""
        line = refused(Crawl(tmp_path / "job", {"seeds": seeds}, {"JOBDIR": "/proc/crawl"}))

        assert line.startswith("JOBDIR = /proc/crawl: cannot be created (")

    @pytest.mark.skipif(os.geteuid() == 0, reason="everything can be written to by root")
    def test_a_folder_that_cannot_be_written_to(self, tmp_path, seeds):
        """A JOBDIR without write permission is refused."""
        (tmp_path / "job").mkdir(mode=0o500)

        assert refused(Crawl(tmp_path / "job", {"seeds": seeds})).endswith("job: is not writable")

    def test_another_process(self, tmp_path, seeds):
        """A crawl that another process works on is refused."""
        state = tmp_path / "job" / "state"
        state.mkdir(parents=True)
        with (state / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)

            assert (
                refused(Crawl(tmp_path / "job", {"seeds": seeds}))
                == f"{state}: another process is using this crawl"
            )

    def test_a_foreign_file(self, tmp_path, seeds):
        """A foreign file in the crawl's place is refused, and left unchanged."""
        state = tmp_path / "job" / "state"
        state.mkdir(parents=True)
        (state / "crawl.db").write_bytes(b"my diary\n" * 100)

        line = refused(Crawl(tmp_path / "job", {"seeds": seeds}))

        assert line == f"{state}/crawl.db: damaged at byte 0: not a SQLite database"
        assert (state / "crawl.db").read_bytes() == b"my diary\n" * 100

    @pytest.mark.parametrize(
        ("spoil", "why"),
        [
            pytest.param(lambda path: path.write_bytes(b""), "not a SQLite database", id="empty"),
            pytest.param(
                lambda path: path.write_bytes(Random(1).randbytes(50_000)),
                "not a SQLite database",
                id="noise",
            ),
            pytest.param(
                lambda path: overwrite(path, 100), "malformed", id="noise behind its header"
            ),
            pytest.param(
                lambda path: os.truncate(path, 20_000), "the file ends early", id="truncated"
            ),
            pytest.param(lambda path: (path.unlink(), path.mkdir()), "not a file", id="folder"),
            pytest.param(lambda path: (path.unlink(), os.mkfifo(path)), "not a file", id="pipe"),
        ],
    )
    def test_a_database_that_cannot_be_read(self, tmp_path, seeds, spoil, why):
        """Whatever is in the place of crawl.db, the crawl does not start, in one line that names
        the file.
        """
        made = Crawl(tmp_path / "job", {"seeds": seeds})
        begin(tmp_path / "job", seeds)
        path = tmp_path / "job/state/crawl.db"
        spoil(path)

        line = refused(made)

        assert line.startswith(f"{path}: damaged at byte ")
        assert why in line

    @pytest.mark.parametrize("name", ["crawl.db", "crawl.db-wal", "lock"])
    def test_a_file_that_may_not_be_read(self, tmp_path, seeds, name):
        """A file of the state for which the permission is missing is named."""
        made = Crawl(tmp_path / "job", {"seeds": seeds})
        begin(tmp_path / "job", seeds)
        state = tmp_path / "job/state"
        (state / name).touch()
        (state / name).chmod(0)

        assert start(made, bound_by_permissions).wait() == 1
        (line,) = made.output.read_text().splitlines()
        assert str(state / name) in line
        assert "Permission denied" in line

    @pytest.mark.parametrize(
        "name", ["state", "state/lock", "state/seen", "logs", "logs/crawl.log"]
    )
    def test_something_else_in_the_way(self, tmp_path, seeds, name):
        """A file where a folder belongs, or a folder where a file belongs, is named."""
        path = tmp_path / "job" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if name.endswith(("lock", ".log")) else path.touch()

        line = told({"seeds": str(seeds)}, JOBDIR=str(tmp_path / "job"))

        assert str(path) in line
        assert re.search("Is a directory|Not a directory|File exists", line)

    def test_logs_without_their_state(self, tmp_path, seeds):
        """Where the state was removed and the logs were not, no new crawl empties them."""
        log = tmp_path / "job/logs/crawl.log"
        log.parent.mkdir(parents=True)
        log.write_text("a line\n")

        job = tmp_path / "job"
        line = told({"seeds": str(seeds)}, JOBDIR=str(job))

        assert line == (
            f"{job}/state/crawl.db: is missing, though the logs of a crawl are there: restore it "
            "from a copy, or use another JOBDIR"
        )
        assert log.read_text() == "a line\n"

    @pytest.mark.parametrize(
        "names", [["requests.queue/active.json"], ["requests.seen", "spider.state"]]
    )
    def test_a_crawl_of_plain_scrapy(self, tmp_path, seeds, names):
        """What it has queued and seen is not taken for a new crawl, and stays as it is, with
        --fresh too.
        """
        job = tmp_path / "job"
        for name in names:
            path = job / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("{}")
        before = tree(job)

        for again in (False, True):
            line = told({"seeds": str(seeds)}, again=again, JOBDIR=str(job))
            there = names[0].partition("/")[0]
            assert (
                line == f"{job}/{there}: belongs to a crawl by plain Scrapy, which only Scrapy can "
                "resume: use another JOBDIR"
            )
        assert tree(job) == before

    def test_a_crawl_that_began_beside_plain_scrapys(self, tmp_path, seeds):
        """It is resumed: it had this JOBDIR before that was refused."""
        begin(tmp_path / "job", seeds)
        (tmp_path / "job/requests.seen").touch()

        begin(tmp_path / "job", seeds)

    def test_a_crawl_of_another_version_is_refused(self, tmp_path, seeds):
        """A crawl of another version of this program is refused."""
        crawl = Crawl(tmp_path / "job", {"seeds": seeds})
        begin(tmp_path / "job", seeds)
        with closing(sqlite3.connect(tmp_path / "job/state/crawl.db", isolation_level=None)) as db:
            db.execute("PRAGMA user_version = 99")

        assert "written by a later webcrawl (version 99 of the state" in refused(crawl)

    def test_a_log_that_was_truncated(self, tmp_path, seeds):
        """An output file shorter than the last checkpoint noted is refused, with the place."""
        crawl = Crawl(
            tmp_path / "job",
            {"seeds": seeds},
            {"HOSTS_FILE": "/etc/hosts", "CLOSESPIDER_TIMEOUT": 0.2},
        )
        assert crawl.run() == 0
        change = "INSERT OR REPLACE INTO output VALUES ('logs/crawl.log', 1000000, 0, 0)"
        tampered(tmp_path / "job/state/crawl.db", change)

        line = refused(crawl)

        assert line.startswith(f"{tmp_path}/job/logs/crawl.log: damaged at byte ")


@pytest.mark.parametrize("again", [False, True])
def test_nothing_is_moved(tmp_path, seeds, again):
    """A name server that does not answer is noticed before a folder is made, or the crawl before is
    put aside.
    """
    job = tmp_path / "job"
    if again:
        (job / "state").mkdir(parents=True)
    before = tree(tmp_path)
    line = told({"seeds": str(seeds)}, again=again, JOBDIR=str(job), DNS_NAMESERVERS="127.0.0.1:9")

    assert line == "no name server answers: 127.0.0.1:9"
    assert tree(tmp_path) == before


def test_nothing_is_asked(tmp_path, simweb):
    """A refused crawl sends no request, even if its seeds and its name server are fine."""
    server = simweb(2, 4)
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
    crawl = Crawl(
        tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, {"DNS_NAMESERVERS": server.nameserver}
    )

    refused(crawl, FRONTIER_LEVELS=0)

    assert server.log.hits == []


def test_a_log_file_has_the_line_too(tmp_path):
    """If the log goes to a file, as under scrapyd, the line is written there too."""
    line = refused(
        Crawl(tmp_path / "job", {"seeds": "/no/such.txt"}), LOG_FILE=tmp_path / "job.log"
    )

    assert (tmp_path / "job.log").read_text() == f"{line}\n"


def test_a_log_file_that_cannot_be_opened(tmp_path):
    """A LOG_FILE that cannot be opened is refused like any impossible value."""
    (tmp_path / "seeds.txt").write_text("http://127.0.0.1/\n")
    log = tmp_path / "no/job.log"

    line = refused(Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}), LOG_FILE=log)

    assert (
        line
        == f"LOG_FILE = {log}: must be a file that can be written to (No such file or directory)"
    )


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("LOG_ENCODING", "none-such", "an encoding that Python knows, such as utf-8"),
        ("LOG_ENABLED", "yes", "one of true, false, 1, 0"),
        (
            "LOG_FORMAT",
            "%(nope)s",
            "a format of Python's logging, such as %(asctime)s %(levelname)s: %(message)s",
        ),
    ],
)
def test_other_settings_of_the_log(tmp_path, name, value, allowed):
    """What else Scrapy itself reads before it opens the log is refused in one line."""
    (tmp_path / "seeds.txt").write_text("http://127.0.0.1/\n")
    crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"})

    line = refused(crawl, LOG_FILE=tmp_path / "job.log", **{name: value})

    assert line == f"{name} = {value}: must be {allowed}"


def test_a_scheduler_that_is_not_there(tmp_path):
    """A SCHEDULER that cannot be imported is refused like any other component."""
    line = told(
        {"seeds": "http://127.0.0.1/"}, JOBDIR=tmp_path / "job", SCHEDULER="nowhere.Scheduler"
    )

    allowed = "the dotted path of a class in an existing module"
    assert (
        line
        == f"SCHEDULER = 'nowhere.Scheduler': must be {allowed} (nowhere.Scheduler: there is no such module)"
    )


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("SPIDER_MODULES", "nowhere.spiders", "there is no module nowhere"),
        ("SPIDER_LOADER_CLASS", "nowhere.Loader", "nowhere.Loader: there is no such module"),
    ],
)
def test_spiders_that_are_not_there(name, value, why):
    """A missing module of spiders, or of what finds them, is refused in one line."""
    with pytest.raises(CannotStart, match=rf"^{name} = '?{value}'?: .*{why}.*$"):
        spider_named(settings_of({name: value}), "web")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("LOG_FILE", "job/logs/crawl.log"),
            ("FEEDS", "job/stats.json"),
            ("FEEDS", "job/logs/../logs/links.log"),
        ),
        *(
            ("FEEDS", "job/tags.tsv"),
            ("LOG_FILE", "job/metrics.json"),
            ("LOG_FILE", "job/logs/url.trace"),
        ),
    ],
)
def test_files_of_the_crawls_own(tmp_path, name, value):
    """A log or feed in the place of a file that the crawl writes is refused: both would be in it."""
    (tmp_path / "seeds.txt").write_text("http://127.0.0.1/\n")
    path = f"{tmp_path}/{value}"
    given = {"FEEDS": {path: {"format": "json"}}} if name == "FEEDS" else {name: path}

    line = told({"seeds": f"{tmp_path}/seeds.txt"}, JOBDIR=tmp_path / "job", **given)

    shown = f"FEEDS: {path}" if name == "FEEDS" else f"{name} = {path}"
    assert line == f"{shown}: the crawl itself writes a file of this name; choose another one"
    assert not (tmp_path / "job/state").exists()


def test_another_reason_with_a_log_file_that_cannot_be_opened(tmp_path):
    """Whatever else is refused is one line on standard error, even if the log file cannot have it."""
    line = refused(
        Crawl(tmp_path / "job", {"seeds": "/no/such.txt"}), LOG_FILE=tmp_path / "no/job.log"
    )

    assert line == "/no/such.txt: No such file or directory"


def test_standard_output_stays_empty(tmp_path):
    """The line goes to standard error; standard output stays empty."""
    done = command("scrapy", "crawl", "web", "-s", f"JOBDIR={tmp_path / 'job'}")

    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr == "no seeds: give -a seeds= a file or a URL, or several separated by commas\n"
    )
