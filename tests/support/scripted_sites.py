"""Sites of which some need a browser: one server, told apart by the names of its hosts."""

from __future__ import annotations

import json
from base64 import b64decode
from collections import Counter
from typing import ClassVar

from tests.support.plain_site import Site

ROOM = "<div id=root></div><script type=module src=/app.js></script>"
# it changes nothing that is read or followed
STATISTICS = "<script>document.body.dataset.seen = 1</script>"
APP = b"""
const get = async path => (await fetch(path)).json(), root = document.getElementById('root')
const number = location.pathname.slice(1) || 0
if (!number) {
    for (const n of await get('/api/list')) root.innerHTML += `<a href="/${n}">item</a> `
}
root.innerHTML += (await get(`/api/${number}`)).text + '<img src="/seen.png">'
"""
LATER = "<script>fetch('/api' + location.pathname).then(r => r.json()).then(u => document.body.append(u.text))</script>"


def text(host: str, number: int, word: str) -> str:
    """Return words that no other page has."""
    return " ".join(f"{word}{number}of{place}{host}" for place in range(20))


def sent(host: str, number: int) -> str:
    """Return the text of a page as it is sent, if it has any."""
    if number == 0:
        has_text = host in ("plain.test", "mixed.test", "hollow.test")
    elif host == "mixed.test":
        has_text = number > 1
    else:
        has_text = host in ("plain.test", "lazy.test")
    return text(host, number, "sent") if has_text else ""


def made(host: str, number: int) -> str:
    """Return the text of a page that only its scripts bring, if they do."""
    is_mixed = host == "mixed.test" and number == 1
    has_text = host in ("app.test", "lazy.test") or is_mixed
    return text(host, number, "made") if has_text else ""


class Scripted(Site):
    """`pages` of each site beside its first; `requested` has host and path of each request.

    plain.test needs no scripts; app.test is made by them; on lazy.test a part of each page comes
    later; hollow.test looks behind its first page as if scripts would make it, and they make
    nothing; one page of mixed.test needs them.
    """

    pages: ClassVar = {
        "plain.test": 2,
        "app.test": 3,
        "lazy.test": 3,
        "hollow.test": 4,
        "mixed.test": 3,
    }
    requested: ClassVar = Counter()

    def answer(self) -> None:
        host = self.headers["Host"].partition(":")[0]
        self.requested[host, self.path] += 1
        number = self.path.rpartition("/")[2]
        if self.path == "/robots.txt":
            self.say(404, b"")
        elif self.path == "/app.js":
            self.say(200, APP, content_type="text/javascript")
        elif self.path == "/api/list":
            self.say(
                200,
                json.dumps([*range(1, self.pages[host] + 1)]).encode(),
                content_type="application/json",
            )
        elif self.path.startswith("/api/"):
            said = json.dumps({"text": made(host, int(number))})
            self.say(200, said.encode(), content_type="application/json")
        else:
            page = (
                f"<!doctype html><title>{host} {number}</title>{self.page(host, int(number or 0))}"
            )
            self.say(200, page.encode(), content_type="text/html")

    def page(self, host: str, number: int) -> str:
        links = (
            " ".join(f"<a href=/{one}></a>" for one in range(1, self.pages[host] + 1))
            if not number
            else ""
        )
        if not sent(host, number):
            return f"<div id=app></div>{STATISTICS}" if host == "hollow.test" else ROOM
        return f"<p>{sent(host, number)}</p>{LATER if host == 'lazy.test' else STATISTICS}{links}"


# A picture of one point
DOT = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
LIST = """<div id=list></div><script>
let number = 0
const load = async () => {
    if (++number > %d) return
    const text = await (await fetch('/part/' + number)).text()
    list.innerHTML += `<div style="height: 900px">${text} <img src="/seen${number}.png"></div>`
}
load().then(load)
addEventListener('scroll', () => { if (scrollY + innerHeight > document.body.scrollHeight - 9) load() })
</script>"""
CLICKED = """<p>first</p><button id=button>Load more</button><a href="/plain">Read more</a>
<form action="/plain"><button>More filters</button></form><script>
let number = 1
button.onclick = async () => {
    const text = await (await fetch('/part/' + ++number)).text()
    button.insertAdjacentHTML('beforebegin', `<p>${text} <a href="/item/${number}">item</a></p>`)
    if (number === 4) button.remove()
}</script>"""
# Each click opens it, or closes it again
MENU = """<p>words of a menu</p><button>More</button><div id=menu></div><script>
document.querySelector('button').onclick = () => { menu.innerHTML = menu.innerHTML ? '' : '<b>open</b>' }
</script>"""
CANVAS = """<p>a picture</p><canvas id=canvas></canvas><script>
const image = new Image()
image.onload = () => { canvas.getContext('2d').drawImage(image, 0, 0); document.title = 'drawn' }
image.src = '/drawn.png'
</script>"""
SENDING = (
    "<p>it sends</p><script>fetch('/form', {method: 'POST', body: 'x'}).catch(() => 0)</script>"
)


class Lively(Site):
    """Pages of which a reader sees the whole only after scrolling and clicking."""

    parts = 5  # of the list that has an end
    pages: ClassVar = {
        "/": "".join(
            f'<a href="/{name}">{name}</a> '
            for name in ("list", "endless", "clicked", "menu", "canvas", "sending", "framing")
        ),
        "/list": LIST % parts,
        "/endless": LIST % 1_000_000,
        "/clicked": CLICKED,
        "/menu": MENU,
        "/canvas": CANVAS,
        "/sending": SENDING,
        "/framing": '<p>around</p><iframe src="http://other.test:%(port)s/frame"></iframe>',
        "/frame": "<p>inner</p><script>document.body.append('made')</script>",
        "/plain": "<p>words without any script</p>",
        **{f"/item/{number}": f"<p>item {number}</p>" for number in (2, 3, 4)},
    }
    requested: ClassVar = Counter()

    def answer(self) -> None:
        self.requested[self.path] += 1
        if self.path in self.pages:
            page = f"<!doctype html><title>{self.path}</title>{self.pages[self.path]}"
            page = page.replace("%(port)s", str(self.server.server_address[1]))
            self.say(200, page.encode(), content_type="text/html")
        elif self.path.endswith(".png"):
            self.say(200, DOT, content_type="image/png")
        elif self.path.startswith("/part/"):
            self.say(200, f"words of{self.path}".encode(), content_type="text/plain")
        else:
            self.say(404, b"", content_type="text/plain")


def _made(script: str) -> str:
    return f"<p>sent</p><script>document.body.append('made'); {script}</script>"


class Unruly(Site):
    """Pages that a browser shows, but not as pages mostly are."""

    pages: ClassVar = {
        "downloading": "<p>sent</p><iframe src=/file></iframe><script>document.body.append('made')</script>",
        "asking": _made("fetch('/busy')"),
        "unencodable": _made("document.body.append('\\ud800')"),
        "a|b": _made(""),  # in Chromium's own URLs | is escaped
        "encoding": _made(""),  # its head names an encoding that cannot encode
        "long": _made("document.body.append('x'.repeat(20_000))"),
    }
    # The browser has no document of these
    without: ClassVar = {
        "attached": "<p>words</p><a href=/by_attached>by</a>",
        "left": "<p>words</p><button onclick=\"location = 'about:blank'\">More</button>",
        "leaving": "<p>words</p><a href=/by_leaving>by</a><script>location = 'about:blank'</script>",
    }

    def answer(self) -> None:
        name = self.path[1:]
        pages = self.pages | self.without
        more = {"content_disposition": "attachment"} if name in ("attached", "file") else {}
        if name == "robots.txt":
            self.say(404, b"")
        elif name == "busy":
            self.say(503, b"")
        elif name == "file":
            self.say(200, b"\0" * 100, content_type="application/octet-stream", **more)
        else:
            links = "".join(f"<a href=/{one}>{one}</a>" for one in pages)
            body = f"<!doctype html><title>{name}</title>{pages.get(name, links)}"
            charset = "hex" if name == "encoding" else "utf-8"
            self.say(200, body.encode(), content_type=f"text/html; charset={charset}", **more)
