"""Running a module's tests on its mutants, each in a process forked from one that is warm."""

import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from importlib.metadata import entry_points, packages_distributions
from pathlib import Path

from tools.mutants.mutations import Mutant
from tools.mutants.rooms import Room

KILLED, SURVIVED, TIMED_OUT = "killed", "survived", "timed out"

_LEFT_OUT = (".*", "__pycache__", "outputs", "build", "dist", "*.egg-info", "_build")
# What a mutant may take above what the unchanged module takes. A machine that others use, too, may
# be much slower for a while, and whoever is stopped counts as killed.
_SLOWER, _SECONDS_MORE, _BYTES_MORE = 10, 60, 4 << 30
_OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")


class Tree:
    """A copy of the checkout, in which modules are changed and tested.

    Parameters
    ----------
    root
        The checkout.
    folder
        Where the copy is made.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder
        shutil.copytree(root, folder, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        self._seconds: dict[str, float] = {}
        self._changes = 0

    def baseline(self, room: Room) -> None:
        """Run the tests on the unchanged module, and import here what they imported of others.

        Raises
        ------
        RuntimeError
            If they do not pass.
        """
        imported = self._folder / ".imported.json"
        self._pass(room, imported)
        for name in json.loads(imported.read_text()):
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        began = time.monotonic()
        # Again, as it is done for mutants: what fails here would seem to be killed.
        self._pass(room, None)
        self._seconds[room.module] = time.monotonic() - began

    def _pass(self, room: Room, imported: Path | None) -> None:
        if self._tests(room, imported=imported, limit=1800) != 0:
            text = (self._folder / ".output").read_text(errors="replace")
            raise RuntimeError(f"{room.module}: its tests fail before it is changed.\n{text}")

    def test(self, room: Room, mutant: Mutant) -> str:
        """Return what the tests make of a mutant."""
        path = self._folder / room.module
        original, stamp = path.read_bytes(), path.stat()
        self._changes += 1
        try:
            path.write_text(mutant.source, encoding="utf-8")
            # Neither Python nor numba shall take what it compiled of another text for this one's.
            os.utime(path, (self._changes, self._changes))
            status = self._tests(room, limit=_SLOWER * self._seconds[room.module] + _SECONDS_MORE)
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        return TIMED_OUT if status is None else KILLED if status else SURVIVED

    def _tests(self, room: Room, *, limit: float, imported: Path | None = None) -> int | None:
        """Return the tests' exit status; None where they took too long."""
        with tempfile.TemporaryDirectory(dir=self._folder.parent) as scratch:
            child = os.fork()
            if not child:
                self._run(room, Path(scratch), imported)
            try:
                status = _awaited(child, limit)
            finally:
                # What a test has started goes, too.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child, signal.SIGKILL)
            if status is None:
                os.waitpid(child, 0)
            return status

    def _run(self, room: Room, scratch: Path, imported: Path | None) -> None:
        """Run the tests in a process that ends here."""
        status = 70
        try:
            os.setsid()
            self._settle(scratch, compiled=room.compiled, keep=imported is not None)
            import pytest

            status = int(pytest.main([*_OPTIONS, *room.tests], plugins=[_Same()]))
            if imported is not None:
                imported.write_text(json.dumps(self._foreign()))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _settle(self, scratch: Path, *, compiled: bool, keep: bool) -> None:
        """Make the copy the place where this process and those that it starts find everything."""
        output = os.open(self._folder / ".output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(self._folder)
        here = {"", str(self._root), os.fspath(Path.cwd())}
        sys.path[:] = [str(self._folder), *(entry for entry in sys.path if entry not in here)]
        for name in [name for name in sys.modules if name.split(".")[0] == "tools"]:
            del sys.modules[name]
        sys.dont_write_bytecode = not keep
        os.environ |= {
            "PYTHONPATH": str(self._folder),
            "PYTHONDONTWRITEBYTECODE": "" if keep else "1",
            "NUMBA_CACHE_DIR": str(scratch if compiled else self._folder / ".numba"),
            "TMPDIR": str(scratch),
        }
        tempfile.tempdir = None
        # The result is not to hang on what this machine has.
        os.environ.pop("POLBAYES_SHARED", None)
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + _BYTES_MORE, -1))

    def _foreign(self) -> list[str]:
        """Return the imported modules that are not of this project, and no plugins of pytest."""
        plugins = {entry.dist.name for entry in entry_points(group="pytest11") if entry.dist}
        theirs = {name for name, of in packages_distributions().items() if plugins & set(of)}
        return [
            name
            for name, module in list(sys.modules.items())
            if (file := getattr(module, "__file__", None))
            and not Path(file).is_relative_to(self._folder)
            and name.split(".")[0] not in {*theirs, "__main__", "tools"}
        ]


class _Same:
    """A plugin of pytest: the same examples each time, and as long as each takes."""

    def pytest_configure(self) -> None:
        """Have Hypothesis neither draw anew nor watch the clock."""
        with contextlib.suppress(ImportError):
            from hypothesis import settings

            settings.register_profile("mutants", deadline=None, derandomize=True, database=None)
            settings.load_profile("mutants")


def _awaited(child: int, limit: float) -> int | None:
    """Return the exit status of a process; None if it does not end in time."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return abs(os.waitstatus_to_exitcode(status))
        time.sleep(0.02)
    return None
