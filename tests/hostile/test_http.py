"""Servers that misbehave in every way: each fetch ends as outcomes.md says, within bounds, and
harms no other.
"""

import asyncio

import pytest

from tests.support.hostile import BOMBS, MISDEEDS, peak, reset_peak, rows, served, told
from tests.support.net_http import Names, client, open_files, run
from webcrawl.base.model import Exchange
from webcrawl.lab.simweb.kinds import misbehaviour
from webcrawl.net.errors import EmptyAnswer, FetchError

pytestmark = pytest.mark.xdist_group("hostile http")  # one server, and each misdeed once

TRUNCATE = 2**18
# one at most: with TLS, a record of which the read before had the beginning comes on top
READ = 2**18 + 2**14
OVERHEAD = 2 * TRUNCATE + 2**16 + READ  # on the wire: docs/network-inside.md
AT_ONCE = 8
NAMES = Names(site0=["127.0.0.1"])
LATE = {name for name, _, outcome in rows("What a server does") if "time" in outcome}


@pytest.fixture(scope="module", name="bases")
def _bases():
    with served() as bases:
        yield dict(zip(("http", "https"), bases, strict=True))


async def fetch(http, url, **options):
    try:
        return await http.fetch(url, **options)
    except FetchError as error:
        return error


async def every(base, kinds=MISDEEDS):
    """Each misdeed's end, several at once; only those meant to time out get a short deadline."""
    turns = asyncio.Semaphore(AT_ONCE)

    async with (
        client(NAMES, truncate=TRUNCATE, timeout=1.2) as hasty,
        client(NAMES, truncate=TRUNCATE, timeout=20.0) as patient,
    ):

        async def one(kind):
            async with turns:
                return kind, await fetch(hasty if kind in LATE else patient, f"{base}/x/{kind}/1")

        return dict(await asyncio.gather(*map(one, kinds)))


@pytest.fixture(scope="module", name="made", params=["http", "https"])
def _made(bases, request):
    """How each of them ended, without and with TLS."""
    return run(every(bases[request.param]))


class TestMisdeeds:
    def test_each_ends_as_documented(self, made):
        """Whatever the server does, the fetch ends in the outcome that outcomes.md names, with
        and without TLS.
        """
        documented = {name: outcome for name, _, outcome in rows("What a server does")}

        assert {kind: told(got) for kind, got in made.items()} == documented

    def test_no_answer_is_larger_than_allowed(self, made):
        """No body is longer than `truncate`, no wire data longer than twice that plus 64 KiB and
        one read.
        """
        answers = [got for got in made.values() if isinstance(got, Exchange)]

        assert len(answers) > 30
        assert max(len(got.body) for got in answers) == TRUNCATE
        assert max(len(got.wire) for got in answers) <= OVERHEAD
        assert max(len(got.head) for got in answers) <= 2**16

    @pytest.mark.parametrize("scheme", ["http", "https"])
    def test_the_next_answer_is_the_next_question_s(self, bases, scheme):
        """Excess data from a server is never taken for the response to the next request on the
        connection.

        A server may have closed it, which is an error of its own; then the request is repeated.
        """

        async def go():
            found = {}
            for kind in [*misbehaviour.LIARS, *misbehaviour.BROKEN]:
                async with client(
                    NAMES, truncate=TRUNCATE, timeout=1.0 if kind in LATE else 10
                ) as http:
                    await fetch(http, f"{bases[scheme]}/x/{kind}/1", keep=5)
                    got = await fetch(http, f"{bases[scheme]}/x/text/1", keep=5)
                    if isinstance(got, EmptyAnswer) and http.counters.stale:
                        got = await fetch(http, f"{bases[scheme]}/x/text/1", keep=5)
                    found[kind] = isinstance(got, Exchange) and got.body.endswith(b"/x/text/1")
            return found

        found = run(go())

        assert [kind for kind, right in found.items() if not right] == []


class TestCosts:
    def test_memory_is_bounded(self, bases):
        """All misdeeds, eight at once, round after round, need no more memory than eight responses
        may have.
        """
        run(every(bases["http"]))  # loads what is loaded only once
        before = reset_peak()
        for _ in range(2):
            run(every(bases["http"], [kind for kind in MISDEEDS if kind not in LATE]))
        most = peak()

        # wire, payload, body and the decoder's buffers
        allowed = AT_ONCE * (2 * OVERHEAD + 2 * TRUNCATE)
        assert most - before < allowed // 1024

    @pytest.mark.parametrize("bomb", BOMBS)
    def test_a_bomb_is_left_alone_early(self, bases, bomb):
        """Of 64 MiB in a small stream no more than `truncate` is ever unpacked."""
        before = reset_peak()
        made = run(every(bases["http"], [bomb]))

        assert len(made[bomb].body) <= TRUNCATE
        assert peak() - before < 24 * 1024

    @pytest.mark.campaign
    def test_no_socket_stays_open(self, bases):
        """However many fetches have failed, no file descriptor is left."""
        run(every(bases["https"], ["hang_midway", "reset"]))
        before = open_files()

        run(every(bases["https"]))

        assert open_files() <= before  # one of the first may have been closing still
