"""logs/errors.log when it cannot be written to, and errors in other threads."""

import asyncio
import io
import logging
import os
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from scrapy.exceptions import CannotResolveHostError
from scrapy.pipelines.media import FileException

from webcrawl.adapter.extensions.breaker import ErrorBreaker
from webcrawl.net.errors import ConnectFailed


class Engine:
    """Has the reasons for which it was to end the crawl."""

    spider, scheduler = "web", None

    def __init__(self):
        self.reasons = []

    async def close_spider_async(self, reason):
        self.reasons.append(reason)


async def opened(folder, many=100, engine=None, spider=None):
    stats = SimpleNamespace(inc_value=lambda _name: None)
    crawler = SimpleNamespace(stats=stats, engine=engine or Engine(), spider=spider)
    breaker = ErrorBreaker(crawler, folder, many, 1.0)
    breaker.opened()
    return breaker


@pytest.fixture(name="breaker")
def _breaker(tmp_path):
    made = asyncio.run(opened(tmp_path))
    yield made
    made.closed()


@contextmanager
def breaking(folder, shown):
    """A breaker of a crawl whose log goes to this handler as well."""
    logging.getLogger().addHandler(shown)
    made = asyncio.run(opened(folder))
    try:
        yield
    finally:
        made.closed()
        logging.getLogger().removeHandler(shown)
        shown.close()


def fail():
    for _ in range(3):
        try:
            raise_it()
        except ValueError:
            logging.getLogger("somewhere").exception("a mistake")


def raise_it():
    raise ValueError


@pytest.mark.parametrize(
    "why", ["No space left on device", "No such file or directory", "not a regular file"]
)
def test_a_file_that_takes_nothing_is_told_once(breaker, tmp_path, caplog, capfd, why):
    """Whether the disk is full, the folder gone or a pipe there, that is one warning, and no
    "Logging error".
    """
    if "space" in why:
        (tmp_path / "logs/errors.log").symlink_to("/dev/full")
    elif "regular" in why:
        os.mkfifo(tmp_path / "logs/errors.log")
    else:
        (tmp_path / "logs").rmdir()

    fail()

    (said,) = [
        record.getMessage() for record in caplog.records if record.levelno == logging.WARNING
    ]
    assert said.startswith(f"{tmp_path}/logs/errors.log: cannot be written: [Errno ")
    assert why in said
    assert "Logging error" not in capfd.readouterr().err


def test_otherwise_it_has_every_traceback(breaker, tmp_path):
    """Each error is there with its traceback."""
    fail()

    assert (tmp_path / "logs/errors.log").read_text().count("Traceback") == 3


def test_of_another_crawl_of_this_process(tmp_path):
    """What Scrapy says is another spider's belongs in that one's file, and counts for its
    ERROR_BREAKER alone.
    """
    ours, engine = object(), Engine()

    async def crawl():
        breaker = await opened(tmp_path, many=2, engine=engine, spider=ours)
        for spider in (ours, object()):
            try:
                raise_it()
            except ValueError:
                logging.getLogger("somewhere").exception("a mistake", extra={"spider": spider})
        await asyncio.sleep(0.01)
        breaker.closed()

    asyncio.run(crawl())

    assert (tmp_path / "logs/errors.log").read_text().count("Traceback") == 1
    assert engine.reasons == []


def test_errors_that_are_alike(tmp_path):
    """Of one place in the code the screen shows three errors, and a line says where the rest is."""
    shown = logging.StreamHandler(said := io.StringIO())
    with breaking(tmp_path, shown):
        for _ in range(2):
            fail()
        logging.getLogger("somewhere").error("another", exc_info=ValueError("elsewhere"))

    text = said.getvalue()
    assert (text.count("a mistake"), text.count("another\n")) == (3, 1)
    assert text.count(f"are shown only in {tmp_path}/logs/errors.log") == 1
    assert (tmp_path / "logs/errors.log").read_text().count("a mistake") == 6


def test_errors_that_are_alike_in_a_file(tmp_path):
    """A log that goes to a file has all of them."""
    shown = logging.FileHandler(tmp_path / "log.txt")
    with breaking(tmp_path, shown):
        for _ in range(2):
            fail()

    assert (tmp_path / "log.txt").read_text().count("a mistake") == 6


def test_errors_that_are_alike_and_not_in_the_file(tmp_path):
    """As long as errors.log cannot be written to, the log shows all."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/errors.log").symlink_to("/dev/full")
    shown = logging.StreamHandler(said := io.StringIO())
    with breaking(tmp_path, shown):
        for _ in range(2):
            fail()

    assert said.getvalue().count("a mistake") == 6


def test_errors_in_other_threads(tmp_path):
    """They end the crawl as well, and whoever logs them there gets no error for that."""
    engine = Engine()

    async def crawl():
        breaker = await opened(tmp_path, many=3, engine=engine)
        try:
            await asyncio.to_thread(fail)
            await asyncio.sleep(0.01)
        finally:
            breaker.closed()

    asyncio.run(crawl())

    assert engine.reasons == ["error_breaker"]


@pytest.mark.parametrize(("many", "reasons"), [(4, ["error_breaker"]), (7, [])])
def test_another_rate(tmp_path, many, reasons):
    """A rate that changes while the crawl runs counts the errors before it too."""
    engine = Engine()

    async def crawl():
        breaker = await opened(tmp_path, engine=engine)
        fail()
        breaker.change({"ERROR_BREAKER": (many, 60.0)})
        logging.getLogger("somewhere").error("another", exc_info=ValueError("elsewhere"))
        await asyncio.sleep(0.01)
        breaker.closed()

    asyncio.run(crawl())

    assert engine.reasons == reasons


def test_a_failed_download_is_no_unexpected_error(breaker, tmp_path):
    """A download's failure that Scrapy logs has an outcome: no server can fill errors.log with it."""
    refused = ConnectFailed("nobody listens")
    for cause in (refused, None):
        error = CannotResolveHostError()
        error.__cause__ = cause
        logging.getLogger("scrapy.core.scraper").error(
            "Error downloading %(request)s", {"request": cause}, exc_info=error
        )
    breaker.closed()

    said = (tmp_path / "logs/errors.log").read_text()
    assert said.count("Error downloading None") == said.count("Error downloading") == 1


def test_files_that_are_missing_are_no_unexpected_errors(breaker, tmp_path):
    """Files that a media pipeline asked for and did not get end no crawl: Scrapy logs each as an
    error, and twenty missing images were the end of it.
    """
    logging.getLogger("scrapy.pipelines.media").error(
        "a file is missing", exc_info=FileException("download-error")
    )
    logging.getLogger("scrapy.pipelines.media").error("a bug", exc_info=ValueError())
    breaker.closed()

    said = (tmp_path / "logs/errors.log").read_text()
    assert ("a file is missing" in said, "a bug" in said) == (False, True)


def test_images_that_cannot_be_read_are_no_unexpected_errors(breaker, tmp_path):
    """A page in an image's place ends no crawl, whatever Pillow raises for it; an error of the
    pipeline's own code counts.
    """
    pillow = {"__name__": "PIL.Image"}
    exec("def open(): raise SyntaxError('broken PNG file')", pillow)  # noqa: S102 - as Pillow does
    for work in (pillow["open"], raise_it):
        try:
            work()
        except Exception:
            logging.getLogger("scrapy.pipelines.files").exception("File (unknown-error): …")
    breaker.closed()

    said = (tmp_path / "logs/errors.log").read_text()
    assert ("broken PNG" in said, "ValueError" in said) == (False, True)
