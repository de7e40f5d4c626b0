"""Test the tests: ``python -m tools.mutants [MODULE ...]``."""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.mutants import accepted
from tools.mutants.mutations import Mutant, mutants
from tools.mutants.results import Results
from tools.mutants.rooms import ROOMS, Room
from tools.mutants.run import KILLED, SURVIVED, TIMED_OUT, Tree

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".mutants"
Todo = list[tuple[Room, list[Mutant]]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Test all mutants not yet tested, and show the survivors.

    Parameters
    ----------
    arguments
        Command-line arguments.

    Returns
    -------
    int
        Exit status: 1 if a mutant survived that is not accepted, or an accepted one did not.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="part of a module's path")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--fresh", action="store_true", help="forget the results of before")
    parser.add_argument(
        "--quick", action="store_true", help="where tests changed, only mutants that survived"
    )
    parser.add_argument("--show", action="store_true", help="show what is known, test nothing")
    options = parser.parse_args(arguments)
    kept = KEPT / "results.jsonl"
    if options.fresh:
        kept.unlink(missing_ok=True)
    results = Results(kept, ROOT)
    todo = [(room, _sampled(room)) for room in _named(options.modules)]
    if not options.show:
        pending = _pending(todo, results, lenient=options.quick)
        print(f"{sum(len(found) for _, found in pending)} mutants to test", flush=True)
        _test(pending, results, jobs=options.jobs)
        results.load()
    return _report(todo, results, lenient=options.quick)


def _named(parts: Sequence[str]) -> list[Room]:
    return [room for room in ROOMS if not parts or any(part in room.module for part in parts)]


def _sampled(room: Room) -> list[Mutant]:
    """Return the tested mutants of a module, spread over the module."""
    return mutants(ROOT, room.module, kept=KEPT / "made")[:: room.every]


def _pending(todo: Todo, results: Results, *, lenient: bool) -> Todo:
    left = [
        (room, [m for m in found if results.of(room, m, lenient=lenient) is None])
        for room, found in todo
    ]
    return [(room, found) for room, found in left if found]


def _test(todo: Todo, results: Results, *, jobs: int) -> None:
    """Test mutants in several processes, each with a copy of the checkout."""
    children = []
    with tempfile.TemporaryDirectory(prefix="mutants-", dir=_memory()) as folder:
        for job in range(jobs):
            child = os.fork()
            if not child:
                _work(todo, results, Path(folder) / str(job), job, jobs)
            children.append(child)
        try:
            failed = [os.waitpid(child, 0)[1] for child in children]
        finally:
            # A test may have left files that cannot be removed the usual way.
            shutil.rmtree(folder, ignore_errors=True)
            Path(folder).mkdir(exist_ok=True)
    if any(failed):
        raise SystemExit(2)


def _memory() -> str | None:
    """Return a folder in memory, where syncing is immediate; None if there is none."""
    return next((folder for folder in ("/dev/shm",) if os.access(folder, os.W_OK)), None)


def _work(todo: Todo, results: Results, folder: Path, job: int, jobs: int) -> None:
    """Test every `jobs`-th mutant, in a process that ends here or with its parent."""
    status, parent = 1, os.getppid()
    try:
        tree = Tree(ROOT, folder)
        failed = False
        for room, found in todo:
            try:
                tree.baseline(room)
            except RuntimeError as error:
                failed = True
                print(error, file=sys.stderr, flush=True)
                continue
            for mutant in found[job::jobs]:
                if os.getppid() != parent:
                    return
                results.add(room, mutant, tree.test(room, mutant))
            print(f"{room.module}: tested", flush=True)
        status = int(failed)
    finally:
        os._exit(status)


def _report(todo: Todo, results: Results, *, lenient: bool) -> int:
    """Print a table and the survivors; return the exit status."""
    reasons = accepted.read()
    survivors: list[Mutant] = []
    vain = {change for change in reasons if change.module in {room.module for room, _ in todo}}
    print(f"{'module':44} mutants killed timed-out accepted survived untested")
    for room, found in todo:
        outcomes = [results.of(room, mutant, lenient=lenient) for mutant in found]
        alive = [m for m, o in zip(found, outcomes, strict=True) if o == SURVIVED]
        new = [mutant for mutant in alive if accepted.change_of(mutant) not in reasons]
        vain -= {accepted.change_of(mutant) for mutant in alive}
        survivors += new
        counts = (
            len(found),
            outcomes.count(KILLED),
            outcomes.count(TIMED_OUT),
            len(alive) - len(new),
            len(new),
            outcomes.count(None),
        )
        print(
            f"{room.module:44} {counts[0]:7} {counts[1]:6} {counts[2]:9} "
            f"{counts[3]:8} {counts[4]:8} {counts[5]:8}"
        )
    for mutant in survivors:
        print(f"\n{mutant.module}:{mutant.line}\n- {mutant.old}\n+ {mutant.new}")
    if vain:
        print(f"\nAccepted in {accepted.ACCEPTED.name}, but no survivor:{accepted.shown(vain)}")
    return int(bool(survivors or vain))


if __name__ == "__main__":
    sys.exit(main())
