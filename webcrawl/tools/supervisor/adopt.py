"""`scrapy hive adopt`: what becomes of a drone that shall not crawl any more, or cannot."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from scrapy.settings import BaseSettings

from webcrawl.base.errors import CannotStart
from webcrawl.base.own_process import environment
from webcrawl.base.readable import count
from webcrawl.crawl.hive.drone_identity import Identity
from webcrawl.crawl.hive.hive_folder import FINISHED, Founding, HiveFolder
from webcrawl.crawl.hive.operator import Look
from webcrawl.crawl.hive.process import guarded, release
from webcrawl.store.jobdir import stats_file
from webcrawl.store.lock import is_held
from webcrawl.tools.supervisor.hive_orders import LOOKS, check_given_up, give_up, must_run, one_look, others
from webcrawl.tools.supervisor.plan import command, given_by_command
from webcrawl.tools.supervisor.servers import DEFAULT, Target

ALIVE = "was alive within HIVE_LEASE seconds; without"


def adopt_lost(target: Target, drone: int, say: Callable[[str], Any], *, sure: bool) -> int:
    """The drone's state is gone: says what is lost, and gives its part of the web to the others if that is wanted."""
    if target.folder is not None and not target.folder.supervised:
        return _adopt_later(target.folder, drone, say, sure=sure)
    for line in _losses(one_look(target), drone):
        say(line)
    _say_what_follows(say)
    if not sure:
        say("nothing was changed: repeat the command with --yes to give it up")
        return 1
    return give_up(target, drone, say, lost=(drone,))


def _adopt_later(folder: HiveFolder, drone: int, say: Callable[[str], Any], *, sure: bool) -> int:
    """Adopts what is lost of a hive that does not run: its drones hear of it when they are started."""
    lock = folder.lock()
    try:
        if drone not in folder.known().drones:
            raise CannotStart(f"--drone {drone}: no member of this hive")
        _without(folder.known(), drone)
        figures = folder.figures(drone)
        queued, pages = (int(figures.get(name, 0)) for name in ("queued", "pages"))
        known = f"{count(queued, 'URL')} queued, {count(pages, 'page')}" if figures else "its URLs, its pages"
        say(f"lost with the state of drone {drone} are {known},")
        say("what it has seen, and links for others that they had not got")
        _say_what_follows(say)
        if not sure:
            say("nothing was changed: repeat the command with --yes to give it up")
            return 1
        _, after = folder.change(lambda now: _without(now, drone))
        left = count(len(after.wanted or after.drones), "drone")
        say(f"the others take over its hosts when the hive is started, with {left}")
        return 0
    finally:
        lock.close()


def _without(founding: Founding, drone: int) -> Founding:
    """A change of the number of drones that has not ended goes on."""
    wanted = others(drone, founding.wanted) if founding.wanted else ()
    lost = tuple(sorted({*founding.lost, drone}))
    return replace(founding, drones=others(drone, founding.drones), lost=lost, wanted=wanted)


def _say_what_follows(say: Callable[[str], Any]) -> None:
    say("pages of these hosts are fetched again when somebody links to them or a seed names them;")
    say("the other drones send their unacknowledged links again, and seeds are read from the beginning")


@dataclass(frozen=True, slots=True)
class Found:
    """The identity in a JOBDIR, as of its last checkpoint: a drone's identity, or None, and the key of its hive."""

    jobdir: Path
    identity: Identity | None
    key: bytes | None


def adopt(target: Target, drone: int, found: Found, words: Sequence[str], say: Callable[[str], Any]) -> int:
    """Runs the drone here, until the others have all that it had. `words` start it on its JOBDIR.

    Nobody is told anything before the folder has proved to be this drone's, and the hive has let the drone in.
    """
    must_run(target)
    look = one_look(target)
    check_given_up(look, drone)
    _check_folder(target.name, look, drone, found)
    before = stats_file.read(found.jobdir)
    drone_words = guarded(words, signal.SIGTERM)
    with subprocess.Popen(drone_words, stdin=subprocess.PIPE, env=environment()) as process:  # noqa: S603 - this program

        def still() -> None:
            """One that was stopped ends with status 0, too; one whose store is away with 1, though nothing is left."""
            status = process.poll()
            if status is not None:
                end = stats_file.read(found.jobdir)
                if end == before or end.get("reason") != FINISHED:
                    _refuse(drone, status)

        try:
            say(f"waiting for drone {drone}, which is started")
            while (status := process.poll()) is None and drone not in one_look(target).leases:
                time.sleep(LOOKS)
            if status is not None:
                _refuse(drone, status)
            give_up(target, drone, say, still=still)
        except BaseException:
            process.terminate()
            raise
        finally:
            process.wait()
            release(process)
        return process.returncode


def _refuse(drone: int, status: int) -> NoReturn:
    raise CannotStart(f"drone {drone} ended with exit status {status} before all was given away: repeat the command")


def _check_folder(name: str, look: Look, drone: int, found: Found) -> None:
    """CannotStart unless this is the JOBDIR of this drone, and nobody runs it."""
    told, report, its = f"--jobdir {found.jobdir}", look.reports.get(drone), found.identity
    if its is None:
        raise CannotStart(f"{told}: holds a crawl of its own, and is not drone {drone} of the hive {name}")
    if (its.name, its.drone) != (name, drone):
        raise CannotStart(f"{told}: is drone {its.drone} of the hive {its.name}, not drone {drone} of {name}")
    if found.key and look.key and found.key != look.key:
        raise CannotStart(f"{told}: belongs to another hive of the name {name}")
    if report is not None and report.identity != its.id:
        where = f"{report.jobdir} on {report.host}"
        raise CannotStart(f"{told}: drone {drone} of this hive has its state in another folder, {where}")
    if drone in look.leases:
        raise CannotStart(f"--drone {drone}: it {ALIVE} --jobdir it gives away what it has")
    if is_held(found.jobdir / "state"):
        raise CannotStart(f"{told}: another process is using it")


def drone_command(
    settings: BaseSettings, target: Target, drone: int, jobdir: str, arguments: Mapping[str, str]
) -> list[str]:
    """Starts a drone on a JOBDIR that is at hand; the spider is the hive's, or else `web`."""
    found = one_look(target)
    given = {
        **given_by_command(settings),
        "JOBDIR": jobdir,
        "HIVE_DRONES": str(max(found.founders, drone + 1)),
        "HIVE_DRONE": str(drone),
        "HIVE_NAME": target.name,
        **({"HIVE_PARTITION": target.founding.partition} if target.founding else {}),
        **({"REDIS_URL": target.url()} if target.url() else {}),
    }
    return command(target.founding.spider if target.founding else DEFAULT, arguments, given)


def _losses(look: Look, drone: int) -> Iterator[str]:
    if drone in look.leases:
        raise CannotStart(f"--drone {drone}: it {ALIVE} --lost it gives away what it has")
    if look.map is None or drone not in look.map.drones:
        raise CannotStart(f"--drone {drone}: no member of this hive")
    slots = len(look.map.owned(drone))
    yield f"drone {drone} owns {slots} of {len(look.map.owners)} parts of the web; lost with its state are"
    report = look.reports.get(drone)
    if report is None:
        yield "  its URLs queued, what it has seen, and its archive: how many, the server does not know"
    else:
        figures = report.figures
        queued = count(int(figures.get("queued", 0)), "URL")
        yield f"  {queued} queued for {count(int(figures.get('hosts', 0)), 'host')}"
        yield f"  {count(int(figures.get('pages', 0)), 'page')} in its archive, {report.jobdir} on {report.host}"
        yield f"  {count(report.unacknowledged, 'letter')} of links for others"
