"""Files of users, broken in hundreds of ways: one sentence, or a result that makes sense.

Every case is a valid file with up to three mutations, drawn from a seed of its own. The quick suite
draws a few of each kind; the slow one draws 500, and 1,000 tables of answers.
"""

import copy
import datetime
import decimal
import gzip
import json
import math
import random
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from polbayes.coding.importer import import_table
from polbayes.coding.table_rows import Selection
from polbayes.config.compose import compose
from polbayes.config.resources import folder
from polbayes.config.schema import STAGES, ImportConfig, RunConfig
from polbayes.data.dataset import NOT_ASKED, STATUS, read_dataset, write_dataset
from polbayes.errors import UserError, of_system
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Lexicon, Prefix, load_lexicon, load_prefixes
from polbayes.instrument.questionnaires import (
    DIMENSIONS,
    POLARITY,
    Instrument,
    Item,
    load_instrument,
)
from polbayes.instrument.wordings import with_wordings
from polbayes.run.plan import dry_run, plan

# --- Values that no file should have in most places -------------------------------------------

# Stands in a tree for text that is put into the file as it is.
RAW = "RAWTOKEN7"
LAUGHS = (
    "{a0: &a0 [x,x,x,x,x,x,x,x,x,x], "
    + ", ".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9))
    + "}"
)
RAWS = (
    *("!!python/object/apply:os.system ['true']", "!!python/name:os.system", "!mine x"),
    *("*gone", "&a [*a]", "&b {b: *b}", "{<<: 5}", "{<<: {a: 1}}", "{? [a] : b}"),
    *("!!binary '***'", "!!int abc", "!!float abc", "!!timestamp abc", "!!bool maybe"),
    *("!!set {a, b}", "!!omap [a: 1]", "!!omap x", "!!pairs [a: 1]", "!!str 5", "!!null x"),
    *("2020-99-99", "2020-02-03", "12:30:45", "0x1F", "1_000", "1e999", "9" * 5000, "-.inf"),
    *("[" * 3000 + "]" * 3000, "{a: 1, a: 2}", "'open", '"open', '"\\ud800"', '"\\0"', "@x"),
    *("`x`", "- - -", "?", "yes", "NO", "~", "<<", "|\n  x", "> x", "# x", "[", "}", "%TAG"),
)
TEXTS = (
    *("", " ", "\t\n", "x" * 100_000, "a\x00b", "\x1b[31mred", "\u202eabc\u202c", "\u200b", "…"),
    *("\u0430gree", "left ", "LEFT", "original", "Ünï", "\ufeffleft", "a\nb", "\r", "\x85"),
    *("nan", "null", "true", "1", "{statement}", "${name}", "${gone}", "${oc.env:HOME}", "???"),
    *("../../etc/passwd", "=1+1", "a,b", "'", '"', "\\", "ﬁ", "e\u0301", "\U0001f600"),
)
NUMBERS = (
    *(0, -1, 1, 2, 1.5, -0.0, 1e-320, math.nan, math.inf, -math.inf, 10**40, -(10**40), True),
    *(False, 2**31, 2**63),
)
OTHERS = (
    *(None, [], [None], ["a", "a"], [["a"]], {}, {"a": 1}, {"a": {"b": [1]}}, {1: 2}, {None: 1}),
    *(datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3), b"\xff\x00", {"a"}, "RAW"),
)


def odd(rng: random.Random) -> Any:
    """Return a value that is wrong in most places."""
    chosen = rng.choice([rng.choice(TEXTS), rng.choice(NUMBERS), rng.choice(OTHERS), "RAW"])
    return RAW if isinstance(chosen, str) and chosen == "RAW" else copy.deepcopy(chosen)


# --- Trees of YAML ------------------------------------------------------------------------------


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Return every place of a tree as its container and key."""
    found = []
    keys = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        found += [(tree, key), *places(tree[key])]
    return found


def change(tree: Any, rng: random.Random) -> None:
    """Change one place of a tree."""
    every = places(tree)
    if not every:
        return
    container, key = rng.choice(every)
    value = container[key]
    ways = ["set", "set", "drop", "wrap", "nest", "double", "other", "empty"]
    ways += ["misspell", "rename", "more"] if isinstance(container, dict) else ["repeat"]
    way = rng.choice(ways)
    if way == "set":
        container[key] = odd(rng)
    elif way == "drop":
        del container[key]
    elif way == "wrap":
        container[key] = [value]
    elif way == "nest":
        container[key] = {"a": value}
    elif way == "double" and isinstance(value, str):
        container[key] = value * 2
    elif way == "other":
        other, name = rng.choice(every)
        if name in other if isinstance(other, dict) else name < len(other):
            container[key] = copy.deepcopy(other[name])
    elif way == "empty":
        container[key] = type(value)() if value is not None else None
    elif way == "misspell":
        container[f"{key}x"] = container.pop(key)
    elif way == "rename":
        new = odd(rng)
        if isinstance(new, str | int | float | None):
            container[new] = container.pop(key)
    elif way == "more":
        container[rng.choice(["extra", "note", "id", 5, "kind"])] = odd(rng)
    elif way == "repeat":
        container.append(copy.deepcopy(value))


def as_yaml(tree: Any, rng: random.Random, raws: Sequence[str]) -> str:
    text = yaml.safe_dump(tree, allow_unicode=rng.random() < 0.5, sort_keys=False)
    while RAW in text:
        text = text.replace(RAW, rng.choice(raws), 1)
    if rng.random() < 0.05:
        lines = text.splitlines(keepends=True)
        at = rng.randrange(len(lines))
        text = "".join([*lines[:at], lines[at], *lines[at:]])
    return text


def damage(data: bytes, rng: random.Random) -> bytes:
    """Change the bytes of a file."""
    at = rng.randrange(len(data) + 1)
    way = rng.randrange(12)
    if way == 0:
        return data[:at]
    if way == 1:
        return data[:at] + bytes([rng.randrange(256)]) + data[at:]
    if way == 2:
        return data[:at] + bytes(rng.randrange(256) for _ in range(9)) + data[at + 9 :]
    if way == 3:
        return b"\xef\xbb\xbf" + data
    if way in (4, 5):
        encoding = ("utf-16", "latin-1")[way - 4]
        return data.decode("utf-8", "replace").encode(encoding, "replace")
    if way == 6:
        return gzip.compress(data, mtime=0)
    if way == 7:
        return data.replace(b"  ", b"\t")
    if way == 8:
        return data.replace(b"\n", b"\r\n")
    if way == 9:
        return data + data
    if way == 10:
        return b""
    return data[:at] + b"\x00" + data[at:]


def broken_yaml(
    tree: Any, rng: random.Random, raws: Sequence[str] = (*RAWS, LAUGHS, LAUGHS)
) -> bytes:
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        change(tree, rng)
    data = as_yaml(tree, rng, raws).encode("utf-8", "surrogatepass")
    return damage(data, rng) if rng.random() < 0.15 else data


# --- Tables -------------------------------------------------------------------------------------

MISSING = (None, math.nan, pd.NaT, pd.NA, "")
CELLS = (
    *TEXTS,
    *NUMBERS,
    *MISSING,
    *({}, {"a": 1}, [], [1], b"\xff\x00", datetime.date(2020, 1, 2), pd.Timestamp("2020-01-02")),
    *("\ud800", "9" * 5000, "x;y", "=SUM(A1)", '"quoted"', "two\nlines"),
)
DTYPES = (
    *("string", "Int64", "Float64", "boolean", "category", "float32", "datetime64[ns]", "bool"),
    *("string[pyarrow]", "int64[pyarrow]", "timedelta64[ns]", "UInt8", "complex128"),
)


def change_table(frame: pd.DataFrame, rng: random.Random) -> pd.DataFrame:
    """Change one thing of a table."""
    frame = frame.copy()
    frame.columns = list(frame.columns)
    if not len(frame.columns) or not len(frame):
        return frame
    column = rng.randrange(len(frame.columns))
    row = rng.randrange(len(frame))
    way = rng.choice(["cell"] * 4 + ["missing"] * 2 + ["type"] * 3 + ["columns"] * 2 + ["rows"])
    if way == "cell":
        values = list(frame.iloc[:, column])
        values[row] = rng.choice(CELLS)
        frame.isetitem(column, pd.Series(values, dtype=object))
    elif way == "missing":
        values = list(frame.iloc[:, column])
        chosen = rng.choice(MISSING)
        rows = rng.sample(range(len(frame)), rng.choice([1, 2, len(frame)]))
        frame.isetitem(
            column, pd.Series([chosen if n in rows else v for n, v in enumerate(values)])
        )
    elif way == "type":
        frame = _retyped(frame, column, rng)
    elif way == "columns":
        names = list(frame.columns)
        how = rng.randrange(5)
        if how == 0:
            return frame.drop(columns=names[column])
        if how == 1:
            frame.insert(0, names[column], frame.iloc[:, column], allow_duplicates=True)
        elif how == 2:
            names[column] = rng.choice([*TEXTS, None, 5, names[0]])
            frame.columns = names
        elif how == 3:
            frame["more"] = [rng.choice(CELLS)] * len(frame)
        else:
            frame = frame.iloc[:, ::-1]
    elif way == "rows":
        how = rng.randrange(4)
        if how == 0:
            frame = pd.concat([frame, frame.iloc[[row]]])
        elif how == 1:
            frame = frame.iloc[:0]
        elif how == 2:
            frame = frame.iloc[::-1]
        else:
            frame = frame.iloc[: row + 1]
    return frame.reset_index(drop=True)


def _retyped(frame: pd.DataFrame, column: int, rng: random.Random) -> pd.DataFrame:
    """Give a column another type, as far as its values let themselves be read so."""
    values = frame.iloc[:, column]
    kind = rng.choice(DTYPES)
    try:
        if kind in ("string", "category", "string[pyarrow]"):
            new = values.astype(object).astype(kind)
        else:
            numbers = pd.Series(range(1, len(frame) + 1))
            if kind.startswith("bool"):
                numbers = numbers % 2
            new = numbers.astype(kind)
        if rng.random() < 0.5 and kind != "bool":
            new = new.copy()
            new.iloc[rng.randrange(len(new))] = None
    except (TypeError, ValueError):
        return frame
    frame.isetitem(column, new)
    return frame


def as_file(frame: pd.DataFrame, stem: Path, rng: random.Random) -> Path:
    """Write a table as CSV, Parquet or JSON lines; those of Parquet's own types among them."""
    kind = rng.choice(["csv", "tsv", "parquet", "parquet", "jsonl"])
    path = stem.with_suffix(f".{kind}")
    if kind == "parquet":
        try:
            table = _odd_arrow(pa.Table.from_pandas(frame, preserve_index=False), rng)
            pq.write_table(table, path)
        except (pa.ArrowException, ValueError, TypeError, KeyError, OverflowError):
            kind, path = "jsonl", stem.with_suffix(".jsonl")
    if kind in ("csv", "tsv"):
        text = frame.to_csv(index=False, sep="," if kind == "csv" else "\t")
        path.write_bytes(_ragged(text, rng).encode("utf-8", "surrogatepass"))
    elif kind == "jsonl":
        lines = []
        for n in range(len(frame)):
            row = {str(k): frame.iloc[n, j] for j, k in enumerate(frame.columns)}
            lines.append(_json_line(row, rng))
        path.write_text("".join(lines), encoding="utf-8")
    if rng.random() < 0.1:
        path.write_bytes(damage(path.read_bytes(), rng))
    return path


def _json_line(row: dict[str, Any], rng: random.Random) -> str:
    plain = {k: _plain(v) for k, v in row.items()}
    if rng.random() < 0.02:
        plain.pop(rng.choice(sorted(plain)), None)
    line = json.dumps(plain)
    if rng.random() < 0.01:
        line = rng.choice(["[1]", "5", "null", "{", line[:-2], "[" * 3000, '{"a": ' + "9" * 5000])
    return line + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int | float | bool | list | dict):
        return value
    return None if value is pd.NA or value is pd.NaT else str(value)


def _ragged(text: str, rng: random.Random) -> str:
    """Give a line of a CSV file more or fewer fields, now and then."""
    lines = text.splitlines(keepends=True)
    if rng.random() < 0.15 and len(lines) > 1:
        at = rng.randrange(1, len(lines))
        line = lines[at]
        lines[at] = rng.choice(
            ["x," + line, line.rsplit(",", 1)[0] + "\n", '"' + line, ",,,,,,\n", "\n"]
        )
    return "".join(lines)


def _odd_arrow(table: pa.Table, rng: random.Random) -> pa.Table:
    """Give a column a type that only Parquet has."""
    if rng.random() < 0.6 or not table.num_columns or not table.num_rows:
        return table
    at, n = rng.randrange(table.num_columns), table.num_rows
    made = [
        lambda: pa.array([*range(1, n), None], pa.decimal128(7, 2)),
        lambda: pa.array([True, None] * n)[:n],
        lambda: pa.array([None] * n),
        lambda: pa.array([datetime.time(1, 2)] * n),
        lambda: pa.array([{"a": 1}, None] * n)[:n],
        lambda: pa.array([[1], None] * n)[:n],
        lambda: pa.array([b"\xff", b"a"] * n)[:n],
        lambda: table.column(at).combine_chunks().dictionary_encode(),
        lambda: pa.array([pd.Timestamp("2020-01-02"), None] * n)[:n],
        lambda: pa.array([1.0, math.nan] * n, pa.float32())[:n],
    ]
    changed = table.set_column(at, table.column_names[at], rng.choice(made)())
    # What pandas noted of the column before would be wrong.
    return changed.replace_schema_metadata(None)


# --- What makes sense ---------------------------------------------------------------------------


def assert_readable(text: Any, what: str) -> None:
    """Check that a text has something to read, and nothing that a file or a screen trips over."""
    assert isinstance(text, str), what
    assert any(unicodedata.category(c)[0] in "LNPS" for c in text), f"{what}: nothing to read"
    assert text == text.strip(), what
    assert_printable(text, what)


def assert_printable(text: Any, what: str) -> None:
    assert isinstance(text, str), what
    # A carriage return is where some systems end lines.
    bad = {c for c in text if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\r\t"}
    assert not bad, f"{what}: {bad}"


def assert_sentence(error: UserError) -> None:
    """Check that an error is one sentence for whoever made it."""
    said = str(error)
    assert len(said.splitlines()) == 1, said[:400]
    assert said.endswith("."), said[:400]
    assert "Traceback" not in said, said[:400]
    assert len(said) < 3000, f"{len(said)} letters: {said[:400]}"
    assert_printable(said, said[:400])


def assert_instrument(instrument: Instrument) -> None:
    assert_readable(instrument.title, "title")
    assert_readable(instrument.citation, "citation")
    ids = [item.item for item in instrument.items]
    assert len(set(ids)) == len(ids) > 0
    for item in instrument.items:
        assert_item(item)


def assert_item(item: Item) -> None:
    assert item.item.isascii()
    assert (item.dimension in DIMENSIONS) == (item.direction in (-1, 1)), item
    assert (item.dimension == "") == (item.direction == 0), item
    for name in ("source", "section", "topic", "note"):
        assert_printable(getattr(item, name), name)
    assert "{" not in item.section + item.topic + item.note
    for numbers in item.points.values():
        assert all(math.isfinite(x) for x in numbers), item.points
    labels = [wording.variant for wording in item.variants]
    assert labels[0] == "original"
    assert len(set(labels)) == len(labels)
    for wording in item.variants:
        assert wording.variant.isascii()
        assert_readable(wording.text, wording.variant)
        assert wording.polarity == POLARITY[wording.kind]


def assert_design(data: Any) -> None:
    """Check the dataset of what is asked."""
    for dim in ("model", "item", "variant", "prefix", "run"):
        labels = data[dim].values.tolist()
        assert len(set(labels)) == len(labels) > 0, dim
        for label in labels if dim != "run" else ():
            assert_printable(label, dim)
            assert label.strip(), dim
    asked = data["statement"].transpose("item", "variant").values != ""
    keying = data["keying"].transpose("item", "variant").values
    scored = (data["direction"].values != 0)[:, None] & asked
    assert set(keying[scored].tolist()) <= {-1, 1}
    assert not keying[~scored].any()
    assert set(data["status"].values.ravel().tolist()) <= {NOT_ASKED, *STATUS.values()}
    assert (data["status"] != NOT_ASKED).any()


def assert_kept(data: Any, path: Path) -> None:
    """Check that a dataset is the same when it is read again."""
    write_dataset(data, path)
    again = read_dataset(path)
    for name in (*data.coords, *data.data_vars):
        np.testing.assert_array_equal(again[name].values, data[name].values, str(name))


# --- The kinds ----------------------------------------------------------------------------------

ANYBODY = ModelInfo("anybody", "{prefix}{statement}")
ANYHOW = (Prefix("baseline", "", "open"),)
SOMETHING = Instrument(
    "tiny",
    "Tiny",
    "us",
    load_instrument("wvs").items[:4],
)


def shipped(path: str) -> Any:
    return yaml.safe_load((folder("data") / path).read_text(encoding="utf-8"))


def _instrument_tree() -> Any:
    tree = shipped("instruments/pct.yaml")
    tree["items"] = tree["items"][:4]
    for item in tree["items"]:
        item["variants"] = dict(list(item["variants"].items())[:3])
    item["variants"]["mine"] = {
        "kind": "paraphrase",
        "text": "It is mine.",
        "attributes": {"polite": True, "length": 3, "tone": "kind"},
    }
    tree["items"][1] |= {"topic": "money", "note": "made up"}
    tree["items"][2] |= {"scored": False}
    del tree["items"][2]["dimension"], tree["items"][2]["direction"]
    return tree


def instruments(rng: random.Random, here: Path) -> None:
    path = here / "mine.yaml"
    path.write_bytes(broken_yaml(INSTRUMENT, rng))
    loaded = load_instrument(str(path))
    assert_instrument(loaded)
    data = design([loaded], ANYHOW, [ANYBODY])
    assert_design(data)
    assert data.sizes["item"] == len(loaded.items)
    assert int((data["status"] != NOT_ASKED).sum()) == sum(len(i.variants) for i in loaded.items)
    if rng.random() < 0.2:
        assert_kept(data, here / "design.nc")


def prefixes(rng: random.Random, here: Path) -> None:
    path = here / "mine.yaml"
    path.write_bytes(broken_yaml(PREFIXES, rng))
    loaded = load_prefixes(str(path))
    for one in loaded:
        assert_printable(one.prefix, "name")
        assert one.prefix == one.prefix.strip() != ""
        assert_printable(one.text, "text")
        assert one.answer in ("open", "likert")
    read = yaml.load(path.read_bytes(), yaml.BaseLoader)["prefixes"]
    assert [one.prefix for one in loaded] == [str(name) for name in read]
    data = design([SOMETHING], loaded, [ANYBODY])
    assert_design(data)
    if rng.random() < 0.2:
        assert_kept(data, here / "design.nc")


def lexicons(rng: random.Random, here: Path) -> None:
    path = here / "mine.yaml"
    path.write_bytes(broken_yaml(rng.choice(LEXICONS), rng))
    loaded = load_lexicon(str(path))
    assert len(loaded.options) == len(loaded.stance)
    assert {-1, 1} <= set(loaded.stance) <= {-1, 0, 1}
    stances: dict[str, set[int]] = {}
    for option, stance in zip(loaded.options, loaded.stance, strict=True):
        assert_readable(option.strip(), "option")
        stances.setdefault(option.strip().casefold(), set()).add(stance)
    assert all(len(found) == 1 for found in stances.values()), stances
    assert isinstance(loaded.first(1), Lexicon)


def wordings(rng: random.Random, here: Path) -> None:
    frame = WORDINGS
    for _ in range(rng.choice([1, 1, 2])):
        frame = change_table(frame, rng)
    path = as_file(frame, here / "mine", rng)
    rows = independent(path, lambda: with_wordings([SOMETHING], [str(path)]))
    (loaded,), rows = rows
    assert_instrument(loaded)
    before = sum(len(item.variants) for item in SOMETHING.items)
    assert sum(len(item.variants) for item in loaded.items) == before + len(rows)
    found = {(i.item, v.variant): v for i in loaded.items for v in i.variants}
    for row in rows:
        wording = found[row["item"], row["variant"]]
        assert wording.text == row["text"].strip()
        assert wording.kind == row["kind"]
        assert wording.polarity == POLARITY[row["kind"]]


def tables(rng: random.Random, here: Path) -> None:
    frame, columns, more = rng.choice(IMPORTED)
    for _ in range(rng.choice([1, 1, 2])):
        frame = change_table(frame, rng)
    path = as_file(frame, here / "mine", rng)
    config = ImportConfig(path=str(path), columns=dict(columns), **copy.deepcopy(more))
    data, rows = independent(path, lambda: import_table(config, instruments=[SOMETHING]))
    assert_design(data)
    asked = int((data["status"] != NOT_ASKED).sum())
    if "count" in columns:
        assert asked == sum(round(float(row["count"])) for row in rows)
        return
    assert asked == len(rows)
    for row in rows:
        at = {dim: row[columns[dim]] for dim in ("model", "item", "variant", "prefix")}
        cell = data.sel(**at, run=int(row[columns["run"]]))
        wanted = row.get(columns["answer" if "answer" in columns else "rating"])
        assert str(cell["completion"].item()) == (wanted or ""), row
        if "rating" in data:
            assert int(cell["rating"]) in (-128, 0, 1, 2)
            assert int(cell["stance"]) in (-128, -1, 0, 1)
    if rng.random() < 0.2:
        assert_kept(data, here / "responses.nc")


def selections(rng: random.Random, here: Path) -> None:
    """Select rows, number repetitions, show columns, or take the items from the table."""
    frame, own = ANSWERS.drop(columns=["run", "n"]), rng.random() < 0.3
    for _ in range(rng.choice([1, 1, 2])):
        frame = change_table(frame, rng)
    paths = [as_file(frame, here / "mine", rng)]
    if rng.random() < 0.2:
        paths.append(as_file(ANSWERS.drop(columns=["run", "n"]), here / "more", rng))
    columns = {"model": "model", "item": "item", "prefix": rng.choice(["prefix", "prefix + size"])}
    columns[rng.choice(["answer", "rating"])] = rng.choice(["answer", "rating"])
    where = {
        rng.choice(["model", "size", "rating", "prefix"]): rng.choice(
            ["a", ["a", "b"], 1.5, "3", [1, 3], None, "baseline", ["baseline"], True]
        )
        for _ in range(rng.choice([0, 1, 1, 2]))
    }
    config = ImportConfig(
        path=str(paths[0] if len(paths) == 1 else here / "m*"),
        columns=columns,
        where=where,
        constants={"run": "count"},
        show=rng.choice([[], ["size"], ["size", "variant"]]),
        ignore=["*"],
        points=SCALE["points"],
    )
    selection = Selection(model=rng.choice([None, None, ["a"], ["b", "a"]]))
    data = import_table(config, instruments=[] if own else [SOMETHING], selection=selection)
    assert_design(data)
    assert_printable(data.attrs["notes"], "notes")
    asked = int((data["status"] != NOT_ASKED).sum())
    assert asked == data.attrs["imported_rows"] > 0
    if selection.model:
        assert data["model"].values.tolist() == selection.model
    if rng.random() < 0.2:
        assert_kept(data, here / "responses.nc")


def independent(path: Path, load: Callable[[], Any]) -> tuple[Any, list[dict[str, str | None]]]:
    """Load a table, and read it in another way, too."""
    loaded = load()
    if path.suffix == ".parquet":
        rows = pq.read_table(path).to_pylist()
    elif path.suffix == ".jsonl":
        lines = path.read_text(encoding="utf-8-sig").splitlines()
        rows = [json.loads(line) for line in lines if line.strip()]
    else:
        rows = _rows_of_csv(path)
    return loaded, [{str(k): _text(v) for k, v in row.items()} for row in rows]


def _rows_of_csv(path: Path) -> list[dict[str, str | None]]:
    import csv

    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.reader(file, delimiter="," if path.suffix == ".csv" else "\t"))
    head, *lines = [line for line in lines if line]
    for line in lines:
        assert len(line) == len(head), f"a ragged row was read: {line}"
    return [{k: v or None for k, v in zip(head, line, strict=True)} for line in lines]


def _text(value: Any) -> str | None:
    """Return a value as the text that a person would write for it."""
    if value is None or (isinstance(value, float | decimal.Decimal) and math.isnan(value)):
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    try:
        whole = not isinstance(value, bool) and int(value) == value
    except (TypeError, ValueError, OverflowError):
        whole = False
    return str(int(value)) if whole else str(value)


def configs(rng: random.Random, here: Path) -> None:
    own = here / "configs" / "experiment"
    own.mkdir(parents=True)
    text = b"# @package _global_\n" + broken_yaml(CONFIG, rng, RAWS)
    (own / "mine.yaml").write_bytes(text)
    overrides = ["+experiment=mine", f"run_dir={here / 'run'}", "task=dry_run"]
    if rng.random() < 0.3:
        # A file that is as it should be, and a key on the command line that is not.
        (own / "mine.yaml").write_bytes(
            b"# @package _global_\n" + yaml.safe_dump(CONFIG).encode("utf-8")
        )
        container, key = rng.choice(places(CONFIG))
        where = rng.choice([k for k in CONFIG if isinstance(CONFIG[k], dict)])
        name = f"{where}.{rng.choice(list(CONFIG[where]))}" if rng.random() < 0.7 else str(key)
        value = odd(rng)
        overrides.append(f"{name}={value}")
        del container
    config, _ = compose(overrides, str(here / "configs"))
    assert isinstance(config, RunConfig)
    assert set(config.stages) <= set(STAGES)
    planned = plan(config)
    assert_design(planned.design)
    if rng.random() < 0.2:
        assert "questions: " in dry_run(config).splitlines()[0]
    assert not list(here.rglob("run/*"))


INSTRUMENT = _instrument_tree()
PREFIXES = shipped("prefixes.yaml")
PREFIXES["prefixes"] = dict(list(PREFIXES["prefixes"].items())[:4])
PREFIXES["prefixes"]["likert"]["attributes"] = {"tone": "kind", "length": 3, "polite": True}
LEXICONS = [shipped("lexicons/likert5.yaml"), shipped("lexicons/haller_generative.yaml")]
LEXICONS.append({"agree": ["yes", "sure"], "neutral": ["maybe"], "disagree": ["no", "never"]})
NAMES = [item.item for item in SOMETHING.items]
WORDINGS = pd.DataFrame(
    [
        {"item": item, "variant": f"{kind}_m_{n}", "kind": kind, "text": f"{item} is {kind} {n}."}
        for item in NAMES
        for kind in ("paraphrase", "negation", "opposite")
        for n in (1, 2)
    ]
)
ANSWERS = pd.DataFrame(
    [
        {
            "model": model,
            "item": item,
            "variant": "original",
            "prefix": "baseline",
            "run": run,
            "answer": answer,
            "rating": rating,
            "size": size,
            "n": 2,
        }
        for model, size in (("a", 1.5), ("b", 3.0))
        for item in NAMES
        for run, answer, rating in ((1, "Agree", 3), (2, "Disagree", 1))
    ]
)
CELL = {name: name for name in ("model", "item", "variant", "prefix", "run")}
SCALE = {
    "points": ["Disagree", "Neither", "Agree"],
    "stances": ["disagree", "neutral", "agree"],
}
IMPORTED = [
    (
        ANSWERS[[*CELL, "answer", "size"]],
        {**CELL, "answer": "answer"},
        {"attributes": {"size": "size"}},
    ),
    (ANSWERS[[*CELL, "answer"]], {**CELL, "answer": "answer"}, {"options": None, **SCALE}),
    (ANSWERS[[*CELL, "rating"]], {**CELL, "rating": "rating"}, SCALE),
    (
        ANSWERS[["model", "item", "answer", "n"]].assign(variant="original", prefix="baseline"),
        {
            **{k: k for k in ("model", "item", "answer", "variant", "prefix")},
            "count": "n",
        },
        {},
    ),
]
IMPORTED[3] = (
    IMPORTED[3][0].rename(columns={"n": "count"}),
    {**IMPORTED[3][1], "count": "count"},
    {},
)
CONFIG = {
    "defaults": [{"override /respondents": "simulated"}, "_self_"],
    "name": "mine",
    "title": "Mine",
    "seed": 3,
    "stages": ["probe", "code", "measure", "fit", "report"],
    "instruments": ["wvs"],
    "items": ["wvs-01", "wvs-02", "wvs-14", "wvs-15"],
    "variants": ["original", "opposite"],
    "models": ["left", "right"],
    "wordings": [],
    "prefixes": {"only": ["baseline", "respond"], "file": None},
    "elicitation": {"kind": "open_ended", "runs": 2, "temperature": 1.0, "max_new_tokens": 20},
    "respondents": {"left": {"family": "l", "attributes": {"size": 3}}, "right": {"family": "r"}},
    "coding": {"coders": ["likert", "lexical"]},
    "measures": {"bootstrap": 200, "level": 0.95, "paraphrase_sets": None},
    "analysis": {
        "response": "stance",
        "family": "cumulative",
        "level": 0.9,
        "rope": 0.1,
        "parts": {
            "theta": "~ 0 + dimension + (0 + dimension | model)",
            "acquiescence": "~ 1 + (1 | model)",
        },
        "priors": {"theta.dimension": "Normal(0, 1)"},
        "precision": {"wanted": 0.8, "grid": {"items": [10, 20]}},
    },
    "sampler": {"chains": 2, "tune": 100, "draws": 100, "target_accept": 0.9},
    "launcher": {"kind": "local", "shards": 2},
    "journal": {"sync_seconds": 1.0, "cache": None},
}


@dataclass(frozen=True)
class Kind:
    case: Callable[[random.Random, Path], None]
    few: int
    many: int = 500


KINDS = {
    kind.case.__name__: kind
    for kind in (
        Kind(instruments, 40),
        Kind(prefixes, 60),
        Kind(lexicons, 100),
        Kind(wordings, 60),
        Kind(tables, 40, 1000),
        Kind(selections, 40),
        Kind(configs, 15),
    )
}


def broken(kind: str, number: int, here: Path) -> tuple[str, str]:
    """Do one case; return how it ended, and what was said."""
    here.mkdir()
    try:
        KINDS[kind].case(random.Random(f"{kind} {number}"), here)
    except (UserError, OSError) as error:
        told = of_system(error) if isinstance(error, OSError) else error
        if told is None:
            raise
        assert_sentence(told)
        return "refused", str(told)
    return "accepted", ""


def check(kind: str, numbers: range, here: Path) -> None:
    wrong, ended = [], {"refused": 0, "accepted": 0}
    for number in numbers:
        try:
            how, _ = broken(kind, number, here / str(number))
            ended[how] += 1
        except Exception as error:
            wrong.append(f"{kind} {number}: {type(error).__name__}: {str(error)[:300]}")
    assert not wrong, "\n".join(wrong)
    # What never gets through, or always does, is not tested.
    assert min(ended.values()) >= len(numbers) / 20, ended


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_mutations(kind, tmp_path):
    check(kind, range(KINDS[kind].few), tmp_path)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_mutations(kind, tmp_path):
    check(kind, range(KINDS[kind].many), tmp_path)
