"""Numbers on a command line."""

import pytest
from scrapy.exceptions import UsageError

from webcrawl.base.errors import CannotStart
from webcrawl.tools.commands.console import port_of, whole


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


@pytest.mark.parametrize("text", ["65536", "00000080000", "-1", "x", "9" * 5000])
def test_what_is_no_port_is_refused(text):
    """However many zeros it begins with."""
    with pytest.raises(CannotStart, match=r"^--port .*: must be a whole number from 0 to 65535$"):
        port_of(text)
