"""`webcrawl identity`: makes the key, its directory, and a page on the crawler; checks them."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from webcrawl.base.program import program
from webcrawl.tools.tool_command import (
    SETTINGS_OPTION,
    CommandGroup,
    ToolCommand,
    print_line,
    print_text,
    usage_error,
    whole_number,
)

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from webcrawl.net.identity.identity_page import Network, Who
    from webcrawl.net.identity.signature_check import Finding
    from webcrawl.net.identity.signing_key import SigningKey

MAX_DAYS = 365
MAX_LOOKUP_SECONDS = 60.0  # for the names of all addresses together
ADDRESSES_HELP = "where the crawl comes from, such as 192.0.2.0/28"


class IdentityCommand(ToolCommand):
    """Base class of the members. Exit status 1, with a line for each fault, if something is wrong."""

    name: ClassVar[str]

    def wrong_usage(self) -> Exception:
        """Return the error for a wrong command line, to be raised by the caller."""
        return usage_error(f"{program()} identity {self.name} {self.usage}")

    def only_argument(self, args: list[str]) -> str:
        """Return the only argument. Raise UsageError if there is none, or more than one."""
        if len(args) != 1 or not args[0]:
            raise self.wrong_usage()
        return args[0]


class NewKey(IdentityCommand):
    """Makes an Ed25519 key that its owner alone can read."""

    name = "new"
    summary = "Make a key"
    usage = "FILE"

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Make a key, unless the file exists."""
        del opts
        name = self.only_argument(args)
        from webcrawl.net.identity.signing_key import SigningKey  # noqa: PLC0415 - Scrapy imports every command for any

        try:
            key = SigningKey.new(Path(name))
        except FileExistsError:
            self.fail(f"{name}: already exists; a key is never overwritten")
        except OSError as error:
            self.fail(f"{name}: {error.strerror or error}")
        else:
            print_line(f"{name}: Ed25519 key {key.keyid}, readable only by its owner")


class KeyDirectory(IdentityCommand):
    """Writes the directory, and the header fields to serve it with."""

    name = "directory"
    summary = "Make the signed directory of keys that a web server is to publish"
    usage = "--key FILE [--key NEXT] --agent https://ORIGIN -o DIR [--days 30]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add --key, --agent, --days and -o."""
        super().add_options(parser)
        parser.add_argument(
            "--key", metavar="FILE", action="append", help="a key; repeat it with the next one"
        )
        parser.add_argument("--agent", metavar="ORIGIN", help="the https origin, as in BOT_AGENT")
        parser.add_argument(
            "--days",
            metavar="N",
            default="30",
            help="how long the signatures are valid (default: %(default)s)",
        )
        parser.add_argument("-o", metavar="DIR", help="the folder to write to")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Sign the directory with each key, and write it with its header fields."""
        has_all_options = all((opts.key, opts.agent, opts.o))
        if args or not has_all_options:
            raise self.wrong_usage()
        days = whole_number("--days", opts.days, 1, MAX_DAYS)
        folder = Path(opts.o)
        agent = _agent_origin(opts.agent)
        from webcrawl.base.dates import iso  # noqa: PLC0415 - as above
        from webcrawl.net.identity import key_directory as directory  # noqa: PLC0415 - as above

        keys = [key for key in map(self._read_key, opts.key) if key is not None]
        if len(keys) < len(opts.key):  # the faults are printed
            return
        if len({key.keyid for key in keys}) < len(keys):
            self.fail("--key: the same key is given twice")
            return
        created = int(time.time()) - directory.SIGNED_BEFORE_NOW
        content = directory.body(keys)
        fields = directory.headers(content, keys, directory.authority_of(agent), created, days)
        try:
            directory.write(folder, content, fields)
        except OSError as error:
            self.fail(f"{error.filename or folder}: {error.strerror or error}")
            return
        print_line(f"{folder / directory.PATH[1:]}: {', '.join(key.keyid for key in keys)}")
        print_line(
            f"{folder / directory.HEADERS}, {folder / directory.NGINX}: fields of the response, for a web server"
        )
        print_line(
            f"signed for {agent} until {iso(created + days * directory.DAY, fraction=False)}: run this command "
            "again before then"
        )

    def _read_key(self, name: str) -> SigningKey | None:
        """Return the key in a file, or None after printing why it cannot be read."""
        from webcrawl.net.identity.signing_key import BadKey, SigningKey  # noqa: PLC0415 - as above

        try:
            return SigningKey.read(name)
        except BadKey as error:
            self.fail(f"{name}: {error}")
        except OSError as error:
            self.fail(f"{name}: {error.strerror or error}")
        return None


class IdentityCheck(IdentityCommand):
    """Prints a line for each finding."""

    name = "verify"
    summary = (
        "Check a published directory, a request signed by its keys, the names of our addresses"
    )
    usage = "URL|FILE|DIR [--agent https://ORIGIN] [--request FILE] [--addresses NETWORKS]"
    listed_options = SETTINGS_OPTION

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--agent", metavar="ORIGIN", help="the https origin, as in BOT_AGENT")
        parser.add_argument(
            "--request", metavar="FILE", help="a request as bytes, to be checked with these keys"
        )
        parser.add_argument("--addresses", metavar="NETWORKS", help=ADDRESSES_HELP)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check the directory, then a request and the addresses if options name them."""
        place = self.only_argument(args)
        from webcrawl.net.identity.key_directory import NotPublished  # noqa: PLC0415 - as above
        from webcrawl.net.identity.signature_check import (  # noqa: PLC0415 - as above
            Unreadable,
            check_request,
            look,
        )
        from webcrawl.store.disk import regular  # noqa: PLC0415 - as above

        now = time.time()
        try:
            agent = _agent_origin(opts.agent) if opts.agent else ""
            keys, findings = look(place, agent, now)
            self._print(findings)
            if opts.request:
                with regular(opts.request) as file:
                    self._print(check_request(file.read(), keys, now))
            self._check_names(_networks(opts.addresses))
        except (NotPublished, Unreadable) as error:
            self.fail(str(error))
        except OSError as error:
            self.fail(f"{error.filename or place}: {error.strerror or error}")

    def _check_names(self, networks: Sequence[Network]) -> None:
        """Check that each of the crawl's addresses has a name, and the name leads back to it."""
        from webcrawl.crawl.checks import SettingError, read  # noqa: PLC0415 - as above
        from webcrawl.net.errors import DnsFailed  # noqa: PLC0415 - as above

        if not networks:
            return
        try:
            servers = read("DNS_NAMESERVERS", self.settings.get("DNS_NAMESERVERS", []))
            faults = asyncio.run(_name_faults(networks, servers))
        except TimeoutError:
            self.fail(
                "--addresses: the name servers were too slow, so the names of the addresses "
                "were not checked"
            )
        except (DnsFailed, SettingError) as error:
            self.fail(f"--addresses: {error}")
        else:
            for fault in faults:
                self.fail(f"--addresses: {fault}")

    def _print(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            if finding.wrong:
                self.fail(finding.text)
            else:
                print_line(finding.text)


class IdentityPage(IdentityCommand):
    """Prints the page, or writes it with a file of the addresses beside it."""

    name = "page"
    summary = "Make the page that says who crawls, for the address in USER_AGENT"
    usage = "[-o FILE] [--reason TEXT] [--addresses NETWORKS]"
    listed_options = SETTINGS_OPTION

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-o", metavar="FILE", help="where to write it (default: print it)")
        parser.add_argument("--reason", metavar="TEXT", default="", help="what the crawl is for")
        parser.add_argument("--addresses", metavar="NETWORKS", help=ADDRESSES_HELP)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Print the page, or write it with the list of addresses beside it."""
        if args:
            raise self.wrong_usage()
        from webcrawl.crawl.checks import SettingError  # noqa: PLC0415 - as above
        from webcrawl.net.identity.identity_page import (  # noqa: PLC0415 - as above
            ADDRESSES,
            listed,
            page,
        )

        try:
            identity = crawler_identity(self.settings, opts.reason, _networks(opts.addresses))
            now = time.time()
            text = page(identity, now)
            if not opts.o:
                print_text(text)
                return
            Path(opts.o).write_text(text, encoding="utf-8")
            print_line(f"{opts.o}: publish it at the address in USER_AGENT")
            if identity.networks:
                place = Path(opts.o).with_name(ADDRESSES)
                place.write_text(listed(identity.networks, now), encoding="utf-8")
                print_line(f"{place}: publish it next to that page")
        except SettingError as error:
            self.fail(str(error))
        except OSError as error:
            self.fail(f"{error.filename or opts.o}: {error.strerror or error}")


class Command(CommandGroup):
    """`webcrawl identity`: docs/site-owners-operator.md has examples."""

    name = "identity"
    summary = "Make the crawler's key, its directory and the page that says who crawls; check them"
    members = {  # noqa: RUF012 - a constant of the class
        "new": NewKey,
        "directory": KeyDirectory,
        "verify": IdentityCheck,
        "page": IdentityPage,
    }


def _agent_origin(origin: str) -> str:
    """Return the https origin of --agent in its canonical form. Raise UsageError if it is none."""
    from webcrawl.crawl.checks import SettingError, read  # noqa: PLC0415 - as above
    from webcrawl.net.identity.request_signing import form_and_origin  # noqa: PLC0415 - as above

    try:
        agent = read("BOT_AGENT", origin)
    except SettingError as error:
        raise usage_error(str(error).replace("BOT_AGENT =", "--agent")) from error
    if agent is None:
        raise usage_error(f"--agent {origin}: an https origin is needed")
    return form_and_origin(agent)[1]


def _networks(text: str | None) -> Sequence[Network]:
    """Return the networks of --addresses. Raise UsageError if the text names none."""
    from webcrawl.crawl.checks.places import Networks  # noqa: PLC0415 - as above

    try:
        return Networks().read(text or "")
    except ValueError as error:
        raise usage_error(f"--addresses {text}: must be {Networks.allowed} ({error})") from error


async def _name_faults(
    networks: Sequence[Network], servers: Sequence[tuple[str, int]]
) -> list[str]:
    """Return what is wrong with the names of the addresses.

    Raise TimeoutError after MAX_LOOKUP_SECONDS, DnsFailed if no name server answers.
    """
    from webcrawl.net.dns_cares import ReverseNames  # noqa: PLC0415 - as above
    from webcrawl.net.identity.identity_page import misfits  # noqa: PLC0415 - as above

    names = ReverseNames(servers)
    try:
        async with asyncio.timeout(MAX_LOOKUP_SECONDS):
            return await misfits(networks, names)
    finally:
        names.close()


EXAMPLE_DOWNLOAD_SECONDS = (0.1, 1.0, 10.0)  # for which the page gives the waits


def crawler_identity(settings: BaseSettings, reason: str, networks: Sequence[Network] = ()) -> Who:
    """Return what the page tells of the crawler. Raise SettingError for an impossible setting.

    BOT_KEY is not read: the page may be made on a machine that does not have the key.
    """
    from webcrawl import settings as defaults  # noqa: PLC0415 - Scrapy imports every command for any
    from webcrawl.base.loading import load  # noqa: PLC0415 - as above
    from webcrawl.crawl.checks import read  # noqa: PLC0415 - as above
    from webcrawl.net.identity.identity_page import Who  # noqa: PLC0415 - as above
    from webcrawl.net.identity.request_signing import form_and_origin  # noqa: PLC0415 - as above
    from webcrawl.net.robots import product_token  # noqa: PLC0415 - as above

    def value(name: str) -> Any:
        return read(name, settings[name] if name in settings else getattr(defaults, name))

    delays = (
        value("POLITENESS_FACTOR"),
        value("POLITENESS_MIN_DELAY"),
        value("POLITENESS_MAX_DELAY"),
    )
    policy = load(value("POLITENESS_POLICY"))(*delays)
    return Who(
        name=product_token(settings["ROBOTSTXT_USER_AGENT"] or value("USER_AGENT")),
        user_agent=value("USER_AGENT"),
        contact=value("BOT_FROM"),
        why=reason,
        purposes=value("PURPOSE"),
        waits=[(seconds, round(policy.wait([seconds]), 1)) for seconds in EXAMPLE_DOWNLOAD_SECONDS],
        several=sorted(value("HOST_CONNECTIONS").items()),
        obeys=value("ROBOTSTXT_OBEY"),
        crawl_delay_max=value("CRAWL_DELAY_MAX"),
        retry_after_max=value("RETRY_AFTER_MAX"),
        agent=form_and_origin(value("BOT_AGENT") or "")[1] or None,
        networks=networks,
    )
