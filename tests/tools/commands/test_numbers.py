"""Numbers on a command line."""

import pytest
from scrapy.exceptions import UsageError

from webcrawl.tools.commands.console import whole


@pytest.mark.parametrize("text", ["1", "007", "1000"])
def test_within_bounds(text):
    """Both bounds are within, and leading zeros do no harm."""
    assert whole("-n", text, 1, 1000) == int(text)


@pytest.mark.parametrize(
    "text", ["", "0", "1001", "-1", "1.5", "1_0", "\u00b2", "\uff11", "9" * 5000, "0" * 20 + "9" * 30]
)
def test_what_is_no_number_is_refused_with_its_option(text):
    """Anything else is refused in a line that names the option, however long it is."""
    with pytest.raises(UsageError, match=r"^-n .*: must be a whole number from 1 to 1000$"):
        whole("-n", text, 1, 1000)
