"""Which hubs are asked, what they may ask, and whom of them we believe: signed pushes."""

import hashlib
import hmac
from contextlib import closing
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.net import websub as module
from webcrawl.net.websub import (
    DAY,
    GONE,
    HOUR,
    LEASE,
    METHODS,
    PATIENCE,
    RETRY,
    TRIES,
    Subscriptions,
    SubscriptionState,
    is_signed,
)
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

TOPIC, HUB, NOW = "http://a.test/feed", "http://hub.test/", 1_800_000_000.0


def open_at(db):
    return Subscriptions(db, bytes(16), "https://crawl.test/websub/")


@pytest.fixture
def subscriptions(db):
    return open_at(db)


def offer(subscriptions, topic=TOPIC, hubs=(HUB,), now=NOW, site="a.test"):
    subscriptions.offered(topic, list(hubs), b"page", site, now)


def asked(subscriptions, now=NOW):
    """The subscription that is asked for now, and its form."""
    (one,) = subscriptions.due(now, 10)
    return one.token, dict(parse_qsl(subscriptions.form(one).decode()))


def accepted(subscriptions, now=NOW):
    offer(subscriptions, now=now)
    token, form = asked(subscriptions, now)
    subscriptions.sent(token, 202, now)
    return token, form


def verify(subscriptions, token, now=NOW, **more):
    said = {
        "hub.mode": "subscribe",
        "hub.topic": TOPIC,
        "hub.challenge": "c",
        "hub.lease_seconds": "86400",
    }
    return subscriptions.verify(
        token, {**said, **{f"hub.{name}": value for name, value in more.items()}}, now
    )


def active(subscriptions, now=NOW):
    token, form = accepted(subscriptions, now)
    assert verify(subscriptions, token, now) == "c"
    return token, form["hub.secret"]


def sign(secret, body):
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


class TestAsking:
    def test_a_hub_that_is_offered_is_asked_once(self, subscriptions):
        """With what the specification wants in a request."""
        for _ in range(3):
            offer(subscriptions)
        token, form = asked(subscriptions)
        assert form["hub.callback"] == f"https://crawl.test/websub/{token}"
        assert (form["hub.mode"], form["hub.topic"], form["hub.lease_seconds"]) == (
            "subscribe",
            TOPIC,
            str(int(LEASE)),
        )
        assert 40 <= len(form["hub.secret"].encode()) < 200
        assert form["hub.secret"] != token
        assert subscriptions.due(NOW, 10) == []

    def test_each_topic_has_a_callback_and_a_secret_of_its_own(self, subscriptions, tmp_path):
        """And so has each crawl."""
        offer(subscriptions, "http://a.test/1")
        offer(subscriptions, "http://a.test/2")
        one, other = subscriptions.due(NOW, 10)
        assert one.token != other.token
        assert subscriptions.form(one) != subscriptions.form(other)
        with closing(CrawlDB(tmp_path / "another")) as db:
            crawl = Subscriptions(db, bytes([1] * 16), "http://x")
            offer(crawl, "http://a.test/1")
            assert crawl.due(NOW, 10)[0].token not in {one.token, other.token}

    def test_a_crash_forgets_no_callback(self, tmp_path):
        """What was asked since the checkpoint is asked again with the same callback and secret: the
        hub has one.
        """
        forms = []
        for _ in range(2):
            with closing(CrawlDB(tmp_path)) as db:
                subscriptions = open_at(db)
                offer(subscriptions)
                forms.append(asked(subscriptions))
        assert forms[0] == forms[1]

    @pytest.mark.parametrize("status", [-2, 0, 500, 503, 429, 408, 302, 199])
    def test_a_failure_is_tried_again(self, subscriptions, status):
        """Later each time, and then left alone for a month."""
        offer(subscriptions)
        now, waits = NOW, []
        for _ in range(TRIES):
            token, _ = asked(subscriptions, now)
            subscriptions.sent(token, status, now)
            waits.append(subscriptions.get(token).due - now)
            now += waits[-1]
        assert waits == [*(RETRY * 2**number for number in range(TRIES - 1)), GONE]
        assert subscriptions.get(token).state == SubscriptionState.GONE

    @pytest.mark.parametrize("status", [400, 403, 404, 410, 422])
    def test_a_refusal(self, subscriptions, status):
        """The hub is not asked again for a month, and the next one that the page names is."""
        offer(subscriptions, hubs=[HUB, "http://other.test/"])
        token, _ = asked(subscriptions)
        subscriptions.sent(token, status, NOW)
        offer(subscriptions, hubs=[HUB, "http://other.test/"])
        (one,) = subscriptions.due(NOW, 10)
        assert (one.hub, subscriptions.get(token).due) == ("http://other.test/", NOW + GONE)

    def test_a_hub_that_never_verifies(self, subscriptions):
        """It is asked again, later each time, and then left alone."""
        token, _ = accepted(subscriptions)
        now, times = NOW, 1
        while subscriptions.get(token).state != SubscriptionState.GONE:
            now = subscriptions.get(token).due
            times += len(subscriptions.due(now, 10))
        assert times == TRIES
        assert NOW + TRIES * PATIENCE < now < NOW + DAY

    def test_a_request_that_waits_for_its_hubs_turn(self, subscriptions):
        """However long that takes, the hub has not failed; its time to verify begins with its
        answer.
        """
        offer(subscriptions)
        token, _ = asked(subscriptions)
        for hour in range(1, 100):
            assert subscriptions.due(NOW + hour * PATIENCE, 10, {token}) == []
        later = NOW + 100 * PATIENCE - 1
        subscriptions.sent(token, 202, later)
        assert subscriptions.due(later + PATIENCE - 1, 10) == []
        assert verify(subscriptions, token, later + PATIENCE - 1) == "c"
        assert not subscriptions.counters["websub/failed"]

    def test_bounds(self, subscriptions, monkeypatch):
        """So many for a site, and for the crawl; what is offered beyond is not remembered."""
        monkeypatch.setattr(module, "PER_SITE", 3)
        monkeypatch.setattr(module, "MOST_SUBSCRIPTIONS", 5)
        for number in range(10):
            offer(subscriptions, f"http://a.test/{number}")
        assert len(subscriptions.due(NOW, 100)) == 3
        for number in range(10):
            offer(subscriptions, f"http://b{number}.test/", site=f"b{number}.test")
        assert len(subscriptions.due(NOW, 100)) == 2

    def test_what_is_gone_leaves_no_trace(self, db, subscriptions):
        """A month after a hub was denied its row goes: a long crawl does not fill up with them."""
        for number in range(5):
            offer(subscriptions, f"http://a.test/{number}")
        for one in subscriptions.due(NOW, 10):
            subscriptions.sent(one.token, 404, NOW)
        assert db.query("SELECT count(*) FROM subscription") == [(5,)]
        assert subscriptions.due(NOW + GONE, 10) == []
        assert db.query("SELECT count(*) FROM subscription") == [(0,)]

    @pytest.mark.parametrize("bound", ["PER_SITE", "MOST_SUBSCRIPTIONS"])
    def test_what_is_gone_gives_way(self, subscriptions, monkeypatch, bound):
        """Where there is no room, a new one takes the place of one that is gone, and of no other."""
        monkeypatch.setattr(module, bound, 3)
        for number in range(3):
            offer(subscriptions, f"http://a.test/{number}")
        first, *others = [one.token for one in subscriptions.due(NOW, 10)]
        subscriptions.sent(first, 404, NOW)
        for number in range(3, 6):
            offer(subscriptions, f"http://a.test/{number}")

        assert subscriptions.get(first) is None
        assert all(subscriptions.get(token) is not None for token in others)
        assert [one.topic for one in subscriptions.due(NOW, 10)] == ["http://a.test/3"]


class TestVerification:
    def test_the_challenge_is_the_answer(self, subscriptions):
        """The lease begins, and is renewed before it ends."""
        token, _ = accepted(subscriptions)
        assert verify(subscriptions, token) == "c"
        one = subscriptions.get(token)
        assert (one.state, one.until) == (SubscriptionState.ACTIVE, NOW + DAY)
        assert NOW + 20 * HOUR < one.due < NOW + 23 * HOUR
        assert subscriptions.active(NOW) == 1
        assert subscriptions.active(NOW + DAY) == 0

    def test_before_the_request_is_answered(self, subscriptions):
        """Some hubs verify first; the request counts as accepted all the same."""
        offer(subscriptions)
        token, _ = asked(subscriptions)
        assert verify(subscriptions, token) == "c"
        subscriptions.sent(token, 204, NOW)
        assert subscriptions.get(token).state == SubscriptionState.ACTIVE
        assert subscriptions.counters["websub/asked"] == 1

    @pytest.mark.parametrize(
        "said",
        [
            {"topic": "http://a.test/other"}, {"topic": ""}, {"topic": "\udc80"},
            {"challenge": ""}, {"challenge": "x" * 5000},
            {"mode": "unsubscribe"}, {"mode": ""}, {"mode": "SUBSCRIBE "},
        ],
    )  # fmt: skip
    def test_what_nobody_asked_for(self, subscriptions, said):
        """It is refused, and changes nothing."""
        token, _ = accepted(subscriptions)
        before = subscriptions.get(token)
        assert verify(subscriptions, token, **said) is None
        assert subscriptions.get(token) == before
        assert subscriptions.counters["websub/unasked"] == 1

    @pytest.mark.parametrize("token", ["", "x", "0" * 48])
    def test_a_callback_that_nobody_has(self, subscriptions, token):
        """It is not there."""
        accepted(subscriptions)
        assert verify(subscriptions, token) is None

    def test_a_second_verification(self, subscriptions):
        """Whoever has seen the callback's address does not make the lease longer."""
        token, _ = active(subscriptions)
        assert verify(subscriptions, token, lease_seconds="9999999") is None
        assert subscriptions.get(token).until == NOW + DAY

    @pytest.mark.parametrize(
        ("written", "lease"),
        [
            ("", LEASE),
            ("x", LEASE),
            ("-5", LEASE),
            ("1", 60.0),
            ("9" * 11, 90 * DAY),
            ("9" * 99, LEASE),
            ("3600", HOUR),
            ("٣", LEASE),
        ],
    )
    def test_any_lease(self, subscriptions, written, lease):
        """It is bounded on both sides."""
        token, _ = accepted(subscriptions)
        verify(subscriptions, token, lease_seconds=written)
        assert subscriptions.get(token).until == NOW + lease

    def test_a_denial(self, subscriptions):
        """The hub is not asked again for a month, whatever the state was."""
        token, secret = active(subscriptions)
        assert verify(subscriptions, token, mode="denied", topic="http://x.test/") is None
        assert verify(subscriptions, token, mode="denied") == ""
        assert subscriptions.due(NOW + GONE - 1, 10) == []
        assert subscriptions.pushed(token, sign(secret, b"x"), b"x", NOW) is None
        offer(subscriptions, now=NOW + GONE - 1)
        assert subscriptions.due(NOW + GONE, 10) == []
        offer(subscriptions, now=NOW + GONE)
        assert [one.token for one in subscriptions.due(NOW + GONE, 10)] == [token]


class TestRenewal:
    def test_it_is_asked_for_before_the_lease_ends(self, subscriptions):
        """Pushes are taken meanwhile."""
        token, secret = active(subscriptions)
        now = subscriptions.get(token).due
        assert asked(subscriptions, now)[0] == token
        assert subscriptions.get(token).state == SubscriptionState.RENEWING
        assert subscriptions.pushed(token, sign(secret, b"x"), b"x", now) is not None
        subscriptions.sent(token, 202, now)
        assert verify(subscriptions, token, now) == "c"
        assert subscriptions.get(token).until == now + DAY

    def test_one_that_fails(self, subscriptions):
        """The lease runs on, and is over when it ends."""
        token, secret = active(subscriptions)
        now = subscriptions.get(token).due
        asked(subscriptions, now)
        subscriptions.sent(token, 503, now)
        assert subscriptions.pushed(token, sign(secret, b"x"), b"x", NOW + DAY - 1) is not None
        assert subscriptions.pushed(token, sign(secret, b"x"), b"x", NOW + DAY) is None
        assert asked(subscriptions, NOW + DAY)[0] == token
        assert subscriptions.get(token).state == SubscriptionState.REQUESTED

    def test_one_that_fails_again_and_again(self, subscriptions):
        """As long as the lease runs the hub is not given up, nor are its pushes; then the next
        failure is the last.
        """
        token, _ = accepted(subscriptions)
        verify(subscriptions, token, lease_seconds=str(int(LEASE)))
        times = 0
        while (now := subscriptions.get(token).due) < NOW + LEASE:
            assert asked(subscriptions, now)[0] == token
            subscriptions.sent(token, 503, now)
            assert subscriptions.active(now)
            times += 1
        assert TRIES < times < 2 * TRIES
        assert (now, asked(subscriptions, now)[0]) == (NOW + LEASE, token)
        subscriptions.sent(token, 503, now)
        assert subscriptions.get(token).state == SubscriptionState.GONE


class TestPushes:
    def test_a_signed_push(self, subscriptions):
        """It is the subscription's."""
        token, secret = active(subscriptions)
        one = subscriptions.pushed(token, sign(secret, b"<feed/>"), b"<feed/>", NOW)
        assert (one.topic, one.page, one.site) == (TOPIC, b"page", "a.test")
        assert subscriptions.counters["websub/pushes"] == 1

    @pytest.mark.parametrize(
        ("signature", "counter"),
        [
            ("", "unsigned"),
            ("sha256=00", "forged"),
            ("sha256=" + "0" * 64, "forged"),
            ("md5=0", "forged"),
        ],
    )
    def test_forged_ones(self, subscriptions, signature, counter):
        """They are counted, each by its kind."""
        token, _ = active(subscriptions)
        assert subscriptions.pushed(token, signature, b"<feed/>", NOW) is None
        assert subscriptions.counters[f"websub/{counter}"] == 1

    def test_another_subscriptions_signature(self, subscriptions):
        """A hub cannot speak for another topic, though it has a secret of ours."""
        token, secret = active(subscriptions)
        offer(subscriptions, "http://a.test/2")
        other, _ = asked(subscriptions)
        verify(subscriptions, other, topic="http://a.test/2")
        assert subscriptions.get(other).state == SubscriptionState.ACTIVE
        assert subscriptions.pushed(other, sign(secret, b"x"), b"x", NOW) is None
        assert subscriptions.pushed(token, sign(secret, b"x"), b"x", NOW) is not None

    def test_before_the_verification(self, subscriptions):
        """Nobody has a lease yet."""
        token, form = accepted(subscriptions)
        assert subscriptions.pushed(token, sign(form["hub.secret"], b"x"), b"x", NOW) is None
        assert subscriptions.pushed("0" * 48, sign(form["hub.secret"], b"x"), b"x", NOW) is None
        assert subscriptions.counters["websub/unasked"] == 2


class TestTable:
    def test_nothing_secret_is_in_it(self, db, subscriptions):
        """Nor in the counters."""
        _, secret = active(subscriptions)
        assert secret not in repr(db.query("SELECT * FROM subscription")) + repr(
            subscriptions.counters
        )

    @pytest.mark.parametrize(
        "change",
        [
            "topic = 'x'",
            "hub = ''",
            "page = x''",
            "state = 0",
            "due = 1",
            "until = 'x'",
            "tries = 9",
            "crc = 1",
        ],
    )
    def test_damage_is_found_when_the_subscription_is_read(self, db, subscriptions, change):
        """It is found when the row is read."""
        token, _ = active(subscriptions)
        db.execute(f"UPDATE subscription SET {change}")
        with pytest.raises(DamagedFile, match="table subscription"):
            subscriptions.get(token)


SECRET, BODY = "s3cret", b"<feed/>"


def signed(method, body=BODY, secret=SECRET):
    return f"{method}={hmac.new(secret.encode(), body, method).hexdigest()}"


@pytest.mark.parametrize("method", sorted(METHODS))
def test_signatures_of_each_method(method):
    """The body and the secret must be ours."""
    assert is_signed(signed(method), BODY, SECRET)
    assert is_signed(signed(method).upper(), BODY, SECRET)
    assert not is_signed(signed(method), BODY + b" ", SECRET)
    assert not is_signed(signed(method), BODY, "other")
    assert not is_signed(signed(method)[:-1], BODY, SECRET)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "=",
        "sha256",
        "sha256=",
        "sha224=" + "0" * 56,
        "md5=" + "0" * 32,
        "sha256=ä\udc80",
        "sha1=é",
    ],
)
def test_what_is_no_signature(header):
    """Weak and unknown methods are none."""
    assert not is_signed(header, BODY, SECRET)


def test_a_method_that_the_specification_does_not_have():
    """However well it is computed."""
    assert not is_signed(signed("md5"), BODY, SECRET)
    assert not is_signed(signed("sha3_256"), BODY, SECRET)


@given(st.text(), st.binary())
def test_any_header(header, body):
    """Never raises, and is never believed."""
    assert not is_signed(header, body, SECRET)
    assert not is_signed(f"sha1={header}", body, SECRET)
