"""What all outputs share: files as safe as the archive, access to pages, and how URLs end."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from webcrawl.base.errors import lack
from webcrawl.base.model import Exchange, Link, Outcome
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.content.page import Page
from webcrawl.crawl.run import Run
from webcrawl.crawl.trip import PAGE, when_finished
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.own_files import BESIDE, OWN
from webcrawl.store.output import Output as OutputFile

logger = logging.getLogger(__name__)

Hook = Callable[[Link, Outcome, Exchange | None], object]


class Dropped(Exception):  # noqa: N818 - reads as what it is
    """Raised for a page that goes to no further output."""


class Output:
    """One of OUTPUTS. It is opened with the crawl, and closed before the last checkpoint.

    What else it has to implement, and for what, is in output_protocol.py: `process_item` for
    pages, `content_types` for some of them only, `checkpoint` and `restore` for a position.
    """

    output: ClassVar[str]  # its name in OUTPUTS
    dropped: type[Exception] = Dropped  # Scrapy's DropItem where Scrapy runs it
    run: Run

    def __init__(self, values: CheckedSettings) -> None:
        self.values = values

    def open(self, run: Run) -> None:
        """Open the output with the crawl. In a run without a crawl nothing is written."""
        self.run = run

    def close_spider(self) -> Any:
        """No page comes any more; the last checkpoint is next."""

    @property
    def folder(self) -> Path:
        """Return the JOBDIR."""
        return Path(self.values["JOBDIR"])

    def write(self, write: Callable[[], object]) -> None:
        """Call `write` when the page under way is finished, or at once if there is none.

        If that fails, the crawl ends and the page goes no further.
        """
        try:
            when_finished(write)
        except (StoreError, MemoryError) as error:
            self.give_up(error)

    def give_up(self, error: Exception) -> None:
        """End the crawl because of this error, and raise `dropped`: the next run fetches the page."""
        self.run.fail(error)
        raise self.dropped(str(error)) from error


class PipelineOutput:
    """An output whose length is part of every checkpoint.

    After a crash it is truncated to the checkpoint, so that each page is in it once.
    """

    def __init__(
        self,
        output: OutputFile,
        fail: Callable[[Exception], None],
        dropped: type[Exception] = Dropped,
    ) -> None:
        self._output = output
        self._fail = fail
        self._dropped = dropped

    def write(self, data: bytes) -> None:
        """Append `data` when the page under way is finished, or at once if there is none.

        If the disk does not take it, the crawl ends and the next run fetches the page. Raise
        TypeError unless it is bytes: later nothing would show which code wrote it.
        """
        write = self.writing(data)
        try:
            when_finished(write)
        except (StoreError, MemoryError) as error:
            self._fail(error)
            raise self._dropped(str(error)) from error

    def writing(self, data: bytes) -> Callable[[], object]:
        """Return what appends `data` as it is now: the caller may use its bytearray again."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"an output takes bytes, not {type(data).__name__}")
        return partial(self._output.write, bytes(data))

    def write_now(self, data: bytes) -> None:
        """Append in this turn of the event loop, in which the URL is booked, as a hearer must."""
        self._output.write(data)


class NoOutput(PipelineOutput):
    """The output of a command without a JOBDIR, such as `scrapy parse --pipelines`: none."""

    def __init__(self, path: str) -> None:
        logger.warning(
            "%s is not written, because this command is not a crawl and has no JOBDIR", path
        )

    def write(self, data: bytes) -> None:
        pass

    write_now = write


def open_output(run: Run, path: str, dropped: type[Exception] = Dropped) -> PipelineOutput:
    """Open `path` below JOBDIR, which must be none of the crawl's own files.

    `dropped` is what its `write` raises once the crawl has failed.
    """
    place = PurePosixPath(path)
    strange = place.is_absolute() or ".." in place.parts or not place.parts
    if strange or place.parts[0] in OWN or place.as_posix() in BESIDE:
        raise ValueError(
            f"{path!r}: an output must be a file below JOBDIR, and not one of the crawl's own files"
        )
    if not run.is_open:
        return NoOutput(path)
    return PipelineOutput(run.crawl.parts.outputs.open(path), run.fail, dropped)


class LogOutput(Output):
    """`path` is where its log is, below JOBDIR. The log is part of the checkpoint."""

    path: ClassVar[str]
    log: PipelineOutput

    def open(self, run: Run) -> None:
        super().open(run)
        self.log = open_output(run, self.path, self.dropped)


def at_hand(run: Run, look_up: Callable[[Page], object]) -> None:
    """Have `look_up` called with each page whose links were read, once they are followed.

    It may only ask for fields of the page that keep what was found: an error is raised again where
    the field is asked for next, and what an output does for a page it does when the page gets
    there.
    """
    if run.is_open and look_up not in run.at_hand:  # two outputs may want the same
        run.at_hand.append(look_up)


def link_columns(page: Page) -> object:
    """Return a page's links of all kinds, with their canonical URLs."""
    return page.columns


def on_end(run: Run, hook: Hook) -> None:
    """Call `hook` with the log line of each URL, fetched or not.

    A URL that was not requested, or had no answer, has no Exchange. An error of the hook is logged,
    and costs nothing else. Without a crawl, as in `scrapy parse --pipelines`, it is never called.
    """
    if not run.is_open:
        return
    name = getattr(hook, "__qualname__", repr(hook))

    def call_hook(link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Call the hook; its errors are logged, except those that must end the crawl."""
        # what the hook writes is this URL's, whose page is booked, and not another's
        another = PAGE.set(None)
        try:
            hook(link, outcome, exchange)
        except Exception as error:
            if isinstance(error, StoreError) or lack(error):
                raise
            logger.exception("%s: %s", name, link.url)
        finally:
            PAGE.reset(another)

    run.crawl.parts.log.hearers.append(call_hook)
