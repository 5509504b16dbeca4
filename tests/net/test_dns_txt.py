"""Texts that a zone publishes, as name servers on loopback tell them."""

import pytest

from tests.support.nameserver import CNAME, SERVFAIL, TXT, NameServer
from tests.support.net_http import LOOPS, run
from webcrawl.net.dns_records import TextRecords
from webcrawl.net.errors import DnsFailed

NAME = "_place.one.test"


def ask(server, *names):
    """The records of these names, asked for one after the other."""

    async def go():
        async with server.running():
            texts = TextRecords([("127.0.0.1", server.port)], timeout=0.2, tries=1)
            return [await texts.of(name) for name in names]

    return go()


@pytest.mark.parametrize("loop", LOOPS)
class TestTexts:
    def test_all_of_a_name(self, loop):
        """Every record counts, a long one with all its strings, also behind an alias and by TCP."""
        server = NameServer()
        server.add(NAME, "first", kind=TXT)
        server.add(NAME, "x" * 300, kind=TXT)
        server.zone["_alias.test"] = [("_alias.test", CNAME, 60, NAME), *server.zone[NAME]]
        server.truncated.add(NAME)

        first, second = run(ask(server, NAME, "_alias.test"), loop)

        assert first == second == [b"first", b"x" * 300]
        assert {transport for _, _, transport in server.questions} == {"udp", "tcp"}

    def test_a_name_without_a_record_has_none(self, loop):
        """A name without such a record, or that is not there, has none."""
        server = NameServer()
        server.add("one.test", "192.0.2.1")

        assert run(ask(server, "one.test", "two.test"), loop) == [[], []]

    @pytest.mark.parametrize("fault", ["silent", "failed"])
    def test_no_answer(self, loop, fault):
        """Silence and failures of the servers are no answer."""
        server = NameServer(codes={NAME: SERVFAIL} if fault == "failed" else {})
        server.silent.update({NAME} if fault == "silent" else ())

        with pytest.raises(DnsFailed, match=r"_place\.one\.test: "):
            run(ask(server, NAME), loop)

    def test_what_was_just_published(self, loop):
        """An answer is not kept: who publishes a record and asks again is heard."""
        server = NameServer()

        async def go():
            async with server.running():
                texts = TextRecords([("127.0.0.1", server.port)], timeout=0.2, tries=1)
                before = await texts.of(NAME)
                server.add(NAME, "now", kind=TXT)
                return before, await texts.of(NAME)

        assert run(go(), loop) == ([], [b"now"])
