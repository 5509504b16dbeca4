"""`scrapy hive`: one crawl on all cores, and its drones. `scrapy ctl` gives all other orders.

Scrapy imports every command for any of them, in every project on the machine: what takes long is
imported later.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import BaseRunSpiderCommand, ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from scrapy.utils.conf import arglist_to_dict

from webcrawl.adapter.given_settings import given_words
from webcrawl.base.errors import CannotStart
from webcrawl.base.program import INTERRUPTED, name_program, program
from webcrawl.base.readable import readable, text_without_credentials
from webcrawl.base.settings.setting_kinds import is_whole
from webcrawl.crawl.hive.errors import Away, HiveError
from webcrawl.crawl.hive.partition import MOST_DRONES
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import is_crawl
from webcrawl.tools.tool_command import CannotPrint, complain, say, say_all

if TYPE_CHECKING:
    from webcrawl.tools.supervisor.changes import FoundIdentity

COMMANDS = f"""SPIDER [-n N] -a seeds=SRC [options]
       {program()} hive status|resize|adopt JOBDIR|URL [options]"""


class Command(BaseRunSpiderCommand):
    """`scrapy hive web -n N -a seeds=SRC`: N drones, each an ordinary `scrapy crawl`."""

    requires_project = False
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {}

    def syntax(self) -> str:
        return COMMANDS

    def short_desc(self) -> str:
        return "Crawl with many processes that share the web among them"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        ScrapyCommand.add_options(self, parser)
        name_program(parser, self)
        parser.add_argument(
            "-a",
            dest="spargs",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="as for crawl",
        )
        parser.add_argument(
            "-n", dest="drones", metavar="N", help="how many drones; 0: one per core, as at first"
        )
        parser.add_argument("--pin", action="store_true", help="keep each drone on one core")
        parser.add_argument("--json", action="store_true", help="status: as JSON")
        parser.add_argument(
            "--drone", metavar="K", help="adopt: the drone that shall not crawl any more"
        )
        parser.add_argument(
            "--jobdir",
            metavar="PATH",
            help="adopt: where its JOBDIR is now; it is run here once more",
        )
        parser.add_argument(
            "--lost", action="store_true", help="adopt: its JOBDIR is lost; says what that means"
        )
        parser.add_argument("--yes", action="store_true", help="adopt: with --lost, give it up")
        parser.add_argument(
            "--now", action="store_true", help="adopt: with --lost, though it may still fetch"
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        opts.set[:] = given_words(self.settings, opts.set)
        ScrapyCommand.process_options(self, args, opts)
        try:
            opts.spargs = arglist_to_dict(opts.spargs)
        except ValueError as error:
            raise UsageError("Invalid -a value, use -a NAME=VALUE", print_help=False) from error

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        unknown = next((word for word in args if word.startswith("-")), "")
        if not args or unknown:
            raise UsageError(
                f"unknown option {unknown}" if args else "which spider, or which hive?",
                print_help=False,
            )
        name, *rest = args
        try:
            if name in ONE_HIVE:
                if len(rest) != 1:
                    more = " -n N" if name == "resize" else ""
                    raise UsageError(
                        f"one hive: {program()} hive {name} JOBDIR|URL{more}", print_help=False
                    )
                self.exitcode = ONE_HIVE[name](self._settings, rest[0], opts)
            elif rest:
                raise UsageError(
                    f"exactly one spider is needed: {program()} hive NAME -n N; orders go by {program()} ctl",
                    print_help=False,
                )
            else:
                self.exitcode = _crawl(self._settings, name, opts)
        except Away as error:
            self._refuse(f"the hive's server is {error.state}: {error}")
        except (CannotStart, HiveError, CannotPrint) as error:
            self._refuse(str(error))
        except KeyboardInterrupt:
            self.exitcode = INTERRUPTED

    @property
    def _settings(self) -> Settings:
        assert self.settings is not None  # noqa: S101 - Scrapy sets them before it asks for anything
        return self.settings

    def _refuse(self, why: str) -> None:
        complain(text_without_credentials(why))
        self.exitcode = 1


def _crawl(settings: Settings, spider: str, opts: argparse.Namespace) -> int:
    from webcrawl.tools.supervisor.hive_run import HivePlan, HiveRun  # noqa: PLC0415 - as above

    if opts.pin and not hasattr(os, "sched_setaffinity"):
        raise CannotStart("--pin: this system keeps no process on a core")
    wanted = (
        0
        if opts.drones is None
        else _number("-n", opts.drones, f"from 0 (one drone per core) to {MOST_DRONES}")
    )
    return HiveRun(settings, HivePlan(settings, spider, opts.spargs, wanted), pin=opts.pin).run()


def _status(settings: Settings, hive: str, opts: argparse.Namespace) -> int:
    from webcrawl.tools.supervisor.hive_status import rows, table  # noqa: PLC0415
    from webcrawl.tools.supervisor.servers import HiveTarget  # noqa: PLC0415

    found, common = rows(HiveTarget(settings, hive))
    if not found:
        raise CannotStart(f"{hive}: no drone of a hive named {common['name']} is known there")
    if opts.json:
        say_all(f"{json.dumps({**common, 'drones': found}, indent=1)}\n")
    else:
        say_all("".join(f"{readable(line)}\n" for line in table(found, common)))
    return 0


def _resize(settings: Settings, hive: str, opts: argparse.Namespace) -> int:
    from webcrawl.tools.supervisor.changes import resize  # noqa: PLC0415
    from webcrawl.tools.supervisor.servers import HiveTarget  # noqa: PLC0415

    if opts.drones is None:
        raise CannotStart(f"how many drones? {program()} hive resize JOBDIR|URL -n N")
    return resize(
        HiveTarget(settings, hive), _number("-n", opts.drones, f"from 1 to {MOST_DRONES}"), say
    )


def _adopt(settings: Settings, hive: str, opts: argparse.Namespace) -> int:
    from webcrawl.tools.supervisor.changes import adopt, adopt_lost, drone_command, give_up  # noqa: PLC0415
    from webcrawl.tools.supervisor.servers import HiveTarget  # noqa: PLC0415

    if opts.drone is None:
        raise CannotStart(
            f"which drone? {program()} hive adopt JOBDIR|URL --drone K, with --jobdir PATH or --lost"
        )
    if opts.lost and opts.jobdir:
        raise CannotStart("--lost, --jobdir: a drone whose JOBDIR is there is not lost")
    drone = _number("--drone", opts.drone, f"from 0 to {MOST_DRONES - 1}")
    target = HiveTarget(settings, hive)
    if opts.lost:
        return adopt_lost(target, drone, say, sure=opts.yes, now=opts.now)
    if not opts.jobdir:  # it runs, or is started elsewhere
        return give_up(target, drone, say)
    found = _found(Path(opts.jobdir))
    words = drone_command(settings, target, drone, opts.jobdir, opts.spargs)
    return adopt(target, drone, found, words, say)


def _found(jobdir: Path) -> FoundIdentity:
    from webcrawl.crawl.hive.member import IDENTITY, KEY, unpacked  # noqa: PLC0415
    from webcrawl.store.jobdir.snapshot import Snapshot  # noqa: PLC0415
    from webcrawl.tools.supervisor.changes import FoundIdentity  # noqa: PLC0415

    if not is_crawl(jobdir):  # an empty state would give nothing away
        raise CannotStart(f"--jobdir {jobdir}: no crawl has begun there")
    try:
        with Snapshot(jobdir / "state") as snapshot:
            return FoundIdentity(jobdir, unpacked(snapshot.get(IDENTITY)), snapshot.get(KEY))
    except (StoreError, OSError) as error:
        raise CannotStart(f"--jobdir {jobdir}: {error}") from error


ONE_HIVE = {"status": _status, "resize": _resize, "adopt": _adopt}


def _number(option: str, text: str, allowed: str) -> int:
    if not is_whole(text, 0, MOST_DRONES):
        raise CannotStart(f"{option} {text}: must be a whole number {allowed}")
    return int(text)
