"""Running a module's tests on its mutants, each in a process forked from a warm one."""

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
# Time allowance relative to the unchanged module. A shared machine may be much slower for a while,
# and a mutant that is stopped counts as killed.
_SLOWER, _SECONDS_MORE, _BYTES_MORE = 10, 60, 4 << 30
_OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")


class Tree:
    """A copy of the checkout, in which modules are changed and tested.

    Parameters
    ----------
    root
        The checkout.
    folder
        Folder of the copy.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder
        shutil.copytree(root, folder, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        self._seconds: dict[str, float] = {}
        self._changes = 0

    def baseline(self, room: Room) -> None:
        """Run the tests on the unchanged module, and preload the external modules that they import.

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
        # Again, as for mutants: a failure here would look like a kill.
        self._pass(room, None)
        self._seconds[room.module] = time.monotonic() - began

    def _pass(self, room: Room, imported: Path | None) -> None:
        if self._tests(room, imported=imported, limit=1800) != 0:
            text = (self._folder / ".output").read_text(errors="replace")
            raise RuntimeError(f"{room.module}: its tests fail before it is changed.\n{text}")

    def test(self, room: Room, mutant: Mutant) -> str:
        """Return the tests' result for a mutant."""
        path = self._folder / room.module
        original, stamp = path.read_bytes(), path.stat()
        self._changes += 1
        try:
            path.write_text(mutant.source, encoding="utf-8")
            # Neither Python nor numba may reuse code compiled from another text.
            os.utime(path, (self._changes, self._changes))
            status = self._tests(room, limit=_SLOWER * self._seconds[room.module] + _SECONDS_MORE)
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        return TIMED_OUT if status is None else KILLED if status else SURVIVED

    def _tests(self, room: Room, *, limit: float, imported: Path | None = None) -> int | None:
        """Return the tests' exit status; None if they took too long."""
        with tempfile.TemporaryDirectory(dir=self._folder.parent) as scratch:
            child = os.fork()
            if not child:
                self._run(room, Path(scratch), imported)
            try:
                status = _awaited(child, limit)
            finally:
                # Also end processes that a test has started.
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
        """Make this process and its children import everything from the copy."""
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
        # The result must not depend on the machine.
        os.environ.pop("POLBAYES_SHARED", None)
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + _BYTES_MORE, -1))

    def _foreign(self) -> list[str]:
        """Return the imported modules outside this project, except plugins of pytest."""
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
    """A pytest plugin: the same examples each time, without deadlines."""

    def pytest_configure(self) -> None:
        """Make Hypothesis deterministic and disable its deadlines."""
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
