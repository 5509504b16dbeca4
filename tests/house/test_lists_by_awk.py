"""The awk lines of the docs, by which logs are read, print what the docs say."""

import re
import subprocess

import pytest

from tests.support.places import ROOT

JAN, FEB = (f"crawls/{month}/logs/crawl.log" for month in ("jan", "feb"))
LOGS = {
    JAN: """
200 http://a.test/robots.txt P -
200 http://a.test/same L -
304 http://a.test/changed L since:304
200 http://a.test/gone L -
200 http://a.test/moved L -
200 http://a.test/alone L -
404 http://a.test/missing L -
""",
    FEB: """
404 http://a.test/robots.txt P -
304 http://a.test/same L since:304
200 http://a.test/changed L -
410 http://a.test/gone L -
301 http://a.test/moved L -
200 http://a.test/fresh L -
404 http://a.test/missing L -
-4 http://a.test/silent L -
-9998 http://a.test/forbidden L -
""",
}
LINKS = """http://a.test/same\t/gone\thttp://a.test/gone\ta\tx
http://a.test/fresh\t/same\thttp://a.test/same\ta\tx
"""


def crawl_log(short):
    """The whole lines for these statuses, URLs, paths and annotations."""
    rows = (line.split() for line in short.split("\n") if line)
    return "".join(
        f"2026-01-01T00:00:00.000Z {status:>5} {10:>10} {url} {path} http://a.test/ text/html #001 0+1 - - {note}\n"
        for status, url, path, note in rows
    )


def printed(folder, page, *, number):
    """What one of a page's awk lines prints, of these logs."""
    command = re.findall(r"^ {0,4}(awk .*)$", (ROOT / "docs" / page).read_text(), re.MULTILINE)[
        number
    ]
    for name, short in LOGS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(crawl_log(short))
    (folder / FEB).with_name("links.log").write_text(LINKS)
    for alias in ("web", "site"):  # the names that these pages give the crawl
        command = re.sub(rf"(crawls/)?\b{alias}/logs", "crawls/feb/logs", command)
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=True
    )
    return {*done.stdout.replace("http://a.test", "").splitlines()}


@pytest.mark.parametrize(
    ("page", "number", "lines"),
    [
        ("reprocess-and-since.md", 0, {"changed /changed", "new /fresh"}),
        ("reprocess-and-since.md", 1, {"410 /gone", "unlinked /alone"}),
        ("coming-from.md", 0, {"410 /gone /", "404 /missing /", "-4 /silent /"}),
        ("logs.md", 1, {"410 /gone /same"}),
    ],
)
def test_what_they_print(tmp_path, page, number, lines):
    """Pages that are new, changed or gone, dead links, and the pages that have them; robots.txt is
    no page.
    """
    assert printed(tmp_path, page, number=number) == lines
