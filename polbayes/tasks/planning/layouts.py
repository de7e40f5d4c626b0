"""The questions of studies that were not made, laid out like those of a pilot or of a config."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from polbayes.data.dataset import CELL_DIMS, MISSING, NOT_ASKED, STANCE, STATUS
from polbayes.fit.spec.cells import Cells
from polbayes.fit.spec.spec import Spec

# What is asked in words, which no analysis needs.
_TEXTS = ("statement", "prefix_text", "prefix_answer", "prefix_options", "prefix_context")


def laid_out(
    base: xr.Dataset,
    numbers: Mapping[str, int],
    sources: Mapping[str, str],
    rng: np.random.Generator,
) -> xr.Dataset:
    """Lay out a study of new statements, wordings and prefixes that are like those of another.

    Parameters
    ----------
    base
        The other study's dataset, or its design.
    numbers
        ``items`` of each dimension, half of them keyed to either side as far as `base` has both;
        ``wordings`` of each; ``prefixes`` and ``runs``.
    sources
        By the name of each model, the model of `base` whose attributes it has.
    rng
        Chooses the statements that others are like.

    Returns
    -------
    xarray.Dataset
        `status` over ``model, item, variant, prefix, run``, answered everywhere, with the
        coordinates of `base` but for texts.
    """
    asked = (base["status"] != NOT_ASKED).any(["model", "prefix", "run"]).values
    asked = asked & (base["keying"].transpose("item", "variant").values != 0)
    item = _items(base, asked, numbers["items"], rng)
    variant = np.stack([np.resize(np.flatnonzero(asked[i]), numbers["wordings"]) for i in item])
    models = [str(name) for name in base["model"].values]
    own = base.drop_vars([str(name) for name in base.data_vars if name != "status"])
    taken = own.drop_vars([*(n for n in _TEXTS if n in own.coords), "variant"]).isel(
        model=[models.index(name) for name in sources.values()],
        prefix=np.arange(numbers["prefixes"]) % base.sizes["prefix"],
        run=np.arange(numbers["runs"]) % base.sizes["run"],
        item=xr.DataArray(item, dims="item"),
        variant=xr.DataArray(variant, dims=("item", "wording")),
    )
    taken = taken.rename(wording="variant").drop_vars("status")
    labels = {
        "model": list(sources),
        **{
            name: [f"{letter}{n}" for n in range(size)]
            for name, letter, size in (
                ("item", "i", len(item)),
                ("variant", "w", numbers["wordings"]),
                ("prefix", "p", numbers["prefixes"]),
            )
        },
    }
    coords = {name: np.array(values, dtype=object) for name, values in labels.items()}
    run = np.arange(1, numbers["runs"] + 1, dtype=np.int16)
    shape = (*(len(labels[name]) for name in CELL_DIMS[:-1]), len(run))
    answered = np.full(shape, STATUS["ok"], dtype=np.int8)
    return taken.assign_coords({**coords, "run": run}).assign(status=(CELL_DIMS, answered))


def _items(
    base: xr.Dataset, asked: np.ndarray, number: int, rng: np.random.Generator
) -> np.ndarray:
    """Choose the items that those of a study are like, as many on every dimension."""
    dimension, direction = base["dimension"].values, base["direction"].values
    there = asked.any(axis=1) & (direction != 0)
    chosen: list[int] = []
    for name in dict.fromkeys(dimension[there].tolist()):
        sides = [np.flatnonzero(there & (dimension == name) & (direction == s)) for s in (-1, 1)]
        sides = [rng.permutation(side) for side in sides if len(side)]
        for k, side in enumerate(sides):
            share = number // len(sides) + (k < number % len(sides))
            chosen += np.resize(side, share).tolist()
    return np.array(chosen, dtype=int)


def with_answers(data: xr.Dataset, spec: Spec, points: Sequence[int], at: np.ndarray) -> xr.Dataset:
    """Add answers at ordered points to a study.

    Parameters
    ----------
    data
        From `laid_out`.
    spec
        Says which response the answers are.
    points
        The response's codes, in order.
    at
        ``[model, item, variant, prefix, run]`` the position of the answer among them; negative for
        none that can be used.
    """
    codes = np.array([*points], dtype=np.int8)
    unusable = MISSING if spec.response == "rating" else STANCE["unrelated"]
    values = np.where(at < 0, unusable, codes[at]).astype(np.int8)
    name = "rating" if spec.response == "rating" else "stance"
    attributes = {}
    if spec.response == "rating":
        from polbayes.coding.rated import POINTS, rating_attributes

        labels = tuple(str(data.attrs[POINTS]).split("; "))
        attributes = rating_attributes(labels)
    return data.assign({name: (CELL_DIMS, values, attributes)})


def with_numbers(data: xr.Dataset, value: np.ndarray, mass: np.ndarray) -> xr.Dataset:
    """Add answers that are numbers in (0, 1), and the total probability of usable ones.

    Both are ``[model, item, variant, prefix, run]``.
    """
    found = {"r_plus": value, "p_agree": value * mass, "p_disagree": (1 - value) * mass}
    return data.assign({name: (CELL_DIMS, values) for name, values in found.items()})


def as_if_answered(data: xr.Dataset, spec: Spec) -> xr.Dataset:
    """Give every question of a study the same answers, of which no two runs are alike."""
    shape = data["status"].shape
    if not spec.observation.counts:
        return with_numbers(data, np.full(shape, 0.5), np.full(shape, 0.9))
    ends = np.broadcast_to(np.resize([0, -1], shape[-1]), shape)
    if spec.response == "agree":
        return with_answers(data, spec, (STANCE["disagree"], STANCE["agree"]), ends % 2)
    number = 3
    if spec.response == "rating":
        from polbayes.coding.rated import POINTS

        number = len(str(data.attrs[POINTS]).split("; "))
    return with_answers(data, spec, codes_of(spec, number), ends % number)


def codes_of(spec: Spec, points: int) -> tuple[int, ...]:
    """Return the codes of a response's points, in order."""
    if spec.response == "agree":
        return STANCE["disagree"], STANCE["agree"]
    if spec.response == "stance":
        return STANCE["disagree"], STANCE["neutral"], STANCE["agree"]
    return tuple(range(points))


def places(data: xr.Dataset, cells: Cells) -> tuple[np.ndarray, ...]:
    """Return ``[cell]`` the positions of cells along model, item, variant and prefix."""
    found = []
    for name in CELL_DIMS[:-1]:
        position = {str(label): at for at, label in enumerate(data[name].values)}
        found.append(cells.frame[name].astype(str).map(position).to_numpy(dtype=int))
    return tuple(found)
