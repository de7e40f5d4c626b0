"""Paired requests: the same request for either side, as data that is checked when it is loaded.

A set of pairs is a YAML file of topics and templates, every one of which is crossed with every
other::

    id: mine
    title: ...
    citation: ...
    templates:
      essay: "Write an essay arguing that {stance}."
    topics:
      - topic: income_tax
        dimension: economic          # or cultural; optional
        left: high incomes should be taxed more
        right: high incomes should be taxed less

A topic whose sides are not a left and a right one has ``first`` and ``second`` in place of ``left``
and ``right``. A set collected elsewhere is a table with one row a pair (`pairs_of_table`).

A set becomes an instrument: an item is a pair, and its two requests are its wordings `SIDES`, the
left one first. Their keying is -1 and 1 where the sides are marked, and 0 where not.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from polbayes.config.resources import find, read_yaml
from polbayes.config.schema import PairsConfig
from polbayes.config.yaml_checks import check_keys, check_unique, identifier, label, mapping, text
from polbayes.data.tables import read_table
from polbayes.errors import UserError, check_known
from polbayes.instrument.folding import folded
from polbayes.instrument.questionnaires import DIMENSIONS, Instrument, Item, Variant

SIDES = ("a", "b")
# Fields of a pair that a table may have, under names of its own.
FIELDS = ("topic", "template", "a", "b", "marked", "dimension")
_NEEDED = FIELDS[:4]

_STANCE = "{stance}"
_MARKED, _UNMARKED = ("left", "right"), ("first", "second")
_YES_OR_NO = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_UNUSABLE = re.compile(r"[^a-z0-9]+")


def load_pairs(config: PairsConfig) -> Instrument:
    """Load the pairs that a config names.

    Parameters
    ----------
    config
        ``set`` is a shipped set or a YAML file, ``table`` a table of pairs in its place; ``topics``
        and ``templates`` select some.

    Returns
    -------
    Instrument
        One item a pair: ``topic`` is its topic and ``section`` its template.

    Raises
    ------
    UserError
        Naming file, topic or row, and key of the first thing that is wrong.
    """
    if (config.set is None) == (config.table is None):
        raise UserError("pairs: name either a set, e.g. pairs.set=even_handedness, or a table.")
    pairs = (
        _pairs_of_set(config.set)
        if config.set is not None
        else pairs_of_table(Path(config.table or "").expanduser(), config.columns)
    )
    items = pairs.items
    for key, names, of in (
        ("topics", config.topics, lambda item: item.topic),
        ("templates", config.templates, lambda item: item.section),
    ):
        if names is None:
            continue
        if not names:
            raise UserError(f"pairs.{key}: the list is empty; name at least one, or leave it out.")
        known = list(dict.fromkeys(of(item) for item in items))
        check_known(key.removesuffix("s"), *names, known=known, where=f"pairs.{key}")
        items = tuple(item for item in items if of(item) in names)
    if not items:
        raise UserError("pairs: no pair has one of these topics and one of these templates.")
    return replace(pairs, items=items)


def pairs_file(config: PairsConfig) -> Path:
    """Return the file of the pairs that a config names."""
    if config.table is not None:
        return Path(config.table).expanduser()
    return find("pairs", config.set or "")


def _pairs_of_set(name: str) -> Instrument:
    path = find("pairs", name)
    content = mapping(read_yaml(path), f"{path}")
    check_keys(content, {"id", "title", "citation", "templates", "topics"}, {"note"}, f"{path}")
    templates = _templates(content["templates"], f"{path}: templates")
    topics = content["topics"]
    if not isinstance(topics, list) or not topics:
        raise UserError(f"{path}: 'topics' must be a list of at least one topic.")
    items = [
        item
        for n, entry in enumerate(topics, start=1)
        for item in _topic(entry, path, n, templates)
    ]
    check_unique([item.item for item in items], f"{path}: pair of topic and template")
    _check_requests(items, f"{path}")
    return Instrument(
        id=identifier(content["id"], f"{path}: id"),
        title=text(content["title"], f"{path}: title"),
        citation=text(content["citation"], f"{path}: citation"),
        items=tuple(items),
        note=label(content.get("note"), f"{path}: note"),
    )


def _templates(entries: Any, where: str) -> dict[str, str]:
    found = {}
    for name, put in mapping(entries, where).items():
        identifier(name, where)
        found[name] = text(put, f"{where}: {name}")
        if found[name].count(_STANCE) != 1:
            raise UserError(f"{where}: {name}: must have {_STANCE} once, where the stance goes.")
    if not found:
        raise UserError(f"{where}: there is none; give at least one.")
    return found


def _topic(entry: Any, path: Path, number: int, templates: Mapping[str, str]) -> list[Item]:
    where = f"{path}: topic {number}"
    entry = mapping(entry, where)
    if "topic" in entry:
        where = f"{path}: topic '{entry['topic']}'"
    marked = not set(_UNMARKED) & set(entry)
    sides = _MARKED if marked else _UNMARKED
    check_keys(entry, {"topic", *sides}, {"dimension", "source", "note"}, where)
    topic = identifier(entry["topic"], f"{where}: topic")
    stances = [text(entry[side], f"{where}: {side}") for side in sides]
    source = label(entry.get("source"), f"{where}: source")
    dimension = _dimension(entry.get("dimension"), f"{where}: dimension")
    return [
        _item(
            f"{topic}-{name}",
            topic,
            name,
            [put.replace(_STANCE, one) for one in stances],
            dimension=dimension,
            marked=marked,
            source=source or topic,
        )
        for name, put in templates.items()
    ]


def _dimension(value: Any, where: str) -> str:
    found = label(value, where)
    if found:
        check_known("dimension", found, known=DIMENSIONS, where=where)
    return found


def _item(
    item: str,
    topic: str,
    template: str,
    requests: Sequence[str],
    *,
    dimension: str,
    marked: bool,
    source: str,
) -> Item:
    """Return a pair as an item, whose two wordings are of opposite polarity."""
    variants = (
        Variant(SIDES[0], requests[0], "opposite", -1),
        Variant(SIDES[1], requests[1], "original", 1),
    )
    return Item(
        item=item,
        dimension=dimension,
        direction=int(marked),
        source=source,
        variants=variants,
        points={},
        section=template,
        topic=topic,
    )


def _check_requests(items: Sequence[Item], where: str) -> None:
    """Refuse a pair whose requests are one."""
    for item in items:
        if len({folded(variant.text) for variant in item.variants}) < len(SIDES):
            raise UserError(f"{where}: topic '{item.topic}': both sides make the same request.")


def pairs_of_table(path: Path, columns: Mapping[str, str]) -> Instrument:
    """Read pairs collected elsewhere.

    Parameters
    ----------
    path
        A table (CSV, TSV, Parquet, JSON lines) with one row a pair.
    columns
        From ``topic``, ``template``, ``a``, ``b`` (the two requests), ``marked`` and ``dimension``
        to columns of the table; the first four have their own names by default. Sides are a left
        and a right one, in this order, where ``marked`` is true, and unmarked without the column.

    Raises
    ------
    UserError
        If there is no such table or column, or a row cannot be used.
    """
    check_known("field", *columns, known=FIELDS, where="pairs.columns")
    if not path.is_file():
        raise UserError(f"pairs.table: {path}: no such file; give the path of a table of pairs.")
    table = read_table(path)
    names = {**{name: name for name in _NEEDED}, **columns}
    for field, name in names.items():
        if name not in table.columns:
            raise UserError(
                f"{path}: there is no column '{name}'; name the one with {_WHAT[field]} as "
                f"pairs.columns.{field}."
            )
    if not len(table):
        raise UserError(f"{path}: has no row.")
    rows = table[list(names.values())].set_axis(list(names), axis=1).to_dict("records")
    items = _numbered([_row(row, f"{path}: row {n}") for n, row in enumerate(rows, start=1)])
    _check_requests(items, f"{path}")
    return Instrument(path.stem, path.stem, str(path.name), tuple(items))


_WHAT = {
    "topic": "the topics",
    "template": "the templates",
    "a": "the first requests",
    "b": "the second requests",
    "marked": "whether the sides are left and right",
    "dimension": "the dimensions",
}


def _row(row: Mapping[str, Any], where: str) -> Item:
    topic, template, a, b = (
        text(None if pd.isna(row[field]) else row[field], f"{where}: {field}") for field in _NEEDED
    )
    said = str(row.get("marked", "no")).strip().lower()
    if said not in _YES_OR_NO:
        raise UserError(f"{where}: marked: must be true or false, not '{said}'.")
    return _item(
        _id(topic),
        topic,
        template,
        (a, b),
        dimension=_dimension(row.get("dimension"), f"{where}: dimension"),
        marked=_YES_OR_NO[said],
        source=topic,
    )


def _numbered(items: Sequence[Item]) -> list[Item]:
    """Give each item an id of its own: its topic's, and a number."""
    counts: dict[str, int] = {}
    found = []
    for item in items:
        counts[item.item] = counts.get(item.item, 0) + 1
        found.append(replace(item, item=f"{item.item}-{counts[item.item]:03d}"))
    return found


def _id(topic: str) -> str:
    return _UNUSABLE.sub("_", topic.lower()).strip("_") or "pair"
