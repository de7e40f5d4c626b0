"""A cache of answers shared by several runs, so that no question is asked twice.

Answers are stored under a hash of everything that determines them: the checkpoint, its revision and
the digest of its weights, the options, how it is asked and read, the prompt, the run (for sampled
answers the cell's seed), and the version of polbayes. The cache is a SQLite file, which several
processes can use at the same time.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from polbayes.data.json_lines import Record, line_of, record_of
from polbayes.data.provenance import json_digest
from polbayes.errors import UserError
from polbayes.respondents.base import Question
from polbayes.respondents.questions import cell_seed

# The answer itself; the rest of a journal's record is the cell and what the answer cost.
_OUTCOME = (
    *("status", "text", "truncated", "mass", "unseen"),
    *("reasoning", "reasoning_tokens", "unopened", "left_out"),
)
_AT_ONCE = 500
# Seconds to wait while another process writes.
_PATIENCE = 60.0


class AnswerCache:
    """Answers of one respondent in an open cache; for `by_prompt` see its `Backend`."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        *,
        model: str,
        seed: int,
        settings: Mapping[str, Any],
        sampled: bool,
        by_prompt: bool,
    ) -> None:
        self._path = path
        self._connection = connection
        self._model, self._seed = model, seed
        # The name and seed of the run matter only through the seed of the cell.
        same = {key: value for key, value in settings.items() if key not in ("model", "seed")}
        self._settings = json.dumps([version("polbayes"), same], sort_keys=True)
        self._sampled, self._by_prompt = sampled, by_prompt

    def _key(self, question: Question) -> bytes:
        parts: list[Any] = [self._settings, question.prompt, question.run]
        parts.append(cell_seed(self._seed, self._model, question) if self._sampled else None)
        parts += [question.options] if question.options else []
        context = [question.system, *question.before]
        parts += [context] if any(context) else []
        if not self._by_prompt:
            parts += [question.item, question.variant, question.prefix]
            parts += [question.keying, question.dimension, question.answer]
        return bytes.fromhex(json_digest(parts))

    def find(self, questions: Sequence[Question]) -> dict[int, Record]:
        """Return the cached answers by position of their question."""
        keys = [self._key(question) for question in questions]
        found: dict[bytes, Record] = {}
        with _told(self._path):
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = self._connection.execute(
                    f"SELECT key, line FROM answers WHERE key IN ({marks})", some
                )
                # A damaged line counts as missing.
                found |= {key: r for key, line in rows if (r := record_of(line)) is not None}
        return {n: found[key] for n, key in enumerate(keys) if key in found}

    def keep(self, answers: Iterable[tuple[Question, Record]]) -> None:
        """Add answers, but not failures; the first answer to a question stays."""
        rows = (
            (self._key(question), line_of({k: record[k] for k in _OUTCOME if k in record}))
            for question, record in answers
            if record["status"] != "error"
        )
        with _told(self._path):
            while some := list(islice(rows, _AT_ONCE)):
                with self._connection:
                    # A damaged line has no answer and may be replaced.
                    self._connection.executemany(
                        "INSERT INTO answers VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET "
                        "line = excluded.line WHERE NOT intact(line)",
                        some,
                    )


@contextmanager
def open_cache(path: Path, **about: Any) -> Iterator[AnswerCache]:
    """Open a cache; create it if it does not exist."""
    with _told(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"journal.cache: {path}: {error.strerror}.") from error
        connection = sqlite3.connect(path, timeout=_PATIENCE)
    with closing(connection):
        with _told(path), connection:
            connection.create_function("intact", 1, lambda line: record_of(line) is not None)
            connection.execute(
                "CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, line BLOB NOT NULL) "
                "WITHOUT ROWID"
            )
        yield AnswerCache(path, connection, **about)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into one sentence."""
    try:
        yield
    except sqlite3.Error as error:
        raise UserError(
            f"journal.cache: {path}: cannot be used ({error}); name another file, or leave it out."
        ) from error
