"""PURPOSE, and the settings that follow from it."""

import pytest

from webcrawl.crawl.checks import SettingError, check


class TestPurpose:
    @pytest.mark.parametrize(
        ("value", "purposes"),
        [
            ("search", ("search",)),
            ("ai-input, Search archive", ("archive", "search", "ai-input")),
            (["train-ai", "train-ai"], ("train-ai",)),
            *((value, ()) for value in ("", "none", None, [], "  ")),
        ],
    )
    def test_names_in_any_order(self, value, purposes):
        """One or several, in any case, each once; or none."""
        assert check({"PURPOSE": value})["PURPOSE"] == purposes

    @pytest.mark.parametrize("value", ["serch", "search train_ai", "all", "search;archive", 1, ["search", 2], True])
    def test_what_is_no_purpose(self, value):
        """A misspelt purpose would forbid nothing: the crawl does not start."""
        with pytest.raises(SettingError, match=r"PURPOSE = .*: must be some of archive, search, research, train-ai"):
            check({"PURPOSE": value})

    @pytest.mark.parametrize(
        ("purposes", "follow", "index", "archive"),
        [("", False, False, False), ("search", True, True, False), ("archive train-ai", False, False, True)],
    )
    def test_what_follows(self, purposes, follow, index, archive):
        """The three words are obeyed where the crawl is for what they are about, unless a setting says otherwise."""
        values = check({"PURPOSE": purposes})
        names = ("OBEY_NOFOLLOW", "OBEY_NOINDEX", "OBEY_NOARCHIVE")

        assert tuple(values[name] for name in names) == (follow, index, archive)
        other = check({"PURPOSE": purposes, **{name: not values[name] for name in names}})
        assert tuple(other[name] for name in names) == (not follow, not index, not archive)
