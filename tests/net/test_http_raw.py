"""Responses from other clients' test suites, replayed byte by byte: curl's and llhttp's own cases."""

import hashlib
import json
import re

import ada_url
import pytest

from tests.support.cases import cases
from tests.support.hostile import rows, told
from tests.support.net_http import bounds, client, run, serving
from webcrawl.base.model import Exchange
from webcrawl.net.errors import BadAnswer, FetchError
from webcrawl.net.http_answer import AnswerParser

HTTP09 = "--http0.9"
OWN_LENGTH = "--ignore-content-length"


def curl_cases():
    return [
        json.loads(line) for line in (cases("http-raw") / "index.jsonl").read_text().splitlines()
    ]


class Replay:
    """curl's test server: the last number in the path selects the bytes to send; then it closes."""

    def __init__(self, folder):
        self.folder = folder

    async def __call__(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        number = int((re.findall(rb"\d+", head.split(b" ")[1].partition(b"?")[0]) or [b"0"])[-1])
        case, part = (number, 0) if number < 10000 else divmod(number, 10000)
        file = self.folder / "responses" / f"{case}.{part}.http"
        writer.write(
            file.read_bytes()
            if file.exists()
            else b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        )
        writer.write_eof()
        await reader.read()


async def fetch(http, port, case):
    """The result of a case: the last exchange, or the error."""
    options = case["curl_options"]
    hops = int(options[options.index("--max-redirs") + 1]) if "--max-redirs" in options else 10
    url = case["request_url"]
    url = ada_url.URL(url if "://" in url or url.startswith("http:/") else f"http://{url}").href
    url = url.replace(":8990", f":{port}")
    # as curl's test requested, in its own way
    requested = [(b"If-None-Match", b'"1"')] if case["http_code"] == 304 else []
    while True:
        try:
            got = await http.fetch(
                url, method="HEAD" if "-I" in options else "GET", headers=requested
            )
        except FetchError as error:
            return error
        places = [value for name, value in got.headers if name.lower() == b"location" and value]
        if (
            not places
            or got.status // 100 != 3
            or not {"-L", "--location"} & set(options)
            or not hops
        ):
            return got
        url, hops = (
            ada_url.join_url(url, places[0].decode("latin-1").replace(":8990", f":{port}")),
            hops - 1,
        )


def outcomes():
    """Every case with its outcome."""
    listed = curl_cases()

    async def go():
        async with serving(Replay(cases("http-raw"))) as port, client() as http:
            small = {"--max-filesize": 143}
            made = []
            for case in listed:
                size = next(
                    (small[option] for option in case["curl_options"] if option in small), 2**21
                )
                http.use(bounds({"truncate": size}))
                made.append((case, await fetch(http, port, case)))
            return made

    return run(go())


@pytest.fixture(scope="module", name="outcomes")
def _outcomes():
    return outcomes()


def whole(got):
    return isinstance(got, Exchange) and not got.truncated and not got.flaws


class TestCurl:
    def test_every_case_has_an_outcome(self, outcomes):
        """Each case ends in an exchange or in an error with a name."""
        assert len(outcomes) == 115
        assert all(
            isinstance(got, Exchange) or type(got).name != "unexpected" for _, got in outcomes
        )

    def test_what_curl_takes_is_taken(self, outcomes):
        """Where old and new curl accept a response alike, status and body are the same as theirs."""
        wrong = {}
        for case, got in outcomes:
            options = case["curl_options"]
            if (
                not case["agree"]
                or case["replay_exit"]
                or HTTP09 in options
                or OWN_LENGTH in options
            ):
                continue
            body = got.head if "-I" in options and whole(got) else getattr(got, "body", b"")
            if not whole(got) or got.status != case["http_code"] or sha1(body) != case["body_sha1"]:
                wrong[case["id"]] = got

        assert wrong == {}

    def test_what_curl_refuses_is_no_whole_page(self, outcomes):
        """Where old and new curl both reject a response, nothing is stored as a whole page."""
        # an error page, a redirect: whole responses that only curl's options made failures
        expected = {22, 47}
        wrong = [case["id"] for case, got in outcomes
                 if case["agree"] and case["replay_exit"] not in (0, *expected) and whole(got)
                 and got.status // 100 == 2]  # fmt: skip

        assert wrong == []

    def test_http_0_9_is_refused_by_name(self, outcomes):
        """Responses without a head are refused as such: curl accepts them only with an option."""
        named = {case["id"]: got.name for case, got in outcomes if HTTP09 in case["curl_options"]}

        assert named == {1266: "not_http", 1267: "not_http", 66: "not_http"}

    def test_a_length_is_obeyed(self, outcomes):
        """A wrong length is obeyed: curl has an option to ignore it, here the page is truncated."""
        (got,) = [got for case, got in outcomes if OWN_LENGTH in case["curl_options"]]

        assert (got.body, got.truncated) == (b"muahahaha\n", "disconnect")


def sha1(data):
    return hashlib.sha1(data).hexdigest()  # noqa: S324 - as the cases have it


def llhttp_cases():
    lines = (cases("http-raw") / "llhttp-responses.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def read(raw):
    """The message in these bytes, with the head's end added where the case lacks it."""
    answer = AnswerParser(2**21)
    data = raw.encode("latin-1")
    if b"\r\n\r\n" not in data and b"\n\n" not in data:
        data = data.rstrip(b"\r\n") + b"\r\n\r\n"
    try:
        return answer.feed(data) or answer.lost(reset=False)
    except BadAnswer as error:
        return error


# what llhttp itself rejects: our outcome, by name, or the body as far as it is accepted
LLHTTP_REFUSES = {
    "HTTP/1.1 with keep-alive disabled and 204 status": b"",
    "HTTP 101 response with Upgrade and Content-Length header": "upgraded",
    "Extra digit in HTTP major version": "bad_head",
    "Extra digit in HTTP minor version": "bad_head",
    "Bare CR after response line": b"",
    "Bare CR followed by CR after response line": b"Evil",
    "One-digit status code": "bad_head",
    "Only LFs present and no body": b"",
    "Only LFs present": b"BODY\n\\",
    "Error on invalid response start": "not_http",
    "No carriage ret": b"these headers are from http://news.ycombinator.com/",
    "Spaces in header name": b"<xml>hello</xml>",
    "No extension after semicolon": "chunking",
    "Unbalanced chunk extensions quoting": "chunking",
}
OTHER_PROTOCOL = "RTSP response"
# the collection merged two cases: the recorded result belongs to the second
TWO_CASES_IN_ONE = "Google 301"


class TestLlhttp:
    def test_what_llhttp_takes_is_taken(self):
        """Where llhttp accepts a response, status and body length are the same."""
        for case in llhttp_cases():
            if case["error"] is not None or case["title"] in (OTHER_PROTOCOL, TWO_CASES_IN_ONE):
                continue
            got = read(case["raw"])
            size = len(got.forms()[1])

            assert got.head.status == case["status"], case["title"]
            assert size == case["body_bytes"] or got.truncated == "disconnect", case["title"]

    def test_what_llhttp_refuses_has_a_named_outcome(self):
        """What llhttp rejects is refused, flagged, or read as every browser reads it; never
        silently.
        """
        made = {}
        for case in llhttp_cases():
            if case["error"] is not None:
                got = read(case["raw"])
                made[case["title"]] = (
                    got.name if isinstance(got, BadAnswer) else (got.flaws or [got.forms()[1]])[0]
                )

        assert made == LLHTTP_REFUSES

    def test_another_protocol(self):
        """RTSP looks like HTTP but is refused."""
        (case,) = [case for case in llhttp_cases() if case["title"] == OTHER_PROTOCOL]

        assert read(case["raw"]).name == "not_http"


def differences(made):
    """Every case that does not simply end as with curl: what is recorded, and our outcome."""
    return {
        f"curl {case['id']}": (recorded(case), size(got))
        for case, got in made
        if not as_recorded(case, got)
    }


def as_recorded(case, got):
    if not case["agree"] or case["replay_exit"] or not whole(got):
        return False
    body = got.head if "-I" in case["curl_options"] else got.body
    return (got.status, sha1(body)) == (case["http_code"], case["body_sha1"])


def recorded(case):
    old = (
        f"refused ({case['replay_exit']})"
        if case["replay_exit"]
        else f"{case['http_code']}, {case['body_len']} bytes"
    )
    if case["agree"]:
        return old
    later = f"refused ({case['suite_exit']})" if case["suite_exit"] else "taken"
    return f"{old}; later {later}"


def size(got):
    return f"{told(got)}, {len(got.body)} bytes" if isinstance(got, Exchange) else told(got)


def differences_from_llhttp():
    found = {}
    for case in llhttp_cases():
        got, error = read(case["raw"]), case["error"]
        if isinstance(got, BadAnswer):
            here = got.name
        else:
            flaws = [str(got.head.status), *([got.truncated] if got.truncated else []), *got.flaws]
            here = f"{', '.join(flaws)}, {len(got.forms()[1])} bytes"
        there = (
            f"refused ({error['reason'].replace('`', '')})"
            if error
            else f"{case['status']}, {case['body_bytes']} bytes"
        )
        if here != there:
            found[case["id"].removeprefix("test/response/").replace(".md#", " ")] = (there, here)
    return found


class TestTable:
    def test_no_difference_is_silent(self, outcomes):
        """tests/hostile/outcomes.md has exactly the cases that end otherwise than recorded."""
        documented = {name: (there, here) for name, _, there, here in rows("Recorded answers")}

        assert documented == differences(outcomes) | differences_from_llhttp()
