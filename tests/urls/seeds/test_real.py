"""Lists of top sites as they are published."""

from contextlib import closing

import pytest

from tests.support.cases import cases, unpacked
from tests.support.seedlists import read, write
from webcrawl.urls.seeds import Seeds


@pytest.mark.parametrize("packing", ["", ".gz", ".zip"])
@pytest.mark.parametrize(
    ("name", "count"),
    [("alexa-top-1000.csv", 1000), ("opendns-top-domains.txt", 10_000), ("top-10000-websites.txt", 4978)],
)
class TestTopSites:
    def test_one_seed_per_row(self, tmp_path, name, count, packing):
        """Each row of a published list is a seed, in the same order, with its whole host."""
        data = unpacked(cases("top-sites") / f"{name}.zst")
        path = write(tmp_path / f"{name}{packing}", data)
        hosts = [line.decode().rpartition(",")[2] for line in data.splitlines()]

        seeds = read(path)

        assert len(seeds) == count
        assert [(f"http://{host.lower()}/", n) for n, host in enumerate(hosts, 1)] == [(s.url, s.line) for s in seeds]

    def test_resumed_in_the_middle(self, tmp_path, name, count, packing):
        """Reading a published list that stopped in the middle resumes with the second half."""
        path = write(tmp_path / f"{name}{packing}", unpacked(cases("top-sites") / f"{name}.zst"))
        whole = read(path)

        with closing(Seeds(str(path))) as seeds:
            for _ in range(count // 2):
                next(seeds)
            position = seeds.position

        assert read(path, position=position) == whole[count // 2 :]
