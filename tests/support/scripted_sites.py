"""Sites of which some need a browser: one server, told apart by the names of its hosts."""

from __future__ import annotations

import json
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
    """Words that no other page has."""
    return " ".join(f"{word}{number}of{place}{host}" for place in range(20))


def sent(host: str, number: int) -> str:
    """The text of a page as it is sent, if it has any."""
    first = host in ("plain.test", "mixed.test", "hollow.test") and not number
    other = host in ("plain.test", "lazy.test") or (host == "mixed.test" and number > 1)
    return text(host, number, "sent") if first or (number and other) else ""


def made(host: str, number: int) -> str:
    """The text of a page that only its scripts bring."""
    scripted = host in ("app.test", "lazy.test") or (host == "mixed.test" and number == 1)
    return text(host, number, "made") if scripted else ""


class Scripted(Site):
    """`pages` of each site beside its first; `asked` has host and path of each request.

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
    asked: ClassVar = Counter()

    def answer(self) -> None:
        host = self.headers["Host"].partition(":")[0]
        self.asked[host, self.path] += 1
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
