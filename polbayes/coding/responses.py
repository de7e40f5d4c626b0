"""Coding a response dataset: from answers to stances and statuses."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import xarray as xr

from polbayes.coding.option_reading import match_option
from polbayes.coding.options import Options, declare
from polbayes.coding.rated import with_ratings
from polbayes.coding.registry import (
    BY_PROBABILITY,
    BY_RATING,
    BY_SERVER,
    NOMINAL,
    Coder,
    get_coder,
)
from polbayes.config.schema import CoderConfig
from polbayes.data.dataset import ANSWERED, MISSING, STANCE, STANCE_CLASSES, STATUS, flag_attributes
from polbayes.instrument.scales import coded

# Coders that only read answers to prefixes that ask for that kind of answer.
ONLY_FOR = {"likert": "likert"}

# What does not read a text, or only a number that was asked for.
EXACT = (BY_RATING, BY_PROBABILITY, BY_SERVER, "likert")
_CODES = np.array(list(STANCE.values()), dtype=np.int8)


def code_responses(
    data: xr.Dataset,
    coders: Sequence[str],
    *,
    models: Mapping[str, CoderConfig] | None = None,
    journal_dir: Path | None = None,
) -> xr.Dataset:
    """Code every answered cell of a probed or imported dataset.

    A cell that a server `declined` is a refusal. A cell with a `rating` keeps the stance of that
    option. A cell with `p_agree` and `p_disagree` gets its stance from them. Any other cell has its
    `completion` read by the coders in order, each taking what the last left. Cells that are
    pending, failed or were not asked stay as they are, and coding again gives the same.

    Parameters
    ----------
    data
        A response dataset with `status`; it is not changed.
    coders, models, journal_dir
        See `polbayes.coding.get_coder`.

    Returns
    -------
    xarray.Dataset
        With `stance` (int8, codes of `polbayes.data.dataset.STANCE`), `stance_prob` (float32, one
        more dimension ``stance_class``; NaN where not coded), `coder` (int8, what decided),
        `status` (ok, refused, or, where nothing could read the answer, empty, truncated or
        invalid) and, where there are probabilities, `r_plus` = p_agree / (p_agree + p_disagree)
        (float32, the measure of Haller et al. 2024).
    """
    return code_with(data, open_coders(coders, models=models, journal_dir=journal_dir))


def open_coders(
    coders: Sequence[str],
    *,
    models: Mapping[str, CoderConfig] | None = None,
    journal_dir: Path | None = None,
) -> dict[str, Coder]:
    """Open coders by name, as for `code_responses`."""
    return {name: get_coder(name, models, journal_dir=journal_dir) for name in coders}


def code_with(data: xr.Dataset, opened: Mapping[str, Coder]) -> xr.Dataset:
    """Code every answered cell with open coders; see `code_responses`."""
    data = with_ratings(data)
    out = data.copy()
    dims = data["status"].dims
    deciders = (BY_RATING, BY_PROBABILITY, *opened)
    deciders += (BY_SERVER,) if "declined" in data else ()
    answered = _answered(data)
    probs = np.full((*answered.shape, len(STANCE_CLASSES)), np.nan, dtype=np.float32)
    coder = np.full(answered.shape, MISSING, dtype=np.int8)
    left = answered.copy()

    if "declined" in data:
        declined = left & (_over(data["declined"], data) == 1)
        probs[declined] = _nominal_of(np.full(int(declined.sum()), STANCE["refused"]))
        coder[declined] = len(deciders) - 1
        left &= ~declined
    if "rating" in data and "stance" in data:
        rated = left & (_over(data["rating"], data) != MISSING)
        probs[rated] = _nominal_of(_over(data["stance"], data)[rated])
        coder[rated] = 0
        left &= ~rated
    if "p_agree" in data and "p_disagree" in data:
        masses, shares = _masses(data)
        out["r_plus"] = (dims, np.where(answered, shares, np.nan).astype(np.float32))
        out["r_plus"].attrs = {"long_name": "p_agree / (p_agree + p_disagree)"}
        measured = left & np.isfinite(shares)
        probs[measured] = masses[measured]
        coder[measured] = 1
        left &= ~measured
    if "completion" in data:
        _code_completions(data, opened, left=left, probs=probs, coder=coder)

    r_plus = out["r_plus"].values if "r_plus" in out else None
    stance = _stances(probs, r_plus, by_mass=coder == 1)
    out["stance"] = (dims, stance, flag_attributes("stance"))
    out["stance_prob"] = ((*dims, "stance_class"), probs)
    out["coder"] = (dims, coder, _coder_flags(deciders) | _about(opened))
    status = np.where(answered, _statuses(data, stance), data["status"].values).astype(np.int8)
    out["status"] = (dims, status, data["status"].attrs)
    return out.assign_coords(stance_class=np.array(STANCE_CLASSES, dtype=object))


def decided(data: xr.Dataset) -> dict[str, int]:
    """Count the answers of a coded dataset by what decided them; ``none`` if nothing did."""
    about = data["coder"].attrs
    codes = data["coder"].values[_answered(data)]
    names = zip(about["flag_values"], str(about["flag_meanings"]).split(), strict=True)
    counts = {name: int((codes == code).sum()) for code, name in names}
    return {name: n for name, n in counts.items() if n}


def uncoded(data: xr.Dataset, coders: Sequence[str]) -> list[tuple[str, str]]:
    """Return the distinct pairs of statement and answer that coders leave."""
    coded = code_responses(data, coders)
    left = (coded["coder"].values == MISSING) & _answered(data)
    texts, statements = _over(data["completion"], data)[left], _over(data["statement"], data)[left]
    pairs = zip(statements.tolist(), texts.tolist(), strict=True)
    return [pair for pair in dict.fromkeys(pairs) if isinstance(pair[1], str) and pair[1].strip()]


def _answered(data: xr.Dataset) -> np.ndarray:
    """Mark the cells that have been answered, however well."""
    return np.asarray(np.isin(data["status"].values, ANSWERED))


def _over(variable: xr.DataArray, data: xr.Dataset) -> np.ndarray:
    """Return a variable's values broadcast over the dimensions of `status`."""
    status = data["status"]
    return np.asarray(variable.broadcast_like(status).transpose(*status.dims).values)


def _nominal_of(codes: np.ndarray) -> np.ndarray:
    rest = (1.0 - NOMINAL) / (len(STANCE_CLASSES) - 1)
    return np.where(codes[:, None] == _CODES, NOMINAL, rest).astype(np.float32)


def _stances(probs: np.ndarray, r_plus: np.ndarray | None, *, by_mass: np.ndarray) -> np.ndarray:
    """Return the likeliest class, and the larger of two options if these were measured."""
    coded = np.isfinite(probs).all(axis=-1)
    best = np.argmax(np.where(coded[..., None], probs, 0.0), axis=-1)
    stance = np.where(coded, _CODES[best], np.int8(MISSING)).astype(np.int8)
    if r_plus is not None:
        # Agreeing and disagreeing are compared, whatever the mass of a neutral option.
        agrees = np.where(r_plus >= 0.5, STANCE["agree"], STANCE["disagree"])
        stance[by_mass] = agrees[by_mass]
    return stance


def _statuses(data: xr.Dataset, stance: np.ndarray) -> np.ndarray:
    """Return the status of every cell, as if each had been answered."""
    status = np.full(stance.shape, STATUS["ok"], dtype=np.int8)
    status[stance == STANCE["refused"]] = STATUS["refused"]
    unread = stance == MISSING
    status[unread] = STATUS["invalid"]
    if "truncated" in data:
        status[unread & (_over(data["truncated"], data) == 1)] = STATUS["truncated"]
    status[unread & (data["status"].values == STATUS["empty"])] = STATUS["empty"]
    return status


def _coder_flags(deciders: Sequence[str]) -> dict[str, object]:
    return {
        "flag_values": np.array([MISSING, *range(len(deciders))], dtype=np.int8),
        "flag_meanings": " ".join(("none", *deciders)),
    }


def _about(opened: Mapping[str, Coder]) -> dict[str, str]:
    """Return the coders' descriptions, such as the source of a judge's probabilities."""
    said = {name: getattr(coder, "about", "") for name, coder in opened.items()}
    lines = [f"{name}: {text}" for name, text in said.items() if text]
    return {"about": "\n".join(lines)} if lines else {}


def _masses(data: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return normalised masses (cell, stance_class) and r_plus (cell), NaN if there is none."""
    agree, disagree = (_over(data[n], data).astype(float) for n in ("p_agree", "p_disagree"))
    neutral = np.zeros_like(agree)
    if "option_prob" in data and "option_stance" in data and "option" in data["option_prob"].dims:
        middle = data["option_prob"].where(data["option_stance"] == STANCE["neutral"], 0.0)
        neutral = _over(middle.sum("option", skipna=False), data).astype(float)
    both = agree + disagree
    usable = np.isfinite(both) & (both > 0) & (agree >= 0) & (disagree >= 0)
    r_plus = np.full(both.shape, np.nan)
    np.divide(agree, both, out=r_plus, where=usable)
    neutral = np.where(np.isfinite(neutral), neutral, 0.0)
    total = np.where(usable, both + neutral, 1.0)
    masses = np.zeros((*both.shape, len(STANCE_CLASSES)), dtype=np.float32)
    for name, mass in (("disagree", disagree), ("neutral", neutral), ("agree", agree)):
        masses[..., STANCE_CLASSES.index(name)] = np.where(usable, mass, 0.0) / total
    return masses, r_plus


def _code_completions(
    data: xr.Dataset,
    coders: Mapping[str, Coder],
    *,
    left: np.ndarray,
    probs: np.ndarray,
    coder: np.ndarray,
) -> None:
    """Let each coder read what is left; fill in `left`, `probs` and `coder`."""
    completion = _over(data["completion"], data)
    statement = _over(data["statement"], data)
    asked_for = np.full(left.shape, "", dtype=object)
    if "prefix_answer" in data.coords:
        asked_for = _over(data["prefix_answer"], data)
    texts = np.frompyfunc(lambda value: value if isinstance(value, str) else "", 1, 1)(completion)
    if "prefix_options" in data.coords:
        texts = np.frompyfunc(_in_words, 2, 1)(texts, _over(data["prefix_options"], data))
    left &= np.frompyfunc(lambda text: bool(text.strip()), 1, 1)(texts).astype(bool)
    for index, (name, read) in enumerate(coders.items(), start=2):
        readable = left & (asked_for == ONLY_FOR[name]) if name in ONLY_FOR else left
        at = np.flatnonzero(readable)
        if not at.size:
            continue
        found = _code_distinct(read, statement.flat[at], texts.flat[at])
        decided = at[np.isfinite(found).all(axis=1)]
        probs.reshape(-1, probs.shape[-1])[decided] = found[np.isfinite(found).all(axis=1)]
        coder.flat[decided] = index
        left.flat[decided] = False


def _in_words(text: str, options: str) -> str:
    """Return the option behind a letter or number; return other answers unchanged."""
    if not options:
        return text
    declared = _declared(options)
    if declared is None:
        return text
    point = match_option(text, declared)
    return text if point is None else declared.points[point].capitalize()


@cache
def _declared(options: str) -> Options | None:
    known = coded(json.loads(options))
    return declare({f"{code}) {word}": word for code, word in known.items()}) if known else None


def _code_distinct(read: Coder, statements: np.ndarray, responses: np.ndarray) -> np.ndarray:
    """Code each distinct pair of statement and response once."""
    seen: dict[tuple[str, str], int] = {}
    rows = [seen.setdefault(pair, len(seen)) for pair in zip(statements, responses, strict=True)]
    distinct = list(seen)
    probs = read([s for s, _ in distinct], [r for _, r in distinct])
    return np.asarray(probs, dtype=np.float32)[rows]
