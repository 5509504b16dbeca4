"""What a hive says of drones that have fetched nothing: their resolver or their proxy may be to blame."""

import re

import pytest

from tests.support.fake_hives import FakeHive


@pytest.mark.parametrize(("scripts", "named"), [(("finish", "empty"), ["1"]), (("finish", "finish"), [])])
def test_a_drone_that_has_fetched_nothing(tmp_path, scripts, named):
    """The drone is named, and the log that says why; one with pages is not."""
    (tmp_path / "seeds.txt").write_text("http://site0.test/\n")
    hive = FakeHive(tmp_path / "job", tmp_path / "seeds.txt")
    for number, word in enumerate(scripts):
        hive.script(number, word)
    process = hive.start("-n", 2)
    said = process.ended()

    assert process.returncode == 0
    assert re.findall(r"drone (\d) has fetched nothing: .*logs/drone-\1\.log$", said, re.MULTILINE) == named
