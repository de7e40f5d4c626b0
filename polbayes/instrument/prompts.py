"""Prefixes, templates and answer lexicons, and how a prompt is put together."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polbayes.config.languages import referred
from polbayes.config.resources import find, folder, read_yaml
from polbayes.config.schema import TEXTS
from polbayes.config.yaml_checks import check_keys, label, mapping, printable, text
from polbayes.errors import UserError, check_known
from polbayes.instrument.covariates import checked_attributes
from polbayes.instrument.scales import AGREE_FIRST, FIELD, Scale, listing, read_scale

SHAPES = ("base", "chat", "masked")
_FIELD = re.compile(r"\{(prefix|statement|mask|model_name)\}")


@dataclass(frozen=True)
class Prefix:
    """How the question is put."""

    prefix: str  # id; the text of ``baseline`` is empty
    text: str  # before the statement; may contain ``{model_name}``
    answer: str  # that it asks for: ``open`` or ``likert`` (a number from 1 to 5)
    # Predictors under names of the user's own (`polbayes.instrument.covariates`).
    attributes: Mapping[str, Any] = field(default_factory=dict)
    # Letters or numbers that its text has for the options, in their order, with what they mean.
    options: Mapping[str, str] = field(default_factory=dict)
    # The system prompt, which may contain ``{model_name}``; empty for none.
    system: str = ""
    # Turns of a conversation before the question, each what was put and what was answered; they
    # may contain ``{statement}`` and ``{model_name}``.
    turns: tuple[tuple[str, str], ...] = ()
    # Options in an order that differs by cell, which the text lists at ``{options}``.
    scale: Scale | None = None

    def entry(self) -> dict[str, Any]:
        """Return it as an entry of a file of prefixes has it, without its name."""
        s = self.scale
        said: dict[str, Any] = {
            "system": self.system,
            "turns": [{"user": put, "assistant": got} for put, got in self.turns],
            "options": dict(self.options),
            "attributes": dict(self.attributes),
            **({"scale": list(s.points), "codes": s.codes, "order": s.order} if s else {}),
        }
        return {"text": self.text, "answer": self.answer, **{k: v for k, v in said.items() if v}}


@dataclass(frozen=True)
class Template:
    """Where prefix and statement go, for each shape of prompt (see `SHAPES`)."""

    template: str
    elicitation: str
    texts: Mapping[str, str]


@dataclass(frozen=True)
class Lexicon:
    """Answer options by the stance they express."""

    lexicon: str
    options: tuple[str, ...]  # each once, in the order of the file
    stance: tuple[int, ...]  # of each option: -1 disagree, 0 neutral, +1 agree

    def first(self, size: int) -> "Lexicon":
        """Return the lexicon of the first `size` options of every stance."""
        return self.chosen({s: range(size) for s in (-1, 0, 1)}, size)

    def spelled(self, options: Mapping[str, str]) -> "Lexicon":
        """Return the lexicon with the letters or numbers that stand for its options."""
        codes = {word: code for code, word in options.items()}
        return replace(self, options=tuple(codes.get(word, word) for word in self.options))

    def chosen(self, places: Mapping[int, Iterable[int]], size: int) -> "Lexicon":
        """Return the lexicon of the `size` options at some places among those of each stance."""
        of = {s: [n for n, t in enumerate(self.stance) if t == s] for s in (-1, 0, 1)}
        most = max(map(len, of.values()))
        if not 1 <= size <= most:
            raise UserError(
                f"elicitation.lexicon_size: must be from 1 to {most}, which lexicon "
                f"'{self.lexicon}' has of a stance, not {size}."
            )
        kept = sorted(of[s][k] for s in of for k in places[s] if k < len(of[s]))
        name = f"{self.lexicon}, {size} a stance"
        return Lexicon(
            name, tuple(self.options[n] for n in kept), tuple(self.stance[n] for n in kept)
        )


def load_prefixes(path: str | None = None, only: Sequence[str] | None = None) -> tuple[Prefix, ...]:
    """Load prefixes, in the order of the file or of `only`.

    Parameters
    ----------
    path
        The name of a file in `data/prefix_sets`, a YAML file of the user's own, or ``LANGUAGE:``
        for those of a language; by default the shipped ten of Faulborn et al. (2025).
    only
        Ids of the prefixes to keep; by default all.

    Raises
    ------
    UserError
        If the file is malformed or an id in `only` is unknown.
    """
    file = folder("data") / "prefixes.yaml"
    if path and (language := referred(path)):
        file, entries = language[0].path, language[0].section("prefixes")
    else:
        file = prefix_file(path) if path else file
        entries = _section(file, "prefixes")
    found: dict[str, Prefix] = {}
    for name, entry in entries.items():
        where = f"{file}: prefix '{name}'"
        if not (name := label(name, where)) or name in found:
            raise UserError(f"{where}: must have a name that no other prefix has.")
        found[name] = read_prefix(name, entry, where)
    if only is None:
        return tuple(found.values())
    if not only:
        raise UserError("prefixes.only: the list is empty; name at least one prefix.")
    check_known("prefix", *only, known=found, where="prefixes.only")
    if len(set(only)) < len(only):
        raise UserError("prefixes.only: a prefix is named twice.")
    return tuple(found[name] for name in only)


def read_prefix(name: str, entry: Any, where: str) -> Prefix:
    """Check one entry of a file of prefixes; `where` is what errors call it."""
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
        raise UserError(f"{where}: must have a text (an empty one for no prefix).")
    more = {"answer", "attributes", "options", "system", "turns", "citation", "note"}
    more |= {"scale", "codes", "order"}
    check_keys(entry, {"text"}, more, where)
    answer = entry.get("answer", "open")
    check_known("kind of answer", answer, known=("open", "likert"), where=where)
    own = mapping(entry.get("attributes") or {}, f"{where}: attributes")
    prefix = Prefix(
        name,
        printable(entry["text"], f"{where}: text").strip(),
        answer,
        checked_attributes(own, where=f"{where}: attributes"),
        _options(entry.get("options") or {}, f"{where}: options"),
        text(entry["system"], f"{where}: system") if entry.get("system") else "",
        _turns(entry.get("turns") or [], f"{where}: turns"),
        read_scale(entry, where),
    )
    if prefix.scale is not None and AGREE_FIRST in prefix.attributes:
        raise UserError(
            f"{where}: attributes: '{AGREE_FIRST}' is what the order of the scale says."
        )
    return prefix


def _turns(given: Any, where: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(given, list):
        raise UserError(f"{where}: must be a list of turns, each with 'user' and 'assistant'.")
    for turn in given:
        check_keys(mapping(turn, where), {"user", "assistant"}, set(), where)
    return tuple((text(t["user"], where), text(t["assistant"], where)) for t in given)


def prefix_file(name: str) -> Path:
    """Return the shipped file of prefixes that has a name, or the user's own at a path."""
    shipped = folder("data") / "prefix_sets" / f"{name}.yaml"
    return shipped if "/" not in name and shipped.is_file() else Path(name).expanduser()


def _options(given: Any, where: str) -> dict[str, str]:
    options = {
        label(code, where): text(word, where) for code, word in mapping(given, where).items()
    }
    if len(set(options.values())) < len(options) or len({c.casefold() for c in options}) < len(
        options
    ):
        raise UserError(f"{where}: each letter or number must stand for an answer of its own.")
    return options


def load_template(name: str) -> Template:
    """Load a template by name, of `data/templates.yaml` or ``LANGUAGE:NAME``."""
    if found := referred(name):
        language, own = found
        where = f"{language.path}: templates: {own}"
        entry = mapping(language.entry("templates", own), where)
        check_keys(entry, {"elicitation"}, {*SHAPES, "citation"}, where)
        entry = {key: printable(str(value), where) for key, value in entry.items()}
    else:
        templates = _section(folder("data") / "templates.yaml", "templates")
        check_known("template", name, known=templates)
        entry = templates[name]
    texts = {shape: entry[shape] for shape in SHAPES if shape in entry}
    return Template(name, entry["elicitation"], texts)


def load_lexicon(name: str) -> Lexicon:
    """Load a lexicon of answer options: shipped, from a YAML file, or ``LANGUAGE:NAME``."""
    path: object
    if found := referred(name):
        path = f"{found[0].path}: lexicons: {found[1]}"
        content = found[0].entry("lexicons", found[1])
    else:
        path = find("lexicons", name)
        content = read_yaml(path) or {}
    if not isinstance(content, dict):
        raise UserError(f"{path}: must be a mapping with the keys agree, neutral and disagree.")
    stances = {"agree": 1, "neutral": 0, "disagree": -1}
    check_keys(content, set(), {*stances, "citation", "note"}, f"{path}")
    pairs: dict[str, int] = {}
    read: dict[str, int] = {}
    for key, stance in stances.items():
        options = content.get(key) or []
        if not isinstance(options, list) or (key != "neutral" and not options):
            raise UserError(f"{path}: '{key}' must be a list of at least one answer option.")
        for option in options:
            if not isinstance(option, str) or not option.strip():
                # YAML reads a bare yes as true.
                raise UserError(f"{path}: '{key}': '{option}' is not text; put it in quotes.")
            if read.setdefault(text(option, f"{path}: '{key}'").casefold(), stance) != stance:
                raise UserError(f"{path}: '{option}' is listed under two stances.")
            pairs[option] = stance
    return Lexicon(name, tuple(pairs), tuple(pairs.values()))


def stances_of_words(lexicon: Lexicon | None = None) -> dict[str, int]:
    """Return the stances of words, in lower case: those of a lexicon before the shipped ones'."""
    shipped = sorted(path.stem for path in (folder("data") / "lexicons").glob("*.yaml"))
    every = [*map(load_lexicon, shipped), *([lexicon] if lexicon else [])]
    pairs = [pair for one in every for pair in zip(one.options, one.stance, strict=True)]
    return {word.casefold(): stance for word, stance in pairs}


def render(
    template: str,
    *,
    prefix: str,
    statement: str,
    model_name: str = "",
    mask: str = "",
    options: Mapping[str, str] | None = None,
) -> str:
    """Put one prompt together (the user's turn, for a chat model).

    The template has the fields ``{prefix}``, ``{statement}`` and ``{mask}``. A line break follows
    the prefix, which may have the field ``{model_name}``, unless it is empty, and ``{options}``,
    where `options` are listed. Braces in the statement are left alone.
    """
    put = prefix.replace(FIELD, listing(options)) if options else prefix
    put = put.replace("{model_name}", model_name)
    values = {"prefix": f"{put}\n" if put else "", "statement": statement, "mask": mask}
    # One pass, so that a field's name inside a statement stays as it is.
    return _FIELD.sub(lambda match: values.get(match[1], match[0]), template)


def in_context(
    context: Mapping[str, Any], *, statement: str, model_name: str
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the system prompt and the turns that a prefix's ``prefix_context`` stands for."""
    values = {"statement": statement, "model_name": model_name}

    def put(text: str) -> str:
        return _FIELD.sub(lambda match: values.get(match[1], match[0]), text)

    turns = tuple((put(user), put(assistant)) for user, assistant in context.get("turns", ()))
    return put(context.get("system", "")), turns


def said_before(context: str, *, statement: str, model_name: str) -> str:
    """Return the system prompt and the turns before a question as a reader sees them.

    `context` is a ``prefix_context`` of a design; the text is empty where there are none.
    """
    system, turns = in_context(
        json.loads(context or "{}"), statement=statement, model_name=model_name
    )
    said = [("System", system)] if system else []
    for put, answered in turns:
        said += [("User", put), ("Assistant", answered)]
    return "\n\n".join(f"[{who}] {text}" for who, text in said)


def with_context(prompt: str, context: str, *, statement: str, model_name: str) -> str:
    """Return a prompt as a reader sees it, after what is said before it (`said_before`)."""
    said = said_before(context, statement=statement, model_name=model_name)
    return f"{said}\n\n[User] {prompt}" if said else prompt


def check_answers(prefixes: Iterable[Prefix], elicitation: str, lexicon: Lexicon | None) -> None:
    """Refuse a prefix that asks for other answers than the options offered."""
    if elicitation in TEXTS or lexicon is None:
        return
    prefixes = tuple(prefixes)
    for prefix in prefixes:
        if elicitation == "fill_mask" and (prefix.system or prefix.turns):
            raise UserError(
                f"prefix '{prefix.prefix}': masked models have no system prompt and no turns; "
                "leave it out with prefixes.only=[...]."
            )
        where = f"prefix '{prefix.prefix}': options"
        listed = prefix.scale.points if prefix.scale else prefix.options.values()
        if listed and elicitation == "fill_mask":
            raise UserError(f"{where}: cannot be at a mask; use elicitation=forced_choice.")
        if listed and set(listed) != set(lexicon.options):
            raise UserError(
                f"{where}: must name each option of lexicon '{lexicon.lexicon}' once: "
                f"{', '.join(lexicon.options)}."
            )
    numbers = all(option.isdigit() for option in lexicon.options)
    for prefix in prefixes:
        if (prefix.answer == "likert") and not numbers:
            raise UserError(
                f"prefix '{prefix.prefix}' asks for a number from 1 to 5, but the options of "
                f"lexicon '{lexicon.lexicon}' are words; leave it out with prefixes.only=[...] "
                "or use elicitation.lexicon=likert5."
            )


def _section(file: Path, key: str) -> dict[str, dict[str, str]]:
    content = read_yaml(file) if file.is_file() else None
    if content is None:
        raise UserError(f"{file}: no such file, or it is empty.")
    section = content.get(key) if isinstance(content, dict) else None
    if not isinstance(section, dict) or not section:
        raise UserError(f"{file}: the key '{key}' must be a mapping with at least one entry.")
    return section


def surfaces(option: str) -> tuple[str, ...]:
    """Return the ways to write an answer option: its case variants, with and without a space.

    >>> surfaces("yes")
    ('yes', 'Yes', 'YES', ' yes', ' Yes', ' YES')
    """
    word = option.strip()
    cased = dict.fromkeys((word, word.lower(), word[:1].upper() + word[1:].lower(), word.upper()))
    return (*cased, *(f" {form}" for form in cased))


def claim(
    owner: dict[tuple[int, ...], int], ids: tuple[int, ...], option: int, by: Lexicon
) -> None:
    """Count a token sequence for an option, unless one before it has it already.

    Two options of different stance that are written with the same tokens are an error. `owner`
    has the sequences so far with the indices of their options, and is added to.
    """
    first = owner.setdefault(ids, option)
    if by.stance[first] != by.stance[option]:
        raise UserError(
            f"lexicon '{by.lexicon}': '{by.options[first]}' and '{by.options[option]}' express "
            "different stances but are the same tokens to this model; keep one of them."
        )
