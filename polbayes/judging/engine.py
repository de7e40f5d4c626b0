"""The engine of every judge: it takes keyed texts and returns the verdicts read from the replies.

Judges are asked as respondents are (`polbayes.probing.dispatch`): many texts at a time behind a
server, at its pace, within its budget, and with a journal, so that nothing is asked twice. Callers
decide what to ask again and how to read a reply.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeVar

from polbayes.config.schema import RespondentConfig
from polbayes.data.json_lines import Cell, Record, cell_of, read
from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import render
from polbayes.probing.dispatch import Asking, ask_all, before, note
from polbayes.probing.progress import Meter
from polbayes.probing.work import note_damage
from polbayes.respondents import Question, Respondent, answer_settings, check_ready, open_respondent
from polbayes.respondents.questions import prompt_digest

_T = TypeVar("_T")
_Use = Literal["stances", "paraphrases", "ratings"]


@dataclass(frozen=True)
class Task:
    """One request to a judge."""

    key: str  # by which the verdict is found
    text: str  # what the judge is told, within its template
    schema: Mapping[str, Any] | None = None  # that the reply is to follow, where the backend can
    way: str = ""  # which of several ways of asking about the same text
    attempt: int = 1  # from 1; another where a reply could not be used
    vote: int = 1  # from 1; several replies are put together


# A journal labels each reply like an answer to a questionnaire: by item, variant, prefix and run.
# The labels are fixed, so that earlier runs can continue with the replies they have.
_LABELS: Mapping[_Use, Callable[[Task, str], Cell]] = {
    "stances": lambda task, prompt: (task.key, f"attempt_{task.attempt}", "baseline", task.vote),
    "paraphrases": lambda task, prompt: (task.key, "original", "baseline", 1),
    "ratings": lambda task, prompt: (prompt_digest(prompt), task.way, "", task.attempt),
}


@dataclass(frozen=True)
class Judge:
    """A judge and how it is asked."""

    use: _Use  # what is judged; journals differ by it
    respondent: RespondentConfig
    info: ModelInfo  # its name, and the template of its prompts
    asking: Asking
    settings: Mapping[str, Any]  # what else determines the replies

    @property
    def journal_settings(self) -> dict[str, Any]:
        """Everything that determines the replies, for the first line of the journal."""
        return {
            "judge" if self.use == "ratings" else "model": self.info.model,
            "seed": self.asking.seed,
            "template": self.info.template,
            "chat template used": self.info.chat,
            **self.settings,
            **answer_settings(self.respondent, self.asking.elicitation),
        }

    def verdicts(
        self,
        keys: Iterable[str],
        tasks: Callable[[str, Sequence[_T], int], Iterable[Task]],
        verdict: Callable[[Task, Record], _T],
        *,
        journal: Path | None,
        attempts: int = 1,
        show: Literal[True, "bar"] = True,
    ) -> dict[str, list[_T]]:
        """Ask until nothing is left to ask, skipping what was answered before.

        `keys` identify what is judged. `tasks` is called with a key, its verdicts so far and the
        number of the attempt, of which there are at most `attempts`, and returns what to ask now:
        nothing if the verdicts suffice. `verdict` reads the record of a reply. Replies are kept in
        `journal`, if there is one, whatever happens; for `show` see
        `polbayes.probing.progress.Meter`. Returns the verdicts by key, in the order of the tasks.
        """
        found: dict[str, list[_T]] = {key: [] for key in keys}
        with _Session(self, journal, show) as session:
            for attempt in range(1, attempts + 1):
                left = [task for key, said in found.items() for task in tasks(key, said, attempt)]
                if not left:
                    break
                for task, record in zip(left, session.replies(left), strict=True):
                    found[task.key].append(verdict(task, record))
        return found


class _Session(ExitStack):
    """A judge with its journal open; the judge itself is opened when something must be asked."""

    def __init__(self, judge: Judge, path: Path | None, show: Literal[True, "bar"]) -> None:
        super().__init__()
        self._judge, self._show = judge, show
        self._respondent: Respondent | None = None
        if path is None:
            _check_unkept(judge)
            path = Path(self.enter_context(TemporaryDirectory())) / "replies.jsonl"
        self._journal = judge.asking.open_journal(path, judge.journal_settings)
        self.push(self._journal)

    def replies(self, tasks: Sequence[Task]) -> list[Record]:
        """Return the record of the reply to each task; identical tasks are asked once."""
        cells = [self._cell(task) for task in tasks]
        wanted = dict(zip(cells, tasks, strict=True))
        said = self._said(wanted)
        # Sorted, so that neighbours share long beginnings.
        new = sorted(wanted.keys() - said.keys(), key=lambda cell: (wanted[cell].text, cell))
        if new:
            respondent, asking = self._opened(), self._judge.asking
            name, total, stances = self._judge.info.model, len(wanted), asking.stances
            with Meter(name, total, len(said), stances=stances, show=self._show) as meter:
                put = (self._question(cell, wanted[cell]) for cell in new)
                ask_all(respondent, put, asking, self._journal, shown=meter.add)
            said = self._said(wanted)
        return [said[cell] for cell in cells]

    def _prompt(self, task: Task) -> str:
        return render(self._judge.info.template, prefix="", statement=task.text)

    def _cell(self, task: Task) -> Cell:
        return _LABELS[self._judge.use](task, self._prompt(task))

    def _question(self, cell: Cell, task: Task) -> Question:
        prompt = self._prompt(task)
        return Question(
            *(*cell, task.text), keying=0, dimension="", prompt=prompt, schema=task.schema
        )

    def _said(self, wanted: Container[Cell]) -> dict[Cell, Record]:
        records = ((cell_of(r), r) for r in self._journal.read() if "cell" in r)
        return {cell: record for cell, record in records if cell in wanted}

    def _opened(self) -> Respondent:
        if self._respondent is None:
            name, config = self._judge.info.model, self._judge.respondent
            asking = self._judge.asking
            note_damage(self._journal, before(self._journal))
            check_ready(name, config)
            self._respondent = open_respondent(name, config, elicitation=asking.elicitation)
            self.callback(self._respondent.close)
            for text in self._respondent.warnings(asking.lexicon):
                note(self._journal, text)
        return self._respondent


def _check_unkept(judge: Judge) -> None:
    """Refuse batches of which nothing would be left if the process is stopped while it waits."""
    if judge.respondent.api is not None and judge.respondent.api.batch is not None:
        raise UserError(
            f"respondents.{judge.info.model}.api.batch: replies may come a day later, and need a "
            "journal to be fetched; give journal_dir, or leave batch out."
        )


def judged_before(journal: Path) -> set[str]:
    """Return the keys that a journal has replies for; for ratings the digests of prompts."""
    return {cell_of(record)[0] for record in read(journal) if "cell" in record}
