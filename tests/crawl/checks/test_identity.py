"""What settings that say who the crawler is may be."""

import pytest

from webcrawl.crawl.checks import SettingError, check, read
from webcrawl.net.identity.signing_key import SigningKey

AGENT = "https://bot.example.org"


class TestAgent:
    @pytest.mark.parametrize(
        ("value", "origin"),
        [
            (AGENT, AGENT),
            (f"{AGENT}/", AGENT),
            (f"string:{AGENT}/", f"string:{AGENT}"),
            (f"dictionary:{AGENT}", AGENT),
            (" HTTPS://Bot.Example.ORG:443 ", AGENT),
            ("https://bot.example.org:8443", "https://bot.example.org:8443"),
            ("https://bötchen.test", "https://xn--btchen-wxa.test"),
            ("https://[2001:DB8::1]", "https://[2001:db8::1]"),
            ("none", None),
            ("", None),
        ],
    )
    def test_an_origin(self, value, origin):
        """The origin is the one that servers compare: lower case, without the usual port."""
        assert read("BOT_AGENT", value) == origin

    @pytest.mark.parametrize(
        "value",
        [
            "http://bot.example.org",
            "bot.example.org",
            f"{AGENT}/keys",
            f"{AGENT}?a",
            f"{AGENT}#a",
            "https://me@bot.example.org",
            'https://a"b.test',
            "https://",
            f"https://{'a' * 300}.test",
            5,
        ],
    )
    def test_no_origin(self, value):
        """Anything else is refused: a path is not part of an origin, and http proves nothing."""
        with pytest.raises(SettingError, match=r"^BOT_AGENT = .*: must be an https origin"):
            read("BOT_AGENT", value)


class TestTogether:
    def test_a_key_without_an_origin(self, tmp_path):
        """Whoever signs says where the key is."""
        SigningKey.new(tmp_path / "key")

        with pytest.raises(SettingError, match=r"^BOT_AGENT = None: must be set with BOT_KEY"):
            check({"BOT_KEY": tmp_path / "key"})

    def test_an_origin_without_a_key(self):
        """Whoever says where the key is has one: nothing would be signed, and nobody told."""
        with pytest.raises(
            SettingError, match=r"^BOT_AGENT = 'https.*must be none without BOT_KEY"
        ):
            check({"BOT_AGENT": AGENT})


class TestMoved:
    def test_a_key_that_was_there(self, tmp_path):
        """The settings of a crawl that runs stay right when its key's file is moved."""
        SigningKey.new(tmp_path / "key")
        assert read("BOT_KEY", tmp_path / "key") == str(tmp_path / "key")
        (tmp_path / "key").unlink()

        assert read("BOT_KEY", tmp_path / "key") == str(tmp_path / "key")

    def test_a_key_that_was_wrong(self, tmp_path):
        """A file that was refused is looked at again."""
        SigningKey.new(tmp_path / "key")
        (tmp_path / "key").chmod(0o644)
        with pytest.raises(SettingError, match="mode is 0644"):
            read("BOT_KEY", tmp_path / "key")
        (tmp_path / "key").chmod(0o600)

        assert read("BOT_KEY", tmp_path / "key") == str(tmp_path / "key")


class TestContact:
    @pytest.mark.parametrize("value", ["bot@example.org", "a.b+c@x", " bot@example.org "])
    def test_an_address(self, value):
        """An e-mail address is sent as it is."""
        assert read("BOT_FROM", value) == value.strip()

    @pytest.mark.parametrize(
        "value",
        ["bot", "Bot <bot@a.test>", "a@b\r\nX: y", "a@b c", "@a", "a@", "a" * 300 + "@b", 1],
    )
    def test_what_would_begin_another_header_is_refused(self, value):
        """Anything else is refused, above all what would begin another header."""
        with pytest.raises(SettingError, match="must be an e-mail address"):
            read("BOT_FROM", value)
