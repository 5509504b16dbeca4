"""`webcrawl hive`: one crawl by several processes, and its drones. `webcrawl ctl` gives all other orders.

Scrapy imports every command for any of them, in every project on the machine: what takes long is
imported later.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from webcrawl.base.errors import CannotStart
from webcrawl.base.program import ExitStatus, program
from webcrawl.base.readable import readable, text_without_credentials
from webcrawl.base.settings.setting_kinds import is_whole
from webcrawl.base.system import can_choose_cores
from webcrawl.crawl.control.command import NotRunning
from webcrawl.crawl.hive.errors import Away, HiveError
from webcrawl.crawl.hive.partition import MAX_DRONES
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import is_crawl
from webcrawl.tools.tool_command import (
    LOG_OPTIONS,
    SETTINGS_OPTION,
    CannotPrint,
    CommandGroup,
    ToolCommand,
    add_verbosity_options,
    print_error,
    print_line,
    print_text,
    usage_error,
)

if TYPE_CHECKING:
    from webcrawl.tools.supervisor.member_changes import SavedIdentity
    from webcrawl.tools.supervisor.servers import HiveTarget

RUN = "run"  # the member that runs if the command line names none


class HiveCommand(ToolCommand):
    """Base class of the members. Exit status 3 if the hive, or its server, is not running."""

    example: ClassVar[str]  # of a right command line
    status_without_server: ClassVar[ExitStatus] = ExitStatus.NOT_RUNNING
    default_settings: ClassVar[dict[str, Any]] = {}
    listed_options = SETTINGS_OPTION

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Carry the command out, and set the exit status by how it went."""
        try:
            self.exitcode = self.carry_out(args, opts)
        except Away as error:
            self._refuse(f"the hive's server is {error.state}: {error}", self.status_without_server)
        except NotRunning as error:
            self._refuse(str(error), ExitStatus.NOT_RUNNING)
        except (CannotStart, HiveError, CannotPrint) as error:
            self._refuse(str(error), ExitStatus.FAILED)
        except KeyboardInterrupt:
            self.exitcode = ExitStatus.INTERRUPTED

    def carry_out(self, args: list[str], opts: argparse.Namespace) -> int:
        """Do what the command says, and return the exit status.

        Raise UsageError, NotRunning, CannotStart or HiveError.
        """
        raise NotImplementedError

    def target(self, args: list[str]) -> HiveTarget:
        """Return the hive that the command line names. Raise UsageError if it names none."""
        from webcrawl.tools.supervisor.servers import HiveTarget  # noqa: PLC0415 - as above

        if len(args) != 1:
            raise usage_error(f"one hive: {program()} hive {self.example}")
        return HiveTarget(self.settings, args[0])

    def _refuse(self, why: str, status: ExitStatus) -> None:
        print_error(text_without_credentials(why))
        self.exitcode = status


class HiveRunning(HiveCommand):
    """Runs N drones, each of which is an ordinary `scrapy crawl`."""

    summary = "Run the crawl, or resume it (`run` may be left out)"
    usage = "SPIDER [-n N] -a seeds=SRC [options]"
    listed_options = SETTINGS_OPTION | LOG_OPTIONS
    status_without_server = ExitStatus.FAILED

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        _add_arguments(parser, "an argument of the spider, as for crawl (may be repeated)")
        _add_drones(parser, "how many processes; 0: one per core (default: as before, at first 0)")
        parser.add_argument("--pin-cpus", action="store_true", help="keep each drone on one core")
        add_verbosity_options(parser)

    def carry_out(self, args: list[str], opts: argparse.Namespace) -> int:
        """Run the hive to its end, and return its exit status."""
        if not args:
            raise usage_error(f"a spider: {program()} hive web -n 4 -a seeds=FILE")
        if len(args) > 1:
            raise usage_error(
                f"exactly one spider is needed: {program()} hive NAME -n N; orders go by "
                f"{program()} ctl JOBDIR"
            )
        from webcrawl.tools.supervisor.hive_run import HivePlan, HiveRun  # noqa: PLC0415 - as above

        if opts.pin_cpus and not can_choose_cores():
            raise CannotStart("--pin-cpus: this system keeps no process on a core")
        drones = 0
        if opts.drones is not None:
            drones = _number("-n", opts.drones, f"from 0 (one drone per core) to {MAX_DRONES}")
        plan = HivePlan(self.settings, args[0], _arguments(opts), drones)
        return HiveRun(self.settings, plan, pin=opts.pin_cpus).run()


class HiveStatus(HiveCommand):
    """Prints a line for each drone of a hive, running or not."""

    summary = "Show the drones of a hive"
    usage = "JOBDIR|URL [--json]"
    example = "status JOBDIR|URL"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def carry_out(self, args: list[str], opts: argparse.Namespace) -> int:
        """Print the drones; return DONE if the hive runs, else NOT_RUNNING."""
        from webcrawl.tools.supervisor.hive_status import RUNNING, status_rows, status_table  # noqa: PLC0415 - as above

        drones, common = status_rows(self.target(args))
        if not drones:
            raise CannotStart(
                f"{args[0]}: no drone of a hive named {common['name']} is known there"
            )
        if opts.json:
            print_text(f"{json.dumps({**common, 'drones': drones}, indent=1)}\n")
        else:
            print_text("".join(f"{readable(line)}\n" for line in status_table(drones, common)))
        return ExitStatus.DONE if common["state"] == RUNNING else ExitStatus.NOT_RUNNING


class HiveResize(HiveCommand):
    """Changes the number of drones, and waits until all slots are where they belong."""

    summary = "Change the number of drones of a running hive"
    usage = "JOBDIR|URL -n N"
    example = "resize JOBDIR|URL -n N"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        _add_drones(parser, "how many drones the hive is to have")

    def carry_out(self, args: list[str], opts: argparse.Namespace) -> int:
        from webcrawl.tools.supervisor.member_changes import resize  # noqa: PLC0415 - as above

        target = self.target(args)
        if opts.drones is None:
            raise usage_error(f"how many drones? {program()} hive resize JOBDIR|URL -n N")
        return resize(target, _number("-n", opts.drones, f"from 1 to {MAX_DRONES}"), print_line)


class HiveAdoption(HiveCommand):
    """Gives the part of a drone to the others.

    Without --jobdir or --lost the drone does it itself, wherever it runs.
    """

    summary = "Give the part of one drone to the others"
    usage = "JOBDIR|URL --drone K [options]"
    example = "adopt JOBDIR|URL --drone K"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options that name the drone and the way in which its part is given away."""
        super().add_options(parser)
        parser.add_argument("--drone", metavar="K", help="the drone that is to stop crawling")
        parser.add_argument(
            "--jobdir", metavar="PATH", help="where its folder is now: it is run here once more"
        )
        parser.add_argument(
            "--lost", action="store_true", help="its folder is lost: say what that means"
        )
        parser.add_argument("--yes", action="store_true", help="with --lost: give it up")
        parser.add_argument(
            "--now", action="store_true", help="with --lost: though it may still run"
        )
        _add_arguments(parser, "with --jobdir: an argument of the spider (may be repeated)")

    def carry_out(self, args: list[str], opts: argparse.Namespace) -> int:
        """Give the part of the drone away, in the way that the options name."""
        from webcrawl.tools.supervisor.member_changes import (  # noqa: PLC0415 - as above
            adopt,
            adopt_lost,
            adopted_drone_command,
            give_up,
        )

        target = self.target(args)
        if opts.drone is None:
            raise usage_error(
                f"which drone? {program()} hive adopt JOBDIR|URL --drone K, with --jobdir PATH or --lost"
            )
        if opts.lost and opts.jobdir:
            raise usage_error("--lost, --jobdir: a drone whose JOBDIR is there is not lost")
        drone = _number("--drone", opts.drone, f"from 0 to {MAX_DRONES - 1}")
        if opts.lost:
            return adopt_lost(target, drone, print_line, sure=opts.yes, now=opts.now)
        if not opts.jobdir:  # the drone runs, or is started elsewhere
            return give_up(target, drone, print_line)
        identity = _identity_in(Path(opts.jobdir))
        words = adopted_drone_command(self.settings, target, drone, opts.jobdir, _arguments(opts))
        return adopt(target, drone, identity, words, print_line)


class Command(CommandGroup):
    """`webcrawl hive web -n N -a seeds=SRC` runs a hive; a command after `hive` asks or changes it."""

    name = "hive"
    summary = "Run one crawl on several processes or machines"
    default_settings: ClassVar[dict[str, Any]] = {}
    members = {  # noqa: RUF012 - a constant of the class
        RUN: HiveRunning,
        "status": HiveStatus,
        "resize": HiveResize,
        "adopt": HiveAdoption,
    }

    def syntax(self) -> str:
        return f"""SPIDER [-n N] -a seeds=SRC [options]
       {program()} hive {super().syntax()}"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add -h, -q, -v and Scrapy's options, and make a parser of the members.

        `process_options` uses that parser: the name of a member may be left out, and options may
        stand before it, so that argparse's own subparsers cannot read the command line.
        """
        self._parser = argparse.ArgumentParser(
            prog=program(),
            usage=f"{program()} hive {self.syntax()}",
            description=f"{self.summary}. Pause, stop and exclude by `{program()} ctl JOBDIR`, as for one crawl.",
            formatter_class=parser.formatter_class,
            conflict_handler="resolve",
        )
        self.add_members(self._parser)
        ToolCommand.add_options(self, parser)
        add_verbosity_options(parser)
        parser.add_argument(
            "-h", "--help", action="store_true", help="explain this command, or one of its own"
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Read the options of the member, which is `run` if the command line names none."""
        has_member = len(args) > 0 and args[0] in self.members
        words = [*args] if has_member else [RUN, *args]
        if opts.help:
            words = [*words, "-h"] if args else ["-h"]
        options_of_member, args[:] = self._parser.parse_known_args(words)
        options = vars(opts)
        for name, value in vars(options_of_member).items():
            options.setdefault(name, value)
        super().process_options(args, opts)


def _add_arguments(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "-a", dest="spargs", action="append", default=[], metavar="NAME=VALUE", help=what
    )


def _arguments(opts: argparse.Namespace) -> dict[str, str]:
    """Return the arguments of the spider. Raise UsageError for a wrong -a."""
    from scrapy.utils.conf import arglist_to_dict  # noqa: PLC0415 - as above

    try:
        return arglist_to_dict(opts.spargs)
    except ValueError as error:
        raise usage_error("Invalid -a value, use -a NAME=VALUE") from error


def _add_drones(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("-n", "--drones", metavar="N", help=what)


def _identity_in(jobdir: Path) -> SavedIdentity:
    """Return the identity of the drone in a folder. Raise CannotStart if it cannot be read."""
    from webcrawl.crawl.hive.member import IDENTITY, KEY, unpack_identity  # noqa: PLC0415
    from webcrawl.store.jobdir.snapshot import Snapshot  # noqa: PLC0415
    from webcrawl.tools.supervisor.member_changes import SavedIdentity  # noqa: PLC0415

    if not is_crawl(jobdir):  # an empty state would give nothing away
        raise CannotStart(f"--jobdir {jobdir}: no crawl has begun there")
    try:
        with Snapshot(jobdir / "state") as snapshot:
            return SavedIdentity(jobdir, unpack_identity(snapshot.get(IDENTITY)), snapshot.get(KEY))
    except (StoreError, OSError) as error:
        raise CannotStart(f"--jobdir {jobdir}: {error}") from error


def _number(option: str, text: str, allowed: str) -> int:
    """Return a number of drones. Raise CannotStart, which says what is `allowed`."""
    if not is_whole(text, 0, MAX_DRONES):
        raise CannotStart(f"{option} {text}: must be a whole number {allowed}")
    return int(text)
