"""What came of mutants, kept from one session to the next."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from tools.mutants.mutations import Mutant
from tools.mutants.rooms import Room
from tools.mutants.run import SURVIVED


class Results:
    """A file of results, which processes append to.

    Parameters
    ----------
    path
        The file; need not be there.
    root
        The checkout.
    """

    def __init__(self, path: Path, root: Path) -> None:
        self._path = path
        self._root = root
        path.parent.mkdir(parents=True, exist_ok=True)
        self._known: dict[str, tuple[str, str]] = {}
        # The tests are those of when this session began, also where they are edited meanwhile.
        self._digests: dict[tuple[str, ...], str] = {}
        self.load()

    def load(self) -> None:
        """Read what all processes have written; of a mutant the last holds."""
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        for line in lines:
            if line.endswith("}"):
                record = json.loads(line)
                self._known[record["key"]] = (record["tests"], record["outcome"])

    def of(self, room: Room, mutant: Mutant, *, lenient: bool = False) -> str | None:
        """Return what came of a mutant under these tests; None if it was not tested yet.

        Parameters
        ----------
        room
            Has the tests.
        mutant
            The mutant.
        lenient
            Whether one that other versions of the tests killed counts as killed.
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
