"""Pages rendered by a real browser. Needs scrapy-playwright, Playwright and Chromium, and is
skipped without them.

Chromium asks the kernel how it would reach public addresses, so these tests run in a network
namespace that has nothing but loopback and a link to itself: the one test outside runs those
inside.
"""

import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import pytest

from tests.support.commands import command
from tests.support.crawling import Crawl, wait_until
from tests.support.examples import in_campaign
from tests.support.places import ROOT
from tests.support.plain_site import Site, serving
from tests.support.ports import free_port
from tests.support.scripted_sites import Lively, Scripted, Unruly, made
from tests.support.warc_reader import read
from webcrawl.adapter.rendering_check import BROWSER_NAMES, chromium
from webcrawl.crawl.rendering.deciding import Need
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.tools.verify_crawl import verify
from webcrawl.tools.why.answer import why

# in the environment of the tests inside: the browser that they start
INSIDE = "WEBCRAWL_TEST_NAMESPACE"
INSTALLED = [path for path in map(shutil.which, BROWSER_NAMES) if path]
# with windows, and without
BROWSERS = list({"headless" in path: path for path in reversed(INSTALLED)}.values())
CHROMIUM = os.environ.get(INSIDE) or chromium()
OTHERS = [  # the campaign has those that would not be taken by themselves
    pytest.param(one, marks=[] if one in (CHROMIUM, "") else pytest.mark.campaign)
    for one in BROWSERS or [""]
]
MISSING = [
    name
    for name, is_there in (
        ("scrapy-playwright", find_spec("scrapy_playwright")),
        ("playwright", find_spec("playwright")),
        ("Chromium", CHROMIUM),
        ("unshare", shutil.which("unshare")),
        ("ip", shutil.which("ip")),
    )
    if not is_there
]
ALONE = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c"]
LINK = (
    "ip link add d0 type veth peer name d1 && ip addr add 10.9.9.1/24 dev d0 && ip link set "
    "d0 up && ip link set d1 up"
)
LOOPBACK = f'ip link set lo up && {LINK} && ip route add default via 10.9.9.2 && exec "$@"'

inside = pytest.mark.skipif(
    INSIDE not in os.environ, reason="runs in a namespace, by the test outside"
)
PAGE = b"""<!doctype html><title>Plain</title><script src=/app.js></script><a href=/plain>plain</a>
<img src=http://169.254.169.254/latest/meta-data/>"""
APP = b"""document.title = 'Rendered \\u4e2d'
fetch('/data.json').then(r => r.json()).then(u => { document.body.innerHTML += `<a href="${u}">more</a>` })
fetch('/form', {method: 'POST', body: 'x'})
new WebSocket('ws://' + location.host + '/socket')
open('/popup')"""


MUSEUM = "tests/support/museum"
INNER = "10.9.9.1:8099"  # in a network of its own, for browsers send no datagrams to loopback
WALLS = [
    (socket.AF_INET, socket.SOCK_STREAM),
    (socket.AF_INET, socket.SOCK_DGRAM),
    (socket.AF_INET6, socket.SOCK_STREAM),
]
PRISON = f"""<!doctype html><title>Prison</title><meta http-equiv=x-dns-prefetch-control content=on>
<link rel=preconnect href=http://{INNER}><link rel=dns-prefetch href=//inner.test>
<link rel=prefetch href=http://{INNER}/prefetch><link rel=preload as=font crossorigin href=http://{INNER}/font>
<link rel=modulepreload href=http://{INNER}/module><link rel=manifest href=http://{INNER}/manifest>
<script type=speculationrules>{{"prerender": [{{"source": "list", "urls": ["http://{INNER}/prerender"]}}]}}</script>
<style>@import "http://{INNER}/css"; body {{ background: url(http://{INNER}/background) }}</style>
<img src=http://{INNER}/img><img src=http://0x0a090901:8099/><img src=http://[::1]:8099/><img src=http://localhost:8099/>
<img src=file:///etc/passwd><iframe src=file:///etc/passwd></iframe><iframe src=http://{INNER}/frame></iframe>
<object data=http://{INNER}/object></object><embed src=http://{INNER}/embed><video src=http://{INNER}/video></video>
<form action=http://{INNER}/form method=post target=f></form><iframe name=f></iframe><p id=said></p><script>
const tries = [
  () => new WebSocket('ws://{INNER}/'), () => new WebSocket('wss://{INNER}/'), () => new EventSource('http://{INNER}/'),
  () => new WebTransport('https://{INNER}/').ready.catch(() => 0), () => navigator.sendBeacon('http://{INNER}/', 'x'),
  () => fetch('http://{INNER}/', {{mode: 'no-cors', keepalive: true}}).catch(() => 0),
  () => fetch('file:///etc/passwd').then(r => r.text()).then(t => document.body.append(t)).catch(() => 0),
  () => document.forms[0].submit(), () => open('http://{INNER}/open'), () => open('file:///etc/passwd'),
  () => new Worker(URL.createObjectURL(new Blob(["fetch('http://{INNER}/worker')"]))),
  () => navigator.serviceWorker.register('/sw.js').catch(() => 0),
  ...['stun:{INNER}', 'turn:{INNER}', 'turn:{INNER}?transport=tcp', 'turns:{INNER}'].map(urls => async () => {{
    const peer = new RTCPeerConnection({{iceServers: [{{urls, username: 'a', credential: 'b'}}]}})
    peer.createDataChannel('x')
    await peer.setLocalDescription(await peer.createOffer())
    await peer.addIceCandidate({{candidate: 'candidate:1 1 udp 2122260223 10.9.9.1 8099 typ host', sdpMid: '0'}})
  }}),
]
for (const one of tries) try {{ Promise.resolve(one()).catch(() => 0) }} catch {{}}
setTimeout(() => {{ said.textContent = 'tried ' + 'all' }}, 1500)
fetch('/slow')
</script>""".encode()


class Prison(Site):
    """A page that tries each way that a browser has to send something to a server."""

    def answer(self):
        kind, body = {"/": ("text/html", PRISON), "/robots.txt": ("text/plain", b"")}.get(
            self.path, ("text/plain", b"")
        )
        if self.path == "/slow":
            time.sleep(2)  # for so long the page is not at rest
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Reporting-Endpoints", f'default="http://{INNER}/reports"')
        self.send_header(
            "Content-Security-Policy-Report-Only", f"img-src 'none'; report-uri http://{INNER}/csp"
        )
        self.send_header("Link", f"<http://{INNER}/link>; rel=preload; as=image")
        self.send_header("Alt-Svc", f'h3="{INNER}"; ma=3600')
        self.end_headers()
        self.wfile.write(body)


LISTED = 8
APP_PAGE = (
    b"<!doctype html><link rel=stylesheet href=/style.css><div id=root></div><script "
    b"type=module src=/app.js></script>"
)
APP_SCRIPT = b"""
const get = async path => (await fetch(path)).json(), root = document.getElementById('root')
const before = [localStorage.seen, sessionStorage.seen, document.cookie, window.name].join('')
localStorage.seen = sessionStorage.seen = window.name = 'stale'
document.cookie = 'seen=stale'
if (location.pathname === '/') {
    const first = await get('/api/first')
    for (const n of await get(first.rest)) root.innerHTML += `<a href="/item/${n}">item</a> `
} else if (location.pathname !== '/item/0') {  // that one stays empty
    const {text} = await get('/api' + location.pathname)
    root.innerHTML = text + before
}
"""


class App(Site):
    """A list and pages that a script makes of what it fetches, in two steps for the list."""

    requested: Counter = Counter()  # noqa: RUF012 - of the running test

    def answer(self):
        self.requested[self.path] += 1
        number = self.path.rpartition("/")[2]
        kind, body = {
            "/robots.txt": ("text/plain", b""),
            "/app.js": ("text/javascript", APP_SCRIPT),
            "/style.css": ("text/css", b"body { color: navy }"),
            "/api/first": ("application/json", b'{"rest": "/api/rest"}'),
            "/api/rest": ("application/json", json.dumps([*range(LISTED)]).encode()),
            f"/api/item/{number}": (
                "application/json",
                b'{"text": "words of %b"}' % number.encode(),
            ),
        }.get(self.path, ("text/html", APP_PAGE))
        self.say(200, body, content_type=kind)


RENAMING = b"""<p>text<script>
history.pushState({}, '', '/books/')
document.body.innerHTML += '<a href=one>1</a>'
</script>"""


class Renamed(Site):
    """Pages whose scripts change their URLs before they write relative links."""

    requested: Counter = Counter()  # noqa: RUF012 - of the running test
    pages: ClassVar = {
        "/": b"<!doctype html><a href=/based>based</a>",
        "/based": b"<!doctype html><base href=shelf/>",
    }

    def answer(self):
        self.requested[self.path] += 1
        body = self.pages[self.path] + RENAMING if self.path in self.pages else b""
        self.say(200, body, content_type="text/html")


class Museum(Site):
    """An application as Vite builds it: whatever is requested that is no file is its shell."""

    rooms: ClassVar = [
        {"id": n, "name": f"Room {n}", "text": f"lamps of room{n}", "next": (n + 1) % 6}
        for n in range(6)
    ]
    files: ClassVar = {
        f"/assets/{path.name}": path.read_bytes() for path in (ROOT / MUSEUM / "assets").iterdir()
    }
    shell: ClassVar = (ROOT / MUSEUM / "index.html").read_bytes()

    def answer(self):
        if self.path.startswith("/api/rooms"):
            number = self.path.removeprefix("/api/rooms/").removesuffix(".json")
            said = self.rooms[int(number)] if number.isdecimal() else [{"id": 0, "name": "Room 0"}]
            self.say(200, json.dumps(said).encode(), content_type="application/json")
        elif self.path in self.files:
            self.say(200, self.files[self.path], content_type="text/javascript")
        elif self.path == "/robots.txt":
            self.say(404, b"")
        else:
            self.say(200, self.shell, content_type="text/html")


class Advertised(Site):
    """Two pages with scripts of other hosts: one has no server, the other has only a robots.txt."""

    no_server: ClassVar = 0  # a port

    def answer(self):
        host, _, port = self.headers["Host"].partition(":")
        if host == "busy.test" and self.path != "/robots.txt":
            self.say(503, b"")
        elif self.path == "/robots.txt":
            self.say(404, b"")
        else:
            scripts = (f"http://gone.test:{self.no_server}/ad.js", f"http://busy.test:{port}/ad.js")
            tags = "".join(f"<script src={url}></script>" for url in scripts)
            own = "<script>document.body.append('ma' + 'de')</script>"
            page = f"<p>sent {self.path}</p>{tags}<a href=/two>two</a>{own}"
            self.say(200, page.encode(), content_type="text/html")


class Shop(Site):
    """A page whose links a script makes, and one whose script leads elsewhere."""

    requested: list = []  # noqa: RUF012 - of the running test

    def answer(self):
        self.requested.append((self.command, self.path, self.headers["User-Agent"]))
        kind, body = {
            "/robots.txt": ("text/plain", b""),
            "/": ("text/html", PAGE),
            "/app.js": ("text/javascript", APP),
            "/data.json": ("application/json", b'"/made"'),
            "/made": (
                "text/html",
                b"<p>made<script>document.body.append('!'); location = '/elsewhere'</script>",
            ),
        }.get(self.path, ("text/plain", b"other"))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = answer  # noqa: N815 - http.server has it so


@pytest.mark.campaign
@pytest.mark.skipif(INSIDE in os.environ, reason="this is the test outside")
@pytest.mark.parametrize("browser", OTHERS)
def test_all_of_it_in_a_namespace(browser):
    """The tests below pass where no packet can leave the machine, with each kind of browser that is
    there.
    """
    if MISSING:
        pytest.skip(f"nothing is rendered here without {', '.join(MISSING)}")
    if subprocess.run(
        [*ALONE, LOOPBACK, "sh", "true"], capture_output=True, check=False
    ).returncode:
        pytest.skip("nobody may make a network namespace here")
    words = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", __file__]

    run = subprocess.run(
        [*ALONE, LOOPBACK, "sh", *words],
        cwd=ROOT,
        env={**os.environ, INSIDE: browser},
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"\d passed", run.stdout)


@pytest.fixture(name="crawl")
def _crawl(tmp_path):
    """Crawls a shop with the middleware of docs/browser.md; gives exit status and output."""
    text = (ROOT / "docs/browser.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    middleware = next(block for block in blocks if "class RenderMiddleware" in block)
    (tmp_path / "myproject").mkdir()
    (tmp_path / "myproject/__init__.py").touch()
    (tmp_path / "myproject/render.py").write_text(middleware.replace("shop.example", "127.0.0.1"))
    options = next(block for block in blocks if "PLAYWRIGHT_LAUNCH_OPTIONS" in block)
    launch = {"executable_path": CHROMIUM, "chromium_sandbox": False}
    module = f"from webcrawl.settings import *\n{options}\nPLAYWRIGHT_LAUNCH_OPTIONS = {launch!r}\n"
    (tmp_path / "myproject/settings.py").write_text(module)
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = myproject.settings\n")

    def start(seed, **settings):
        (tmp_path / "seeds.txt").write_text(seed)
        seeds = {"seeds": tmp_path / "seeds.txt"}
        run = Crawl(tmp_path / "job", seeds, {"DOWNLOAD_TIMEOUT": 20}, project=tmp_path)
        return run.run(**settings), run.output.read_text()

    Shop.requested = []
    return start


@inside
def test_pages_are_rendered(crawl, tmp_path):
    """Links that scripts make are followed; what scripts ask for is guarded; the archive has
    payload, document and the views that are asked for.
    """
    with serving(Shop) as site:
        status, output = crawl(site, RENDER_VIEWS="view,pdf")

    assert status == 0, output
    requested = {path for _, path, _ in Shop.requested}
    assert requested == {
        "/robots.txt",
        "/",
        "/app.js",
        "/data.json",
        "/made",
        "/plain",
    }
    assert {(method, agent) for method, _, agent in Shop.requested} == {("GET", "webcrawl/0.1")}
    stats = json.loads((tmp_path / "job/stats.json").read_text())
    assert (stats["browser/pages"], stats["errors"]) == (2, 0), output
    assert stats["outcome/address_refused"] >= 1
    assert stats["flaw/rendered_early"] == 1  # the page that wanted to go elsewhere
    assert stats["browser/refused/method"] >= 1, "a script's form was refused, and nothing said so"
    assert stats["browser/refused/protocol"] >= 1  # its WebSocket
    assert " of rendered pages refused or failed (" in output

    records = [
        record for path in (tmp_path / "job/warc").glob("*.warc.gz") for record in read(path)
    ]
    of = {(record.kind, record.fields.get("WARC-Target-URI")): record for record in records}
    response, document = of["response", f"{site}/"], of["conversion", f"{site}/"]
    assert response.block.endswith(b"\r\n\r\n" + PAGE)
    assert document.fields["WARC-Refers-To"] == response.id
    assert of["resource", f"urn:view:{site}/"].block.startswith(b"\x89PNG")
    assert of["resource", f"urn:pdf:{site}/made"].block.startswith(b"%PDF")
    assert "<title>Rendered \u4e2d</title>" in document.block.decode("utf-8-sig")
    assert b"made<script>" in of["conversion", f"{site}/made"].block
    assert ("conversion", f"{site}/plain") not in of  # not HTML: nothing to render
    assert list(verify(tmp_path / "job", Counter())) == []


@inside
def test_no_way_out(crawl, tmp_path):
    """Whatever a page tries, nothing arrives at a private address, and no file is in its document."""
    with serving(Prison) as site, ExitStack() as opened:
        walls = [opened.enter_context(socket.socket(*kind)) for kind in WALLS]
        for wall, (family, kind) in zip(walls, WALLS, strict=True):
            wall.bind(("::1" if family == socket.AF_INET6 else "10.9.9.1", 8099))
            if kind == socket.SOCK_STREAM:
                wall.listen()
        status, output = crawl(site, PRIVATE_NETWORKS_ALLOWED="127.0.0.1/32", DOWNLOAD_TIMEOUT=10)
        reached, _, _ = select.select(walls, [], [], 0)

    assert status == 0, output
    assert reached == []
    records = [
        record for path in (tmp_path / "job/warc").glob("*.warc.gz") for record in read(path)
    ]
    (document,) = (record.block.decode() for record in records if record.kind == "conversion")
    assert "tried all" in document  # the script has come to its end
    assert "root:" not in document
    stats = json.loads((tmp_path / "job/stats.json").read_text())
    # of both addresses the robots.txt is asked for, and nothing after it
    assert stats["outcome/address_refused"] >= len({"10.9.9.1", "::1"})
    assert stats["browser/refused/rules"] >= 5


@inside
def test_pages_made_of_what_scripts_fetch(crawl, tmp_path):
    """A page is taken when its requests have come to rest; scripts and styles are fetched once;
    tabs are emptied.
    """
    App.requested = Counter()
    with serving(App) as site:
        status, output = crawl(site)

    assert status == 0, output
    pages = ["/", *(f"/item/{n}" for n in range(LISTED))]
    data = ["/api/first", "/api/rest", *(f"/api/item/{n}" for n in range(1, LISTED))]
    assert Counter(["/robots.txt", "/app.js", "/style.css", *pages, *data]) == App.requested
    stats = json.loads((tmp_path / "job/stats.json").read_text())
    assert (stats["browser/pages"], stats["errors"], stats["flaw/rendered_empty"]) == (
        len(pages),
        0,
        1,
    ), output
    assert (
        len(
            re.findall(
                r"WARNING: .*/item/0>: rendered_empty \(the page has no text after "
                r"its scripts have run\)",
                output,
            )
        )
        == 1
    )
    records = [
        record for path in (tmp_path / "job/warc").glob("*.warc.gz") for record in read(path)
    ]
    documents = {
        r.fields["WARC-Target-URI"]: r.block.decode() for r in records if r.kind == "conversion"
    }
    assert all(f"words of {n}<" in documents[f"{site}/item/{n}"] for n in range(1, LISTED))
    # neither storage nor cookies of an earlier page
    assert "stale" not in "".join(documents.values())


@inside
def test_links_of_pages_that_change_their_urls(tmp_path):
    """Relative links lead where they lead in the browser after a script's history.pushState."""
    Renamed.requested = Counter()
    with serving(Renamed) as site:
        crawl = rendering_crawl(tmp_path / "job", [f"{site}/"], RENDER="all")
        assert crawl.run() == 0, crawl.output.read_text()

    assert Renamed.requested.keys() == {
        "/robots.txt",
        "/",
        "/based",
        "/books/one",
        "/shelf/one",
    }


@inside
def test_a_browser_that_does_not_start_ends_the_crawl(crawl, tmp_path):
    """Without its browser the crawl ends with one line and exit status 1; the next run fetches the
    page.
    """
    nothing = json.dumps({"executable_path": "/nonexistent/chromium"})
    with serving(Shop) as site:
        status, output = crawl(f"{site}/made", PLAYWRIGHT_LAUNCH_OPTIONS=nothing)
        assert status == 1, output
        assert len(re.findall("CRITICAL: the browser cannot be started", output)) == 1
        assert "Traceback" not in output
        assert json.loads((tmp_path / "job/stats.json").read_text())["reason"] == "browser_failed"

        status, output = crawl(f"{site}/made")

    assert status == 0, output
    log = (tmp_path / "job/logs/crawl.log").read_text()
    assert [line.split()[1] for line in log.splitlines() if line.split()[3] == f"{site}/made"] == [
        "200"
    ]


@pytest.mark.skipif(INSIDE in os.environ or bool(MISSING), reason="outside: no browser is started")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PLAYWRIGHT_CDP_URL", "http://127.0.0.1:1"),
        *in_campaign(
            ("PLAYWRIGHT_CONNECT_URL", "ws://127.0.0.1:1"),
            ("PLAYWRIGHT_BROWSER_TYPE", "firefox"),
            ("PLAYWRIGHT_CONTEXTS", '{"mine": {}}'),
        ),
    ],
)
def test_no_browser_goes_round_the_proxy(crawl, name, value):
    """A browser that the crawl does not start itself, or whose ways out it does not know, is
    refused at the start.
    """
    status, output = crawl("http://127.0.0.1:1/", **{name: value})

    assert status == 1
    assert (
        f"webcrawl.adapter.browser.BrowserHandler cannot be used: ValueError('{name} ="
        in output.replace('"', "'")
    )
    assert Shop.requested == []


def needs(jobdir):
    """What the last checkpoint knows of hosts, by name."""
    if not (jobdir / "state/crawl.db").exists():
        return {}
    sql = "SELECT host, data FROM rendering"
    rows = JobDir.open(jobdir).read(lambda one: [*one.rows(sql)] if one.has("rendering") else [])
    return {host: Need.unpack(data) for host, data in rows}


def hosts_file(folder, *names):
    """A HOSTS_FILE by which these names lead to the site."""
    path = folder / "hosts"
    path.write_text("".join(f"127.0.0.1 {name}\n" for name in names))
    return path


def rendering_crawl(jobdir, urls, **settings):
    """A crawl with Chromium from these seeds."""
    seeds = jobdir.with_name("seeds.txt")
    seeds.write_text("".join(f"{url}\n" for url in urls))
    of_browser = {
        "PLAYWRIGHT_LAUNCH_OPTIONS": json.dumps({"executable_path": CHROMIUM}),
        "DOWNLOAD_TIMEOUT": 20,
    }
    return Crawl(jobdir, {"seeds": seeds}, {**of_browser, **settings})


@inside
def test_pages_that_need_scripts_are_found(tmp_path):
    """They are rendered, and others are not; what was learnt of a host survives kill -9."""
    with serving(Scripted) as site:
        port = site.rpartition(":")[2]
        crawl = rendering_crawl(
            tmp_path / "job",
            [f"http://{name}:{port}/" for name in Scripted.pages],
            HOSTS_FILE=hosts_file(tmp_path, *Scripted.pages),
            CHECKPOINT_INTERVAL=0.2,
            RENDER="auto",
        )
        running = crawl.start()
        wait_until(lambda: needs(crawl.jobdir).get("hollow.test", Need()).rendered >= 2, pause=0.05)
        running.kill()
        before = needs(crawl.jobdir)
        assert crawl.run() == 0, crawl.output.read_text()

    records = [
        record for path in (crawl.jobdir / "warc").glob("*.warc.gz") for record in read(path)
    ]
    found = {
        r.fields["WARC-Target-URI"]: r.block.decode() for r in records if r.kind == "conversion"
    }
    numbers = {
        (name, number) for name, last in Scripted.pages.items() for number in range(last + 1)
    }
    texts = {f"http://{name}:{port}/{number or ''}": made(name, number) for name, number in numbers}
    assert found.keys() == {url for url, text in texts.items() if text}
    assert [url for url, document in found.items() if texts[url] not in document] == []

    assert {path for name, path in Scripted.requested if name == "app.test"} == {  # and no image
        *("/robots.txt", "/", "/app.js", "/api/list"),
        *(
            path
            for number in range(1, Scripted.pages["app.test"] + 1)
            for path in (f"/{number}", f"/api/{number}")
        ),
        "/api/0",
    }
    after, last = needs(crawl.jobdir), Scripted.pages
    assert after.keys() == {"app.test", "lazy.test", "hollow.test", "mixed.test"}
    assert all(after[name].rendered >= need.rendered for name, need in before.items())
    assert (after["hollow.test"].rendered, after["hollow.test"].changed) == (4, 0)
    assert after["app.test"].changed == after["app.test"].rendered == last["app.test"] + 1
    assert crawl.stats["recognised/shell"] == last["hollow.test"]
    told = why(crawl.jobdir, f"http://hollow.test:{port}/").details["host"]["rendering"]
    assert told.startswith("one in 2 of the shells, ")
    assert list(verify(crawl.jobdir, Counter())) == []


@inside
def test_an_application_built_by_vite(tmp_path):
    """Its shells are found; rendered, its pages have the text and links that routes, fetches and
    late parts make.
    """
    with serving(Museum) as site:
        crawl = rendering_crawl(tmp_path / "job", [site], RENDER="auto")
        assert crawl.run() == 0, crawl.output.read_text()

    records = [
        record for path in (crawl.jobdir / "warc").glob("*.warc.gz") for record in read(path)
    ]
    found = {
        r.fields["WARC-Target-URI"]: r.block.decode() for r in records if r.kind == "conversion"
    }
    assert found.keys() == {f"{site}/", f"{site}/about", *(f"{site}/rooms/{n}" for n in range(6))}
    assert all(f"lamps of room{n}<" in found[f"{site}/rooms/{n}"] for n in range(6))
    assert "closed on the last Monday" in found[f"{site}/about"]


@inside
def test_whole_pages(tmp_path):
    """Each page of the scope is scrolled, clicked and rendered, and has one document, screenshot
    and PDF, although the crawl is killed; the images that it shows are archived.
    """
    Lively.requested.clear()
    with serving(Lively) as site:
        port = site.rpartition(":")[2]
        crawl = rendering_crawl(
            tmp_path / "job",
            [f"http://site.test:{port}/"],
            HOSTS_FILE=hosts_file(tmp_path, "site.test", "other.test"),
            URL_SCOPE="host",
            REQUISITES=True,
            RENDER="all",
            RENDER_ACTIONS="all",
            RENDER_VIEWS="view pdf",
            DOWNLOAD_TIMEOUT=6,
            CHECKPOINT_INTERVAL=0.2,
        )
        running = crawl.start()
        wait_until(lambda: Lively.requested["/clicked"] > 0, pause=0.05)
        running.kill()
        assert crawl.run() == 0, crawl.output.read_text()

    records = [
        record for path in (crawl.jobdir / "warc").glob("*.warc.gz") for record in read(path)
    ]
    own = {path for path in Lively.pages if path != "/frame"}
    pages = {f"http://site.test:{port}{path}" for path in own}
    documents, views = [
        [record for record in records if record.kind == kind] for kind in ("conversion", "resource")
    ]
    found = {r.fields["WARC-Target-URI"]: r.block.decode("utf-8-sig") for r in documents}
    assert len(documents) == len(found)
    assert found.keys() == pages
    assert sorted(record.fields["WARC-Target-URI"] for record in views) == sorted(
        f"urn:{kind}:{page}" for kind in ("view", "pdf") for page in pages
    )
    assert {(r.fields["Content-Type"], r.block[:4]) for r in views} == {
        ("image/png", b"\x89PNG"),
        ("application/pdf", b"%PDF"),
    }

    document = {url.partition(port)[2]: text for url, text in found.items()}
    assert [n for n in range(1, Lively.parts + 1) if f"of/part/{n} " not in document["/list"]] == []
    assert [n for n in (2, 3, 4) if f"of/part/{n} " not in document["/clicked"]] == []
    assert "drawn" in document["/canvas"]
    archived = {
        r.fields["WARC-Target-URI"].partition(port)[2]
        for r in records
        if r.kind in ("response", "revisit")
    }
    assert {"/drawn.png", *(f"/seen{n}.png" for n in range(1, Lively.parts + 1))} <= archived
    assert "/frame" in archived  # it is shown, and not rendered

    output = crawl.output.read_text()
    flaws = {
        name.removeprefix("flaw/"): number
        for name, number in crawl.stats.items()
        if name.startswith("flaw/")
    }
    assert flaws == {"acted_partly": 1, "unsent": 1}, output  # /endless and /sending
    assert "1 page kept without what scripts would get by sending data" in output
    assert list(verify(crawl.jobdir, Counter())) == []


@inside
def test_no_page_is_lost_in_the_browser(tmp_path):
    """A page with a download, or a document in no encoding, is kept; if there is no document, the
    page stays as it was sent; a document that is too long is named.
    """
    with serving(Unruly) as site:
        crawl = rendering_crawl(
            tmp_path / "job",
            [f"{site}/"],
            RENDER="all",
            RENDER_ACTIONS="more",
            DOWNLOAD_TRUNCATE=10_000,
        )
        assert crawl.run() == 0, crawl.output.read_text()

    output = crawl.output.read_text()
    assert crawl.stats["errors"] == 0, output
    log = (crawl.jobdir / "logs/crawl.log").read_text()
    statuses = {line.split()[3].rpartition("/")[2]: line.split()[1] for line in log.splitlines()}
    assert {statuses[name] for name in Unruly.pages | Unruly.without} == {"200"}
    assert {"by_attached", "by_leaving"} <= statuses.keys()
    documents = {
        record.fields["WARC-Target-URI"].rpartition("/")[2]: record.block
        for path in (crawl.jobdir / "warc").glob("*.warc.gz")
        for record in read(path)
        if record.kind == "conversion"
    }
    assert [name for name in Unruly.pages if b"made" not in documents[name]] == []
    assert documents.keys() & Unruly.without.keys() == set()
    assert "3 pages kept as sent: the browser had no time, or gave no document" in output
    assert "flaw/acted_partly" not in crawl.stats
    assert "1 request of rendered pages refused or failed (503: 1)" in output
    assert "1 document of the browser truncated at DOWNLOAD_TRUNCATE" in output
    assert crawl.stats["rendering/pages"] == crawl.stats["browser/pages"]


@inside
def test_pages_do_not_wait_for_other_hosts_that_are_down(tmp_path):
    """A page whose scripts' hosts do not answer is rendered without these scripts, and in time."""
    Advertised.no_server = free_port()
    with serving(Advertised) as site:
        port = site.rpartition(":")[2]
        crawl = rendering_crawl(
            tmp_path / "job",
            [f"http://site.test:{port}/"],
            HOSTS_FILE=hosts_file(tmp_path, "site.test", "gone.test", "busy.test"),
            URL_SCOPE="host",
            RENDER="all",
            DOWNLOAD_TIMEOUT=6,
            HOST_RETRY_WAIT=60,
        )
        assert crawl.run() == 0, crawl.output.read_text()

    documents = [
        record.block
        for path in (crawl.jobdir / "warc").glob("*.warc.gz")
        for record in read(path)
        if record.kind == "conversion"
    ]
    assert [b"made" in document for document in documents] == [True, True]
    flaws = [name for name in crawl.stats if name.startswith("flaw/")]
    assert flaws == [], crawl.output.read_text()


@inside
def test_the_process_that_starts_the_browser_is_killed(tmp_path):
    """It is started again, and the pages after the one that it had are rendered."""
    with serving(Lively) as site:
        urls = [f"{site}/{name}" for name in ("plain", "item/2", "item/3", "item/4")]
        crawl = rendering_crawl(
            tmp_path / "job",
            [f"{site}/endless", *urls],
            URL_MAX_DEPTH=0,
            RENDER="all",
            RENDER_ACTIONS="scroll",
            PLAYWRIGHT_MAX_CONTEXTS=1,
        )
        Lively.requested.clear()
        running = crawl.start()
        wait_until(lambda: Lively.requested["/part/3"] > 0, pause=0.05)
        crawler = running.process.pid
        children = Path(f"/proc/{crawler}/task/{crawler}/children").read_text().split()
        (driver,) = (
            int(child)
            for child in children
            if b"run-driver" in Path(f"/proc/{child}/cmdline").read_bytes()
        )
        os.kill(driver, signal.SIGKILL)
        assert running.wait() == 0, crawl.output.read_text()

    output = crawl.output.read_text()
    assert (crawl.stats["browser/pages"], crawl.stats["flaw/unrendered"]) == (len(urls), 1), output
    assert "1 page kept as sent" in output


@inside
def test_replays_are_compared(tmp_path, monkeypatch):
    """A package that has all is the same as what the crawl saw, and as the live pages; what it
    lacks is named, and so is a page that has changed. Then the exit status is 1.
    """
    with serving(Lively) as site:
        urls = [f"{site}/clicked", f"{site}/canvas"]
        settings = {"URL_MAX_DEPTH": 0, "RENDER": "all", "RENDER_ACTIONS": "more"}
        for name, more in (
            ("whole", {"REQUISITES": True, "RENDER_VIEWS": "view"}),
            ("lacking", {}),
        ):
            crawl = rendering_crawl(tmp_path / name, urls, **settings, **more)
            assert crawl.run() == 0, crawl.output.read_text()
            packed = command(
                "webcrawl", "export", "wacz", crawl.jobdir, "-o", f"{crawl.jobdir}.wacz"
            )
            assert packed.returncode == 0, packed.stderr

        def qa(name, *more):
            done = command("webcrawl", "qa", tmp_path / f"{name}.wacz", "--actions", "more", *more)
            assert "Traceback" not in done.stderr
            return done

        for more in ((), ("--live",)):
            done = qa("whole", *more)
            assert (done.returncode, done.stdout) == (
                0,
                "2 pages replayed, 0 of them different\n",
            ), done.stderr

        done = qa("lacking")
        assert done.returncode == 1
        assert f"{site}/canvas: text 100.0%, resources 50.0%\n" in done.stdout
        assert f"  missing: {site}/drawn.png\n" in done.stdout
        assert done.stdout.endswith("2 pages replayed, 1 of them different\n")

        later = "<p>words of a later time, which are many more than before" * 9
        monkeypatch.setitem(Lively.pages, "/clicked", Lively.pages["/clicked"] + later)
        rows = {
            row["url"]: row
            for row in map(json.loads, qa("whole", "--live", "--json").stdout.splitlines())
        }
        assert rows[f"{site}/clicked"]["differs"]
        assert rows[f"{site}/clicked"]["text"] < 0.9
        assert not rows[f"{site}/canvas"]["differs"]

    rows = [json.loads(line) for line in qa("whole", "--live", "--json").stdout.splitlines()]
    assert all(row["error"].startswith("the live page cannot be shown: ") for row in rows)
