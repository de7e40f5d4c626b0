"""Four-level answers: from strong disagreement to strong agreement (Lunardi et al., section 3.2).

The level of an answer depends on how it was read:

- a rating on a declared scale of four points is its level (of five: the middle has none);
- probability masses of agreeing and disagreeing options, or a stance coder's probabilities:
  the level is strong if the two differ by more than 0.3;
- rules that read explicit answers have no probabilities, so their words decide: ``1`` and
  ``5`` of the Likert rule and "strongly", "completely" and the like before the verb are strong.

Agreeing or disagreeing is always the coded stance. Neutral, unrelated and refused answers have no
level on a scale without a middle.
"""

import re

import numpy as np
import xarray as xr

from polbayes.coding.text import clean
from polbayes.data.dataset import LEVELS, MISSING, STANCE
from polbayes.errors import UserError
from polbayes.huggingface.encoding import SPECIAL_TOKEN

STRONG = 0.3
# Coders with nominal probabilities, which say nothing about strength.
RULES = ("likert", "lexical")

# Masses are stored as 32-bit floats: 0.65 - 0.35 must not exceed 0.3.
_ROUNDING = 1e-6
_OF_SCALE = {4: (0, 1, 2, 3), 5: (0, 1, MISSING, 2, 3)}
_STRONG_WORDS = re.compile(
    r"(?<!\bnot )(?<!n't )"
    r"\b(?:strongly|completely|totally|fully|wholeheartedly|absolutely|entirely|definitely)\s+"
    r"(?:agree|disagree|support|oppose|approve|disapprove|endorse|reject)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\W*([1-5])\W*")


def four_levels(data: xr.Dataset, *, strong: float = STRONG) -> xr.DataArray:
    """Give every answer of a coded dataset its level (Lunardi et al. 2024, section 3.2).

    Lunardi et al. read the ten likeliest tokens at the mask; masses here are over the whole
    lexicon, which is what their rule approximates.

    Parameters
    ----------
    data
        A coded response dataset.
    strong
        An answer is strong where agreeing and disagreeing lie further apart, in [0, 1].

    Returns
    -------
    xarray.DataArray
        int8 over ``model, item, variant, prefix, run``: a position in `LEVELS`, or `MISSING`.
    """
    if not 0 <= strong <= 1:
        raise UserError(f"strong: must lie between 0 and 1, not {strong}.")
    if "stance" not in data:
        raise UserError("the dataset has no 'stance'; was it coded?")
    stance = data["stance"].values
    agrees, disagrees = stance == STANCE["agree"], stance == STANCE["disagree"]
    difference, by_rule = _differences(data)
    is_strong = np.abs(np.where(np.isnan(difference), 0.0, difference)) > strong + _ROUNDING
    if by_rule.any():
        is_strong[by_rule] = _strong_in_words(data, by_rule)
    level = np.full(stance.shape, MISSING, dtype=np.int8)
    level[agrees] = np.where(is_strong, 3, 2)[agrees]
    level[disagrees] = np.where(is_strong, 0, 1)[disagrees]
    if "rating" in data:
        level = _rated(data, level)
    attributes = {
        "flag_values": np.array([MISSING, *range(len(LEVELS))], dtype=np.int8),
        "flag_meanings": " ".join(("none", *(name.replace(" ", "_") for name in LEVELS))),
    }
    return data["stance"].copy(data=level).rename("level").assign_attrs(attributes)


def _differences(data: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return agreeing minus disagreeing probability, NaN if unknown, and the rules' cells."""
    stance = data["stance"]
    difference = np.full(stance.shape, np.nan)
    if "stance_prob" in data:
        probs = data["stance_prob"].transpose(*stance.dims, "stance_class")
        difference = (
            probs.sel(stance_class="agree").values.astype(np.float64)
            - probs.sel(stance_class="disagree").values
        )
    by_rule = _decided_by(data, RULES)
    if "p_agree" in data and "p_disagree" in data:
        masses = data["p_agree"].astype(np.float64) - data["p_disagree"].astype(np.float64)
        raw = masses.broadcast_like(stance).transpose(*stance.dims).values
        measured = ~np.isnan(raw)
        difference = np.where(measured, raw, difference)
        by_rule &= ~measured
    return difference, by_rule


def _decided_by(data: xr.Dataset, names: tuple[str, ...]) -> np.ndarray:
    """Mark the cells that one of the named coders decided."""
    if "coder" not in data:
        return np.zeros(data["stance"].shape, dtype=bool)
    about = data["coder"].attrs
    flags = np.atleast_1d(about.get("flag_values", []))
    meanings = str(about.get("flag_meanings", "")).split()
    codes = [code for code, name in zip(flags, meanings, strict=False) if name in names]
    coder = data["coder"].transpose(*data["stance"].dims)
    return np.asarray(np.isin(coder.values, codes))


def _strong_in_words(data: xr.Dataset, cells: np.ndarray) -> np.ndarray:
    """Return for each cell whether the words of its answer are strong."""
    if "completion" not in data:
        return np.zeros(int(cells.sum()), dtype=bool)
    texts = data["completion"].transpose(*data["stance"].dims).values[cells]
    # Short answers repeat; each distinct one is read once.
    known = {text: _is_strong(str(text)) for text in dict.fromkeys(texts.tolist())}
    return np.array([known[text] for text in texts.tolist()], dtype=bool)


def _is_strong(text: str) -> bool:
    number = _NUMBER.fullmatch(SPECIAL_TOKEN.sub(" ", text))
    if number:
        return number[1] in "15"
    return bool(_STRONG_WORDS.search(clean(text)))


def _rated(data: xr.Dataset, level: np.ndarray) -> np.ndarray:
    """Take the levels of ratings on a scale of four or five points."""
    points = str(data["rating"].attrs.get("rating_points", "")).split("; ")
    if len(points) not in _OF_SCALE:
        return level
    rating = data["rating"].transpose(*data["stance"].dims).values
    there = rating != MISSING
    of_scale = np.array(_OF_SCALE[len(points)], dtype=np.int8)
    return np.where(there, of_scale[np.where(there, rating, 0)], level)
