"""`scrapy export store`: its options."""

import pytest

from tests.support.commands import command


@pytest.mark.parametrize(
    ("options", "why"),
    [(["--json"], "--json goes with -l or --verify"), (["-l", "--verify"], "-l or --verify")],
)
def test_options_that_say_nothing_together(tmp_path, options, why):
    """An option that could have no effect is refused, before anything is copied."""
    done = command("scrapy", "export", "store", tmp_path, *options)

    assert done.returncode == 2
    assert why in done.stderr
