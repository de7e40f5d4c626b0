"""A SLURM cluster of one node, configured and run in a folder of its own."""

import getpass
import os
import platform
import shutil
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue")
# Debian puts daemons where a user's path may not lead.
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"

_CONFIG = """\
ClusterName=tests
SlurmctldHost={host}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
KillWait=5
NodeName={host} CPUs=2 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """Say why there can be no cluster here; nothing where there can."""
    absent = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    if absent:
        return f"SLURM is not installed (apt-get install slurm-wlm munge): no {', '.join(absent)}"
    if os.geteuid() != 0:
        return "slurmd starts jobs as root only: no task on a SLURM cluster is tested"
    return ""


class SlurmCluster:
    """Daemons and the environment in which SLURM's commands find them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": PATH}
        self._daemons: list[subprocess.Popen] = []

    def start(self) -> None:
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        settings = {
            "host": platform.node().split(".")[0],
            "user": getpass.getuser(),
            "folder": self.folder,
            "ports": _free_ports(2),
        }
        conf = self.folder / "slurm.conf"
        conf.write_text(_CONFIG.format(**settings), encoding="utf-8")
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        own = {"socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        files = [f"--{flag}={self.folder}/munge.{end}" for flag, end in own.items()]
        self._begin("munged", "--foreground", "--force", f"--key-file={key}", *files)
        self._until(lambda: (self.folder / "munge.socket").exists())
        self._begin("slurmctld", "-D", "-c", "-f", str(conf))
        self._begin("slurmd", "-D", "-f", str(conf))
        self._until(lambda: "idle" in self.ask("sinfo", "--noheader", "--format", "%t"))

    def _begin(self, *command: str) -> None:
        with (self.folder / f"{command[0]}.out").open("wb") as out:
            self._daemons.append(
                subprocess.Popen(
                    command, env={**os.environ, **self.environment}, stdout=out, stderr=out
                )
            )

    def ask(self, *command: str) -> str:
        """Return what one of SLURM's commands says."""
        done = subprocess.run(
            command,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.stdout

    def _until(self, there, seconds: float = 60.0) -> None:
        until = time.monotonic() + seconds
        while not there():
            if time.monotonic() > until or any(d.poll() is not None for d in self._daemons):
                logs = "\n".join(
                    f"{path.name}: {path.read_text(errors='replace')[-1500:]}"
                    for path in sorted(self.folder.glob("*.*"))
                    if path.suffix in (".out", ".log")
                )
                raise RuntimeError(f"the cluster did not come up\n{logs}")
            time.sleep(0.2)

    def stop(self) -> None:
        self.ask("scancel", "--user", getpass.getuser())
        for daemon in reversed(self._daemons):
            daemon.terminate()
        for daemon in reversed(self._daemons):
            try:
                daemon.wait(timeout=30)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
