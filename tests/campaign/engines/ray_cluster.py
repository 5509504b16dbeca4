"""Ray on loopback, two nodes, with docs/deploy/ray/hive.py; Ray has a Python of its own."""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from tests.campaign.engines.drones import Missing, tail
from tests.support.hive_server import stream_server
from tests.support.places import ROOT

PYTHON = ROOT / "build/ray-venv/bin/python"
SAID = re.compile(r"^drone (\d+): (finished|stopped|failed.*)", re.MULTILINE)
STATUSES = {"finished": 0, "stopped": 75}
ALONE = "WEBCRAWL_TESTS_ALONE"  # in the environment of a process with a network of its own
QUIET = {"RAY_USAGE_STATS_ENABLED": "0"}  # it would report to its makers


class Ray:
    """`outcomes`: finished, stopped or a failure, of each drone that its hive.py has told of."""

    def __init__(self, drones, url, nodes):
        self._drones = drones
        self._nodes = nodes
        self.url = url
        self.password_file = None
        self._address = self._answer()
        self._programs = []  # of hive.py, the drones of each, and what it prints
        self.strikes = {"its worker dies": self._kill_worker, "its node fails": self._fail_node}

    def _answer(self):
        line = self._nodes.stdout.readline().strip()
        assert line, "Ray's nodes have ended"
        return line

    def start(self, numbers):
        output = self._drones.folder / f"hive-{len(self._programs)}.log"
        words = [PYTHON, ROOT / "docs/deploy/ray/hive.py", f"{numbers[0]}-{numbers[-1]}"]
        words += ["--folder", self._drones.hive.folder, "--", *self._drones.command]
        settings = self._drones.settings | {"WEBCRAWL_REDIS_URL": self.url}
        with output.open("wb") as file:
            program = subprocess.Popen(
                words,
                env={**os.environ, **QUIET, **settings, "RAY_ADDRESS": self._address},
                stdout=file,
                stderr=file,
            )
        self._programs.append((program, [*numbers], output))

    @property
    def outcomes(self):
        """Of the latest program of each drone. Its exit status says the same of all its drones."""
        found = {}
        for program, numbers, output in self._programs:
            said = {int(drone): words for drone, words in SAID.findall(output.read_text())}
            found |= {drone: said.get(drone) for drone in numbers}
            status = program.poll()
            if status is not None:
                found |= {
                    drone: said.get(drone, f"hive.py ended with status {status}")
                    for drone in numbers
                }
                wanted = max((STATUSES.get(words, 1) for words in said.values()), default=1)
                assert status == wanted, f"hive.py: status {status}, {tail(output)}"
        return {drone: outcome for drone, outcome in found.items() if outcome is not None}

    def tend(self):
        assert self._nodes.poll() is None, "Ray's nodes have ended"

    def stop(self, numbers):
        for program, drones, _ in self._programs:
            if program.poll() is None and {*drones} & {*numbers}:
                program.send_signal(signal.SIGTERM)

    def _kill_worker(self):
        """Kill -9 the process of an actor, which is the parent of its drone."""
        pid = self._drones.pid(0)
        stat = Path(f"/proc/{pid}/stat").read_text()
        self._drones.killed.add((0, pid))
        os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)
        return {0}

    def _fail_node(self):
        self._drones.killed |= {(drone, self._drones.pid(drone)) for drone in (2, 3)}
        for order in ("remove", "add"):
            self._nodes.stdin.write(f"{order}\n")
            self._nodes.stdin.flush()
            self._answer()
        return {2, 3}

    def end(self):
        for program, _, _ in self._programs:
            if program.poll() is None:
                program.kill()
            program.wait()

    def said(self, drone):
        log = tail(self._drones.hive.folder / f"drone-{drone}.log")
        return log + "".join(tail(out) for _, numbers, out in self._programs if drone in numbers)


def require():
    """Install Ray, which is 240 MB, unless it is there, and go on where loopback is all there is.

    Raise Missing if one or the other cannot be had.
    """
    if not _has_ray():
        subprocess.run([sys.executable, "-m", "venv", PYTHON.parents[1]], check=True)
        pip = [PYTHON, "-m", "pip", "install", "-q", "ray>=2.50,<3"]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        if done.returncode:
            why = done.stderr.strip().splitlines()[-1]
            raise Missing(f"ray: not tried, because pip cannot install it for this Python: {why}")
    if ALONE not in os.environ:
        _leave_the_network()


def _has_ray():
    return (
        PYTHON.exists()
        and subprocess.run([PYTHON, "-c", "import ray"], check=False).returncode == 0
    )


def _leave_the_network():
    """Become this program in a network of its own.

    Ray asks 169.254.169.254 in which cloud it runs, and 8.8.8.8 which address it has.
    """
    unshare = ["unshare", "--map-root-user", "--net", "sh", "-c"]
    if subprocess.run([*unshare, "ip link set lo up"], check=False).returncode:
        raise Missing(
            "ray: not tried, because this user may have no network namespace (unshare --net, ip)"
        )
    again = [sys.executable, "-m", "tests.campaign.engines", *sys.argv[1:]]
    os.environ[ALONE] = "1"
    os.execvp("unshare", [*unshare, 'ip link set lo up && exec "$@"', "sh", *again])  # noqa: S606


@contextmanager
def engine(drones):
    words = [PYTHON, Path(__file__).with_name("ray_nodes.py")]
    with (
        stream_server(drones.folder / "server") as server,
        (drones.folder / "nodes.log").open("wb") as log,
        subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, **QUIET, "RAY_TMPDIR": str(drones.folder)},
        ) as nodes,
    ):
        try:
            ray = Ray(drones, server.url, nodes)
            try:
                yield ray
            finally:
                ray.end()
        finally:
            nodes.stdin.close()
            nodes.wait()
