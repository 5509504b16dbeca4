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

    @pytest.mark.parametrize(
        "value", ["serch", "search train_ai", "all", "search;archive", 1, ["search", 2], True]
    )
    def test_what_is_no_purpose(self, value):
        """A misspelt purpose would forbid nothing: the crawl does not start."""
        with pytest.raises(
            SettingError, match=r"PURPOSE = .*: must be some of archive, search, research, train-ai"
        ):
            check({"PURPOSE": value})

    @pytest.mark.parametrize(
        ("purposes", "obeyed"), [("", False), ("search", True), ("archive train-ai", False)]
    )
    def test_what_follows(self, purposes, obeyed):
        """Nofollow is obeyed where the crawl is for search, unless the setting says otherwise."""
        assert check({"PURPOSE": purposes})["OBEY_NOFOLLOW"] is obeyed
        assert (
            check({"PURPOSE": purposes, "OBEY_NOFOLLOW": not obeyed})["OBEY_NOFOLLOW"] is not obeyed
        )
