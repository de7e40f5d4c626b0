"""The plan of a roleplay: its config checked and described before anything is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from polbayes.config.schema import RespondentConfig, RunConfig
from polbayes.errors import UserError, check_known, unknown
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import load_template
from polbayes.instrument.scenarios import STAGES, TWINS, UNITS, WORDINGS, Scenario, load_scenarios
from polbayes.judging.declared import judges_of, judging_elicitation, named_as_judge
from polbayes.probing.costs import cost_in_words
from polbayes.report.prose import plural
from polbayes.roleplay.rubric import Reading, request
from polbayes.roleplay.texts import Texts, load_texts, turn

# Approximate number of letters per token of English prose.
_LETTERS_A_TOKEN = 4.5


@dataclass(frozen=True)
class Dialogue:
    """One scenario as one respondent plays it, in one twin and wording."""

    scenario: Scenario
    twin: str
    wording: str

    @property
    def asking(self) -> int:
        """The asking person's side: -1 left, +1 right."""
        return self.scenario.asking if self.twin == TWINS[0] else -self.scenario.asking

    def text(self, unit: str) -> str:
        """Return the text of one unit."""
        return self.scenario.text(unit, twin=self.twin, wording=self.wording)


@dataclass(frozen=True)
class RoleplayPlan:
    """A checked config: scenarios, players, judges, and the texts."""

    config: RunConfig
    scenarios: tuple[Scenario, ...]
    twins: tuple[str, ...]
    wordings: tuple[str, ...]
    models: Mapping[str, ModelInfo]
    judges: Mapping[str, RespondentConfig]
    judge_infos: Mapping[str, ModelInfo]
    texts: Texts

    @property
    def dialogues(self) -> list[Dialogue]:
        """The dialogues of each respondent."""
        return [
            Dialogue(scenario, twin, wording)
            for scenario in self.scenarios
            for twin in self.twins
            for wording in self.wordings
        ]


def plan_roleplay(config: RunConfig) -> RoleplayPlan:
    """Check the config of a roleplay as far as possible without asking anything."""
    from polbayes.respondents import check, describe

    _check_played(config)
    roleplay, elicitation = config.roleplay, config.elicitation
    scenarios = load_scenarios(_some(roleplay.scenarios, (), "roleplay.scenarios"))
    twins = _some(roleplay.twins, TWINS, "roleplay.twins")
    wordings = _some(roleplay.wordings, WORDINGS, "roleplay.wordings")
    check_known("unit", *roleplay.temperature, known=UNITS, where="roleplay.temperature")
    template = load_template(elicitation.template)
    names = config.models if config.models is not None else list(config.respondents)
    for name in names:
        check(name, config.respondents[name], elicitation)
    models = {name: describe(name, config.respondents[name], template) for name in names}
    judges = judges_of(config)
    infos = {}
    for name, one in judges.items():
        with named_as_judge(name, config):
            check(name, one, judging_elicitation(config.judging))
            infos[name] = describe(name, one, load_template("roleplay"))
    _check_answers_from(config)
    return RoleplayPlan(
        config, scenarios, twins, wordings, models, judges, infos, texts=load_texts()
    )


def _check_played(config: RunConfig) -> None:
    """Refuse settings for questionnaires."""
    for key in ("instruments", "wordings", "imported"):
        if getattr(config, key):
            raise UserError(f"{key}: is for questionnaires, not for elicitation=roleplay.")
    if config.elicitation.runs != 1:
        raise UserError(
            f"elicitation.runs: a role is played once, not {config.elicitation.runs} times; "
            "repetition is by wordings."
        )


def _some(given: Sequence[str] | None, known: tuple[str, ...], key: str) -> tuple[str, ...]:
    """Return the given names, or all; refuse an empty list or a duplicate."""
    if given is None:
        return known
    if not given:
        raise UserError(f"{key}: the list is empty; name at least one, or leave it out for all.")
    if len(set(given)) < len(given):
        raise UserError(f"{key}: a name is given twice.")
    for name in given:
        if known and name not in known:
            raise unknown(key.rpartition(".")[2].removesuffix("s"), name, known, where=key)
    return tuple(name for name in known if name in given) or tuple(given)


def _check_answers_from(config: RunConfig) -> None:
    if config.answers_from is None:
        return
    if not any((Path(config.answers_from).expanduser() / "journal").glob("*.jsonl")):
        raise UserError(
            f"answers_from: {config.answers_from} is not the folder of a run that asked something."
        )


def dry_run(config: RunConfig) -> str:
    """Describe what a config would ask: counts, tokens, costs, and example prompts."""
    plan = plan_roleplay(config)
    dialogues = plan.dialogues
    turns = len(dialogues) * len(UNITS)
    sizes = {"scenario": plan.scenarios, "twin": plan.twins, "wording": plan.wordings}
    counts = ", ".join(plural(len(of), name) for name, of in sizes.items())
    checked = 2 * min(config.judging.sample, turns * len(plan.models))
    per_judge = turns * len(plan.models) + checked
    lines = [
        f"{plural(len(plan.models), 'respondent')}, {plural(len(dialogues), 'dialogue')} each "
        f"({counts}): {plural(turns, 'turn')} a respondent with the plain questions.",
        f"{plural(len(plan.judges), 'judge')} of every text: up to "
        f"{plural(per_judge, 'request')} a judge, {checked:,} of them to check order and "
        "scale, without what is asked again.",
        "",
        "tokens of prompts (about), tokens of answers (at most), cost",
    ]
    longest = config.elicitation.max_new_tokens
    asked = sum(_prompt_tokens(plan, one, longest) for one in dialogues)
    for name in plan.models:
        tokens = (round(asked), turns * longest)
        lines.append(f"  {name}: {cost_in_words(tokens, config.respondents[name])}")
    for name, judge in plan.judges.items():
        prompt = len(request(Reading("", "", "", "x" * 6 * longest), texts=plan.texts))
        prompt += max(len(one.text(unit)) for one in dialogues for unit in UNITS)
        tokens = (
            round(per_judge * prompt / _LETTERS_A_TOKEN),
            per_judge * config.judging.max_new_tokens,
        )
        lines.append(f"  {name} (judge): {cost_in_words(tokens, judge)}")
    first = dialogues[0]
    for unit in UNITS:
        lines += ["", f"--- {first.scenario.id}, {first.twin}, {first.wording}, {unit}"]
        lines.append(turn(unit, first.text(unit), plan.texts))
    reading = Reading("", first.text(STAGES[0]), "(what it thought)", "(what it said)")
    lines += ["", "--- a judge is asked", request(reading, texts=plan.texts)]
    return "\n".join(lines)


def _prompt_tokens(plan: RoleplayPlan, dialogue: Dialogue, longest: int) -> float:
    """Estimate the maximum number of prompt tokens in one dialogue, with earlier turns."""
    tokens = before = 0.0
    for unit in UNITS:
        own = len(turn(unit, dialogue.text(unit), plan.texts)) / _LETTERS_A_TOKEN
        if unit == UNITS[0]:
            tokens += own
            continue
        tokens += before + own
        before += own + longest
    return tokens
