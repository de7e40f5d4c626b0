"""What a validation in a run's folder says of the coders that read its answers."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

# Where ``task=validate_coder`` leaves the errors by side.
KEYING = Path("validation") / "tables" / "keying.csv"
_ALL = "cascade"


def coder_warnings(folder: Path, coders: Sequence[str], *, modelled: bool) -> list[str]:
    """Say whether the errors of a run's coders differ between the sides."""
    from polbayes.report.keying_errors import keying_sentences

    path = folder / KEYING
    if not path.is_file():
        return []
    table = pd.read_csv(path, keep_default_na=False, na_values=[""]).fillna({"note": ""})
    # All coders in order are those of the run only if they are the same ones.
    others = [name for name in dict.fromkeys(table["coder"]) if name != _ALL]
    names = [*coders, *([_ALL] if others == list(coders) else [])]
    found = keying_sentences(table[table["coder"].isin(names)])
    rest = (
        "The posterior takes these errors in, the classical measures do not."
        if modelled
        else "analysis.misclassification takes such errors in."
    )
    return [f"Coder {name} {text} {rest}" for name, text in found if text.startswith("Warning")]
