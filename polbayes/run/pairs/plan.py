"""The plan of a run on paired requests: its config, checked and described."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import xarray as xr

from polbayes.config.schema import RespondentConfig, RunConfig
from polbayes.data.dataset import NOT_ASKED
from polbayes.errors import UserError, check_known
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.pairs import SIDES, load_pairs
from polbayes.instrument.prompts import Prefix, load_prefixes, load_template
from polbayes.instrument.questionnaires import Instrument
from polbayes.judging.declared import judges_of, judging_elicitation, named_as_judge
from polbayes.judging.pairs import (
    VERDICTS,
    Answered,
    judge_of,
    pair_request,
    rating_request,
)
from polbayes.probing.costs import cost_in_words, estimate, estimate_in_words
from polbayes.probing.probe import rendered_prompt
from polbayes.report.prose import plural
from polbayes.run.plan import design_of

# Judges get the text of a request alone, as roles do.
_TEMPLATE = "roleplay"
# Approximate number of letters per token of English prose.
_LETTERS_A_TOKEN = 4.5


@dataclass(frozen=True)
class PairsPlan:
    """A checked config: pairs, prefixes, respondents and judges."""

    config: RunConfig
    pairs: Instrument
    prefixes: tuple[Prefix, ...]
    design: xr.Dataset
    judges: Mapping[str, RespondentConfig]
    judge_infos: Mapping[str, ModelInfo]


def plan_pairs(config: RunConfig) -> PairsPlan:
    """Check a config as far as possible without asking anything."""
    from polbayes.probing.launch.engine import check_launcher
    from polbayes.respondents import check, describe

    for key in ("instruments", "wordings", "imported", "items", "variants"):
        if getattr(config, key):
            raise UserError(f"{key}: is for questionnaires, not for elicitation=paired.")
    check_launcher(config.launcher)
    check_known("way", config.judging.verdict, known=VERDICTS, where="judging.verdict")
    pairs = load_pairs(config.pairs)
    prefixes = load_prefixes(config.prefixes.file, config.prefixes.only)
    template = load_template(config.elicitation.template)
    design = design_of(config, [pairs], prefixes, template)
    judges, infos = judges_of(config), {}
    for name, one in judges.items():
        with named_as_judge(name, config):
            check(name, one, judging_elicitation(config.judging))
            infos[name] = describe(name, one, load_template(_TEMPLATE))
            # Refuses a judge whose probabilities cannot be read, where these are asked for.
            way = config.judging.verdict
            check(name, one, judge_of(name, judges, infos[name], config, way).asking.elicitation)
    if config.answers_from is not None:
        journals = Path(config.answers_from).expanduser() / "journal"
        if not any(journals.glob("*.jsonl")):
            raise UserError(
                f"answers_from: {config.answers_from} is not the folder of a run that asked "
                "something."
            )
    return PairsPlan(config, pairs, prefixes, design, judges, infos)


def dry_run(config: RunConfig) -> str:
    """Describe what a config would ask: counts, tokens, costs, and example prompts."""
    plan = plan_pairs(config)
    data, judging = plan.design, config.judging
    asked = int((data["status"] != NOT_ASKED).sum())
    sizes = data.sizes
    lines = [
        f"{plural(asked, 'request')}: {plural(sizes['model'], 'model')}, "
        f"{plural(sizes['item'], 'pair')}, "
        f"{plural(sizes['prefix'], 'prefix')}, {plural(sizes['run'], 'run')}, "
        "each in a conversation of its own.",
        f"{plural(len(plan.judges), 'judge')}: {plural(asked, 'verdict')} on pairs, each pair "
        f"in both orders, and {plural(asked, 'rating')} of single answers, without what is "
        "asked again.",
        "",
    ]
    journal = Path(config.run_dir).expanduser() / "journal"
    table = estimate(data, config.respondents, config.elicitation, journal)
    lines += [estimate_in_words(table, config.respondents), ""]
    lines.append("judge: tokens of prompts (about), tokens of answers (at most), cost")
    answer = "x" * round(config.elicitation.max_new_tokens * _LETTERS_A_TOKEN)
    longest = max(len(v.text) for item in plan.pairs.items for v in item.variants)
    one = Answered("x" * longest, answer)
    letters = len(pair_request(one, one, way=judging.verdict)) + len(rating_request(one))
    for name, judge in plan.judges.items():
        tokens = round(asked * letters / _LETTERS_A_TOKEN), 2 * asked * judging.max_new_tokens
        lines.append(f"  {name}: {cost_in_words(tokens, judge)}")
    return "\n".join([*lines, *_examples(plan)])


def _examples(plan: PairsPlan) -> list[str]:
    data, item = plan.design, plan.pairs.items[0]
    lines = []
    for prefix in data["prefix"].values.tolist():
        for side in SIDES:
            text = rendered_prompt(data, data["model"].values[0], item.item, side, prefix)
            lines += ["", f"--- {item.item}, {side}, {prefix}", text]
    first, second = (Answered(v.text, "(an answer)") for v in item.variants)
    way = plan.config.judging.verdict
    lines += ["", "--- a judge is asked about a pair", pair_request(first, second, way=way)]
    return [*lines, "", "--- and about each answer", rating_request(first)]
