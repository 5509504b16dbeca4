"""The dashboard in a real browser, beside a crawl that runs. Needs Chromium, and is skipped without
it.

Chromium asks the kernel how it would reach public addresses, so this runs in a network namespace
that has nothing but loopback: the one test outside runs those inside.
"""

import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

from tests.support.commands import _run
from tests.support.crawling import PATIENCE, Crawl, _forked, wait_until
from tests.support.places import ROOT
from webcrawl.lab.simweb import World, running, wait_until_idle

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = (
    *(
        "--no-proxy-server",
        "--no-sandbox",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-dev-shm-usage",
        "--disable-gpu",
    ),
)
MISSING = [
    name
    for name, is_there in (
        ("Chromium", CHROMIUM),
        ("playwright", find_spec("playwright")),
        ("unshare", shutil.which("unshare")),
        ("ip", shutil.which("ip")),
    )
    if not is_there
]
INSIDE = "WEBCRAWL_TEST_NAMESPACE"  # in the environment of the tests inside
ALONE = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c"]
LOOPBACK = 'ip link set lo up && exec "$@"'
ADDRESS = re.compile(r"http://\S+(?=\n)")
SLOW = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0.2, "CHECKPOINT_INTERVAL": 1}
SLOW |= {"DOWNLOAD_TIMEOUT": 6}  # a browser beside it takes the processor for seconds

inside = pytest.mark.skipif(
    INSIDE not in os.environ, reason="runs in a namespace, by the test outside"
)


@pytest.mark.campaign
@pytest.mark.skipif(INSIDE in os.environ, reason="this is the test outside")
def test_all_of_it_in_a_namespace():
    """The tests below pass where no packet can leave the machine."""
    if MISSING:
        pytest.skip(f"the dashboard is not looked at without {', '.join(MISSING)}")
    if subprocess.run(
        [*ALONE, LOOPBACK, "sh", "true"], capture_output=True, check=False
    ).returncode:
        pytest.skip("nobody may make a network namespace here")
    words = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", __file__]
    environment = {**os.environ, INSIDE: "1"}
    run = subprocess.run(
        [*ALONE, LOOPBACK, "sh", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"\d passed", run.stdout)


@pytest.fixture(name="crawl", scope="module")
def _crawl(tmp_path_factory):
    """A slow crawl of eight hosts of a web that has one more, and a dashboard beside it."""
    folder = tmp_path_factory.mktemp("dashboard")
    with running(
        World(9, 3000, size=(2000, 3000), port=0, tls_port=0, addresses=4), latency=0.01
    ) as server:
        (folder / "seeds.txt").write_text("\n".join([*server.world.seeds()][:8]))
        settings = {"DNS_NAMESERVERS": server.nameserver, **SLOW}
        crawl = Crawl(
            folder / "crawls/web", {"seeds": folder / "seeds.txt", "scope": "seeds"}, settings
        )
        run = crawl.start()
        with dashboard(folder) as crawl.address:
            wait_until((crawl.jobdir / "control.sock").exists)
            crawl.server, crawl.folder = server, folder
            yield crawl
        if run.process.is_alive():
            run.interrupt()
            run.wait()


@contextmanager
def dashboard(folder):
    """Its process, in this folder; yields the address."""
    outputs = [f"{folder / name}" for name in ("said", "complained")]
    words = ("webcrawl", ["dashboard", "--port", "0"], f"{folder}", outputs, {})
    process = _forked.Process(target=_run, args=words, daemon=True)
    process.start()
    said = folder / "said"
    wait_until(lambda: said.exists() and ADDRESS.search(said.read_text()))
    yield ADDRESS.search(said.read_text())[0]
    process.terminate()
    process.join()
    assert (process.exitcode, (folder / "complained").read_text()) == (0, "")


@pytest.fixture(name="chromium", scope="module")
def _chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture(name="browse")
def _browse(chromium):
    """Opens pages of new browsers; whatever a page's console says is an error."""
    said, contexts = [], []

    def browse(**context):
        contexts.append(chromium.new_context(**context))
        page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(f"{error}"))
        return page

    yield browse
    for context in contexts:
        context.close()
    assert said == []


def requested(server, host=""):
    """How often the web was asked for pages, or one of its hosts."""
    wait_until_idle(server)
    return sum(host in hit.url for hit in server.log.hits)


def number(page, what):
    """A large number of the page."""
    tile = (
        page.locator(".tiles > div", has=page.locator("dt", has_text=re.compile(f"^{what}$")))
        .locator("dd")
        .first
    )
    return int(tile.inner_text().replace(",", ""))


@inside
def test_without_script(crawl, browse):
    """A browser without JavaScript can do the same: pages load themselves again, and forms are
    forms.
    """
    page = browse(java_script_enabled=False)
    page.goto(crawl.address)
    page.get_by_role("link", name="web", exact=True).click()
    assert page.locator("noscript meta, meta[http-equiv=refresh]").count() == 1
    page.get_by_role("button", name="Pause", exact=True).click()
    page.locator(".badge.paused").first.wait_for()
    page.get_by_role("link", name="Log").click()
    assert page.locator("tbody tr").count() > 0
    page.get_by_role("button", name="Resume", exact=True).click()
    page.locator(".badge.running").first.wait_for()


@inside
def test_no_page_is_wider_than_the_screen(crawl, browse):
    """On a phone and on a desk every page fits, all its tabs too; the keyboard's first stop leads
    to the content.
    """
    page = browse(viewport={"width": 400, "height": 800})
    page.goto(crawl.address)
    page.get_by_role("link", name="web", exact=True).click()
    page.wait_for_load_state()
    names = page.locator(".tabs a").all_inner_texts()
    assert "Log" in names
    for name in names:
        page.get_by_role("link", name=name, exact=True).click()
        page.wait_for_load_state()  # without its style a page is as wide as its text
        for width in (400, 1600):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            edges = page.locator(".tabs a").evaluate_all(
                "all => all.map(one => one.getBoundingClientRect().right)"
            )
            assert max(edges) <= width, name
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"


@inside
def test_an_operator_at_work(crawl, browse):
    """Figures move; pause, resume, seeds and exclude do what they say, as the log of the crawled
    web shows.
    """
    server, folder, page = crawl.server, crawl.folder, browse()
    page.goto(crawl.address)
    assert "token" not in page.url
    page.get_by_role("link", name="web", exact=True).click()
    page.get_by_text("Live", exact=True).wait_for()
    before = number(page, "pages")
    wait_until(lambda: number(page, "pages") > before, pause=0.2)
    page.locator("#report .plot").first.wait_for()

    page.get_by_role("button", name="Pause", exact=True).click()
    page.locator(".badge.paused").first.wait_for()
    assert "paused until you resume it, even after a restart" in page.locator("#said").inner_text()
    paused = requested(server)
    page.wait_for_timeout(1000)
    assert requested(server) == paused
    page.get_by_role("button", name="Resume", exact=True).click()
    page.locator(".badge.running").first.wait_for()
    wait_until(lambda: requested(server) > paused, pause=0.1)

    (folder / "more.txt").write_text([*server.world.seeds()][8])
    assert requested(server, "site8.test") == 0
    page.get_by_role("link", name="Commands", exact=True).click()
    page.get_by_label("add SRC…").fill(f"{folder / 'more.txt'}")
    page.get_by_role("button", name="seeds", exact=True).click()
    page.get_by_text("seeds will be read from").wait_for()
    wait_until(lambda: requested(server, "site8.test") > 0, pause=0.1)

    seed = [*server.world.seeds()][1]
    page.get_by_role("link", name="Why?", exact=True).click()
    page.get_by_label("URL").fill(seed)
    page.get_by_role("button", name="Why?").click()
    assert page.locator(".verdict b").inner_text() == "fetched"
    assert requested(server, seed) > 0

    page.get_by_role("link", name="Commands", exact=True).click()
    page.locator("form", has_text="stop fetching from a domain").get_by_label("RULE").fill(
        "site0.test"
    )
    page.get_by_role("button", name="exclude…").click()
    page.get_by_role("button", name="Yes, exclude").click()
    page.get_by_text("site0.test is excluded").wait_for()
    excluded = requested(server, "site0.test")
    page.wait_for_timeout(1000)
    assert requested(server, "site0.test") == excluded

    page.get_by_role("link", name="Overview").click()
    page.get_by_role("button", name="Stop…").click()
    page.get_by_role("button", name="Yes, stop").click()
    page.get_by_role("link", name="Overview").click()
    page.locator(".badge.stopped").first.wait_for()
    assert "Stopped by command" in page.locator(".lead").inner_text()
    assert crawl.stats["reason"] == "stopped"
