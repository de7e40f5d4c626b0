"""Languages as data: templates, prefixes, lexicons, phrases and wordings in one file each.

A language is a file of `data/languages`, or a user's own by its path::

    language: de                     # begins the ids of its wordings
    name: German
    citation: who translated it
    templates: {...}                 # as in data/templates.yaml, under the same names
    prefixes: {...}                  # as in data/prefixes.yaml
    lexicons: {haller_generative: {agree: ["ja"], disagree: ["nein"]}}
    phrases: {agree: [...], disagree: [...], neutral: [...], refused: [...], breaks: [...]}
    wordings: {wvs: {wvs-01: {original: ..., opposite: ...}}}

Any of the sections may be missing; what needs it is then refused. With the key ``language`` of the
config everything is taken from the file; one thing alone has the name ``de:NAME``. The language of
the instruments themselves has ``source: true`` and no sections.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polbayes.config.resources import find, read_yaml
from polbayes.config.yaml_checks import check_keys, identifier, mapping, text
from polbayes.errors import UserError, check_known

ATTRIBUTE = "language"
_SECTIONS = ("templates", "prefixes", "lexicons", "phrases", "wordings")
_RULE = "lexical"


@dataclass(frozen=True)
class Language:
    """A language's file."""

    code: str  # its id
    name: str
    path: Path
    source: bool  # whether it is the language of the instruments themselves
    sections: Mapping[str, Mapping[Any, Any]]  # of `_SECTIONS`, as far as there are any

    def entry(self, section: str, name: str) -> Any:
        """Return what a section has under a name."""
        known = self.section(section)
        check_known("name", name, known=list(map(str, known)), where=f"{self.path}: {section}")
        return known[name]

    def section(self, name: str) -> Mapping[Any, Any]:
        """Return a section."""
        if name not in self.sections:
            raise UserError(f"{self.path}: has no '{name}'; add them to use this language here.")
        return self.sections[name]

    def variant(self, name: str) -> str:
        """Return the id of the translation of a wording."""
        return self.code if name == "original" else f"{self.code}_{name}"


def load_language(name: str) -> Language:
    """Load a language by its name in `data/languages` or by the path of a file."""
    path = find("languages", name)
    content = mapping(read_yaml(path), f"{path}")
    check_keys(content, {"language", "name", "citation"}, {*_SECTIONS, "source", "note"}, f"{path}")
    source = content.get("source", False)
    if not isinstance(source, bool):
        raise UserError(f"{path}: source: must be true or false, not '{source}'.")
    sections = {
        key: mapping(content[key] or {}, f"{path}: {key}") for key in _SECTIONS if key in content
    }
    code = identifier(content["language"], f"{path}: language")
    return Language(code, text(content["name"], f"{path}: name"), path, source, sections)


def referred(name: str) -> tuple[Language, str] | None:
    """Return the language and the name in it that ``LANGUAGE:NAME`` means; None for others."""
    before, colon, after = name.rpartition(":")
    return (load_language(before), after) if colon and before else None


def localise(composed: Any) -> None:
    """Let a composed config (a `DictConfig`) take everything from the file of its language."""
    if not composed.get(ATTRIBUTE):
        return
    from omegaconf import open_dict

    name = str(composed.language)
    language = load_language(name)
    with open_dict(composed):
        instruments = [str(one) for one in composed.get("instruments") or ()]
        known = [str(one) for one in composed.get("wordings") or ()]
        own = [f"{name}:{one}" for one in instruments]
        composed.wordings = [*known, *(one for one in own if one not in known)]
        if language.source:
            return
        how, prefixes = composed.elicitation, composed.prefixes
        for key in ("template", "lexicon"):
            if how.get(key) and ":" not in how[key]:
                how[key] = f"{name}:{how[key]}"
        if not prefixes.get("file"):
            prefixes.file = f"{name}:"
        given = composed.get("variants")
        composed.variants = (
            _translated(language, instruments)
            if given is None
            else [language.variant(str(one)) for one in given]
        )
        _read_in(composed.coding, name, language.code)


def _translated(language: Language, instruments: Sequence[str]) -> list[str]:
    """Return the ids of the translated wordings of instruments."""
    found: dict[str, None] = {}
    for name in instruments:
        where = f"{language.path}: wordings: {name}"
        for item, texts in mapping(language.entry("wordings", name), where).items():
            for variant in mapping(texts, f"{where}: {item}"):
                found[language.variant(str(variant))] = None
    return list(found)


def _read_in(coding: Any, name: str, code: str) -> None:
    """Replace the English rules by the phrases of a language."""
    coder = f"{_RULE}_{code}"
    if _RULE in coding.coders:
        coding.coders = [coder if one == _RULE else one for one in coding.coders]
        coding.models[coder] = {"kind": "phrases", "language": name}
