"""A JOBDIR has one crawl at a time, whatever becomes of the lock's file."""

# Seen on 2026-11-21, before this was fixed: in one run of two both crawls ended with status 0, their archive cut and
# written over (861,591 bytes noted, 785,835 there); in the other the second start cut the archive and ended with a
# traceback, because the first crawl's checkpoint then noted more than was left.

import pytest

from tests.support.crashes import sound
from tests.support.crawling import Crawl, wait_until
from webcrawl.lab.simweb import truth, wait_until_idle

SETTINGS = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0, "CONCURRENT_REQUESTS": 4, "CHECKPOINT_INTERVAL": 0.2}


def contents(folder):
    """All bytes of what is only ever appended to, by name."""
    return {path: path.read_bytes() for name in ("warc", "logs") for path in (folder / name).iterdir()}


@pytest.mark.parametrize("again", [False, True], ids=["removed", "made anew"])
def test_a_crawl_whose_lock_is_removed_stays_alone(tmp_path, simweb, again):
    """A second start is refused in one line while a crawl runs whose lock file is gone, or another one."""
    server = simweb(4, 120, latency=0.1)
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    arguments, settings = {"seeds": tmp_path / "seeds.txt"}, {"DNS_NAMESERVERS": server.nameserver, **SETTINGS}
    crawl = Crawl(tmp_path / "job", arguments, settings)
    second = Crawl(tmp_path / "job", arguments, settings, output=tmp_path / "second.out")

    running = crawl.start()
    wait_until(lambda: server.log.count > 20)
    (tmp_path / "job/state/lock").unlink()
    if again:
        (tmp_path / "job/state/lock").touch()
    before = contents(tmp_path / "job")
    status = second.run()
    after = contents(tmp_path / "job")

    assert (status, len(second.output.read_text().splitlines())) == (1, 1), second.output.read_text()[-2000:]
    assert [path.name for path, data in before.items() if not after.get(path, b"").startswith(data)] == []
    assert running.wait() == 0
    wait_until_idle(server)
    expected = truth(server.world, server.world.seeds())
    assert [*expected.complaints(server.log.hits)] == []
    assert sound(tmp_path / "job").logged.keys() == expected.must
