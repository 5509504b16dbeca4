"""`webcrawl crawl URL|FILE… [options]`: the command line as settings and arguments of a spider.

`-s` and `-a` can set all that the options set, and more. A value that is set in both ways is
refused, because it is not clear which one was meant.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Container, Sequence
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from webcrawl.crawl.default_jobdir import folder_name

# A name with a dot, an address, or localhost, perhaps with a port and a path. A name without a dot
# is a host if a port follows: `intranet:8080`.
_HOST_PATTERN = re.compile(
    r"((localhost|\[[0-9a-f:.]+\]|[\w-]+(\.[\w-]+)+)(:\d+)?|[\w-]+:\d+)(/\S*)?", re.IGNORECASE
)
_BROKEN_URL_PATTERN = re.compile(r"(https?|ftp|gopher)(:|//)", re.IGNORECASE)
_SEED_LIST_PATTERN = re.compile(r".+\.(txt|csv)(\.gz|\.zip)?|.+\.(gz|zip)", re.IGNORECASE)
_SPIDER_OPTIONS = ("scope", "limit", "since")  # options that are arguments of the spider `web`
_SETTING_BY_OPTION = {
    "outputs": "OUTPUTS",
    "user_agent": "USER_AGENT",
    "max_pages": "CLOSESPIDER_PAGECOUNT",
    "delay": "POLITENESS_MIN_DELAY",
}
_OPTIONS = (
    "--delay",
    "--fresh",
    "--limit",
    "--max-pages",
    "--output",
    "--outputs",
    "--quiet",
    "--scope",
    "--set",
    "--since",
    "--user-agent",
    "--verbose",
)
# For options of wget, curl, HTTrack and other crawlers: what to type instead
INSTEAD: dict[str, str] = {
    name: line
    for names, line in {
        "-r --recursive -m --mirror": "the whole host of a URL is crawled without it",
        "-l --level --depth --max-depth --depth-limit": "-s URL_MAX_DEPTH=N",
        "-w --wait --sleep --crawl-delay --random-wait": "--delay S",
        "-P -d --dir --directory --directory-prefix --folder --jobdir --output-dir": "-o DIR",
        "-U -A --agent --ua --useragent": "--user-agent TEXT",
        "-i -f --file --input --input-file --seed --seed-file --seeds --url --urls": (
            "name the file or URL alone, without an option"
        ),
        "-c --continue --resume": "run the same command again, which resumes the crawl",
        "-p --page-requisites --assets --images": "-s REQUISITES=1",
        "-H --span-hosts --external": "--scope any",
        "-D --domain --domains --allowed-domains": "--scope domain, or -s URL_INCLUDE=…",
        "-np --no-parent --include --accept -I": "-s URL_INCLUDE=…",
        "-X -R --exclude --reject --ignore": "-s URL_EXCLUDE_FILE=FILE",
        "-j -t --concurrency --jobs --parallel --threads": "-s CONCURRENT_REQUESTS=N",
        "-n --drones --processes --workers": "a crawl by several processes: webcrawl hive web -n N -a seeds=FILE",
        "--bandwidth --limit-rate --rate": "-s BANDWIDTH_MAX=500kB",
        "-Q --quota --max-size": "-s CLOSESPIDER_BYTES=20GB",
        "-T --timeout": "-s DOWNLOAD_TIMEOUT=S",
        "--duration --max-time --time-limit": "-s CLOSESPIDER_TIMEOUT=S",
        "--again --clean --force --new --overwrite --restart": "--fresh",
        "--max --pages --page-limit --pageLimit": "--max-pages N",
        "--warc --warc-file --cdx --warc-cdx": "--outputs warc,cdxj, which is the default",
        "--browser --javascript --js --render": "-s RENDER=auto",
        "-e --ignore-robots --no-robots": "-s ROBOTSTXT_OBEY=0, for a site of your own",
        "-b --background --daemon": "nohup, or a service: docs/deploy.md",
    }.items()
    for name in names.split()
}


class StartArguments(NamedTuple):
    """The URLs and seed lists that the command line names in place of a spider."""

    urls: list[str]
    files: list[str]

    @property
    def seeds(self) -> str:
        """Return the argument `seeds` of the spider `web`. A comma in a URL is escaped."""
        return ",".join([*(url.replace(",", "%2C") for url in self.urls), *self.files])

    @property
    def folder(self) -> str:
        """Return the default JOBDIR: the first host or file, and the number of others, as crawls/a+2."""
        hosts = list(dict.fromkeys(map(_folder_part_of, self.urls)))
        names = [*hosts, *(_name_of_list(file) for file in self.files)]
        others = f"+{len(names) - 1}" if len(names) > 1 else ""
        return f"crawls/{names[0]}{others}"


def start_of(args: Sequence[str], is_spider: Callable[[str], bool]) -> StartArguments | None:
    """Return the URLs and files to crawl from, or None if the command line names a spider.

    Raise UsageError if it has other words beside URLs or files.
    """
    urls: list[str] = []
    files: list[str] = []
    others: list[str] = []
    for arg in args:
        match _kind_of(arg, is_spider):
            case _ArgumentKind.URL:
                urls.append(arg)
            case _ArgumentKind.HOST:
                urls.append(f"http://{arg}")
            case _ArgumentKind.FILE:
                files.append(arg)
            case _ArgumentKind.OTHER:
                if _BROKEN_URL_PATTERN.match(arg):
                    line = f"{arg}: is not a URL: write :// behind its scheme"
                    raise UsageError(line, print_help=False)
                others.append(arg)
    if not (urls or files):
        return None
    if others:
        raise UsageError(_refusal(others), print_help=False)
    return StartArguments(urls, files)


class _ArgumentKind(Enum):
    URL = "a URL"
    HOST = "the name of a host, which stands for its front page"
    FILE = "a list of seeds"
    OTHER = "a spider, an option, or a mistake"


def _kind_of(arg: str, is_spider: Callable[[str], bool]) -> _ArgumentKind:
    """Return what a word of the command line is."""
    if "://" in arg:
        return _ArgumentKind.URL
    # First, so that `scrapy crawl SPIDER` keeps its meaning even if a file or host has that name
    if is_spider(arg):
        return _ArgumentKind.OTHER
    # Before hosts: `seeds.txt` has the form of one, but a missing file of that name must be refused
    if _SEED_LIST_PATTERN.fullmatch(arg) or Path(arg).is_file():
        return _ArgumentKind.FILE
    if _HOST_PATTERN.fullmatch(arg):
        return _ArgumentKind.HOST
    return _ArgumentKind.OTHER


def _refusal(others: Sequence[str]) -> str:
    """Return the message for words beside URLs and files: for an option, if there is one."""
    option = next((arg for arg in others if arg.startswith("-")), "")
    return unknown_option(option) if option else _unknown_word(others[0])


def _folder_part_of(url: str) -> str:
    """Return the host of a URL, with its port if that is not the scheme's, as part of a folder name."""
    from webcrawl.urls.canonical import InvalidUrl, canonical  # noqa: PLC0415 - every command imports this file

    try:
        parts = urlsplit(canonical(url))
    except InvalidUrl:
        return "web"
    return folder_name(parts.netloc) or "web"


def _name_of_list(file: str) -> str:
    """Return the name of a seed list without its endings, as part of a folder name."""
    name = re.sub(r"(\.txt|\.csv)?(\.gz|\.zip)?$", "", Path(file).name, flags=re.IGNORECASE)
    return folder_name(name) or "web"


def unknown_option(option: str) -> str:
    """Return the message for an unknown option, with what to type instead if that is known."""
    name = option.partition("=")[0]
    if name in INSTEAD:
        return f"unknown option {name}: {INSTEAD[name]}"
    close = get_close_matches(name, _OPTIONS, 1)
    return f"unknown option {option}" + (f": did you mean {close[0]}?" if close else "")


def _unknown_word(word: str) -> str:
    """Return the message for a word that is neither a URL nor a file."""
    if Path(word, "state").is_dir():
        return f"{word} is the folder of a crawl: to resume it, run the command that started it"
    return f"{word!r} is neither a URL nor a file"


class OptionGroup(Protocol):
    """A part of the help, to which options are added."""

    def add_argument(self, *names: str, **what: Any) -> Any: ...


def crawl_group(parser: argparse.ArgumentParser) -> OptionGroup:
    """Add the group of options for crawls from URLs or files to the help, and return it."""
    return parser.add_argument_group(
        "The crawl",
        "Links are followed on the hosts of the URLs, and everywhere from files. Run the same command to resume.",
    )


def add_options(group: OptionGroup) -> None:
    """Add the options of a crawl from URLs or files.

    Call this after Scrapy has added its own -o.
    """
    group.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        action="append",
        help="the folder of the crawl (default: crawls/HOST, or crawls/NAME for a file). A name such as "
        "items.jsonl, and any name after a spider, is a file for its items, as in Scrapy",
    )
    group.add_argument(
        "--scope",
        # SCOPES, whose module loads much: every command imports this file
        choices=("any", "seeds", "domain", "host"),
        help="follow links on the page's own host, in its domain, in the seeds' domains, or any "
        "(default: host for URLs, any for files)",
    )
    group.add_argument(
        "--limit", metavar="N", type=_whole_number, help="take only the first N seeds"
    )
    group.add_argument(
        "--since", metavar="DIR", help="store only what has changed since this earlier crawl"
    )
    group.add_argument(
        "--outputs", metavar="NAMES", help="what to write: warc,cdxj,text,… (default: warc,cdxj)"
    )
    group.add_argument(
        "--user-agent",
        metavar="TEXT",
        help="the crawler's name and a page or mail address about it, needed for public addresses: "
        "'mybot/1.0 (+https://example.org/bot)'",
    )
    group.add_argument("--max-pages", metavar="N", type=_whole_number, help="stop after N answers")
    group.add_argument(
        "--delay",
        metavar="S",
        type=_seconds,
        help="wait at least S seconds between two requests to a host (default: 1)",
    )


def _whole_number(text: str) -> str:
    if not (text.isascii() and text.isdecimal() and int(text[:20])):
        raise argparse.ArgumentTypeError(f"{text}: must be a whole number from 1")
    return text


def _seconds(text: str) -> str:
    if not re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text}: must be a number of seconds")
    return text


def take_folder(opts: argparse.Namespace, settings: BaseSettings, words: Sequence[str]) -> None:
    """Turn `-o DIR` into the setting JOBDIR. Files for items remain Scrapy's `-o`.

    `words` are the NAME=VALUE of `-s`. Raise UsageError if JOBDIR is given twice.
    """
    formats = settings.getwithbase("FEED_EXPORTERS")
    feeds: list[str] = []
    folders: list[str] = []
    for output in opts.output or ():
        if _is_feed(output, formats):
            feeds.append(output)
        else:
            folders.append(output)
    if not folders:
        return
    if len(folders) > 1:
        raise UsageError(f"-o: one folder is needed, not {' and '.join(folders)}", print_help=False)
    (folder,) = folders
    opts.output = feeds or None
    if "JOBDIR" in _setting_names(words):
        raise UsageError(
            f"-o {folder} and -s JOBDIR=: give the folder in one place", print_help=False
        )
    opts.set.append(f"JOBDIR={folder}")


def _is_feed(output: str, formats: Container[str]) -> bool:
    """Return whether a value of `-o` is a file for items, and not the folder of a crawl."""
    is_standard_output = output == "-"
    is_uri_or_has_format = ":" in output  # s3://…, or FILE:FORMAT
    if is_standard_output or is_uri_or_has_format:
        return True
    return any(suffix[1:].lower() in formats for suffix in Path(output).suffixes)


def apply(
    opts: argparse.Namespace,
    settings: BaseSettings,
    start: StartArguments | None,
    words: Sequence[str],
) -> None:
    """Put the options into the spider's arguments and the settings. Scrapy has read `-a` and `-s`.

    `words` are the NAME=VALUE of `-s`, without those of the environment. Raise UsageError if `-a`
    or `-s` sets the value of an option as well.
    """
    arguments: dict[str, str] = opts.spargs
    on_command_line = _setting_names(words)
    for option in _SPIDER_OPTIONS:
        value = getattr(opts, option)
        if value is not None:
            if option in arguments:
                raise _given_twice(option, f"-a {option}=")
            arguments[option] = value
    for option, name in _SETTING_BY_OPTION.items():
        value = getattr(opts, option)
        if value is not None:
            if name in on_command_line:
                raise _given_twice(option, f"-s {name}=")
            settings.set(name, value, "cmdline")
    if start is not None:
        _begin_from(start, arguments, settings)


def _begin_from(start: StartArguments, arguments: dict[str, str], settings: BaseSettings) -> None:
    """Set the seeds, and the scope and JOBDIR unless they are given.

    Raise UsageError for two seeds.
    """
    if "seeds" in arguments:
        raise UsageError(
            f"{start.seeds} and -a seeds={arguments['seeds']}: give the seeds in one place",
            print_help=False,
        )
    from webcrawl.adapter.user_settings import is_given  # noqa: PLC0415 - as above

    arguments["seeds"] = start.seeds
    # Links are followed only on the hosts of URLs, but everywhere from lists of seeds
    has_scope = "scope" in arguments or is_given(settings, "URL_SCOPE")
    if not start.files and not has_scope:
        arguments["scope"] = "host"
    if not settings["JOBDIR"]:
        settings.set("JOBDIR", start.folder, "cmdline")


def check_spider(opts: argparse.Namespace, *, makes_pages: bool) -> None:
    """Raise UsageError for an option that only a spider which makes pages has as an argument."""
    for option in _SPIDER_OPTIONS:
        if getattr(opts, option) is not None and not makes_pages:
            raise UsageError(f"--{option}: is for crawls from URLs or files", print_help=False)


def _given_twice(option: str, other_option: str) -> UsageError:
    dashed = option.replace("_", "-")
    return UsageError(f"--{dashed} and {other_option}: give it in one place", print_help=False)


def _setting_names(assignments: Sequence[str]) -> set[str]:
    """Return the names in the NAME=VALUE of `-s`."""
    return {assignment.partition("=")[0].strip() for assignment in assignments}
