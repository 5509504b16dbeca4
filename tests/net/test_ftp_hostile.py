"""The FTP client against servers that err, lie, stall and flood: each fetch ends, within its
bounds, in a known way.
"""

import itertools

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.net_ftp import Script, ask, client
from tests.support.net_http import LOOPS, run, serving
from webcrawl.base.model import Exchange, Status
from webcrawl.crawl.page_links import ftp_links
from webcrawl.net.errors import ConnectionLost, EmptyAnswer, FetchError, TimedOut
from webcrawl.net.ftp_session import NotFtp, ReplyTooLong

VERBS = ("USER", "PASS", "TYPE", "SIZE", "MDTM", "EPSV", "RETR")


class TestTheTalk:
    def test_the_order_of_things(self):
        """A file takes folders, facts, a passive connection, the transfer, and QUIT, in this order."""
        script = Script(b"abc", SIZE=b"213 3\r\n", MDTM=b"213 19941106084937\r\n")
        got = run(ask(script, "/a/b%20c//d%E9", user_agent="tests/1 (me@home.test)"))

        assert (got.status, got.body, got.truncated) == (200, b"abc", "")
        assert script.requested[:9] == [
            b"USER anonymous\r\n",
            b"PASS tests/1 (me@home.test)\r\n",
            b"CWD a\r\n",
            b"CWD b c\r\n",
            b"TYPE I\r\n",
            b"SIZE d\xe9\r\n",
            b"MDTM d\xe9\r\n",
            b"EPSV\r\n",
            b"RETR d\xe9\r\n",
        ]

    @pytest.mark.parametrize("loop", LOOPS)
    def test_the_farewell(self, loop):
        """A session ends with QUIT, whether the fetch succeeded or not."""

        async def go(script):
            async with serving(script) as port, client() as ftp:
                await ftp.fetch(f"ftp://a.test:{port}/x")
                await script.quit.wait()

        run(go(Script(b"abc")), loop)
        run(go(Script(RETR=b"550 no\r\n", CWD=b"550 no\r\n")), loop)

    def test_nobody_s_password(self):
        """A user agent without a mail address gets the @ that some servers check; nothing in it
        ends the line.
        """
        script = Script(b"abc")
        run(ask(script, user_agent="tests/1\r\nDELE x"))
        assert script.requested[1] == b"PASS tests/1  DELE x@\r\n"

    def test_no_password(self):
        """A server that wants no password gets none."""
        script = Script(b"abc", USER=b"230 come in\r\n")
        assert run(ask(script)).status == 200
        assert "PASS" not in script.verbs

    def test_type_a(self):
        """`;type=a` is a text transfer, whose length differs from the file's."""
        script = Script(b"a\r\n", SIZE=b"213 99\r\n")
        got = run(ask(script, "/x;type=a"))
        assert b"TYPE A\r\n" in script.requested
        assert (got.body, got.truncated) == (b"a\r\n", "")

    def test_replies_of_many_lines(self):
        """A greeting of many lines, some of which look like replies, is one reply."""
        greeting = b"220-hello\r\n331 not the end\r\n 220 nor this\r\n220-nor this\r\n2200 nor this\n220\r\n"
        assert run(ask(Script(b"abc", greeting=greeting))).status == 200

    def test_list_where_mlsd_is_refused(self):
        """LIST is sent to a server without MLSD, on a new data connection."""
        script = Script(
            b"-rw-r--r-- 1 a b 3 Jan  1 2000 \xff\xfe \x01?#%&x\r\n", MLSD=b"502 no\r\n"
        )

        async def go():
            async with serving(script) as port, client() as ftp:
                listed = await ftp.fetch(f"ftp://a.test:{port}/")
                ((_, link, _, _),) = ftp_links(
                    listed.body, listed.headers[0][1].decode(), listed.url
                ).links
                return await ftp.fetch(f"ftp://a.test:{port}/{link}")

        assert run(go()).status == 200
        assert script.verbs.count("EPSV") == 3
        assert b"RETR \xff\xfe \x01?#%&x\r\n" in script.requested

    def test_epsv_is_refused_once(self):
        """A server without EPSV is not sent it again in the same session."""
        script = Script(b"", EPSV=b"500 what?\r\n", MLSD=b"502 no\r\n")
        assert run(ask(script, "/")).status == 200
        assert [verb for verb in script.verbs if verb in ("EPSV", "PASV")] == [
            "EPSV",
            "PASV",
            "PASV",
        ]


class TestWords:
    @pytest.mark.parametrize(
        ("words", "status"),
        [
            ({"greeting": b"421 too many\r\n"}, 503),
            ({"greeting": b"120 in 10 minutes\r\n"}, 503),
            ({"greeting": b"530 no\r\n"}, 403),
            ({"USER": b"332 account?\r\n"}, 403),
            ({"USER": b"530 not you\r\n"}, 403),
            ({"PASS": b"530 not you\r\n"}, 403),
            ({"PASS": b"332 account?\r\n"}, 403),
            ({"PASS": b"530 Sorry, the maximum number of clients (5) are connected\r\n"}, 503),
            ({"USER": b"530-Sorry\r\n530 Too many users, try later\r\n"}, 503),
            ({"PASS": b"421 too many\r\n"}, 503),
            ({"TYPE": b"421 bye\r\n"}, 503),
            ({"RETR": b"550 not here\r\n", "CWD": b"550 nor here\r\n"}, 404),
            ({"RETR": b"553 bad name\r\n", "CWD": b"550 no\r\n"}, 404),
            ({"RETR": b"450 busy\r\n"}, 500),
            ({"RETR": b"425 no connection\r\n"}, 500),
            ({"RETR": b"500 what?\r\n", "CWD": b"500 what?\r\n"}, 400),
            ({"EPSV": b"500 what?\r\n", "PASV": b"500 what?\r\n"}, 400),
            ({"RETR": b"550 a folder\r\n", "CWD": b"250 ok\r\n"}, 301),
        ],
    )
    def test_refusals_are_answers(self, words, status):
        """A refusal has the corresponding HTTP status and no body."""
        got = run(ask(Script(b"abc", **words)))
        assert (got.status, got.body) == (status, b"")

    @pytest.mark.parametrize(
        "words",
        [
            {"greeting": b"HTTP/1.1 400 Bad Request\r\n\r\n"},
            {"greeting": b"SSH-2.0-x\r\n"},
            {"greeting": b"\r\n"},
            {"greeting": b"2200 hello\r\n"},
            {"greeting": b"331 hello\r\n"},
            {"greeting": bytes(range(256))},
            {"USER": b"150 what\r\n"},
            {"EPSV": b"229 ok\r\n", "PASV": b"227 ok\r\n"},
            {"EPSV": b"229 ok (|||0|)\r\n"},
            {"EPSV": b"229 ok (|||65536|)\r\n"},
            {"EPSV": b"500 no\r\n", "PASV": b"227 ok 127,0,0,1,999,999\r\n"},
            {"EPSV": b"500 no\r\n", "PASV": b"227 ok 127,0,0,1,0,0\r\n"},
            {"RETR": b"331 password?\r\n"},
        ],
    )
    def test_nonsense_is_no_ftp(self, words):
        """An invalid or unexpected FTP reply is an error with a name."""
        with pytest.raises(NotFtp) as error:
            run(ask(Script(b"abc", **words)))
        assert (error.value.name, error.value.status) == ("not_ftp", Status.CONNECTION_LOST)

    @pytest.mark.parametrize("verb", VERBS)
    def test_leaving_in_the_middle(self, verb):
        """A control connection that ends before a reply is ConnectionLost."""
        with pytest.raises(ConnectionLost):
            run(ask(Script(b"abc", **{verb: None})))

    def test_leaving_at_once(self):
        """A server that closes without any reply is EmptyAnswer."""

        async def shut(reader, writer):
            pass

        with pytest.raises(EmptyAnswer):
            run(ask(shut))

    @pytest.mark.parametrize("verb", VERBS)
    def test_silence_in_the_middle(self, verb):
        """A server that falls silent before a transfer times out."""
        with pytest.raises(TimedOut):
            run(ask(Script(b"abc", **{verb: b""}), timeout=0.2))

    @pytest.mark.parametrize("verb", VERBS)
    def test_the_commands_must_be_over_within_the_grace(self, verb):
        """With a least rate, a server that falls silent before a transfer times out long before the
        deadline.
        """
        with pytest.raises(TimedOut):
            run(ask(Script(b"abc", **{verb: b""}), timeout=3600, grace=0.2, rate=1000))

    def test_a_transfer_that_is_too_slow(self):
        """A transfer slower than the least rate is truncated long before its deadline."""
        got = run(ask(Script(b"abc", stall=True), timeout=3600, grace=0.2, rate=1000))
        assert (got.payload, got.truncated) == (b"abc", "time")

    @pytest.mark.parametrize("line", [b"220-x\r\n", b"220-", b"\xff" * 100])
    def test_a_greeting_without_end(self, line):
        """A reply that never ends is abandoned, whether it has many lines or one."""
        sent = 0

        async def flood(reader, writer):
            nonlocal sent
            writer.write(b"220-")
            for _ in itertools.count():
                writer.write(line * 1000)
                sent += len(line) * 1000
                await writer.drain()

        with pytest.raises(ReplyTooLong):
            run(ask(flood))
        assert sent < 20_000_000


REPLIES = st.one_of(
    st.none(),
    st.binary(max_size=60).map(lambda text: text + b"\r\n"),
    st.builds(
        lambda code, text: b"%d %s\r\n" % (code, text), st.integers(0, 700), st.binary(max_size=20)
    ),
    st.just(b"229 ok (|||PORT|)\r\n"),
)


class TestAnything:
    @examples(150, suppress_health_check=[HealthCheck.too_slow])
    @given(
        words=st.dictionaries(
            st.sampled_from((*VERBS, "MLSD", "LIST", "CWD", "PASV", "greeting", "end")), REPLIES
        ),
        data=st.binary(max_size=300),
        path=st.sampled_from(["/", "/a/b", "/x;type=a"]),
    )
    def test_every_visit_ends(self, words, data, path):
        """Whatever a server sends, a fetch ends in an Exchange or a FetchError, within its
        deadline.
        """
        words = {
            name: reply or b"" if name in ("greeting", "end") else reply
            for name, reply in words.items()
        }
        try:
            got = run(ask(Script(data, **words), path, timeout=0.15, truncate=200))
        except FetchError:
            return
        assert isinstance(got, Exchange)
        assert 200 <= got.status < 600
        assert len(got.payload) <= 200
