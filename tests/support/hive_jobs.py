"""JOBDIRs of hives, made by hand of single crawls."""

import json
from pathlib import Path

from tests.support.crawling import Crawl
from tests.support.jobs import stopped


def hive(root: Path, hosts: tuple[str, ...] = ("h", "i")) -> Path:
    """A stopped hive of one drone for each of these names of hosts."""
    for drone, names in enumerate(hosts):
        stopped(root / f"drone-{drone}", hosts=names)
    named(root, range(len(hosts)))
    (root / "stats.json").write_text('{"reason": "shutdown"}\n')
    return root


def named(root: Path, drones, **more) -> None:
    """Writes hive.json."""
    values = {"version": 1, "name": "web", "drones": list(drones), "partition": "domain", **more}
    (root / "hive.json").write_text(json.dumps(values))


def crawled(root: Path, world, server, **settings) -> list[str]:
    """A hive of two drones that have crawled half of this web each, as far as its hosts go; returns
    the seeds.
    """
    seeds = [*world.seeds(), "http://nowhere.test/"]
    runs = []
    for drone in range(2):
        folder = root / f"drone-{drone}"
        own = root.parent / f"seeds-{drone}.txt"
        own.write_text("\n".join(seeds[drone::2]))
        more = {
            "DNS_NAMESERVERS": server.nameserver,
            "RETRY_TIMES": 1,
            "WARC_PREFIX": f"drone{drone}",
            **settings,
        }
        runs.append(
            Crawl(
                folder, {"seeds": own, "scope": "seeds"}, more, output=root.parent / f"{drone}.out"
            ).start()
        )
    assert [run.wait() for run in runs] == [0, 0]
    named(root, range(2))
    return seeds
