"""JOBDIRs of hives, made by hand of single crawls."""

import json
from pathlib import Path

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
