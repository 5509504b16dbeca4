"""Long fuzzing campaigns: python -m tests.fuzz [target ...] --minutes N [--seed S] [--guided
FOLDER].

Each target runs in its own process. Findings are saved in tests/regressions.
"""

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from functools import partial
from hashlib import sha1
from pathlib import Path

from tests.fuzzing import campaign
from tests.fuzzing.kept import FILE, keep
from tests.fuzzing.targets import TARGETS
from tests.fuzzing.worker import HEAD, ROOM
from tests.support.places import ROOT

REGRESSIONS = ROOT / "tests/regressions"
PATIENCE = 180.0  # seconds for one input, including its minimisation, before the process is killed
ENVIRONMENT = os.environ | {"PYTHONHASHSEED": "0"}


def save(name: str, kind: str, data: bytes) -> Path:
    """Save an input; an existing one is left as it is."""
    path = REGRESSIONS / name / f"{kind}-{sha1(data, usedforsecurity=False).hexdigest()[:8]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def fuzzed(name: str, seed: int, seconds: float) -> int:
    """Run a campaign of one target and print its figures; returns the number of findings."""
    with tempfile.NamedTemporaryFile() as notes:
        notes.truncate(ROOM)
        command = [
            sys.executable,
            "-Werror",
            "-m",
            "tests.fuzzing.worker",
            name,
            str(seed),
            str(seconds),
            notes.name,
        ]
        worker = subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE)
        start, findings, runs = time.monotonic(), 0, 0
        assert worker.stdout is not None
        while line := _line(worker, notes.name):
            row = json.loads(line)
            runs = row.get("runs", 0)
            if not runs:
                path = save(name, row["kind"], bytes.fromhex(row["data"]))
                print(
                    f"{name}: {row['kind']} {row['place']} -> {path.relative_to(ROOT)}\n{row['told']}",
                    flush=True,
                )
                findings += 1
        if worker.wait() or not runs:
            runs, size = HEAD.unpack(Path(notes.name).read_bytes()[: HEAD.size])
            path = save(name, "died", Path(notes.name).read_bytes()[HEAD.size : HEAD.size + size])
            print(
                f"{name}: the process ended with {worker.returncode} -> {path.relative_to(ROOT)}",
                flush=True,
            )
            findings += 1
    spent = time.monotonic() - start
    print(f"{name:12} {runs:>9} inputs {runs / spent:>8.0f}/s {findings} findings", flush=True)
    return findings


def _line(worker: subprocess.Popen[bytes], notes: str) -> bytes:
    """The worker's next message; a worker stuck on one input is killed."""
    assert worker.stdout is not None
    before, since = b"", time.monotonic()
    while not select.select([worker.stdout], [], [], 1.0)[0]:
        now = Path(notes).read_bytes()[: HEAD.size]
        if now != before:
            before, since = now, time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            worker.kill()
    return worker.stdout.readline()


def guided(folder: Path, name: str, seed: int, seconds: float) -> int:
    """The same with atheris, which stops at its first finding; the folder has the inputs that
    reached new branches.
    """
    place, kept = REGRESSIONS / name, folder.resolve() / name
    place.mkdir(parents=True, exist_ok=True)
    kept.mkdir(parents=True, exist_ok=True)
    words = [name, str(seed), str(int(seconds)), str(place), str(kept)]
    command = [sys.executable, "-m", "tests.fuzzing.guided", *words]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    figures = {
        row[0]: row[1]
        for line in done.stderr.splitlines()
        if (row := line.removeprefix("stat::").split(":")) and line.startswith("stat::")
    }
    runs, new = (
        figures.get(key, "?").strip() for key in ("number_of_executed_units", "new_units_added")
    )
    what = "a finding" if done.returncode else "nothing"
    print(f"{name:12} {runs:>9} inputs, guided, {new} reached new branches: {what}", flush=True)
    if done.returncode:
        print(done.stderr[-3000:] + done.stdout[-3000:])
    if not any(place.iterdir()):
        place.rmdir()
    return int(done.returncode != 0)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"by default all: {' '.join(TARGETS)}")
    parser.add_argument("--minutes", type=float, default=1.0, help="for all targets together")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="determines the inputs")
    kept = "with atheris, guided by branches; FOLDER keeps the inputs that reached new ones, for the next run"
    parser.add_argument("--guided", type=Path, metavar="FOLDER", help=kept)
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="instead: these inputs begin every later run"
    )
    parser.add_argument(
        "--sizes", action="store_true", help="instead: slow and large inputs at growing sizes"
    )
    told = parser.parse_args()
    if told.keep:
        print(f"{keep(told.keep)} inputs in {FILE.relative_to(ROOT)}")
        return 0
    if told.sizes:
        from tests.fuzzing import sizes

        return sizes.main(told.targets)
    names = told.targets or list(TARGETS)
    unknown = set(names) - set(TARGETS)
    if unknown:
        parser.error(f"no such target: {' '.join(sorted(unknown))}")
    print(f"seed {told.seed}, memory {campaign.MEMORY >> 30} GiB", flush=True)
    each = partial(guided, told.guided) if told.guided else fuzzed
    return int(sum(each(name, told.seed, told.minutes * 60 / len(names)) for name in names) > 0)


if __name__ == "__main__":
    sys.exit(main())
