"""logs/history.jsonl of a crawl that was killed, resumed and finished."""

import json
from collections import Counter
from types import SimpleNamespace
from unittest.mock import MagicMock, patch

import pytest

from tests.support.crawling import Crawl, wait_until
from webcrawl.crawl import history
from webcrawl.store.jobdir.history_line import PATH
from webcrawl.tools.verify_crawl import verify


def rows_of(folder):
    path = folder / PATH
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_the_history_of_a_crawl(tmp_path, simweb):
    """A run has a line at its start; a kill loses none that a checkpoint has; verify is content
    with the file.
    """
    server = simweb(6, 120, latency=0.02)
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, "CHECKPOINT_INTERVAL": 0.2}
    crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)
    run = crawl.start()
    wait_until(lambda: (crawl.jobdir / "stats.json").exists() and crawl.stats["pages"] > 10)
    run.kill()
    assert crawl.run() == 0, crawl.output.read_text()

    first, *_, last = rows_of(crawl.jobdir)
    assert first["pages"] == 0
    assert last["pages"] >= 10
    assert last["at"] > first["at"]
    assert last["seen"] >= 6
    assert list(verify(crawl.jobdir, Counter())) == []


@pytest.mark.parametrize("over", [True, False])
def test_no_line_after_the_last_checkpoint(over):
    """What no checkpoint has is taken for what a killed run has left."""
    run = MagicMock(saves_no_more=over, failed=None)
    run.crawl.parts.statistics = SimpleNamespace(series=SimpleNamespace(start=0))
    with patch.multiple(history, line=MagicMock(), moment=MagicMock()):
        history.HistoryKeeper(lambda: run).look()

    assert run.crawl.parts.outputs.open.called is not over
