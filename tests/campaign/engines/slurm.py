"""Slurm on loopback, its daemons started by hand, with the files of docs/deploy/slurm."""

import getpass
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import redis

from tests.campaign.engines.drones import Missing, tail, wait_for
from tests.support.crawling import wait_until
from tests.support.places import ROOT
from tests.support.ports import free_port

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "scontrol", "sinfo", "squeue")
FILES = ROOT / "docs/deploy/slurm"
PYTHONS = Path(sys.executable).parent
NODES = ("node1", "node2")
# NoInAddrAny: the daemons and commands listen on the addresses of their nodes only, which are
# loopback's. MinJobAge: how a job has ended is read at the end.
CONFIGURATION = """\
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=86400
"""
NODE = (
    "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=8 RealMemory=65536\n"
)
PARTITION = "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
MUNGE = {
    "key-file": "key",
    "socket": "munge.socket",
    "pid-file": "munge.pid",
    "log-file": "munge.log",
    "seed-file": "munge.seed",
}
ENDS = {"COMPLETED": "finished", "CANCELLED": "stopped"}
# seconds: the end of the script that was requeued, if it comes later, is taken for the next one's
REST = 5.0
ON_THEIR_WAY = {"PENDING", "RUNNING", "COMPLETING"}


class Slurm:
    """`outcomes`: finished, stopped or a failure, of each drone whose task has ended."""

    def __init__(self, drones, folder):
        self._drones = drones
        self._environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}
        self._tasks = {}
        self._server = None
        self._waiting = {}  # since when, of what was requeued
        self._jobs = drones.folder / "jobs"
        self._jobs.mkdir()
        self._port = free_port()
        self._set_up()
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self.password_file = self._jobs / "password"
        self.strikes = {
            "its time is over": self._warn,
            "its node fails": self._fail_node,
            "the server's time is over": self._warn_server,
        }
        self._server = self._submit("valkey.sbatch", "--nodelist=node1")
        wait_for(self, self._server_answers, "the server's job answers")

    def _set_up(self):
        """What docs/slurm.md has its reader do in the folder of the jobs."""
        for name in ("drones.sbatch", "valkey.sbatch"):
            shutil.copy(FILES / name, self._jobs)
        (self._jobs / "password").write_text(secrets.token_hex(32))
        (self._jobs / "password").chmod(0o600)
        values = {
            "/srv/webcrawl/current/.venv/bin": f"{self._drones.program.parent}:{PYTHONS}",
            "SEEDS=seeds.txt": f"SEEDS={self._drones.seeds}",
            "/SCRATCH/$USER/news": str(self._drones.hive.folder),
            "SERVER=NODE": "SERVER=127.0.0.1",
            "PORT=6379": f"PORT={self._port}",
        }
        text = (FILES / "hive.env").read_text()
        for written, value in values.items():
            assert written in text, f"docs/deploy/slurm/hive.env lacks {written}"
            text = text.replace(written, value)
        text += "".join(f"export {name}='{text}'\n" for name, text in self._drones.settings.items())
        (self._jobs / "hive.env").write_text(text)

    def _run(self, *words):
        done = subprocess.run(
            words,
            cwd=self._jobs,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
        return done.stdout

    def _submit(self, script, *options):
        return self._run("sbatch", "--parsable", *options, script).strip()

    def start(self, numbers):
        """Half of them on each node, as the disks of two nodes would have it."""
        half = len(numbers) // 2
        for node, part in zip(NODES, (numbers[:half], numbers[half:]), strict=True):
            array = f"--array={part[0]}-{part[-1]}"
            job = self._submit("drones.sbatch", f"--nodelist={node}", array)
            self._tasks |= {drone: f"{job}_{drone}" for drone in part}

    @property
    def outcomes(self):
        return {
            drone: outcome
            for drone, task in self._tasks.items()
            if (outcome := self._outcome(task)) is not None
        }

    def _outcome(self, task):
        about = self._about(task)
        state, status = about["JobState"], about["ExitCode"]
        if state in ON_THEIR_WAY:
            return None
        # a drone that is cancelled has 75 if it has taken its checkpoint
        if (state, status) in {("COMPLETED", "0:0"), ("CANCELLED", "75:0")}:
            return ENDS[state]
        return f"{state} with status {status}"

    def _about(self, task):
        said = self._run("scontrol", "--oneliner", "show", "job", task)
        return dict(re.findall(r"(\w+)=(\S*)", said))

    def tend(self):
        """Spare those that were requeued most of the two minutes that Slurm has them wait."""
        for task in filter(None, [self._server, *self._tasks.values()]):
            about = self._about(task)
            assert task != self._server or about["JobState"] in ON_THEIR_WAY, tail(
                self._jobs / "valkey.log"
            )
            if (about["JobState"], about["Reason"]) != ("PENDING", "BeginTime"):
                self._waiting.pop(task, None)
            elif time.monotonic() - self._waiting.setdefault(task, time.monotonic()) > REST:
                with suppress(AssertionError):  # it begins by itself
                    self._run("scontrol", "update", f"JobId={task}", "StartTime=now")

    def stop(self, numbers):
        self._run("scancel", *(self._tasks[drone] for drone in numbers))

    def _warn(self):
        """The signal of `--signal=B:TERM@300`, at a random moment."""
        self._run("scancel", "--signal=TERM", "--batch", self._tasks[0])
        return {0}

    def _fail_node(self):
        self._run("scontrol", "update", "NodeName=node2", "State=DOWN", "Reason=test")
        return {2, 3}

    def _warn_server(self):
        before = self._server_run()
        self._run("scancel", "--signal=TERM", "--batch", self._server)
        wait_for(self, lambda: self._server_run() not in (None, before), "another server answers")
        return set()

    def _server_answers(self):
        return self._server_run() is not None

    def _server_run(self):
        password = self.password_file.read_text()
        with (
            suppress(redis.RedisError),
            redis.Redis(port=self._port, password=password) as client,
        ):
            return client.info("server")["run_id"]
        return None

    def end(self):
        with suppress(AssertionError):
            self._run("scancel", "--user", getpass.getuser())
            wait_for(self, lambda: not self._run("squeue", "--noheader"), "all jobs end")

    def said(self, drone):
        return tail(self._jobs / f"drone-{drone}.log")


def require():
    """Raise Missing if Slurm is not installed."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        raise Missing(
            f"slurm: not tried, because {missing[0]} is not installed (Debian: apt-get install slurm-wlm munge)"
        )


@contextmanager
def engine(drones):
    folder = drones.folder / "slurm"
    with daemons(folder):
        slurm = Slurm(drones, folder)
        try:
            yield slurm
        finally:
            slurm.end()


@contextmanager
def daemons(folder):
    """A controller and two nodes, whose processes end with this."""
    (folder / "state").mkdir(parents=True)
    host = socket.gethostname().partition(".")[0]
    text = CONFIGURATION.format(host=host, port=free_port(), folder=folder, user=getpass.getuser())
    nodes = [NODE.format(name=name, host=host, port=free_port()) for name in NODES]
    (folder / "slurm.conf").write_text("".join([text, *nodes, PARTITION]))
    (folder / "key").write_bytes(secrets.token_bytes(1024))
    (folder / "key").chmod(0o600)
    munge = [f"--{name}={folder}/{path}" for name, path in MUNGE.items()]
    commands = {  # in the order in which they need one another
        # forced: others cannot reach a socket in this folder, and need not
        "munged": ["munged", "--foreground", "--force", "--num-threads=10", *munge],
        "slurmctld": ["slurmctld", "-D"],
        **{name: ["slurmd", "-D", "-N", name] for name in NODES},
    }
    environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}
    with ExitStack() as stack:
        for name, command in commands.items():
            with (folder / f"{name}.out").open("wb") as output:
                process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            if name == "munged":  # the others begin with its socket
                _wait_for_socket(folder / MUNGE["socket"], process)
            assert process.poll() is None, tail(folder / f"{name}.out")
        wait_until(lambda: _idle(environment) == len(NODES), pause=0.5)
        yield


def _wait_for_socket(path, process):
    wait_until(lambda: path.exists() or process.poll() is not None)


def _idle(environment):
    """Return how many nodes wait for jobs."""
    words = ["sinfo", "--noheader", "--format=%D", "--states=idle"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    return sum(map(int, done.stdout.split()))
