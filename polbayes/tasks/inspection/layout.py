"""Layouts of answers: as text, CSV, and JSON lines."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from polbayes.data.prose import form, plural
from polbayes.data.spreadsheets import defused_value
from polbayes.report.visible import visible
from polbayes.tasks.inspection.answers import Found, Row

_COLUMNS = (
    *("model", "item", "variant", "prefix", "run", "status", "stance", "coder"),
    *("dimension", "kind", "keying", "statement", "system", "chat", "prompt", "answer", "message"),
    *(
        "reasoning",
        "truncated",
        "declined",
        "p_agree",
        "p_disagree",
        "r_plus",
        "mass_unseen",
        "rating",
    ),
)
# Mappings of names to numbers, with a column per name.
_MAPS = {"option_prob": "option", "stance_prob": "stance"}


def as_text(rows: Iterable[Row]) -> Iterator[str]:
    """Yield a block of lines for each answer; control characters are shown as signs."""
    for row in rows:
        cell = (str(row[name]) for name in ("model", "item", "variant", "prefix"))
        read = " by ".join(name for name in (row["stance"], row["coder"]) if name)
        name = " · ".join([*map(visible, cell), f"run {row['run']}"])
        first = f"{name}: {row['status']}, {read or 'not coded'}"
        lines = [first.replace("\n", " ")]
        if row["system"]:
            lines += ["  system prompt", *_quoted(row["system"])]
        lines += ["  prompt, as a user's turn" if row["chat"] else "  prompt"]
        lines += _quoted(row["prompt"] or row["statement"])
        if row.get("reasoning"):
            lines += ["  thinking", *_quoted(row["reasoning"])]
        if row["answer"]:
            cut = ", cut off" if row.get("truncated") else ""
            lines += [f"  answer{cut}", *_quoted(row["answer"])]
        if row.get("declined"):
            lines += ["  the server says that it was refused or filtered"]
        if row["message"]:
            lines += ["  why there is no answer", *_quoted(row["message"])]
        lines += _numbers(row)
        yield "\n".join(lines) + "\n"


def _quoted(text: str) -> list[str]:
    return [f"    | {line}" for line in visible(text).split("\n")]


def _numbers(row: Row) -> list[str]:
    lines = []
    names = {"p_agree": "agree", "p_disagree": "disagree", "r_plus": "R+", "mass_unseen": "unseen"}
    for title, numbers in (
        ("options", row.get("option_prob", {})),
        ("together", {text: row.get(name) for name, text in names.items()}),
        ("stance", row.get("stance_prob", {})),
        ("rating", {"position": row.get("rating")}),
    ):
        known = [f"{visible(x)} {y:.4g}" for x, y in numbers.items() if y is not None]
        if known:
            lines.append(f"  {title}: {', '.join(known)}")
    return lines


def as_csv(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table that a spreadsheet can open safely."""
    maps = {
        f"{short}_{label}": (name, label)
        for name, short in _MAPS.items()
        for label in dict.fromkeys(x for row in rows for x in row.get(name, {}))
    }
    columns = [c for c in _COLUMNS if any(row.get(c) not in (None, "") for row in rows)]
    columns = columns or list(_COLUMNS)
    yield _csv_line([*columns, *maps])
    for row in rows:
        values = [row.get(column) for column in columns]
        values += [row.get(name, {}).get(label) for name, label in maps.values()]
        yield _csv_line(values)


def _csv_line(values: Sequence[object]) -> str:
    out = io.StringIO()
    shown = ["" if v is None else int(v) if isinstance(v, bool) else v for v in values]
    safe = [defused_value(visible(v)) if isinstance(v, str) else v for v in shown]
    csv.writer(out, lineterminator="\n").writerow(safe)
    return out.getvalue()


def _as_json(rows: Iterable[Row]) -> Iterator[str]:
    """Yield a line of JSON for each answer, with every text unchanged."""
    for row in rows:
        yield json.dumps(row, ensure_ascii=True) + "\n"


LAYOUTS: Mapping[str, Callable[[Sequence[Row]], Iterator[str]]] = {
    "text": as_text,
    "csv": as_csv,
    "jsonl": _as_json,
}


def summary(found: Found) -> str:
    """Say how many answers match, and how many are shown."""
    total = found.matching.total()
    kinds = ", ".join(f"{n:,} {status}" for status, n in sorted(found.matching.items()))
    of = f"of {plural(found.questions, 'question')}"
    if not total:
        return f"No answer matches, {of}."
    text = f"{total:,} {of} {form(total, 'matches', 'match')} ({kinds})"
    shown = len(found.rows)
    if shown < total:
        are = form(shown, "is", "are")
        return f"{text}; {shown:,} {are} shown: inspect.limit=NUMBER shows more."
    return f"{text}, {form(total, 'which is', 'all')} shown."
