"""`scrapy hive`: many drones as one command, with stand-ins for the drones."""

import json
import os
import re
import signal
from contextlib import closing, suppress
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.support.crawling import Crawl, wait_until
from tests.support.fake_hives import FakeHive, gone
from tests.support.hive_members import Members
from tests.support.served_hives import checkpoint
from webcrawl.base.readable import readable
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder
from webcrawl.crawl.hive.member import KEY, take_identity
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.crawl.hive.redis_server.embedded_server import EmbeddedServer
from webcrawl.store.crawldb import CrawlDB


@pytest.fixture(name="hive")
def _hive(tmp_path):
    (tmp_path / "seeds.txt").write_text("http://site0.test/\n")
    return FakeHive(tmp_path / "job", tmp_path / "seeds.txt")


def of(words, option):
    """What the options of this kind say."""
    return dict(value.split("=", 1) for name, value in pairwise(words) if name == option)


class TestStart:
    def test_each_drone_is_a_crawl(self, hive):
        """Each drone gets the operator's settings and arguments, and a folder, a number and a
        server of the hive.
        """
        for number in range(2):
            hive.script(number, "finish")

        done = hive.run(
            "-n",
            2,
            "-a",
            "limit=5",
            "-L",
            "DEBUG",
            USER_AGENT="x/1 (+http://x.test/)",
            LOG_FILE=hive.jobdir / "log",
        )

        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        for number in range(2):
            words = hive.drone_words(number)
            assert words[0] == "web"
            assert of(words, "-a") == {"seeds": str(hive.seeds), "limit": "5"}
            assert of(words, "-s") == {
                "JOBDIR": f"{hive.jobdir}/drone-{number}",
                "USER_AGENT": "x/1 (+http://x.test/)",
                "LOG_ENABLED": "True",
                "LOG_LEVEL": "DEBUG",
                "LOG_FILE": "",
                "STOPPED_STATUS": "0",
                "HIVE_DRONES": "2",
                "HIVE_DRONE": str(number),
                "HIVE_NAME": "web",
                "HIVE_PARTITION": "domain",
                "REDIS_URL": f"unix://{hive.jobdir}/server/valkey.sock",
            }

    def test_an_earlier_crawl_without_a_capture(self, hive, tmp_path):
        """What no drone could begin from is refused once, in one line, before any drone is started."""
        (tmp_path / "jan.cdxj").write_text("no line of an index\n")
        done = hive.run("-n", 2, "-a", f"since={tmp_path}/jan.cdxj")

        assert done.returncode == 1
        assert (
            done.stderr == f"-a since: {tmp_path}/jan.cdxj contain no captures, so there is "
            "nothing to compare with\n"
        )
        assert not list(hive.jobdir.glob("logs/drone-*"))

    def test_a_server_of_the_operators(self, hive, tmp_path):
        """A server that the settings name is the drones' server; none is started."""
        hive.script(0, "finish")
        server = EmbeddedServer(tmp_path / "server")
        server.start()

        done = hive.run("-n", 1, REDIS_URL=server.url)

        server.stop()
        assert done.returncode == 0, done.stderr
        assert of(hive.drone_words(0), "-s")["REDIS_URL"] == server.url
        assert not (hive.jobdir / "server").exists()

    @pytest.mark.parametrize("is_earlier", [False, True])
    def test_a_change_that_has_not_ended(self, hive, is_earlier):
        """It continues by the order in the checkpoints, though an earlier version had it in
        hive.json alone.
        """
        for number in range(2):
            hive.script(number, "wait")
        folder, order = HiveFolder(hive.jobdir), (7, (0,), ())
        founding = Founding("web", "web", "domain", 2, (0, 1))
        folder.write(replace(founding, wanted=(0,)) if is_earlier else founding)
        for number in range(2):
            checkpoint(folder, number, SlotMap.fair(range(2)), *[order][is_earlier:])
        process = hive.start()
        hive.wait_for(2)
        process.send_signal(signal.SIGTERM)

        said = process.ended()
        assert "resumed by 2 drones with 0 pages; the change to 1 drone continues" in said
        assert (folder.read_checkpoints().order.members, folder.founding().wanted) == ({0}, ())

    def test_a_drone_that_was_given_up(self, hive):
        """It is not started, though the map of the checkpoints has it."""
        folder = HiveFolder(hive.jobdir)
        hive.script(0, "finish")
        folder.write(Founding("web", "web", "domain", 2, (0, 1)))
        checkpoint(folder, 0, SlotMap.fair(range(2)), (7, (0,), (1,)))

        assert hive.run().returncode == 0
        assert not folder.drone(1).exists()

    def test_one_per_core(self, hive):
        """Without a number, or with 0, there is one drone per usable core."""
        cores = os.sched_getaffinity(0)
        for number in range(len(cores)):
            hive.script(number, "finish")

        assert hive.run("-n", 0).returncode == 0
        assert json.loads((hive.jobdir / "hive.json").read_text())["drones"] == list(
            range(len(cores))
        )

    def test_pinned(self, hive):
        """With --pin-cpus each drone may run on one core only."""
        hive.script(0, "wait")
        process = hive.start("-n", 1, "--pin-cpus")
        hive.wait_for(1)
        drone = hive.runs(0)[0]
        wait_until(lambda: len(os.sched_getaffinity(drone)) == 1)  # soon after it has begun
        process.send_signal(signal.SIGTERM)

        process.ended()

    def test_what_drones_print(self, hive):
        """It is in a file for each drone; warnings are shown with a drone's number, once for all."""
        for number in range(2):
            hive.script(number, "finish")

        said = hive.run("-n", 2).stderr

        assert (
            len(re.findall(r"WARNING: drone [01]: \[webcrawl.somewhere\] all is not well\n", said))
            == 1
        )
        assert "a word to the operator" not in said
        assert "a word to the operator" in hive.log(0)

    def test_the_end(self, hive):
        """The last lines and stats.json are those of a crawl, of all drones together."""
        for number in range(3):
            hive.script(number, "finish")

        done = hive.run("-n", 3)

        assert done.returncode == 0
        first, left, place, report = done.stderr.splitlines()[-4:]
        assert "21 pages in " in first
        assert "; 6 URLs queued, 3 failures" in first
        assert left.endswith("6 URLs of 9 hosts left; run the same command to resume")
        assert place.endswith(f"everything is in {hive.jobdir}")
        assert report.endswith(f"report {hive.jobdir}")
        assert json.loads((hive.jobdir / "stats.json").read_text())["pages"] == 21


@pytest.mark.campaign
class TestEnds:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_one_signal(self, hive, number):
        """Ctrl-C, SIGTERM, or a terminal that goes away end all drones cleanly, with exit status 0."""
        for drone in range(2):
            hive.script(drone, "wait")
        process = hive.start("-n", 2)
        hive.wait_for(2)
        process.send_signal(number)

        said = process.ended()

        assert process.returncode == 0, said
        assert said.count("14 pages") == 1

    def test_checkpoints(self, hive):
        """SIGUSR1 is passed on to the drones, and ends nobody who is about to end."""
        hive.script(0, "wait")
        process = hive.start("-n", 1)
        hive.wait_for(1)
        # again and again: none is heard while a drone is being started, which is not over when the
        # drone speaks
        wait_until(
            lambda: process.send_signal(signal.SIGUSR1) or "\ncheckpoint\n" in hive.log(0),
            pause=0.1,
        )
        process.send_signal(signal.SIGTERM)
        with suppress(ProcessLookupError):
            wait_until(
                lambda: process.send_signal(signal.SIGUSR1) or process.returncode is not None,
                pause=0.001,
            )

        said = process.ended()
        assert process.returncode == 0, said

    def test_a_supervisor_that_is_killed(self, hive):
        """Drones whose supervisor is gone end cleanly by themselves; the next one waits for them,
        and goes on.
        """
        for number in range(2):
            hive.script(number, "wait", "finish")
        process = hive.start("-n", 2)
        hive.wait_for(2)
        process.send_signal(signal.SIGKILL)
        process.ended()

        wait_until(lambda: all(gone(hive.runs(number)[0]) for number in range(2)))
        done = hive.run()

        assert done.returncode == 0
        assert "resumed by 2 drones with 14 pages" in done.stderr

    def test_the_folder_is_moved(self, hive):
        """The drones end, and so does the hive with status 1: it makes no folder anew, nor counts
        what is elsewhere.
        """
        for number in range(2):
            hive.script(number, "wait")
        process = hive.start("-n", 2)
        hive.wait_for(2)
        hive.jobdir.rename(hive.jobdir.with_name("moved"))
        said = process.ended()

        assert process.returncode == 1
        assert said.endswith(
            f"{hive.jobdir} was moved or removed; its drones have everything up to their last checkpoints\n"
        )
        assert " pages in " not in said
        assert not hive.jobdir.exists()


@pytest.mark.parametrize(("script", "status"), [("limit", 75), ("finish", 0)])
def test_a_status_of_its_own_for_a_stopped_hive(hive, script, status):
    """STOPPED_STATUS is the exit status of the hive; its drones end with 0, so that none is restarted."""
    hive.script(0, script)

    assert hive.run("-n", 1, STOPPED_STATUS=75).returncode == status
    assert hive.runs(0)[1:] == []


@pytest.mark.parametrize(
    ("scripts", "then"),
    [
        (["limit", "limit"], ": run the same command to resume"),
        (["last-page", "limit"], ": run the same command to resume"),
        (["last-page", "last-page"], ", with nothing left to do"),
    ],
)
def test_whether_anything_is_left(hive, scripts, then):
    """A hive that a limit has stopped is said to be resumed unless no drone has anything to do."""
    for number, script in enumerate(scripts):
        hive.script(number, script)

    assert f"stopped by CLOSESPIDER_PAGECOUNT{then}\n" in hive.run("-n", 2).stderr


def test_a_drone_that_cannot_start(hive):
    """A drone that exits three times ends the hive with its last lines, whatever it was last run.

    What stopped an earlier run is not said to have stopped this one.
    """
    hive.script(0, "limit", "refuse")
    assert "stopped by CLOSESPIDER_PAGECOUNT" in hive.run("-n", 1).stderr

    done = hive.run()

    assert done.returncode == 1
    assert "drone 0 ended soon after its start 3 times in a row" in done.stderr
    assert "drone 0: SETTING = 1: must be 2\n" in done.stderr
    assert "stopped by" not in done.stderr


class TestRefusals:
    def refused(self, hive, *words, **settings):
        """The only line."""
        done = hive.run(*words, **settings)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
        assert not list(hive.jobdir.glob("drone-*/runs"))
        return done.stderr.rstrip("\n")

    @pytest.mark.parametrize("number", ["-1", "65536", "two", "1.5", "", "٣"])
    def test_no_number_of_drones(self, hive, number):
        """-n must be a whole number that a hive can have."""
        line = self.refused(hive, "-n", number)

        assert line == f"-n {number}: must be a whole number from 0 (one drone per core) to 65535"

    def test_what_a_crawl_refuses(self, hive):
        """Whatever keeps a crawl from starting keeps a hive from starting, before any drone is
        started.
        """
        line = self.refused(hive, "-n", 2, FRONTIER_LEVELS="eight")

        assert line == "FRONTIER_LEVELS = 'eight': must be a whole number from 1 to 1000"
        assert not (hive.jobdir / "hive.json").exists()

    @pytest.mark.parametrize(
        ("seeds", "settings"),
        [
            ("nowhere.txt", {}),
            (None, {"FRONTIER_LEVELS": "eight"}),
            (None, {"DNS_NAMESERVERS": "127.0.0.1:9"}),
            (None, {"REDIS_URL": "redis://127.0.0.1:1/0"}),
            (None, {"LOG_FILE": "/nowhere/hive.log"}),
        ],
    )
    def test_nothing_is_left(self, hive, tmp_path, seeds, settings):
        """A start that is refused leaves no folder, so that the next one may be anybody's."""
        hive.seeds = tmp_path / seeds if seeds else hive.seeds
        self.refused(hive, "-n", 2, **settings)

        assert not hive.jobdir.exists()

    @pytest.mark.parametrize(
        "name", ["logs/drone-0.log", "drone-1/logs/crawl.log", "hive.json", "server/own.log"]
    )
    def test_the_log_of_a_drone(self, hive, name):
        """A log in the place of a file that the hive writes is refused: lines of a drone would come
        back for ever.
        """
        line = self.refused(hive, "-n", 2, LOG_FILE=hive.jobdir / name)

        assert (
            line
            == f"LOG_FILE = {hive.jobdir / name}: the crawl itself writes a file of this name; "
            "choose another one"
        )

    @pytest.mark.parametrize("name", ["bad\udcff", "new\nline"])
    def test_a_strange_name(self, hive, tmp_path, name):
        """A JOBDIR by which nothing could be named is refused as for a crawl, before a server is
        started in it.
        """
        hive.jobdir = tmp_path / name
        line = self.refused(hive, "-n", 2)

        assert line.startswith(
            f"JOBDIR = {tmp_path}/{readable(name)}: must not contain control characters "
        )
        assert not hive.jobdir.exists()

    def test_what_was_there_stays(self, hive):
        """A start that is refused takes away nothing that was in its folder before."""
        (hive.jobdir / "drone-0/logs").mkdir(parents=True)
        (hive.jobdir / "mine.txt").write_text("mine")
        self.refused(hive, "-n", 2, DNS_NAMESERVERS="127.0.0.1:9")

        assert {path.name for path in hive.jobdir.iterdir()} == {"drone-0", "mine.txt", "lock"}

    def test_drones_that_were_refused(self, hive):
        """A hive whose drones were all refused, for its name perhaps, may be founded in another
        way.
        """
        hive.jobdir.mkdir()
        folder = HiveFolder(hive.jobdir)
        folder.write(Founding("web", "web", "domain", 2, (0, 1)))
        for number in range(3):
            hive.script(number, "finish")
            with closing(CrawlDB(folder.drone(number) / "state")) as db:
                take_identity(db, "web", number)

        assert hive.run("-n", 3, HIVE_NAME="other").returncode == 0
        assert (folder.founding().name, folder.founding().drones) == ("other", (0, 1, 2))

    def test_a_drone_that_was_never_let_in(self, tmp_path):
        """The state of a drone that no hive has let in may become that of another hive's; any other
        may not.
        """
        with closing(CrawlDB(tmp_path / "state")) as db:
            first = take_identity(db, "web", 1)
            second = take_identity(db, "other", 1)
            db.set(KEY, b"key")
            with pytest.raises(
                HiveError, match="belongs to drone 1 of the hive other, not to drone 1 of web"
            ):
                take_identity(db, "web", 1)

        assert (second.name, second.run, second.id != first.id) == ("other", 1, True)

    def test_no_seeds(self, hive):
        """Seeds are needed."""
        hive.seeds = ""

        assert self.refused(hive, "-n", 2).startswith("no seeds: ")

    @pytest.mark.parametrize(
        ("settings", "line"),
        [
            ({"HIVE_DRONES": 3}, "-s HIVE_DRONES=3: use -n to set the number of drones"),
            ({"HIVE_DRONE": 1}, "-s HIVE_DRONE=1: each drone gets its own number"),
            (
                {"FEEDS": '{"x.json": {"format": "json"}}'},
                "FEEDS: all drones would write into the same file: ",
            ),
            (
                {"SCHEDULER": "scrapy.core.scheduler.Scheduler"},
                "SCHEDULER = 'scrapy.core.scheduler.Scheduler': a hive needs ",
            ),
        ],
    )
    def test_settings_of_a_single_crawl(self, hive, settings, line):
        """What the hive sets itself, or drones cannot share, is refused."""
        assert self.refused(hive, "-n", 2, **settings).startswith(line)

    def test_the_folder_of_a_crawl(self, hive):
        """A hive does not go into the folder of a single crawl."""
        (hive.jobdir / "state").mkdir(parents=True)

        line = self.refused(hive, "-n", 2)

        assert line == (
            f"{hive.jobdir}: holds the crawl of a single process, or of one drone; give the JOBDIR of "
            "the hive or the URL of its server, or another JOBDIR for a new hive"
        )

    def test_a_crawl_in_the_folder_of_a_hive(self, hive):
        """Nor does a crawl into the folder of a hive."""
        hive.script(0, "finish")
        hive.run("-n", 1)
        crawl = Crawl(hive.jobdir, {"seeds": hive.seeds})

        assert crawl.run() == 1
        assert crawl.output.read_text() == (
            f"{hive.jobdir}: holds a hive: resume it by the command `scrapy hive …` that started it, "
            "or use another JOBDIR\n"
        )

    def test_two_in_one_folder(self, hive):
        """A hive that runs is not started again."""
        hive.script(0, "wait")
        process = hive.start("-n", 1)
        hive.wait_for(1)
        done = hive.run("-n", 1)
        process.send_signal(signal.SIGTERM)

        process.ended()
        assert (done.returncode, done.stderr) == (
            1,
            f"{hive.jobdir}: another process runs this hive\n",
        )

    @pytest.mark.parametrize(
        ("words", "settings", "why"),
        [
            (
                ["-n", 3],
                {},
                "has 2 drones: start it without -n, then run `scrapy hive resize {} -n 3`",
            ),
            ([], {"HIVE_NAME": "other"}, "HIVE_NAME = other: {} was founded with web"),
            ([], {"HIVE_PARTITION": "host"}, "HIVE_PARTITION = host: {} was founded with domain"),
        ],
    )
    def test_another_hive_than_it_was(self, hive, words, settings, why):
        """What a hive was founded with stays."""
        for number in range(2):
            hive.script(number, "finish")
        assert hive.run("-n", 2).returncode == 0

        done = hive.run(*words, **settings)

        assert done.returncode == 1
        assert done.stderr.rstrip("\n").endswith(why.format(hive.jobdir))

    def test_hive_json_is_missing(self, hive):
        """Drones that are there are not left out because nobody knows of them: their number has to
        be said.
        """
        for number in (0, 2):
            (hive.jobdir / f"drone-{number}/state").mkdir(parents=True)
            hive.script(number, "finish")

        assert hive.run("-n", 1).stderr == (
            f"{hive.jobdir}: hive.json is missing, but the folder holds 2 drones: give -n 2 so "
            "that none is left out\n"
        )
        assert hive.run("-n", 2).returncode == 0
        assert of(hive.drone_words(2), "-s")["HIVE_DRONES"] == "3"

    def test_it_goes_on_with_what_it_was(self, hive):
        """What it was founded with need not be said again."""
        for number in range(2):
            hive.script(number, "finish")
        hive.run("-n", 2, HIVE_NAME="mine", HIVE_PARTITION="host")

        assert hive.run().returncode == 0
        given = of(hive.drone_words(1), "-s")
        assert (given["HIVE_NAME"], given["HIVE_PARTITION"], given["HIVE_DRONES"]) == (
            "mine",
            "host",
            "2",
        )

    @pytest.mark.parametrize(
        ("content", "why"),
        [
            ("{", "damaged: "),
            ("[]", "damaged: it is not a JSON object"),
            ('{"version": 2}', "has version 2, but this program reads version 1"),
            ('{"version": 1}', "damaged: Object missing required field `name`"),
        ],
    )
    def test_a_file_that_is_damaged(self, hive, content, why):
        """A hive.json that cannot be read is named with the reason."""
        hive.jobdir.mkdir()
        (hive.jobdir / "hive.json").write_text(content)

        assert self.refused(hive).startswith(f"{hive.jobdir}/hive.json: {why}")

    @pytest.mark.parametrize("name", ["hive.json", "logs/drone-1.log", "server/valkey.log"])
    def test_a_pipe_where_a_file_should_be(self, hive, name):
        """It is named, and nobody waits for whoever might read it or write into it."""
        (hive.jobdir / name).parent.mkdir(parents=True)
        os.mkfifo(hive.jobdir / name)

        assert self.refused(hive, "-n", 2) == f"{hive.jobdir / name}: it is not a regular file"

    def test_another_hive_of_the_name(self, hive, tmp_path):
        """A hive is not founded beside one of its name, nor are that one's drones told anything;
        nothing is left.
        """
        server = EmbeddedServer(tmp_path / "server")
        server.start()
        try:
            with Members(server.url, 2) as members:
                line = self.refused(hive, "-n", 2, REDIS_URL=server.url)
                found = hive.jobdir.exists()
                HiveFolder(hive.jobdir).lock().close()
                HiveFolder(hive.jobdir).write(
                    Founding("web", "web", "domain", 3, (0, 1), lost=(2,))
                )
                again = self.refused(hive, REDIS_URL=server.url)
        finally:
            server.stop()

        where = "(drone 0 in /crawl/drone-0 on kiwi)"
        assert (
            line
            == again
            == f"the server already has another hive named web {where}: set a different HIVE_NAME; a hive that has "
            "begun keeps its name, and needs another server or database in REDIS_URL"
        )
        assert (found, members.commands) == (False, [])

    def test_a_server_that_is_not_there(self, hive):
        """A server that does not answer is named, without its password."""
        line = self.refused(hive, "-n", 2, REDIS_URL="redis://me:secret@127.0.0.1:1/0")

        assert line.startswith("REDIS_URL = redis://127.0.0.1:1/0: ")


@pytest.mark.parametrize(
    ("scripts", "named"), [(("finish", "empty"), ["1"]), (("finish", "finish"), [])]
)
def test_a_drone_that_has_fetched_nothing(tmp_path, scripts, named):
    """The drone is named, and the log that says why; one with pages is not."""
    (tmp_path / "seeds.txt").write_text("http://site0.test/\n")
    hive = FakeHive(tmp_path / "job", tmp_path / "seeds.txt")
    for number, word in enumerate(scripts):
        hive.script(number, word)
    process = hive.start("-n", 2)
    said = process.ended()

    assert process.returncode == 0
    assert (
        re.findall(r"drone (\d) has fetched nothing: .*logs/drone-\1\.log$", said, re.MULTILINE)
        == named
    )
