"""The crawl that is tortured, and what must be true of it in the end, whatever it suffered."""

import re
import shutil
from collections import Counter
from dataclasses import dataclass, field
from functools import partial

from tests.support.crashes import sound
from tests.support.crawling import Crawl
from tests.support.snapshots import snapshot_of
from tests.torture.fault import NOTHING
from tests.torture.injection import install
from tests.torture.process import suffer
from webcrawl.lab.simweb import truth, wait_until_idle

HOSTS, PAGES = 5, 24
MIX = {"duplicate": 0.1, "redirect_301": 0.1, "status_404": 0.1, "https": 0.5}
# A host is given up at its first failure: whatever it is charged with, though it did nothing, costs
# its pages.
SETTINGS = {
    "CHECKPOINT_INTERVAL": 0.1,
    "POLITENESS_FACTOR": 0,
    "WARC_MAX_SIZE": 1,
    "CONCURRENT_REQUESTS": 4,
    "DNS_TIMEOUT": 5,
    "DOWNLOAD_TIMEOUT": 5,
    "HOST_MAX_FAILURES": 1,
    "HOST_PATIENCE": 0,
    "MIN_FREE_DISK": 1,
}
TRACEBACK = "Traceback (most recent call last)"


@dataclass
class Verdict:
    """What became of one crawl: `wrong` is a bug, `untidy` a message that is no single line."""

    status: int | None = 0
    happened: bool = True
    wrong: list[str] = field(default_factory=list)
    untidy: list[str] = field(default_factory=list)
    said: str = ""


class Subject:
    """A small web, and a crawl of it, as often as asked for."""

    def __init__(self, simweb, folder, *, pages=PAGES, latency=0.01, **settings):
        self.server = simweb(HOSTS, pages, mix=MIX, size=(2000, 3000), latency=latency)
        self.folder = folder
        (folder / "seeds.txt").write_text("\n".join(self.server.world.seeds()))
        # an archive's index that is gone for good, which is then the truth
        self.taken = lambda: None
        self._settings = {"DNS_NAMESERVERS": self.server.nameserver, **SETTINGS, **settings}
        self.found = self._whole()

    def crawl(self, name="job"):
        return Crawl(self.folder / name, {"seeds": self.folder / "seeds.txt"}, self._settings)

    def _whole(self):
        """A crawl that suffers nothing: how often each call occurs in it, and what it must all be
        like.
        """
        crawl, notes = self.crawl("whole"), self.folder / "calls"
        status = suffer(crawl, install, NOTHING, notes)
        assert status == 0, crawl.output.read_text()[-2000:]
        self.expected, self.ends = sound(crawl.jobdir), ends(crawl.jobdir)
        assert (
            self.expected.logged.keys() == truth(self.server.world, self.server.world.seeds()).must
        )
        return Counter(notes.read_text().splitlines())

    def suffer(self, case):
        """Crawls with a Fault, Limit, Stroke or Dropped; then, unless that has ended well, once
        more without.
        """
        return getattr(self, f"_{type(case).__name__.lower()}")(case)

    def _fault(self, fault):
        notes = self.folder / "happened"
        verdict = self._tried(install, fault, notes)
        verdict.happened = notes.exists() and bool(notes.read_text())
        return verdict

    def _limit(self, limit):
        return self._tried(limit.impose)

    def _stroke(self, stroke):
        self.taken = lambda: stroke.index
        verdict = self._tried(
            None,
            meanwhile=stroke.strike,
            afterwards=stroke.undo,
            spoilt=stroke.how != "moved",
            archive=not stroke.takes_archive,
        )
        verdict.happened = stroke.path is not None
        self.taken = lambda: None
        return verdict

    def _dropped(self, dropped):
        """A robots.txt that is not answered has a line of its own, and is requested again."""
        undo, expected = dropped.patch(), self.ends
        self.ends = expected + Counter({(url, "-3"): 1 for url, _ in expected if rules(url)})
        try:
            return self._tried(None)
        finally:
            undo()
            self.ends = expected

    def _tried(
        self,
        prepare,
        *arguments,
        meanwhile=None,
        afterwards=lambda: None,
        spoilt=False,
        archive=True,
    ):
        """`spoilt`: something is gone for good, so the crawl need not be resumable; but then it has
        to say so.

        Without `archive`, what it said may have been that a part of the archive is gone.
        """
        crawl, verdict = self.crawl(), Verdict()
        shutil.rmtree(crawl.jobdir, ignore_errors=True)
        watch = partial(meanwhile, self.server, crawl) if meanwhile else None
        verdict.status = suffer(crawl, prepare, *arguments, meanwhile=watch)
        wait_until_idle(self.server)
        self._judge_end(crawl, verdict)
        afterwards()
        if verdict.status != 0:
            if not spoilt:
                self._checked(crawl, verdict, "left")
            status = suffer(crawl, None)
            said = crawl.output.read_text(errors="replace")
            if status != 0 and not (spoilt and status == 1 and said):
                verdict.wrong.append(f"resumed: status {status}: {last(crawl)}")
            if status != 0 and TRACEBACK in said:
                verdict.untidy.append(f"resumed: traceback: {last(crawl)}")
            if status != 0:
                return verdict
        self._judge_result(crawl, verdict, archive=archive or verdict.status == 0)
        return verdict

    def _judge_end(self, crawl, verdict):
        verdict.said = crawl.output.read_text(errors="replace") if crawl.output.exists() else ""
        if verdict.status is None:
            stacks = crawl.output.with_name(f"{crawl.output.name}.stacks").read_text()
            verdict.said += stacks
            verdict.wrong.append(f"hangs: {where(stacks)}; {last(crawl)}")
        elif verdict.status < 0:
            verdict.untidy.append(f"dies of signal {-verdict.status}: {last(crawl)}")
        elif verdict.status and not verdict.said.strip():
            verdict.wrong.append(f"status {verdict.status} without a word")
        if TRACEBACK in verdict.said and verdict.status is not None:
            verdict.untidy.append(f"traceback, status {verdict.status}: {last(crawl)}")

    def _judge_result(self, crawl, verdict, *, archive=True):
        """All that is in the log and in the archive is what it is in a crawl that suffered nothing."""
        found = self._checked(crawl, verdict, "ended", archive=archive)
        lines = ends(crawl.jobdir)
        had = {url for url, _ in lines}
        wrong = {
            "lost": [url for url, _ in self.ends if url not in had],
            "charged": sorted(lines.keys() - self.ends.keys()),
        }
        if found is not None:
            missing = self.expected.archived.keys() - found.archived.keys()
            wrong["not archived"] = sorted(missing & had) if archive else []
            wrong["archived twice"] = [
                url for url, count in found.archived.items() if count > 1 and not rules(url)
            ]
        for what, urls in wrong.items():
            if urls:
                end = (
                    "exit status 0" if verdict.status == 0 else f"status {verdict.status}, resumed"
                )
                verdict.wrong.append(f"{what}, {end}: {len(urls)}: {urls[:2]}")

    def _checked(self, crawl, verdict, when, *, archive=True):
        if not crawl.jobdir.exists():  # it could not even begin
            return None
        try:
            if (crawl.jobdir / "state/crawl.db").exists():
                return sound(crawl.jobdir, archive=archive, taken=self.taken())
            return snapshot_of(crawl.jobdir, archive=archive)
        except Exception as error:  # noqa: BLE001 - whatever the readers stumble over
            verdict.wrong.append(f"{when} damaged: {type(error).__name__}: {str(error)[:300]}")
            return None


def ends(jobdir):
    """How often each URL ended with which status, robots.txt included."""
    log = jobdir / "logs/crawl.log"
    lines = (line.split() for line in log.read_text().splitlines()) if log.exists() else ()
    return Counter((words[3], words[1]) for words in lines)


def rules(url):
    """Whether this is a robots.txt: it is requested again after a day, as the clock has it."""
    return url.endswith("/robots.txt")


def last(crawl):
    """The most telling line of its last words."""
    lines = [line.strip() for line in crawl.output.read_text(errors="replace").splitlines()]
    for pattern in (r"\] (CRITICAL|ERROR)", r"^\S*(Error|Exception)\b", r"."):
        found = [line for line in lines if re.search(pattern, line)]
        if found:
            return found[-1][:250]
    return "nothing"


def where(stacks):
    """The innermost line of each thread that is in webcrawl's code."""
    found = re.findall(r'File "[^"]*/(webcrawl/[^"]+)", line (\d+) in (\w+)', stacks)
    return (
        ", ".join(dict.fromkeys(f"{path}:{line} {name}" for path, line, name in found))
        or "no stack"
    )
