"""Playing the scenarios, one turn of all dialogues after the other.

Every turn is recorded in the respondent's journal when it is answered, so that a killed run
continues in the middle of its dialogues. The prompt of a turn follows from the scenario and from
the earlier turns in the journal.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from polbayes.config.schema import RespondentConfig
from polbayes.data.progress import progress_bar
from polbayes.errors import UserError
from polbayes.instrument.prompts import render
from polbayes.instrument.scenarios import STAGES, UNITS
from polbayes.probing.dispatch import TOO_LONG, Asking, ask_all, before, moves, note
from polbayes.probing.first_answers import FirstAnswers, Screening
from polbayes.probing.journal import Cell, Journal, Record, adopt, cell_of, journal_path, read
from polbayes.probing.work import note_damage
from polbayes.respondents import Question, Respondent, answer_settings, check_ready, open_respondent
from polbayes.respondents.questions import question_digest
from polbayes.roleplay.parts import without_reasoning
from polbayes.roleplay.plan import Dialogue, RoleplayPlan
from polbayes.roleplay.texts import turn

# Placeholder for an empty answer, so that the turns of a chat alternate.
NO_ANSWER = "[no answer]"
# Turns before each unit.
EARLIER: Mapping[str, tuple[str, ...]] = {
    "baseline": (),
    **{stage: STAGES[:k] for k, stage in enumerate(STAGES)},
    "reflection": STAGES,
}


def play(
    plan: RoleplayPlan,
    *,
    journal_dir: Path,
    answers_from: Path | None = None,
    progress: bool | Literal["always"] = True,
) -> None:
    """Ask every turn that the journals lack."""
    respondents, total = plan.config.respondents, len(plan.dialogues) * len(UNITS)
    for name in plan.models:
        kept = journal_path(journal_dir, name)
        if not kept.exists() and answers_from is not None:
            kept = journal_path(answers_from, name)
        if sum("cell" in record for record in read(kept)) < total:
            check_ready(name, respondents[name])
    for name in plan.models:
        path, settings = journal_path(journal_dir, name), _settings(plan, name)
        if answers_from is not None:
            adopt(journal_path(answers_from, name), path, settings)
        with Journal(path, settings) as journal:
            _play(plan, name, journal, progress)


def _play(plan: RoleplayPlan, name: str, journal: Journal, progress: bool | str) -> None:
    note_damage(journal, before(journal))
    said = turns_of(journal.path)
    if all(not _left(plan, name, unit, said) for unit in UNITS):
        return
    config = plan.config
    asking = Asking(config.elicitation, None, config.seed)
    screening = Screening(config.give_up_after) if config.give_up_after else None
    first = FirstAnswers(screening, name, where=_in_dialogue)
    first.add(journal.read())
    total = len(plan.dialogues) * len(UNITS)
    with ExitStack() as stack:
        respondent: Respondent = open_respondent(
            name, config.respondents[name], elicitation=config.elicitation
        )
        stack.callback(respondent.close)
        for text in respondent.warnings(None):
            note(journal, text)
        bar = progress_bar(name, total=total, done=len(said), progress=progress, unit="turn")
        stack.enter_context(bar)
        move = moves(bar)

        def look(records: Sequence[Record]) -> None:
            move(records)
            first.add(records)

        for unit in UNITS:
            left = _left(plan, name, unit, turns_of(journal.path))
            if left:
                ask_all(respondent, left, asking, journal, shown=look)


def _in_dialogue(cell: Cell) -> str:
    return f"scenario '{cell[0]}', {cell[1]}, {cell[2]}"


def _left(plan: RoleplayPlan, name: str, unit: str, said: Mapping[Cell, Record]) -> list[Question]:
    """Return the questions left in one unit."""
    left = []
    for question in questions(plan, name, unit, said):
        record = said.get((question.item, question.variant, question.prefix, question.run))
        if record is None:
            left.append(question)
        elif record["prompt"] != question_digest(question):
            raise UserError(
                f"respondents.{name}: scenario '{question.item}', {question.variant}, {unit} was "
                "put in other words, or after other answers, than there are now; choose another "
                "run_dir, or restore the text."
            )
    return left


def questions(
    plan: RoleplayPlan, name: str, unit: str, said: Mapping[Cell, Record]
) -> Iterator[Question]:
    """Yield the questions to a respondent in one unit of every dialogue."""
    for dialogue in plan.dialogues:
        before = []
        for earlier in EARLIER[unit]:
            record = said.get(cell(dialogue, earlier))
            if record is None or record["status"] == "error":
                break
            answered = without_reasoning(record.get("text", "")).strip() or NO_ANSWER
            before.append((prompt(plan, name, dialogue, earlier), answered))
        if len(before) == len(EARLIER[unit]):
            item, variant, prefix, run = cell(dialogue, unit)
            yield Question(
                *(item, variant, prefix, run),
                statement=dialogue.text(unit),
                keying=dialogue.asking,
                dimension=dialogue.scenario.dimension,
                prompt=prompt(plan, name, dialogue, unit),
                before=tuple(before),
                temperature=plan.config.roleplay.temperature.get(unit),
            )


def prompt(plan: RoleplayPlan, name: str, dialogue: Dialogue, unit: str) -> str:
    """Return the prompt of one unit of a dialogue."""
    put = turn(unit, dialogue.text(unit), plan.texts)
    return render(plan.models[name].template, prefix="", statement=put)


def cell(dialogue: Dialogue, unit: str) -> Cell:
    """Return the journal's cell of a turn."""
    return (dialogue.scenario.id, f"{dialogue.twin}/{dialogue.wording}", unit, 1)


def turns_of(path: Path) -> dict[Cell, Record]:
    """Return the turns in a journal."""
    return {cell_of(record): record for record in read(path) if "cell" in record}


def is_too_long(record: Mapping[str, Any]) -> bool:
    """Return whether a turn failed because the dialogue did not fit into the context."""
    return TOO_LONG in record


def _settings(plan: RoleplayPlan, name: str) -> dict[str, Any]:
    info, config = plan.models[name], plan.config
    declared: RespondentConfig = config.respondents[name]
    return {
        "model": name,
        "seed": config.seed,
        "template": info.template,
        "chat template used": info.chat,
        "instructions": plan.texts.digest_of_turns,
        "roleplay.temperature": dict(sorted(config.roleplay.temperature.items())),
        **answer_settings(declared, config.elicitation),
    }
