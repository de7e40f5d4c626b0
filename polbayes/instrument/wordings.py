"""Wordings in a table beside the instrument: thousands of paraphrases, made or published elsewhere.

A wordings file is a table (CSV, TSV, Parquet, JSON lines) with one row a wording and the columns

``item``
    the item's id in the instrument
``variant``
    an id, unique within the item, which also says which set a wording is of where there are several
``kind``
    ``paraphrase``, ``negation`` or ``opposite``
``text``
    the statement

``task=paraphrase`` writes such a file. Other columns are for the reader.

``LANGUAGE:INSTRUMENT`` in place of a file are the translations in a language's file
(`polbayes.config.languages`): a wording ``original`` of German gets the id ``de``, ``opposite``
``de_opposite``, with the kind of what is translated and the attribute ``language``.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from polbayes.config.languages import ATTRIBUTE, Language, referred
from polbayes.config.yaml_checks import identifier, mapping, text
from polbayes.data.tables import read_table
from polbayes.errors import UserError, check_known
from polbayes.instrument.questionnaires import POLARITY, Instrument, Item, Variant

COLUMNS = ("item", "variant", "kind", "text")
KINDS = tuple(kind for kind in POLARITY if kind != "original")


def with_wordings(
    instruments: Sequence[Instrument], files: Sequence[str]
) -> tuple[Instrument, ...]:
    """Add the wordings of files to the items that they are of."""
    found: dict[str, list[Variant]] = {
        i.item: list(i.variants) for q in instruments for i in q.items
    }
    taken = {(item, v.variant) for item, variants in found.items() for v in variants}
    for file in files:
        if reference := referred(file):
            _translate(instruments, found, *reference)
            continue
        path = Path(file).expanduser()
        if not path.is_file():
            raise UserError(
                f"wordings: {path}: no such file; give the path of a table of wordings."
            )
        for row, item, wording in _rows(read_table(path), path):
            where = f"{path}: row {row}"
            check_known("item", item, known=found, where=where)
            if (item, wording.variant) in taken:
                raise UserError(
                    f"{where}: item '{item}' has a wording '{wording.variant}' already; give each "
                    "wording of an item an id of its own."
                )
            taken.add((item, wording.variant))
            found[item].append(wording)

    def extended(item: Item) -> Item:
        return replace(item, variants=tuple(found[item.item]))

    return tuple(replace(q, items=tuple(map(extended, q.items))) for q in instruments)


def _translate(
    instruments: Sequence[Instrument],
    found: dict[str, list[Variant]],
    language: Language,
    name: str,
) -> None:
    """Add the translated wordings of an instrument, or mark the wordings of the source language."""
    by_id = {q.id: q for q in instruments}
    check_known("instrument", name, known=by_id, where=f"{language.path}: wordings")
    marked = {ATTRIBUTE: language.code}
    if language.source:
        for item in by_id[name].items:
            found[item.item] = [
                replace(one, attributes={**one.attributes, **marked}) for one in found[item.item]
            ]
        return
    where = f"{language.path}: wordings: {name}"
    items = {item.item: item for item in by_id[name].items}
    translated = mapping(language.entry("wordings", name), where)
    check_known("item", *map(str, translated), known=items, where=where)
    for item, texts in translated.items():
        here = f"{where}: {item}"
        known = {one.variant: one for one in items[item].variants}
        for variant, said in mapping(texts, here).items():
            check_known("wording", str(variant), known=known, where=here)
            put = text(said, f"{here}: {variant}")
            one = replace(known[variant], variant=language.variant(str(variant)), text=put)
            found[item].append(replace(one, attributes={**one.attributes, **marked}))


def _rows(table: pd.DataFrame, path: Path) -> list[tuple[int, str, Variant]]:
    """Check the rows of a table, counted from 1 without the header."""
    for column in COLUMNS:
        if column not in table.columns:
            raise UserError(
                f"{path}: the column '{column}' is missing; a wordings file has "
                f"{', '.join(COLUMNS)} (task=paraphrase makes one of another table with "
                "paraphrase.table=FILE)."
            )
    rows = []
    columns = (table[name] for name in COLUMNS)
    for row, (item, variant, kind, put) in enumerate(zip(*columns, strict=True), start=1):
        where = f"{path}: row {row}"
        said = text(put or "", where)
        check_known("kind", kind, known=KINDS, where=where)
        identifier(variant, f"{where}: variant")
        rows.append((row, str(item), Variant(variant, said, kind, POLARITY[kind])))
    return rows
