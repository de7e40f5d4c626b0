"""The questions of a config for other engines: lm-evaluation-harness and Inspect.

Both are asked from a file of JSON lines, one for each question, whose key ``polbayes`` says which
cell of the design it is, so that the answers can be imported again (`polbayes.coding.logs`).
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from polbayes.coding.logs.reader import OF_QUESTION
from polbayes.config.schema import RunConfig
from polbayes.data.dataset import CELL_DIMS
from polbayes.data.files import write_text
from polbayes.data.prose import plural
from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import (
    Lexicon,
    Prefix,
    check_answers,
    load_lexicon,
    load_prefixes,
    load_template,
    surfaces,
)
from polbayes.instrument.questionnaires import load_instrument
from polbayes.instrument.wordings import with_wordings
from polbayes.respondents.base import Question, messages, plain_text
from polbayes.respondents.chat_api.request import ANSWER_TOKENS
from polbayes.respondents.questions import PendingQuestions

# Answers are scored here, not there.
_UNSCORED = [{"metric": "bypass", "aggregation": "bypass", "higher_is_better": True}]
_INSPECT = '''"""{title}: {count}, written by polbayes."""

from pathlib import Path

from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.model import GenerateConfig
from inspect_ai.solver import generate


@task
def {name}() -> Task:
    """Ask every question; answers are read when the log is imported."""
    return Task(
        dataset=json_dataset(str(Path(__file__).with_suffix(".jsonl"))),
        solver=generate(),
        epochs=Epochs({runs}, []),
        config=GenerateConfig({config}),
    )
'''


def write_lm_eval(config: RunConfig, run: Path, folder: Path) -> list[Path]:
    """Write ``lm_eval/NAME.yaml``, a task, and ``lm_eval/NAME.jsonl``, its documents."""
    lexicon, name = _lexicon(config), _name(config)
    if lexicon is not None and _room(config):
        raise UserError(
            "export.thinking_tokens: lm_eval reads the probabilities of options with no thinking "
            "before them; use export.formats=[inspect] or elicitation=sampled_choice."
        )
    path = (folder / "lm_eval" / f"{name}.jsonl").resolve()
    lines = []
    for question, about in _questions(config, lexicon):
        if config.export.chat and (question.system or question.before):
            raise UserError(
                f"export.formats: lm_eval puts one turn, but prefix '{question.prefix}' has a "
                "system prompt or turns; leave it out with prefixes.only, or use inspect."
            )
        doc = {**about, "prompt": plain_text(question)}
        if lexicon is not None:
            words = lexicon.spelled(question.options).options
            doc["choices"] = list(dict.fromkeys(form for word in words for form in surfaces(word)))
        lines.append(json.dumps(doc, ensure_ascii=False))
    task: dict[str, Any] = {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(path)}},
        "test_split": "test",
        "doc_to_text": "{{prompt}}",
        "target_delimiter": "",
        "metadata": {"version": 1},
        **_asked(config, lexicon),
    }
    write_text(path, "\n".join(lines) + "\n")
    write_text(path.with_suffix(".yaml"), yaml.safe_dump(task, sort_keys=False))
    return [path.with_suffix(".yaml"), path]


def _asked(config: RunConfig, lexicon: Lexicon | None) -> dict[str, Any]:
    if lexicon is not None:
        return {
            "output_type": "multiple_choice",
            "doc_to_choice": "{{choices}}",
            "doc_to_target": 0,
            "metric_list": _UNSCORED,
        }
    how = config.elicitation
    settings: dict[str, Any] = {"until": [], "max_gen_toks": how.max_new_tokens + _room(config)}
    if how.decoding == "sample" and how.temperature > 0:
        settings |= {"do_sample": True, "temperature": how.temperature, "top_p": how.top_p}
        settings |= {"top_k": how.top_k}
    else:
        settings |= {"do_sample": False}
    return {
        "output_type": "generate_until",
        "doc_to_target": "",
        "repeats": _repeats(config, lexicon),
        "generation_kwargs": settings,
        "metric_list": _UNSCORED,
    }


def write_inspect(config: RunConfig, run: Path, folder: Path) -> list[Path]:
    """Write ``inspect/NAME.py``, a task, and ``inspect/NAME.jsonl``, its samples."""
    lexicon, name = _lexicon(config), _name(config)
    how = config.elicitation
    path = folder / "inspect" / f"{name}.jsonl"
    lines = []
    for question, about in _questions(config, lexicon):
        sample = {
            "id": " / ".join(str(value) for name, value in about.items() if name in CELL_DIMS),
            "input": messages(question),
            "target": "",
            "metadata": about,
        }
        lines.append(json.dumps(sample, ensure_ascii=False))
    most = (ANSWER_TOKENS if lexicon is not None else how.max_new_tokens) + _room(config)
    settings: dict[str, Any] = {"max_tokens": most, "temperature": how.temperature}
    if lexicon is not None:
        settings |= {"temperature": 0.0, "logprobs": True, "top_logprobs": 20}
    elif how.decoding == "greedy":
        settings["temperature"] = 0.0
    else:
        settings |= {"top_p": how.top_p} if how.top_p < 1 else {}
        settings |= {"top_k": how.top_k} if how.top_k else {}
    text = _INSPECT.format(
        title=name,
        name=name,
        count=plural(len(lines), "question"),
        runs=_repeats(config, lexicon),
        config=", ".join(f"{key}={value!r}" for key, value in settings.items()),
    )
    write_text(path, "\n".join(lines) + "\n")
    write_text(path.with_suffix(".py"), text)
    return [path.with_suffix(".py"), path]


def _repeats(config: RunConfig, lexicon: Lexicon | None) -> int:
    """Return how often one question is asked: once where each run has an order of its own."""
    return 1 if lexicon is not None or _drawn(config) else config.elicitation.runs


def _drawn(config: RunConfig) -> bool:
    """Return whether the order of options differs by item, wording and run."""
    prefixes = load_prefixes(config.prefixes.file, config.prefixes.only)
    return any(prefix.scale is not None and prefix.scale.drawn for prefix in prefixes)


def _room(config: RunConfig) -> int:
    """Return how many tokens of thinking may come before an answer."""
    return config.export.thinking_tokens or 0


def _name(config: RunConfig) -> str:
    """Return a name for a task that is one in Python, too."""
    return f"polbayes_{re.sub(r'[^0-9A-Za-z]+', '_', config.name).strip('_') or 'questions'}"


def _lexicon(config: RunConfig) -> Lexicon | None:
    how = config.elicitation
    if how.kind not in ("open_ended", "forced_choice") or how.decoding in ("beam", "contrastive"):
        kind = how.kind if how.kind != "open_ended" else f"decoding={how.decoding}"
        raise UserError(
            f"export.formats: other engines are asked with elicitation=open_ended, sampled_choice "
            f"or forced_choice, and decode by sample or greedy, not with {kind}."
        )
    if how.kind == "open_ended" or not how.lexicon:
        return None
    whole = load_lexicon(how.lexicon)
    return whole if how.lexicon_size is None else whole.first(how.lexicon_size)


def _questions(
    config: RunConfig, lexicon: Lexicon | None
) -> Iterator[tuple[Question, dict[str, Any]]]:
    """Yield every question once, with what tells its cell when its answer is imported."""
    if not config.instruments:
        raise UserError(
            "export.formats: lm_eval and inspect ask the questions of a config; add "
            "+experiment=NAME, or instruments=[NAME]."
        )
    instruments = with_wordings([load_instrument(n) for n in config.instruments], config.wordings)
    prefixes, drawn = load_prefixes(config.prefixes.file, config.prefixes.only), _drawn(config)
    check_answers(prefixes, config.elicitation.kind, lexicon)
    shape = "chat" if config.export.chat else "base"
    template = load_template(config.elicitation.template).texts.get(shape)
    if template is None:
        raise UserError(
            f"elicitation.template: '{config.elicitation.template}' has no text for {shape} models."
        )
    name = config.export.model_name or ""
    for prefix in prefixes:
        if not name and "{model_name}" in json.dumps(prefix.entry()):
            raise UserError(
                f"export.model_name: prefix '{prefix.prefix}' names the model; say how it is to be "
                "called, or leave the prefix out with prefixes.only."
            )
    data = design(
        instruments,
        prefixes,
        [ModelInfo(name, template, chat=config.export.chat)],
        variants=config.variants,
        items=config.items,
        runs=config.elicitation.runs if drawn else 1,
        seed=config.seed,
        lexicon=lexicon,
    )
    entries = {one.prefix: one for one in prefixes}
    for question in PendingQuestions(data, name, {p.prefix: p.answer for p in prefixes}):
        cell: dict[str, Any] = {name: getattr(question, name) for name in OF_QUESTION}
        if drawn:
            cell["run"] = question.run
        known = _known(question, entries[question.prefix], lexicon, config.seed)
        # As one text: tables that engines make of it would mix the keys of different prefixes.
        yield question, {**cell, "polbayes": json.dumps({**cell, **known}, ensure_ascii=False)}


def _known(
    question: Question, prefix: Prefix, lexicon: Lexicon | None, seed: int
) -> dict[str, Any]:
    """Return what the import of an answer takes, besides the question's cell."""
    known: dict[str, Any] = {"prefix_entry": prefix.entry()}
    if prefix.scale is not None and prefix.scale.drawn:
        known["prefix_options"] = prefix.scale.arranged(seed, *question.cell)
    if lexicon is not None:
        words = lexicon.spelled(question.options)
        known["options"] = dict(zip(words.options, words.stance, strict=True))
    return known
