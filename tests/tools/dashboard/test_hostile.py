"""Nothing that a server, a crawl or a client says can become markup, and no parameter of a request
breaks a page.
"""

import json
import re
import string
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from tests.support.dashboards import FIGURES, Crawls, dashboard, made
from webcrawl.base.readable import readable
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.commands import COMMANDS

EVIL = (
    "</title></style></script><script>alert(1)</script><img src=x onerror=alert(1)>"
    "\"' onload=alert(1) &lt;\u202e\x00\x1b[2J"
)
URL = f'http://{EVIL.replace("/", "_")}/"><script>'
ANSWERS = {
    "status": {**FIGURES, "trouble": EVIL, "in_force": [f"exclude {EVIL}"], "errors": 1},
    "hosts": [{"host": EVIL, "queued": 3, "delay": 1.5, EVIL: EVIL}, {"host": URL, "url": URL}],
    "errors": {EVIL: [EVIL, {EVIL: EVIL}], "lines": [[[[[EVIL]]]]]},
    "host": {"host": EVIL, "via": URL, "list": [EVIL, EVIL], "deep": [[EVIL]]},
    "queue": {EVIL: [URL]},
    "checkpoint": EVIL,
    "resume": CommandError(EVIL),
}
TABS = (
    "",
    "/hosts",
    "/errors",
    "/seeds",
    "/log",
    "/log?name=errors.log",
    "/hosts?host=x",
    "/commands",
    "/why",
)


def why(jobdir, url):
    return {"state": EVIL, "reason": EVIL, "url": url, EVIL: {EVIL: [EVIL]}, "log": [URL]}


@pytest.fixture(name="visitor", scope="module")
def _visitor(tmp_path_factory):
    root = tmp_path_factory.mktemp("hostile")
    one = made(
        root / EVIL.replace("/", "_").replace("\x00", ""),
        stats={"reason": EVIL, "pages": EVIL, "at": EVIL},
    )
    fields = (
        f"2026-11-21T00:00:00.000Z 200 5 {URL} L {URL} text/html #001 20261121000000000+5 - {URL} -"
    )
    line = " ".join(part.replace(" ", "_") for part in fields.split(" "))
    (one / "logs/crawl.log").write_text(f"{line}\n{EVIL}\n\n", encoding="utf-8", errors="replace")
    (one / "logs/errors.log").write_bytes(EVIL.encode() + b"\xff\xfe\n")
    (one / "logs/history.jsonl").write_text(
        '{"at":1}\nnothing\n[]\n{"at":NaN}\n' + "[" * 100_000 + "\n"
    )
    with dashboard(root, Crawls(ANSWERS), why=why) as visitor:
        yield visitor


def check(text):
    """The only script and style are the dashboard's files; nothing has a handler; nothing strange
    is left.
    """
    tree = html.document_fromstring(text)
    assert [one.get("src", "")[-10:] for one in tree.xpath("//script")] == ["/script.js"]
    assert (
        tree.xpath("//script/text() | //style | //img | //iframe | //object | //base | //@style")
        == []
    )
    assert tree.xpath("//@*[starts-with(name(), 'on')]") == []
    assert all(
        one.startswith(("/", "#", "data:,")) for one in tree.xpath("//@href | //@action | //@src")
    )
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e\u2066]", text)
    return tree


class TestTexts:
    @pytest.mark.parametrize("tab", ["", *TABS[1:]])
    def test_texts_stay_texts(self, visitor, tab):
        """Whatever is shown of a crawl is text."""
        tree = check(visitor.page(f"c/{visitor.id}{tab}"))

        assert "onerror=alert(1)>" in tree.text_content()

    def test_the_list_of_crawls(self, visitor):
        """The name of a folder is text."""
        assert "<img src=x onerror=alert(1)>" in check(visitor.page()).text_content()

    def test_an_answer_to_why(self, visitor):
        """So is what is asked, and what is answered."""
        tree = check(visitor.page(f"c/{visitor.id}/why?{urlencode({'url': URL})}"))

        assert tree.xpath("//input[@name='url']/@value") == [readable(URL)]
        assert tree.xpath("//p[@class='verdict']/b/text()")[0].startswith("</title>")

    @pytest.mark.parametrize("command", ["checkpoint", "resume"])
    def test_an_answer_to_a_command(self, visitor, command):
        """An answer and a refusal are shown once, on the page that follows."""
        sent = visitor.send(f"c/{visitor.id}/commands", {"command": command})

        tree = check(visitor.ask(sent.headers["Location"]).text)
        (said,) = tree.xpath("//div[@class='answered']")
        assert "<script>alert(1)</script>" in said.text_content()

    def test_events(self, visitor):
        """What is sent to an open page is the same markup."""

        async def first():
            address = visitor.at(f"{visitor.base}/c/{visitor.id}/hosts/events")
            async with visitor.session.get(address, cookies=visitor.cookie) as answer:
                return await answer.content.readline()

        parts = json.loads(visitor.loop.run_until_complete(first()).removeprefix(b"data: "))
        assert parts.keys() == {"state", "signs", "now", "report"}
        for part in parts.values():
            assert "<script" not in part
            tree = html.fragment_fromstring(part, create_parent=True)
            assert tree.xpath("//img | //@*[starts-with(name(), 'on')]") == []


ANY = st.text(max_size=60) | st.sampled_from(
    [EVIL, "..", "/etc/passwd", "all", "crawl.log", "é" * 50, "queue", "\ud800"]
)
NAMES = ("by", "name", "find", "said", "url", "host", "token0", "", "x")


class TestFuzz:
    @given(
        tab=st.sampled_from((*TABS[:6], "/commands", "/why"))
        | st.text(string.printable, max_size=10).map(lambda text: f"/{text}"),
        query=st.dictionaries(st.sampled_from(NAMES), ANY, max_size=4),
    )
    def test_every_parameter_of_a_page(self, visitor, tab, query):
        """A page is a page or is refused, whatever its address says; nothing is an error of the
        server.
        """
        tab = re.sub(
            r"[^!-~]|[#?%]", lambda one: "".join(f"%{byte:02x}" for byte in one[0].encode()), tab
        )
        path = f"{visitor.base}/c/{visitor.id}{tab}?{urlencode(query, errors='surrogatepass')}"
        if "events" in tab:
            return
        answer = visitor.ask(path)

        assert answer.status in (200, 404)
        if answer.status == 200:
            check(answer.text)

    @given(
        command=st.sampled_from([*COMMANDS]) | ANY,
        words=st.lists(ANY, max_size=3),
        more=st.dictionaries(st.sampled_from(("sure", "word9", "form2", "")), ANY, max_size=2),
    )
    def test_every_field_of_a_form(self, visitor, command, words, more):
        """A form is carried out, asked about once more, or refused; a crawl gets commands of the
        table alone.
        """
        data = {"command": command, "words": " ".join(words), **more}
        clean = {name: value.encode("utf-8", "replace").decode() for name, value in data.items()}
        visitor.crawls.told.clear()
        answer = visitor.send(f"c/{visitor.id}/commands", clean)

        assert answer.status in (200, 303)
        assert all(told[1] in COMMANDS for told in visitor.crawls.told)
        if answer.status == 303:
            check(visitor.ask(answer.headers["Location"]).text)

    @given(
        data=st.binary(max_size=200),
        charset=st.sampled_from(("", "; charset=x", "; charset=utf-16")),
    )
    def test_any_body(self, visitor, data, charset):
        """Bytes that are no form are refused."""
        headers = {"Content-Type": f"application/x-www-form-urlencoded{charset}"}
        answer = visitor.ask(
            f"{visitor.base}/c/{visitor.id}/commands", method="POST", data=data, headers=headers
        )

        assert answer.status in (400, 403)

    @given(
        cookie=st.text(string.printable.strip(), max_size=50),
        host=st.text(string.ascii_letters + ".:[]0123456789", max_size=20),
    )
    def test_any_header(self, visitor, cookie, host):
        """Whatever the headers say, without the token nothing is given."""
        headers = {"Host": host, "Cookie": cookie, "Origin": host}
        assert visitor.ask(f"{visitor.base}/", cookies={}, headers=headers).status in (
            400,
            403,
            421,
        )
