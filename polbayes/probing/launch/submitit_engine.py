"""Shards as jobs of a SLURM cluster or as local processes, through submitit."""

import subprocess
import time
from collections.abc import Iterable
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polbayes.config.schema import LauncherConfig
from polbayes.errors import UserError
from polbayes.probing.launch.shard import Ended, Shard, ask_shard

if TYPE_CHECKING:
    from submitit import Job

# Seconds between two requests for the queue, which is shared.
_LOOK = 5.0
# Seconds allowed for a job to end by itself, for SLURM to report that it is gone, and for the file
# with its result to arrive.
_PATIENCE, _UNTIL_GONE, _ARRIVAL = 10.0, 120.0, 10.0


class SubmititEngine:
    """Jobs of a SLURM cluster, or local processes."""

    def __init__(self, launcher: LauncherConfig, folder: Path) -> None:
        import submitit

        self._slurm = launcher.kind == "slurm"
        if self._slurm and not submitit.SlurmExecutor.affinity() > 0:
            raise UserError(
                "launcher=slurm: this machine has no srun; run the command on a node from which "
                "jobs can be submitted."
            )
        self._folder = folder
        self._executor = submitit.AutoExecutor(folder, cluster="slurm" if self._slurm else "local")
        self._executor.update_parameters(**self._parameters(launcher))
        self._queue: set[str] | None = None
        self._looked = float("-inf")
        self._gone: dict[str, float] = {}

    def _parameters(self, launcher: LauncherConfig) -> dict[str, Any]:
        wanted: dict[str, Any] = {
            "timeout_min": launcher.minutes,
            "cpus_per_task": launcher.cpus,
            "gpus_per_node": launcher.gpus,
        }
        threads = [f"export OMP_NUM_THREADS={launcher.cpus}"]
        if not self._slurm:
            wanted["local_setup"] = threads
        else:
            wanted["name"] = "polbayes"
            if not launcher.gpus:
                # A cluster without GPUs may reject the option.
                del wanted["gpus_per_node"]
            if launcher.partition is not None:
                wanted["slurm_partition"] = launcher.partition
            if launcher.memory is not None:
                wanted["mem_gb"] = launcher.memory
            if launcher.options:
                wanted["slurm_additional_parameters"] = dict(launcher.options)
            # srun does not pass the number on by itself.
            wanted["slurm_srun_args"] = [f"--cpus-per-task={launcher.cpus}"]
            wanted["slurm_setup"] = threads
        return wanted

    def submit(self, shard: Shard) -> object:
        """Submit a shard (see `Engine`)."""
        from submitit.core.utils import FailedJobError

        try:
            return self._executor.submit(ask_shard, shard)
        except (FailedJobError, subprocess.CalledProcessError, OSError) as error:
            said = " ".join(str(error).split())[-300:].rstrip(".")
            raise UserError(f"launcher: the job was rejected ({said}).") from error

    def ended(self, task: Any) -> Ended | None:
        """Return how a task ended (see `Engine`)."""
        if task.paths.result_pickle.exists():
            if (failure := task.exception()) is not None:
                raise failure
            ended = task.result()
            assert isinstance(ended, Ended)
            self._tidy(task)
            return ended
        if self._is_there(task):
            self._gone.pop(task.job_id, None)
            return None
        # The result may arrive a little after the job is reported to have ended.
        since = self._gone.setdefault(task.job_id, time.monotonic())
        if self._slurm and time.monotonic() - since < _ARRIVAL:
            return None
        return Ended(f"job {task.job_id} ended without a result; see {task.paths.stderr}", "lost")

    def _is_there(self, task: "Job[Ended]") -> bool:
        if not self._slurm:
            return not task.done()
        if time.monotonic() - self._looked >= _LOOK:
            # SLURM may be too busy to say.
            self._queue, self._looked = _queued(), time.monotonic()
        # A job just submitted may not be listed yet.
        young = time.time() - task._start_time < 2 * _LOOK
        return young or self._queue is None or task.job_id in self._queue

    def _tidy(self, task: "Job[Ended]") -> None:
        for path in self._folder.glob(f"{task.job_id}_*"):
            path.unlink(missing_ok=True)
        # submitit leaves the script under the name it had before the job had a number.
        for path in self._folder.glob("*.sh"):
            if path.is_symlink() and not path.exists():
                path.unlink(missing_ok=True)

    def stop(self, tasks: Iterable[object]) -> None:
        """Stop tasks (see `Engine`)."""
        left: list[Any] = list(tasks)
        until = time.monotonic() + _PATIENCE
        while left and time.monotonic() < until:
            time.sleep(0.5)
            left = [task for task in left if not self._has_ended(task)]
        for task in left:
            task.cancel(check=False)
        until = time.monotonic() + _UNTIL_GONE
        while left and time.monotonic() < until:
            time.sleep(0.5)
            left = [task for task in left if not self._has_ended(task)]

    def _has_ended(self, task: Any) -> bool:
        return bool(task.paths.result_pickle.exists()) or not self._is_there(task)

    def close(self) -> None:
        """Do nothing: the jobs belong to the cluster."""


def _queued() -> set[str] | None:
    """Return this user's jobs in the queue; None if SLURM does not answer."""
    command = ["squeue", "--noheader", "--user", getuser(), "--format", "%A"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return set(done.stdout.split())
