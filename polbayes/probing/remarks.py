"""What servers said that concerns all answers, as journals keep it beside the answers."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from polbayes.probing.journal import Record, read


def remark_of(record: Record) -> Record:
    """Return what a record says of all answers; nothing if it is an answer and no more."""
    return {key: value for key, value in record.items() if key in ("note", "left_out")}


def remarks_in(paths: Iterable[Path]) -> list[Record]:
    """Return the remarks in journals."""
    return [said for path in paths for record in read(path) if (said := remark_of(record))]


def as_attributes(
    remarks: Mapping[str, Iterable[Record]], notes: Iterable[str] = ()
) -> dict[str, str]:
    """Return the remarks by model or judge, and further notes, as attributes of a dataset.

    ``notes`` has a line for each, and ``left_out``, if there is any, the parameters that servers
    refused, as JSON by model or judge.
    """
    said = [one["note"] for some in remarks.values() for one in some if "note" in one]
    left_out = {
        name: {key: value for one in some for key, value in one.get("left_out", {}).items()}
        for name, some in remarks.items()
    }
    left_out = {name: fields for name, fields in left_out.items() if fields}
    return {
        "notes": "\n".join(dict.fromkeys([*said, *notes])),
        **({"left_out": json.dumps(left_out, sort_keys=True)} if left_out else {}),
    }
