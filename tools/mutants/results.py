"""The results of mutants, stored between sessions."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from tools.mutants.mutations import Mutant
from tools.mutants.rooms import Room
from tools.mutants.run import SURVIVED


class Results:
    """A file of results, to which processes append.

    Parameters
    ----------
    path
        The file, which may not exist yet.
    root
        The checkout.
    """

    def __init__(self, path: Path, root: Path) -> None:
        self._path = path
        self._root = root
        path.parent.mkdir(parents=True, exist_ok=True)
        self._known: dict[str, tuple[str, str]] = {}
        # The tests are those at the start of the session, even if edited meanwhile.
        self._digests: dict[tuple[str, ...], str] = {}
        self.load()

    def load(self) -> None:
        """Read the results of all processes; the last one of a mutant counts."""
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        for line in lines:
            if line.endswith("}"):
                record = json.loads(line)
                self._known[record["key"]] = (record["tests"], record["outcome"])

    def of(self, room: Room, mutant: Mutant, *, lenient: bool = False) -> str | None:
        """Return the result of a mutant under these tests; None if it was not tested yet.

        Parameters
        ----------
        room
            The module's tests.
        mutant
            The mutant.
        lenient
            Whether a mutant killed by other versions of the tests counts as killed.
        """
        tests, outcome = self._known.get(mutant.key, ("", None))
        if tests == self._digest(room.tests) or (lenient and outcome != SURVIVED):
            return outcome
        return None

    def add(self, room: Room, mutant: Mutant, outcome: str) -> None:
        """Append a result."""
        record = {
            "key": mutant.key,
            "tests": self._digest(room.tests),
            "outcome": outcome,
            "module": mutant.module,
            "line": mutant.line,
        }
        with self._path.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def _digest(self, tests: tuple[str, ...]) -> str:
        if tests not in self._digests:
            self._digests[tests] = self._digest_of(tests)
        return self._digests[tests]

    def _digest_of(self, tests: Iterable[str]) -> str:
        paths = [self._root / test for test in tests]
        above = {
            folder / "conftest.py"
            for path in paths
            for folder in path.parents
            if folder.is_relative_to(self._root)
        }
        files = [*paths, *sorted(path for path in above if path.exists())]
        text = b"\0".join(path.read_bytes() for path in files)
        return hashlib.sha256(text).hexdigest()[:20]
