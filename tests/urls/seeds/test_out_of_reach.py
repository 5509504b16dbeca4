"""Lists that cannot be read for what the machine lacks, not for what they hold."""

import errno
import os
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.seedlists import write
from webcrawl.urls.seeds import Seeds


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
@pytest.mark.parametrize("taken", [0, 2])
def test_reading_continues_where_it_ended(tmp_path, monkeypatch, number, taken):
    """Without a descriptor reading fails with OSError, and when there is one no seed was lost and none comes twice."""
    names = [f"http://host{number}.test/" for number in range(5)]
    lists = [write(tmp_path / f"{at}.txt", "\n".join(names[at:end]).encode()) for at, end in ((0, 2), (2, 5))]
    failing = False
    opened = Path.open

    def opens(self, *arguments, **options):
        if failing:
            raise OSError(number, os.strerror(number))
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", opens)
    with closing(Seeds(",".join(map(str, lists)))) as seeds:
        found = [next(seeds).url for _ in range(taken)]
        failing = True
        for _ in range(3):
            with pytest.raises(OSError, match=os.strerror(number)):
                next(seeds)
        failing = False

        assert found + [seed.url for seed in seeds] == names
