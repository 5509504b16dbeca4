"""Clients from the settings that users of scrapy-redis know."""

import asyncio
import logging
import os

import pytest
from redis.asyncio import Redis, UnixDomainSocketConnection
from scrapy.settings import Settings

from webcrawl.adapter.server_settings import client_maker, has_server, password_in
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.redis_server.embedded_server import EmbeddedServer

pytestmark = pytest.mark.filterwarnings("error")


def parameters(**settings):
    """What the connections of a client are made with."""
    return client_maker(Settings(settings))().connection_pool.connection_kwargs


def test_a_server_is_named():
    """A server is named by its URL, or by its host."""
    assert has_server(Settings({"REDIS_URL": "redis://127.0.0.1"}))
    assert has_server(Settings({"REDIS_HOST": "127.0.0.1"}))
    assert not has_server(Settings({"REDIS_URL": None, "REDIS_PORT": 6379}))


def test_single_settings():
    """Host, port and database can be settings of their own."""
    found = parameters(REDIS_HOST="127.0.0.2", REDIS_PORT=6380, REDIS_DB=3)
    assert (found["host"], found["port"], found["db"]) == ("127.0.0.2", 6380, 3)


def test_the_url_wins():
    """What the URL says replaces REDIS_PARAMS."""
    url, params = (
        "redis://user:word@127.0.0.2:6380/4",
        {"db": 3, "password": "other", "socket_timeout": 7},
    )
    found = parameters(REDIS_URL=url, REDIS_PARAMS=params)
    assert (found["username"], found["password"], found["db"], found["socket_timeout"]) == (
        "user",
        "word",
        4,
        7,
    )


def test_bytes_whatever_the_user_says():
    """Answers are bytes, and failed commands are not tried again behind our back."""
    found = parameters(
        REDIS_URL="redis://127.0.0.1",
        REDIS_PARAMS={"decode_responses": True, "retry_on_timeout": True},
    )
    assert not found["decode_responses"]
    assert "retry_on_timeout" not in found
    assert found["retry"].get_retries() == 0


@pytest.mark.parametrize("named", ["redis.StrictRedis", "redis.asyncio.Redis", None])
def test_the_class_of_a_user(named):
    """A class that blocks is for scrapy-redis' own parts."""
    settings = Settings(
        {"REDIS_URL": "redis://127.0.0.1", "REDIS_PARAMS": {"redis_cls": named} if named else {}}
    )
    assert type(client_maker(settings)()) is Redis


def test_tls():
    """The parameters of rediss:// are checked at the start."""
    assert (
        parameters(REDIS_URL="rediss://127.0.0.1/0?ssl_cert_reqs=required")["ssl_cert_reqs"]
        == "required"
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"REDIS_URL": "http://user:word@127.0.0.1"},
        {"REDIS_URL": "redis://:word@127.0.0.1:port"},
        {"REDIS_URL": "redis://127.0.0.1", "REDIS_PARAMS": {"pasword": "word"}},
        {"REDIS_HOST": "127.0.0.1", "REDIS_PARAMS": {"pasword": "word"}},
    ],
)
def test_impossible_settings(settings):
    """They are refused in one line, without the password."""
    with pytest.raises(
        HiveError, match=r"^REDIS_URL, REDIS_PARAMS: no client can be created for "
    ) as error:
        client_maker(Settings(settings))
    assert "127.0.0.1" in str(error.value)
    assert "word@" not in str(error.value)
    assert "\n" not in str(error.value)


def test_password_from_a_file(tmp_path, caplog):
    """The end of its line is no part of it; a file that others may read is worth a warning."""
    path = tmp_path / "password"
    path.write_text(" pass word \r\n")
    path.chmod(0o600)
    with caplog.at_level(logging.WARNING):
        found = parameters(REDIS_URL="redis://me@127.0.0.1", REDIS_PASSWORD_FILE=str(path))
        assert list(found["password"]) == list(" pass word ")
        assert not caplog.messages
        path.chmod(0o640)
        password_in(path)
    assert caplog.messages == [
        f"REDIS_PASSWORD_FILE = {path}: other users may read it; chmod 600 it"
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_password_file_that_was_given_to_our_group(tmp_path, caplog):
    """Kubernetes hands secrets to the group of a pod: that group may read a file of somebody else."""
    path = tmp_path / "password"
    path.write_text("word\n")
    path.chmod(0o440)
    os.chown(path, 12345, -1)
    with caplog.at_level(logging.WARNING):
        password_in(path)
        assert not caplog.messages
        path.chmod(0o444)
        password_in(path)
    assert caplog.messages


@pytest.mark.parametrize(
    ("text", "why"),
    [
        *((text, "expected one line") for text in (b"", b"\n", b"a\nb")),
        (b"\xff", "is not UTF-8 text"),
        (None, "cannot be read: "),
    ],
)
def test_no_password_in_the_file(tmp_path, text, why):
    """A file that is missing, empty, of several lines or no text is refused."""
    path = tmp_path / "password"
    if text is not None:
        path.write_bytes(text)
        path.chmod(0o600)
    with pytest.raises(HiveError, match=why):
        password_in(path)


def test_a_client_works(tmp_path):
    """A client of the hive's own server, by its socket."""
    server = EmbeddedServer(tmp_path / "s")
    server.start()

    async def run():
        client = client_maker(Settings({"REDIS_URL": server.url}))()
        assert client.connection_pool.connection_class is UnixDomainSocketConnection
        await client.set("a", "b")
        assert await client.get("a") == b"b"
        await client.aclose()

    try:
        asyncio.run(run())
    finally:
        server.stop()
